// Addresses, hashing and errors of connections: the parts that need no server.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import net from "node:net";
import { test } from "node:test";
import { nameOf, optionsOf } from "../src/address.js";
import { BadAddress, Client, ClientClosed, ClientError, ConnectionLost, RequestTimeout, Servers, TlsFailed } from "../src/index.js";

const addresses = ["10.0.0.1:11211", "10.0.0.2:11211", "10.0.0.3:7", "cache.example:11211"];

test("a server is an address, a path or a URL", () => {
  for (const [text, wanted] of [
    ["localhost", { host: "localhost", port: 11211 }],
    ["h:7", { host: "h", port: 7 }],
    ["/run/mxkv.sock", { path: "/run/mxkv.sock" }],
    ["mxkv://ann:a%40b%2F@h:7/", { host: "h", port: 7, user: "ann", password: "a@b/" }],
    ["mxkvs://[::1]:7", { host: "::1", port: 7, tls: {} }],
    ["mxkv:///run/a%20b", { path: "/run/a b" }],
    ["mxkv://ann@/run/s", { path: "/run/s", user: "ann", password: "" }],
  ] as const) {
    assert.deepEqual(optionsOf(text), wanted);
  }
  assert.equal(nameOf({}), "localhost:11211");
});

test("a bad URL is refused without its password", () => {
  for (const text of ["http://h", "mxkv://", "mxkv://ann:secret@h:99999", "mxkv://ann:secret@h:x", "mxkv://ann:secret@h/path", "mxkvs:///path",
    "mxkv://ann:secret@h?tls=1", "mxkv://h#x", "mxkv://ann:%zz@h"]) {
    assert.throws(() => new Client(text), (error) => error instanceof BadAddress && !error.message.includes("secret"), text);
  }
});

test("keys belong to the servers that npm's memcached chooses", () => {
  const Memcached = createRequire(import.meta.url)("memcached") as new (servers: string[]) => { HashRing: { get(key: string): string } };
  const theirs = new Memcached(addresses).HashRing;
  const ours = new Servers(addresses);
  const chosen = new Set<string>();
  for (let number = 0; number < 5000; ++number) {
    const key = `schlüssel:${number}`;
    chosen.add(theirs.get(key));
    assert.equal(ours.clientOf(key), ours.clients.get(theirs.get(key)), key);
  }
  assert.deepEqual([...chosen].sort(), addresses);
  assert.throws(() => new Servers([]), BadAddress);
});

test("an empty prefix is not deleted", async () => {
  const client = new Client("127.0.0.1:1", { retries: 0 });
  await assert.rejects(client.deleteRange({ prefix: "" }), ClientError);
  await assert.rejects(client.deleteRange({}), ConnectionLost);
  client.close();
});

test("errors of connections have classes", async () => {
  const silent = net.createServer().listen(0, "127.0.0.1");
  const plain = net.createServer((socket) => socket.on("error", () => undefined).end("ERROR\r\n")).listen(0, "127.0.0.1");
  await Promise.all([silent, plain].map((server) => new Promise((resolve) => server.once("listening", resolve))));
  const port = (server: net.Server) => (server.address() as net.AddressInfo).port;
  for (const [client, kind] of [
    [new Client(`127.0.0.1:${port(silent)}`, { timeoutMs: 20 }), RequestTimeout],
    [new Client("no-such-host.invalid", { retries: 0, connectTimeoutMs: 60_000 }), ConnectionLost],
    [new Client("/no/such/socket", { retries: 0 }), ConnectionLost],
    [new Client(`mxkvs://127.0.0.1:${port(plain)}`, { retries: 0 }), TlsFailed],
  ] as const) {
    await assert.rejects(client.get("k"), kind);
    client.close();
    await assert.rejects(client.get("k"), ClientClosed);
  }
  silent.close();
  plain.close();
});

test("by default a connection may take a second, and a request three", async (context) => {
  const silent = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const limits: (number | undefined)[] = [];
  const real = globalThis.setTimeout;
  context.mock.method(globalThis, "setTimeout", (body: () => void, limit?: number) => (limits.push(limit), real(body, limit === 3000 ? 1 : limit)));
  const client = new Client({ host: "127.0.0.1", port: (silent.address() as net.AddressInfo).port });
  await assert.rejects(client.get("k"), RequestTimeout);
  assert.deepEqual(limits, [1000, 3000]);
  client.close();
  silent.close();
});
