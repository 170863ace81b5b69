/** The base of all errors of servers and connections. */
export class MxkvError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server said no; the connection stays in step. */
export class AnswerError extends MxkvError {
  constructor(
    readonly text: string,
    /** The number of the failed operation of a batch or pipeline, from 0. */
    readonly operation?: number,
  ) {
    super(operation === undefined ? text : `operation ${operation}: ${text}`);
  }
}

/** The request is wrong; it has had no effect. */
export class ClientError extends AnswerError {}
/** No cursor, or one of another range. */
export class BadCursor extends ClientError {}
/** More keys than may be changed at once; nothing was done. */
export class RangeTooLarge extends ClientError {}
/** Not logged in, a wrong password, or this user may not. */
export class Forbidden extends ClientError {}
/** Wrong name or password. */
export class AuthenticationFailed extends Forbidden {}
/** The request may be right, but cannot be done now. */
export class ServerError extends AnswerError {}
/** The value is larger than the server takes. */
export class TooLarge extends ServerError {}
/** No memory is left, and nothing may or can go. */
export class OutOfMemory extends ServerError {}
/** The server cannot write its journal now, so it refused the change. */
export class JournalFailed extends ServerError {}
/** In a batch or pipeline: there is no such key. */
export class NotFound extends AnswerError {}
/** In a batch or pipeline: an add on something, or a replace, append or prepend on nothing. */
export class NotStored extends AnswerError {}
/** The key has another unique by now. */
export class Stale extends AnswerError {}
/**
 * The server no longer has the changes behind the position of a watch. Begin a watch without a position, then read the range.
 */
export class TooOld extends AnswerError {}
/**
 * The position of a watch is of another process of the server, or of another server. Begin a watch without a position, then read the
 * range.
 */
export class HistoryLost extends AnswerError {}
/** No connection, or it was lost. Whether a write took effect is not known. */
export class ConnectionLost extends MxkvError {}
/** No reply in time. Whether a write took effect is not known. */
export class RequestTimeout extends MxkvError {}
/** TLS failed, for example because a certificate is not trusted or missing. Not retried. */
export class TlsFailed extends MxkvError {}
/** The text is no address of a server. */
export class BadAddress extends MxkvError {}
/** The client is closed. */
export class ClientClosed extends MxkvError {}
/** What came is no reply of mxkv. */
export class ProtocolError extends MxkvError {}

type Kind = new (text: string, operation?: number) => AnswerError;

const kinds: ReadonlyArray<readonly [string, Kind]> = [
  ["CLIENT_ERROR bad cursor", BadCursor],
  ["CLIENT_ERROR the cursor leads out of the range", BadCursor],
  ["CLIENT_ERROR too many keys in the range", RangeTooLarge],
  ["CLIENT_ERROR unauthenticated", Forbidden],
  ["CLIENT_ERROR authentication failure", AuthenticationFailed],
  ["CLIENT_ERROR forbidden", Forbidden],
  ["CLIENT_ERROR", ClientError],
  ["SERVER_ERROR object too large for cache", TooLarge],
  ["SERVER_ERROR out of memory", OutOfMemory],
  ["SERVER_ERROR journal", JournalFailed],
  ["SERVER_ERROR", ServerError],
  ["ERROR", ClientError],
];

/** The error that a line of a reply is. */
export function errorOf(line: string, operation?: number): AnswerError | undefined {
  const found = kinds.find(([beginning]) => line.startsWith(beginning));
  return found && new found[1](line.slice(line.indexOf(" ") + 1), operation);
}

/** Why an operation, counted from 0, kept a batch from being done. */
export function batchError(operation: number, why: string): AnswerError {
  return errorOfCode(why, operation) ?? errorOf(why, operation) ?? new ClientError(why, operation);
}

/** The error that the code of a reply to an operation stands for. */
export function errorOfCode(code: string, operation: number): AnswerError | undefined {
  switch (code) {
    case "NF":
      return new NotFound("there is no such key", operation);
    case "NS":
      return new NotStored("not stored", operation);
    case "EX":
      return new Stale("the key has another unique by now", operation);
    default:
      return undefined;
  }
}
