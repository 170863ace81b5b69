"""The page of points of the one form: figure, series, x, y, unit, parameters, machine, commit, and perhaps rounds.

A description has the names of the figures, the papers' facts, and the points of ours to compare them with
(bench/figures/paper.json has the papers', bench/server/run writes its own).
"""

import json
import re

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


def _measured(points, ours):
    """Our value for a fact, {"point": P}, {"ratio": [P, P]} or {"difference": [P, P]}, perhaps with the points' unit; its least and
    greatest value of a round, or None; and the points. None: a point is missing."""
    def named(series, x):
        return next((point for point in points if (point["series"], name_of(point["x"])) == (series, x)
                     and ours.get("unit") in (None, point["unit"])), None)
    found = [named(*name) for name in ([ours["point"]] if "point" in ours else ours.get("ratio") or ours["difference"])]
    if None in found or ("ratio" in ours and found[1]["y"] == 0):
        return None

    def of(values):
        if "ratio" in ours:
            return values[0] / values[1]
        return values[0] - (values[1] if len(values) > 1 else 0)
    rounds = [of(values) for values in zip(*(point.get("rounds", ()) for point in found))]
    return of([point["y"] for point in found]), (min(rounds), max(rounds)) if len(rounds) > 1 else None, found


def _told(fact, points):
    """Our value as text, with its spread."""
    found = _measured(points, fact["ours"]) if "ours" in fact else None
    if found is None:
        return fact.get("instead", "not measured")
    value, spread, _ = found
    text = charts.short_number(value)
    return f"{text} ({' to '.join(map(charts.short_number, spread))})" if spread else text


def _judged(fact, here, sources):
    """Whether the number that a text begins with is in line with the paper, and why not or why so different: a text, or one by
    sources."""
    why = fact.get("why", "")
    why = why.get(sources, "") if isinstance(why, dict) else why
    number = re.match(r"-?[0-9.]+(?:e[+-]?[0-9]+)?(?![kMG0-9])", here)
    if "holds" not in fact or number is None:
        return why or "-"
    least, most = (float("inf") * sign if bound is None else bound for bound, sign in zip(fact["holds"], (-1, 1)))
    return ("yes" if least <= float(number[0]) <= most else "no") + (f": {why}" if why else "")


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


def kept_rows(text):
    """Of a table that was written before: (heading, fact) to our values and their sources, of facts of one name in their order."""
    rows, heading = {}, ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| ") and len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 5:
            rows.setdefault((heading, cells[0]), []).append((cells[2], cells[4]))
    return rows


def _matrix(figure, points):
    """Ratios of one kind for many x, a row each."""
    matrix = figure["matrix"]
    lines = [matrix["what"], "", f"| | {' | '.join(column['name'] for column in matrix['columns'])} |",
             "|---" * (len(matrix["columns"]) + 1) + "|"]
    for x in matrix["x"]:
        found = (_measured(points, {"ratio": [[series, x] for series in column["ratio"]], "unit": column["unit"]})
                 for column in matrix["columns"])
        lines.append(f"| {x} | {' | '.join('-' if one is None else charts.short_number(one[0]) for one in found)} |")
    return [*lines, ""]


def _kept_matrix(figure, kept):
    """The lines of the same in a table that was written before."""
    _, found, rest = kept.partition(figure["matrix"]["what"] + "\n")
    return [figure["matrix"]["what"], *rest.partition("\n## ")[0].rstrip("\n").splitlines(), ""] if found else []


def table(figures, points, kept=""):
    """All facts of the papers' figures, as Markdown. Facts without points keep their rows of `kept`, an earlier table."""
    earlier = kept_rows(kept)
    lines = ["# The papers' figures, repeated", "", "Written by `bench/figures/run`. \"here\" is the median of the rounds, and the least and greatest of one round, where rows say "
             "so. A row's sources are the commit that was measured.", "",
             _about(points) if points else next((line for line in kept.splitlines() if " CPUs, " in line), ""), ""]
    for figure in figures:
        mine = [point for point in points if point["figure"] == figure["figure"]]
        lines += [f"## {figure['title']}", "", f"{figure['source']}: {figure['setting']}", "",
                  "| | the paper | here | in line with the paper | sources |", "|---|---|---|---|---|"]
        for fact in figure["facts"]:
            here, sources = _told(fact, mine), ", ".join(_once(point["commit"] for point in mine)) or "-"
            kept_of_name = earlier.get((figure["title"], fact["what"]), [])
            kept_here = kept_of_name.pop(0) if kept_of_name else (here, "-")
            if "ours" in fact and _measured(mine, fact["ours"]) is None:
                here, sources = kept_here
            lines.append(f"| {fact['what']} | {fact['paper']} | {here} | {_judged(fact, here, sources)} | {sources} |")
        lines.append("")
        if "matrix" in figure:
            lines += _matrix(figure, mine) if mine else _kept_matrix(figure, kept)
    return "\n".join(lines)
