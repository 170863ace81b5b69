// A watch on a connection of its own, which the iterator opens again after it was lost.
import { nameOf } from "./address.js";
import { Changes, Over, WatchReader, type WatchOptions, begun, markLine, watchLine } from "./changes.js";
import { type ClientOptions, Connection, requestTimeoutMs } from "./connection.js";
import { ConnectionLost, RequestTimeout } from "./errors.js";
import type { Range } from "./ranges.js";

interface Listener {
  changes(found: Changes): void;
  /** Called once, at the end. */
  end(error: Error): void;
}

/** One connection with one watch. */
export class Stream {
  readonly #connection: Connection;
  #timer: NodeJS.Timeout | undefined;
  /** Ends it by an error. */
  fail: (error: Error) => void = () => undefined;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Begins a watch. The position is the one behind which it begins. */
  static async open(options: ClientOptions, line: Buffer, listener: Listener): Promise<{ stream: Stream; position: string }> {
    const end = options.hook?.("mw", nameOf(options));
    try {
      const stream = new Stream(await Connection.open(options));
      const position = await stream.#begin(line, listener, options.timeoutMs ?? requestTimeoutMs);
      end?.();
      return { stream, position };
    } catch (error) {
      end?.(error);
      throw error;
    }
  }

  /** Asks for a mark: the server sends all changes up to now, and then Changes with this mark. */
  askMark(mark: string): void {
    this.#connection.write(markLine(mark));
  }

  /** Stops to receive, and goes on. */
  pause(paused: boolean): void {
    this.#connection.pause(paused);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#connection.close();
  }

  #begin(line: Buffer, listener: Listener, timeoutMs: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const reader = new WatchReader();
      let begins = true;
      let ended = false;
      this.fail = (error) => {
        if (ended) {
          return;
        }
        ended = true;
        this.close();
        if (begins) {
          reject(error);
        } else {
          listener.end(error);
        }
      };
      const take = (data: Buffer) => {
        reader.feed(data);
        for (let found = reader.next(); found && !ended; found = reader.next()) {
          if (found instanceof Over) {
            throw found.error ?? new ConnectionLost("the server ends");
          }
          if (found instanceof Changes) {
            listener.changes(found);
          } else if (begins) {
            const position = begun(found);
            clearTimeout(this.#timer);
            begins = false;
            resolve(position);
          }
        }
      };
      if (timeoutMs !== Infinity) {
        this.#timer = setTimeout(() => this.fail(new RequestTimeout("no reply in time")), timeoutMs);
      }
      this.#connection.listen({
        fail: this.fail,
        feed: (data) => {
          try {
            take(data);
          } catch (error) {
            this.fail(error as Error);
          }
        },
      });
      this.#connection.write(line);
    });
  }
}

const queued = 64; // sections that wait for the program before the connection stops to receive

/**
 * Iterates over the changes of a range. If the connection is lost it opens another one and goes on behind the last position, for as long
 * as it takes; then the server sends the changes behind that position again. TooOld or HistoryLost is thrown if the server no longer has
 * the changes behind the position: begin another watch without a position, and read the range again. Errors that another attempt would
 * not change, such as Forbidden, are thrown, too. Leaving the loop ends the watch, and so does `close`.
 */
export class Watch implements AsyncIterableIterator<Changes> {
  readonly #options: ClientOptions;
  readonly #range: Range;
  readonly #form: WatchOptions;
  readonly #found: Changes[] = [];
  #position = "";
  #stream: Stream | undefined;
  #error: Error | undefined; // that ended the connection
  #closed = false;
  #wake: () => void = () => undefined;

  private constructor(options: ClientOptions, range: Range, form: WatchOptions) {
    this.#options = options;
    this.#range = range;
    this.#form = form;
  }

  /** @internal */
  static async begin(options: ClientOptions, range: Range, form: WatchOptions): Promise<Watch> {
    const made = new Watch(options, range, form);
    for (let attempt = 0; ; ++attempt) {
      try {
        await made.#open(form.from);
        return made;
      } catch (error) {
        if (!(error instanceof ConnectionLost) || attempt >= (options.retries ?? 2)) {
          throw error;
        }
      }
      await pause(attempt);
    }
  }

  /** The last one: all changes up to there were returned. */
  get position(): string {
    return this.#position;
  }

  close(): void {
    this.#closed = true;
    this.#stream?.close();
    this.#wake();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  return(): Promise<IteratorResult<Changes>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  async next(): Promise<IteratorResult<Changes>> {
    for (let attempt = 0; !this.#closed; ++attempt) {
      try {
        if (!this.#stream) {
          await this.#open(this.#position);
        }
        const value = await this.#hear();
        if (value) {
          this.#position = value.position ?? this.#position;
          return { done: false, value };
        }
      } catch (error) {
        this.#stream?.close();
        this.#stream = undefined;
        this.#found.length = 0; // the server sends them again
        if (!this.#closed && !(error instanceof ConnectionLost || error instanceof RequestTimeout)) {
          this.close();
          throw error;
        }
        await Promise.race([pause(attempt), new Promise<void>((resolve) => (this.#wake = resolve))]);
      }
    }
    return { done: true, value: undefined };
  }

  async #open(from: string | undefined): Promise<void> {
    this.#error = undefined;
    const line = watchLine(this.#range, { ...this.#form, ...(from === undefined ? {} : { from }) });
    const { stream, position } = await Stream.open(this.#options, line, {
      changes: (found) => {
        this.#found.push(found);
        if (this.#found.length === queued) {
          this.#stream?.pause(true);
        }
        this.#wake();
      },
      end: (error) => {
        this.#error = error;
        this.#wake();
      },
    });
    this.#stream = stream;
    this.#position = position;
    if (this.#closed) {
      stream.close();
    }
  }

  /** Changes, or another position; undefined if the watch was closed. A silent connection is asked for a mark, to see whether it lives. */
  async #hear(): Promise<Changes | undefined> {
    const patience = this.#options.timeoutMs ?? requestTimeoutMs;
    let asked = false;
    while (!this.#closed) {
      const found = this.#found.shift();
      if (found) {
        this.#stream?.pause(this.#found.length >= queued);
        asked = false;
        if (found.changes.length > 0 || (found.position ?? this.#position) !== this.#position) {
          return found;
        }
        continue;
      }
      if (this.#error) {
        throw this.#error;
      }
      if (await this.#silence(patience)) {
        if (asked) {
          throw new RequestTimeout("no mark in time");
        }
        this.#stream?.askMark("alive");
        asked = true;
      }
    }
    return undefined;
  }

  /** Waits for news. True: there are none within this time. */
  #silence(patienceMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = patienceMs === Infinity ? undefined : setTimeout(() => resolve(true), patienceMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(false);
      };
    });
  }
}

/** Waits after attempt number `attempt`, from 0. */
export function pause(attempt: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.min(1000, 50 * 2 ** Math.min(attempt, 20))));
}
