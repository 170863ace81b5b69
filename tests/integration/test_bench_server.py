"""bench/server: the comparison of servers on tiny sizes, and its results from known figures."""

import collections
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from harness import ProgramRun
from harness.environment import MEMCACHED, REDIS, patience

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "bench" / "server"
BUILD = os.environ.get("MXKV_FIGURES_BUILD")
CPUS = sorted(os.sched_getaffinity(0))
THERE = ["mxkv"] + (["redis"] if REDIS else []) + (["memcached"] if MEMCACHED else []) + ["echo"]

sys.path[:0] = [str(TOOLS), str(TOOLS.parent)]
import goals  # noqa: E402: found by the line above
import latencies  # noqa: E402
import measured_server  # noqa: E402
import outcome  # noqa: E402
import rows  # noqa: E402


def tool(name: str, *arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([TOOLS / name, "--build", BUILD, *map(str, arguments)], capture_output=True, text=True,
                          timeout=patience(300), check=False)


@unittest.skipUnless(BUILD, "the programs are not part of this build")
class ServerComparisonTest(ProgramRun):
    """One run; the tests check its output."""

    ROWS = ("GET 1x1", "GET 16x1 1k/s", "GET 32x16", "SET 32x16", "100-key get 32x1", "SCAN 100 32x1")
    COMMAND = (TOOLS / "run", "--build", BUILD, "--quick", "--records", "2000", "--server-cpu", str(CPUS[0]),
               "--client-cpu", str(CPUS[-1]))
    FLAGS = ("--rounds", "1", "--rows", *ROWS)

    def test_every_server_that_is_there_is_measured_in_every_row_it_can_do(self) -> None:
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        entries = json.loads((self.output / "results.json").read_text(encoding="utf-8"))
        found = {(entry["server"], entry["row"]): entry["rounds"] for entry in entries}
        wanted = {(server, row) for server in THERE for row in (*self.ROWS, "SCAN 100 32x16")
                  if server != "memcached" or not row.startswith("SCAN")}
        self.assertEqual(set(found), wanted)
        for entry in entries:
            if entry["server"] != "echo":
                self.assertRegex(entry["version"], rf"^{entry['server']} \d")
                self.assertIn(entry["version"], self.done.stdout)
            self.assertFalse(entry["busy"])
        for (_, row), rounds in found.items():
            self.assertEqual(len(rounds), 1)
            self.assertEqual("behind" in rounds[0], row.endswith("/s"))
            self.assertGreater(rounds[0]["cpu_us"], 0)
            self.assertGreater(rounds[0]["ops"], 0)
            self.assertGreaterEqual(rounds[0]["p99.9_us"], rounds[0]["p50_us"])

    def test_the_page_shows_every_row(self) -> None:
        page = (self.output / "index.html").read_text(encoding="utf-8")
        xml.etree.ElementTree.fromstring(page.replace("<!DOCTYPE html>", ""))
        for row in self.ROWS:
            self.assertIn(f"<h2>{row}</h2>", page)
        self.assertEqual(page.count("<svg"), page.count("<figure"), "each chart was drawn")

    def test_rows_that_are_not_there_are_refused(self) -> None:
        done = self.run_program("--rows", "nothing of the kind")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--rows", done.stderr)

    def test_a_program_that_is_none_ends_it_with_one_line(self) -> None:
        done = self.run_program("--redis", "/dev/null")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.splitlines()[-1], "run: error: --redis: '/dev/null' is not a program that can be run: give "
                                                       "the path of redis-server or valkey-server")
        done = self.run_program("--redis", "/dev/null", "--servers", "mxkv")
        self.assertEqual(done.stderr.splitlines()[-1], "run: error: --redis: --servers leaves redis out: name it there too")

    def test_a_server_that_does_not_start_ends_the_comparison(self) -> None:
        done = self.run_program("--servers", "mxkv", "--mxkvd", "/bin/false")
        self.assertEqual(done.returncode, 1)
        self.assertIn("mxkv ended at once", done.stderr)


@unittest.skipUnless(BUILD, "the programs are not part of this build")
class ServerToolsTest(unittest.TestCase):
    """The other programs that measure servers, and the one that measures the protocol alone."""

    def test_small_requests_are_measured_beside_every_heavy_client(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "fairness.json"
            done = tool("fairness", "--quick", "--records", 12000, "--rate", 500, "--servers", "mxkv", "--json", file,
                        "--server-cpu", CPUS[0], "--client-cpu", CPUS[-1])
            self.assertEqual(done.returncode, 0, done.stderr)
            found = {entry["case"]: entry["rounds"] for entry in json.loads(file.read_text(encoding="utf-8"))}
        self.assertEqual(list(found), ["alone", "pipeline", "scans", "sets", "multigets"])
        for case, (figures,) in found.items():
            self.assertGreaterEqual(figures["p99.9_us"], figures["p50_us"])
            self.assertEqual("heavy_ops" in figures, case != "alone")
            self.assertGreater(figures.get("heavy_ops", 1), 0)
            self.assertIn(case, done.stdout)

    def test_operations_on_many_keys_are_measured_beside_points_for_every_order(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "ranges.json"
            done = tool("ranges", "--quick", "--records", 4000, "--distributions", "zipfian", "--rate", 500, "--other-rate",
                        100, "--json", file)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(file.read_text(encoding="utf-8"))
        orders = ("queue", "one lock")
        mixed = {(entry["order"], entry["many_percent"]): entry["rounds"] for entry in found if "many_percent" in entry}
        self.assertEqual(set(mixed), {(order, share) for order in orders for share in (0, 1, 10, 50)})
        for (_, share), (figures,) in mixed.items():
            self.assertGreater(figures["ops"], 0)
            self.assertGreater(figures["cpu_us"], 0)
            self.assertGreaterEqual(figures["points_us"], figures["points_p50_us"])
            self.assertEqual(figures["many_us"] is None, share == 0)
            if share >= 10:
                self.assertTrue(all(figures["kinds_us"].values()), figures)
        halves = {(entry["order"], entry["case"]): entry["rounds"] for entry in found if "case" in entry}
        cases = ("alone", "beside plain operations", "beside those on many keys")
        self.assertEqual(set(halves), {(order, case) for order in orders for case in cases})
        for (_, case), (figures,) in halves.items():
            self.assertGreater(figures["points_us"], 0)
            self.assertEqual("other_us" in figures, case != "alone")
            self.assertIn(f"\n{case} ", done.stdout)

    def test_ranges_refuses_what_it_cannot_do(self) -> None:
        for flags, problem in ((("--records", 100), "--records: below 2000"), (("--rounds", 0), "--rounds, --seconds"),
                               (("--client-cpus", "9999"), "9999: these are not all there"),
                               (("--server-cpus", "x"), "argument --server-cpus: invalid")):
            done = tool("ranges", *flags)
            self.assertEqual(done.returncode, 2)
            self.assertIn(problem, done.stderr)

    def test_the_parts_of_an_items_memory_add_up_to_the_whole(self) -> None:
        done = tool("memory-per-item", "--records", 20000, "--memory-mib", 256, "--server-cpu", CPUS[0], "--client-cpu",
                    CPUS[-1])
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        for server in THERE[:-1]:
            self.assertTrue(any(line.startswith(server + " ") for line in lines), server)
        beyond = next(float(line.split()[1]) for line in lines if line.startswith("mxkv "))
        parts = [float(line.split()[-1]) for line in lines[lines.index("") + 2:]]
        self.assertAlmostEqual(parts[-1], beyond, delta=0.1)
        self.assertAlmostEqual(sum(parts[:-1]), parts[-1], delta=0.1)
        self.assertGreater(parts[0], 8, "a tree has a key's head and a pointer an item at least")

    def test_what_durability_costs_is_measured_mode_by_mode(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = tool("durability", "--quick", "--directory", folder, "--server-cpu", CPUS[0], "--client-cpu", CPUS[-1])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for row in ("SET 32x64", "SET 1x1", "GETs beside SETs of other keys", "checkpoint of", "start with", "idle"):
            self.assertIn(f"\n{row}", done.stdout)
        for name in ("mxkv off", "mxkv never", "mxkv 1s", "mxkv commit", "mxkv, journal alone", "mxkv, checkpoint",
                     "mxkv, full cache"):
            self.assertIn(f"\n  {name} ", done.stdout)

    def test_an_idle_server_is_watched(self) -> None:
        done = tool("idle-cpu", "--seconds", 0.2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^idle: [0-9.]+ ms of CPU")

    def test_a_scrape_is_measured_beside_gets(self) -> None:
        done = tool("scrape", "--quick", "--server-cpu", CPUS[0], "--client-cpu", CPUS[-1])
        self.assertEqual(done.returncode, 0, done.stderr)
        for case in ("alone", "/metrics", "/status.json"):
            self.assertRegex(done.stdout, rf"(?m)^{case} +[\d,]+ ")

    def test_a_flush_of_a_group_is_measured_beside_reads(self) -> None:
        done = tool("flush", "--quick", "--server-cpu", CPUS[0], "--client-cpu", CPUS[-1])
        self.assertEqual(done.returncode, 0, done.stderr)
        lost = {line.split()[0]: (line.split()[-5], line.split()[-1]) for line in done.stdout.splitlines()[1:]}
        self.assertEqual(lost.pop("mxkv"), ("0", "0.0%"), "no old value after it, and all others are there")
        self.assertLessEqual(lost.items(), {"redis": ("0", "0.0%"), "memcached": ("0", "100.0%")}.items())

    def test_parser_and_writers_do_in_every_case_what_is_measured(self) -> None:
        program = pathlib.Path(BUILD) / "bench" / "protocol_bench"
        done = subprocess.run([program, "--benchmark_min_time=0.001", "--benchmark_format=json"], capture_output=True,
                              text=True, timeout=patience(120), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {entry["name"]: entry for entry in json.loads(done.stdout)["benchmarks"]}
        self.assertLessEqual({"parse/get", "parse/set", "parse/multi-get", "parse/scan", "write/get", "memcpy"}, set(found))
        for entry in found.values():
            self.assertGreater(entry["bytes"], 0)
            self.assertGreater(entry["request"], 0)

    def test_a_case_alone_is_run_as_often_as_is_said(self) -> None:
        program = pathlib.Path(BUILD) / "bench" / "protocol_bench"
        line = len("get \r\n") + 24
        done = subprocess.run([program, "--profile", "parse/get", "--passes", "3"], capture_output=True, text=True,
                              timeout=patience(60), check=False)
        self.assertEqual(done.stdout, f"{3 * (16384 // line)} requests, {3 * (16384 // line) * line} bytes\n")
        refused = subprocess.run([program, "--profile", "nothing"], capture_output=True, text=True, timeout=patience(60),
                                 check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("there is no case nothing", refused.stderr)


@unittest.skipUnless(BUILD, "the programs are not part of this build")
class BesideBusyLoopsTest(ProgramRun):
    """One run on CPUs that busy loops share."""

    COMMAND = ServerComparisonTest.COMMAND
    FLAGS = ("--busy", "--servers", "mxkv", "--rows", "GET 1x1")

    def test_rows_are_measured_and_no_goal_is_judged(self) -> None:
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertIn(f"a busy loop on each of {len(CPUS)} CPUs\n", self.done.stdout)
        self.assertNotIn("sought", self.done.stdout)
        (entry,) = json.loads((self.output / "results.json").read_text(encoding="utf-8"))
        self.assertTrue(entry["busy"])
        self.assertGreater(entry["rounds"][0]["cpu_us"], 0)


@unittest.skipUnless(BUILD, "the programs are not part of this build")
class BesideAnotherBuildTest(ProgramRun):
    """One run that compares two builds, here the same build twice."""

    COMMAND = ServerComparisonTest.COMMAND
    FLAGS = ("--beside", str(BUILD), "--rows", "GET 32x16", "SCAN", "--tolerance", "0.0001")

    def test_both_are_measured_and_every_row_has_a_ratio(self) -> None:
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        found = {(entry["server"], entry["row"]) for entry in
                 json.loads((self.output / "results.json").read_text(encoding="utf-8"))}
        names = ("GET 32x16", "SCAN 100 32x1", "SCAN 100 32x16")
        self.assertEqual(found, {(server, row) for server in ("mxkv", "beside") for row in names})
        for name in names:
            self.assertRegex(self.done.stdout, rf"\n{name} +\d+\.\d{{3}} +\d+\.\d{{3}} +\d+\.\d{{3}}  \S+  worse\n")

    def test_a_row_above_the_tolerance_is_no_failure_and_is_named_at_the_end(self) -> None:
        self.assertRegex(self.done.stdout, r"\nworse than 0.0001 times beside: GET 32x16 \(.*SCAN 100 32x16 \(")

    def test_a_commit_that_is_not_there_ends_it_before_anything_is_measured(self) -> None:
        done = self.run_program("--against", "no-such-commit")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no-such-commit is no commit of", done.stderr)


class LatenciesTest(unittest.TestCase):
    """Percentiles over several kinds of operation."""

    @staticmethod
    def bucket_of(latency_ns: int) -> int:
        shift = max(latency_ns.bit_length() - latencies.PRECISION_BITS - 1, 0)
        return (shift << latencies.PRECISION_BITS) + (latency_ns >> shift)

    def result(self, **kinds: list) -> dict:
        entries = {}
        for kind, values in kinds.items():
            counts = collections.Counter(map(self.bucket_of, values))
            entries[kind] = {"latency": {"max_ns": max(values),
                                         "buckets": [part for pair in sorted(counts.items()) for part in pair]}}
        return {"histogram_precision_bits": latencies.PRECISION_BITS, "results": entries}

    def test_they_are_those_of_all_operations_together_to_one_per_cent(self) -> None:
        chance = random.Random(1)
        reads = [int(10 ** chance.uniform(1, 8)) for _ in range(5000)]
        updates = [chance.randrange(10, 300) for _ in range(300)]
        result = self.result(READ=reads, UPDATE=updates, SCAN=[10 ** 9] * 5000)
        both = sorted(reads + updates)
        for percent in (1, 50, 90, 99, 99.9, 100):
            exact_us = both[math.ceil(percent / 100 * len(both)) - 1] / 1000
            found_us = latencies.percentile_us(result, ("READ", "UPDATE", "INSERT"), percent)
            self.assertLessEqual(exact_us, found_us)
            self.assertLessEqual(found_us, exact_us * (1 + 1 / 128))
        self.assertIsNone(latencies.percentile_us(result, ["BATCH"], 99))

    def test_another_precision_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            latencies.percentile_us({**self.result(READ=[1]), "histogram_precision_bits": 8}, ["READ"], 99)

    @unittest.skipUnless(BUILD, "the programs are not part of this build")
    def test_of_one_kind_they_are_what_the_client_says(self) -> None:
        build = pathlib.Path(BUILD)
        with measured_server.running(build, "--memory", "64MiB") as (_, port), tempfile.TemporaryDirectory() as folder:
            measured_server.load(build, port, 2000)
            file = pathlib.Path(folder) / "result.json"
            subprocess.run([build / "bench" / "mxkv-ycsb", "run", "--simple", "--server", f"127.0.0.1:{port}", "--recordcount",
                            "2000", "--workload", "a", "--operationcount", "3000", "--json", file], check=True,
                           stdout=subprocess.DEVNULL, timeout=patience(60))
            result = json.loads(file.read_text(encoding="utf-8"))
        for kind in ("READ", "UPDATE"):
            for percent in (50, 99, 99.9):
                self.assertEqual(latencies.percentile_us(result, [kind], percent),
                                 result["results"][kind]["latency"][f"p{percent}_us"])


class OutcomeTest(unittest.TestCase):
    """Ratios and goals from invented figures."""

    GET16, GET64, LARGE = (next(row for row in rows.ROWS if row.name == name)
                           for name in ("GET 32x16", "GET 32x64", "GET 32x64 large"))

    def outcome(self, times: dict, other: str | None = None) -> outcome.Outcome:
        results = {key: [{"cpu_us": time, "ops": 1.0, "client_us": 1.0, "p50_us": 1.0, "p99_us": 2.0, "p99.9_us": 3.0}
                         for time in values] for key, values in times.items()}
        servers = list(dict.fromkeys(name for name, _ in times))
        return outcome.Outcome(results, servers, rows.ROWS, other)

    def test_a_ratio_is_the_median_of_the_rounds_ratios_not_the_ratio_of_medians(self) -> None:
        found = self.outcome({("mxkv", self.GET16): [1.0, 4.0, 30.0], ("echo", self.GET16): [1.0, 8.0, 10.0]})
        self.assertEqual(found.ratio(self.GET16, "mxkv", "echo"), (1.0, 0.5, 3.0))
        self.assertIsNone(found.ratio(self.GET16, "mxkv", "redis"))
        self.assertIn("1.00 (0.50-3.00)", found.text())

    def test_open_loops_compare_latencies_and_name_missed_schedules(self) -> None:
        row = next(row for row in rows.ROWS if row.name == "GET 16x1 8k/s")
        self.assertEqual((row.rate, row.connections, row.depth), (8000, 16, 1))

        def figures(p50: float, p99: float, behind: float) -> dict:
            return {"cpu_us": 1.0, "ops": 8000.0, "client_us": 1.0, "p50_us": p50, "p99_us": p99, "p99.9_us": p99, "behind": behind}
        found = outcome.Outcome({("mxkv", row): [figures(30, 90, 0), figures(20, 50, 1)],
                                 ("redis", row): [figures(60, 90, 0), figures(80, 100, 0)]}, ["mxkv", "redis"], rows.ROWS)
        self.assertEqual(found.ratio(row, "mxkv", "redis", "p50_us"), (0.375, 0.25, 0.5))
        self.assertRegex(found.text(), r"\nGET 16x1 8k/s, p50 +0\.38 \(0\.25-0\.50\) +-\n")
        self.assertRegex(found.text(), r"\nGET 16x1 8k/s, p99 +0\.75 \(0\.50-1\.00\) +-\n")
        self.assertTrue(found.text().endswith("another load\n  GET 16x1 8k/s: mxkv 1/2"), found.text())

    def test_against_another_mxkvd_only_what_became_worse_is_named(self) -> None:
        found = self.outcome({("mxkv", self.GET16): [1.0, 1.1, 1.04], ("78f84d0", self.GET16): [1.0, 1.0, 1.0],
                              ("mxkv", self.GET64): [0.9], ("78f84d0", self.GET64): [1.0]}, "78f84d0")
        text = found.text()
        self.assertRegex(text, r"GET 32x16 +1\.040 +1\.000 +1\.040  1\.000-1\.100  worse\n")
        self.assertRegex(text, r"GET 32x64 +0\.900 +1\.000 +0\.900  0\.900-0\.900\n")
        self.assertEqual(text.splitlines()[-1], "worse than 1.03 times 78f84d0: GET 32x16 (1.040)")
        fine = self.outcome({("mxkv", self.GET16): [1.0], ("78f84d0", self.GET16): [1.0]}, "78f84d0")
        self.assertEqual(fine.text().splitlines()[-1], "of 1 rows none is worse than 1.03 times 78f84d0")

    def test_goals_are_against_servers_or_against_another_row(self) -> None:
        found = self.outcome({("mxkv", self.GET64): [2.0], ("redis", self.GET64): [8.0], ("mxkv", self.LARGE): [3.0]})
        values = {(row.name, figure): value for row, figure, _, _, value in found.goals()}
        self.assertEqual(values, {("GET 32x64", "times echo"): None, ("GET 32x64", "times redis"): 0.25,
                                  ("GET 32x64 large", "times echo"): None, ("GET 32x64 large", "times GET 32x64"): 1.5})

    def test_the_overview_has_the_floor_as_one_and_leaves_out_what_dwarfs_all(self) -> None:
        found = self.outcome({("mxkv", self.GET16): [3.0], ("memcached", self.GET16): [9.0], ("echo", self.GET16): [1.5]})
        shown = [(row.name, server, ratio) for row, server, ratio in found.overview("GETs beside the floor")]
        self.assertEqual(shown, [("GET 32x16", "mxkv", 2.0), ("GET 32x16", "echo", 1.0)])
        without_floor = self.outcome({("mxkv", self.GET16): [3.0]})
        described = [figure["figure"] for figure in without_floor.description()["figures"]]
        self.assertEqual(described, ["GET 32x16"])
        self.assertEqual({point["figure"] for point in without_floor.points("c")}, {"GET 32x16"})

    def test_rows_have_names_of_their_own_and_goals_that_can_be_computed(self) -> None:
        names = [row.name for row in rows.ROWS]
        self.assertEqual(len(set(names)), len(names))
        for row in rows.ROWS:
            for figure, reach, aim in row.goals:
                self.assertIn(figure.removeprefix("times "), ["us", "echo", "redis", "memcached", *names])
                self.assertGreaterEqual(reach, aim or 0)

    def test_a_goal_is_reached_where_the_figure_is_not_on_its_wrong_side(self) -> None:
        for value, more_is_better, state in ((0.3, False, "no"), (0.25, False, "reached"), (0.1, False, "aim"), (None, False, "-"),
                                             (0.09, True, "no"), (0.3, True, "reached")):
            aim = 0.1 if not more_is_better else None
            self.assertEqual(goals.state(value, 0.25, aim, more_is_better), state)
        found = self.outcome({("mxkv", self.GET64): [2.0], ("redis", self.GET64): [16.0]})
        self.assertRegex(found.text(), r"\nGET 32x64, times redis +0\.12 +0\.15 +0\.11  reached")


if __name__ == "__main__":
    unittest.main()
