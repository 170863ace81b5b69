"""The commands of administrators: verbosity, cache_memlimit, shutdown, debugtime, flush_all with delays, and tuning."""

import unittest

from harness import IS_MEMCACHED, Connection, DaemonCase, Options, Server, ServerCase, mxkv_only
from test_differential import oracle_missing

_SAME_AS_MEMCACHED = (
    b"verbosity 1", b"verbosity 0", b"verbosity 1 noreply\r\nversionx", b"cache_memlimit", b"cache_memlimit x",
    b"cache_memlimit 100", b"cache_memlimit 64 noreply\r\nmn", b"debugtime 1",
    b"lru_crawler", b"lru_crawler tocrawl 5", b"lru_crawler sleep 100", b"lru_crawler sleep 1000001",
    b"lru_crawler tocrawl x", b"lru_crawler metadump", b"lru_crawler x y", b"lru mode flat", b"lru mode segmented",
    b"lru mode x", b"lru temp_ttl 60", b"lru tune 20 40 0.2 2.0", b"lru x", b"slabs automove 0", b"slabs x", b"slabs",
    b"slabs automove", b"slabs automove x", b"slabs automove invalid", b"slabs automove -1", b"slabs automove 2", b"slabs automove 3",
    b"slabs automove 1 x", b"slabs automove ratio 0.5", b"slabs automove invalid noreply\r\nmn",
    b"flush_all 0", b"flush_all -1", b"flush_all x", b"flush_all 0 x", b"flush_all 0 1", b"flush_all 0 x y",
    b"flush_all 0 1 noreply\r\nmn", b"flush_all 0 noreply x", b"flush_all noreply x", b"flush_all x noreply\r\nmn",
    b"verbosity", b"verbosity x", b"verbosity 1 2", b"verbosity 1 2 3", b"verbosity 1 x noreply\r\nmn",
    b"verbosity noreply\r\nmn", b"stats reset now", b"stats items x", b"stats foo bar")
# Lengths that no client means: the server answers at once and swallows no data. (1.6.18 reads them modulo 2^32.)
_LONGEST = 0x7FFF_FFFF - 2


class AdminTest(ServerCase):
    def setUp(self):
        self.client = self.connect()

    @mxkv_only("debugtime is not known unless asked for")
    def test_debugtime_is_no_command_by_default(self):
        self.assertEqual(self.client.ask(b"debugtime 5"), b"ERROR")
        self.assertEqual(self.client.ask(b"debugtime p"), b"ERROR")

    def test_shutdown_is_refused_by_default(self):
        for command in (b"shutdown", b"shutdown graceful"):
            self.assertRegex(self.client.ask(command), b"^(SERVER_|)ERROR: shutdown not enabled$" if IS_MEMCACHED
                             else b"^SERVER_ERROR: shutdown not enabled$")
        self.assert_serves()

    def test_verbosity_shows_in_settings(self):
        self.assertEqual(self.client.ask(b"verbosity 1"), b"OK")
        self.assertEqual(self.client.stats(b"settings")["verbosity"], "1")
        self.assertEqual(self.client.ask(b"verbosity 0"), b"OK")
        self.assertEqual(self.client.stats(b"settings")["verbosity"], "0")

    def test_a_length_that_is_too_long_for_any_item_is_an_error_at_once(self):
        for length in (_LONGEST + 1, _LONGEST + 2, 1 << 31, (1 << 32) - 2, 10 ** 20):
            for line in (b"set k 0 0 %d\r\nmn\r\n", b"cas k 0 0 %d 1\r\nmn\r\n", b"append k 0 0 %d\r\nmn\r\n",
                         b"ms k %d\r\nmn\r\n"):
                self.client.send(line % length)
                self.assertEqual(self.client.line(), b"CLIENT_ERROR bad command line format", line % length)
                self.assertEqual(self.client.line(), b"MN", line % length)

    def test_the_version_is_one_word_and_the_same_in_stats(self):
        words = self.client.ask(b"version").split(b" ")
        self.assertEqual(words, [b"VERSION", self.client.stats()["version"].encode()])

    def test_words_behind_the_name_of_a_group_mean_nothing(self):
        self.assertEqual(self.client.stats(b"settings items").keys(), self.client.stats(b"settings").keys())

    @mxkv_only("classes")
    def test_what_cannot_be_done_is_said(self):
        self.assertEqual(self.client.ask(b"slabs reassign 1 2"), b"CLIENT_ERROR slab reassignment disabled")
        self.assertEqual(self.client.ask(b"lru_crawler metadump 1"), b"CLIENT_ERROR items are in no classes: use all")

    @mxkv_only("items go at once")
    def test_a_flush_now_takes_the_place_of_one_to_come(self):
        self.assertEqual(self.client.ask(b"flush_all 2"), b"OK")
        self.assertEqual(self.client.ask(b"flush_all"), b"OK")
        self.client.set(b"k", b"v")
        self.assertEqual(self.client.get(b"k"), b"v")


@mxkv_only("limits in MiB of its own")
class MemoryLimitTest(ServerCase):
    options = Options(memory_mib=64)

    def test_the_limit_holds_at_once(self):
        client = self.connect()
        self.assertEqual(client.ask(b"cache_memlimit 15"), b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 16m")
        self.assertRegex(client.ask(b"cache_memlimit 129"), b"^MEMLIMIT_ADJUST_FAILED at most 128m")
        self.assertEqual(client.stats()["limit_maxbytes"], str(64 << 20))
        self.assertEqual(client.ask(b"cache_memlimit 16"), b"OK")
        self.assertEqual((client.stats()["limit_maxbytes"], client.stats(b"memory")["limit"]), (str(16 << 20),) * 2)
        stored = self.store_many(client, 40)
        self.assertTrue(0 < stored < 32, stored)
        self.assertEqual(client.ask(b"cache_memlimit 128"), b"OK")
        self.assertEqual(self.store_many(client, 80), 80)

    @staticmethod
    def store_many(client, count: int) -> int:
        """Stores `count` values of half a MiB; returns how many are there in the end."""
        for number in range(count):
            client.set(b"m%03d" % number, b"x" * (1 << 19))
        return sum(client.ask(b"touch m%03d 0" % number) == b"TOUCHED" for number in range(count))


@mxkv_only("a clock to steer")
class DebugTimeTest(ServerCase):
    options = Options(workers=2, settings=(("server.debug_time", "true"),))

    def setUp(self):
        self.client = self.connect()

    def move(self, word: bytes) -> None:
        self.assertEqual(self.client.ask(b"debugtime " + word), b"OK")

    def test_items_expire_when_the_clock_is_moved(self):
        self.move(b"p")
        self.assertEqual(self.client.set(b"k", b"v", exptime=1000), b"STORED")
        self.assertEqual(self.client.ask(b"mg k t"), b"HD t1000")
        self.move(b"999")
        self.assertEqual(self.client.ask(b"mg k t"), b"HD t1")
        self.move(b"1")
        self.assertIsNone(self.client.get(b"k"))
        self.move(b"r")

    def test_a_second_after_its_last_access_an_item_tells_one_also_right_behind_a_flush(self):
        self.move(b"p")
        self.assertEqual(self.client.ask(b"flush_all"), b"OK")
        self.client.set(b"k", b"v")
        self.assertEqual(self.client.ask(b"mg k l"), b"HD l0")
        self.move(b"1")
        self.assertEqual(self.client.ask(b"mg k l"), b"HD l1")
        self.move(b"r")

    def test_all_workers_see_the_time(self):
        clients = [self.connect() for _ in range(6)]
        self.client.set(b"k", b"v", exptime=1000)
        self.move(b"1001")
        for client in clients:
            self.assertIsNone(client.get(b"k"))

    def test_a_stopped_clock_stands_still(self):
        self.move(b"p")
        first = self.client.stats()["time"]
        self.move(b"10")
        self.assertEqual(int(self.client.stats()["time"]), int(first) + 10)
        self.move(b"r")

    def test_a_delayed_flush_takes_what_was_there_before_its_time(self):
        self.client.set(b"before", b"v")
        self.assertEqual(self.client.ask(b"flush_all 100"), b"OK")
        self.client.set(b"too", b"v")
        self.assertEqual(self.client.get(b"before"), b"v")
        self.move(b"101")
        self.client.set(b"after", b"v")
        self.assertEqual([self.client.get(key) for key in (b"before", b"too", b"after")], [None, None, b"v"])

    def test_a_second_delayed_flush_brings_nothing_back(self):
        self.client.set(b"k", b"v")
        self.assertEqual(self.client.ask(b"flush_all 10"), b"OK")
        self.move(b"11")
        self.assertEqual(self.client.ask(b"flush_all 1000"), b"OK")
        self.assertIsNone(self.client.get(b"k"))

    def test_wrong_words_are_refused(self):
        for words in (b"", b" x", b" 1x", b" 1 2", b" pp"):
            self.assertEqual(self.client.ask(b"debugtime" + words), b"ERROR", words)


@mxkv_only("an option")
class ShutdownTest(DaemonCase):
    def check(self, command: bytes) -> None:
        self.start("--set", "server.shutdown_command=true")
        client, other = self.client(), self.client()
        self.assertEqual(client.ask(b"shutdown now"), b"CLIENT_ERROR invalid shutdown mode")
        self.assertEqual(other.set(b"k", b"v"), b"STORED")
        client.send(command + b"\r\n")
        self.assertEqual(client.rest(), b"")
        self.assertEqual(other.rest(), b"")
        self.assertEqual(self.process.wait(timeout=30), 0, self.log())
        self.assertIn("a client asked for it", self.log())
        self.assert_no_report()

    def test_shutdown_ends_the_daemon_in_order(self):
        self.check(b"shutdown")

    def test_graceful_shutdown_ends_the_daemon_in_order(self):
        self.check(b"shutdown graceful")


@unittest.skipIf(oracle_missing(), "memcached 1.6.18 is not installed")
class SameAsMemcachedTest(unittest.TestCase):
    def test_replies_are_those_of_memcached(self):
        ours, theirs = Server(Options()).start(), Server(Options(memcached=True)).start()
        self.addCleanup(ours.kill)
        self.addCleanup(theirs.kill)
        for command in _SAME_AS_MEMCACHED:
            with self.subTest(command):
                replies = []
                for server in (ours, theirs):
                    client = Connection(server.port)
                    self.addCleanup(client.close)
                    replies.append(client.ask(command))
                self.assertEqual(*replies)
