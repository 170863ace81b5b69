import { nameOf, optionsOf } from "./address.js";
import { Batch } from "./batch.js";
import { type ClientOptions, Connection, requestTimeoutMs } from "./connection.js";
import type { WatchOptions } from "./changes.js";
import { AnswerError, ClientClosed, ConnectionLost } from "./errors.js";
import { type StoreOptions, countLine, countRequest, deleteLine, exptime, getRequest, statsRequest, storeLine, touchLine, writeRequest } from "./keys.js";
import { NearCache, type NearOptions } from "./near_cache.js";
import { Pipeline } from "./pipeline.js";
import {
  type Branch, type Item, type Numbers, type Page, type Range, type ScanOptions, type Size,
  numbersRequest, pageRequest, removeRequest, sizeRequest, touchRequest, treeRequest,
} from "./ranges.js";
import { Watch, pause } from "./watch.js";
import { type Key, type Request, lineOf, single } from "./wire.js";

const all: Range = { prefix: "" };
const atOnce = 100; // keys whose requests leave before the first reply is read

/**
 * A client of one server. Each request has a connection of the pool for itself, a range one for each page. Reads are sent again if their
 * connection was lost; writes are not unless told, since nobody knows whether they took effect.
 */
export class Client {
  readonly #options: ClientOptions;
  readonly #idle: Connection[] = [];
  readonly #queue: (() => void)[] = [];
  #room: number;
  #closed = false;

  /**
   * A server is an object with its place, or text: `host`, `host:port`, the path of a unix socket, or a URL:
   * `mxkv://user:password@host:port`, `mxkvs://` for TLS, `mxkv:///path`. Options take precedence. It connects when it has to.
   */
  constructor(server: string | ClientOptions = {}, options: ClientOptions = {}) {
    this.#options = { ...(typeof server === "string" ? optionsOf(server) : server), ...options };
    this.#room = this.#options.maxConnections ?? 8;
  }

  /** Closes the connections; requests on their way end first. */
  close(): void {
    this.#closed = true;
    this.#dropIdle();
  }

  async get(key: Key): Promise<Buffer | undefined> {
    return (await this.getItem(key))?.value;
  }

  /** The value with its flags and its unique. */
  async getItem(key: Key): Promise<Item | undefined> {
    return (await this.getMany([key]))[0];
  }

  /** Those that are there, in the order asked; each has its own moment. */
  async getMany(keys: readonly Key[]): Promise<Item[]> {
    const found: Item[] = [];
    for (let at = 0; at < keys.length; at += atOnce) {
      found.push(...(await this.#ask(getRequest(keys.slice(at, at + atOnce)))));
    }
    return found;
  }

  async set(key: Key, value: Key, options?: StoreOptions): Promise<void> {
    await this.#ask(writeRequest(storeLine("set", key, value, options), "if asked"));
  }

  /** Stores where nothing is; false where something is. */
  async add(key: Key, value: Key, options?: StoreOptions): Promise<boolean> {
    return (await this.#ask(writeRequest(storeLine("add", key, value, options), "never"))) === "HD";
  }

  /** Stores where something is; false where nothing is. */
  async replace(key: Key, value: Key, options?: StoreOptions): Promise<boolean> {
    return (await this.#ask(writeRequest(storeLine("replace", key, value, options), "never"))) === "HD";
  }

  /** Puts data behind the value that is there; false if none is. */
  async append(key: Key, data: Key): Promise<boolean> {
    return (await this.#ask(writeRequest(storeLine("append", key, data), "never"))) === "HD";
  }

  /** Stores where the item still has this unique. */
  async compareAndSwap(key: Key, value: Key, unique: bigint, options?: StoreOptions): Promise<"stored" | "stale" | "not found"> {
    const code = await this.#ask(writeRequest(storeLine("set", key, value, options, unique), "never"));
    return code === "HD" ? "stored" : code === "EX" ? "stale" : "not found";
  }

  /** False if it was not there. */
  async delete(key: Key): Promise<boolean> {
    return (await this.#ask(writeRequest(deleteLine(key), "if asked"))) === "HD";
  }

  /** Sets the seconds to live, 0 for ever; false if there is no such key. */
  async touch(key: Key, expire: number): Promise<boolean> {
    return (await this.#ask(writeRequest(touchLine(key, expire), "if asked"))) === "HD";
  }

  /** The new number; undefined if there is no such key. It wraps around at 2^64. */
  increment(key: Key, delta: bigint | number = 1): Promise<bigint | undefined> {
    return this.#ask(countRequest(countLine(key, delta, false)));
  }

  /** As increment; it stops at 0. */
  decrement(key: Key, delta: bigint | number = 1): Promise<bigint | undefined> {
    return this.#ask(countRequest(countLine(key, delta, true)));
  }

  async flushAll(): Promise<void> {
    await this.#ask(single(lineOf("flush_all"), "never", (reply) => void reply.expecting("OK")));
  }

  /** memcached's version and mxkv's. */
  version(): Promise<string> {
    return this.#ask(single(lineOf("version"), "always", (reply) => reply.expecting("VERSION").words.slice(1).join(" ")));
  }

  /** The statistics of a group, or the general ones if none is named. */
  stats(group = ""): Promise<Map<string, string>> {
    return this.#ask(statsRequest(group));
  }

  /**
   * Walks through a range, a page at a time. A key that is there from the first page to the last is told, none is told twice, and keys
   * come in strict order, whatever others write meanwhile. After a lost connection it goes on behind the last page.
   */
  async *scan(range: Range = all, options: ScanOptions = {}): AsyncGenerator<Item, void, undefined> {
    let left = options.limit ?? Infinity;
    let cursor: string | undefined;
    while (left > 0) {
      const page: Page<Item> = await this.#ask(pageRequest(range, options, Math.min(left, options.pageItems ?? 1000), cursor));
      yield* page.items;
      cursor = page.cursor;
      if (cursor === undefined) {
        return;
      }
      left -= page.items.length;
    }
  }

  /** One page, from a cursor on if there is one: for what goes on in another process. A cursor is text, and not signed. */
  async page(range: Range = all, options: ScanOptions = {}, cursor?: string): Promise<Page<Item>> {
    return this.#ask(pageRequest(range, options, options.limit ?? options.pageItems ?? 100, cursor));
  }

  async count(range: Range = all): Promise<number> {
    return (await this.size(range)).items;
  }

  async size(range: Range = all): Promise<Size> {
    return this.#ask(sizeRequest(range, " e"));
  }

  /** Counts a sample, in less time. */
  async estimateSize(range: Range = all): Promise<Size> {
    return this.#ask(sizeRequest(range, ""));
  }

  /** Adds up the values that are numbers. */
  async numbers(range: Range = all): Promise<Numbers> {
    return this.#ask(numbersRequest(range));
  }

  /** Counts by prefix, each up to the next delimiter behind the range's own; last of each page the keys without one. */
  async *tree(range: Range = all, delimiter = ":"): AsyncGenerator<Branch, void, undefined> {
    let cursor: string | undefined;
    do {
      const page: Page<Branch> = await this.#ask(treeRequest(range, delimiter, cursor));
      yield* page.items;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  /** Deletes all keys page by page, tells how many; others see it at work. count() tells before how many there are. An empty prefix is refused. */
  async deleteRange(range: Range): Promise<number> {
    let total = 0;
    let cursor: string | undefined;
    do {
      const page: { removed: number; cursor: string | undefined } = await this.#ask(removeRequest(range, "", cursor));
      total += page.removed;
      cursor = page.cursor;
    } while (cursor !== undefined);
    return total;
  }

  /** Deletes all keys at one moment, or none: RangeTooLarge if they are more than the server locks. */
  async deleteRangeAtOnce(range: Range): Promise<number> {
    return (await this.#ask(removeRequest(range, " X", undefined))).removed;
  }

  /** Gives all keys these seconds to live at one moment, 0 for ever; RangeTooLarge if they are more than atMost, or than the server locks. */
  async touchRange(range: Range, expire: number, atMost?: number): Promise<number> {
    return this.#ask(touchRequest(range, exptime(expire), atMost));
  }

  /**
   * Begins to watch a range, on a connection of its own: from now on, or behind a position. To copy a range, begin the watch, read the
   * range, then apply the changes.
   */
  watch(range: Range = all, options: WatchOptions = {}): Promise<Watch> {
    return Watch.begin(this.#options, range, options);
  }

  /**
   * Begins a near cache of a range. Rejects if the server refuses to tell its changes.
   */
  nearCache(range: Range = all, options: NearOptions = {}): Promise<NearCache> {
    return NearCache.begin(this, (request) => this.#ask(request), this.#options, range, options);
  }

  /** Does what `gather` gathers at one moment, or nothing of it; nothing is sent if it throws. Returns what it returned. */
  async batch<T>(gather: (batch: Batch) => T): Promise<T> {
    const batch = new Batch();
    const result = gather(batch);
    const request = batch.request();
    if (request) {
      await this.#ask(request);
    }
    return result;
  }

  /**
   * Executes what `gather` gathers in few round trips, each operation by itself; nothing is sent if it throws. Returns what it returned.
   * If the server refuses operations, it executes all others, and the first refusal is thrown (ClientError, ServerError). NotStored,
   * NotFound and Stale come only with the operation's outcome.
   */
  async pipeline<T>(gather: (pipeline: Pipeline) => T): Promise<T> {
    const pipeline = new Pipeline();
    const result = gather(pipeline);
    let refused: AnswerError | undefined;
    for (const request of pipeline.requests()) {
      const refusal = await this.#ask(request);
      refused ??= refusal;
    }
    if (refused) {
      throw refused;
    }
    return result;
  }

  async #ask<T>(request: Request<T>): Promise<T> {
    const end = this.#options.hook?.(request.data.toString("latin1", 0, 20).split(/\s/, 1)[0]!, nameOf(this.#options));
    if (!end) {
      return this.#retry(request);
    }
    try {
      const result = await this.#retry(request);
      end();
      return result;
    } catch (error) {
      end(error);
      throw error;
    }
  }

  async #retry<T>(request: Request<T>): Promise<T> {
    const again = request.repeat === "always" || (request.repeat === "if asked" && this.#options.retryWrites === true);
    for (let attempt = 0; ; ++attempt) {
      try {
        return await this.#askOnce(request);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) {
          throw error;
        }
        this.#dropIdle(); // if the server stopped, all of them are lost
        if (!again || attempt >= (this.#options.retries ?? 2)) {
          throw error;
        }
      }
      await pause(attempt);
    }
  }

  async #askOnce<T>(request: Request<T>): Promise<T> {
    await this.#enter();
    try {
      if (this.#closed) {
        throw new ClientClosed("the client is closed");
      }
      let connection = this.#idle.pop();
      while (connection && !connection.usable) {
        connection = this.#idle.pop();
      }
      connection ??= await Connection.open(this.#options);
      try {
        return await connection.ask(request, this.#options.timeoutMs ?? requestTimeoutMs);
      } catch (error) {
        if (!(error instanceof AnswerError)) {
          connection.close();
        }
        throw error;
      } finally {
        if (this.#closed) {
          connection.close();
        } else if (connection.usable) {
          this.#idle.push(connection);
        }
      }
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#room > 0) {
      this.#room -= 1;
      return;
    }
    await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  #leave(): void {
    const next = this.#queue.shift();
    if (next) {
      next(); // hand the room over to the next request
    } else {
      this.#room += 1;
    }
  }

  #dropIdle(): void {
    for (const connection of this.#idle.splice(0)) {
      connection.close();
    }
  }
}

