// memjs, at MXKV_ADDRESS, where a login is required.
'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const memjs = require('memjs');

const options = { timeout: 20, conntimeout: 20, retries: 0 };

test('a user comes in, and others do not', async () => {
  const user = memjs.Client.create(process.env.MXKV_ADDRESS, { ...options, username: 'ann', password: 'secret' });
  assert.strictEqual(await user.set('k', 'v', {}), true);
  assert.strictEqual((await user.get('k')).value.toString(), 'v');
  user.quit();
  const stranger = memjs.Client.create(process.env.MXKV_ADDRESS, { ...options, username: 'ann', password: 'wrong' });
  await assert.rejects(stranger.set('k', 'w', {}));
  stranger.close();
});
