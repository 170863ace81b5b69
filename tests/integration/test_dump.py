"""lru_crawler metadump, mgdump and stats cachedump: every key once, in order, in memcached's lines, however the client reads."""

import re
import time

from harness import Options, ServerCase, mxkv_only, scaled, wait_for
from harness.connection import block

_LINE = re.compile(rb"key=(\S+) exp=(-1|\d+) la=(\d+) cas=(\d+) fetch=(yes|no) cls=\d+ size=(\d+)(?: flags=(\d+))?\Z")

_PATIENCE_S = 120
_PAGE = 64 << 10
_MOST_WAITING = _PAGE + 2 * 8 * _PAGE + _PAGE  # the mark, twice the pages made side by side, and blocks that are not full


class DumpCase(ServerCase):
    def setUp(self):
        self.client = self.connect()
        self.client.ask(b"flush_all")

    def fill(self, count: int, value: bytes = b"v") -> list:
        keys = [b"dump%06d" % number for number in range(count)]
        for first in range(0, count, 500):
            part = keys[first:first + 500]
            self.client.send(b"".join(block(b"set", key, value) for key in part))
            self.assertEqual({self.client.line() for _ in part}, {b"STORED"})
        return keys

    def dump(self, command: bytes = b"lru_crawler metadump all", end: bytes = b"END\r\n") -> list:
        """The lines, without the last one."""
        self.client.send(command + b"\r\n")
        text = b""
        while not text.endswith(end):
            text += self.client.exactly(1)
            if len(text) > 5 and not text.endswith(b"\n"):
                buffered = bytes(self.client._buffer)
                text += self.client.exactly(len(buffered))
        return text[:-len(end)].split(b"\r\n" if b"mgdump" in command else b"\n")[:-1]


class MetadumpTest(DumpCase):
    def test_an_empty_store_has_only_an_end(self):
        self.client.send(b"lru_crawler metadump all\r\n")
        self.assertEqual(self.client.line(), b"END")

    def test_a_line_tells_what_memcached_tells(self):
        self.client.store(b"set", b"k1", b"v" * 10, flags=7)
        self.client.store(b"set", b"k2", b"v", exptime=1000)
        self.client.get(b"k2")
        cas = {key: self.client.gets(key)[2] for key in (b"k1",)}
        found = {match[1]: match for match in map(_LINE.match, self.dump())}
        self.assertEqual(found.keys(), {b"k1", b"k2"})
        self.assertEqual((found[b"k1"][2], int(found[b"k1"][4])), (b"-1", cas[b"k1"]))
        self.assertAlmostEqual(int(found[b"k2"][2]), time.time() + 1000, delta=100)
        self.assertGreater(int(found[b"k1"][6]), 10)

    @mxkv_only("flags are newer than 1.6.18")
    def test_flags_and_fetches_are_told(self):
        self.client.store(b"set", b"k1", b"v", flags=7)
        self.client.store(b"set", b"k2", b"v")
        self.client.get(b"k2")
        found = {match[1]: match for match in map(_LINE.match, self.dump())}
        self.assertEqual((found[b"k1"][7], found[b"k1"][5], found[b"k2"][7], found[b"k2"][5]), (b"7", b"no", b"0", b"yes"))

    def test_keys_are_encoded_as_in_a_uri(self):
        key = b"a/b?%&=\xe2\x82\xac-._~"
        self.client.set(key, b"v")
        self.assertEqual(_LINE.match(self.dump()[0])[1], b"a%2Fb%3F%25%26%3D%E2%82%AC-._~")

    @mxkv_only("order")
    def test_every_key_once_and_in_order(self):
        keys = self.fill(scaled(5000))
        self.assertEqual([_LINE.match(line)[1] for line in self.dump()], keys)

    @mxkv_only("lines")
    def test_mgdump_writes_commands(self):
        self.client.set(b"k1", b"v")
        self.client.send(b"ms AAEC 1 b\r\nv\r\n")
        self.assertEqual(self.client.line(), b"HD")
        self.assertEqual(self.dump(b"lru_crawler mgdump all", b"EN\r\n"), [b"mg AAEC b", b"mg k1"])

    @mxkv_only("pipelining")
    def test_what_follows_in_the_pipeline_is_answered_behind_it(self):
        keys = self.fill(scaled(3000))
        self.client.send(block(b"set", b"a", b"v") + b"lru_crawler metadump all\r\nget a\r\nmn\r\n")
        self.assertEqual(self.client.line(), b"STORED")
        text = b""
        while not text.endswith(b"END\r\n"):
            text += self.client.line() + b"\r\n"
        self.assertEqual(text.count(b"key="), len(keys) + 1)
        self.assertEqual(self.client.records(), [(b"a", b"v", [0])])
        self.assertEqual(self.client.line(), b"MN")

    @mxkv_only("liveness")
    def test_what_has_expired_is_left_out(self):
        self.client.store(b"set", b"gone", b"v", exptime=-1)
        self.client.set(b"here", b"v")
        self.assertEqual([_LINE.match(line)[1] for line in self.dump()], [b"here"])


class CachedumpTest(DumpCase):
    """stats cachedump, which memdump and older tools use, class by class."""

    def items(self, arguments: bytes) -> list:
        self.client.send(b"stats cachedump " + arguments + b"\r\n")
        lines = []
        while (line := self.client.line()) != b"END":
            lines.append(re.fullmatch(rb"ITEM (\S+) \[(\d+) b; (\d+) s\]", line).groups())
        return lines

    @mxkv_only("memcached tells its cold list alone")
    def test_the_classes_together_tell_every_item_once(self):
        self.client.store(b"set", b"k1", b"v" * 10)
        self.client.store(b"set", b"k2", b"", exptime=1000)
        found = {key: (size, int(expiry)) for number in range(64) for key, size, expiry in self.items(b"%d 0" % number)}
        self.assertEqual(found[b"k1"], (b"10", 0))
        self.assertEqual(found[b"k2"][0], b"0")
        self.assertAlmostEqual(found[b"k2"][1], time.time() + 1000, delta=100)
        self.assertEqual(len(found), 2)

    @mxkv_only("memcached tells its cold list alone")
    def test_stats_items_names_the_classes_that_have_items(self):
        self.client.set(b"k", b"v")
        numbers = {name.split(":")[1] for name in self.client.stats(b"items")}
        self.assertEqual([key for number in numbers for key, _, _ in self.items(number.encode() + b" 100")], [b"k"])

    @mxkv_only("order, and no bound of 2 MB")
    def test_all_that_there_is_or_as_many_as_are_wanted(self):
        keys = self.fill(scaled(5000))
        self.assertEqual([key for key, _, _ in self.items(b"1 0")], keys)
        self.assertEqual([key for key, _, _ in self.items(b"1 7")], keys[:7])
        self.assertEqual(len(self.items(b"1 %d" % len(keys))), len(keys))
        self.assertEqual(self.items(b"2 0"), [])

    @mxkv_only("binary keys are newer")
    def test_binary_keys_are_left_out(self):
        self.client.send(b"ms AAEC 1 b\r\nv\r\nms k 1\r\nv\r\n")
        self.assertEqual([self.client.line(), self.client.line()], [b"HD", b"HD"])
        self.assertEqual([key for key, _, _ in self.items(b"1 1")], [b"k"])

    def test_what_is_wrong_is_told(self):
        for arguments, error in ((b"", b"bad command line"), (b"1", b"bad command line"), (b"x 1", b"bad command line format"),
                                 (b"1 x", b"bad command line format"), (b"64 0", b"Illegal slab id")):
            self.assertEqual(self.client.ask(b"stats cachedump " + arguments), b"CLIENT_ERROR " + error)


@mxkv_only("bounds")
class SlowReaderTest(DumpCase):
    options = Options(settings=(("limits.output_high_water", "64KiB"),))

    def output(self) -> int:
        return int(self.client.stats(b"memory")["output"])

    def test_who_does_not_read_holds_up_only_himself(self):
        keys = self.fill(scaled(60_000, 30_000))
        before = self.output()
        slow = self.connect(timeout=_PATIENCE_S, receive_buffer=4096)
        slow.send(b"lru_crawler metadump all\r\n")
        begin = slow.exactly(100)
        # The high-water mark and the pages made side by side bound the text that waits, not the number of keys. Each of these
        # pages counts twice: where a worker makes it and where the home sends it. Replies to others come and go beside it.
        looks = []

        def at_rest() -> bool:
            self.assertEqual(self.client.get(keys[0]), b"v")
            looks.append(self.output() - before)
            return len(looks) >= 20 and len(set(looks[-20:])) == 1
        wait_for(at_rest, "the dump waits for its client", _PATIENCE_S)
        self.assertLess(looks[-1], _MOST_WAITING)
        text = begin + slow.line()
        self.assertGreater(len(text), 3 * _MOST_WAITING // 2)
        self.assertTrue(text.endswith(b"\nEND"))
        self.assertEqual(text.count(b"key="), len(keys))

    def test_who_leaves_in_the_middle_leaves_nothing_behind(self):
        self.fill(scaled(60_000))
        for _ in range(20):
            client = self.connect(timeout=_PATIENCE_S, receive_buffer=4096)
            client.send(b"lru_crawler metadump all\r\n")
            client.exactly(100)
            client.reset()
        wait_for(lambda: int(self.client.stats()["curr_connections"]) == 1, "they are gone", _PATIENCE_S)
        self.assert_serves()
