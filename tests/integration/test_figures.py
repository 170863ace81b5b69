"""bench/figures/run on tiny sizes: every figure yields points of the one form, and the page shows them all."""

import importlib.util
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
FIELDS = {"figure": str, "series": str, "x": (int, float, str), "y": (int, float), "unit": str, "parameters": dict,
          "machine": dict, "commit": str}
# A difference of two times, an idle server's time, and what is stolen in an instant.
MAY_BE_NOTHING = {("a queued hop", 4.0), ("mxkvd", "nobody asks"), ("stolen", "80 % on one worker")}


@unittest.skipUnless(BUILD, "the figures' programs are not part of this build")
class FiguresTest(ProgramRun):
    """One run; the tests look at what it wrote."""

    COMMAND = (ROOT / "bench" / "figures" / "run", "--build", BUILD)

    def page(self) -> str:
        return (self.output / "index.html").read_text(encoding="utf-8")

    def described(self) -> list[dict]:
        return json.loads((ROOT / "bench" / "figures" / "paper.json").read_text(encoding="utf-8"))

    @staticmethod
    def may_be_nothing(point: dict) -> bool:
        """Most parts of an operation's time get no sample in so short a run, what stays local has no remote steps, and
        a worker may be idle."""
        return ((point["series"], point["x"]) in MAY_BE_NOTHING or point["unit"] == "moves" or point["unit"] == "% of the tasks"
                or point["unit"].startswith("remote ")
                or point["figure"] == "cycles" and point["series"] != "whole operation")

    def test_every_figure_yields_points_of_the_one_form(self) -> None:
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        for figure in self.described():
            lines = (self.output / f"{figure['figure']}.jsonl").read_text(encoding="utf-8").splitlines()
            self.assertTrue(lines, figure["figure"])
            for line in lines:
                point = json.loads(line)
                self.assertEqual(list(point), list(FIELDS), line)
                for field, kind in FIELDS.items():
                    self.assertIsInstance(point[field], kind, line)
                self.assertEqual(point["figure"], figure["figure"])
                if not self.may_be_nothing(point):
                    self.assertGreater(point["y"], 0, line)

    def test_the_page_is_well_formed_and_has_a_chart_for_each_figure(self) -> None:
        page = xml.etree.ElementTree.fromstring(self.page().split("\n", 1)[1])
        titles = [heading.text for heading in page.iter("h2")]
        self.assertEqual(titles, [figure["title"] for figure in self.described()])
        drawn = {svg.get("aria-label") for svg in page.iter("{http://www.w3.org/2000/svg}svg")}
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

    def test_an_unknown_figure_is_refused(self) -> None:
        refused = self.run_program("--only", "none")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("invalid choice: 'none'", refused.stderr)

    def test_a_line_that_is_no_point_is_refused_with_its_number(self) -> None:
        points = self.output / "bad.txt"
        good = (self.output / "prefetch.jsonl").read_text(encoding="utf-8").splitlines()[0]
        points.write_text(f'{good}\n{{"figure": "prefetch"}}\n', encoding="utf-8")
        refused = subprocess.run([pathlib.Path(BUILD) / "bench" / "figures" / "figures-page",
                                  ROOT / "bench" / "figures" / "paper.json", points],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("point 2: ", refused.stderr)


class CyclesTest(unittest.TestCase):
    """How samples get their categories."""

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
        program.segments = [(0, 0, 0x1000), (0x1000, 0x2000, 0x500)]  # a second page that is linked one page on
        program.mapped = []
        program.map(0x7000_0000_1000, 0x1000, 0x1000)
        self.assertEqual(program.address(0x7000_0000_1234), 0x2234)
        self.assertIsNone(program.address(0x7000_0000_1600), "behind the segment")
        self.assertIsNone(program.address(0x1234), "no part of the program")


if __name__ == "__main__":
    unittest.main()
