"""The names and meanings of `stats` that exporters and people rely on."""

import time

from harness import Options, ServerCase, mxkv_only, patience
from harness.connection import block
from harness.daemon import wait_for

_NAMES = """pid uptime time version pointer_size rusage_user rusage_system curr_connections total_connections
rejected_connections cmd_get cmd_set cmd_flush cmd_touch get_hits get_misses delete_misses delete_hits incr_misses
incr_hits decr_misses decr_hits cas_misses cas_hits cas_badval touch_hits touch_misses bytes_read bytes_written
limit_maxbytes threads bytes curr_items total_items evictions""".split()


class StatsTest(ServerCase):
    def setUp(self):
        self.client = self.connect()

    def delta(self, command: bytes, reply_lines: int) -> dict:
        """What one command changed in the numeric stats."""
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
        # Connections of the tests before this one may still be about to go.
        deadline = time.monotonic() + patience(10)
        while (now := int(self.client.stats()["curr_connections"])) != 8:
            self.assertLess(time.monotonic(), deadline, f"{now} connections counted, 8 are open")
            time.sleep(0.01)

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
                             if name.endswith(":retired_bytes")), "what earlier tests left is freed")
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
    options = Options(workers=1, settings=(("experimental.index.leaves", "optimistic_scheduling"), ("experimental.epoch.mode", "task")))

    def test_runtime_tells_how_nodes_are_synchronised_and_epochs_published(self):
        stats = self.connect().stats(b"runtime")
        self.assertEqual((stats["leaves"], stats["inner_nodes"], stats["epochs"]),
                         ("optimistic_scheduling", "optimistic_latch", "task"))
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
        wait_for(lambda: int(client.stats(b"runtime")["inner_nodes_folded"]) > 0, "a fold")
        self.assertGreater(int(client.stats(b"runtime")["leaves_unlinked"]), self.KEYS // 100)
        client.send(b"scan - + 10\r\n")
        self.assertEqual(client.line(), b"END")


@mxkv_only("task order")
class TaskOrderTest(ServerCase):
    order = "las"
    options = Options(workers=2, settings=(("experimental.order", order), ("experimental.epoch.interval", "5ms")))

    def test_taking_a_tree_apart_is_deferred_work_for_all(self):
        client = self.connect()
        client.send(b"".join(block(b"set", b"o%05d" % i, b"x" * 300) for i in range(5000)))
        self.assertEqual({client.line() for _ in range(5000)}, {b"STORED"})
        client.send(b"flush_all\r\n")
        self.assertEqual(client.line(), b"OK")
        wait_for(lambda: client.stats(b"memory")["node:0:items:live"] == "0", "the old tree's items are freed")
        stats = client.stats(b"runtime")
        self.assertEqual(stats["order"], self.order)
        taken = sum(int(stats[f"worker:{worker}:deferred_group"]) for worker in (0, 1))
        self.assertGreater(taken, 3, "the inner nodes, and the leaves below each of some")


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
        wait_for(lambda: client.stats(b"runtime")["worker:0:retired_bytes"] == "0", "all that was retired is freed")
        stats = client.stats(b"runtime")
        self.assertGreaterEqual(int(stats["worker:0:reclaimed"]), 4900)
        self.assertGreater(int(stats["worker:0:reclaims"]), 0)


@mxkv_only("prefetching")
class TunedPrefetchTest(ServerCase):
    options = Options(workers=1, settings=(("experimental.prefetch.mode", "auto"),))

    def test_runtime_tells_what_is_in_force_where_it_is_tuned(self):
        client = self.connect()
        client.send(b"".join(block(b"set", b"t%04d" % i, b"v") for i in range(2000)))
        self.assertEqual({client.line() for _ in range(2000)}, {b"STORED"})
        stats = client.stats(b"runtime")
        self.assertEqual(stats["worker:0:prefetch"], "auto")
        self.assertIn(stats["worker:0:prefetch_in_force"], ("at_spawn", *map(str, range(1, 65))))


@mxkv_only("rebalancing")
class RebalancedTest(ServerCase):
    options = Options(workers=2, settings=(("experimental.rebalance.strategy", "objects"), ("experimental.rebalance.period", "10ms"),
                                           ("experimental.index.leaves", "optimistic_scheduling"),
                                           ("experimental.index.inner", "optimistic_scheduling")))

    def test_every_write_is_done_once_and_in_order_while_pools_and_nodes_may_move(self):
        clients = [self.connect() for _ in range(4)]
        clients[0].send(block(b"set", b"counter", b"0"))
        self.assertEqual(clients[0].line(), b"STORED")
        rounds, depth = 200, 20
        for _ in range(rounds):
            for client in clients:
                client.send(b"incr counter 1\r\n" * depth)
            for client in clients:
                values = [int(client.line()) for _ in range(depth)]
                self.assertEqual(values, sorted(set(values)))
        clients[0].send(b"incr counter 0\r\n")
        self.assertEqual(int(clients[0].line()), rounds * depth * len(clients))
        stats = clients[0].stats(b"runtime")
        self.assertEqual(stats["rebalance"], "objects")
        self.assertLessEqual({"worker:0:pools_moved", "worker:1:objects_moved"}, stats.keys())


class ThreadsTest(ServerCase):
    options = Options(workers=1)

    def test_threads_are_the_workers(self):
        self.assertEqual(int(self.connect().stats()["threads"]), 1)
