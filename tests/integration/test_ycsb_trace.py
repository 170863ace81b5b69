"""mxkv-ycsb --trace: a small trace against each kind of server, with counts that follow from its lines; and refused traces."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from harness import environment, mxkv_only
from harness.case import ServerCase
from harness.environment import patience
from harness.load_client import Run, run_load_client
from harness.redis import Redis
from harness.server import Options

# timestamp, key, key size, value size, client, operation, TTL; behind it: the answer if misses are filled.
LINES = (
    "1,k1,2,10,1,get,0",  # a miss, filled
    "1,k1,2,10,7,get,0",  # a hit
    "1,k2,4,300,1,set,3600",
    "2,k2,4,300,1,get,0",  # a hit
    "2,k3,2,50,1,gets,0",  # a miss, filled
    "2,k1,2,0,1,delete,0",
    "3,k1,2,10,1,get,0",  # a miss, filled
    "3,n,1,3,1,set,0",
    "3,n,1,3,1,incr,0",
    "3,n,1,3,1,get,0",  # a hit
    "3,k2,4,20,1,add,0",  # not stored
    "3,k4,2,20,1,replace,0",  # not stored
    "3,k2,4,40,1,cas,0",
    "3,k2,4,40,1,get,0",  # a hit
)
GETS, UPDATES, MISSES, FILLED_MISSES = 7, 6, 4, 3


class TraceFile(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def trace(self, *lines: str, end: str = "\n") -> pathlib.Path:
        file = self.folder / "trace.csv"
        file.write_text("\n".join(lines) + end, encoding="utf-8")
        return file


class Replays:
    """The tests of every store; a subclass connects to it and empties it."""

    def store(self) -> tuple:
        raise NotImplementedError

    def empty(self) -> None:
        raise NotImplementedError

    def replay(self, *arguments) -> Run:
        self.empty()
        run = run_load_client("--trace", self.trace(*LINES), *arguments, *self.store())
        self.assertEqual(run.code, 0, run.err + run.out)
        self.assertEqual(run.figure("UPDATE", "Operations"), UPDATES)
        self.assertEqual(run.ok("UPDATE"), UPDATES)
        self.assertEqual(run.figure("READ", "Operations"), GETS)
        self.assertEqual(run.figure("CACHE", "Hits") + run.figure("CACHE", "Misses"), GETS)
        self.assertEqual(run.ok("READ"), run.figure("CACHE", "Hits"))
        return run

    def test_gets_that_miss_stay_misses(self) -> None:
        run = self.replay()
        self.assertEqual(run.figure("CACHE", "Misses"), MISSES)
        self.assertEqual(run.figure("DELETE", "Return=NOT_FOUND"), 1)
        self.assertEqual(run.figure("INSERT", "Operations"), 0)

    def test_gets_that_miss_are_filled_if_asked_for(self) -> None:
        file = self.folder / "result.json"
        run = self.replay("--fill-misses", "--json", file)
        self.assertEqual(run.figure("CACHE", "Misses"), FILLED_MISSES)
        self.assertEqual(run.ok("INSERT"), FILLED_MISSES)
        self.assertEqual(run.ok("DELETE"), 1)
        hit, missed = 10 + 300 + 3 + 40, 10 + 50 + 10
        self.assertAlmostEqual(run.figure("CACHE", "HitRatio"), 4 / 7, places=6)
        self.assertAlmostEqual(run.figure("CACHE", "ByteHitRatio"), hit / (hit + missed), places=6)
        result = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(result["operations"], len(LINES), "a fill belongs to its get")
        self.assertEqual({name: result["cache"][name] for name in ("hits", "misses", "hit_bytes", "miss_bytes")},
                         {"hits": 4, "misses": 3, "hit_bytes": hit, "miss_bytes": missed})

    def test_the_traces_own_times_are_due_times(self) -> None:
        run = self.replay("--fill-misses", "--trace-speed", 100)
        self.assertEqual(run.figure("CACHE", "Misses"), FILLED_MISSES)
        self.assertAlmostEqual(run.figure("SCHEDULE", "Target(ops/sec)"), 100 * len(LINES) / 3, places=2)
        self.assertEqual(run.figure("Intended-READ", "Operations"), GETS)

    def test_several_threads_and_connections_send_each_request_once(self) -> None:
        self.empty()
        lines = [f"{i // 100},key{i % 200},6,{i % 70},1,{'set' if i < 200 else 'get'},0" for i in range(1000)]
        run = run_load_client("run", "--trace", self.trace(*lines), "-threads", 2, "--connections", 4, "--depth", 8,
                              "--fill-misses", *self.store())
        self.assertEqual((run.code, run.err), (0, ""), run.out)
        self.assertEqual(run.figure("READ", "Operations"), 800)
        self.assertEqual(run.ok("UPDATE"), 200)
        self.assertEqual(run.figure("CACHE", "Misses"), run.ok("INSERT"))


@mxkv_only("its counters")
class TraceMxkvTest(Replays, TraceFile, ServerCase):
    def store(self) -> tuple:
        return ("--server", f"127.0.0.1:{self.server.port}")

    def empty(self) -> None:
        self.assertEqual(self.connect().ask(b"flush_all"), b"OK")

    def test_the_servers_counters_are_those_of_the_trace(self) -> None:
        before = self.connect().stats()
        self.replay("--fill-misses")
        after = self.connect().stats()
        for name, count in (("cmd_get", GETS), ("get_hits", GETS - FILLED_MISSES), ("delete_hits", 1), ("incr_hits", 1)):
            self.assertEqual(int(after[name]) - int(before[name]), count, name)

    def test_the_values_and_times_to_live_are_those_of_the_trace(self) -> None:
        self.replay("--fill-misses")
        client = self.connect()
        self.assertEqual(client.ask(b"mg k2-- s t"), b"HD s40 t-1")
        self.assertEqual(client.ask(b"mg n v"), b"VA 3")
        run_load_client("--trace", self.trace(LINES[2]), *self.store())
        self.assertRegex(self.connect().ask(b"mg k2-- s t"), rb"^HD s300 t(3600|3[45]\d\d)$")

    def test_a_trace_comes_through_a_pipe_too(self) -> None:
        self.empty()
        with self.trace(*LINES).open("rb") as file:
            done = subprocess.run([environment.MXKV_YCSB, "--trace", "-", "--fill-misses", *self.store()], stdin=file,
                                  capture_output=True, text=True, timeout=patience(60), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"[CACHE], Misses, {FILLED_MISSES}\n", done.stdout)

    def test_a_foreign_value_is_a_failure(self) -> None:
        self.empty()
        self.connect().set(b"k1", b"x" * 30)
        run = run_load_client("--trace", self.trace(*LINES[:2]), *self.store())
        self.assertEqual(run.code, 1)
        self.assertEqual(run.figure("READ", "Return=UNEXPECTED_STATE"), 2)

    def test_nothing_is_sent_of_a_trace_with_a_wrong_line(self) -> None:
        before = self.connect().stats()
        for lines, end, problem in (
                ((*LINES, "4,k,1,1,1,get"), "\n", f"{len(LINES) + 1}: has 6 columns; expected 7: timestamp,key,key size,"
                                                  "value size,client id,operation,TTL"),
                (LINES, "", f"{len(LINES)}: the file ends within this line; expected a newline: is the file complete?"),
                ((*LINES, "4,k,1,1048577,1,set,0"), "\n", f"{len(LINES) + 1}: value size '1048577'; expected 0 to 1048576, "
                                                          "the limit that --trace-value-bytes sets")):
            file = self.trace(*lines, end=end)
            run = run_load_client("--trace", file, *self.store())
            self.assertEqual((run.code, run.out, run.err), (2, "", f"mxkv-ycsb: {file}:{problem}\n"))
        after = self.connect().stats()
        self.assertEqual([after[name] for name in ("cmd_get", "cmd_set")], [before[name] for name in ("cmd_get", "cmd_set")])


@unittest.skipUnless(environment.MEMCACHED, "memcached is not installed")
class TraceMemcachedTest(Replays, TraceFile, ServerCase):
    options = Options(memcached=True)

    def store(self) -> tuple:
        return ("-db", "memcached", "-p", f"memcached.hosts=127.0.0.1:{self.server.port}")

    def empty(self) -> None:
        self.assertEqual(self.connect().ask(b"flush_all"), b"OK")


@unittest.skipUnless(environment.REDIS, "redis-server is not installed")
class TraceRedisTest(Replays, TraceFile):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.redis = Redis().start()
        cls.addClassCleanup(cls.redis.remove)

    def store(self) -> tuple:
        return ("-db", "redis", "-p", "redis.host=127.0.0.1", "-p", f"redis.port={self.redis.port}")

    def empty(self) -> None:
        self.assertEqual(self.redis.ask("FLUSHALL"), b"+OK\r\n")


class TraceArgumentsTest(TraceFile):
    """Command lines that contradict themselves."""

    def test_they_are_refused_with_the_way_out(self) -> None:
        trace = self.trace(*LINES)
        for arguments, problem in (
                (("--workload", "a"), "--workload: a trace has its own requests: leave --workload or --trace out"),
                (("--server-kind", "echo"), "--trace: needs --server-kind mxkv, memcached or redis"),
                (("-target", 5, "--trace-speed", 1), "--trace-speed: the target is a rate already: leave one of the two out")):
            run = run_load_client("--trace", trace, *arguments)
            self.assertEqual((run.code, run.out, run.err), (2, "", f"mxkv-ycsb: {problem}\n"))
        run = run_load_client("--trace", self.folder / "none")
        self.assertEqual((run.code, run.err), (2, f"mxkv-ycsb: {self.folder}/none: cannot be read: No such file or directory\n"))


if __name__ == "__main__":
    unittest.main()
