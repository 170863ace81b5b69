// Against servers: MXKV_PORT; MXKV_CUT_PORT cuts a connection every 20 kB of replies. One server knows the user ann: at
// MXKV_LOGIN_PORT, with TLS at MXKV_TLS_PORT, with client certificates at MXKV_MUTUAL_TLS_PORT. In the folder MXKV_CERTIFICATES
// ca.pem signed all certificates, and ann.pem and ann.key are ann's. A test without its server is skipped.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, test as nodeTest } from "node:test";
import {
  AuthenticationFailed, BadCursor, Client, ClientError, type ClientOptions, ConnectionLost, Forbidden, type Item, MxkvError, NotFound, NotStored,
  Pipeline, RangeTooLarge, RequestTimeout, Servers, Stale, TlsFailed, TooLarge,
} from "../src/index.js";

const host = "127.0.0.1";
const port = (name: string) => Number(process.env[name]);
const binary = Buffer.from("b \0\r\n\xff", "latin1");
const client = new Client({ host, port: port("MXKV_PORT"), timeoutMs: 20_000 });

async function gathered<T>(from: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of from) {
    found.push(one);
  }
  return found;
}

const keys = async (from: AsyncIterable<Item>) => (await gathered(from)).map((item) => item.key);

const test = (name: string, body: () => Promise<void>, needed = "MXKV_PORT") =>
  nodeTest(name, { skip: process.env[needed] ? false : `${needed} names no server` }, body);
const failsTls = (error: unknown) => error instanceof TlsFailed || error instanceof ConnectionLost; // lost: closed before the alert was read

beforeEach(() => (process.env.MXKV_PORT ? client.flushAll() : undefined));
after(() => client.close());

test("single keys", async () => {
  for (const key of ["k", binary, Buffer.alloc(250)]) {
    assert.equal(await client.get(key), undefined);
    assert.equal(await client.replace(key, "x"), false);
    assert.equal(await client.append(key, "x"), false);
    assert.equal(await client.compareAndSwap(key, "x", 1n), "not found");
    assert.equal(await client.add(key, "a", { flags: 7, expire: 3600 }), true);
    assert.equal(await client.add(key, "a"), false);
    assert.equal(await client.append(key, "b"), true);
    const item = (await client.getItem(key))!;
    assert.equal(item.value.toString(), "ab");
    assert.equal(item.flags, 7);
    assert.equal(await client.compareAndSwap(key, "41", item.unique), "stored");
    assert.equal(await client.compareAndSwap(key, "42", item.unique), "stale");
    assert.equal(await client.increment(key, 2), 43n);
    assert.equal(await client.decrement(key, 100n), 0n);
    assert.equal(await client.touch(key, 60 * 24 * 3600), true);
    assert.equal(await client.delete(key), true);
    assert.equal(await client.delete(key), false);
    assert.equal(await client.increment(key), undefined);
  }
  await assert.rejects(client.set(binary, Buffer.alloc(2 << 20)), TooLarge);
  assert.match(await client.version(), /^\d+\.\d+/);
});

test("ranges", async () => {
  const names = Array.from({ length: 2500 }, (_, number) => `user:${String(number).padStart(4, "0")}`);
  await Promise.all([...names, "visits"].map((name) => client.set(name, "7")));
  assert.deepEqual(await keys(client.scan({ prefix: "user:" })), names);
  assert.deepEqual(await keys(client.scan({ start: "user:", stop: "v" }, { reverse: true, values: false, pageItems: 77 })), [...names].reverse());
  assert.deepEqual(await keys(client.scan({}, { limit: 1100, snapshot: true })), names.slice(0, 1100));
  assert.deepEqual(await keys(client.scan({}, { limit: 0 })), []);
  assert.equal((await client.getMany([...names, "absent"])).length, 2500);
  const first = await client.page({ prefix: "user:" }, { limit: 3 });
  assert.deepEqual((await client.page({ prefix: "user:" }, { limit: 2 }, first.cursor)).items.map((item) => item.key), names.slice(3, 5));
  await assert.rejects(client.page({}, {}, "nonsense"), BadCursor);
  assert.equal(await client.count({ prefix: "user:" }), 2500);
  assert.deepEqual(await client.size(), { items: 2501, bytes: 2500 * 10 + 7, within: undefined });
  assert.equal((await client.numbers()).total, 17507n);
  assert.deepEqual((await gathered(client.tree())).map((branch) => [branch.prefix, branch.items]), [["user:", 2500], [undefined, 1]]);
  await assert.rejects(client.touchRange({}, 60, 10), RangeTooLarge);
  assert.equal(await client.touchRange({ prefix: "user:" }, 1000), 2500);
  assert.ok((await client.page()).items[0]!.ttl! > 0);
  assert.equal(await client.deleteRange({ prefix: "user:" }), 2500);
  assert.equal(await client.deleteRangeAtOnce({}), 1);
});

test("binary keys have their place in ranges", async () => {
  await client.set(binary, "x");
  await client.set("a", "x");
  assert.deepEqual((await gathered(client.scan())).map((item) => item.rawKey), [Buffer.from("a"), binary]);
  assert.deepEqual((await gathered(client.scan({ start: binary }, { reverse: true }))).map((item) => item.rawKey), [binary]);
});

test("batches happen whole or not at all", async () => {
  const made = await client.batch((batch) => {
    batch.set("a", "5");
    const sum = batch.increment("a", 2);
    assert.throws(() => sum.value, MxkvError);
    return [sum, batch.increment(binary, 1, 50), batch.decrement("a", 1)];
  });
  assert.deepEqual(made.map((outcome) => outcome.value), [7n, 50n, 6n]);
  await assert.rejects(client.batch((batch) => {
    batch.set("b", "1");
    batch.add("a", "1");
  }), (error) => error instanceof NotStored && error.operation === 1);
  await assert.rejects(client.batch((batch) => batch.compareAndSwap("a", "1", 1n)), Stale);
  await assert.rejects(client.batch((batch) => {
    batch.set("b", "1");
    throw new RangeError();
  }), RangeError);
  assert.equal(await client.get("b"), undefined);
});

test("many requests at once share few connections, and no sum is seen half moved", async () => {
  const few = new Client({ host, port: port("MXKV_PORT"), maxConnections: 3 });
  await Promise.all(Array.from({ length: 10 }, (_, account) => few.set(`account:${account}`, "1000")));
  await Promise.all(Array.from({ length: 64 }, async (_, seed) => {
    for (let step = 0; step < 20; ++step) {
      await few.batch((batch) => {
        batch.decrement(`account:${(seed + step) % 10}`);
        batch.increment(`account:${(seed * 3 + step * 7 + 1) % 10}`);
      });
      const items = await gathered(few.scan({ prefix: "account:" }, { snapshot: true }));
      assert.equal(items.reduce((sum, item) => sum + Number(item.value), 0), 10000);
    }
  }));
  few.close();
  await assert.rejects(few.get("k"), MxkvError);
});

test("ranges go on where connections were cut, and writes are not sent again unless told", async () => {
  const wanted = Array.from({ length: 3000 }, (_, number) => `key:${String(number).padStart(5, "0")}`);
  await Promise.all(wanted.map((key) => client.set(key, "x".repeat(50))));
  const cut = new Client({ host, port: port("MXKV_CUT_PORT") });
  for (let round = 0; round < 5; ++round) {
    assert.deepEqual(await keys(cut.scan({ prefix: "key:" }, { pageItems: 100 })), wanted);
  }
  await assert.rejects(async () => {
    for (let number = 0; number < 10_000; ++number) {
      await cut.increment("absent");
    }
  }, ConnectionLost);
  cut.close();
  const asked = new Client({ host, port: port("MXKV_CUT_PORT"), retryWrites: true });
  for (let number = 0; number < 4000; ++number) {
    await asked.set("n", "1");
  }
  asked.close();
}, "MXKV_CUT_PORT");

test("what came too late is never another request's reply", async () => {
  const hurried = new Client({ host, port: port("MXKV_PORT"), timeoutMs: 3, maxConnections: 1 });
  await Promise.all(Array.from({ length: 200 }, (_, number) => client.set(`key:${number}`, `${number}:`.padEnd(3000, "x"))));
  for (let number = 0; number < 200; ++number) {
    for (const look of [async () => assert.equal((await hurried.page({}, { limit: 200 })).items.length, 200),
      async () => assert.match(String(await hurried.get(`key:${number}`)), new RegExp(`^${number}:`))]) {
      await look().catch((error) => assert.ok(error instanceof RequestTimeout, String(error)));
    }
  }
  hurried.close();
});

test("it logs in", async () => {
  const place = { host, port: port("MXKV_LOGIN_PORT") };
  const ann = new Client({ ...place, user: "ann", password: "secret word" });
  await ann.set("k", "v");
  ann.close();
  for (const options of [place, { ...place, user: "ann", password: "wrong" }]) {
    const stranger = new Client(options);
    await assert.rejects(stranger.get("k"), Forbidden);
    stranger.close();
  }
}, "MXKV_LOGIN_PORT");

const file = (name: string) => readFileSync(join(process.env.MXKV_CERTIFICATES!, name));

/** Logs in by TLS, stores much and reads it again. */
async function ask(name: string, tls: NonNullable<ClientOptions["tls"]>, password = "secret word"): Promise<void> {
  const secure = new Client({ host, port: port(name), user: "ann", password, tls });
  try {
    await secure.set("k", "x".repeat(900_000));
    assert.equal((await secure.get("k"))!.length, 900_000);
    assert.deepEqual(await keys(secure.scan()), ["k"]);
  } finally {
    secure.close();
  }
}

test("it speaks TLS and distrusts", async () => {
  await ask("MXKV_TLS_PORT", { ca: file("ca.pem") });
  await assert.rejects(ask("MXKV_TLS_PORT", { ca: file("ca.pem") }, "wrong"), AuthenticationFailed);
  await assert.rejects(ask("MXKV_TLS_PORT", {}), (error) => error instanceof TlsFailed && /unable to verify/.test(error.message));
  await assert.rejects(ask("MXKV_LOGIN_PORT", { ca: file("ca.pem") }), failsTls);
}, "MXKV_TLS_PORT");

test("it shows a certificate of its own", async () => {
  const shown = { ca: file("ca.pem"), cert: file("ann.pem"), key: file("ann.key") };
  await ask("MXKV_MUTUAL_TLS_PORT", shown);
  await assert.rejects(ask("MXKV_MUTUAL_TLS_PORT", shown, "wrong"), Forbidden);
  await assert.rejects(ask("MXKV_MUTUAL_TLS_PORT", { ca: file("ca.pem") }), failsTls);
}, "MXKV_MUTUAL_TLS_PORT");

test("a pipeline executes each operation by itself", async () => {
  await client.set("there", "1");
  const gather = (pipeline: Pipeline) => [
    pipeline.set("a", "1"), pipeline.increment("there", 4), pipeline.delete("nowhere"), pipeline.set(binary, "2"), pipeline.get("nowhere"),
    pipeline.add("a", "x"), pipeline.increment("nowhere"), pipeline.compareAndSwap("a", "x", 1n),
  ] as const;
  const outcomes = await client.pipeline(gather);
  assert.deepEqual(outcomes.slice(0, 5).map((outcome) => outcome.value), [true, 5n, false, true, undefined]);
  assert.throws(() => outcomes[5].value, NotStored);
  assert.equal(outcomes[5].error?.operation, 5);
  assert.throws(() => outcomes[6].value, NotFound);
  assert.ok(outcomes[7].error instanceof Stale);
  assert.throws(() => gather(new Pipeline())[0].value, MxkvError);
});

test("a refused operation is thrown after all others were executed", async () => {
  await client.set("text", "x");
  const refused = client.pipeline((pipeline) => {
    pipeline.set("a", "1");
    pipeline.increment("text");
    pipeline.set("b", "2");
  });
  await assert.rejects(refused, (error) => error instanceof ClientError && error.operation === 1);
  assert.deepEqual(await keys(client.scan()), ["a", "b", "text"]);
});

test("a pipeline may be larger than all buffers", async () => {
  const large = "x".repeat(500_000);
  const found = await client.pipeline((pipeline) => {
    Array.from({ length: 20 }, (_, number) => pipeline.set(`large:${number}`, large));
    const made = Array.from({ length: 100 }, (_, number) => pipeline.get(`large:${number % 20}`));
    Array.from({ length: 3000 }, (_, number) => pipeline.set(`small:${number}`, "v"));
    return made;
  });
  assert.ok(found.every((outcome) => outcome.value!.value.length === large.length));
  assert.equal(await client.count({ prefix: "small:" }), 3000);
});

test("several servers share the keys", async () => {
  const servers = new Servers([`${host}:${port("MXKV_PORT")}`, { host: "localhost", port: port("MXKV_PORT") }], { timeoutMs: 20_000 });
  const all = Array.from({ length: 50 }, (_, number) => `k${number}`);
  await Promise.all(all.map((key) => servers.clientOf(key).set(key, "v")));
  assert.equal(new Set(all.map((key) => servers.clientOf(key))).size, 2);
  assert.equal((await servers.getMany([...all, "none"])).length, 50);
  servers.close();
  assert.equal(await client.count({ prefix: "k" }), 50);
});

test("a hook sees each request and its error", async () => {
  const seen: unknown[] = [];
  const name = `${host}:${port("MXKV_PORT")}`;
  const watched = new Client(`mxkv://${name}`, {
    hook: (command, server) => (error) => seen.push([command, server, error instanceof ClientError]),
  });
  await watched.set("k", "x");
  await assert.rejects(watched.increment("k"), ClientError);
  watched.close();
  assert.deepEqual(seen, [["ms", name, false], ["ma", name, true]]);
});

test("statistics come by group", async () => {
  assert.ok((await client.stats()).has("uptime"));
  assert.ok((await client.stats("settings")).has("maxbytes"));
  await assert.rejects(async () => client.stats("a\r\nb"), ClientError);
});
