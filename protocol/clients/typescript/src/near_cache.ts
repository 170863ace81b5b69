import { type Change, type Changes, type RangeChange, type WatchOptions, watchLine } from "./changes.js";
import type { Client } from "./client.js";
import { type ClientOptions, requestTimeoutMs } from "./connection.js";
import { ClientError, HistoryLost, RequestTimeout, TooOld } from "./errors.js";
import type { StoreOptions } from "./keys.js";
import { type Range, contains } from "./ranges.js";
import { Stream, pause } from "./watch.js";
import { type Key, type Request, bytesOf, keyWords, lineOf, single } from "./wire.js";

export interface NearOptions {
  /** Of keys and values, with 200 bytes for each entry; 64 MiB if not told. */
  readonly maxBytes?: number;
  /** 2000 if not told. */
  readonly maxStaleMs?: number;
}

const entryBytes = 200; // of an entry beside its key and value
const marks = 4; // that are asked for in `maxStaleMs`
const form: WatchOptions = { details: true, kinds: ["put", "deleted", "evicted", "touched"] };

/** What the server had. A ring of them: `next` of the root is the most recently used one. */
class Entry {
  previous: Entry = this;
  next: Entry = this;

  constructor(
    readonly id: string,
    readonly value: Buffer | undefined,
    readonly unique: bigint | undefined,
    public end: number,
    /** Is the key's text the same as `id`? Then the key needs no conversion. */
    readonly isPlain: boolean,
    readonly settled: Promise<Buffer | undefined>,
  ) {}

  get cost(): number {
    return this.id.length + (this.value?.length ?? 0) + entryBytes;
  }

  unlink(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
  }

  link(behind: Entry): void {
    this.previous = behind;
    this.next = behind.next;
    behind.next.previous = this;
    behind.next = this;
  }
}

interface Reading {
  tainted: boolean;
}

interface Found {
  readonly value: Buffer | undefined;
  readonly unique: bigint | undefined;
  readonly ttl: number;
  readonly isCurrent: boolean;
}

/**
 * Keeps items of a range in the process, and that there was no item. The server's changes keep it current. The least recently used entries
 * go.
 *
 * A value that `get` returns was current at some moment at most `maxStaleMs` before the call. The cache watches the range. Every quarter of
 * `maxStaleMs` it notes the time and asks the server for a mark, which stands behind all changes that took effect before it was asked for.
 * So at the mark the cache has been current since then, and it is live until that time + `maxStaleMs`: counting from the mark's arrival
 * would trust a delayed packet. While the cache is not live, reads go to the server, and the entries stay.
 *
 * The line of a change may arrive before the reply to an older read, which has another connection. So each read is in a table of pending
 * reads before it is sent. A line for its key, a clear of the cache, and an own write, when it is sent and when it is answered, taint the
 * read: its value is returned, but not kept. A change that the read did not see takes effect behind it, so its line comes after the read
 * was entered.
 *
 * The server sends times to live in whole seconds, rounded up. An entry outlives its item by at most a second, or `maxStaleMs` if that is
 * less.
 *
 * Writes of the range should go through `set`, `delete` or `writing`, so that this process reads its own writes; others are seen within
 * `maxStaleMs`. Two limits: a flush_all with a delay that was sent before the cache began is not noticed, and two values of a key must not
 * have the same unique, as the flag E of the meta commands would allow.
 */
export class NearCache {
  readonly #client: Client;
  readonly #ask: <T>(request: Request<T>) => Promise<T>;
  readonly #options: ClientOptions;
  readonly #range: Range;
  readonly #maxBytes: number;
  readonly #maxStaleMs: number;
  readonly #slackMs: number;
  readonly #entries = new Map<string, Entry>(); // by the key, each character a byte
  readonly #recent = new Entry("", undefined, undefined, 0, false, Promise.resolve(undefined));
  readonly #pending = new Map<string, Set<Reading>>();
  readonly #asked = new Map<string, number>(); // the times of requests for marks that did not come yet
  #bytes = 0;
  #liveUntil = 0;
  #follows = false; // the server will send the changes behind a read that is sent now
  #keepsFrom = 0; // values of reads that were sent before are not kept
  #knownAt = 0; // lines that come now were written after this time
  #position: string | undefined;
  #stream: Stream | undefined;
  #timer: NodeJS.Timeout | undefined;
  #mark = 0;
  #attempt = 0; // to begin the watch, since the last mark
  #failure: Error | undefined;
  #closed = false;

  private constructor(client: Client, ask: <T>(request: Request<T>) => Promise<T>, options: ClientOptions, range: Range, near: NearOptions) {
    this.#client = client;
    this.#ask = ask;
    this.#options = options;
    this.#range = range;
    this.#maxBytes = near.maxBytes ?? 64 << 20;
    this.#maxStaleMs = near.maxStaleMs ?? 2000;
    this.#slackMs = Math.min(this.#maxStaleMs, 1000) - 1000;
    if (!(this.#maxBytes >= 0 && this.#maxStaleMs > 0)) {
      throw new ClientError("maxStaleMs must be above 0, and maxBytes must not be negative");
    }
  }

  /** @internal */
  static async begin(client: Client, ask: <T>(request: Request<T>) => Promise<T>, options: ClientOptions, range: Range, near: NearOptions): Promise<NearCache> {
    const made = new NearCache(client, ask, options, range, near);
    await made.#begin();
    return made;
  }

  /** The value; undefined if there is no such item. Do not change the value. */
  get(key: Key): Promise<Buffer | undefined> {
    const now = performance.now();
    if (now < this.#liveUntil) {
      let entry = typeof key === "string" ? this.#entries.get(key) : undefined;
      if (!entry?.isPlain) {
        entry = this.#entries.get(idOf(key));
      }
      if (entry && now < entry.end) {
        if (this.#recent.next !== entry) {
          entry.unlink();
          entry.link(this.#recent);
        }
        return entry.settled;
      }
    }
    return this.#fetch(key);
  }

  /** Stores a value, as the client does. */
  set(key: Key, value: Key, options?: StoreOptions): Promise<void> {
    return this.writing([key], () => this.#client.set(key, value, options));
  }

  /** False if it was not there. */
  delete(key: Key): Promise<boolean> {
    return this.writing([key], () => this.#client.delete(key));
  }

  /** Calls a function that writes these keys by the client, so that later reads see these writes, and returns what it returns. */
  async writing<T>(keys: readonly Key[], write: () => Promise<T>): Promise<T> {
    const ids = keys.map((key) => this.#checked(key));
    this.#forget(ids);
    try {
      return await write();
    } finally {
      this.#forget(ids);
    }
  }

  /** Does it answer reads itself? */
  get isLive(): boolean {
    return performance.now() < this.#liveUntil;
  }

  /** The number of entries. */
  get entries(): number {
    return this.#entries.size;
  }

  /** Bytes of keys and values, and 200 for each entry. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The error that ended the last connection of the watch; undefined while the watch is followed. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Ends the watch. Reads go to the server from then on. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#stream?.close();
    this.#clear();
  }

  #checked(key: Key): string {
    keyWords(key);
    if (!contains(this.#range, key)) {
      throw new ClientError("the key is outside of the range of this near cache");
    }
    return idOf(key);
  }

  async #fetch(key: Key): Promise<Buffer | undefined> {
    const id = this.#checked(key);
    const reading: Reading = { tainted: !this.#follows };
    const others = this.#pending.get(id);
    if (others) {
      others.add(reading);
    } else {
      this.#pending.set(id, new Set([reading]));
    }
    const sent = performance.now();
    let found: Found;
    try {
      found = await this.#ask(currentRequest(key));
    } finally {
      const readings = this.#pending.get(id)!;
      readings.delete(reading);
      if (readings.size === 0) {
        this.#pending.delete(id);
      }
    }
    if (!reading.tainted && found.isCurrent && sent >= this.#keepsFrom) {
      const end = found.ttl < 0 ? Infinity : sent + found.ttl * 1000 + this.#slackMs;
      this.#keep(new Entry(id, found.value, found.unique, end, typeof key === "string" && key === id && !/[^\0-\x7f]/.test(id), Promise.resolve(found.value)));
    }
    return found.value;
  }

  #keep(entry: Entry): void {
    this.#drop(this.#entries.get(entry.id));
    if (entry.cost > this.#maxBytes) {
      return;
    }
    this.#entries.set(entry.id, entry);
    entry.link(this.#recent);
    this.#bytes += entry.cost;
    while (this.#bytes > this.#maxBytes) {
      this.#drop(this.#recent.previous);
    }
  }

  #drop(entry: Entry | undefined): void {
    if (entry) {
      this.#entries.delete(entry.id);
      entry.unlink();
      this.#bytes -= entry.cost;
    }
  }

  #forget(ids: readonly string[]): void {
    for (const id of ids) {
      this.#drop(this.#entries.get(id));
      this.#taint(id);
    }
  }

  #taint(id: string): void {
    this.#pending.get(id)?.forEach((reading) => (reading.tainted = true));
  }

  /** Forgets all, the position, too, and keeps nothing until a watch has begun anew. */
  #clear(): void {
    this.#liveUntil = 0;
    this.#follows = false;
    this.#position = undefined;
    this.#entries.clear();
    this.#recent.next = this.#recent.previous = this.#recent;
    this.#bytes = 0;
    [...this.#pending.keys()].forEach((id) => this.#taint(id));
  }

  async #begin(): Promise<void> {
    const asked = performance.now();
    const line = watchLine(this.#range, this.#position === undefined ? form : { ...form, from: this.#position });
    const { stream, position } = await Stream.open(this.#options, line, {
      changes: (found) => this.#take(found),
      end: (error) => void this.#beginAgain(error),
    });
    if (this.#closed) {
      stream.close();
      return;
    }
    this.#stream = stream;
    this.#position = position;
    this.#knownAt = asked;
    this.#follows = true;
    this.#asked.clear();
    clearInterval(this.#timer); // of a connection that has ended meanwhile
    this.#timer = setInterval(() => this.#askMark(), Math.max(1, this.#maxStaleMs / marks));
    this.#askMark();
  }

  /** Begins the watch again after its end: behind the last position, unless the server no longer has the changes behind it. */
  async #beginAgain(error: unknown): Promise<void> {
    for (let failure = error; ; ) {
      clearInterval(this.#timer);
      if (this.#closed) {
        return;
      }
      this.#failure = failure as Error;
      if (failure instanceof TooOld || failure instanceof HistoryLost) {
        this.#clear(); // the position is never sent again
      }
      await pause(this.#attempt++);
      try {
        if (!this.#closed) {
          await this.#begin();
        }
        return;
      } catch (another) {
        failure = another;
      }
    }
  }

  #askMark(): void {
    const now = performance.now();
    const patience = this.#options.timeoutMs ?? requestTimeoutMs;
    for (const since of this.#asked.values()) {
      if (now - since > patience) {
        this.#stream?.fail(new RequestTimeout("no mark in time"));
        return;
      }
    }
    const mark = String(++this.#mark);
    this.#asked.set(mark, now);
    this.#stream?.askMark(mark);
  }

  #take(found: Changes): void {
    found.forEach((change) => this.#apply(change));
    this.#position = found.position ?? this.#position;
    const asked = found.mark === undefined ? undefined : this.#asked.get(found.mark);
    if (asked !== undefined) {
      this.#asked.delete(found.mark!);
      this.#knownAt = asked;
      this.#liveUntil = asked + this.#maxStaleMs;
      this.#attempt = 0;
      this.#failure = undefined;
    }
  }

  #apply(change: Change): void {
    if ("range" in change) {
      this.#applyToRange(change);
      return;
    }
    const id = idOf(change.rawKey);
    this.#taint(id);
    const entry = this.#entries.get(id);
    if (!entry) {
      return;
    }
    const isSame = change.kind === "put" && change.unique === entry.unique && !change.stale; // as when it was read
    if (change.kind === "touched") {
      entry.end = this.#endOf(change.ttl);
    } else if (!isSame) {
      this.#drop(entry);
    }
  }

  #applyToRange(change: RangeChange): void {
    const inside = (id: string) => contains(change.range, Buffer.from(id, "latin1"));
    [...this.#pending.keys()].filter(inside).forEach((id) => this.#taint(id));
    for (const [id, entry] of this.#entries) {
      if (!inside(id)) {
        continue;
      }
      if (change.kind === "range touched") {
        entry.end = this.#endOf(change.ttl);
      } else {
        this.#drop(entry);
      }
    }
    if (change.delay > 0) {
      this.#keepsFrom = Math.max(this.#keepsFrom, performance.now() + (change.delay + 1) * 1000);
    }
  }

  #endOf(ttl: number | undefined): number {
    return ttl === undefined ? Infinity : this.#knownAt + ttl * 1000 + this.#slackMs;
  }
}

function idOf(key: Key): string {
  return bytesOf(key).toString("latin1");
}

/** Reads an item, and what a near cache has to know of it. */
function currentRequest(key: Key): Request<Found> {
  return single(lineOf(`mg ${keyWords(key)} v f c t`), "always", (reply) => {
    const { value } = reply.expecting("VA", "EN");
    // The server says so if the item is stale, or if this client is to renew it.
    const isCurrent = ["W", "X", "Z"].every((sign) => reply.flag(sign) === undefined);
    return { value, unique: reply.big("c"), ttl: reply.number("t", -1), isCurrent };
  });
}
