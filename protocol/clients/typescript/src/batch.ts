import { type AnswerError, MxkvError, batchError } from "./errors.js";
import { type StoreOptions, countLine, deleteLine, getLine, storeLine, touchLine } from "./keys.js";
import { type Item, itemOf } from "./ranges.js";
import { type Key, type Reply, type Request, bytesOf, lineOf } from "./wire.js";

/** The result of an operation of a batch or pipeline, set once it was executed. */
export class Outcome<T> {
  #made: { value: T } | undefined;
  #error: AnswerError | undefined;

  /** @internal */
  constructor(private readonly read: (reply: Reply) => T) {}

  /** The result. Throws the operation's error if it failed, and MxkvError before it was executed. */
  get value(): T {
    if (this.#error) {
      throw this.#error;
    }
    if (!this.#made) {
      throw new MxkvError("the operation was not executed yet");
    }
    return this.#made.value;
  }

  /** The reason why this operation of a pipeline failed. */
  get error(): AnswerError | undefined {
    return this.#error;
  }

  /** @internal */
  fail(error: AnswerError): void {
    this.#error = error;
  }

  /** @internal */
  take(reply: Reply): void {
    this.#made = { value: this.read(reply) };
  }
}

/** Gathers operations that happen at once or not at all. Each finds what those before it left. */
export class Batch {
  /** @internal */
  readonly lines: Buffer[] = [];
  /** @internal */
  readonly outcomes: Outcome<unknown>[] = [];

  get(key: Key): Outcome<Item | undefined> {
    return this.#add(getLine(key), (reply) => (reply.value ? itemOf(reply, bytesOf(key)) : undefined));
  }

  set(key: Key, value: Key, options?: StoreOptions): Outcome<boolean> {
    return this.#add(storeLine("set", key, value, options), () => true);
  }

  /** Fails with NotStored if the key is there. */
  add(key: Key, value: Key, options?: StoreOptions): Outcome<boolean> {
    return this.#add(storeLine("add", key, value, options), () => true);
  }

  /** Fails with NotStored if the key is not there. */
  replace(key: Key, value: Key, options?: StoreOptions): Outcome<boolean> {
    return this.#add(storeLine("replace", key, value, options), () => true);
  }

  /** Fails with NotStored if the key is not there. */
  append(key: Key, data: Key): Outcome<boolean> {
    return this.#add(storeLine("append", key, data), () => true);
  }

  /** Fails with Stale if the key has another unique, with NotFound if it is gone. */
  compareAndSwap(key: Key, value: Key, unique: bigint, options?: StoreOptions): Outcome<boolean> {
    return this.#add(storeLine("set", key, value, options, unique), () => true);
  }

  /** Was it there? Fails with Stale if it has another unique than one that is told. */
  delete(key: Key, unique?: bigint): Outcome<boolean> {
    return this.#add(deleteLine(key, unique), (reply) => reply.code === "HD");
  }

  /** Was it there? */
  touch(key: Key, expire: number): Outcome<boolean> {
    return this.#add(touchLine(key, expire), (reply) => reply.code === "HD");
  }

  /** The new number. Without an initial one it fails with NotFound if the key is not there. */
  increment(key: Key, delta: bigint | number = 1, initial?: bigint | number): Outcome<bigint> {
    return this.#add(countLine(key, delta, false, initial), (reply) => reply.count());
  }

  /** As increment; it stops at 0. */
  decrement(key: Key, delta: bigint | number = 1, initial?: bigint | number): Outcome<bigint> {
    return this.#add(countLine(key, delta, true, initial), (reply) => reply.count());
  }

  /** @internal Undefined if there is nothing to do. */
  request(): Request<void> | undefined {
    const outcomes = this.outcomes;
    if (outcomes.length === 0) {
      return undefined;
    }
    return {
      data: Buffer.concat([lineOf(`mb ${outcomes.length}`), ...this.lines]),
      repeat: "never",
      *read() {
        const replies: Reply[] = [];
        while (replies.length < outcomes.length) {
          const reply: Reply = yield;
          const [code, operation, ...why] = reply.checked().words;
          if (code === "EX" && operation !== undefined && why.length > 0) {
            throw batchError(Number(operation) - 1, why.join(" "));
          }
          replies.push(reply);
        }
        const last: Reply = yield;
        last.expecting("HD");
        outcomes.forEach((outcome, at) => outcome.take(replies[at]!));
      },
    };
  }

  #add<T>(line: Buffer, read: (reply: Reply) => T): Outcome<T> {
    const outcome = new Outcome(read);
    this.lines.push(line);
    this.outcomes.push(outcome);
    return outcome;
  }
}
