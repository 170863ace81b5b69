"""A full server makes room for an item that grows, as it does for a set: no command that changes an item runs out of memory."""

import unittest

from harness import LONG, SANITIZED, Options, ServerCase, mxkv_only, scaled
from harness.connection import block
from test_eviction import store_all

_MIB = 1 << 20


@mxkv_only("memcached has slab classes of its own to fill")
class FullWritesTest(ServerCase):
    limit_mib = 32 if SANITIZED else 64
    options = Options(memory_mib=limit_mib)

    def setUp(self):
        self.client = self.connect(timeout=120)

    def fill(self, size: int) -> list:
        """Stores more than fits; returns the keys stored last, most of which are there."""
        self.client.ask(b"flush_all")
        count = 2 * self.limit_mib * _MIB // (size + 60)
        keys = [b"%d.%06d" % (size, i) for i in range(count)]
        store_all(self.client, keys, size)
        return keys[-scaled(2000, 400):]

    def ask_all(self, keys, make, done: bytes, missed: bytes) -> None:
        """One request for each key, in pipelines: each succeeds, or its item was evicted."""
        replies = []
        for at in range(0, len(keys), 100):
            part = keys[at:at + 100]
            self.client.send(b"".join(make(key) for key in part))
            replies += [self.client.line() for _ in part]
        self.assertEqual({reply for reply in replies if not reply.startswith(done)} - {missed}, set())
        self.assertGreater(sum(reply.startswith(done) for reply in replies), len(keys) // 4)

    def test_appends_of_20_bytes_to_items_of_10_kB_never_fail(self):
        self.ask_all(self.fill(10_000), lambda key: block(b"append", key, b"+" * 20), b"STORED", b"NOT_STORED")

    def test_prepends_to_small_items_never_fail(self):
        self.ask_all(self.fill(1000), lambda key: block(b"prepend", key, b"+" * 20), b"STORED", b"NOT_STORED")

    def test_ms_in_the_modes_A_and_P_never_fails(self):
        keys = self.fill(10_000)
        for mode in (b"MA", b"MP"):
            with self.subTest(mode=mode):
                keys = self.fill(10_000) if LONG else keys
                self.ask_all(keys, lambda key: b"ms %s 20 %s\r\n%s\r\n" % (key, mode, b"+" * 20), b"HD", b"NS")

    def test_what_gains_an_exptime_never_fails(self):
        keys = self.fill(1000)
        for wire, done, missed in ((b"touch %s 1000\r\n", b"TOUCHED", b"NOT_FOUND"), (b"mg %s T1000\r\n", b"HD", b"EN"),
                                   (b"md %s I T1000\r\n", b"HD", b"NF")):
            with self.subTest(wire=wire):
                keys = self.fill(1000) if LONG else keys
                self.ask_all(keys, lambda key: wire % key, done, missed)

    @unittest.skipIf(SANITIZED, "takes long to fill with small items")
    def test_numbers_are_counted_in_a_full_cache(self):
        keys = self.fill(1000)
        for key in keys:
            self.client.send(block(b"set", key, b"9" * 20, tail=b"noreply"))
        self.fill(1000)
        for at in range(0, len(keys), 100):
            self.client.send(b"".join(block(b"set", key, b"9") + b"incr %s 1\r\nma %s v\r\n" % (key, key) for key in keys[at:at + 100]))
            for _ in keys[at:at + 100]:
                self.assertEqual(self.client.line(), b"STORED")
                self.assertIn(self.client.line(), (b"10", b"NOT_FOUND"))
                if self.client.line().startswith(b"VA"):
                    self.assertEqual(self.client.line(), b"11")
