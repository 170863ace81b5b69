"""Figures that exporters and people read: all names of the Prometheus exporter, latencies, slow requests, hot keys, clients."""

import re
import subprocess
import unittest
from pathlib import Path

from harness import DaemonCase, Options, ServerCase, mxkv_only, patience, scaled, wait_for
from harness.connection import block

MEMCACHED_TOOL = Path("/usr/share/memcached/scripts/memcached-tool")
# The names of `stats` that memcached_exporter reads, without extstore's and proxy's, which it reads only if present.
_GENERAL = """version uptime time get_hits get_misses delete_hits delete_misses incr_hits incr_misses decr_hits decr_misses
cas_hits cas_misses touch_hits touch_misses cas_badval cmd_flush cmd_set rusage_user rusage_system bytes limit_maxbytes
curr_items total_items bytes_read bytes_written curr_connections total_connections rejected_connections conn_yields
listen_disabled_num evictions reclaimed store_too_large store_no_memory lru_crawler_starts direct_reclaims
crawler_items_checked crawler_reclaimed moves_to_cold moves_to_warm moves_within_lru accepting_conns""".split()
# The names that other tools read.
_OF_TOOLS = """malloc_fails hash_power_level hash_bytes lrutail_reflocked lru_bumps_dropped response_obj_oom response_obj_count
response_obj_bytes read_buf_count read_buf_bytes read_buf_bytes_free read_buf_oom connection_structures slabs_moved""".split()
_ITEMS = """number age hits_to_hot hits_to_warm hits_to_cold hits_to_temp crawler_reclaimed evicted evicted_nonzero
evicted_time evicted_unfetched expired_unfetched outofmemory reclaimed tailrepairs mem_requested moves_to_cold
moves_to_warm moves_within_lru number_hot number_warm number_cold age_hot age_warm""".split()
_SLABS = """get_hits delete_hits incr_hits decr_hits cas_hits touch_hits cas_badval cmd_set chunk_size chunks_per_page
total_pages total_chunks used_chunks free_chunks free_chunks_end""".split()


class ExporterTest(ServerCase):
    def setUp(self):
        self.client = self.connect()
        self.client.set(b"k", b"v")

    def numbers(self, stats: dict, names: list) -> None:
        self.assertEqual([name for name in names if name not in stats], [])
        for name in names:
            if name not in ("version", "1:version"):
                float(stats[name])

    def test_every_general_name_is_there_and_a_number(self):
        self.numbers(self.client.stats(), _GENERAL + _OF_TOOLS)

    def test_total_malloced_is_there(self):
        self.assertGreater(int(self.client.stats(b"slabs")["total_malloced"]), 0)

    def test_every_name_of_items_is_there(self):
        stats = self.client.stats(b"items")
        classes = {name.split(":")[1] for name in stats}
        for number in classes:
            self.numbers(stats, [f"items:{number}:{name}" for name in _ITEMS])
        self.assertEqual(sum(int(stats[f"items:{number}:number"]) for number in classes), 1)

    def test_every_name_of_slabs_is_there_for_each_class(self):
        self.client.get(b"k")
        stats = self.client.stats(b"slabs")
        classes = {match[1] for match in map(re.compile(r"(\d+):").match, stats) if match}
        self.assertEqual(len(classes), int(stats["active_slabs"]))
        for number in classes:
            self.numbers(stats, [f"{number}:{name}" for name in _SLABS])
            # Since 1.5 this name belongs to `items`; an exporter that finds it in both groups fails.
            self.assertNotIn(f"{number}:mem_requested", stats)
            used, free, total = (int(stats[f"{number}:{name}_chunks"]) for name in ("used", "free", "total"))
            self.assertEqual(used + free, total)
        self.assertEqual(sum(int(stats[f"{number}:get_hits"]) for number in classes),
                         int(self.client.stats()["get_hits"]))

    def test_settings_tell_what_the_exporter_reads(self):
        settings = self.client.stats(b"settings")
        self.assertGreater(int(settings["maxconns"]), 0)
        self.assertIn(settings["lru_crawler"], ("yes", "no"))
        self.assertIn(settings["lru_maintainer_thread"], ("yes", "no"))
        self.numbers(settings, ["lru_crawler_sleep", "lru_crawler_tocrawl", "hot_lru_pct", "warm_lru_pct", "hot_max_factor",
                                "warm_max_factor"])

    def test_what_is_too_large_is_counted(self):
        before = int(self.client.stats()["store_too_large"])
        self.client.send(b"set large 0 0 2000000\r\n" + b"x" * 2000000 + b"\r\n")
        self.assertEqual(self.client.line(), b"SERVER_ERROR object too large for cache")
        self.assertEqual(int(self.client.stats()["store_too_large"]) - before, 1)

    @mxkv_only("sizes are those of the allocator")
    def test_sizes_count_items(self):
        before = self.client.stats(b"sizes")
        self.client.send(b"".join(block(b"set", b"size%02d" % number, b"x" * 1000) for number in range(20)))
        self.assertEqual({self.client.line() for _ in range(20)}, {b"STORED"})
        after = self.client.stats(b"sizes")
        grown = {int(size): int(count) - int(before.get(size, 0)) for size, count in after.items()}
        self.assertEqual([count for size, count in grown.items() if 1000 < size < 1300], [20])

    def test_detail_knows_its_words(self):
        self.assertEqual(self.client.ask(b"stats detail off"), b"OK")
        self.assertEqual(self.client.ask(b"stats detail dump"), b"END")
        self.assertEqual(self.client.ask(b"stats detail on"), b"OK")
        self.assertEqual(self.client.stats(b"settings")["detail_enabled"], "yes")
        self.client.set(b"a:b", b"1")
        for command, end in ((b"get a:b", b"END"), (b"get a:c no:1", b"END"), (b"get plain", b"END"), (b"delete a:b", b"DELETED"),
                             (b"delete a:b", b"NOT_FOUND")):
            self.client.send(command + b"\r\n")
            while self.client.line() != end:
                pass
        self.client.send(b"stats detail dump\r\n")
        self.assertEqual([self.client.line() for _ in range(3)],
                         [b"PREFIX a get 2 hit 1 set 1 del 2", b"PREFIX no get 1 hit 0 set 0 del 0", b"END"])
        self.assertEqual(self.client.ask(b"stats detail off"), b"OK")
        self.client.get(b"a:b")
        self.assertEqual(self.client.ask(b"stats detail dump"), b"PREFIX a get 2 hit 1 set 1 del 2")
        self.assertEqual([self.client.line() for _ in range(2)], [b"PREFIX no get 1 hit 0 set 0 del 0", b"END"])
        self.assertEqual(self.client.ask(b"stats detail x"), b"CLIENT_ERROR usage: stats detail on|off|dump")


class ItemClassesTest(ServerCase):
    def setUp(self):
        self.client = self.connect()

    def test_items_and_slabs_tell_of_the_same_classes(self):
        for i in range(200):
            self.client.set(b"s%03d" % i, b"x" * 100)
            self.client.set(b"l%03d" % i, b"x" * 1500)
        items, slabs = self.client.stats(b"items"), self.client.stats(b"slabs")
        numbers = {name.split(":")[1]: int(value) for name, value in items.items() if name.endswith(":number")}
        self.assertEqual(sum(numbers.values()), int(self.client.stats()["curr_items"]))
        many = {slabs[f"{number}:chunk_size"]: count for number, count in numbers.items() if count >= 150}
        self.assertEqual(len(many), 2, numbers)
        small, large = sorted(int(size) for size in many)
        self.assertTrue(100 < small < 400 and 1500 < large < 2200, many)

    @unittest.skipUnless(MEMCACHED_TOOL.exists(), "memcached's tool is not installed")
    def test_memcacheds_tool_displays_them(self):
        for i in range(300):
            self.client.set(b"s%03d" % i, b"x" * 100)
        host, port = self.client.socket.getpeername()[:2]
        done = subprocess.run([MEMCACHED_TOOL, f"{host}:{port}", "display"], capture_output=True, text=True, check=False,
                              timeout=patience(60))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()[1:]]
        sizes = {row[1]: int(row[4]) for row in rows}
        self.assertGreaterEqual(max(sizes.values()), 290)
        self.assertTrue(all(int(row[3]) > 0 for row in rows), done.stdout)


class ConnectionsTest(ServerCase):
    def test_every_connection_is_listed_with_its_address(self):
        clients = [self.connect() for _ in range(5)]
        for client in clients:
            client.ask(b"version")
        stats = clients[0].stats(b"conns")
        addresses = [value for name, value in stats.items() if name.endswith(":addr")]
        for client in clients:
            host, port = client.socket.getsockname()
            self.assertEqual(addresses.count(f"tcp:{host}:{port}"), 1)
        for name, value in stats.items():
            if name.endswith(":secs_since_last_cmd"):
                self.assertLess(int(value), 1000)
        self.assertIn(f"tcp:127.0.0.1:{self.server.port}",
                      [value for name, value in stats.items() if name.endswith(":listen_addr")])

    @mxkv_only("a watcher says so in memcached, too, and the others are there for moments only")
    def test_what_each_connection_does_is_told(self):
        asker, half, value, refused, watcher = clients = [self.connect() for _ in range(5)]
        half.send(b"get k")
        value.send(b"set k 0 0 100000\r\nhalf of ")
        refused.send(b"set k 0 0 %d\r\nhalf of " % (1 << 25))
        self.assertEqual(watcher.ask(b"watch"), b"OK")
        port = {client: client.socket.getsockname()[1] for client in clients}
        def states() -> list:
            stats = asker.stats(b"conns")
            number = {address.rpartition(":")[2]: name.split(":")[0] for name, address in stats.items() if name.endswith(":addr")}
            return [stats[number[str(port[client])] + ":state"] for client in clients]
        wanted = ["conn_parse_cmd", "conn_read", "conn_nread", "conn_swallow", "conn_watch"]
        wait_for(lambda: states() == wanted, "all was taken in", 120)

    def test_the_listening_socket_is_listed(self):
        stats = self.connect().stats(b"conns")
        listening = [name.split(":")[0] for name, value in stats.items() if value == "conn_listening"]
        self.assertEqual([stats[f"{number}:addr"] for number in listening], [f"tcp:127.0.0.1:{self.server.port}"])

    @mxkv_only("a connection is gone when its client is")
    def test_who_left_is_no_more_listed(self):
        client, other = self.connect(), self.connect()
        other.ask(b"version")
        port = other.socket.getsockname()[1]
        other.close()
        wait_for(lambda: not any(value.endswith(f":{port}") for value in client.stats(b"conns").values()), "it is gone", 120)


@mxkv_only("unix sockets in the list")
class LocalConnectionsTest(DaemonCase):
    def test_a_unix_socket_is_told_by_its_path(self):
        path = self.directory / "socket"
        self.start(listen=("127.0.0.1:0", f"unix:{path}"))
        stats = self.client(str(path)).stats(b"conns")
        self.assertIn(f"unix:{path}", stats.values())
        self.end()


@mxkv_only("its own counters")
class ResetTest(DaemonCase):
    def test_connections_that_were_closed_count_from_the_reset(self):
        self.start("--set", "limits.idle_timeout=200ms")
        idle = self.client()
        idle.ask(b"version")
        self.assertEqual(idle.rest(), b"", "it is closed")
        wait_for(lambda: int(self.client().stats()["idle_kicks"]) > 0, "it is counted", 120)

        def begins_anew():
            client = self.client()
            client.send(b"stats reset\r\nstats\r\n")
            self.assertEqual(client.line(), b"RESET")
            return b"STAT idle_kicks 0" in list(iter(client.line, b"END"))
        wait_for(begins_anew, "it is counted from the reset", 120)
        self.end()


@mxkv_only("sampled requests")
class SampledTest(ServerCase):
    options = Options(workers=2, settings=(("stats.sample", "1"), ("stats.slow", "1ms")))

    def setUp(self):
        self.client = self.connect()
        self.assertEqual(self.client.ask(b"stats reset"), b"RESET")

    def samples(self, kind: str) -> int:
        return int(self.client.stats(b"latency").get(f"{kind}:samples", 0))

    def test_each_kind_of_command_is_timed(self):
        cases = (("get", b"get k\r\n", b"END"), ("set", block(b"set", b"k", b"1"), b"STORED"), ("get", b"gets n x y\r\n", b"END"),
                 ("gat", b"gat 0 n\r\n", b"END"), ("arithmetic", b"incr k 1\r\n", b"2"), ("touch", b"touch k 0\r\n", b"TOUCHED"),
                 ("mg", b"mg k\r\n", b"HD"), ("ms", b"ms k 1\r\nv\r\n", b"HD"), ("ma", b"ma n\r\n", b"NF"),
                 ("delete", b"delete k\r\n", b"DELETED"), ("md", b"md k\r\n", b"NF"), ("range", b"scan zzzz 1\r\n", b"END"),
                 ("batch", b"mb 1\r\nmd k q\r\n", b"NF"), ("other", b"version\r\n", None))
        for kind, command, reply in cases:
            with self.subTest(command):
                before = self.samples(kind)
                self.client.send(command)
                line = self.client.line()
                if reply is not None:
                    self.assertEqual(line, reply)
                if kind == "batch":
                    self.assertEqual(self.client.line(), b"HD")
                # The `stats` that asked before is a command of its own.
                wait_for(lambda: self.samples(kind) > before, "the request is timed", 120)

    def test_percentiles_grow_and_workers_add_up(self):
        others = [self.connect() for _ in range(8)]
        for _ in range(scaled(50)):
            for other in others:
                self.assertIsNone(other.get(b"none"))
        stats = self.client.stats(b"latency")
        values = [int(stats[f"get:{name}"]) for name in ("p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "max_ns")]
        self.assertEqual(values, sorted(values))
        self.assertGreater(values[0], 0)
        self.assertEqual(int(stats["get:samples"]), sum(int(stats[f"worker:{worker}:get:samples"]) for worker in (0, 1)))

    def test_latencies_begin_anew_with_a_reset(self):
        self.assertIsNone(self.client.get(b"none"))
        wait_for(lambda: self.samples("get") == 1, "the request is timed", 120)
        self.assertEqual(self.client.ask(b"stats reset"), b"RESET")
        self.assertEqual(self.samples("get"), 0)
        self.assertFalse([name for name in self.client.stats(b"latency") if name.endswith(":get:samples")])
        self.assertIsNone(self.client.get(b"none"))
        wait_for(lambda: self.samples("get") == 1, "the request is timed", 120)

    def test_hot_keys_are_found(self):
        for number in range(200):
            self.client.get(b"cold%d" % number)
            self.client.get(b"hot")
        self.client.send(b"mg AA== b\r\n")
        self.client.line()
        stats = self.client.stats(b"hot")
        self.assertEqual(next(iter(stats)), "key:hot")
        about, least, most = map(int, stats["key:hot"].split())
        self.assertLessEqual(least, 200)
        self.assertGreaterEqual(most, 200)
        self.assertLessEqual(least, about)
        self.assertLessEqual(about, most)
        self.assertFalse([name for name in stats if name.startswith("key:cold")], "what came once is not hot")
        self.assertEqual(self.client.ask(b"stats reset"), b"RESET")
        self.assertEqual(self.client.stats(b"hot"), {})

    def test_each_key_of_a_request_counts_and_so_do_ranges(self):
        for number in range(100):
            self.client.send(b"get cold%d common\r\n" % number)
            self.assertEqual(self.client.records(), [])
            self.client.send(b"mg AA== b\r\npscan user: 1\r\n")
            self.assertEqual((self.client.line(), self.client.line()), (b"EN", b"END"))
        stats = self.client.stats(b"hot")
        self.assertEqual(set(stats), {"key:common", "key:base64:AA==", "range:user:"})

    def test_a_request_that_waited_long_is_in_the_slow_log(self):
        # Many requests at once: the first ones wait until the round that answers all of them is over.
        self.client.set(b"large", b"x" * 1000)
        crowd = [self.connect() for _ in range(8)]

        def found():
            for client in crowd:
                client.send(b"get large\r\n" * 256)
            for client in crowd:
                for _ in range(256):
                    client.records()
            stats = self.client.stats(b"slow")
            return "get" in (value for name, value in stats.items() if name.endswith(":command")) and stats
        stats = wait_for(found, "a slow request is kept", 120)
        self.assertLessEqual({"0:time_us", "0:took_ns", "0:command", "0:worker", "0:client", "0:request_bytes",
                              "0:reply_bytes"}, stats.keys())
        self.assertTrue(stats["0:client"].startswith("tcp:127.0.0.1:"), stats["0:client"])
        gets = [name.removesuffix("command") for name, value in stats.items() if name.endswith(":command") and value == "get"]
        self.assertTrue(all(int(stats[prefix + "reply_bytes"]) > 1000 for prefix in gets), stats)
        self.assertEqual({stats[prefix + "key"] for prefix in gets}, {"large"})
        self.assertTrue(all(int(value) >= 1_000_000 for name, value in stats.items() if name.endswith("took_ns")))
        self.assertEqual(self.client.ask(b"stats reset"), b"RESET")


@mxkv_only("sampled requests")
class RhythmTest(ServerCase):
    options = Options(workers=1)

    def test_of_a_client_that_repeats_itself_each_request_is_met(self):
        client = self.connect()
        rounds = 100
        for _ in range(rounds):
            client.send(b"get a\r\nget b\r\nincr c 1\r\nget d\r\n" * 64)
            for _ in range(4 * 64):
                client.line()
        hot = {name: list(map(int, value.split())) for name, value in client.stats(b"hot").items()}
        self.assertEqual(set(hot), {"key:a", "key:b", "key:c", "key:d"})
        for name, (about, least, most) in hot.items():
            # There are about a hundred samples of each: half or twice as many are five deviations away.
            self.assertTrue(rounds * 64 // 2 < about < rounds * 64 * 2, (name, about))
            self.assertTrue(least < about < most, (name, least, most))
        timed = client.stats(b"latency")
        self.assertGreater(int(timed["arithmetic:samples"]), rounds // 2)
        self.assertGreater(int(timed["get:samples"]), 3 * rounds // 2)


@mxkv_only("sampled requests")
class UnsampledTest(ServerCase):
    options = Options(settings=(("stats.sample", "off"),))

    def test_nothing_is_timed_where_it_is_off(self):
        client = self.connect()
        for _ in range(100):
            client.get(b"k")
        self.assertEqual(client.stats(b"latency"), {"sampled_one_in": "0", "samples_untimed": "0"})
        self.assertEqual(client.stats(b"hot"), {})
