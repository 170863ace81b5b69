"""pylibmc, the Python client on top of libmemcached, by text and by the binary protocol, which can log in."""

import os
from pathlib import Path

from common import DaemonCase, LARGE, ServerCase, machine, wait_for
import registries

_MECHANISMS = next(Path("/usr/lib").glob("*/sasl2"), None)
if _MECHANISMS:
    os.environ["SASL_PATH"] = str(_MECHANISMS)  # pylibmc's own build of Cyrus SASL looks where another distribution has them


@machine.needs(machine.long_only())
class PylibmcTest(ServerCase):
    binary = False

    @classmethod
    def setUpClass(cls):
        cls.pylibmc = registries.python_module("pylibmc")
        super().setUpClass()

    def setUp(self):
        self.client = self.make()
        self.client.flush_all()

    def make(self, **behaviors):
        client = self.pylibmc.Client([f"127.0.0.1:{self.server.port}"], binary=self.binary,
                                     behaviors={"cas": True, "tcp_nodelay": True} | behaviors)
        self.addCleanup(client.disconnect_all)
        return client

    def refuse_replace(self, key, value) -> None:
        self.assertFalse(self.client.replace(key, value))

    def test_storage_verbs(self):
        client = self.client
        self.assertTrue(client.set("k", "v"))
        self.assertEqual(client.get("k"), "v")
        self.assertFalse(client.add("k", "w"))
        self.assertTrue(client.add("new", "n"))
        self.assertTrue(client.replace("k", "w"))
        self.refuse_replace("absent", "w")
        self.assertTrue(client.delete("k"))
        self.assertFalse(client.delete("k"))
        self.assertIsNone(client.get("k"))
        self.assertEqual(client.get("k", "otherwise"), "otherwise")

    def test_append_and_prepend(self):
        self.client.set("k", b"middle")
        self.assertTrue(self.client.append("k", b">"))
        self.assertTrue(self.client.prepend("k", b"<"))
        self.assertEqual(self.client.get("k"), b"<middle>")
        self.assertFalse(self.client.append("absent", b">"))

    def test_objects_keep_their_types(self):
        for value in (1, 2 ** 80, 1.5, None, "text \u00e4", b"\0\r\nEND\r\n", {"a": [1, (2,)]}, b""):
            with self.subTest(value=value):
                self.client.set("object", value)
                found = self.client.get("object", "nothing")
                self.assertEqual((type(found), found), (type(value), value))

    def test_many_at_once(self):
        values = {f"many{number}": number for number in range(500)}
        self.assertEqual(self.client.set_multi(values), [])
        self.assertEqual(self.client.get_multi([*values, "absent"]), values)
        self.assertEqual(self.client.get_multi(["1", "2"], key_prefix="many"), {"1": 1, "2": 2})
        self.assertTrue(self.client.delete_multi(list(values)))
        self.assertEqual(self.client.get_multi(list(values)), {})

    def test_counters(self):
        client = self.client
        client.set("n", 10)
        self.assertEqual(client.incr("n"), 11)
        self.assertEqual(client.incr("n", 5), 16)
        self.assertEqual(client.decr("n", 6), 10)
        self.assertEqual(client.decr("n", 100), 0)
        self.assertEqual(client.get("n"), 0)
        with self.assertRaises(self.pylibmc.NotFound):
            client.incr("absent")

    def test_compare_and_swap(self):
        client, other = self.client, self.make()
        client.set("k", "first")
        value, unique = client.gets("k")
        self.assertEqual(value, "first")
        self.assertTrue(client.cas("k", "second", unique))
        self.assertFalse(other.cas("k", "third", unique))
        self.assertEqual(other.get("k"), "second")
        self.assertEqual(client.gets("absent"), (None, None))

    def test_expiry_and_touch(self):
        client = self.client
        client.set("short", "v", time=1)
        client.set("kept", "v", time=1)
        client.set("gone", "v", time=-1)  # sent as 4294967295
        self.assertIsNone(client.get("gone"))
        self.assertTrue(client.touch("kept", 1000))
        self.assertFalse(client.touch("absent", 1000))
        wait_for(lambda: client.get("short") is None, "the short-lived key is gone")
        self.assertEqual(client.get("kept"), "v")

    def test_large_values_plain_and_compressed(self):
        self.assertTrue(self.client.set("large", LARGE))
        self.assertEqual(self.client.get("large"), LARGE)
        self.assertTrue(self.client.set("packed", LARGE * 3, min_compress_len=1000))
        self.assertEqual(self.client.get("packed"), LARGE * 3)
        greedy = self.make()  # after an error of a server this client takes it as down for a while
        with self.assertRaises(self.pylibmc.Error):
            greedy.set("large", b"x" * (2 << 20))
        self.assertIsNone(self.client.get("large"), "the old value is gone")

    def test_requests_without_replies(self):
        client = self.make(no_block=True, buffer_requests=True, _noreply=True)
        for number in range(1000):
            client.set(f"quiet{number % 10}", number)
        self.assertEqual([client.get(f"quiet{number}") for number in range(10)], list(range(990, 1000)))

    def test_two_servers_of_one_ring(self):
        """Both addresses are the same server: each key is read from the address where it was stored."""
        where = [f"127.0.0.1:{self.server.port}", f"localhost:{self.server.port}"]
        client = self.pylibmc.Client(where, binary=self.binary, behaviors={"ketama": True})
        self.addCleanup(client.disconnect_all)
        values = {f"ring{number}": number for number in range(100)}
        client.set_multi(values)
        self.assertEqual(client.get_multi(list(values)), values)

    def test_statistics(self):
        (_, stats), = self.client.get_stats()
        self.assertIn(b"curr_items", {name if isinstance(name, bytes) else name.encode() for name in stats})


@machine.needs(machine.long_only())
class PylibmcBinaryTest(PylibmcTest):
    binary = True

    def refuse_replace(self, key, value) -> None:
        with self.assertRaises(self.pylibmc.NotFound):
            self.client.replace(key, value)

    def test_requests_without_replies(self):
        """Quiet writes. With buffer_requests as well, the client raises an error about its buffered requests, also with memcached."""
        client = self.make(no_block=True, _noreply=True)
        for number in range(1000):
            client.set(f"quiet{number % 10}", number)
        self.assertEqual([client.get(f"quiet{number}") for number in range(10)], list(range(990, 1000)))


@machine.needs(machine.long_only(), "" if _MECHANISMS else "not installed: libsasl2-modules")
class PylibmcLoginTest(DaemonCase):
    def test_a_user_comes_in_and_others_do_not(self):
        pylibmc = registries.python_module("pylibmc")
        if not pylibmc.support_sasl:
            self.skipTest("this pylibmc was built without SASL")
        (self.directory / "users").write_text("ann:secret\n")
        self.start("--set", "server.auth_file=users")
        where = [f"127.0.0.1:{self.ports()[0]}"]
        client = pylibmc.Client(where, binary=True, username="ann", password="secret")
        self.addCleanup(client.disconnect_all)
        self.assertTrue(client.set("k", "v"))
        self.assertEqual(client.get("k"), "v")
        stranger = pylibmc.Client(where, binary=True, username="ann", password="wrong")
        self.addCleanup(stranger.disconnect_all)
        with self.assertRaises(pylibmc.Error):
            stranger.set("k", "w")
        self.assertEqual(client.get("k"), "v")


if __name__ == "__main__":
    machine.main()
