"""Charts: no text lies on another however much is drawn, lines and bars are where their values are."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "bench" / "plot"))

import charts  # noqa: E402: found by the line above

LONG = ["50/50 read/update, uniform", "insert, uniform", "load, random order", "scan of 100, zipfian", "read, uniform"]


class ChartsTest(unittest.TestCase):
    def bars(self, groups, names, line=None, log=False):
        """A figure whose values differ by eight orders of magnitude."""
        values = {name: [10 ** (7 * (i + g) / (len(names) + len(groups))) for g in range(len(groups))]
                  for i, name in enumerate(names)}
        self.figure = charts.bars("a title", charts.Axis("million operations/s", log=log), groups, values, line)
        self.addCleanup(charts.pyplot.close, self.figure)
        return self.figure

    def lines(self, x, y, series):
        self.figure = charts.lines("a title", x, y, series)
        self.addCleanup(charts.pyplot.close, self.figure)
        return self.figure.axes[0]

    def test_no_text_of_bars_lies_on_another(self):
        for groups, names in ((["whole run"], ["a"]), (LONG, ["mxkv", "redis"]), (LONG * 3, LONG), (["x"], LONG * 2),
                              ([f"READ p{i}" for i in range(15)], ["left", "right", "third"])):
            groups = [f"{name} {i}" for i, name in enumerate(groups)]
            names = [f"{name} {i}" for i, name in enumerate(names)]
            for log in (False, True):
                with self.subTest(groups=len(groups), names=len(names), log=log):
                    self.assertEqual(charts.overlapping_texts(self.bars(groups, names, names[0], log)), [])

    def test_no_text_of_lines_lies_on_another(self):
        for count in (2, 9, 40):
            ticks = [(2 ** i, charts.short_number(2 ** i)) for i in range(count)]
            series = [charts.Series(f"{name} {i}", [(x, x + i) for x, _ in ticks], i) for i, name in enumerate(LONG * 2)]
            with self.subTest(ticks=count):
                self.lines(charts.Axis("records a task", ticks, log=True), charts.Axis("latency", log=True), series)
                self.assertEqual(charts.overlapping_texts(self.figure), [])

    def test_texts_that_lie_on_each_other_are_found(self):
        self.bars(["one", "two"], ["a"])
        axes = self.figure.axes[0]
        axes.text(0.5, 0.5, "first", transform=axes.transAxes)
        axes.text(0.51, 0.5, "second", transform=axes.transAxes)
        self.assertIn(("first", "second"), charts.overlapping_texts(self.figure))

    def test_every_bar_and_every_value_is_there(self):
        figure = charts.bars("t", charts.Axis("ns"), ["g", "h"], {"a": [1, 2500], "b": [None, 3], "floor": [2, 2]}, "floor")
        self.addCleanup(charts.pyplot.close, figure)
        axes = figure.axes[0]
        self.assertEqual([bar.get_height() for bar in axes.patches], [1, 2500, 3])
        self.assertLessEqual({"1", "2.5k", "3"}, {text.get_text() for text in axes.texts})
        self.assertEqual({text.get_text() for text in axes.get_legend().get_texts()}, {"a", "b", "floor"})
        self.assertGreater(axes.get_ylim()[1], 2500, "there is room for the value")

    def test_lines_go_through_their_points_and_share_colours(self):
        axes = self.lines(charts.Axis("x"), charts.Axis("y"), [charts.Series("a", [(0, 1), (2, 4)], 3),
                                                               charts.Series("b", [(0, 2)], 3, dashed=True)])
        first, second = axes.get_lines()
        self.assertEqual([list(first.get_xdata()), list(first.get_ydata())], [[0, 2], [1, 4]])
        self.assertEqual(first.get_color(), second.get_color())
        self.assertNotEqual(first.get_linestyle(), second.get_linestyle())
        self.assertEqual(axes.get_ylim()[0], 0)

    def test_a_negative_value_is_drawn_from_zero_downwards(self):
        figure = charts.bars("t", charts.Axis("ns"), ["g", "h"], {"a": [-5, 10], "b": [2, -20]})
        self.addCleanup(charts.pyplot.close, figure)
        axes = figure.axes[0]
        self.assertLess(axes.get_ylim()[0], -20)
        self.assertGreater(axes.get_ylim()[1], 10)
        self.assertLessEqual({"-5", "-20"}, {text.get_text() for text in axes.texts})
        self.assertEqual(charts.overlapping_texts(figure), [])
        axes = self.lines(charts.Axis("x"), charts.Axis("y"), [charts.Series("a", [(0, 1), (1, -3), (2, 2)])])
        self.assertLess(axes.get_ylim()[0], -3)

    def test_no_two_series_of_a_chart_look_alike(self):
        count = 3 * len(charts.COLORS)
        names = [f"series {i}" for i in range(count)]
        axes = self.bars(["g"], names).axes[0]
        self.assertEqual(len({(bar.get_facecolor(), bar.get_hatch()) for bar in axes.patches}), count)
        self.assertEqual(charts.overlapping_texts(self.figure), [])
        axes = self.lines(charts.Axis("x"), charts.Axis("y"),
                          [charts.Series(name, [(x, x + i) for x in range(60)], i) for i, name in enumerate(names)])
        self.assertEqual(len({(line.get_color(), line.get_marker()) for line in axes.get_lines()}), count)

    def test_numbers_are_short(self):
        self.assertEqual([charts.short_number(value) for value in (0, 0.00123, 850, 999.7, 12345, 2.5e6, 3e9)],
                         ["0", "0.00123", "850", "1k", "12.3k", "2.5M", "3G"])
        self.assertEqual([charts.short_latency(us) for us in (0, 0.85, 850, 1234, 2.5e6)],
                         ["0", "850 ns", "850 µs", "1.23 ms", "2.5 s"])

    def test_svg_is_one_element_that_loads_nothing(self):
        text = charts.svg(self.bars(["g"], ["a <&>"]))
        self.assertTrue(text.startswith("<svg") and text.rstrip().endswith("</svg>"))
        self.assertNotIn("<script", text)
        self.assertNotRegex(text, r"(?:src|href)=\"[^#]|@import")


if __name__ == "__main__":
    unittest.main()
