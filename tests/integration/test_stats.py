"""The names and meanings of `stats` that exporters and people rely on."""

import time

from harness import Options, ServerCase, mxkv_only, wait_for
from harness.connection import block

_PATIENCE_S = 120

_NAMES = """pid uptime time version pointer_size rusage_user rusage_system curr_connections total_connections
rejected_connections cmd_get cmd_set cmd_flush cmd_touch get_hits get_misses delete_misses delete_hits incr_misses
incr_hits decr_misses decr_hits cas_misses cas_hits cas_badval touch_hits touch_misses bytes_read bytes_written
limit_maxbytes threads bytes curr_items total_items evictions""".split()


class StatsTest(ServerCase):
    def setUp(self):
        self.client = self.connect()

    def delta(self, command: bytes, reply_lines: int) -> dict:
        """The change that one command makes in the numeric stats."""
        before = self.client.stats()
        self.client.send(command)
        for _ in range(reply_lines):
            self.client.line()
        after = self.client.stats()
        return {name: int(after[name]) - int(before[name]) for name in _NAMES
                if name in before and before[name].isdigit() and before[name] != after[name]}

    def test_the_names_exporters_read_are_there(self):
        stats = self.client.stats()
        self.assertEqual([name for name in _NAMES if name not in stats], [])
        self.assertEqual(int(stats["pid"]), self.server.process.pid)
        self.assertLess(abs(int(stats["time"]) - time.time()), 100)
        self.assertRegex(stats["version"], r"^\d+\.\d+\.\d+")
        self.assertEqual(int(stats["limit_maxbytes"]), 256 << 20)
        self.assertEqual(int(stats["pointer_size"]), 64)

    def test_every_name_once_and_one_word(self):
        self.client.send(b"stats\r\n")
        names = []
        while (line := self.client.line()) != b"END":
            word, name, _ = line.split(b" ", 2)
            self.assertEqual(word, b"STAT")
            names.append(name)
        self.assertEqual(len(names), len(set(names)))

    def test_counters_count(self):
        self.client.send(b"delete k\r\ndelete n\r\n")
        self.client.line(), self.client.line()
        cases = [
            (block(b"set", b"k", b"1"), 1, {"cmd_set": 1, "total_items": 1, "curr_items": 1}),
            (b"get k\r\n", 3, {"cmd_get": 1, "get_hits": 1}),
            (b"get n n\r\n", 1, {"cmd_get": 2, "get_misses": 2}),
            (b"incr k 1\r\n", 1, {"incr_hits": 1}),
            (b"incr n 1\r\n", 1, {"incr_misses": 1}),
            (b"decr k 1\r\n", 1, {"decr_hits": 1}),
            (b"decr n 1\r\n", 1, {"decr_misses": 1}),
            (b"touch k 0\r\n", 1, {"cmd_touch": 1, "touch_hits": 1}),
            (b"touch n 0\r\n", 1, {"cmd_touch": 1, "touch_misses": 1}),
            (block(b"cas", b"k", b"1", tail=b"9007199254740990"), 1, {"cas_badval": 1}),
            (block(b"cas", b"n", b"1", tail=b"1"), 1, {"cas_misses": 1}),
            (b"delete n\r\n", 1, {"delete_misses": 1}),
            (b"delete k\r\n", 1, {"delete_hits": 1, "curr_items": -1}),
            (b"flush_all\r\n", 1, {"cmd_flush": 1}),
        ]
        for command, lines, expected in cases:
            with self.subTest(command):
                found = self.delta(command, lines)
                self.assertEqual({name: found.get(name, 0) for name in expected}, expected)

    def test_counters_of_all_workers_are_added_up(self):
        before = int(self.client.stats()["cmd_get"])
        others = [self.connect() for _ in range(10)]
        for other in others:
            for _ in range(10):
                other.get(b"k")
        self.assertEqual(int(self.client.stats()["cmd_get"]) - before, 100)

    def test_connections_are_counted(self):
        total = int(self.client.stats()["total_connections"])
        others = [self.connect() for _ in range(7)]
        for other in others:
            other.ask(b"version")
        self.assertEqual(int(self.client.stats()["total_connections"]) - total, 7)
        # The server may still be closing connections of earlier tests.
        wait_for(lambda: int(self.client.stats()["curr_connections"]) == 8, "8 connections are open", _PATIENCE_S)

    def test_bytes_grow_with_values_and_shrink_with_deletes(self):
        self.client.ask(b"delete large")
        before = int(self.client.stats()["bytes"])
        self.client.set(b"large", b"x" * 500000)
        self.assertGreaterEqual(int(self.client.stats()["bytes"]) - before, 500000)
        self.client.ask(b"delete large")
        self.assertLess(int(self.client.stats()["bytes"]) - before, 500000)

    def test_reset_puts_counters_back(self):
        self.client.get(b"k")
        self.assertEqual(self.client.ask(b"stats reset"), b"RESET")
        stats = self.client.stats()
        self.assertEqual([stats["cmd_get"], stats["get_misses"]], ["0", "0"])

    def test_memcached_groups_answer_in_form(self):
        for group in (b"settings", b"items", b"slabs", b"sizes", b"conns"):
            with self.subTest(group):
                self.assertIsInstance(self.client.stats(group), dict)
        settings = self.client.stats(b"settings")
        self.assertIn("maxbytes", settings)
        self.assertIn("maxconns", settings)

    @mxkv_only("own groups")
    def test_own_groups_answer_in_form(self):
        for group in (b"runtime", b"index", b"memory", b"latency"):
            with self.subTest(group):
                self.assertGreater(len(self.client.stats(group)), 0)

    @mxkv_only("own groups")
    def test_memory_is_accounted_by_node_and_class(self):
        def classes(stats: dict) -> dict:
            return {int(name.split(":")[1]): int(blocks) for name, blocks in stats.items()
                    if name.startswith("class:") and name.endswith(":blocks")}
        wait_for(lambda: all(value == "0" for name, value in self.client.stats(b"runtime").items()
                             if name.endswith(":retired_bytes")), "what earlier tests left is freed", _PATIENCE_S)
        before = self.client.stats(b"memory")
        self.client.send(b"".join(block(b"set", b"m%03d" % i, b"x" * 3000) for i in range(500)))
        self.assertEqual({self.client.line() for _ in range(500)}, {b"STORED"})
        after = self.client.stats(b"memory")
        grown = {size: blocks - classes(before).get(size, 0) for size, blocks in classes(after).items()}
        size = max(grown, key=grown.get)
        self.assertEqual(grown[size], 500, grown)
        self.assertTrue(3000 < size < 4500, size)
        live, spans = int(after["node:0:items:live"]), int(after["node:0:items:spans"])
        self.assertGreaterEqual(live - int(before["node:0:items:live"]), 500 * 3000)
        self.assertLessEqual(live, spans)
        self.assertEqual(spans, int(after["items"]), "one node: all that is charged for items")

    def test_stats_in_a_pipeline_keep_the_order(self):
        self.client.send(block(b"set", b"p", b"v") + b"stats\r\nget p\r\n")
        self.assertEqual(self.client.line(), b"STORED")
        while (line := self.client.line()) != b"END":
            self.assertTrue(line.startswith(b"STAT "), line)
        self.assertEqual(self.client.records(), [(b"p", b"v", [0])])


@mxkv_only("own groups")
class RuntimeModesTest(ServerCase):
    options = Options(workers=1, settings=(("experimental.order", "nls"),))

    def test_runtime_tells_the_switches_in_force(self):
        stats = self.connect().stats(b"runtime")
        self.assertEqual(stats["order"], "nls")
        self.assertEqual((stats["worker:0:prefetch"], stats["worker:0:prefetch_in_force"]), ("at_spawn", "at_spawn"))
        self.assertEqual((stats["misplaced_submits"], stats["worker:0:misplaced"]), ("0", "0"))


@mxkv_only("own groups")
class UnlinkTest(ServerCase):
    KEYS = 20_000

    def test_what_deletes_emptied_is_unlinked(self):
        client = self.connect()
        for command in ("set u%06d 0 0 1 noreply\r\nv\r\n", "delete u%06d noreply\r\n"):
            for first in range(0, self.KEYS, 500):
                client.send("".join(command % n for n in range(first, first + 500)).encode())
            client.send(b"get none\r\n")
            self.assertEqual(client.line(), b"END")
        wait_for(lambda: int(client.stats(b"runtime")["inner_nodes_folded"]) > 0, "a fold", _PATIENCE_S)
        wait_for(lambda: int(client.stats(b"runtime")["leaves_unlinked"]) > self.KEYS // 100, "empty leaves go", _PATIENCE_S)
        client.send(b"scan - + 10\r\n")
        self.assertEqual(client.line(), b"END")


@mxkv_only("task order")
class TaskOrderTest(ServerCase):
    order = "las"
    options = Options(workers=2, settings=(("experimental.order", order), ("experimental.epoch.interval", "5ms")))

    def sum(self, client, name: str) -> int:
        stats = client.stats(b"runtime")
        self.assertEqual(stats["order"], self.order)
        return sum(int(stats[f"worker:{worker}:{name}"]) for worker in (0, 1))

    def test_taking_a_tree_apart_is_deferred_work_for_all(self):
        client = self.connect()
        client.send(b"".join(block(b"set", b"o%05d" % i, b"x" * 300) for i in range(5000)))
        self.assertEqual({client.line() for _ in range(5000)}, {b"STORED"})
        client.send(b"flush_all\r\n")
        self.assertEqual(client.line(), b"OK")
        wait_for(lambda: client.stats(b"memory")["node:0:items:live"] == "0", "the old tree's items are freed", _PATIENCE_S)
        # One task for the inner nodes, and one for the leaves below each of some.
        wait_for(lambda: self.sum(client, "deferred_group") > 3, "the tree is taken apart by deferred tasks", _PATIENCE_S)


class BaselineOrderTest(TaskOrderTest):
    order = "nls"
    options = Options(workers=2, settings=(("experimental.order", order), ("experimental.epoch.interval", "5ms")))


@mxkv_only("reclamation")
class ReclamationTest(ServerCase):
    options = Options(workers=1, settings=(("experimental.epoch.interval", "5ms"), ("experimental.epoch.bytes", "64KiB")))

    def test_old_values_are_freed_by_tasks(self):
        client = self.connect()
        for _ in range(50):
            client.send(b"".join(block(b"set", b"r%02d" % i, b"x" * 1000) for i in range(100)))
            self.assertEqual({client.line() for _ in range(100)}, {b"STORED"})
        wait_for(lambda: client.stats(b"runtime")["worker:0:retired_bytes"] == "0", "all that was retired is freed", _PATIENCE_S)
        wait_for(lambda: client.stats(b"memory")["retired"] == "0", "the accounts say so", _PATIENCE_S)
        stats = client.stats(b"runtime")
        self.assertGreaterEqual(int(stats["worker:0:reclaimed"]), 4900)
        self.assertGreater(int(stats["worker:0:reclaims"]), 0)


@mxkv_only("reclamation")
class RetiredTest(ServerCase):
    # A part in 256 of the limit makes the epoch advance, too.
    options = Options(workers=2, memory_mib=4096,
                      settings=(("experimental.epoch.interval", "10s"), ("experimental.epoch.bytes", "1GiB")))

    def test_values_that_wait_for_their_epoch_are_told_and_count_as_items(self):
        client = self.connect()

        def all_wait() -> bool:
            """Whether the 100 replaced values all wait for their epoch; false if a step of reclamation came in between."""
            before = client.stats(b"memory")
            client.send(b"".join(block(b"set", b"w%02d" % i, b"x" * 10_000) for i in range(100)) * 2)
            self.assertEqual({client.line() for _ in range(200)}, {b"STORED"})
            after = client.stats(b"memory")
            return (int(after["retired"]) - int(before["retired"]) >= 1_000_000 and
                    int(after["node:0:items:live"]) >= int(after["retired"]) + 1_000_000)
        wait_for(all_wait, "what was replaced is retired", _PATIENCE_S)


@mxkv_only("prefetching")
class TunedPrefetchTest(ServerCase):
    options = Options(workers=1, settings=(("experimental.prefetch.mode", "auto"),))

    def test_a_worker_that_tunes_tries_distances_and_at_spawn(self):
        client = self.connect()
        client.send(b"".join(block(b"set", b"t%04d" % i, b"v") for i in range(2000)))
        self.assertEqual({client.line() for _ in range(2000)}, {b"STORED"})
        tried = set()

        def both_were_tried() -> bool:
            client.send(b"get t0001\r\n" * 1000)
            for _ in range(1000):
                self.assertEqual(client.records(), [(b"t0001", b"v", [0])])
            stats = client.stats(b"runtime")
            self.assertEqual(stats["worker:0:prefetch"], "auto")
            tried.add(stats["worker:0:prefetch_in_force"])
            return "at_spawn" in tried and len(tried) > 1
        wait_for(both_were_tried, "a survey", _PATIENCE_S)
        self.assertLessEqual(tried, {"at_spawn", *map(str, range(1, 65))})


class ThreadsTest(ServerCase):
    options = Options(workers=1)

    def test_threads_are_the_workers(self):
        self.assertEqual(int(self.connect().stats()["threads"]), 1)
