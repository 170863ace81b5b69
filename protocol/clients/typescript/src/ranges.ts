// Ranges of keys, and the requests on them. No I/O.
import { BadCursor, ClientError } from "./errors.js";
import { type Key, type Repeat, type Reply, type Request, bytesOf, lineOf, needsBase64, single } from "./wire.js";

/** All keys that begin so, or those from `start`, which is one of them, to `stop`, which is not. Nothing said: all keys. */
export type Range = { readonly prefix: Key } | Bounds;

/** Keys from `start`, which is one of them, to `stop`, which is not. */
export interface Bounds {
  readonly start?: Key;
  readonly stop?: Key;
  readonly excludeStart?: boolean;
  readonly includeStop?: boolean;
}

/** What of a range is told, and how. */
export interface ScanOptions {
  readonly reverse?: boolean;
  /** False: keys alone. */
  readonly values?: boolean;
  /** The most items of all pages together. */
  readonly limit?: number;
  /** The most items of a page; the server may end it earlier. */
  readonly pageItems?: number;
  /** Each page is one moment. */
  readonly snapshot?: boolean;
}

export interface Item {
  /** Read as UTF-8; `rawKey` has the bytes. */
  readonly key: string;
  readonly rawKey: Buffer;
  /** Empty where only keys were asked for. */
  readonly value: Buffer;
  readonly flags: number;
  readonly unique: bigint;
  /** Seconds to live; undefined for ever, and where it was not asked for. */
  readonly ttl: number | undefined;
}

/** `cursor` is where the next page begins; undefined if this was the last. */
export interface Page<T> {
  readonly items: T[];
  readonly cursor: string | undefined;
}

/** `within`: how far off an estimate may be, in per cent, 19 times of 20. */
export interface Size {
  readonly items: number;
  readonly bytes: number;
  readonly within: number | undefined;
}

/** Of the values of a range those that are numbers. */
export interface Numbers {
  readonly items: number;
  readonly numeric: number;
  readonly total: bigint;
  readonly least: bigint | undefined;
  readonly greatest: bigint | undefined;
}

/** The keys that share a prefix up to a delimiter; without a prefix those that have no delimiter. */
export interface Branch {
  readonly prefix: string | undefined;
  readonly items: number;
  readonly bytes: number;
}

const least = Buffer.alloc(1);
const greatest = Buffer.alloc(250, 0xff);

/** Where a range starts and ends, as a line says it. */
export function rangeWords(range: Range, reverse = false): string {
  const direction = reverse ? " r" : "";
  if ("prefix" in range) {
    const prefix = bytesOf(range.prefix);
    if (prefix.length === 0) {
      return "-" + direction;
    }
    return (needsBase64(prefix) ? `${prefix.toString("base64")} p b` : `${prefix.toString("latin1")} p`) + direction;
  }
  const start = bytesOf(range.start ?? "");
  const stop = bytesOf(range.stop ?? "");
  const far = reverse ? start : stop;
  let near = reverse ? stop : start;
  const bounded = near.length > 0;
  const encoded = needsBase64(near) || needsBase64(far) || near.toString("latin1") === "-";
  if (!bounded && encoded) {
    near = reverse ? greatest : least; // "-" in base64 would be a key, so use the first or last possible key
  }
  const word = (bytes: Buffer) => (encoded ? bytes.toString("base64") : bytes.toString("latin1"));
  let line = bounded || encoded ? word(near) : "-";
  line += encoded ? " b" : "";
  line += bounded && (reverse ? !range.includeStop : range.excludeStart) ? " o" : "";
  if (far.length > 0) {
    line += " H" + word(far) + ((reverse ? !range.excludeStart : range.includeStop) ? " i" : "");
  }
  return line + direction;
}

/** Does a range have this key? */
export function contains(range: Range, key: Key): boolean {
  const bytes = bytesOf(key);
  if ("prefix" in range) {
    const prefix = bytesOf(range.prefix);
    return prefix.equals(bytes.subarray(0, prefix.length));
  }
  const start = bytesOf(range.start ?? "");
  const stop = bytesOf(range.stop ?? "");
  const above = Buffer.compare(bytes, start);
  const below = stop.length === 0 ? -1 : Buffer.compare(bytes, stop);
  return (above > 0 || (above === 0 && (start.length === 0 || !range.excludeStart))) && (below < 0 || (below === 0 && range.includeStop === true));
}

export function itemOf(reply: Reply, key: Buffer): Item {
  const seconds = reply.number("t", -1);
  return {
    key: key.toString(),
    rawKey: key,
    value: reply.value ?? Buffer.alloc(0),
    flags: reply.number("f"),
    unique: reply.big("c") ?? 0n,
    ttl: seconds < 0 ? undefined : seconds,
  };
}

export function pageRequest(range: Range, how: ScanOptions, most: number, cursor: string | undefined): Request<Page<Item>> {
  const line = `mr ${rangeWords(range, how.reverse)} A${most} c t${how.values === false ? "" : " v f"}${how.snapshot ? " X" : ""}`;
  return {
    data: goingOn(line, cursor),
    repeat: "always",
    *read() {
      const items: Item[] = [];
      let reply: Reply = yield;
      for (; reply.expecting("VA", "HD", "EN").code !== "EN"; reply = yield) {
        items.push(itemOf(reply, reply.key()));
      }
      return { items, cursor: reply.flag("G") };
    },
  };
}

export function sizeRequest(range: Range, how: string): Request<Size> {
  return oneLine(`mc ${rangeWords(range)}${how}`, "always", (reply) => {
    const within = reply.number("~", -1);
    return { items: reply.number("A"), bytes: reply.number("B"), within: within < 0 ? undefined : within };
  });
}

export function numbersRequest(range: Range): Request<Numbers> {
  return oneLine(`mc ${rangeWords(range)} Msnx`, "always", (reply) => ({
    items: reply.number("A"),
    numeric: reply.number("N"),
    total: reply.big("Ms") ?? 0n,
    least: reply.big("Mn"),
    greatest: reply.big("Mx"),
  }));
}

export function treeRequest(range: Range, delimiter: string, cursor: string | undefined): Request<Page<Branch>> {
  return {
    data: goingOn(`mc ${rangeWords(range)} e D${bytesOf(delimiter).toString("latin1")}`, cursor),
    repeat: "always",
    *read() {
      const items: Branch[] = [];
      let reply: Reply = yield;
      for (; reply.expecting("HD", "EN").code === "HD"; reply = yield) {
        items.push({ prefix: reply.key().toString(), items: reply.number("A"), bytes: reply.number("B") });
      }
      if (reply.number("K") > 0) {
        items.push({ prefix: undefined, items: reply.number("K"), bytes: reply.number("B") });
      }
      return { items, cursor: reply.flag("G") };
    },
  };
}

export function removeRequest(range: Range, how: string, cursor: string | undefined): Request<{ removed: number; cursor: string | undefined }> {
  if ("prefix" in range && range.prefix.length === 0) {
    throw new ClientError("an empty prefix would delete all keys: name them by {}");
  }
  const take = (reply: Reply) => ({ removed: reply.expecting("HD").number("A"), cursor: reply.flag("G") });
  return single(goingOn(`mx ${rangeWords(range)}${how}`, cursor), "if asked", take);
}

export function touchRequest(range: Range, exptime: number, atMost: number | undefined): Request<number> {
  const most = atMost === undefined ? "" : ` A${atMost}`;
  return oneLine(`mt ${rangeWords(range)} T${exptime}${most}`, "if asked", (reply) => reply.number("A"));
}

function oneLine<T>(line: string, repeat: Repeat, take: (reply: Reply) => T): Request<T> {
  return single(lineOf(line), repeat, (reply) => take(reply.expecting("HD")));
}

function goingOn(line: string, cursor: string | undefined): Buffer {
  if (cursor === undefined) {
    return lineOf(line);
  }
  if (cursor === "" || needsBase64(bytesOf(cursor))) {
    throw new BadCursor("it is empty, or has blanks or control bytes");
  }
  return lineOf(`${line} G${cursor}`);
}
