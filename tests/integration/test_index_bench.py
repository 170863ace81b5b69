"""bench/index/run on tiny sizes: all containers and workloads yield points, every result is verified, a page shows them."""

import json
import os
import pathlib
import re
import subprocess
import unittest
import xml.etree.ElementTree

from harness import ProgramRun

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("MXKV_FIGURES_BUILD")
POINT = {"records": str, "what": str, "by": str, "workers": int, "container": str, "in_flight": int,
         "median": (int, float), "least": (int, float), "most": (int, float), "rounds": int, "unit": str}
OURS, ROWS, HAND, LINES = "mxkv", "mxkv, in rows", "static tree by hand", "random lines"
ABSL, TBB = "absl::btree_map", "tbb::concurrent_map"


@unittest.skipUnless(BUILD, "the programs of bench/index are not part of this build")
class IndexBenchTest(ProgramRun):
    """One run; the tests check its output."""

    COMMAND = (ROOT / "bench" / "index" / "run", "--build", BUILD)
    FLAGS = ("--quick", "--keys", "2000")

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.points = [json.loads(line) for file in cls.output.glob("*.jsonl")
                      for line in file.read_text(encoding="utf-8").splitlines()[1:]]

    def measured(self, records: str, workers: int) -> set[tuple[str, str, str]]:
        return {(point["container"], point["what"], point["by"]) for point in self.points
                if (point["records"], point["workers"]) == (records, workers) and point["unit"] != "bytes"}

    def test_every_line_is_a_point_of_the_one_form(self) -> None:
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        for point in self.points:
            self.assertEqual(list(point), list(POINT), point)
            for field, kind in POINT.items():
                self.assertIsInstance(point[field], kind, point)
            self.assertGreater(point["least"], 0, point)
            self.assertLessEqual(point["least"], point["median"], point)
            self.assertLessEqual(point["median"], point["most"], point)

    def test_every_workload_is_measured_on_whatever_can_do_it(self) -> None:
        inserting = {("insert", by) for by in ("uniform", "ascending")}
        mixed = {("50/50 read/update", by) for by in ("uniform", "zipfian")}
        changing = {("load", "random order")} | inserting
        spread = {(what, by) for what in ("read", "50/50 read/update", "scan of 100") for by in ("uniform", "zipfian")}
        reading = {("read", by) for by in ("uniform", "zipfian")}
        scanning = {("scan of 100", by) for by in ("uniform", "zipfian")}
        for workers in (1, 2):
            by_hand = reading | mixed | inserting if workers == 1 else reading
            expected = {OURS: changing | spread, ROWS: reading, HAND: by_hand, LINES: reading,
                        ABSL: changing | spread if workers == 1 else reading | scanning, TBB: changing | spread}
            for name, workloads in expected.items():
                mine = {(what, by) for container, what, by in self.measured("64-bit", workers) if container == name}
                with self.subTest(name, workers=workers):
                    self.assertTrue(mine == workloads or (name in (ABSL, TBB) and not mine), mine)
            for records in ("24-byte", "100-byte", "250-byte"):
                mine = {(what, by) for container, what, by in self.measured(records, workers) if container == OURS}
                self.assertEqual(mine, changing | spread)
        self.assertNotIn((TBB, "50/50 read/update", "uniform"), self.measured("24-byte", 2))

    def test_operations_in_flight_are_a_series_where_there_are_any(self) -> None:
        for name in (OURS, ROWS, HAND, LINES):
            flights = {point["in_flight"] for point in self.points if point["container"] == name
                       and point["what"] == "read" and point["records"] == "64-bit"}
            self.assertEqual(flights, {1, 16, 64}, name)

    def test_memory_is_told_by_part_and_holds_key_and_value(self) -> None:
        for records, payload in (("24-byte", 124), ("100-byte", 200), ("250-byte", 350)):
            parts = {point["by"]: point["median"] for point in self.points
                     if (point["records"], point["container"], point["unit"]) == (records, OURS, "bytes")}
            self.assertEqual(parts["items: keys and values"], payload)
            self.assertEqual(parts["leaves: heads or keys"], 8)
            self.assertIn("leaves: unused slots", parts)
            self.assertIn("fences and separators", parts)

    def test_the_table_has_ours_beside_the_ceiling(self) -> None:
        self.assertRegex(self.done.stdout, r"64-bit keys, 1 worker\(s\)")
        self.assertRegex(self.done.stdout, r"\| read, uniform +\| [0-9.e+-]+ \(\d+\)")
        self.assertRegex(self.done.stdout, r"\| 24-byte +\| mxkv +\| beyond key and value +\| [0-9.]+")

    def test_what_is_sought_stands_beside_what_was_found(self) -> None:
        for row in ("look-ups / by hand, one worker", "look-ups in rows / by hand, one worker", "look-ups, two workers / one",
                    "50/50 / look-ups by hand, one worker"):
            self.assertRegex(self.done.stdout, rf"\n{row} +\d+\.\d\d +\d\.\d+ +\d\.\d+  (no|reached|aim)\n")

    def test_the_page_is_well_formed_and_draws_throughput_against_operations_in_flight(self) -> None:
        text = (self.output / "index.html").read_text(encoding="utf-8")
        page = xml.etree.ElementTree.fromstring(text.split("\n", 1)[1])
        drawn = {figure.get("aria-label") for figure in page.iter("figure")}
        for title in ("Look-ups, uniform: 64-bit keys, 1 worker", "Random lines of memory: 64-bit keys, 1 worker",
                      "Workloads, zipfian: 24-byte keys, 2 workers", "Scans of 100: 250-byte keys, 1 worker",
                      "mxkv by operations in flight: 64-bit keys, 2 workers"):
            self.assertIn(title, drawn)

    def test_what_does_not_fit_the_memory_is_left_out_and_said(self) -> None:
        refused = self.run_program("--keys", "1000000000000", "--records", "24-byte")
        self.assertEqual(refused.returncode, 1)
        self.assertRegex(refused.stderr, "24-byte: left out, 1000000000000 entries need about")

    def test_beside_another_build_every_row_has_a_ratio_and_what_is_worse_is_named(self) -> None:
        done = self.run_program("--quick", "--keys", "2000", "--records", "64-bit", "--workers", "1", "--only", "load", "--only",
                                "read", "--beside", BUILD, "--tolerance", "0.0001")
        self.assertEqual(done.returncode, 0, done.stderr)
        measured = ("load, random order, 1 worker(s)", "read, uniform, 1 worker(s)", "read, zipfian, 1 worker(s)")
        for row in (*measured, "bytes an entry beyond texts"):
            self.assertRegex(done.stdout, rf"\n64-bit {re.escape(row)} +\S+ +\S+ +\d+\.\d{{3}}  \S+  worse\n")
        self.assertRegex(done.stdout, r"\nworse than 0.0001 times beside: 64-bit load, .*, 64-bit bytes an entry .* \(1.000\)\n$")
        refused = self.run_program("--against", "no-such-commit")
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("no-such-commit is no commit of", refused.stderr)

    def test_wrong_flags_are_refused_and_nothing_is_measured(self) -> None:
        program = pathlib.Path(BUILD) / "bench" / "index" / "index_bench"
        for flags, told in ((("--records", "7-byte"), "--records"), (("--workers", "0"), "--workers"),
                            (("--in-flight", "1,999"), "--in-flight"), (("--only", "sleep"), "--only")):
            refused = subprocess.run([program, *flags], capture_output=True, text=True, check=False)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""), refused.stderr)
            self.assertIn(told, refused.stderr)


if __name__ == "__main__":
    unittest.main()
