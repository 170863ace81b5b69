// Replies without a server: cut at every byte, errors, and bytes that are no reply.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Batch } from "../src/batch.js";
import { BadCursor, ClientError, Forbidden, MxkvError, NotFound, NotStored, OutOfMemory, ProtocolError, RangeTooLarge, ServerError, Stale, TooLarge, batchError, errorOf } from "../src/errors.js";
import { getRequest, storeLine } from "../src/keys.js";
import { type Range, numbersRequest, pageRequest, rangeWords, sizeRequest, treeRequest } from "../src/ranges.js";
import { ReplyReader, type Request } from "../src/wire.js";

function read<T>(request: Request<T>, pieces: Buffer[]): T {
  const replies = new ReplyReader();
  const reading = request.read();
  reading.next(undefined as never);
  for (const piece of pieces) {
    replies.feed(piece);
    for (let reply = replies.next(); reply; reply = replies.next()) {
      const step = reading.next(reply);
      if (step.done) {
        if (replies.pending) {
          throw new ProtocolError("more");
        }
        return step.value;
      }
    }
  }
  throw new Error("no end");
}

const pageReply = "VA 9 kuser:1 f5 c17 t-1\r\n\r\nEN A1\r\n\r\nHD ka2V5IA== b f0 c18 t30\r\nVA 0 kz f0 c19 t0\r\n\r\nEN A3 GabcD\r\n";

test("a reply cut at every byte reads as a whole one", () => {
  const batch = new Batch();
  batch.set("a", "1");
  batch.get("a");
  const cases: [() => Request<unknown>, string][] = [
    [() => pageRequest({ prefix: "" }, {}, 10, undefined), pageReply],
    [() => sizeRequest({}, ""), "HD A12 B345 ~2\r\n"],
    [() => numbersRequest({}), "HD A3 B26 N2 Ms-4 Mn-5 Mx1\r\n"],
    [() => treeRequest({}, ":", undefined), "HD kuser: A2 B18\r\nEN A1 K1 B8 Gx\r\n"],
    [() => getRequest(["a", "b", "c"]), "VA 2 f0 c5\r\n\r\n\r\nEN\r\nVA 1 f1 c6\r\nx\r\n"],
    [() => batch.request()!, "HD\r\nVA 1 f0 c9\r\n1\r\nHD\r\n"],
  ];
  for (const [request, text] of cases) {
    const reply = Buffer.from(text);
    const whole = read(request(), [reply]);
    for (let at = 1; at < reply.length; ++at) {
      assert.deepEqual(read(request(), [reply.subarray(0, at), reply.subarray(at)]), whole);
    }
    assert.deepEqual(read(request(), [...reply].map((byte) => Buffer.from([byte]))), whole);
  }
  const page = read(pageRequest({}, {}, 10, undefined), [Buffer.from(pageReply)]);
  assert.deepEqual(page.items.map((item) => [item.key, item.value.toString(), item.unique, item.ttl]),
    [["user:1", "\r\nEN A1\r\n", 17n, undefined], ["key ", "", 18n, 30], ["z", "", 19n, 0]]);
  assert.equal(page.cursor, "abcD");
});

test("errors have types", () => {
  for (const [line, kind] of [["CLIENT_ERROR bad cursor", BadCursor], ["CLIENT_ERROR x", ClientError], ["ERROR", ClientError],
    ["CLIENT_ERROR too many keys in the range", RangeTooLarge], ["CLIENT_ERROR unauthenticated", Forbidden], ["SERVER_ERROR x", ServerError],
    ["SERVER_ERROR out of memory storing object", OutOfMemory], ["SERVER_ERROR object too large for cache", TooLarge]] as const) {
    assert.equal(errorOf(line)?.constructor, kind, line);
  }
  for (const [why, kind] of [["NF", NotFound], ["NS", NotStored], ["EX", Stale], ["CLIENT_ERROR x", ClientError]] as const) {
    assert.equal(batchError(3, why).constructor, kind);
    assert.equal(batchError(3, why).operation, 3);
  }
});

test("what no server sends is no reply", () => {
  for (const wrong of ["VA x ka\r\n", "VA\r\n", "VA 1 ka f0\r\nxyz\r\n", "OK\r\n", "HD f0\r\n", "HD ka cx\r\n", "x".repeat(1 << 17)]) {
    assert.throws(() => read(pageRequest({}, {}, 1, undefined), [Buffer.from(wrong)]), ProtocolError, wrong);
  }
});

test("damaged replies are told by type or read, and never anything else", () => {
  const marks = "\r\n 0A9VAHDENkb~-";
  let seed = 11;
  const chance = (most: number) => (seed = (seed * 48271) % 2147483647) % most;
  const requests: (() => Request<unknown>)[] = [() => pageRequest({}, {}, 1, undefined), () => numbersRequest({}), () => getRequest(["a", "b"])];
  const answers = [pageReply, "HD A3 B26 N2 Ms-4 Mn-5 Mx1\r\n", "VA 2 f0 c5\r\n\r\n\r\nEN\r\n"];
  for (let round = 0; round < 3000; ++round) {
    const damaged = Buffer.from(answers[round % 3]!);
    for (let times = chance(4); times >= 0; --times) {
      damaged[chance(damaged.length)] = marks.charCodeAt(chance(marks.length));
    }
    try {
      read(requests[round % 3]!(), [damaged]);
    } catch (error) {
      assert.ok(error instanceof MxkvError || (error instanceof Error && error.message === "no end"), String(error));
    }
  }
});

test("ranges and keys as lines say them", () => {
  const cases: [Range, boolean, string][] = [
    [{}, false, "-"], [{ prefix: "" }, true, "- r"], [{ prefix: "user:" }, true, "user: p r"], [{ prefix: "a b" }, false, "YSBi p b"],
    [{ start: "a", stop: "c" }, false, "a Hc"], [{ start: "a", stop: "c" }, true, "c o Ha i r"],
    [{ start: "a", stop: "c", excludeStart: true, includeStop: true }, false, "a o Hc i"],
    [{ start: "a", stop: "c", excludeStart: true, includeStop: true }, true, "c Ha r"], [{ start: "-" }, false, "LQ== b"],
    [{ stop: "c " }, false, "AA== b HYyA="], [{ start: "a" }, true, "- Ha i r"],
  ];
  for (const [range, reverse, wanted] of cases) {
    assert.equal(rangeWords(range, reverse), wanted);
  }
  assert.equal(storeLine("add", " ", "v", { flags: 3, expire: 0.5 }).toString(), "ms IA== 1 b ME F3 T1\r\nv\r\n");
  for (const key of ["", "k".repeat(251), " ".repeat(251)]) {
    assert.throws(() => getRequest([key]), ClientError);
  }
  assert.throws(() => pageRequest({}, {}, 1, "a\r\nflush_all"), BadCursor);
  assert.throws(() => treeRequest({}, ":\r\nflush_all", undefined), ClientError);
});
