"""/prefixes.json: the sizes of prefixes, counted in small ranges and estimated in large ones."""

import base64
import json
import threading
import unittest
from urllib.parse import quote, unquote_to_bytes

from harness.environment import scaled
from harness.http import AdminCase


class PrefixesTest(AdminCase):
    def setUp(self):
        super().setUp()
        self.start_admin()

    def fill(self, prefix: bytes, count: int, value: int) -> None:
        client = self.client()
        for begin in range(0, count, 1000):
            client.send(b"".join(b"set %s%06d 0 0 %d noreply\r\n%s\r\n" % (prefix, i, value, b"v" * value)
                                 for i in range(begin, min(begin + 1000, count))))
        client.ask(b"mn")
        client.close()

    def prefixes(self, prefix: bytes = b"", delimiter: bytes = b":") -> dict:
        return self.get_json(f"/prefixes.json?prefix={quote(prefix, safe='')}&delimiter={quote(delimiter, safe='')}")

    @staticmethod
    def sizes(found: dict) -> dict:
        return {unquote_to_bytes(group["prefix"]): (group["items"], group["bytes"]) for group in found["groups"]}

    def test_few_are_counted_each(self):
        self.fill(b"a:", 10, 5)
        self.fill(b"b:x:", 20, 3)
        self.fill(b"b:y:", 5, 3)
        self.fill(b"plain", 3, 1)
        found = self.prefixes()
        self.assertTrue(found["exact"])
        self.assertEqual(self.sizes(found), {b"a:": (10, 10 * 13), b"b:": (25, 25 * 13)})
        self.assertEqual((found["single"]["items"], found["single"]["bytes"]), (3, 3 * 12))
        self.assertEqual(self.sizes(self.prefixes(b"b:")), {b"b:x:": (20, 20 * 13), b"b:y:": (5, 5 * 13)})
        self.assertEqual(self.sizes(self.prefixes(b"b", b"0")), {b"b:x:0": (20, 20 * 13), b"b:y:0": (5, 5 * 13)})
        self.assertEqual(self.prefixes(b"c")["groups"], [])

    def test_they_are_what_mc_counts(self):
        for prefix, count, value in ((b"user:", 500, 40), (b"session:", 700, 10), (b"x", 30, 1)):
            self.fill(prefix, count, value)
        client = self.client()
        client.send(b"mc - D: e\r\n")
        told = {}
        while not (line := client.line()).startswith(b"EN"):
            parts = line.split()
            told[parts[1][1:]] = tuple(int(part[1:]) for part in parts[2:4])
        self.assertEqual(self.sizes(self.prefixes()), told)

    def test_what_expired_or_was_deleted_does_not_count(self):
        self.fill(b"a:", 10, 5)
        client = self.client()
        client.ask(b"delete a:000001")
        client.ask(b"touch a:000002 -1")
        self.assertEqual(self.sizes(self.prefixes())[b"a:"][0], 8)

    def test_many_are_estimated(self):
        many = scaled(60_000, 40_000)
        self.fill(b"large:", many, 10)
        self.fill(b"middle:", many // 4, 10)
        found = self.prefixes()
        self.assertFalse(found["exact"])
        sizes = self.sizes(found)
        self.assertAlmostEqual(sizes[b"large:"][0] / many, 1, delta=0.35)
        self.assertAlmostEqual(sizes[b"middle:"][0] / (many // 4), 1, delta=0.6)

    def test_keys_of_any_bytes_are_told_and_asked_for(self):
        name = b"\x00\xff<b>&\"' \n%:"
        client = self.client()
        for end in (b"1:a", b"1:b", b"2:c"):
            self.assertEqual(client.ask(b"ms %s 1 b\r\nv" % base64.b64encode(name + end)), b"HD")
        found = self.prefixes()
        self.assertEqual(self.sizes(found)[name][0], 3)
        self.assertIn("\\x00", found["groups"][0]["name"])
        self.assertEqual({key: items for key, (items, _) in self.sizes(self.prefixes(name)).items()}, {name + b"1:": 2, name + b"2:": 1})

    def test_many_prefixes_are_one_beyond_the_first(self):
        client = self.client()
        client.send(b"".join(b"set %05d:a 0 0 1 noreply\r\nv\r\n" % i for i in range(3000)) + b"mn\r\n")
        client.line()
        found = self.prefixes()
        self.assertEqual(len(found["groups"]), 60)
        self.assertEqual(sum(group["items"] for group in found["groups"]) + found["others"]["items"], 3000)

    def test_wrong_queries_are_told(self):
        self.assertEqual(self.get("/prefixes.json?prefix=" + "a" * 251).status, 400)
        self.assertEqual(self.get("/prefixes.json?delimiter=" + "a" * 17).status, 400)
        self.assertEqual(self.get_json("/prefixes.json")["delimiter"], ":")

    def test_several_who_ask_at_once_all_hear(self):
        self.fill(b"a:", 2000, 5)
        self.fill(b"b:c:", 2000, 5)
        found = []

        def ask(prefix):
            found.append((prefix, json.loads(self.get(f"/prefixes.json?prefix={prefix}").text)))
        threads = [threading.Thread(target=ask, args=(prefix,)) for prefix in ("a", "b", "b:", "") * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 12)
        for prefix, told in found:
            self.assertEqual(told["name"], prefix)

    def test_an_end_while_it_counts_is_an_end_in_order(self):
        self.fill(b"large:", scaled(60_000, 20_000), 10)
        for _ in range(10):
            self.raw(b"GET /prefixes.json HTTP/1.1\r\nHost: a\r\n\r\n")
        self.end()


if __name__ == "__main__":
    unittest.main()
