// Changes of a range: the line that begins a watch, and the lines that the server pushes. No I/O.
import { AnswerError, ClientError, HistoryLost, TooOld } from "./errors.js";
import { type Bounds, type Range, rangeWords } from "./ranges.js";
import { Reply, ReplyReader, bytesOf, lineOf, needsBase64 } from "./wire.js";

/** A change of one item. */
export interface ItemChange {
  readonly kind: "put" | "deleted" | "evicted" | "expired" | "touched";
  /** Read as UTF-8; `rawKey` has the bytes. */
  readonly key: string;
  readonly rawKey: Buffer;
  /** Of a put, if the watch asked for values; undefined also if it is above the server's `watch.value_bytes`. */
  readonly value: Buffer | undefined;
  /** Bytes of the value of a put, if the watch asked for details, or if the value is too large to be sent. */
  readonly size: number | undefined;
  /** Of a put, with values or details. */
  readonly flags: number;
  /** Of a put, with details. */
  readonly unique: bigint;
  /** Seconds to live when the line was sent, of a put with details, and of touched items; undefined for ever. */
  readonly ttl: number | undefined;
  /** A put: the item was marked as stale. */
  readonly stale: boolean;
}

/** A change of all items of a range. */
export interface RangeChange {
  readonly kind: "range deleted" | "flushed" | "range touched";
  readonly range: Bounds;
  /** Touched: seconds to live; undefined for ever. */
  readonly ttl: number | undefined;
  /** Flushed: so many seconds later. */
  readonly delay: number;
}

export type Change = ItemChange | RangeChange;

/** Changes in the order in which they happened to each key. */
export class Changes implements Iterable<Change> {
  constructor(
    readonly changes: readonly Change[],
    /**
     * All changes up to this point were sent. Together they make one consistent state, and a watch may go on behind it. Undefined:
     * changes of the same moment follow.
     */
    readonly position: string | undefined,
    /** Of the request for a mark that this answers. */
    readonly mark?: string,
  ) {}

  [Symbol.iterator](): Iterator<Change> {
    return this.changes[Symbol.iterator]();
  }

  forEach(take: (change: Change) => void): void {
    this.changes.forEach(take);
  }
}

/** What a watch sends, and where it begins. */
export interface WatchOptions {
  /** Sends values and flags. */
  readonly values?: boolean;
  /** Sends uniques, flags, lengths and times to live. */
  readonly details?: boolean;
  /** All but "expired" if not told. Deletes of ranges come with "deleted", touches with "touched". */
  readonly kinds?: readonly ItemChange["kind"][];
  /** Goes on behind a position of an earlier watch. */
  readonly from?: string;
}

const letters: Readonly<Record<ItemChange["kind"], string>> = { put: "p", deleted: "d", evicted: "e", expired: "x", touched: "t" };
const reasons: Readonly<Record<string, ItemChange["kind"]>> = { d: "deleted", e: "evicted", x: "expired" };
const rangeReasons: Readonly<Record<string, RangeChange["kind"]>> = { d: "range deleted", f: "flushed" };

export function watchLine(range: Range, options: WatchOptions): Buffer {
  let line = `mw ${rangeWords(range)} Ow${options.values ? " v" : ""}${options.details ? " c f s t" : options.values ? " f" : ""}`;
  if (options.kinds) {
    const chosen = options.kinds.map((kind) => letters[kind] ?? "?").join("");
    if (chosen === "" || chosen.includes("?")) {
      throw new ClientError(`kinds of changes are some of ${Object.keys(letters).join(", ")}`);
    }
    line += ` M${chosen}`;
  }
  if (options.from !== undefined) {
    if (options.from === "" || needsBase64(bytesOf(options.from))) {
      throw new ClientError("a position is a word without blanks and control bytes");
    }
    line += ` G${options.from}`;
  }
  return lineOf(line);
}

export function markLine(mark: string): Buffer {
  return lineOf(`mu Ow m${mark}`);
}

/** The position behind which a watch begins, from the answer to its line. */
export function begun(reply: Reply): string {
  const position = reply.checked().flag("G");
  if (reply.code === "EX") {
    throw overOf(reply) ?? reply.unexpected();
  }
  if (reply.code !== "HD" || !position) {
    throw reply.unexpected();
  }
  return position;
}

/** The watch has ended. Without an error the server ends, and the watch may go on when it is back. */
export class Over {
  constructor(readonly error: AnswerError | undefined) {}
}

/** Takes bytes as they come and hands out whole sections, and the answers between them. */
export class WatchReader {
  readonly #replies = new ReplyReader();
  #section: Change[] | undefined;

  feed(data: Buffer): void {
    this.#replies.feed(data);
  }

  next(): Changes | Over | Reply | undefined {
    for (let reply = this.#replies.next(); reply; reply = this.#replies.next()) {
      if (!this.#section) {
        if (reply.code === "WO") {
          return new Over(overOf(reply));
        }
        if (reply.code !== "WS") {
          if (reply.code.startsWith("W")) {
            throw reply.unexpected();
          }
          return reply.checked();
        }
        this.#section = [];
      } else if (reply.code === "WE") {
        const changes = new Changes(this.#section, reply.flag("G"), reply.flag("m"));
        this.#section = undefined;
        if (changes.position === "") {
          throw reply.unexpected();
        }
        return changes;
      } else if (reply.code !== "WB") { // an application that wants batches whole applies all changes up to a position at once
        this.#section.push(changeOf(reply));
      }
    }
    return undefined;
  }
}

/** The change that a line of a section stands for. */
function changeOf(reply: Reply): Change {
  const seconds = reply.number("t", -1);
  const ttl = seconds < 0 ? undefined : seconds;
  switch (reply.code) {
    case "WP":
    case "WV":
      return {
        ...itemChange("put", reply),
        value: reply.value,
        size: reply.flag("s") === undefined ? undefined : reply.number("s"),
        flags: reply.number("f"),
        unique: reply.big("c") ?? 0n,
        ttl,
        stale: reply.flag("X") !== undefined,
      };
    case "WG":
      return itemChange(named(reasons, reply), reply);
    case "WT":
      return { ...itemChange("touched", reply), ttl };
    case "WX":
      return { kind: named(rangeReasons, reply), range: rangeOf(reply), ttl: undefined, delay: ttl ?? 0 };
    case "WY":
      return { kind: "range touched", range: rangeOf(reply), ttl, delay: 0 };
    default:
      throw reply.unexpected();
  }
}

function itemChange(kind: ItemChange["kind"], reply: Reply): ItemChange {
  const rawKey = reply.key();
  return { kind, key: rawKey.toString(), rawKey, value: undefined, size: undefined, flags: 0, unique: 0n, ttl: undefined, stale: false };
}

function named<T>(kinds: Readonly<Record<string, T>>, reply: Reply): T {
  const kind = kinds[reply.flag("R") ?? ""];
  if (kind === undefined) {
    throw reply.unexpected();
  }
  return kind;
}

function rangeOf(reply: Reply): Bounds {
  const start = reply.key();
  const stop = reply.flag("H");
  return {
    ...(start.length > 0 ? { start } : {}),
    ...(stop ? { stop: reply.bytesOf(stop) } : {}),
    ...(reply.flag("o") === undefined ? {} : { excludeStart: true }),
    ...(reply.flag("i") === undefined ? {} : { includeStop: true }),
  };
}

/** The error of EX or WO; undefined if the server ends. */
function overOf(reply: Reply): AnswerError | undefined {
  switch (reply.words[2]) {
    case "old":
      return new TooOld("the server no longer has the changes behind this position");
    case "lost":
      return new HistoryLost("the position is of another process of the server, or of another server");
    case "ends":
      return undefined;
    default:
      throw reply.unexpected();
  }
}
