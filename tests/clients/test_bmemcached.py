"""bmemcached, a Python client that only speaks the binary protocol: its calls, many servers, logins, requests of monitors."""

import ssl
import threading

from common import GuardedCase, LARGE, ServerCase, machine, wait_for
import registries


@machine.needs(machine.long_only())
class BmemcachedTest(ServerCase):
    @classmethod
    def setUpClass(cls):
        cls.bmemcached = registries.python_module("bmemcached")
        super().setUpClass()

    def setUp(self):
        self.client = self.make()
        self.client.flush_all()

    def make(self, **arguments):
        client = self.bmemcached.Client((f"127.0.0.1:{self.server.port}",), **arguments)
        self.addCleanup(client.disconnect_all)
        return client

    def test_storage_verbs(self):
        client = self.client
        self.assertEqual([client.set("k", "v"), client.add("k", "w"), client.add("new", "n")], [True, False, True])
        self.assertEqual([client.replace("k", "w"), client.replace("absent", "w")], [True, False])
        self.assertEqual([client.get("k"), client.get("new"), client.get("absent")], ["w", "n", None])
        self.assertTrue(client.delete("k"))
        self.assertIsNone(client.get("k"))

    def test_objects_keep_their_types(self):
        for value in (1, 1.5, None, "text \u00e4", b"\0\r\nEND\r\n", {"a": [1, (2,)]}, b"", 2 ** 80):
            with self.subTest(value=value):
                self.client.set("object", value)
                found = self.client.get("object")
                self.assertEqual((type(found), found), (type(value), value))

    def test_many_at_once(self):
        values = {f"many{number}": number for number in range(1000)}
        self.assertEqual(self.client.set_multi(values), [])
        self.assertEqual(self.client.get_multi([*values, "absent"]), values)
        self.assertTrue(self.client.delete_multi(list(values)))
        self.assertEqual(self.client.get_multi(list(values)), {})

    def test_counters(self):
        client = self.client
        self.assertEqual(client.incr("n", 5, default=10), 10)
        self.assertEqual(client.incr("n", 5), 15)
        self.assertEqual(client.decr("n", 3), 12)
        self.assertEqual(client.decr("n", 1000), 0)

    def test_compare_and_swap(self):
        self.client.set("k", "first")
        (value, unique), other = self.client.gets("k"), self.make()
        swapped = [client.cas("k", text, unique) for client, text in ((self.client, "second"), (other, "third"))]
        self.assertEqual([value, *swapped, other.get("k")], ["first", True, False, "second"])
        self.assertEqual(self.client.get_multi(["k"], get_cas=True)["k"], ("second", self.client.gets("k")[1]))

    def test_lifetimes(self):
        self.client.set("short", "v", time=1)
        self.client.set("kept", "v", time=1000)
        wait_for(lambda: self.client.get("short") is None, "the short-lived key is gone")
        self.assertEqual(self.client.get("kept"), "v")

    def test_large_values_plain_and_compressed(self):
        self.assertTrue(self.client.set("large", LARGE, compress_level=0))
        self.assertEqual(self.client.get("large"), LARGE)
        self.assertTrue(self.client.set("packed", LARGE * 3))
        self.assertEqual(self.client.get("packed"), LARGE * 3)

    def test_what_monitors_ask_for(self):
        """Datadog's check asks bmemcached for these groups, and reads their numbers."""
        for group, name in ((None, "curr_items"), ("items", ""), ("slabs", "active_slabs"), ("settings", "maxconns")):
            (_, stats), = (self.client.stats(group) if group else self.client.stats()).items()
            self.assertTrue(name in stats or not name, (group, stats))
        (_, stats), = self.client.stats().items()
        for name in ("pid", "uptime", "curr_connections", "get_hits", "get_misses", "bytes", "limit_maxbytes", "evictions", "threads"):
            self.assertTrue(stats[name].isdigit(), name)

    def test_threads_share_a_client(self):
        def work(number):
            for turn in range(100):
                self.client.set(f"of{number}", turn)
                self.assertEqual(self.client.get(f"of{number}"), turn)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_a_login_where_none_is_asked_for_does_no_harm(self):
        client = self.make(username="ann", password="secret")
        self.assertTrue(client.set("k", "v"))
        self.assertEqual(client.get("k"), "v")


@machine.needs(machine.long_only())
class BmemcachedLoginTest(GuardedCase):
    def setUp(self):
        super().setUp()
        self.bmemcached = registries.python_module("bmemcached")
        self.ways = self.guard()

    def open(self, way: str, password: str = "secret word", context=None):
        client = self.bmemcached.Client((f"127.0.0.1:{self.ways[way]}",), "ann", password, tls_context=context)
        self.addCleanup(client.disconnect_all)
        return client

    def comes_in(self, way: str, context=None) -> None:
        client = self.open(way, context=context)
        self.assertTrue(client.set("k", LARGE, compress_level=0))
        self.assertEqual(client.get("k"), LARGE)

    def test_a_user_comes_in_and_others_do_not(self):
        self.comes_in("login")
        with self.assertRaises(self.bmemcached.exceptions.MemcachedException):
            self.open("login", "wrong").set("k", "w")

    def test_tls(self):
        self.comes_in("tls", self.trusting())
        with self.assertRaises(self.bmemcached.exceptions.MemcachedException):
            self.open("tls", "wrong", self.trusting()).set("k", "w")
        self.assertFalse(self.open("tls", context=ssl.create_default_context()).set("k", "w"))

    def test_mutual_tls(self):
        self.comes_in("mutual_tls", self.trusting(self.identity))
        self.assertFalse(self.open("mutual_tls", context=self.trusting()).set("k", "w"))
        self.wait_log("peer did not return a certificate")


if __name__ == "__main__":
    machine.main()
