"""The page of bench/index/run: the tree beside its peers and its ceilings."""

import json

import charts
from figures_page import BadInput
from page import Page

_FIELDS = ("records", "what", "by", "workers", "container", "in_flight", "median", "least", "most", "unit")
LINES = "random lines"
_CEILINGS = ("static tree by hand", LINES)


def read_points(files):
    """(points, lines about machine and sources)."""
    points, about = [], []
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            try:
                point = json.loads(line)
                if "machine" in point:
                    about.append(line)
                    continue
                if missing := [name for name in _FIELDS if name not in point]:
                    raise ValueError("has no " + ", ".join(missing))
                if min(point["in_flight"], point["workers"]) < 1 or not point["median"] >= 0:
                    raise ValueError("a number is out of range")
            except (ValueError, TypeError) as error:
                raise BadInput(f"{file}: line {number}: {error}") from error
            points.append(point)
    return points, about


def _once(values):
    return list(dict.fromkeys(values))


def _flights(title, points, name_of):
    """Throughput over operations in flight, a line for each name. A container with one at a time is a level line."""
    flights = sorted({point["in_flight"] for point in points})
    series = []
    for color, name in enumerate(_once(map(name_of, points))):
        mine = [point for point in points if name_of(point) == name]
        at = [(point["in_flight"], point["median"]) for point in sorted(mine, key=lambda point: point["in_flight"])]
        if len(at) == 1:
            at = [(flights[0], at[0][1]), (flights[-1], at[0][1])]
        series.append(charts.Series(name, at, color, mine[0]["container"] in _CEILINGS))
    ticks = [(flight, str(flight)) for flight in flights]
    return title, charts.lines(title, charts.Axis("operations in flight a worker", ticks, log=True),
                               charts.Axis("million operations/s"), series)


def _workloads(title, points, label):
    """Groups are workloads; bars the containers, each with its best number in flight, and ours with most."""
    groups = _once(f"{point['what']}, {point['by']}" for point in points)
    deepest = max(point["in_flight"] for point in points)
    at_most = f"mxkv, {deepest} in flight"
    series = {name: [None] * len(groups) for name in [*_once(point["container"] for point in points), at_most]}
    for point in points:
        group = groups.index(f"{point['what']}, {point['by']}")
        best = series[point["container"]]
        best[group] = max(best[group] or 0, point["median"])
        if point["container"] == "mxkv" and point["in_flight"] == deepest:
            series[at_most][group] = point["median"]
    return title, charts.bars(title, charts.Axis(label), groups, series)


def _charts(points, where):
    """The charts of one kind of key and one number of workers."""
    def container(point):
        return point["container"]
    trees = [point for point in points if point["container"] != LINES]
    for by in ("uniform", "zipfian"):
        if reads := [point for point in trees if (point["what"], point["by"]) == ("read", by)]:
            yield _flights(f"Look-ups, {by}: {where}", reads, container)
    if lines := [point for point in points if container(point) == LINES and point["by"] == "uniform"]:
        yield _flights(f"Random lines of memory: {where}", lines, container)
    if others := [point for point in trees if container(point) == "mxkv" and point["what"] not in ("read", "load")]:
        yield _flights(f"mxkv by operations in flight: {where}", others, lambda point: f"{point['what']}, {point['by']}")
    scans = [point for point in trees if point["what"] == "scan of 100"]
    for zipfian, name in ((False, "uniform"), (True, "zipfian")):
        if found := [point for point in trees if point not in scans and (point["by"] == "zipfian") == zipfian]:
            yield _workloads(f"Workloads, {name}: {where}", found, "million operations/s")
    if scans:
        yield _workloads(f"Scans of 100: {where}", scans, "million scans/s")


def _add_memory(page, points):
    rows = []
    for container in sorted({point["container"] for point in points}):
        parts = [point for point in points if point["container"] == container]
        rows += [[container, part["by"], f"{part['median']:.1f}"] for part in parts if part["by"] != "all"]
        rows.append([container, "sum", f"{sum(part['median'] for part in parts):.1f}"])
    if rows:
        page.table(["bytes an entry: container", "part", "bytes"], rows)


def draw(points, about, note=""):
    """The page as text; `note` comes first."""
    page = Page("mxkv: the tree beside its peers", "The tree beside its peers and its ceilings", note)
    page.text("Medians of rounds in turn. One worker: by its thread's CPU time; more: by the wall clock. Bars show the best "
              "number of operations in flight.")
    for records, workers in _once((point["records"], point["workers"]) for point in points):
        mine = [point for point in points if (point["records"], point["workers"]) == (records, workers)]
        timed = [point for point in mine if point["unit"] != "bytes"]
        where = f"{records} keys, {workers} worker{'s' if workers > 1 else ''}"
        page.heading(where)
        page.charts(_charts(timed, where))
        _add_memory(page, [point for point in mine if point["unit"] == "bytes"])
        page.table(["workload", "container", "in flight", "median", "least", "most"],
                   [[f"{point['what']}, {point['by']}", point["container"], point["in_flight"],
                     *(f"{point[name]:.3g}" for name in ("median", "least", "most"))] for point in timed], "All points")
    page.heading("How it was measured")
    for line in about:
        page.text(line)
    return str(page)
