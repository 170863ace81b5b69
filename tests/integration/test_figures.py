"""bench/figures/run on tiny sizes: every figure yields points of the common form, and the page shows them all."""

import importlib.util
import json
import math
import os
import pathlib
import re
import shutil
import unittest
import xml.etree.ElementTree

from harness import ProgramRun

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("MXKV_FIGURES_BUILD")
FIELDS = {"figure": str, "series": str, "x": (int, float, str), "y": (int, float), "unit": str, "parameters": dict,
          "machine": dict, "commit": str}


@unittest.skipUnless(BUILD, "the figures' programs are not part of this build")
class FiguresTest(ProgramRun):
    """One run; the tests check its output."""

    COMMAND = (ROOT / "bench" / "figures" / "run", "--build", BUILD)

    def page(self) -> str:
        return (self.output / "index.html").read_text(encoding="utf-8")

    def described(self) -> list[dict]:
        return json.loads((ROOT / "bench" / "figures" / "paper.json").read_text(encoding="utf-8"))

    def values(self, figure: str, unit: str) -> dict:
        """y by (series, x)."""
        lines = (self.output / f"{figure}.jsonl").read_text(encoding="utf-8").splitlines()
        return {(point["series"], point["x"]): point["y"] for point in map(json.loads, lines) if point["unit"] == unit}

    def test_every_figure_yields_points_of_the_one_form(self) -> None:
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        for figure in self.described():
            lines = (self.output / f"{figure['figure']}.jsonl").read_text(encoding="utf-8").splitlines()
            self.assertTrue(lines, figure["figure"])
            for line in lines:
                point = json.loads(line)
                self.assertIn(list(point), (list(FIELDS), [*FIELDS, "rounds"]), line)
                if "rounds" in point:
                    self.assertEqual(sorted(point["rounds"])[len(point["rounds"]) // 2], point["y"], line)
                for field, kind in FIELDS.items():
                    self.assertIsInstance(point[field], kind, line)
                self.assertEqual(point["figure"], figure["figure"])
                self.assertTrue(math.isfinite(point["y"]), line)

    # The tests below do not depend on the speed of the machine.

    def test_las_keeps_requests_on_their_nodes_where_there_are_enough_for_all(self) -> None:
        for unit in ("remote steps a request", "remote MB a request"):
            counted = self.values("las", unit)
            shapes = {shape for _, shape in counted}
            self.assertEqual(len(shapes), 18)
            for shape in shapes:
                self.assertGreater(counted["NLS", shape], 0, shape)
                if not shape.endswith("one request"):
                    self.assertLess(counted["LAS", shape], 0.02 * counted["NLS", shape], f"{shape}, {unit}")

    def test_a_scan_of_remote_bytes_takes_longer_by_the_baseline(self) -> None:
        # This figure is simulated, so it is the same on each machine.
        for shape in ("32 scans, merged, 16 at a time", "32 scans, merged, 6 at a time"):
            took = self.values("las", "ms a request, simulated NUMA")
            self.assertLess(took["LAS", shape], took["NLS", shape], shape)

    def test_the_shares_of_the_workers_are_those_of_all_tasks(self) -> None:
        shares = self.values("toggle-stealing", "% of the tasks")
        sums = {}
        for (series, x), share in shares.items():
            sums.setdefault((series, x.rpartition(", ")[0]), []).append(share)
        self.assertEqual(len(sums), 14)
        for (series, name), parts in sums.items():
            self.assertAlmostEqual(sum(parts), 100, delta=0.1, msg=f"{series}, {name}")
            if series == "round robin":
                self.assertEqual(parts, [100 / len(parts)] * len(parts), name)

    def test_hosts_run_the_tasks_of_their_buckets(self) -> None:
        shares = self.values("toggle-stealing", "% of the tasks")
        away = self.values("toggle-stealing", "% of the tasks away from their buckets")
        for series in ("Toggle, no stealing", "by the lowest bucket"):
            self.assertEqual(shares[series, "one bucket, worker 0"], 100, series)
        for x in ("one bucket", "random"):
            self.assertEqual(away["Toggle, no stealing", x], 0)
            for worker in (0, 1):
                at = f"{x}, worker {worker}"
                self.assertAlmostEqual(shares["Toggle, no stealing", at], shares["by the lowest bucket", at], delta=0.01)
        at_random = [shares["by the lowest bucket", f"random, worker {worker}"] for worker in (0, 1)]
        self.assertGreater(at_random[0], at_random[1], "of 16 buckets, in turn, lower ones have more tasks")

    @unittest.skipUnless(shutil.which("valgrind"), "cache misses are counted by valgrind")
    def test_a_larger_hierarchy_misses_more(self) -> None:
        misses = self.values("toggle-size", "misses of first-level data caches a task")
        for series in ("round robin", "tasks in one interval queue", "Toggle", "Toggle, no hosts"):
            self.assertGreater(misses[series, 10_000], misses[series, 100] + 1, series)

    def test_a_join_has_a_task_for_each_batch(self) -> None:
        tasks = self.values("hash-join", "thousand tasks a join")
        rows = self.values("hash-join", "MB")["inputs", "all"] * 1e6 / 16
        for batch in (1, 4):
            self.assertGreaterEqual(tasks["MxTasks", batch] * 1e3, rows / batch, batch)
            self.assertLess(tasks["MxTasks", batch] * 1e3, 1.2 * rows / batch + 200, "what is left at the end, and who partitions")

    def test_models_do_the_operations_that_their_charts_name(self) -> None:
        updates = self.values("models", "% of reads and updates that update")
        tasks = self.values("models", "tasks a look-up")
        for point, share in updates.items():
            self.assertAlmostEqual(share, 50, delta=7, msg=point)
        for (series, x), number in tasks.items():
            if series.startswith("MxTasks"):
                self.assertGreaterEqual(number, 1, (series, x))
            else:
                self.assertLess(number, 0.1, (series, x))
        self.assertGreater(tasks["MxTasks", "serialized, uniform"], tasks["MxTasks", "optimistic, uniform"],
                           "each node that is serialized is a hop of its own")
        self.assertGreater(self.values("models", "% of the draws")["zipfian", "of a hundredth of the keys"], 10)

    def test_ratios_are_those_of_the_rates(self) -> None:
        rates, ratios = self.values("stealing", "tasks/s"), self.values("stealing", "on / off")
        for (series, skew), ratio in ratios.items():
            rate = rates["on" if series == "ratio" else series, skew]
            self.assertAlmostEqual(ratio, rate / rates["off", skew], delta=0.01 * ratio, msg=f"{series}, {skew}")
        rates = self.values("prefetch", "million operations/s")
        stalls = self.values("prefetch", "ns an operation stalls (estimate)")
        self.assertEqual(len(stalls), 12)
        for series in ("look-ups, uniform", "look-ups, zipfian", "reads and updates, zipfian"):
            cached = rates[series.split(",")[0] + ", cached", "2"]
            self.assertAlmostEqual(stalls[series, "2"], (1 / rates[series, "2"] - 1 / cached) * 1e3, delta=0.1, msg=series)

    @unittest.skipUnless(shutil.which("valgrind"), "instructions are counted by valgrind")
    def test_prefetching_costs_instructions(self) -> None:
        counted = self.values("prefetch", "instructions")
        off, distance, at_spawn = (counted["instructions of a look-up", mode] for mode in ("off", "2", "at-spawn"))
        self.assertGreater(distance, off)
        self.assertAlmostEqual(at_spawn / off, 1, delta=0.05, msg="tasks take their turns in one loop")

    def test_the_page_is_well_formed_and_has_a_chart_for_each_figure(self) -> None:
        page = xml.etree.ElementTree.fromstring(self.page().split("\n", 1)[1])
        titles = [heading.text for heading in page.iter("h2")]
        self.assertEqual(titles, [figure["title"] for figure in self.described()])
        drawn = {figure.get("aria-label") for figure in page.iter("figure")}
        self.assertEqual(drawn, set(titles))
        self.assertNotIn("Not measured in this run", self.page())

    def test_what_the_papers_say_names_points_that_exist(self) -> None:
        for figure in self.described():
            lines = (self.output / f"{figure['figure']}.jsonl").read_text(encoding="utf-8").splitlines()
            points = [(point["series"], f"{point['x']:g}" if not isinstance(point["x"], str) else point["x"],
                       point["unit"]) for point in map(json.loads, lines)]
            if figure["figure"] == "cycles" and not any(series == "tree" for series, _, _ in points):
                self.assertRegex(self.done.stderr, "cycles: .*(perf|addr2line|readelf).*, time is not divided")
                continue
            for fact in figure["facts"]:
                self.assertNotEqual("ours" in fact, "instead" in fact, fact)
                ours = dict(fact.get("ours", {}))
                unit = ours.pop("unit", None)
                for names in ours.values():
                    for name in names if isinstance(names[0], list) else [names]:
                        self.assertTrue(any((series, x) == tuple(name) and unit in (None, point_unit)
                                            for series, x, point_unit in points), f"{figure['figure']}: {fact}")

    def test_the_kept_results_are_of_the_same_facts(self) -> None:
        def facts(file):
            rows = [line.split(" | ") for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
            return [row[:2] if len(row) == 5 else row[0] for row in rows]

        kept = ROOT / "bench" / "figures" / "RESULTS.md"
        self.assertEqual(facts(kept), facts(self.output / "RESULTS.md"))
        for line in kept.read_text(encoding="utf-8").splitlines():
            if line.startswith("| ") and len(cells := line.split(" | ")) == 5:
                self.assertTrue(cells[2] != "not measured" or cells[4] == "- |", line)

    def test_an_unknown_figure_is_refused(self) -> None:
        refused = self.run_program("--only", "none")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("invalid choice: 'none'", refused.stderr)


class CyclesTest(unittest.TestCase):
    """The categories of samples."""

    @classmethod
    def setUpClass(cls) -> None:
        spec = importlib.util.spec_from_file_location("cycles", ROOT / "bench" / "figures" / "cycles.py")
        cls.cycles = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.cycles)

    def test_the_first_row_that_knows_any_of_the_functions_gets_the_sample(self) -> None:
        stretch = "unsigned long mxkv::runtime::detail::run_stretch<mxkv::bench::ReadTask>(mxkv::runtime::Worker&)"
        descent = ("mxkv::index::TraverseTask<mxkv::bench::ReadTask, mxkv::index::IntegerTraits"
                   "<mxkv::index::NodeShape<6u, 6u> > >::inspect(mxkv::index::Scratch&) const")
        for frames, category in (
                (["std::__atomic_base<unsigned long>::load(std::memory_order) const",
                  "mxkv::runtime::OptimisticRead::valid() const", descent, stretch], "synchronization"),
                (["std::__atomic_base<unsigned long>::load(std::memory_order) const", descent, stretch], "tree"),
                ([stretch], "runtime"),
                (["mxkv::runtime::MxTask::prefetch() const"], "prefetching"),
                (["mxkv::runtime::prefetch_read(void const*)", "bool mxkv::bench::DirectWalk<mxkv::index::IntegerTraits<"
                  "mxkv::index::NodeShape<6u, 6u> >, mxkv::bench::VersionGuard>::look_up<mxkv::index::line_compare::ByLines>"
                  "(unsigned long, unsigned long&) const"], "prefetching"),
                (["mxkv::bench::DirectWalk<mxkv::index::IntegerTraits<mxkv::index::NodeShape<6u, 6u> >, "
                  "mxkv::bench::VersionGuard>::leaf_of(unsigned long) const"], "tree"),
                (["tbb::detail::d1::task_group_base::run()"], "runtime"),
                (["void mxkv::bench::(anonymous namespace)::do_operation<int>(mxkv::bench::SharedWork&)"], "runtime"),
                (["mxkv::runtime::Random::operator()()", "mxkv::bench::ReadTask::next(bool)"], "choosing keys"),
                (["??"], "rest")):
            with self.subTest(category):
                self.assertEqual(self.cycles.category_of(frames), category)

    def test_every_function_of_the_table_exists(self) -> None:
        sources = "".join(file.read_text(encoding="utf-8") for folder in ("runtime", "index", "bench")
                          for file in (ROOT / folder).rglob("*.[ch]pp"))
        for category, _, functions in self.cycles.CATEGORIES:
            for function in functions:
                with self.subTest(function):
                    name = function.rstrip(":").split("::")[-1]
                    self.assertTrue(re.search(rf"\b{name}", sources), category)

    def test_addresses_are_the_programs_own(self) -> None:
        program = object.__new__(self.cycles.Program)
        program.segments = [(0, 0, 0x1000), (0x1000, 0x2000, 0x500)]  # the second page is linked one page further on
        program.mapped = []
        program.map(0x7000_0000_1000, 0x1000, 0x1000)
        self.assertEqual(program.address(0x7000_0000_1234), 0x2234)
        self.assertIsNone(program.address(0x7000_0000_1600), "behind the segment")
        self.assertIsNone(program.address(0x1234), "no part of the program")


if __name__ == "__main__":
    unittest.main()
