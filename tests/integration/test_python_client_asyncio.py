"""The Python client for asyncio: the same commands, and its guarantees for tasks that share it or are cancelled."""

import asyncio
import ssl
import unittest

from harness import ServerCase, campaign, patience
from harness.proxy import Proxy
from harness.tls import GuardedCase
from python_client import mxkv

BINARY = b"b \0\r\n\t\xff"


class AsyncCase(ServerCase, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.mxkv = await self.client()
        await self.mxkv.flush_all()

    async def client(self, port=None, **arguments) -> mxkv.AsyncClient:
        client = mxkv.AsyncClient(("127.0.0.1", port or self.server.port), retry_wait=0.001,
                                  **{"timeout": patience(20), "connect_timeout": patience(20), **arguments})
        self.addAsyncCleanup(client.close)
        return client


class AsyncCommandsTest(AsyncCase):
    async def test_single_keys(self):
        client = self.mxkv
        for key in ("k", BINARY):
            self.assertIsNone(await client.get(key))
            self.assertEqual(await client.gets(key), (None, None))
            self.assertEqual([await client.replace(key, "x"), await client.append(key, "x"), await client.cas(key, "x", 1)],
                             [False, False, None])
            self.assertEqual([await client.add(key, "b"), await client.add(key, "b")], [True, False])
            self.assertTrue(await client.append(key, "c") and await client.prepend(key, b"a"))
            value, unique = await client.gets(key)
            self.assertEqual(value, b"abc")
            self.assertEqual([await client.cas(key, 41, unique), await client.cas(key, 42, unique)], [True, False])
            self.assertEqual([await client.incr(key, 2), await client.decr(key, 1), await client.incr("absent", 1)], [43, 42, None])
            self.assertEqual([await client.touch(key, 100), await client.delete(key), await client.delete(key)], [True, True, False])
        with self.assertRaises(mxkv.TooLarge):
            await client.set("k", b"x" * (2 << 20))
        with self.assertRaises(mxkv.ClientError):
            await client.stats("slow\r\nflush_all")
        self.assertEqual((await client.stats())["version"], await client.version())

    async def test_many_keys(self):
        values = {f"many {number}": b"%d" % number for number in range(1234)}
        self.assertEqual(await self.mxkv.set_many(values), [])
        self.assertEqual(await self.mxkv.get_many([*values, "absent"]), values)
        self.assertTrue(await self.mxkv.delete_many(values))
        self.assertEqual(await self.mxkv.count(), 0)

    async def test_ranges(self):
        client = self.mxkv
        keys = [b"user:%04d" % number for number in range(2500)]
        await client.set_many(dict.fromkeys(keys, "7"))
        await client.set("visits", 1)
        self.assertEqual([key async for key, _ in client.scan("user:")], keys)
        self.assertEqual([key async for key in client.range("user:", "v", reverse=True, values=False, page_items=77)], keys[::-1])
        self.assertEqual([item.key async for item in client.items(limit=1100, snapshot=True)], keys[:1100])
        self.assertEqual([branch.items async for branch in client.tree()], [2500, 1])
        self.assertEqual((await client.numbers("user:")).total, 17500)
        first = await client.page("user:", limit=3)
        self.assertEqual([item.key for item in (await client.page("user:", limit=2, cursor=first.cursor)).items], keys[3:5])
        with self.assertRaises(mxkv.BadCursor):
            await client.page(cursor="nonsense")
        self.assertEqual(await client.touch_range("user:", 1000), 2500)
        with self.assertRaises(mxkv.RangeTooLarge):
            await client.touch_range("user:", 1000, at_most=10)
        self.assertEqual([await client.delete_range("user:", dry_run=True), await client.delete_range("user:"), await client.count()],
                         [2500, 2500, 1])
        self.assertEqual(await client.delete_range(mxkv.Range("a"), atomic=True), 1)

    async def test_batches_happen_whole_or_not_at_all(self):
        async with self.mxkv.batch() as batch:
            batch.set("a", 5)
            sum_ = batch.incr("a", 2)
        self.assertEqual(sum_.value, 7)
        with self.assertRaises(mxkv.NotStored) as raised:
            async with self.mxkv.batch() as batch:
                batch.set("b", 1)
                batch.add("a", 1)
        self.assertEqual(raised.exception.operation, 1)
        with self.assertRaises(KeyError):
            async with self.mxkv.batch() as batch:
                batch.set("b", 1)
                raise KeyError
        self.assertIsNone(await self.mxkv.get("b"))


class AsyncTasksTest(AsyncCase):
    async def test_sixty_four_tasks_share_few_connections(self):
        proxy = Proxy(self.server.port)
        self.addCleanup(proxy.close)
        client = await self.client(proxy.port, max_connections=5)
        await client.set_many({f"account:{number}": 1000 for number in range(10)})

        steps = campaign(40, 8)

        async def work(seed: int) -> None:
            for step in range(steps):
                key = f"task:{seed}:{step}"
                await client.set(key, key * 50)
                self.assertEqual(await client.get(key), key.encode() * 50)
                async with client.batch() as batch:
                    batch.decr(f"account:{(seed + step) % 10}", 1)
                    batch.incr(f"account:{(seed * 3 + step * 7 + 1) % 10}", 1)
            self.assertEqual(len([key async for key in client.scan(f"task:{seed}:", page_items=9, values=False)]), steps)
            self.assertEqual(sum([int(value) async for _, value in client.scan("account:", snapshot=True)]), 10000)

        await asyncio.gather(*(work(seed) for seed in range(64)))
        self.assertLessEqual(proxy.accepted, 5)

    async def test_a_connection_of_a_cancelled_task_is_not_used_again(self):
        proxy = Proxy(self.server.port)
        self.addCleanup(proxy.close)
        client = await self.client(proxy.port, max_connections=2)
        await client.set_many({f"key:{number}": b"%d:" % number + b"x" * 5000 for number in range(300)})

        async def read_all() -> None:
            async for _ in client.scan("key:", page_items=50):
                pass

        for turn in range(60):
            tasks = [asyncio.create_task(read_all()) for _ in range(3)]
            for _ in range(turn % 20):
                await asyncio.sleep(0)
            await asyncio.sleep((turn % 5) * 0.001)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            number = turn * 7 % 300
            self.assertTrue((await client.get(f"key:{number}")).startswith(b"%d:x" % number), "a reply of another request")
        self.assertGreater(proxy.accepted, 2, "some were cancelled in the middle of a reply")

    async def test_time_outs_close_and_do_not_mix_replies(self):
        client = await self.client(timeout=0.002, max_connections=1)
        await self.mxkv.set_many({f"key:{number}": b"%d:" % number + b"x" * 3000 for number in range(300)})
        late = 0
        for number in range(100):
            try:
                page = await client.page("key:", limit=300)
                self.assertEqual(len(page.items), 300)
            except mxkv.RequestTimeout:
                late += 1
            try:
                self.assertTrue((await client.get(f"key:{number}")).startswith(b"%d:x" % number))
            except mxkv.RequestTimeout:
                late += 1
        self.assertEqual(client._room.free, 1, "each gave its room back")


class AsyncConnectionsTest(AsyncCase):
    async def test_ranges_go_on_and_reads_are_sent_again_but_writes_only_if_asked(self):
        proxy = Proxy(self.server.port)
        self.addCleanup(proxy.close)
        client, asked = await self.client(proxy.port), await self.client(proxy.port, retry_writes=True)
        keys = [b"key:%05d" % number for number in range(3000)]
        await client.set_many({key: key for key in keys})
        found = []
        async for key in client.scan("key:", page_items=100, values=False):
            if len(found) % 499 == 0:
                proxy.cut(len(found) % 1500)
            found.append(key)
        self.assertEqual(found, keys)
        self.assertGreater(proxy.cuts, 3)
        for write in (lambda client: client.set("n", 1), lambda client: client.delete("n"), lambda client: client.delete_range("n")):
            await client.version()
            proxy.cut(0)
            with self.assertRaises(mxkv.ConnectionLost):
                await write(client)
            await asked.version()
            proxy.cut(0)
            await write(asked)
        proxy.cut(0)
        with self.assertRaises(mxkv.ConnectionLost):
            await asked.incr("n", 1)
        proxy.close()
        with self.assertRaises(mxkv.ConnectionLost):
            await (await self.client(proxy.port)).get("k")


class AsyncDoorsTest(GuardedCase, unittest.IsolatedAsyncioTestCase):
    async def test_each_connection_logs_in_and_wrong_passwords_have_a_type(self):
        users = self.directory / "users"
        users.write_text("ann:secret word\n")
        users.chmod(0o600)
        self.start("--set", f"server.auth_file={users}")
        address = ("127.0.0.1", self.ports()[0])
        async with mxkv.AsyncClient(address, user="ann", password="secret word", max_connections=3) as client:
            await asyncio.gather(*(client.set(f"k{number}", "v") for number in range(20)))
            self.assertEqual(await client.count("k"), 20)
        for arguments, kind in (({"user": "ann", "password": "x"}, mxkv.AuthenticationFailed), ({}, mxkv.Forbidden)):
            async with mxkv.AsyncClient(address, **arguments) as client:
                with self.assertRaises(kind):
                    await client.get("k1")
        self.end()

    async def test_it_speaks_tls_and_shows_a_certificate(self):
        ways = self.guard()
        proxy = Proxy(ways["tls"])
        self.addCleanup(proxy.close)

        def open_(port, context, password="secret word"):
            return mxkv.AsyncClient(("127.0.0.1", port), user="ann", password=password, tls_context=context, retry_wait=0.001,
                                    timeout=patience(20), connect_timeout=patience(20))

        async with open_(proxy.port, self.trusting()) as client:
            await client.set("large", b"x" * 900_000)
            for after in (0, 5, 100_000):
                proxy.cut(after)
                self.assertEqual(len(await client.get("large")), 900_000)
            self.assertEqual(proxy.cuts, 3)
        async with open_(ways["mutual_tls"], self.trusting(self.identity)) as client:
            self.assertEqual([key async for key in client.scan(values=False)], [b"large"])
        for way, context, password, kind in (("tls", ssl.create_default_context(), "secret word", mxkv.TlsFailed),
                                             ("tls", self.trusting(), "wrong", mxkv.AuthenticationFailed),
                                             ("mutual_tls", self.trusting(), "secret word", (mxkv.TlsFailed, mxkv.ConnectionLost)),
                                             ("login", self.trusting(), "secret word", (mxkv.TlsFailed, mxkv.ConnectionLost))):
            async with open_(ways[way], context, password) as client:
                with self.assertRaises(kind):
                    await client.get("large")
        self.end()

    async def test_it_goes_by_a_unix_socket_as_well(self):
        path = self.directory / "mxkv.sock"
        self.start(listen=(f"unix:{path}",))
        with mxkv.Client(str(path)) as client:
            client.set("k", "v")
            self.assertEqual(list(client.scan()), [(b"k", b"v")])
        async with mxkv.AsyncClient(f"unix:{path}") as client:
            self.assertEqual(await client.get("k"), b"v")
        self.end()


if __name__ == "__main__":
    unittest.main()
