// Watches and near caches against the server of MXKV_PORT, which they empty.
import assert from "node:assert/strict";
import { type TestContext, after, beforeEach, test as nodeTest } from "node:test";
import { type Changes, Client, ClientError, HistoryLost, type Item, NearCache, type NearOptions, TooOld, Watch, contains } from "../src/index.js";
import { WatchProxy, waitFor } from "./servers.js";

const host = "127.0.0.1";
const port = Number(process.env.MXKV_PORT);
const client = new Client({ host, port, timeoutMs: 60_000 });
const test = (name: string, body: (context: TestContext) => Promise<void>) => nodeTest(name, { skip: process.env.MXKV_PORT ? false : "MXKV_PORT names no server" }, body);
const random = (most: number) => Math.floor(Math.random() * most);

beforeEach(() => (process.env.MXKV_PORT ? client.flushAll() : undefined));
after(() => client.close());

async function heard(watch: Watch, count: number): Promise<string[]> {
  const found: string[] = [];
  for (let step = await watch.next(); !step.done; step = await watch.next()) {
    for (const change of step.value) {
      found.push("range" in change ? `${change.kind} ${String(change.range.start)} ${String(change.range.stop)}` :
        `${change.kind} ${change.key} ${change.value} ${change.flags} ${change.size} ${(change.ttl ?? 0) > 900}`);
    }
    if (found.length >= count) {
      return found;
    }
  }
  throw new Error("the watch ended");
}

test("each kind of change is told", async () => {
  const watch = await client.watch({ prefix: "k" }, { values: true, details: true });
  await client.set("k1", "a", { flags: 3 });
  await client.touch("k1", 1000);
  await client.delete("k1");
  await client.set("k \0", "b");
  await client.touchRange({ prefix: "k" }, 0);
  await client.deleteRangeAtOnce({ start: "k", stop: "k2" });
  await client.set("other", "x");
  await client.flushAll();
  const changes = await heard(watch, 7);
  assert.deepEqual(changes.filter((text) => text.includes(" k1 ")),
    ["put k1 a 3 1 false", "touched k1 undefined 0 undefined true", "deleted k1 undefined 0 undefined false"]);
  assert.deepEqual(changes.filter((text) => !text.includes(" k1 ")),
    ["put k \0 b 0 1 false", "range touched k l", "range deleted k k2", "flushed k l"]);
  watch.close();
  assert.equal((await watch.next()).done, true);
});

test("a watch goes on behind a position", async () => {
  const first = await client.watch({ prefix: "k" }, { kinds: ["put"] });
  await client.set("k1", "x");
  await heard(first, 1);
  first.close();
  await client.set("k2", "x");
  const second = await client.watch({ prefix: "k" }, { from: first.position });
  assert.match((await heard(second, 1)).at(-1)!, /^put k2 /);
  second.close();
  await assert.rejects(client.watch({}, { from: `${first.position.split(".")[0]}.0` }), TooOld);
  await assert.rejects(client.watch({}, { from: "0123456789abcdef.1" }), HistoryLost);
  await assert.rejects(client.watch({}, { from: "x" }), ClientError);
  await assert.rejects(client.watch({}, { kinds: ["expired"] }), ClientError);
});

test("what watches hear equals a scan although their connections are cut", async (context) => {
  const proxy = await WatchProxy.open(port, 20_000);
  const cut = new Client({ host, port: proxy.port, timeoutMs: 60_000 });
  const opened = [await cut.watch({ prefix: "key:" }, { values: true }), await cut.watch({ prefix: "key:" }, { values: true })];
  context.after(() => [...opened, cut, proxy].forEach((one) => one.close()));
  const watch = async (changesOfRange: Watch) => {
    const items = new Map<string, string>();
    const fold = (changes: Changes) => changes.forEach((change) => {
      if ("range" in change) {
        [...items.keys()].filter((key) => change.kind !== "range touched" && contains(change.range, key)).forEach((key) => items.delete(key));
      } else if (change.kind === "put") {
        items.set(change.key, change.value!.toString());
      } else if (change.kind !== "touched") {
        items.delete(change.key);
      }
    });
    for await (const changes of changesOfRange) {
      fold(changes);
      if (items.has("key:end") && changes.position !== undefined) {
        break;
      }
    }
    return items;
  };
  const maps = opened.map(watch);
  await Promise.all([0, 1, 2].map(async (seed) => {
    for (let turn = 0; turn < 2500; ++turn) {
      const key = `key:${10 + random(40)}`;
      const what = random(20);
      if (what < 13) {
        await client.set(key, `${seed}-${turn}`.repeat(1 + what));
      } else if (what < 16) {
        await client.delete(key);
      } else if (what < 18) {
        await client.batch((batch) => [batch.set(key, "b"), batch.set("key:17", key)]);
      } else if (what < 19) {
        await client.deleteRangeAtOnce({ prefix: key.slice(0, -1) });
      } else {
        await client.touch(key, 0);
      }
    }
  }));
  await client.set("key:end", "x");
  const held = new Map<string, string>();
  for await (const item of client.scan({ prefix: "key:" })) {
    held.set((item as Item).key, item.value.toString());
  }
  for (const items of await Promise.all(maps)) {
    assert.deepEqual(new Map([...items].sort()), held);
  }
  assert.ok(proxy.cuts >= 5, `${proxy.cuts} cuts`);
});

/** A near cache of a client behind a proxy. */
async function nearCache(context: TestContext, options: NearOptions, cutEvery = 0, delayMs = 0): Promise<{ near: NearCache; nearClient: Client; proxy: WatchProxy }> {
  const proxy = await WatchProxy.open(port, cutEvery, delayMs);
  const nearClient = new Client({ host, port: proxy.port, timeoutMs: 60_000 });
  const near = await nearClient.nearCache({ prefix: "user:" }, options);
  context.after(() => [near, nearClient, proxy].forEach((one) => one.close()));
  await waitFor("the cache is live", () => near.isLive);
  return { near, nearClient, proxy };
}

test("hits ask nobody, and changes are followed", async (context) => {
  const { near, proxy } = await nearCache(context, { maxStaleMs: 60_000 });
  const get = async (key: string) => String(await near.get(key));
  await client.set("user:1", "a");
  await waitFor("both are kept", async () => (await get("user:1")) === "a" && (await get("user:none")) === "undefined" && near.entries === 2);
  const before = proxy.reads;
  for (let turn = 0; turn < 100; ++turn) {
    assert.deepEqual([await get("user:1"), await get("user:none")], ["a", "undefined"]);
  }
  assert.equal(proxy.reads, before);
  await client.set("user:1", "b");
  await client.set("user:none", "c");
  await waitFor("the changed keys are dropped", () => near.entries === 0);
  assert.deepEqual([await get("user:1"), await get("user:none")], ["b", "c"]);
  await client.deleteRangeAtOnce({ prefix: "user:" });
  await waitFor("the deleted keys are dropped", () => near.entries === 0);
  assert.equal(await get("user:1"), "undefined");
  await client.flushAll();
  await waitFor("the flushed keys are dropped", () => near.entries === 0);
  for (const key of ["", "other", `user:${"x".repeat(250)}`]) {
    await assert.rejects(near.get(key), ClientError);
    await assert.rejects(near.set(key, "x"), ClientError);
  }
});

test("times to live end entries", async (context) => {
  const { near } = await nearCache(context, { maxStaleMs: 60_000 });
  await client.set("user:1", "a");
  await waitFor("it is kept", async () => (await near.get("user:1")) !== undefined && near.entries === 1);
  await client.touch("user:1", 1);
  await waitFor("it has expired", async () => (await near.get("user:1")) === undefined);
  await client.set("user:2", "a", { expire: 1 });
  await waitFor("it has expired", async () => (await near.get("user:2")) === undefined);
});

test("own writes are read back", async (context) => {
  const { near, nearClient } = await nearCache(context, {}, 0, 20);
  await Promise.all([0, 1, 2, 3].map(async (number) => {
    const key = `user:${number}`;
    const reads = async (wanted: string) => assert.equal(String(await near.get(key)), wanted);
    for (let turn = 0; turn < 200; ++turn) {
      await near.set(key, String(turn));
      await reads(String(turn));
      await reads(String(turn));
      await near.writing([key], () => nearClient.increment(key));
      await reads(String(turn + 1));
      if (turn % 10 === 0) {
        await near.delete(key);
        await reads("undefined");
      }
    }
  }));
});

test("the least recently used entries go when the bytes are used up", async (context) => {
  const most = 10 * 1208;
  for (let number = 0; number < 100; ++number) {
    await client.set(`user:${100 + number}`, "x".repeat(1000));
  }
  await client.set("user:large", "x".repeat(20_000));
  const { near, proxy } = await nearCache(context, { maxStaleMs: 60_000, maxBytes: most });
  for (let number = 0; number < 100; ++number) {
    for (const key of ["user:100", `user:${100 + number}`, "user:large"]) {
      await near.get(key);
    }
    assert.ok(near.bytes <= most);
  }
  assert.equal(near.entries, 10);
  const asks = async (key: string) => {
    const before = proxy.reads;
    await near.get(key);
    return proxy.reads > before;
  };
  assert.deepEqual([await asks("user:100"), await asks("user:large"), await asks("user:150")], [false, true, true]);
});

test("no read is staler than the bound although lines are held back", async (context) => {
  const bound = 300;
  const { near, proxy } = await nearCache(context, { maxStaleMs: bound }, 30_000, 3 * bound);
  const answered: number[][] = Array.from({ length: 1000 }, () => []); // when value `n` of a key was answered, at the latest
  let newest = 0;
  let done = false;
  let stale = 0;
  let reads = 0;
  const write = async (number: number) => {
    newest = number;
    await client.set(`user:${number}`, String(answered[number]!.length));
    answered[number]!.push(performance.now());
  };
  await Promise.all(answered.map((_, number) => write(number)));
  const writing = (async () => {
    while (!done) {
      await write(random(answered.length));
      await new Promise((resolve) => setTimeout(resolve, random(3)));
    }
  })();
  const read = async () => {
    for (let turn = 0; !done; ++turn) {
      const number = random(2) ? newest : random(answered.length);
      const begin = performance.now();
      const value = Number(await near.get(`user:${number}`));
      assert.ok(Number.isInteger(value));
      reads += 1;
      const since = answered[number]![value + 1];
      if (since !== undefined && since < begin) {
        stale += 1;
        assert.ok(begin - since <= bound, `user:${number} is stale by ${begin - since} ms`);
      }
      if (turn % 50 === 0) {
        await new Promise((resolve) => setImmediate(resolve)); // hits do not wait
      }
    }
  };
  const readers = Promise.all([read(), read(), read(), read()]);
  const end = performance.now() + 20_000;
  const enough = async () => {
    while (performance.now() < end && !(stale > 2000 && proxy.cuts > 2 && proxy.delays > 3 && reads > proxy.reads + 10_000)) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  try {
    await Promise.race([readers, enough()]);
  } finally {
    done = true;
  }
  await Promise.all([readers, writing]);
  assert.ok(stale > 0 && reads > proxy.reads, `${stale} stale reads of ${reads}`);
});
