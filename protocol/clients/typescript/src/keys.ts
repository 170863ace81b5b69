// Requests on single keys. No I/O.
import { type Item, itemOf } from "./ranges.js";
import { type Key, type Repeat, type Reply, type Request, bytesOf, eachReply, keyWords, lineOf, single } from "./wire.js";

export interface StoreOptions {
  /** Seconds until it expires; 0 and undefined for ever. */
  readonly expire?: number;
  /** The client's flags, a number of 32 bits. */
  readonly flags?: number;
}

export const modes = { set: "", add: " ME", replace: " MR", append: " MA", prepend: " MP" } as const;
const longestRelative = 30 * 24 * 3600;

/** A time to live as the protocol says it: whole seconds, unix time beyond 30 days. */
export function exptime(seconds: number): number {
  const whole = Math.ceil(seconds);
  return whole > longestRelative ? Math.floor(Date.now() / 1000) + whole : whole;
}

export function getLine(key: Key): Buffer {
  return lineOf(`mg ${keyWords(key)} v f c`);
}

export function storeLine(how: keyof typeof modes, key: Key, value: Key, options: StoreOptions = {}, unique?: bigint): Buffer {
  const data = bytesOf(value);
  let line = `ms ${keyWords(key, ` ${data.length}`)}${modes[how]}`;
  line += options.flags ? ` F${options.flags}` : "";
  line += options.expire ? ` T${exptime(options.expire)}` : "";
  line += unique === undefined ? "" : ` C${unique}`;
  return Buffer.concat([lineOf(line), data, Buffer.from("\r\n")]);
}

export function deleteLine(key: Key, unique?: bigint): Buffer {
  return lineOf(`md ${keyWords(key)}${unique === undefined ? "" : ` C${unique}`}`);
}

export function touchLine(key: Key, expire: number): Buffer {
  return lineOf(`mg ${keyWords(key)} T${exptime(expire)}`);
}

export function countLine(key: Key, delta: bigint | number, down: boolean, initial?: bigint | number): Buffer {
  return lineOf(`ma ${keyWords(key)} v D${delta}${down ? " MD" : ""}${initial === undefined ? "" : ` N0 J${initial}`}`);
}

export function getRequest(keys: readonly Key[]): Request<Item[]> {
  return {
    data: Buffer.concat(keys.map(getLine)),
    repeat: "always",
    *read() {
      const found: Item[] = [];
      yield* eachReply(keys.length, (reply, number) => {
        if (reply.expecting("VA", "EN").value) {
          found.push(itemOf(reply, bytesOf(keys[number]!)));
        }
      });
      return found;
    },
  };
}

export function statsRequest(group: string): Request<Map<string, string>> {
  return {
    data: lineOf(`stats ${group}`.trimEnd()),
    repeat: "always",
    *read() {
      const found = new Map<string, string>();
      let reply: Reply = yield;
      for (; reply.expecting("STAT", "END", "RESET").code === "STAT"; reply = yield) {
        found.set(reply.words[1] ?? "", reply.words.slice(2).join(" "));
      }
      return found;
    },
  };
}

/** Answered by one of the codes of writes. */
export function writeRequest(line: Buffer, repeat: Repeat): Request<string> {
  return single(line, repeat, (reply) => reply.expecting("HD", "NS", "EX", "NF", "EN").code);
}

export function countRequest(line: Buffer): Request<bigint | undefined> {
  return single(line, "never", (reply) => (reply.expecting("VA", "NF").code === "NF" ? undefined : reply.count()));
}
