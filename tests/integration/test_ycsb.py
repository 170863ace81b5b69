"""mxkv-ycsb against real servers: YCSB's workload files on the wire of each, and its behaviour if a server is wrong."""

import json
import pathlib
import tempfile
import unittest

from harness import environment
from harness.case import ServerCase, mxkv_only
from harness.environment import campaign
from harness.load_client import Run, run_load_client
from harness.redis import Redis
from harness.server import Options

WORKLOADS = pathlib.Path(__file__).resolve().parent.parent / "unit" / "bench" / "workloads"
RECORDS = 1000  # as in the workload files
OPERATIONS = campaign(2000, 500)
KINDS = {"a": ("READ", "UPDATE"), "b": ("READ", "UPDATE"), "c": ("READ",), "d": ("READ", "INSERT"),
         "e": ("SCAN", "INSERT"), "f": ("READ", "READ-MODIFY-WRITE")}


def workload(letter: str) -> str:
    return str(WORKLOADS / f"workload{letter}")


class Workloads:
    """The tests of every store; a subclass connects to it and empties it."""
    letters = "abcdef"

    def store(self) -> tuple:
        raise NotImplementedError

    def empty(self) -> None:
        raise NotImplementedError

    def run_client(self, *arguments) -> Run:
        run = run_load_client(*arguments, *self.store())
        self.assertEqual(run.code, 0, run.err + run.out)
        return run

    def load(self, *arguments) -> Run:
        run = self.run_client("load", "-P", workload("a"), *arguments)
        self.assertEqual(run.ok("INSERT"), RECORDS)
        return run

    def assert_workload(self, letter: str, *arguments) -> Run:
        run = self.run_client("run", "-P", workload(letter), "-p", f"operationcount={OPERATIONS}", *arguments)
        kinds = KINDS[letter]
        modified = run.ok("READ-MODIFY-WRITE")
        self.assertEqual(sum(map(run.ok, kinds)) - modified, OPERATIONS)
        for kind in kinds:
            self.assertGreater(run.ok(kind), 0, kind)
        self.assertEqual(run.err, "")
        return run

    def test_every_workload_file_on_a_fresh_store(self):
        for letter in self.letters:
            with self.subTest(letter):
                self.empty()
                self.load()
                self.assert_workload(letter, "-threads", "2", "--connections", "4", "--depth", "8")

    def test_the_servers_cpu_time_is_that_of_its_process(self):
        self.empty()
        self.load()
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "result.json"
            run = self.assert_workload("c", "--json", file)
            result = json.loads(file.read_text())
        server = result["servers"][0]
        self.assertEqual(server["cpu_source"], "process")
        self.assertGreater(run.figure("SERVER", "CPU(ns/op)"), 0)
        self.assertGreater(server["pid"], 0)
        self.assertNotEqual(server["version"], "")

    def test_every_distribution(self):
        self.load()
        for distribution in ("uniform", "zipfian", "latest", "sequential", "exponential", "hotspot"):
            with self.subTest(distribution):
                self.assert_workload("a", "-p", f"requestdistribution={distribution}")

    def test_every_distribution_of_lengths(self):
        for lengths in ("uniform", "zipfian"):
            with self.subTest(lengths):
                fields = ("-p", f"fieldlengthdistribution={lengths}", "-p", "minfieldlength=5")
                self.empty()
                self.load(*fields)
                self.assert_workload("a", *fields)
                self.assert_workload("f", *fields)

    def test_ordered_keys_and_ycsbs_contents(self):
        shape = ("-p", "insertorder=ordered", "-p", "zeropadding=8", "-p", "dataintegrity=true")
        self.empty()
        self.load(*shape)
        self.assert_workload("a", *shape)
        foreign = run_load_client("run", "-P", workload("c"), *shape, "-p", "dataintegrity=false", *self.store())
        self.assertEqual(foreign.code, 1)
        self.assertEqual(foreign.figure("VERIFY", "Return=UNEXPECTED_STATE"), foreign.figure("READ", "Operations"))

    def test_parallel_loads_by_insertstart_and_insertcount(self):
        self.empty()
        for start in (0, 400):
            count = 400 if start == 0 else RECORDS - 400
            run = self.run_client("load", "-P", workload("a"), "-p", f"insertstart={start}", "-p",
                                  f"insertcount={count}")
            self.assertEqual(run.ok("INSERT"), count)
        self.assert_workload("c", "-p", "requestdistribution=sequential")

    def test_multi_reads_are_verified_and_misses_seen(self):
        self.empty()
        self.load()
        multiget = ("run", "--workload", "multiget", "-p", f"recordcount={RECORDS}", "-p", "operationcount=300")
        run = self.run_client(*multiget, "-p", "multireadkeys=50", "--connections", 3, "--depth", 4)
        self.assertEqual(run.ok("MULTI-READ"), 300)
        missing = run_load_client("run", "--workload", "multiget", "-p", f"recordcount={RECORDS * 2}", "-p",
                                  "operationcount=20", *self.store())
        self.assertEqual(missing.code, 1)
        self.assertEqual(missing.figure("MULTI-READ", "Return=NOT_FOUND"), 20)

    def test_deleted_records_are_misses_and_no_failures(self):
        self.empty()
        self.load()
        run = self.run_client("run", "-P", workload("a"), "--deleteproportion", 0.5, "--operationcount", OPERATIONS)
        self.assertEqual(run.err, "")
        deletes = run.figure("DELETE", "Operations")
        self.assertEqual(run.figure("READ", "Operations") + run.ok("UPDATE") + deletes, OPERATIONS)
        self.assertEqual(run.ok("DELETE") + run.figure("DELETE", "Return=NOT_FOUND"), deletes)
        self.assertGreater(run.ok("DELETE"), 0)
        self.assertGreater(run.figure("READ", "Return=NOT_FOUND"), 0)

    def test_lengths_of_every_distribution_are_verified(self):
        for lengths in ("pareto", "weighted"):
            with self.subTest(lengths):
                self.empty()
                flags = ("--fieldlengthdistribution", lengths, "--fieldlengthweights", "30:3,500:1", "--ttl", 3600)
                self.load(*flags)
                self.assert_workload("a", *flags)

    def test_misses_are_failures_up_to_the_allowed_number(self):
        self.empty()
        run = run_load_client("run", "-P", workload("c"), *self.store())
        self.assertEqual(run.code, 1)
        self.assertEqual(run.figure("READ", "Return=NOT_FOUND"), 1000)
        self.assertIn("1000 operations failed", run.err)
        for allowed, code in ((999, 1), (1000, 0)):
            run = run_load_client("run", "-P", workload("c"), "--max-failures", allowed, *self.store())
            self.assertEqual(run.code, code)


@mxkv_only("scans")
class YcsbMxkvTest(Workloads, ServerCase):
    def store(self) -> tuple:
        return ("--server", f"127.0.0.1:{self.server.port}")

    def empty(self) -> None:
        self.assertEqual(self.connect().ask(b"flush_all"), b"OK")

    def test_zipfian_scan_lengths(self):
        self.empty()
        self.load()
        self.assert_workload("e", "-p", "scanlengthdistribution=zipfian", "-p", "minscanlength=3")

    def test_mixgraph_by_its_name(self):
        self.empty()
        self.assertEqual(self.run_client("load", "--workload", "mixgraph", "--recordcount", RECORDS).ok("INSERT"), RECORDS)
        self.assertRegex(self.connect().ask(b"mg user" + b"0" * 44 + b" s"), rb"^HD s(1\d|[2-9]\d|[1-9]\d\d)$")
        run = self.run_client("run", "--workload", "mixgraph", "--recordcount", RECORDS, "--operationcount", OPERATIONS,
                              "--connections", 4, "-p", "sine_a=5000", "-p", "sine_b=3", "-p", "sine_d=10000")
        self.assertEqual(sum(map(run.ok, ("READ", "UPDATE", "SCAN"))), OPERATIONS)
        self.assertGreater(run.ok("SCAN"), 0)
        self.assertEqual(run.figure("SCHEDULE", "Target(ops/sec)"), 10000)

    def test_scans_keep_their_order_where_records_are_deleted(self):
        self.empty()
        self.load()
        run = self.run_client("run", "-P", workload("e"), "--deleteproportion", 0.3, "--operationcount", OPERATIONS)
        self.assertGreater(run.ok("SCAN"), 0)
        self.assertGreater(run.ok("DELETE"), 0)

    def test_records_live_as_long_as_the_load_says(self):
        self.empty()
        self.load("--ttl", 1000)
        self.assertRegex(self.connect().ask(b"mg user6284781860667377211 t"), rb"^HD t(1000|[89]\d\d)$")

    def test_time_alone_ends_a_run(self):
        self.empty()
        self.load()
        run = self.run_client("run", "-P", workload("a"), "-p", "operationcount=0", "-p", "maxexecutiontime=1")
        self.assertGreater(run.ok("READ"), 0)
        self.assertGreaterEqual(run.figure("OVERALL", "RunTime(ms)"), 1000)

    def test_a_changed_value_is_a_failure(self):
        self.empty()
        self.load()
        self.connect().set(b"user6284781860667377211", b"x" * 1000)  # the key of record 0
        run = run_load_client("run", "-P", workload("c"), "-p", "requestdistribution=sequential", *self.store())
        self.assertEqual(run.code, 1)
        self.assertEqual(run.figure("READ", "Return=UNEXPECTED_STATE"), 1)


@unittest.skipUnless(environment.MEMCACHED, "memcached is not installed")
class YcsbMemcachedTest(Workloads, ServerCase):
    options = Options(memcached=True)
    letters = "abcdf"

    def store(self) -> tuple:
        return ("-db", "memcached", "-p", f"memcached.hosts=127.0.0.1:{self.server.port}")

    def empty(self) -> None:
        self.assertEqual(self.connect().ask(b"flush_all"), b"OK")

    def test_scans_are_refused_before_anything_is_sent(self):
        run = run_load_client("run", "-P", workload("e"), *self.store())
        self.assertEqual(run.code, 2)
        self.assertEqual(run.out, "")
        self.assertRegex(run.err, r"workloade:\d+: scanproportion: memcached cannot scan\n$")


@unittest.skipUnless(environment.REDIS, "redis-server is not installed")
class YcsbRedisTest(Workloads, unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.redis = Redis().start()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.redis.remove()

    def store(self) -> tuple:
        return ("-db", "redis", "-p", "redis.host=127.0.0.1", "-p", f"redis.port={self.redis.port}")

    def empty(self) -> None:
        self.assertEqual(self.redis.ask("FLUSHALL"), b"+OK\r\n")

    def test_the_index_has_every_key(self):
        self.empty()
        self.load()
        self.assertEqual(self.redis.ask("ZCARD", "_indices"), b":1000\r\n")

    def test_by_a_unix_socket(self):
        self.empty()
        self.load()
        self.assert_workload("c", "--server", f"unix:{self.redis.socket_path}")


class YcsbCommandLineTest(unittest.TestCase):
    """The client reports each mistake with its place, before it sends anything."""

    def assert_refused(self, problem: str, *arguments) -> None:
        run = run_load_client(*arguments)
        self.assertEqual(run.code, 2, run.err)
        self.assertEqual(run.out, "")
        self.assertIn(f"mxkv-ycsb: {problem}\n", run.err)

    def test_wrong_values_have_their_place(self):
        self.assert_refused("-p: recordcount: 'many' is not a whole number", "run", "-p", "recordcount=many")
        self.assert_refused("-p: threadcount: 0 is not within 1 to 1024", "run", "-threads", "0")
        self.assert_refused("-p: target: 'fast' is not a number", "run", "-target", "fast")
        self.assert_refused("-p: operationcount: 0 needs maxexecutiontime", "run", "-p", "operationcount=0")
        self.assert_refused("-p: 'recordcount' is not NAME=VALUE", "run", "-p", "recordcount")
        self.assert_refused("-p: db: 'cassandra' is not one of mxkv, memcached, redis, redis-lex, echo", "run", "cassandra")
        self.assert_refused("/nowhere: cannot be read", "run", "-P", "/nowhere")
        self.assert_refused("-threads: a value must follow", "run", "-threads")
        self.assert_refused("--workload: 'z' is not one of a, b, c, d, e, f, mixgraph, get, set, scan, multiget", "run",
                            "--workload", "z")
        self.assert_refused("-p: redis.datatype: 'hash' is not one of string", "run", "--server-kind", "redis", "-p",
                            "redis.datatype=hash")
        self.assert_refused("-p: multireadkeys: 0 is not within 1 to 1000000", "run", "-p", "multireadkeys=0")
        self.assert_refused("--server: 'nowhere': has no port; write HOST:PORT or [ADDRESS]:PORT; or unix:PATH", "run", "--server", "nowhere")

    def test_all_mistakes_are_said_at_once(self):
        run = run_load_client("run", "-p", "recordcount=x", "-p", "fieldcount=y", "-p", "insertorder=z")
        self.assertEqual(run.code, 2)
        self.assertEqual(run.err.count("mxkv-ycsb: -p: "), 3)

    def test_a_server_that_is_not_there(self):
        run = run_load_client("run", "--server", "unix:/nowhere/socket")
        self.assertEqual(run.code, 1)
        self.assertEqual(run.err, "mxkv-ycsb: cannot connect to unix:/nowhere/socket: No such file or directory\n")

    def test_help_names_flags_and_properties(self):
        run = run_load_client("run", "--help")
        self.assertEqual(run.code, 0)
        for word in ("-P", "-p", "--server-kind", "--max-failures", "--requestdistribution", "redis.index"):
            self.assertIn(word, run.out)


@mxkv_only("the server of these cases is mxkvd")
class YcsbPropertiesTest(ServerCase):
    """Precedence among several settings of one property."""

    def inserted(self, *arguments) -> int:
        run = run_load_client(*arguments, "--server", f"127.0.0.1:{self.server.port}")
        self.assertEqual(run.code, 0, run.err)
        return run.ok("INSERT")

    def test_settings_win_over_files_wherever_they_stand(self):
        self.assertEqual(self.inserted("load", "-P", workload("a")), 1000)
        self.assertEqual(self.inserted("load", "-p", "recordcount=30", "-P", workload("a")), 30)
        self.assertEqual(self.inserted("load", "-P", workload("a"), "-p", "recordcount=30"), 30)

    def test_the_later_setting_wins_also_among_flags(self):
        self.assertEqual(self.inserted("load", "-p", "recordcount=30", "-p", "recordcount=40"), 40)
        self.assertEqual(self.inserted("load", "-p", "recordcount=30", "--recordcount", "50"), 50)
        self.assertEqual(self.inserted("load", "--recordcount", "50", "-p", "recordcount=30"), 30)

    def test_the_later_file_wins(self):
        self.inserted("load", "-P", workload("a"))
        run = run_load_client("run", "-P", workload("e"), "-P", workload("c"), "--server",
                              f"127.0.0.1:{self.server.port}")
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.ok("READ"), 1000)

    def test_unknown_and_unused_properties_are_warned_of_once(self):
        run = run_load_client("load", "-p", "foo=1", "-p", "foo=2", "-p", "table=t", "--server",
                              f"127.0.0.1:{self.server.port}")
        self.assertEqual(run.code, 0)
        self.assertEqual(run.err, "mxkv-ycsb: warning: -p: table has no effect: there is only one keyspace\n"
                                  "mxkv-ycsb: warning: -p: unknown property foo\n")

    def test_ycsbs_classic_commands(self):
        self.assertEqual(self.inserted("-load", "-P", workload("a"), "-threads", "2"), 1000)
        run = run_load_client("-t", "-db", "mxkv", "-P", workload("b"), "--server", f"127.0.0.1:{self.server.port}")
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.ok("READ") + run.ok("UPDATE"), 1000)


if __name__ == "__main__":
    unittest.main()
