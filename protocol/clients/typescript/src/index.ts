/**
 * Client of mxkv: memcached's commands, ranges over ordered keys, and atomic batches.
 *
 *     for await (const item of client.scan({ prefix: "user:" })) {
 *       console.log(item.key, item.value.toString());
 *     }
 */
export { Batch, Outcome } from "./batch.js";
export { Changes } from "./changes.js";
export type { Change, ItemChange, RangeChange, WatchOptions } from "./changes.js";
export { Client } from "./client.js";
export type { ClientOptions } from "./connection.js";
export {
  AnswerError, AuthenticationFailed, BadAddress, BadCursor, ClientClosed, ClientError, ConnectionLost, Forbidden, HistoryLost, JournalFailed, MxkvError,
  NotFound, NotStored, OutOfMemory, ProtocolError, RangeTooLarge, RequestTimeout, ServerError, Stale, TlsFailed, TooLarge, TooOld,
} from "./errors.js";
export { NearCache } from "./near_cache.js";
export type { NearOptions } from "./near_cache.js";
export { Pipeline } from "./pipeline.js";
export { Servers } from "./servers.js";
export type { StoreOptions } from "./keys.js";
export { contains } from "./ranges.js";
export type { Bounds, Branch, Item, Numbers, Page, Range, ScanOptions, Size } from "./ranges.js";
export { Watch } from "./watch.js";
export type { Key } from "./wire.js";
