import { Batch } from "./batch.js";
import { type AnswerError, errorOf, errorOfCode } from "./errors.js";
import type { Reply, Request } from "./wire.js";

const bytesAtOnce = 1 << 16; // before the first reply is read, so that both sides never block
const mostAtOnce = 1000; // operations

/**
 * The operations of a Batch, but each is executed by itself, whatever becomes of the others: the Outcome of one that fails has its
 * error. Other clients' requests may come in between.
 */
export class Pipeline extends Batch {
  /** @internal The requests to send one after the other. The result of each is its first refusal. */
  *requests(): Generator<Request<AnswerError | undefined>> {
    for (let first = 0; first < this.lines.length; ) {
      let end = first + 1;
      let size = this.lines[first]!.length;
      while (end < this.lines.length && end - first < mostAtOnce && size + this.lines[end]!.length <= bytesAtOnce) {
        size += this.lines[end++]!.length;
      }
      yield { data: Buffer.concat(this.lines.slice(first, end)), repeat: "never", read: () => this.#read(first, end) };
      first = end;
    }
  }

  *#read(first: number, end: number): Generator<void, AnswerError | undefined, Reply> {
    let refused: AnswerError | undefined;
    for (let number = first; number < end; ++number) {
      const reply: Reply = yield;
      const refusal = errorOf(reply.line, number);
      refused ??= refusal;
      const failure = refusal ?? this.#failure(reply, number);
      if (failure) {
        this.outcomes[number]!.fail(failure);
      } else {
        this.outcomes[number]!.take(reply);
      }
    }
    return refused;
  }

  #failure(reply: Reply, number: number): AnswerError | undefined {
    const mayMiss = this.lines[number]!.toString("latin1", 0, 3) === "md "; // a delete of nothing: its outcome is false
    return reply.code === "NF" && mayMiss ? undefined : errorOfCode(reply.code, number);
  }
}
