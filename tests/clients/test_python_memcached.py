"""python-memcached, the oldest Python client."""

from common import LARGE, ServerCase, machine, wait_for
import registries


@machine.needs(machine.long_only())
class PythonMemcachedTest(ServerCase):
    @classmethod
    def setUpClass(cls):
        cls.memcache = registries.python_module("memcache")
        super().setUpClass()

    def setUp(self):
        self.client = self.make()
        self.client.flush_all()

    def make(self, **arguments):
        client = self.memcache.Client([f"127.0.0.1:{self.server.port}"], cache_cas=True, socket_timeout=30, **arguments)
        self.addCleanup(client.disconnect_all)
        return client

    def test_set_get_delete(self):
        self.assertTrue(self.client.set("k", "v"))
        self.assertEqual(self.client.get("k"), "v")
        self.assertEqual(self.client.delete("k"), 1)
        self.assertIsNone(self.client.get("k"))
        self.assertEqual(self.client.get("k", default=7), 7)
        self.assertEqual(self.client.delete("k"), 0)

    def test_conditional_storage(self):
        self.assertTrue(self.client.add("k", "v"))
        self.assertFalse(self.client.add("k", "w"))
        self.assertTrue(self.client.replace("k", "w"))
        self.assertFalse(self.client.replace("absent", "w"))
        self.assertTrue(self.client.append("k", ">"))
        self.assertTrue(self.client.prepend("k", "<"))
        self.assertEqual(self.client.get("k"), "<w>")

    def test_python_values(self):
        for value in ("text \u00e4", b"bytes\r\nEND\r\n", 42, {"a": [1, None]}, ""):
            with self.subTest(value=value):
                self.client.set("object", value)
                self.assertEqual(self.client.get("object"), value)

    def test_many(self):
        values = {f"many{number}": str(number) for number in range(500)}
        self.assertEqual(self.client.set_multi(values), [])
        self.assertEqual(self.client.get_multi([*values, "absent"]), values)
        self.assertEqual(self.client.get_multi([1, 2], key_prefix="many"), {1: "1", 2: "2"})
        self.assertEqual(self.client.delete_multi(list(values)), 1)
        self.assertEqual(self.client.get_multi(list(values)), {})

    def test_counting(self):
        self.client.set("n", 20)
        self.assertEqual([self.client.incr("n"), self.client.incr("n", 9), self.client.decr("n", 10)], [21, 30, 20])
        self.assertEqual(self.client.decr("n", 1000), 0)
        self.assertIsNone(self.client.incr("absent"))

    def test_cas_loses_against_another_client(self):
        other = self.make()
        self.client.set("k", "first")
        self.assertEqual(self.client.gets("k"), "first")
        self.assertTrue(self.client.cas("k", "second"))
        self.client.gets("k")
        other.set("k", "other's")
        self.assertFalse(self.client.cas("k", "third"))
        self.assertEqual(self.client.get("k"), "other's")

    def test_lifetimes(self):
        self.client.set("short", "v", time=1)
        self.client.set("kept", "v", time=1)
        self.assertEqual(self.client.touch("kept", 1000), 1)
        wait_for(lambda: self.client.get("short") is None, "the short-lived key is gone")
        self.assertEqual(self.client.get("kept"), "v")

    def test_values_up_to_the_limit(self):
        self.assertTrue(self.client.set("large", LARGE))
        self.assertEqual(self.client.get("large"), LARGE)
        greedy = self.make(server_max_value_length=0)
        self.assertFalse(greedy.set("large", b"x" * (2 << 20)))
        self.assertIsNone(greedy.get("large"), "the connection goes on, the old value is gone")

    def test_noreply_keeps_the_order(self):
        for number in range(50):
            self.client.set("k", number, noreply=True)
            self.client.delete("other", noreply=True)
            self.assertEqual(self.client.get("k"), number)

    def test_statistics(self):
        (_, stats), = self.client.get_stats()
        self.assertIn("curr_items", stats)
        (_, slabs), = self.client.get_slab_stats()
        self.assertIn("active_slabs", slabs)


if __name__ == "__main__":
    machine.main()
