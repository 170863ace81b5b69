"""bench/server: the programs that fill caches and replay traces, on tiny sizes; and their arithmetic."""

import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from harness.environment import MEMCACHED, REDIS, patience

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "server"
BUILD = os.environ.get("MXKV_FIGURES_BUILD")
CPUS = sorted(os.sched_getaffinity(0))

sys.path[:0] = [str(TOOLS), str(TOOLS.parent)]
import replayed  # noqa: E402: found by the line above


def tool(name: str, *arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([TOOLS / name, "--build", BUILD or "build", "--server-cpu", str(CPUS[0]), "--client-cpu", str(CPUS[-1]),
                           *map(str, arguments)], capture_output=True, text=True, timeout=patience(300), check=False)


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, text: str) -> pathlib.Path:
        file = self.folder / "trace.csv"
        file.write_text(text, encoding="utf-8")
        return file


@unittest.skipUnless(BUILD, "the programs are not part of this build")
class FullCacheTest(Folder):
    def test_parts_of_a_full_cache_add_up_after_each_turnover_in_both_daemons(self) -> None:
        file = self.folder / "full.json"
        done = tool("full-cache", "--memory", "16MiB", "--turnovers", 0.5, 1, "--rounds", 1, "--rate", 200, "--seconds", 0.5,
                    "--beside", pathlib.Path(BUILD) / "server" / "mxkvd", "--json", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual([(entry["items"], entry["server"]) for entry in found],
                         [(items, server) for items in ("plain", "mixed") for server in ("mxkv", "beside")])
        for entry in found:
            (figures,) = entry["rounds"]
            self.assertEqual(list(figures["turns"]), ["0.5", "1.0"])
            self.assertEqual(list(figures["latencies"]), ["200", "800"])
            for rate in figures["latencies"].values():
                self.assertGreaterEqual(rate["p99 us"], rate["p50 us"])
            for turn in figures["turns"].values():
                parts = [size for name, size in turn.items() if name in PARTS]
                self.assertEqual(len(parts), len(PARTS))
                self.assertAlmostEqual(sum(parts), turn["sum of the used memory"], delta=0.01)
                self.assertAlmostEqual(turn["sum of the used memory"] + turn["limit that is not used"], turn["sum of the limit"],
                                       delta=0.01)
                self.assertGreater(turn["items' headers"], 8)
                self.assertTrue(0.2 < turn["fill of leaves"] <= 1, turn)
            first, second = (turn["evictions"] for turn in figures["turns"].values())
            self.assertTrue(0 < first < second, (first, second))
            for part in (*PARTS, "sum of the limit", "fill of leaves", "evictions"):
                self.assertRegex(done.stdout, rf"(?m)^{part} .*\d$")

    def test_a_limit_that_no_server_takes_is_refused(self) -> None:
        done = tool("full-cache", "--memory", "3MiB")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--memory: 3MiB is below 16MiB, mxkvd's least limit", done.stderr)


PARTS = ("leaves", "inner nodes and fences", "spans of the tree beyond what is used", "items' headers",
         "items' rounding to size classes", "spans of items beyond what is used", "tasks", "buffers and output", "rest")


@unittest.skipUnless(BUILD, "the programs are not part of this build")
class TraceTest(Folder):
    OBJECTS = 400

    def trace(self) -> tuple:
        """A small trace whose objects all fit; its file, and the hits of its second half."""
        chance = random.Random(1)
        objects = [int(self.OBJECTS * chance.random() ** 2) for _ in range(4000)]
        known, hits = set(objects[:2000]), 0
        for number in objects[2000:]:
            hits += number in known
            known.add(number)
        lines = [f"{at // 100}, {number + 10 ** 15}, {100 + number}, 5\n" for at, number in enumerate(objects)]
        return self.file("# time, object, size, next_access_vtime\n" + "".join(lines)), hits / 2000

    def test_a_trace_that_fits_hits_as_often_in_every_server(self) -> None:
        file, hits = self.trace()
        done = tool("hit-ratio", "--trace", file, "--memory", "20MiB", "--copies", 2, "--beside",
                    pathlib.Path(BUILD) / "server" / "mxkvd")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {line.split()[1]: [float(word) for word in line.split()[2:]] for line in done.stdout.splitlines()
                 if line.startswith("     20 ")}
        self.assertEqual(list(found), ["mxkv", "beside"] + (["memcached"] if MEMCACHED else []) +
                         (["redis-lru", "redis-lfu"] if REDIS else []))
        for grown, limit, ratio, bytes_ratio, cpu_us in found.values():
            self.assertTrue(0 < grown < 20 < limit + 10, (grown, limit))
            self.assertAlmostEqual(ratio, hits, delta=0.0001)
            self.assertTrue(0 < bytes_ratio <= 1)
            self.assertGreater(cpu_us, 0)
        if MEMCACHED:
            self.assertRegex(done.stdout, r"(?m)^memcached's hits at .*: mxkv needs ")

    def test_a_program_that_is_none_ends_it_with_one_line(self) -> None:
        done = tool("hit-ratio", "--trace", self.trace()[0], "--memcached", "/dev/null")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.splitlines()[-1], "hit-ratio: error: --memcached: '/dev/null' is not a program that can be "
                                                       "run: give the path of memcached")

    def test_a_file_without_the_columns_ends_it_with_one_line(self) -> None:
        for text, problem in (("a,b\nc,d\n", "'a,b' has not the columns timestamp,key"), ("# time, object, size\n1, x, 3\n2, 2, 2\n",
                              "'1, x, 3' has not the columns time, object, size"), ("\n", "has 1 requests")):
            done = tool("hit-ratio", "--trace", self.file(text))
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"--trace: {problem}" if "has not" in problem else problem, done.stderr.splitlines()[-1])


class ReplayedTest(Folder):
    def test_each_copy_has_keys_of_its_own_of_one_length(self) -> None:
        lines = ["1,key,3,10,1,set,60\n"]
        self.assertEqual(list(replayed.requests_of(lines, 1)), lines)
        self.assertEqual(list(replayed.requests_of(lines, 2)), ["1,akey,4,10,1,set,60\n", "1,bkey,4,10,1,set,60\n"])
        self.assertEqual(list(replayed.requests_of(["# time, object, size\n", "7, 255, 100, 3\n", "7, 1, 5, 3\n"], 1)),
                         ["7,a00000000000000ff,17,83,0,get,0\n", "7,a0000000000000001,17,0,0,get,0\n"])

    def test_halves_are_those_of_the_first_requests(self) -> None:
        file = self.file("".join(f"{at},k{at},2,1,0,get,0\n" for at in range(9)))
        first, second = replayed.write_halves(file, self.folder, 5, 1)
        self.assertEqual(first.read_text(encoding="utf-8"), "0,k0,2,1,0,get,0\n1,k1,2,1,0,get,0\n")
        self.assertEqual([line[0] for line in second.read_text(encoding="utf-8").splitlines()], ["2", "3", "4"])

    def test_limits_follow_the_memory_until_it_is_within_the_tolerance(self) -> None:
        self.assertIsNone(replayed.next_limit("mxkv", 30, 32, 32.5))
        self.assertEqual(replayed.next_limit("mxkv", 32, 32, 36), 28)
        self.assertEqual(replayed.next_limit("mxkv", 18, 16, 21), 16, "its least")
        self.assertIsNone(replayed.next_limit("mxkv", 16, 16, 21))
        self.assertIsNone(replayed.next_limit("memcached", 3, 3, 3.4), "less than its step")

    def test_needed_memory_is_interpolated_between_points(self) -> None:
        points = [(16, 0.8), (4, 0.6), (8, 0.7)]
        self.assertAlmostEqual(replayed.memory_for(0.65, points), 4 * math.sqrt(2))
        self.assertAlmostEqual(replayed.memory_for(0.8, points), 16)
        self.assertIsNone(replayed.memory_for(0.5, points))
        self.assertEqual(replayed.memory_for(0.9, points), math.inf)


if __name__ == "__main__":
    unittest.main()
