"""The part that the back-ends of frameworks share. Most tests need a server that may be emptied, at MXKV_PORT of 127.0.0.1."""

import os
import time
import unittest

import mxkv
from mxkv._caches import LONGEST_PREFIX, Caches, expiry, servers_of

PORT = os.environ.get("MXKV_PORT")


class ArgumentsTest(unittest.TestCase):
    def test_a_time_to_live_is_for_ever_at_once_seconds_or_a_point_in_time(self):
        month = 30 * 24 * 3600
        self.assertEqual([expiry(seconds) for seconds in (None, 0, 0.5, -7, 1.9, month)], [0, -1, -1, -1, 1, month])
        self.assertGreaterEqual(expiry(month + 1), int(time.time()) + month)

    def test_servers_are_a_text_or_a_list(self):
        for given in ("a:1;b:2", "a:1, b:2", ["a:1", "b:2"], ("a:1", "b:2")):
            self.assertEqual(servers_of(given), ["a:1", "b:2"])

    def test_prefixes_that_would_delete_too_much_or_too_little_are_refused(self):
        for prefix in ("", "x" * (LONGEST_PREFIX + 1)):
            with self.assertRaises(mxkv.ClientError):
                Caches("127.0.0.1:1").delete_prefix(prefix)


@unittest.skipUnless(PORT, "MXKV_PORT names no server")
class CachesTest(unittest.TestCase):
    SERVERS = f"127.0.0.1:{PORT}"

    def setUp(self):
        self.cache = Caches(self.SERVERS, timeout=60, connect_timeout=60)
        self.addCleanup(self.cache.close)
        self.cache.delete_all()

    def keys(self) -> list:
        with mxkv.Client(f"127.0.0.1:{PORT}", timeout=60) as client:
            return list(client.scan(values=False))

    def test_values_keep_their_types(self):
        values = {"text": "ü", b"bytes \0": b"\xff", "number": -5, "none": None, "object": {"a": [1, True]}}
        self.assertEqual(self.cache.set_many(values, 0), [])
        self.assertEqual(self.cache.get_many([*values, "absent"]), values)
        self.assertEqual(self.cache.get("absent", 7), 7)
        self.assertEqual(self.cache.get_many([]), {})

    def test_long_keys_differ_and_go_with_their_prefix(self):
        keys = ["user:" + "ü" * 200 + end for end in ("a", "b")] + ["user:" + "x" * 245, "user:" + "x" * 246]
        self.assertEqual(self.cache.set_many({key: key for key in keys}, 0), [])
        self.assertEqual(self.cache.get_many(keys), {key: key for key in keys})
        self.assertEqual([len(key) for key in self.keys()], [250] * 4)
        self.assertTrue(self.cache.delete(keys[0]))
        self.assertEqual(self.cache.delete_prefix(keys[1][:100]), 1)
        self.assertEqual(self.cache.delete_prefix("user:" + "x" * (LONGEST_PREFIX - 5)), 2)

    def test_a_pattern_deletes_what_it_matches(self):
        names = [f"{kind}:{number}:{part}" for kind in ("a", "b[1]") for number in range(3) for part in ("x", "y", "é\n")]
        for pattern, left in (("a:*", 9), ("*", 0), ("a:1:x", 17), ("a:?:x", 15), ("*:y", 12), ("b[[]1]:[12]:*", 12), ("a:*:é\n", 15),
                              ("a:1:**", 15), ("none*", 18), ("A:*", 18), ("a:[!1]:x", 16)):
            with self.subTest(pattern):
                self.cache.set_many(dict.fromkeys([f"p:{name}" for name in names] + ["other", "p"], 1), 0)
                self.assertEqual(self.cache.delete_pattern("p:", pattern), 18 - left)
                self.assertEqual(len(self.keys()), left + 2)
        self.cache.set_many(dict.fromkeys((f"many:{number}" for number in range(2500)), 1), 0)
        self.assertEqual(self.cache.delete_pattern("", "many:*[0-4]"), 1250)

    def test_numbers_may_be_negative_and_keep_their_time_to_live(self):
        self.assertEqual([self.cache.add_number("n", delta, 0) for delta in (-3, 1, 5, -10)], [-3, -2, 3, -7])
        self.cache.set("n", 1, 1000)
        self.cache.add_number("n", -2, 0)
        with mxkv.Client(f"127.0.0.1:{PORT}", timeout=60) as client:
            item, = client.items("n")
        self.assertEqual(item.value, b"-1")
        self.assertTrue(900 < item.ttl <= 1000, item.ttl)
        self.cache.set("n", 3, 0)
        self.assertEqual([self.cache.incr("n", delta) for delta in (4, -2, -9)], [7, 5, 0])
        self.assertIsNone(self.cache.incr("absent", 1))

    def test_a_key_is_deleted_only_with_the_value_that_is_named(self):
        self.cache.set("lock", b"mine", 0)
        self.assertEqual([self.cache.delete_if("lock", b"other"), self.cache.delete_if("none", b"mine")], [False, False])
        self.assertEqual([self.cache.delete_if("lock", b"mine"), self.cache.delete_if("lock", b"mine")], [True, False])

    def test_a_child_process_has_connections_of_its_own(self):
        self.cache.set_many({f"k{number}": number for number in range(10)}, 0)
        child = os.fork()
        right = all(self.cache.get(f"k{number % 10}") == number % 10 for number in range(child and 300, 700))
        if child == 0:
            os._exit(0 if right else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue(right)


class SeveralServersTest(CachesTest):
    """The same server by two names: each key belongs to one of the names."""
    SERVERS = f"127.0.0.1:{PORT};localhost:{PORT}"


if __name__ == "__main__":
    unittest.main()
