"""watch: lines in memcached's form for the events of items, and a slow watcher that loses lines but never blocks the server."""

import re
import time

from harness import Options, ServerCase, mxkv_only, wait_for
from harness.connection import block

_LINE = re.compile(rb"ts=(\d+)\.\d+ gid=(\d+) type=(\w+) key=(\S+) (.*)\Z")


class WatchCase(ServerCase):
    def setUp(self):
        self.client = self.connect()

    def watch(self, words: bytes, **options):
        watcher = self.connect(**options)
        self.assertEqual(watcher.ask(b"watch" + words), b"OK")
        return watcher

    @staticmethod
    def take_line(watcher) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            line += watcher.exactly(1)
        return line[:-1]

    def fields(self, watcher) -> tuple:
        """(type, key, the other fields by name) of the next line."""
        match = _LINE.match(self.take_line(watcher))
        return match[3], match[4], dict(pair.split(b"=", 1) for pair in match[5].split(b" "))


@mxkv_only("lines come at once")
class WatchTest(WatchCase):
    def test_mutations_tell_command_and_outcome(self):
        watcher = self.watch(b" mutations")
        cases = ((block(b"set", b"k", b"12345"), b"set", b"stored"), (block(b"add", b"k", b"1"), b"add", b"not_stored"),
                 (block(b"append", b"k", b"1"), b"append", b"stored"), (block(b"cas", b"k", b"1", tail=b"1"), b"cas", b"exists"),
                 (block(b"cas", b"none", b"1", tail=b"1"), b"cas", b"not_found"), (b"incr k 1\r\n", b"incr", b"stored"),
                 (b"ms k 1\r\nv\r\n", b"ms", b"stored"), (block(b"set", b"k", b"1", exptime=1000), b"set", b"stored"))
        for command, name, status in cases:
            self.client.send(command)
            self.client.line()
            kind, key, rest = self.fields(watcher)
            self.assertEqual((kind, key, rest[b"cmd"], rest[b"status"]), (b"item_store", command.split()[1], name, status))
        self.assertIn(int(rest[b"ttl"]), range(900, 1001))
        self.assertEqual(rest[b"size"], b"1")

    def test_fetchers_tell_hits_and_misses(self):
        self.client.set(b"k", b"123")
        self.client.ask(b"delete n")
        watcher = self.watch(b"")
        self.client.send(b"get k n\r\nmg k v\r\nmg n v\r\ngat 0 k\r\n")
        found = []
        for _ in range(5):
            kind, key, rest = self.fields(watcher)
            found.append((kind, key, rest[b"status"], rest[b"size"]))
        self.assertEqual(sorted(found), sorted([(b"item_get", b"k", b"found", b"3")] * 3 + [(b"item_get", b"n", b"not_found", b"0")] * 2))

    def test_fetchers_tell_what_each_command_found_before(self):
        self.client.ask(b"delete k")
        self.client.ask(b"delete n")
        watcher = self.watch(b" fetchers mutations")
        cases = ((block(b"set", b"k", b"123"), b"not_found 0 0", b"stored"), (block(b"set", b"k", b"5"), b"found 1 3", b"stored"),
                 (block(b"add", b"k", b"x"), b"found 1 1", b"not_stored"), (b"incr k 5\r\n", b"found 1 1", b"stored"),
                 (b"touch k 0\r\n", b"found 1 2", None), (b"touch k -1\r\n", b"found 1 2", None), (b"touch k 0\r\n", b"not_found 0 0", None),
                 (b"ma n N0\r\n", b"not_found 0 0", b"stored"), (b"mb 1\r\nms n 2\r\nxy\r\n", b"found 1 1", b"stored"),
                 (b"delete n\r\n", b"found 1 2", None), (b"delete n\r\n", b"not_found 0 0", None))
        for command, found, status in cases:
            self.client.send(command)
            self.client.line()
            if command.startswith(b"mb"):
                self.assertEqual(self.client.line(), b"HD")
            kind, _, rest = self.fields(watcher)
            self.assertEqual((kind, b" ".join((rest[b"status"], rest[b"clsid"], rest[b"size"]))), (b"item_get", found), command)
            if status:
                kind, _, rest = self.fields(watcher)
                self.assertEqual((kind, rest[b"status"]), (b"item_store", status), command)

    def test_deletions_tell_what_went_and_not_what_was_missing(self):
        self.client.set(b"a", b"1")
        self.client.set(b"b/c", b"12")
        watcher = self.watch(b" deletions")
        self.client.set(b"c", b"123")
        for command in (b"delete none", b"delete a", b"md none", b"md b/c", b"mx c p", b"mx c p"):
            self.client.ask(command)
        for expected in ((b"a", b"delete", b"1"), (b"b%2Fc", b"md", b"2"), (b"c", b"mx", b"3")):
            kind, key, rest = self.fields(watcher)
            self.assertEqual((kind, key, rest[b"cmd"], rest[b"size"], rest[b"clsid"]), (b"deleted", *expected, b"1"))
            self.assertGreater(int(rest[b"cfd"]), 0)

    def test_a_range_that_is_touched_is_told_item_by_item(self):
        for number in range(300):
            self.client.set(b"touched/%03d" % number, b"x" * (number % 7))
        watcher = self.watch(b" mutations")
        self.assertEqual(self.client.ask(b"mt touched/ p T1000"), b"HD A300")
        for number in range(300):
            kind, key, rest = self.fields(watcher)
            self.assertEqual((kind, key), (b"item_store", b"touched%%2F%03d" % number))
            self.assertEqual((rest[b"cmd"], rest[b"status"], rest[b"size"]), (b"mt", b"stored", b"%d" % (number % 7)))
            self.assertIn(int(rest[b"ttl"]), range(900, 1001))
            self.assertGreater(int(rest[b"cfd"]), 0)
        self.assertEqual(self.client.ask(b"mt touched/ p T1 A10"), b"CLIENT_ERROR too many keys in the range")
        self.client.set(b"last", b"1")
        self.assertEqual(self.fields(watcher)[1], b"last", "what was refused touched nothing")

    def test_kinds_may_be_stacked_and_numbers_grow(self):
        watcher = self.watch(b" mutations deletions fetchers")
        self.client.set(b"k", b"1")
        self.client.get(b"k")
        self.client.ask(b"delete k")
        lines = [_LINE.match(self.take_line(watcher)) for _ in range(5)]
        self.assertEqual([line[3] for line in lines], [b"item_get", b"item_store", b"item_get", b"item_get", b"deleted"])
        numbers = [int(line[2]) for line in lines]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertLess(abs(int(lines[0][1]) - time.time()), 100)

    def test_events_of_all_workers_come_to_watchers_of_all_workers(self):
        watchers = [self.watch(b" mutations") for _ in range(4)]
        clients = [self.connect() for _ in range(4)]
        for number, client in enumerate(clients):
            client.set(b"w%d" % number, b"v")
        for watcher in watchers:
            self.assertEqual({self.fields(watcher)[1] for _ in clients}, {b"w0", b"w1", b"w2", b"w3"})

    def test_what_is_unknown_is_refused_and_what_a_watcher_says_is_not_heard(self):
        self.assertEqual(self.client.ask(b"watch everything"), b"ERROR")
        watcher = self.watch(b" mutations")
        watcher.send(b"get k\r\nversion\r\n")
        self.client.set(b"k", b"v")
        self.assertEqual(self.fields(watcher)[1], b"k")

    def test_watchers_are_limited_counted_and_forgotten(self):
        wait_for(lambda: self.client.stats()["log_watchers"] == "0", "those of other tests are gone")
        watchers = [self.watch(b"") for _ in range(20)]
        self.assertEqual(self.connect().ask(b"watch"), b"WATCHER_TOO_MANY log watcher limit reached")
        self.assertEqual(self.client.stats()["log_watchers"], "20")
        for number, watcher in enumerate(watchers):
            watcher.reset() if number % 2 else watcher.close()
        wait_for(lambda: self.client.stats()["log_watchers"] == "0", "who left watches no more")
        self.assert_serves()

    def test_who_stops_sending_is_let_go(self):
        watcher = self.watch(b" mutations")
        watcher.finish_sending()
        self.assertEqual(watcher.rest(), b"")


@mxkv_only("its own bounds")
class SlowWatcherTest(WatchCase):
    options = Options(settings=(("limits.output_high_water", "64KiB"),))

    def test_a_slow_watcher_loses_lines_and_hears_how_many(self):
        watcher = self.watch(b" mutations", receive_buffer=4096)
        quick = self.watch(b" deletions")
        count = 0
        command = b"".join(block(b"set", b"slow/%s%04d" % (b"x" * 200, number), b"v") for number in range(500))
        while int(self.client.stats()["log_watcher_skipped"]) == 0:
            self.client.send(command)
            self.assertEqual({self.client.line() for _ in range(500)}, {b"STORED"})
            count += 500
            self.assertLess(count, 200_000, "nothing was lost")
        self.assertLess(int(self.client.stats(b"memory")["output"]), 4 << 20)
        self.client.ask(b"delete slow/%s0000" % (b"x" * 200))
        self.assertEqual(self.fields(quick)[0], b"deleted")
        lines, skipped = 0, 0
        self.client.send(block(b"set", b"last", b"v"))
        self.client.line()
        while lines + skipped < count + 1:
            line = self.take_line(watcher)
            if line.startswith(b"skipped="):
                skipped += int(line.split(b"=")[1])
            else:
                lines += 1
            if lines % 500 == 0 and lines + skipped < count + 1:
                # The first line after a loss reports how many were lost.
                self.client.send(block(b"set", b"last", b"v"))
                self.client.line()
                count += 1
        self.assertGreater(skipped, 0)
        self.assertEqual(lines + skipped, count + 1)


@mxkv_only("memcached tells of evictions in its own order")
class EvictionWatchTest(WatchCase):
    options = Options(workers=2, memory_mib=16)

    def test_evictions_are_told_wherever_the_watcher_is(self):
        watchers = [self.watch(b" evictions") for _ in range(4)]
        self.client.store_all((b"key%06d" % i for i in range(60)), 100)
        self.client.store_all((b"many%06d" % i for i in range(400)), 100_000)
        for watcher in watchers:
            kind, key, rest = self.fields(watcher)
            self.assertEqual((kind, rest[b"fetch"], rest[b"ttl"]), (b"eviction", b"no", b"-1"))
            self.assertRegex(key, rb"\A(key|many)\d{6}\Z")
