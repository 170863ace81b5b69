"""A real client, pymemcache (Debian package python3-pymemcache), works unchanged."""

import os
import signal
import threading
import time

from harness import ServerCase, patience, pause, scaled, wait_for

try:
    from pymemcache import serde
    from pymemcache.client.base import Client, PooledClient
    from pymemcache.client.hash import HashClient
except ImportError as missing:
    raise ImportError("these tests need pymemcache (Debian: python3-pymemcache)") from missing


class PymemcacheTest(ServerCase):
    def client(self, **arguments) -> Client:
        client = Client(("127.0.0.1", self.server.port), connect_timeout=patience(5), timeout=patience(10), **arguments)
        self.addCleanup(client.close)
        return client

    def setUp(self):
        self.plain = self.client(default_noreply=False)
        self.plain.flush_all()

    def test_storage_verbs(self):
        client = self.plain
        self.assertTrue(client.set("k", b"v"))
        self.assertFalse(client.add("k", b"w"))
        self.assertTrue(client.replace("k", b"w"))
        self.assertTrue(client.append("k", b"2"))
        self.assertTrue(client.prepend("k", b"1"))
        self.assertEqual(client.get("k"), b"1w2")
        self.assertIsNone(client.get("absent"))
        self.assertEqual(client.get("absent", default=7), 7)
        self.assertTrue(client.delete("k"))
        self.assertFalse(client.delete("k"))

    def test_counters(self):
        client = self.plain
        client.set("n", b"10")
        self.assertEqual(client.incr("n", 5), 15)
        self.assertEqual(client.decr("n", 100), 0)
        self.assertIsNone(client.incr("absent", 1))

    def test_many(self):
        client = self.plain
        values = {f"many{i}": b"%d" % i for i in range(scaled(500, 50))}
        self.assertEqual(client.set_many(values), [])
        self.assertEqual(client.get_many(list(values) + ["absent"]), values)
        found = client.gets_many(["many1", "many2"])
        self.assertEqual([found["many1"][0], found["many2"][0]], [b"1", b"2"])
        client.delete_many(list(values))
        self.assertEqual(client.get_many(list(values)), {})

    def test_cas(self):
        client = self.plain
        client.set("c", b"1")
        value, unique = client.gets("c")
        self.assertEqual(value, b"1")
        self.assertTrue(client.cas("c", b"2", unique))
        self.assertIs(client.cas("c", b"3", unique), False)
        self.assertIsNone(client.cas("absent", b"3", unique))

    def test_serde_brings_python_objects_back(self):
        client = self.client(serde=serde.pickle_serde)
        for value in ("text \u00e4", b"bytes", 42, {"a": [1, 2, None]}, ["x"] * 1000):
            client.set("object", value)
            self.assertEqual(client.get("object"), value)

    def test_noreply_is_the_default_and_keeps_the_stream_in_step(self):
        client = self.client(no_delay=True)
        for i in range(scaled(1000, 100)):
            client.set("k", b"%d" % i)
            client.delete("other")
            self.assertEqual(client.get("k"), b"%d" % i)

    def test_expiry_and_touch(self):
        client = self.plain
        client.set("short", b"v", expire=1)
        client.set("kept", b"v", expire=1000)
        client.set("touched", b"v", expire=1000)
        self.assertTrue(client.touch("touched", 1))
        wait_for(lambda: client.get("short") is None and client.get("touched") is None, "the end of both")
        self.assertEqual(client.get("kept"), b"v")

    def test_key_rules_of_the_client_pass(self):
        client = self.client(allow_unicode_keys=True, key_prefix=b"app:", default_noreply=False)
        client.set("schl\u00fcssel", b"v")
        self.assertEqual(client.get("schl\u00fcssel"), b"v")
        self.assertEqual(self.plain.get("app:x" + "y" * 200), None)

    def test_stats_and_version(self):
        self.assertRegex(self.plain.version(), rb"^\d+\.\d+\.\d+")
        stats = self.plain.stats()
        self.assertIn(b"curr_items", stats)
        self.assertIsInstance(stats[b"pid"], int)

    def test_flush_and_quit(self):
        client = self.client(default_noreply=False)
        client.set("k", b"v")
        self.assertTrue(client.flush_all())
        self.assertIsNone(client.get("k"))
        client.quit()
        self.assertIsNone(client.get("k"), "the client reconnects")

    def test_large_value(self):
        value = bytes(range(256)) * 4000
        self.plain.set("large", value)
        self.assertEqual(self.plain.get("large"), value)


class TimeoutTest(ServerCase):
    def test_a_client_that_timed_out_goes_on_when_the_server_does(self):
        self.connect().set(b"k", b"v")
        client = Client(("127.0.0.1", self.server.port), timeout=0.2, default_noreply=False)
        self.addCleanup(client.close)
        pause(self.server.process)
        try:
            with self.assertRaises(OSError):
                client.get("k")
        finally:
            os.kill(self.server.process.pid, signal.SIGCONT)
        deadline = time.monotonic() + patience(20)
        while True:
            try:
                self.assertEqual(client.get("k"), b"v", "a late reply is never taken for another request's")
                break
            except OSError:
                self.assertLess(time.monotonic(), deadline)


class PooledTest(ServerCase):
    def test_pooled_client_from_many_threads(self):
        pool = PooledClient(("127.0.0.1", self.server.port), max_pool_size=8, timeout=patience(10), default_noreply=False)
        self.addCleanup(pool.close)
        pool.set("total", b"0")
        failures = []

        def work(number):
            try:
                for i in range(scaled(200, 40)):
                    key = f"t{number}.{i}"
                    pool.set(key, key.encode())
                    pool.incr("total", 1)
                    assert pool.get(key) == key.encode()
            except Exception as error:  # the test raises the thread's failure
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(int(pool.get("total")), 8 * scaled(200, 40))

    def test_hash_client(self):
        client = HashClient([("127.0.0.1", self.server.port)], use_pooling=True, timeout=patience(10))
        values = {f"h{i}": b"%d" % i for i in range(100)}
        self.assertEqual(client.set_many(values), [])
        self.assertEqual(client.get_many(list(values)), values)
        client.close()
