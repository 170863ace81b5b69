// Parses replies, and writes keys as words. No I/O: the caller feeds received bytes in pieces of any size.
import { ClientError, ProtocolError, errorOf } from "./errors.js";

/** Text is UTF-8; bytes may be any. 1 to 250 bytes. */
export type Key = string | Uint8Array;

const longestKey = 250;
const longestLine = 1 << 16;
const end = Buffer.from("\r\n");

/** One line of a reply, each character a byte, and the value behind it if it announces one. */
export class Reply {
  constructor(
    readonly words: string[],
    readonly value?: Buffer,
  ) {}

  get code(): string {
    return this.words[0] ?? "";
  }

  get line(): string {
    return this.words.join(" ");
  }

  /** Itself; an error line is thrown. */
  checked(): this {
    const error = errorOf(this.line);
    if (error) {
      throw error;
    }
    return this;
  }

  expecting(...codes: string[]): this {
    if (!codes.includes(this.checked().code)) {
      throw this.unexpected();
    }
    return this;
  }

  /** What is behind the letters of a flag. */
  flag(letters: string): string | undefined {
    return this.words.slice(this.value ? 2 : 1).find((word) => word.startsWith(letters))?.slice(letters.length);
  }

  number(letters: string, otherwise = 0): number {
    const text = this.flag(letters);
    if (text !== undefined && !/^-?\d+$/.test(text)) {
      throw this.unexpected();
    }
    return text === undefined ? otherwise : Number(text);
  }

  big(letters: string): bigint | undefined {
    const text = this.flag(letters);
    if (text !== undefined && !/^-?\d+$/.test(text)) {
      throw this.unexpected();
    }
    return text === undefined ? undefined : BigInt(text);
  }

  /** The value as a number. */
  count(): bigint {
    const text = this.value?.toString("latin1").trimEnd();
    if (text === undefined || !/^\d+$/.test(text)) {
      throw this.unexpected();
    }
    return BigInt(text);
  }

  /** The key that a line of a range tells. */
  key(): Buffer {
    const text = this.flag("k");
    if (text === undefined) {
      throw this.unexpected();
    }
    return this.bytesOf(text);
  }

  /** The bytes of a key of this line, which is in base64 if the line says so. */
  bytesOf(text: string): Buffer {
    return Buffer.from(text, this.flag("b") === undefined ? "latin1" : "base64");
  }

  unexpected(): ProtocolError {
    return new ProtocolError(`unexpected reply: ${this.line.slice(0, 100)}`);
  }
}

/** Takes bytes as they come and hands out whole replies. */
export class ReplyReader {
  private chunks: Buffer[] = [];
  private size = 0;
  private wanted = 1; // bytes needed before parsing again
  private words: string[] | undefined;

  feed(data: Buffer): void {
    this.chunks.push(data);
    this.size += data.length;
  }

  /** Is there something that no reply was made of? */
  get pending(): boolean {
    return this.size > 0 || this.words !== undefined;
  }

  next(): Reply | undefined {
    if (this.size < this.wanted) {
      return undefined;
    }
    const all = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
    this.chunks = [all];
    if (this.words === undefined) {
      const at = all.indexOf(end);
      if (at < 0) {
        if (this.size > longestLine) {
          throw new ProtocolError("a line of a reply does not end");
        }
        this.wanted = this.size + 1;
        return undefined;
      }
      const words = all.toString("latin1", 0, at).split(" ");
      this.keep(all.subarray(at + 2));
      if (words[0] !== "VA" && words[0] !== "WV") {
        return new Reply(words);
      }
      if (!/^\d{1,10}$/.test(words[1] ?? "")) {
        throw new ProtocolError("no valid length of a value");
      }
      this.words = words;
      this.wanted = Number(words[1]) + 2;
      return this.next();
    }
    const length = this.wanted - 2;
    if (all[length] !== 13 || all[length + 1] !== 10) {
      throw new ProtocolError("a value is longer than announced");
    }
    const reply = new Reply(this.words, Buffer.from(all.subarray(0, length)));
    this.words = undefined;
    this.keep(all.subarray(length + 2));
    return reply;
  }

  private keep(rest: Buffer): void {
    this.chunks = [rest];
    this.size = rest.length;
    this.wanted = 1;
  }
}

/** May a request be sent again if nobody knows whether it took effect? */
export type Repeat = "always" | "if asked" | "never";

/** What to send, and how to read what comes back: a generator that is given reply by reply and returns the result. */
export interface Request<T> {
  readonly data: Buffer;
  readonly repeat: Repeat;
  read(): Generator<void, T, Reply>;
}

/** One line. Each character is a byte. */
export function lineOf(text: string): Buffer {
  if (/[\r\n]/.test(text)) {
    throw new ClientError("an argument must not have line ends");
  }
  return Buffer.from(text + "\r\n", "latin1");
}

export function bytesOf(data: Key): Buffer {
  return typeof data === "string" ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

export function needsBase64(bytes: Uint8Array): boolean {
  return bytes.some((byte) => byte <= 0x20 || byte === 0x7f);
}

/** A key as mg, ms, md and ma take it: the word, and the flag b if it is base64. */
export function keyWords(key: Key, between = ""): string {
  const bytes = bytesOf(key);
  if (bytes.length === 0 || bytes.length > longestKey) {
    throw new ClientError(`a key must have 1 to ${longestKey} bytes, not ${bytes.length}`);
  }
  return needsBase64(bytes) ? `${bytes.toString("base64")}${between} b` : bytes.toString("latin1") + between;
}

/** Reads one reply to each of `count` lines. What is behind an error line is read all the same. */
export function* eachReply(count: number, take: (reply: Reply, number: number) => void): Generator<void, void, Reply> {
  let first: Error | undefined;
  for (let number = 0; number < count; ++number) {
    const reply: Reply = yield;
    const error = errorOf(reply.line);
    if (error) {
      first ??= error;
    } else {
      take(reply, number);
    }
  }
  if (first) {
    throw first;
  }
}

/** A request that is answered by one reply. */
export function single<T>(data: Buffer, repeat: Repeat, take: (reply: Reply) => T): Request<T> {
  return {
    data,
    repeat,
    *read() {
      const reply: Reply = yield;
      return take(reply.checked());
    },
  };
}
