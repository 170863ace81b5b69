"""The load client's reports of runs against a real server: its files are well-formed and agree with each other."""

import csv
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from harness import environment
from harness.case import ServerCase, mxkv_only
from harness.environment import LONG, patience

RECORDS = 500
PLOT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "plot" / "plot"


def ycsb_page():
    """The module of the drawing program."""
    sys.path.insert(0, str(PLOT.parent))
    try:
        return importlib.import_module("ycsb_page")
    finally:
        del sys.path[0]


@mxkv_only("the load client's statistics are those of mxkvd here")
class ReportTest(ServerCase):
    """One server, loaded once; every test runs the client on it."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory()
        cls.client("load", "--connections", "2", "--depth", "8")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()
        super().tearDownClass()

    @classmethod
    def client(cls, command: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess:
        """Runs the client on the server; its exit code must be `code`."""
        return cls.ycsb(command, "--server", f"127.0.0.1:{cls.server.port}", "--recordcount", str(RECORDS), *arguments,
                        code=code)

    @classmethod
    def ycsb(cls, *arguments: str, code: int = 0) -> subprocess.CompletedProcess:
        done = subprocess.run([environment.MXKV_YCSB, *arguments], capture_output=True, text=True, timeout=patience(60), check=False,
                              cwd=cls.folder.name)
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def path(self, name: str) -> str:
        return os.path.join(self.folder.name, name)

    def result(self, name: str) -> dict:
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    @staticmethod
    def lines(done: subprocess.CompletedProcess) -> dict:
        """The report's values by "[SECTION], name"."""
        return {line.rpartition(", ")[0]: float(line.rpartition(", ")[2]) for line in done.stdout.splitlines()}

    def test_files_agree_with_the_report(self) -> None:
        done = self.client("run", "--workload", "a", "--operationcount", "3000", "--connections", "3", "--depth", "4",
                           "--json", "a.json", "--csv", "a.csv", "--hgrm", "a", "-l", "the label")
        lines, result = self.lines(done), self.result("a.json")
        self.assertEqual(result["operations"], 3000)
        self.assertEqual(sum(entry["operations"] for entry in result["series"]), 3000)
        for kind in ("READ", "UPDATE"):
            latency = result["results"][kind]["latency"]
            self.assertEqual(latency["count"], lines[f"[{kind}], Operations"])
            self.assertEqual(int(latency["p99_us"]), lines[f"[{kind}], 99thPercentileLatency(us)"])
            self.assertEqual(sum(latency["buckets"][1::2]), latency["count"])
            with open(self.path(f"a-{kind}.hgrm"), encoding="ascii") as file:
                self.assertRegex(file.read(), rf"Total count    = +{latency['count']}\]")
        with open(self.path("a.csv"), newline="", encoding="ascii") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["operations"] for row in rows if row["scope"] == "run" and row["operation"] == "ALL"], ["3000"])
        self.assertEqual(sum(int(row["operations"]) for row in rows
                             if row["scope"] == "second" and row["operation"] == "ALL"), 3000)

    def test_result_says_where_and_how_it_was_measured(self) -> None:
        self.client("run", "--workload", "c", "--operationcount", "2000", "--json", "c.json", "-l", "two words")
        result = self.result("c.json")
        client, server = result["clients"][0], result["servers"][0]
        self.assertIn("-l 'two words'", client["command"])
        self.assertEqual(client["label"], "two words")
        self.assertEqual(client["settings"]["operationcount"], "2000")
        self.assertEqual(client["machine"]["kernel"].split()[:2], [os.uname().sysname, os.uname().release])
        self.assertEqual(client["machine"]["cpus_allowed"], len(os.sched_getaffinity(0)))
        self.assertEqual(server["pid"], self.server.process.pid)
        self.assertEqual(server["cpu_source"], "process")
        self.assertGreater(result["server_cpu_ns_per_op"], 0)
        self.assertGreaterEqual(int(server["after"]["cmd_get"]) - int(server["before"]["cmd_get"]), 2000)

    def test_paced_run_keeps_the_number_of_operations_and_has_both_latencies(self) -> None:
        done = self.client("run", "--workload", "f", "-target", "2000", "--arrivals", "poisson", "--operationcount", "1000",
                           "--connections", "4", "--json", "f.json")
        lines, result = self.lines(done), self.result("f.json")
        self.assertEqual(result["schedule"]["sent"], 1000)
        self.assertEqual(lines["[SCHEDULE], Target(ops/sec)"], 2000)
        for kind in ("READ", "UPDATE", "READ-MODIFY-WRITE"):
            entry = result["results"][kind]
            self.assertEqual(entry["latency"]["count"], entry["intended_latency"]["count"])
            self.assertEqual(lines[f"[Intended-{kind}], Operations"], entry["latency"]["count"])
        # At 2000 a second the schedule of 1000 operations takes half a second.
        self.assertGreater(result["schedule"]["length_ns"], 300e6)
        self.assertGreaterEqual(result["run_time_ms"] * 1e6, result["schedule"]["length_ns"] - 1e6)

    def test_too_high_a_target_is_said(self) -> None:
        done = self.client("run", "--workload", "c", "-target", "50000000", "--operationcount", "0",
                           "--maxexecutiontime", "1", "--json", "late.json")
        self.assertIn("warning: the schedule of 50000000 operations per second was missed", done.stderr)
        self.assertEqual(self.lines(done)["[SCHEDULE], FellBehind"], 1)
        schedule = self.result("late.json")["schedule"]
        self.assertTrue(schedule["fell_behind"])
        self.assertGreater(schedule["unsent"], 0)

    def test_warmup_is_left_out(self) -> None:
        done = self.client("run", "--workload", "c", "--operationcount", "0", "--maxexecutiontime", "2", "--warmup", "1s",
                           "-s", "--status-interval", "1", "--json", "warm.json")
        result, lines = self.result("warm.json"), self.lines(done)
        self.assertGreater(result["warmup"]["operations"], 0)
        self.assertEqual(lines["[WARMUP], Operations"], result["warmup"]["operations"])
        self.assertEqual(result["operations"], result["results"]["READ"]["latency"]["count"])
        self.assertRegex(done.stderr, r"1 sec: \d+ operations; [\d.]+ current ops/sec; [\d.]+ mean ops/sec; "
                                      r"est completion in 1 seconds \[READ: Count=\d+, Max=\d+, .* 99\.9=\d+\]")
        done = self.client("run", "--workload", "c", "--operationcount", "10", "--warmup", "10m", code=1)
        self.assertIn("ended within its warm-up", done.stderr)

    def test_merged_parallel_loads_count_all_records(self) -> None:
        parts = []
        for i in range(2):
            done = self.client("load", "--insertstart", str(i * 250), "--insertcount", "250", "--json", f"part{i}.json")
            parts.append(self.lines(done))
        done = self.ycsb("merge", "part0.json", "part1.json", "--json", "merged.json", "--csv", "merged.csv")
        lines, merged = self.lines(done), self.result("merged.json")
        self.assertEqual(lines["[INSERT], Operations"], 500)
        self.assertEqual(lines["[INSERT], Return=OK"], 500)
        self.assertEqual(len(merged["clients"]), 2)
        self.assertEqual(len(merged["servers"]), 1)
        self.assertEqual(sum(entry["operations"] for entry in merged["series"]), 500)
        sums = [self.result(name)["results"]["INSERT"]["latency"]["sum_ns"] for name in ("part0.json", "part1.json")]
        self.assertEqual(merged["results"]["INSERT"]["latency"]["sum_ns"], sum(sums))
        self.assertEqual(lines["[INSERT], MaxLatency(us)"], max(part["[INSERT], MaxLatency(us)"] for part in parts))
        # A merge of one report is that report.
        self.ycsb("merge", "part0.json", "--json", "again.json")
        self.assertEqual(self.result("again.json"), self.result("part0.json"))

    def plot(self, *files: str, code: int = 0) -> subprocess.CompletedProcess:
        done = subprocess.run([PLOT, "ycsb", *files, "-o", "page.html"], capture_output=True, text=True, timeout=patience(60),
                              check=False, cwd=self.folder.name)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_plot_is_one_well_formed_page_with_every_result(self) -> None:
        self.client("run", "--workload", "a", "--operationcount", "2000", "--json", "left.json", "-l", "left <&>")
        self.client("run", "--workload", "e", "--maxscanlength", "10", "--operationcount", "300", "-target", "1000",
                    "--connections", "2", "--json", "right.json", "-l", "right")
        self.plot("left.json", "right.json")
        page = xml.etree.ElementTree.parse(self.path("page.html")).getroot()
        charts = [figure.get("aria-label") for figure in page.iter("figure")]
        self.assertEqual(charts, [*(f"{kind}: latency by percentile" for kind in ("READ", "UPDATE", "INSERT", "SCAN")),
                                  "Throughput over time", "99th percentile of all operations over time", "Throughput",
                                  "Latency (of paced runs from the due time)", "CPU time an operation"])
        rows = {row[0].text: [cell.text for cell in row] for row in page.iter("tr")}
        for name, target, operations in (("left <&>", "closed loop", "2000"), ("right", "1k", "300")):
            self.assertEqual(rows[name][2:4], [target, operations])
        with open(self.path("page.html"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("<script", text)
        self.assertEqual(re.findall(r'(?:src|href)="(?!#)|@import', text), [])

    def test_percentiles_of_the_plot_are_those_of_the_report(self) -> None:
        self.client("run", "--workload", "a", "--operationcount", "3000", "--json", "p.json")
        drawn, told = ycsb_page().Result(self.path("p.json")), self.result("p.json")["results"]
        for kind in ("READ", "UPDATE"):
            histogram = drawn.histogram([kind])
            self.assertEqual(histogram.count, told[kind]["latency"]["count"])
            for percent, name in ((50, "p50_us"), (99, "p99_us"), (99.9, "p99.9_us")):
                self.assertAlmostEqual(histogram.percentile_us(percent), told[kind]["latency"][name], places=3)
            nines, latencies = zip(*histogram.steps(), strict=True)
            self.assertEqual((list(nines), list(latencies)), (sorted(nines), sorted(latencies)), "a percentile curve")
            self.assertAlmostEqual(latencies[-1], told[kind]["latency"]["max_ns"] / 1000, places=3)

    def test_files_that_are_no_results_are_named(self) -> None:
        with open(self.path("bad.json"), "w", encoding="ascii") as file:
            file.write("{}")
        with open(self.path("empty.json"), "w", encoding="ascii"):
            pass
        page = ycsb_page()
        for name, told in (("bad.json", "not a result of mxkv-ycsb"), ("empty.json", "is empty, and not a result of mxkv-ycsb"),
                           ("none.json", "cannot be read: No such file or directory"), (".", "cannot be read: Is a directory")):
            done = self.ycsb("merge", name, "--json", "never.json", code=1)
            self.assertEqual(done.stderr, f"mxkv-ycsb: {name}: {told}\n")
            with self.assertRaises(page.BadInput) as raised:
                page.draw([self.path(name)])
            self.assertEqual(str(raised.exception), f"{self.path(name)}: {told}")
            if LONG or name == "bad.json":  # each process takes a second to load matplotlib
                self.assertEqual(self.plot(name, code=1).stderr, f"plot: {name}: {told}\n")
        self.assertFalse(os.path.exists(self.path("never.json")))

    def test_file_that_cannot_be_written_is_found_before_the_run(self) -> None:
        for flag, name in (("--json", "none/x.json"), ("--csv", "none/x.csv"), ("--hgrm", "none/x")):
            done = self.client("run", "--workload", "c", flag, name, code=2)
            self.assertRegex(done.stderr, r"^mxkv-ycsb: none.*: cannot be written.*: No such file or directory\n$")
            self.assertEqual(done.stdout, "")
