"""Charts of numbers by matplotlib, as SVG: lines over two axes, and groups of bars. They do not know what the numbers mean.

No two texts of a chart may overlap: charts grow with their contents, names that do not fit side by side stand upright, and
`overlapping_texts` finds failures.
"""

import io
import itertools
import math
from dataclasses import dataclass, field

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot, ticker  # noqa: E402: after the choice of the back end

matplotlib.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9, "axes.titlesize": 11, "axes.grid": True,
                            "grid.color": "#e4e8ec", "axes.axisbelow": True, "svg.hashsalt": "mxkv"})
COLORS = ["#0969da", "#bc4c00", "#1a7f37", "#8250df", "#cf222e", "#9a6700", "#1b7c83", "#6e7781", "#bf3989", "#4d2d00"]
# After the last colour the colours repeat, with these markers and hatches.
MARKERS = ["o", "s", "^", "D"]
HATCHES = ["", "///", "...", "xxx"]
INCH_A_BAR = 0.24      # with a value above it
INCH_A_GROUP = 0.45    # at least, and the gap between two groups
TICK_ROOM = 1.15       # for ticks that matplotlib measures a little too small


@dataclass
class Series:
    """A line: (x, y) in ascending x. Lines of one `color` belong together."""

    name: str
    points: list
    color: int = 0
    dashed: bool = False


@dataclass
class Axis:
    """`ticks`: [(position, text)], empty for matplotlib's own. `text`: makes the text of a value."""

    label: str
    ticks: list = field(default_factory=list)
    log: bool = False
    text: object = None


def short_number(value):
    """12.3k, 850: three digits."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * limit:
            return f"{value / limit:.3g}{letter}"
    return f"{value:.3g}"


def short_latency(us):
    """850 µs, 1.2 ms."""
    for limit, unit in ((1e6, "s"), (1e3, "ms"), (1, "µs")):
        if us >= 0.9995 * limit:
            return f"{us / limit:.3g} {unit}"
    return f"{us * 1e3:.3g} ns" if us else "0"


def _look(number, looks):
    """The colour of a series, and the one of `looks` that distinguishes it from others of that colour."""
    return COLORS[number % len(COLORS)], looks[number // len(COLORS) % len(looks)]


def _set_axis(of, axis):
    if axis.log:
        of.axes.set(**{f"{of.axis_name}scale": "log"})
        of.set_minor_formatter(ticker.NullFormatter())
    if axis.ticks:
        of.set_ticks([at for at, _ in axis.ticks], [text for _, text in axis.ticks])
        of.set_minor_locator(ticker.NullLocator())
    else:
        of.set_major_formatter(ticker.FuncFormatter(lambda value, _: (axis.text or short_number)(value)))
    of.set_label_text(axis.label)


def _overlap(boxes):
    return any(left.x1 * TICK_ROOM - left.x0 * (TICK_ROOM - 1) > right.x0 for left, right in itertools.pairwise(boxes))


def _settle(figure, axes):
    """Ticks of x that do not fit side by side stand upright."""
    figure.canvas.draw()
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    if _overlap(sorted((label.get_window_extent() for label in labels), key=lambda box: box.x0)):
        axes.tick_params(axis="x", labelrotation=90)


def _legend(axes):
    """Puts the legend below the ticks and their label."""
    if axes.get_legend_handles_labels()[0]:
        axes.figure.canvas.draw()
        below = axes.get_tightbbox().y0 - axes.get_window_extent().y0
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, below / axes.get_window_extent().height - 0.02), ncols=2,
                    frameon=False, borderaxespad=0)


def lines(title, x, y, series):
    """A figure of lines."""
    figure, axes = pyplot.subplots(figsize=(7, 4))
    axes.set_title(title)
    _set_axis(axes.xaxis, x)
    _set_axis(axes.yaxis, y)
    for line in series:
        color, marker = _look(line.color, MARKERS)
        axes.plot([at for at, _ in line.points], [value for _, value in line.points], label=line.name,
                  color=color, linestyle="--" if line.dashed else "-",
                  marker=marker if len(line.points) < 40 or line.color >= len(COLORS) else "",
                  markevery=max(len(line.points) // 20, 1), markersize=3.5, linewidth=1.6)
    if not y.log and all(value >= 0 for line in series for _, value in line.points):
        axes.set_ylim(bottom=0)
    _settle(figure, axes)
    _legend(axes)
    return figure


def bars(title, y, groups, series, line=None):
    """A figure of bars: `series` is {name: [a value or None for each group]}. The series `line` lies across each group."""
    text = y.text or short_number
    drawn = [name for name in series if name != line]
    pitch = max(INCH_A_BAR * len(drawn) + INCH_A_GROUP, 2 * INCH_A_GROUP)
    figure, axes = pyplot.subplots(figsize=(max(7, 1 + pitch * len(groups)), 4))
    axes.set_title(title)
    _set_axis(axes.yaxis, y)
    width = INCH_A_BAR / pitch
    begin = -width * (len(drawn) - 1) / 2
    for i, name in enumerate(drawn):
        there = [(at + begin + i * width, value) for at, value in enumerate(series[name]) if value is not None]
        color, hatch = _look(i, HATCHES)
        made = axes.bar([at for at, _ in there], [value for _, value in there], width * 0.92, label=name,
                        color=color, hatch=hatch, edgecolor="white" if hatch else color)
        axes.bar_label(made, [text(value) for _, value in there], rotation=90, padding=3, fontsize=7.5)
    if line in series:
        reach = width * max(len(drawn), 1) / 2 + 0.04
        there = [(at, value) for at, value in enumerate(series[line]) if value is not None]
        axes.hlines([value for _, value in there], [at - reach for at, _ in there], [at + reach for at, _ in there],
                    color="#1b1f24", linestyle="--", label=line)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(False, axis="x")
    axes.margins(y=0.3 if y.log else 0.22)  # room for the values above the bars, and below negative bars
    if axes.get_ylim()[0] < 0:
        axes.axhline(0, color="#57606a", linewidth=0.8)
    _settle(figure, axes)
    _legend(axes)
    return figure


def overlapping_texts(figure):
    """Pairs of visible texts that overlap."""
    figure.canvas.draw()
    texts = [text for text in figure.findobj(matplotlib.text.Text) if text.get_visible() and text.get_text().strip()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    for axes in figure.axes:  # ticks beyond the ends are not drawn
        low, high = axes.get_window_extent().get_points()
        boxes = [(text, box) for text, box in boxes
                 if box.x1 >= low[0] - 200 and box.x0 <= high[0] + 200 and box.y0 <= high[1] + 100]
    return [(a, b) for (a, one), (b, other) in itertools.combinations(boxes, 2)
            if min(one.x1, other.x1) - max(one.x0, other.x0) > 1 and min(one.y1, other.y1) - max(one.y0, other.y0) > 1]


def svg(figure):
    """The figure as an <svg> element."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    pyplot.close(figure)
    return out.getvalue()[out.getvalue().index("<svg"):]


def nines(part):
    """The position of a percentile: its number of nines, so that 99 % is at 2."""
    return -math.log10(1 - part)
