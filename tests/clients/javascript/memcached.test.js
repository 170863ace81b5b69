// The npm package memcached, at MXKV_ADDRESS, through its own calls.
'use strict';

const assert = require('node:assert');
const { test, beforeEach, after } = require('node:test');
const { promisify } = require('node:util');
const Memcached = require('memcached');

const client = new Memcached(process.env.MXKV_ADDRESS, { maxValue: 1 << 20, timeout: 20000, poolSize: 4, retries: 0 });
const call = (name) => promisify(client[name]).bind(client);
const [set, add, replace, append, prepend, get, gets, getMulti, cas, del, incr, decr, touch, flush, stats, version] = [
  'set', 'add', 'replace', 'append', 'prepend', 'get', 'gets', 'getMulti', 'cas', 'del', 'incr', 'decr', 'touch', 'flush',
  'stats', 'version',
].map(call);

beforeEach(() => flush());
after(() => client.end());

test('storage verbs', async () => {
  assert.strictEqual(await set('k', 'v', 0), true);
  assert.strictEqual(await get('k'), 'v');
  await assert.rejects(add('k', 'w', 0), /not stored/);
  assert.strictEqual(await add('new', 'n', 0), true);
  assert.strictEqual(await replace('k', 'w', 0), true);
  await assert.rejects(replace('absent', 'w', 0), /not stored/);
  assert.strictEqual(await append('k', '>'), true);
  assert.strictEqual(await prepend('k', '<'), true);
  assert.strictEqual(await get('k'), '<w>');
  assert.strictEqual(await del('k'), true);
  assert.strictEqual(await del('k'), false);
  assert.strictEqual(await get('k'), undefined);
});

test('values keep their types', async () => {
  for (const value of ['\u00e4\r\nEND\r\n', '', 42, true, { a: [1, null] }, Buffer.from([0, 255, 13, 10])]) {
    await set('k', value, 0);
    assert.deepStrictEqual(await get('k'), value);
  }
});

test('many keys', async () => {
  const wanted = {};
  for (let number = 0; number < 300; number += 1) {
    wanted[`many${number}`] = `value ${number}`;
  }
  await Promise.all(Object.entries(wanted).map(([key, value]) => set(key, value, 0)));
  assert.deepEqual({ ...(await getMulti([...Object.keys(wanted), 'absent'])) }, wanted);
});

test('counters', async () => {
  await set('n', 10, 0);
  assert.strictEqual(await incr('n', 5), 15);
  assert.strictEqual(await decr('n', 3), 12);
  assert.strictEqual(await decr('n', 100), 0);
  assert.strictEqual(await incr('absent', 1), false);
});

test('cas', async () => {
  await set('k', 'first', 0);
  const seen = await gets('k');
  assert.strictEqual(seen.k, 'first');
  assert.strictEqual(await cas('k', 'second', seen.cas, 0), true);
  assert.strictEqual(await cas('k', 'third', seen.cas, 0), false);
  assert.strictEqual(await get('k'), 'second');
});

test('lifetimes', async () => {
  await set('short', 'v', 1);
  await set('kept', 'v', 1);
  assert.strictEqual(await touch('kept', 1000), true);
  const deadline = Date.now() + 20000;
  while ((await get('short')) !== undefined) {
    assert.ok(Date.now() < deadline, 'the short-lived key is gone');
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.strictEqual(await get('kept'), 'v');
});

test('large values', async () => {
  const large = Buffer.alloc(700000, 'abc\r\n'); // sent as base64
  await set('large', large, 0);
  assert.ok(large.equals(await get('large')));
});

test('statistics', async () => {
  const [found] = await stats();
  assert.ok('curr_items' in found);
  const [{ version: number }] = await version();
  assert.match(number, /^\d+\.\d+\.\d+/);
});

test('slabs, items and a dump of keys, as its tools ask for them', async () => {
  await set('listed', 'v', 0);
  assert.ok((await call('settings')())[0].maxconns);
  assert.ok((await call('slabs')())[0]);
  assert.ok((await call('items')())[0]);
});
