"""Pages: every point is drawn and listed, facts are of the points they name, and bad input is one error."""

import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
PLOT = ROOT / "bench" / "plot" / "plot"
sys.dont_write_bytecode = True
sys.path.insert(0, str(PLOT.parent))

import drawing  # noqa: E402: found by the line above
import ycsb_page  # noqa: E402

MACHINE = {"cpu": "C", "cpus": 2, "kernel": "K"}


def point(series, x, y, unit="ns", figure="f"):
    return {"figure": figure, "series": series, "x": x, "y": y, "unit": unit, "parameters": {"rounds": 1},
            "machine": MACHINE, "commit": "abc"}


def tree_point(**changes):
    return {"records": "64-bit", "what": "read", "by": "uniform", "workers": 1, "container": "mxkv", "in_flight": 16,
            "median": 12.5, "least": 12, "most": 13, "rounds": 3, "unit": "million/s", **changes}


class PageCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mxkv-plot-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, *values):
        """Values as lines of JSON; a text as it is."""
        path = self.folder / name
        path.write_text("".join((value if isinstance(value, str) else json.dumps(value)) + "\n" for value in values), "utf-8")
        return path

    def run_plot(self, *arguments):
        return subprocess.run([PLOT, *arguments, "-o", self.folder / "page.html"], capture_output=True, text=True, check=False)

    def page(self, *arguments):
        done = self.run_plot(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.text = (self.folder / "page.html").read_text("utf-8")
        self.assertNotRegex(self.text, r"<script|@import")
        return xml.etree.ElementTree.fromstring(self.text.split("\n", 1)[1])

    def rows(self, page):
        return [[cell.text or "" for cell in row] for row in page.iter("tr")]

    def charts(self, page):
        return [figure.get("aria-label") for figure in page.iter("figure")]

    def expect_refused(self, told, *arguments):
        done = self.run_plot(*arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, rf"^plot: {told}.*\n$")
        self.assertFalse((self.folder / "page.html").exists())


class FiguresTest(PageCase):
    FACT = {"what": "w", "paper": "1.45", "ours": {"ratio": [["a", "off"], ["b", "off"]], "unit": "ns"}}

    def description(self, *facts, **more):
        return self.file("papers.json", [{"figure": "f", "title": "A <figure>", "source": "S", "setting": "T",
                                          "facts": facts, **more}])

    def test_a_ratio_is_of_the_points_in_the_unit_that_is_asked_for(self):
        points = self.file("p.jsonl", point("a", "off", 50, "kB"), point("a", "off", 3), point("b", "off", 2))
        page = self.page("figures", self.description(self.FACT), points)
        self.assertIn(["w", "1.45", "1.5"], self.rows(page))
        self.assertEqual(self.charts(page), ["A <figure>"] * 2, "one for each unit")
        self.assertIn(["b", "off", "2", "ns"], self.rows(page))

    def test_a_number_as_x_is_named_by_its_text(self):
        fact = {"what": "d", "paper": "-", "ours": {"difference": [["a", "16"], ["a", "0.5"]]}}
        page = self.page("figures", self.description(fact), self.file("p.jsonl", point("a", 16, 9), point("a", 0.5, 2)))
        self.assertIn(["d", "-", "7"], self.rows(page))

    def test_a_table_judges_each_fact_by_its_bounds_and_keeps_rows_without_points(self):
        facts = [{**self.FACT, "holds": [1.2, None], "why": {"abc": "weaker"}}, {**self.FACT, "what": "x", "holds": [None, 1.2]},
                 {**self.FACT, "what": "old", "ours": {"point": ["gone", "off"]}, "holds": [5, None]}]
        matrix = {"what": "M", "x": ["off", "none"], "columns": [{"name": "a / b", "ratio": ["a", "b"], "unit": "ns"}]}
        first = {**point("a", "off", 3), "rounds": [2, 3, 4]}
        points = self.file("p.jsonl", first, {**point("b", "off", 2), "rounds": [2, 2, 2]})
        kept = self.folder / "kept.md"
        kept.write_text("## A <figure>\n| old | 1.45 | 4.9 (4 to 6) | - | earlier |\n", encoding="utf-8")
        table = self.folder / "table.md"
        self.page("figures", self.description(*facts, matrix=matrix), points, "--table", table, "--kept", kept)
        text = table.read_text(encoding="utf-8")
        self.assertIn("\n| w | 1.45 | 1.5 (1 to 2) | yes: weaker | abc |\n", text)
        self.assertIn("\n| x | 1.45 | 1.5 (1 to 2) | no | abc |\n", text)
        self.assertIn("\n| old | 1.45 | 4.9 (4 to 6) | no | earlier |\n", text)
        self.assertIn("\n| off | 1.5 |\n| none | - |\n", text)
        kept.write_text(text, encoding="utf-8")
        self.page("figures", self.description(*facts, matrix=matrix), "--table", table, "--kept", kept)
        self.assertEqual(table.read_text(encoding="utf-8"), text, "without points all is kept")

    def test_what_was_not_measured_is_said(self):
        page = self.page("figures", self.description(self.FACT, {"what": "v", "paper": "2", "instead": "no <counters>"}))
        self.assertIn(["w", "1.45", "not measured"], self.rows(page))
        self.assertIn(["v", "2", "no <counters>"], self.rows(page))
        self.assertIn("Not measured in this run.", self.text)

    def test_a_page_of_its_own_has_its_words(self):
        description = self.file("own.json", {"title": "t", "heading": "H", "reference": "sought", "figures": [
            {"figure": "f", "title": "F", "source": "S", "setting": "T", "line": "floor", "facts": [self.FACT]}]})
        page = self.page("figures", description, self.file("p.jsonl", point("a", "off", 3), point("floor", "off", 2)))
        self.assertEqual(page.find(".//h1").text, "H")
        self.assertIn(["what", "sought", "here"], self.rows(page))

    def test_a_line_that_is_no_point_is_refused_with_its_number(self):
        for bad in ({"figure": "f"}, "{", [], point("a", "x", "high"), {**point("a", "x", 1), "machine": 3}):
            with self.subTest(bad):
                self.expect_refused("point 2: ", "figures", self.description(), self.file("p.jsonl", point("a", "x", 1), bad))

    def test_a_figure_that_nothing_describes_is_refused(self):
        self.expect_refused("the description of the page does not know the figure g", "figures", self.description(),
                            self.file("p.jsonl", point("a", "x", 1, figure="g")))


class IndexTest(PageCase):
    def test_points_are_drawn_by_kind_and_listed(self):
        points = [tree_point(), tree_point(in_flight=64, median=20), tree_point(container="static tree by hand", in_flight=1),
                  tree_point(container="random lines"), tree_point(what="scan of 100"),
                  tree_point(what="load", by="bytes", unit="bytes", median=11.5)]
        page = self.page("index", self.file("p.jsonl", {"keys": 5, "machine": MACHINE, "commit": "abc"}, *points))
        self.assertEqual(self.charts(page), [f"{name}: 64-bit keys, 1 worker" for name in (
            "Look-ups, uniform", "Random lines of memory", "mxkv by operations in flight", "Workloads, uniform", "Scans of 100")])
        self.assertIn(["read, uniform", "mxkv", "64", "20", "12", "13"], self.rows(page))
        self.assertIn(["mxkv", "sum", "11.5"], self.rows(page))
        self.assertIn("&quot;abc&quot;", self.text)

    def test_a_line_that_is_no_point_is_refused_with_its_number(self):
        for bad in ("{", {}, {"records": 5}, tree_point(in_flight=0), tree_point(median=-1)):
            with self.subTest(bad):
                self.expect_refused(".*p.jsonl: line 2: ", "index", self.file("p.jsonl", tree_point(), bad))


class ResultNamesTest(unittest.TestCase):
    """Results of mxkv-ycsb are named by label, else by file."""

    class Result:
        def __init__(self, label):
            self.json = {"clients": [{"label": label}]}
            self.name = ""

    def names(self, *labelled):
        results = [self.Result(label) for _, label in labelled]
        ycsb_page.name_results([file for file, _ in labelled], results)
        return [result.name for result in results]

    def test_a_label_is_used_though_another_result_has_none(self):
        self.assertEqual(self.names(("x/a.json", "before"), ("x/b.json", ""), ("x/c.json", "after")), ["before", "b", "after"])

    def test_what_would_have_one_name_has_its_path(self):
        self.assertEqual(self.names(("x/a.json", ""), ("y/a.json", ""), ("b.json", "label")), ["x/a.json", "y/a.json", "label"])
        self.assertEqual(self.names(("x.json", "same"), ("y.json", "same")), ["same (x.json)", "same (y.json)"])
        self.assertEqual(self.names(("a.json", ""), ("b.json", "a")), ["a.json", "a (b.json)"])


class ProgramTest(PageCase):
    def test_a_note_stands_before_all_else(self):
        page = self.page("index", "--note", "only <a> trial", self.file("p.jsonl", tree_point()))
        self.assertIsNotNone(page)
        before = self.text[:self.text.index("<h2>")]
        self.assertIn('<p class="warning">only &lt;a&gt; trial</p>', before)

    def test_a_trial_run_has_its_note_and_a_whole_one_none(self):
        points = self.file("p.jsonl", tree_point())
        for trial in (False, True):
            page = self.folder / f"{trial}.html"
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(drawing.draw("index", [points], page, trial=trial), "")
            self.assertEqual("trial run by --quick" in page.read_text(), trial)

    def test_usage_is_exit_code_2_and_a_page_that_cannot_be_written_1(self):
        done = subprocess.run([PLOT, "pie", "x", "-o", "y"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        points = self.file("p.jsonl", tree_point())
        done = subprocess.run([PLOT, "index", points, "-o", self.folder / "none" / "page.html"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(re.search(r"^plot: .*none/page.html: No such file or directory\n$", done.stderr), done.stderr)

    def test_without_the_library_it_says_which_is_missing(self):
        for name in ("plot", "charts.py", "page.py", "figures_page.py", "index_page.py", "ycsb_page.py"):
            (self.folder / name).write_bytes(PLOT.with_name(name).read_bytes())
        self.file("matplotlib.py", "raise ModuleNotFoundError('gone', name='matplotlib')")
        done = subprocess.run([sys.executable, "-B", self.folder / "plot", "index", "x", "-o", "y"], capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (3, "plot: matplotlib is not installed (Debian: python3-matplotlib)\n"))


if __name__ == "__main__":
    unittest.main()
