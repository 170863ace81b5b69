// The lines of watches, without a server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, Changes, Over, WatchReader, watchLine } from "../src/changes.js";
import { ClientError, HistoryLost, MxkvError, ProtocolError, TooOld } from "../src/errors.js";
import { type Range, contains } from "../src/ranges.js";
import { Reply } from "../src/wire.js";

const sections = "HD Ow\r\nWS Ow\r\nWB 2\r\nWV 6 kuser:1 c17 f5 s6 t-1\r\n\r\nWE O\r\nWP ka2V5IA== b c18 t30 X\r\nWE Ow\r\n" +
  "WS Ow\r\nWG ka Rd\r\nWG ka2V5IA== b Re\r\nWG kb Rx\r\nWT ka t9\r\nWT kb t-1\r\nWX ka Hc o i Rd\r\nWX k Rf t2\r\n" +
  "WX kYSA= HYyA= b Rf\r\nWY kuser: Huser; t5\r\nWP klarge s70000\r\nWE Ow G9c41e07a55d2b813.1042 m7\r\nWO Ow ends G1.2\r\n";

const bytes = (text: string) => Buffer.from(text, "latin1");

function item(kind: "put" | "deleted" | "evicted" | "expired" | "touched", key: string, more: object = {}): Change {
  return { kind, key, rawKey: bytes(key), value: undefined, size: undefined, flags: 0, unique: 0n, ttl: undefined, stale: false, ...more };
}

const wanted: Change[] = [
  item("put", "user:1", { value: bytes("\r\nWE O"), size: 6, flags: 5, unique: 17n }),
  item("put", "key ", { unique: 18n, ttl: 30, stale: true }),
  item("deleted", "a"), item("evicted", "key "), item("expired", "b"), item("touched", "a", { ttl: 9 }), item("touched", "b"),
  { kind: "range deleted", range: { start: bytes("a"), stop: bytes("c"), excludeStart: true, includeStop: true }, ttl: undefined, delay: 0 },
  { kind: "flushed", range: {}, ttl: undefined, delay: 2 },
  { kind: "flushed", range: { start: bytes("a "), stop: bytes("c ") }, ttl: undefined, delay: 0 },
  { kind: "range touched", range: { start: bytes("user:"), stop: bytes("user;") }, ttl: 5, delay: 0 },
  item("put", "large", { size: 70000 }),
];

function read(data: Buffer, pieces = data.length): (Changes | Over | Reply)[] {
  const reader = new WatchReader();
  const found: (Changes | Over | Reply)[] = [];
  for (let at = 0; at < data.length; at += pieces) {
    reader.feed(data.subarray(at, at + pieces));
    for (let one = reader.next(); one; one = reader.next()) {
      found.push(one);
    }
  }
  return found;
}

test("sections read the same however they are cut", () => {
  for (const pieces of [1, 2, 3, 7, sections.length]) {
    const [answer, first, second, over, ...rest] = read(bytes(sections), pieces);
    assert.ok(answer instanceof Reply && first instanceof Changes && second instanceof Changes && over instanceof Over && rest.length === 0);
    assert.deepEqual([...first, ...second], wanted);
    assert.deepEqual([first.changes.length, first.position, first.mark, second.position, second.mark, over.error],
      [2, undefined, undefined, "9c41e07a55d2b813.1042", "7", undefined]);
  }
});

test("the ends of a watch have types", () => {
  for (const [line, kind] of [["WO Ow old G1.2", TooOld], ["WO Ow lost", HistoryLost]] as const) {
    const [over] = read(bytes(`${line}\r\n`));
    assert.ok(over instanceof Over && over.error instanceof kind);
  }
});

test("what no server pushes is refused", () => {
  for (const wrong of ["WP ka", "WE Ow G1.1", "WO Ow", "WO Ow why", "WO", "WS Ow\r\nHD", "WS Ow\r\nWS Ow", "WS Ow\r\nWP", "WS Ow\r\nWQ ka",
    "WS Ow\r\nWG ka", "WS Ow\r\nWG ka Rq", "WS Ow\r\nWX ka Re", "WS Ow\r\nWP ka cx", "WS Ow\r\nWT ka tx", "WS Ow\r\nWV x ka",
    "WS Ow\r\nWV 1 ka\r\nxyz", "WS Ow\r\nWE Ow G", "WS Ow\r\nWV"]) {
    assert.throws(() => read(bytes(`${wrong}\r\n`)), ProtocolError, wrong);
  }
  assert.throws(() => read(bytes("x".repeat(1 << 17))), ProtocolError);
});

test("damaged sections are read, or have an error of this package", () => {
  const marks = "\r\n 0A9WSEPVXGbkHRt-";
  let seed = 11;
  const chance = (most: number) => (seed = (seed * 48271) % 2147483647) % most;
  for (let round = 0; round < 3000; ++round) {
    const damaged = bytes(sections);
    for (let times = chance(4); times >= 0; --times) {
      damaged[chance(damaged.length)] = marks.charCodeAt(chance(marks.length));
    }
    try {
      read(damaged);
    } catch (error) {
      assert.ok(error instanceof MxkvError, String(error));
    }
  }
});

test("a watch begins by a line", () => {
  assert.equal(watchLine({ prefix: "user:" }, {}).toString(), "mw user: p Ow\r\n");
  assert.equal(watchLine({ start: "a", stop: "c" }, { values: true, from: "1.2" }).toString(), "mw a Hc Ow v f G1.2\r\n");
  assert.equal(watchLine({}, { values: true, details: true, kinds: ["touched", "put"] }).toString(), "mw - Ow v c f s t Mtp\r\n");
  for (const options of [{ from: "" }, { from: "1.2\r\nflush_all" }, { kinds: [] }, { kinds: ["moved" as "put"] }]) {
    assert.throws(() => watchLine({}, options), ClientError);
  }
});

test("a range knows its keys", () => {
  const cases: [Range, string, string][] = [[{ start: "b", stop: "d" }, "bc", "ad"], [{ start: "b", stop: "d", excludeStart: true, includeStop: true }, "cd", "be"],
    [{}, "a\xff", ""], [{ stop: "b" }, "a", "bc"], [{ prefix: "b" }, "b", "ac"], [{ prefix: "" }, "a", ""]];
  for (const [range, inside, outside] of cases) {
    assert.ok([...inside].every((key) => contains(range, bytes(key))), inside);
    assert.ok(![...outside].some((key) => contains(range, bytes(key))), outside);
  }
});
