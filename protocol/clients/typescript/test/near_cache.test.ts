// Near caches beside a server that answers in an order that a test chooses.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client, ClientError, Forbidden, NearCache, type NearOptions, ServerError } from "../src/index.js";
import { ScriptedServer, fresh, waitFor } from "./servers.js";

const old = "VA 1 f0 c1 t-1\r\na";
const young = "VA 1 f0 c2 t-1\r\nb";
const nothing = () => Promise.resolve();

interface Order {
  server: ScriptedServer;
  near: NearCache;
  /** The value of a read whose request is answered so; `happens` is called while the read waits. */
  get(key: string, reply: string, happens?: () => Promise<void>): Promise<string | undefined>;
}

async function inOrder(context: TestContext, options: NearOptions = {}, ...answers: string[]): Promise<Order> {
  const server = await ScriptedServer.open(fresh, ...answers);
  const client = new Client({ host: "127.0.0.1", port: server.port, retries: 0, timeoutMs: 600_000 });
  const near = await client.nearCache({ prefix: "k" }, { maxStaleMs: 600_000, ...options });
  context.after(() => {
    near.close();
    client.close();
    server.close();
  });
  await waitFor("the cache is live", () => near.isLive);
  const get = async (key: string, reply: string, happens = nothing) => {
    const found = near.get(key);
    await server.waiting();
    await happens();
    await server.answer(reply);
    return (await found)?.toString();
  };
  return { server, near, get };
}

test("a line that overtakes the reply keeps the old value out", async (context) => {
  const { server, near, get } = await inOrder(context);
  for (const line of ["WP kk1 c2 f0 s1 t-1", "WG kk1 Rd", "WG kk1 Re", "WT kk1 t5", "WX kk Hl Rd", "WX k Rf", "WY kk Hl t5"]) {
    await get("k2", "EN"); // the line that drops it comes behind the other one
    const happens = async () => {
      server.tell(line, "WG kk2 Rd");
      await waitFor("the section is applied", () => near.entries === 0);
    };
    assert.equal(await get("k1", old, happens), "a");
    assert.equal(near.entries, 0, line);
  }
  await get("k1", young);
  assert.equal((await near.get("k1"))?.toString(), "b");
  assert.equal(near.entries, 1);
});

test("lines of other keys do not taint", async (context) => {
  const { server, near, get } = await inOrder(context);
  await get("k2", "EN");
  await get("k1", "EN", async () => {
    server.tell("WP kk2 c2 f0 s1 t-1", "WX kk2 Hl Rd");
    await waitFor("the other key is dropped", () => near.entries === 0);
  });
  assert.equal(await near.get("k1"), undefined);
  assert.equal(near.entries, 1);
});

test("an own write taints reads and drops the entry", async (context) => {
  const { near, get } = await inOrder(context);
  await get("k1", old);
  await assert.rejects(near.writing(["k1"], async () => {
    assert.equal(near.entries, 0);
    await get("k1", old); // it may have been executed before the write
    assert.equal(near.entries, 1);
    throw new RangeError();
  }), RangeError);
  assert.equal(near.entries, 0);
  await get("k1", old, () => near.writing(["k1"], nothing));
  assert.equal(near.entries, 0);
});

test("the line of the put that was read keeps the entry", async (context) => {
  const { server, near, get } = await inOrder(context);
  for (const [line, entries] of [["WP kk1 c1 f0 s1 t-1", 1], ["WP kk1 c1 f0 s1 t-1 X", 0], ["WP kk1 c2 f0 s1 t-1", 0]] as const) {
    if (near.entries === 0) {
      await get("k1", old);
    }
    await get("k2", "EN");
    const before = near.bytes;
    server.tell(line, "WG kk2 Rd");
    await waitFor("the section is applied", () => near.bytes < before);
    assert.equal(near.entries, entries, line);
  }
});

test("a stale item is not kept", async (context) => {
  const { near, get } = await inOrder(context);
  for (const flags of ["X W", "X Z"]) {
    assert.equal(await get("k1", `VA 1 f0 c5 t-1 ${flags}\r\na`), "a");
    assert.equal(near.entries, 0);
  }
});

test("nothing is kept until a delayed flush has happened", async (context) => {
  const { server, near, get } = await inOrder(context);
  await get("k1", "EN");
  server.tell("WX k Rf t1000");
  await waitFor("all are dropped", () => near.entries === 0);
  await get("k1", "EN");
  assert.equal(near.entries, 0);
});

for (const refusal of ["EX Ow old G0123456789abcdef.9", "EX Ow lost"]) {
  test(`after '${refusal}' all is dropped, and the position is never sent again`, async (context) => {
    const { server, near, get } = await inOrder(context, {}, refusal, "HD Ow Gfedcba9876543210.7");
    await get("k1", old);
    await get("k2", "EN", async () => {
      server.say("WO Ow ends G0123456789abcdef.1");
      await waitFor("it begins anew", () => server.watchLines.length === 3 && near.isLive);
    });
    assert.equal(near.entries, 0);
    assert.deepEqual(server.watchLines.map((line) => line.includes(" G")), [false, true, false]);
  });
}

test("a watch that is too slow begins anew", async (context) => {
  const { server, near, get } = await inOrder(context);
  await get("k1", "EN");
  server.say("WO Ow old G0123456789abcdef.9");
  await waitFor("it begins anew", () => server.watchLines.length === 2 && near.isLive);
  assert.equal(near.entries, 0);
  assert.ok(!server.watchLines[1]!.includes(" G"));
});

test("a lost connection goes on behind the last position, and entries stay", async (context) => {
  const { server, near, get } = await inOrder(context);
  await get("k1", old);
  server.cutAll();
  await waitFor("it connects again", () => server.watchLines.length === 2);
  assert.match(server.watchLines[1]!, / G0123456789abcdef\.1$/);
  assert.equal((await near.get("k1"))?.toString(), "a");
});

test("without marks reads go to the server, and entries stay", async (context) => {
  const { server, near, get } = await inOrder(context, { maxStaleMs: 100 });
  server.answersMarks = false;
  await waitFor("it is not live", () => !near.isLive);
  await get("k1", old);
  assert.equal(await get("k1", young), "b");
  assert.equal(near.entries, 1);
});

test("keys that are not ASCII have entries of their own", async (context) => {
  const { near, get } = await inOrder(context);
  await get("k\u00e9", old);
  const found = near.get(Buffer.from("k\u00e9", "latin1")); // another key, of the same characters
  assert.equal(near.entries, 1);
  assert.equal((await near.get(Buffer.from("k\u00e9")))?.toString(), "a");
  assert.equal((await near.get("k\u00e9"))?.toString(), "a");
  near.close();
  await assert.rejects(Promise.race([found, Promise.reject(new RangeError())]), RangeError); // it asks the server
  found.catch(() => undefined);
});

test("a server that refuses the watch fails the beginning", async () => {
  for (const [answer, kind] of [["CLIENT_ERROR forbidden", Forbidden], ["ERROR", ClientError],
    ["SERVER_ERROR mw does not work in a cluster", ServerError]] as const) {
    const server = await ScriptedServer.open(answer);
    const client = new Client({ host: "127.0.0.1", port: server.port });
    await assert.rejects(client.nearCache(), kind);
    await assert.rejects(client.watch(), kind);
    await assert.rejects(client.nearCache({}, { maxStaleMs: 0 }), ClientError);
    server.close();
  }
});

test("a watch that is silent is asked for a mark, and given up without one", async () => {
  const server = await ScriptedServer.open(fresh);
  const client = new Client({ host: "127.0.0.1", port: server.port, timeoutMs: 20 });
  const watch = await client.watch({ prefix: "k" });
  const next = watch.next();
  await new Promise((resolve) => setTimeout(resolve, 100)); // several marks
  server.answersMarks = false;
  await waitFor("the dead connection is given up", () => server.watchLines.length > 1);
  assert.match(server.watchLines[1]!, / G0123456789abcdef\.1$/);
  watch.close();
  assert.equal((await next).done, true);
  server.close();
});
