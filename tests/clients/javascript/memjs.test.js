// memjs, at MXKV_ADDRESS, through its own calls. It only speaks the binary protocol, and logs in if it has a user.
'use strict';

const assert = require('node:assert');
const { test, beforeEach, after } = require('node:test');
const memjs = require('memjs');

const options = { timeout: 20, conntimeout: 20, retries: 0 };
const client = memjs.Client.create(process.env.MXKV_ADDRESS, options);

beforeEach(() => client.flush());
after(() => client.quit());

test('storage verbs', async () => {
  assert.strictEqual(await client.set('k', 'v', {}), true);
  assert.strictEqual((await client.get('k')).value.toString(), 'v');
  assert.strictEqual(await client.add('k', 'w', {}), false);
  assert.strictEqual(await client.add('new', 'n', {}), true);
  assert.strictEqual(await client.replace('k', 'w', {}), true);
  assert.strictEqual(await client.replace('absent', 'w', {}), false);
  assert.strictEqual(await client.append('k', '>'), true);
  assert.strictEqual((await client.get('k')).value.toString(), 'w>'); // prepend of 1.3.2 sends an append
  assert.strictEqual(await client.delete('k'), true);
  assert.strictEqual(await client.delete('k'), false);
  assert.strictEqual((await client.get('k')).value, null);
});

test('any bytes are values', async () => {
  for (const value of [Buffer.from([0, 255, 13, 10, 0x80]), Buffer.alloc(0), Buffer.alloc(1000000, 'abc\r\n')]) {
    await client.set('k', value, {});
    assert.ok(value.equals((await client.get('k')).value));
  }
});

test('many at once', async () => {
  const numbers = Array.from({ length: 300 }, (_, number) => number);
  await Promise.all(numbers.map((number) => client.set(`many${number}`, `value ${number}`, {})));
  const found = await Promise.all(numbers.map((number) => client.get(`many${number}`)));
  found.forEach(({ value }, number) => assert.strictEqual(value.toString(), `value ${number}`));
});

test('counters', async () => {
  assert.strictEqual((await client.increment('n', 5, { initial: 10 })).value, 10);
  assert.strictEqual((await client.increment('n', 5, { initial: 10 })).value, 15);
  assert.strictEqual((await client.decrement('n', 3, { initial: 10 })).value, 12);
  assert.strictEqual((await client.decrement('n', 100, { initial: 10 })).value, 0);
});

test('lifetimes', async () => {
  await client.set('short', 'v', { expires: 1 });
  await client.set('kept', 'v', { expires: 1 });
  assert.strictEqual(await client.touch('kept', 1000), true);
  const deadline = Date.now() + 20000;
  while ((await client.get('short')).value !== null) {
    assert.ok(Date.now() < deadline, 'the short-lived key is gone');
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.strictEqual((await client.get('kept')).value.toString(), 'v');
});

test('statistics', async () => {
  const found = await new Promise((done, fail) => {
    client.stats((error, _server, stats) => (error ? fail(error) : done(stats)));
  });
  assert.ok('curr_items' in found);
});
