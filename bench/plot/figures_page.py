"""The page of points of the one form: figure, series, x, y, unit, parameters, machine, commit.

A description has the names of the figures, the papers' facts, and the points of ours to compare them with
(bench/figures/paper.json has the papers', bench/server/run writes its own).
"""

import json

import charts
from page import Page

_FIELDS = {"figure": str, "series": str, "x": (int, float, str), "y": (int, float), "unit": str, "parameters": dict,
           "machine": dict, "commit": str}


class BadInput(Exception):
    """A file is malformed."""


def read_points(files):
    """The points of all files, numbered consecutively."""
    points = []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                point = json.loads(line)
                for name, kind in _FIELDS.items():
                    if not isinstance(point[name], kind) or isinstance(point[name], bool):
                        raise TypeError(f"{name} is not what it has to be")
            except KeyError as error:
                raise BadInput(f"point {len(points) + 1}: has no {error}") from error
            except (TypeError, ValueError) as error:
                raise BadInput(f"point {len(points) + 1}: {error}") from error
            points.append(point)
    return points


def name_of(x):
    """An x as descriptions name it."""
    return x if isinstance(x, str) else f"{x:g}"


def _once(values):
    return list(dict.fromkeys(values))


def _bars(title, points, line):
    groups = _once(name_of(point["x"]) for point in points)
    series = {name: [None] * len(groups) for name in _once(point["series"] for point in points)}
    for point in points:
        series[point["series"]][groups.index(name_of(point["x"]))] = point["y"]
    return charts.bars(title, charts.Axis(points[0]["unit"]), groups, series, line)


def _lines(title, points, label):
    """A chart over a number, logarithmic if it spans more than a few doublings."""
    xs = sorted({point["x"] for point in points})
    log = xs[0] > 0 and xs[-1] > 16 * xs[0]
    series = [charts.Series(name, sorted((point["x"], point["y"]) for point in points if point["series"] == name), color)
              for color, name in enumerate(_once(point["series"] for point in points))]
    ticks = [(x, charts.short_number(x)) for x in xs]
    return charts.lines(title, charts.Axis(label, ticks, log), charts.Axis(points[0]["unit"]), series)


def _drawn(figure, points):
    """A chart for each unit."""
    for unit in _once(point["unit"] for point in points):
        mine = [point for point in points if point["unit"] == unit]
        if any(isinstance(point["x"], str) for point in mine):
            yield figure["title"], _bars(figure["title"], mine, figure.get("line"))
        else:
            yield figure["title"], _lines(figure["title"], mine, figure.get("x_label", ""))


def measured(points, ours):
    """Our value for a fact: {"point": P}, {"ratio": [P, P]} or {"difference": [P, P]}, and perhaps the points' unit."""
    def value(series, x):
        return next((point["y"] for point in points if (point["series"], name_of(point["x"])) == (series, x)
                     and ours.get("unit") in (None, point["unit"])), None)
    if "point" in ours:
        found = [value(*ours["point"])]
    else:
        found = [value(*name) for name in ours.get("ratio") or ours["difference"]]
    if None in found or ("ratio" in ours and found[1] == 0):
        return "not measured"
    if "ratio" in ours:
        return charts.short_number(found[0] / found[1])
    return charts.short_number(found[0] - (found[1] if len(found) > 1 else 0))


def _told(fact, points):
    return measured(points, fact["ours"]) if "ours" in fact else fact.get("instead", "not measured")


def _about(points):
    machine = points[0]["machine"]
    return (f"{machine.get('cpu', '')}, {machine.get('cpus', 0)} CPUs, {machine.get('kernel', '')}; "
            f"sources {', '.join(_once(point['commit'] for point in points))}.")


def _add_figure(page, figure, points, reference):
    page.heading(figure["title"])
    page.text(f"{figure['source']}: {figure['setting']}")
    if points:
        page.charts(_drawn(figure, points))
    else:
        page.warning("Not measured in this run.")
    if figure["facts"]:
        page.table(["what", reference, "here"],
                   [[fact["what"], fact["paper"], _told(fact, points)] for fact in figure["facts"]])
    if points:
        page.table(["series", "x", "y", "unit"],
                   [[point["series"], name_of(point["x"]), charts.short_number(point["y"]), point["unit"]]
                    for point in points], "All points")
        page.facts("Parameters", [("", text) for text in _once(json.dumps(point["parameters"]) for point in points)])


def draw(description, points, note=""):
    """The page as text; `note` comes first. A description that is a list describes the papers' figures."""
    if isinstance(description, list):
        description = {"title": "mxkv: the papers' figures", "heading": "The papers' figures, repeated",
                       "reference": "the paper", "figures": description}
    names = [figure["figure"] for figure in description["figures"]]
    for point in points:
        if point["figure"] not in names:
            raise BadInput(f"the description of the page does not know the figure {point['figure']}")
    page = Page(description["title"], description["heading"], note)
    if points:
        page.text(_about(points))
    for figure in description["figures"]:
        _add_figure(page, figure, [point for point in points if point["figure"] == figure["figure"]],
                    description["reference"])
    return str(page)


def table(figures, points):
    """All facts of the papers' figures, as Markdown."""
    lines = ["# The papers' figures, repeated", "", "Written by `bench/figures/run`.", "", *[_about(points)][:len(points)], ""]
    for figure in figures:
        mine = [point for point in points if point["figure"] == figure["figure"]]
        lines += [f"## {figure['title']}", "", f"{figure['source']}: {figure['setting']}", "",
                  "| | the paper | here |", "|---|---|---|",
                  *(f"| {fact['what']} | {fact['paper']} | {_told(fact, mine)} |" for fact in figure["facts"]), ""]
    return "\n".join(lines)
