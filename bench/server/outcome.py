"""The results of a comparison: tables, ratios as medians of the rounds' ratios, goals, and a page of charts."""
import json
import os
import pathlib
import platform
import statistics
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH / "plot"), str(BENCH)]

import against  # noqa: E402: found by the line above
import drawing  # noqa: E402
import goals  # noqa: E402

FIGURES = {  # figure of a round -> (unit on the page, how it is printed)
    "cpu_us": ("us of server CPU a request", "{:.3f}"),
    "ops": ("operations per second", "{:,.0f}"),
    "p50_us": ("latency, us", "{:,.0f}"),
    "p99_us": ("latency, us", "{:,.0f}"),
    "p99.9_us": ("latency, us", "{:,.0f}"),
    "client_us": ("us of client CPU a request", "{:.3f}"),
}
SHORT = {"p50_us": "p50", "p99_us": "p99", "ops": "rate"}  # a figure's name in a line's label
LATENCIES = ("p50_us", "p99_us", "p99.9_us")
RATIO_UNIT = "times the floor's CPU time"
OVERVIEWS = {"GETs beside the floor": ("get",), "SETs, multi-gets and scans beside the floor": ("set", "multiget", "scan")}
FLOOR = "echo"
ROW_SOURCES = ("connections x requests in flight on each",
               "connections x requests in flight on each, an open loop, latencies from the due time")


class Outcome:
    """Thread-safety: one thread. `results`: (name of server, row) -> figures of each round, a dict a round.

    `other` is the mxkvd, by its name among the servers, that mxkv is compared with, if there is one. `versions`: name of
    server -> its own name and version, of those that have one. `busy`: busy loops ran beside the servers.
    """

    def __init__(self, results, servers, chosen, other=None, tolerance=against.TOLERANCE, versions=None, busy=False):
        self.results = results
        self.servers = servers
        self.other = other
        self.tolerance = tolerance
        self.versions = versions or {}
        self.busy = busy
        self.rows = [row for row in chosen if any((name, row) in results for name in servers)]

    def values(self, server, row, figure="cpu_us"):
        return [figures[figure] for figures in self.results.get((server, row), [])]

    def median(self, server, row, figure="cpu_us"):
        values = self.values(server, row, figure)
        return statistics.median(values) if values else None

    def ratio(self, row, server, base, figure="cpu_us"):
        """(median, least, most) of the ratios of the server's figure to the base's in the same round; None if one is missing."""
        above, below = self.values(server, row, figure), self.values(base, row, figure)
        return against.median_ratio(above, below) if server != base and all(below) else None

    def goal_value(self, row, figure):
        """mxkvd's figure that a goal speaks of, or None: "us", "times SERVER" or "times ROW"."""
        if figure == "us":
            return self.median("mxkv", row)
        base = figure.removeprefix("times ")
        if base in self.servers:
            ratio = self.ratio(row, "mxkv", base)
            return ratio[0] if ratio else None
        own = [self.median("mxkv", other) for other in self.rows if other.name == base]
        here = self.median("mxkv", row)
        return here / own[0] if own and own[0] and here is not None else None

    def goals(self):
        """(row, figure, reach, aim, value) of every goal of a measured row."""
        return [(row, figure, reach, aim, self.goal_value(row, figure))
                for row in self.rows for figure, reach, aim in row.goals]

    def text(self):
        parts = [self.spread_table()]
        parts += [self.table(title, lambda name, row, figure=figure: self.median(name, row, figure), FIGURES[figure][1])
                  for figure, title in (("ops", "operations per second"), ("client_us", "client CPU per request, us"))]
        parts.append(self.latency_table())
        for base in (FLOOR, "redis", "memcached"):
            if base in self.servers:
                parts.append(self.ratio_table(base))
        if not self.busy:  # the goals are for a server that has its CPU to itself
            parts.append(goals.table([(f"{row.name}, {figure}", value, reach, aim)
                                      for row, figure, reach, aim, value in self.goals()]))
        parts += self.text_of_missed_schedules()
        if self.other:
            shown = parts if len(self.servers) > 2 else self.text_of_missed_schedules()
            return "\n".join([*shown, self.text_against()])
        return "\n".join(parts)

    def text_against(self):
        """Both mxkvds row by row, and the rows that became worse."""
        ratios = {row.name: ratio for row in self.rows if (ratio := self.ratio(row, "mxkv", self.other))}
        lines = ["", f"server CPU a request, us: mxkv against {self.other}, medians of the rounds and of their ratios",
                 f"{'':22}{'mxkv':>10}{self.other:>10}{'ratio':>9}  least-most"]
        for row in self.rows:
            if row.name in ratios:
                lines.append(self.line_against(row, "cpu_us", row.name)
                             + ("  worse" if ratios[row.name][0] > self.tolerance else ""))
        others = [self.line_against(row, figure, f"{row.name}, {SHORT[figure]}") for row in self.rows for figure in row.compared
                  if row.name in ratios and self.ratio(row, "mxkv", self.other, figure)]
        if others:
            lines += ["", "latencies of open loops from the due time, us, and rates: mxkv against " + self.other, *others]
        medians = {name: ratio[0] for name, ratio in ratios.items()}
        return "\n".join([*lines, "", against.closing_line(medians, self.other, self.tolerance)])

    def line_against(self, row, figure, label):
        median, least, most = self.ratio(row, "mxkv", self.other, figure)
        mine, other = (self.median(name, row, figure) for name in ("mxkv", self.other))
        digits = 3 if figure == "cpu_us" else 0
        return f"{label:22}{mine:10.{digits}f}{other:10.{digits}f}{median:9.3f}  {least:.3f}-{most:.3f}"

    def text_of_missed_schedules(self):
        """Lines that name the open loops whose operations were sent too late: their figures are of another load."""
        missed = []
        for row in self.rows:
            rounds = {name: self.values(name, row, "behind") for name in self.servers} if row.rate else {}
            counts = [f"{name} {sum(behind > 0 for behind in found)}/{len(found)}" for name, found in rounds.items() if any(found)]
            missed += [f"  {row.name}: {', '.join(counts)}"] if counts else []
        return ["", "open loops that fell behind their schedule, in so many rounds: see their figures as those of another load",
                *missed] if missed else []

    def latency_table(self):
        def cell(name, row):
            medians = [self.median(name, row, figure) for figure in LATENCIES]
            return " / ".join(f"{value:.0f}" for value in medians) if medians[0] is not None else None
        return self.table("latency, us: p50 / p99 / p99.9; of open loops from the due time", cell, "{}")

    def spread_table(self):
        def cell(name, row):
            values = self.values(name, row)
            return f"{statistics.median(values):.3f} ({min(values):.2f}-{max(values):.2f})" if values else None
        return self.table("server CPU a request, us: median (least - most)", cell, "{}")

    def ratio_table(self, base):
        """CPU time of all rows, and the other figures that a row compares."""
        def cells(row, figure):
            for name in self.servers:
                ratio = self.ratio(row, name, base, figure)
                yield f"{ratio[0]:.2f} ({ratio[1]:.2f}-{ratio[2]:.2f})" if ratio else None
        lines = [(row.name, cells(row, "cpu_us")) for row in self.rows]
        lines += [(f"{row.name}, {SHORT[figure]}", cells(row, figure)) for row in self.rows for figure in row.compared]
        return self.lines(f"server CPU a request as a multiple of {base}: median of the rounds (least - most)\n"
                          "p50 and p99 of open loops from the due time, and rates, likewise", lines)

    def table(self, title, cell, form):
        def cells(row):
            for name in self.servers:
                value = cell(name, row)
                yield None if value is None else form.format(value)
        return self.lines(title, [(row.name, cells(row)) for row in self.rows])

    def lines(self, title, labelled):
        """A table of (label, a text or None for each server)."""
        return "\n".join(["", title, " " * 22 + "".join(f"{name:>26}" for name in self.servers), *(
            f"{label:22}" + "".join(f"{text or '-':>26}" for text in texts) for label, texts in labelled)])

    def every_figure(self):
        return [{"server": name, "version": self.versions.get(name, ""), "row": row.name, "kind": row.kind,
                 "connections": row.connections, "depth": row.depth, "rate": row.rate, "busy": self.busy, "rounds": rounds} for (name, row), rounds in self.results.items()]

    def facts(self, row):
        """Lines of a row's table on the page."""
        found = []
        for base in (FLOOR, "redis", "memcached"):
            if ratio := self.ratio(row, "mxkv", base):
                goal = [goals.told(reach, aim) for figure, reach, aim in row.goals if figure == f"times {base}"]
                found.append({"what": f"mxkv's CPU time over {base}'s, median of the rounds", "paper": (goal or [""])[0],
                              "instead": f"{ratio[0]:.2f} ({ratio[1]:.2f} to {ratio[2]:.2f})"})
        for figure, reach, aim in row.goals:
            value = self.goal_value(row, figure)
            if figure.removeprefix("times ") not in (FLOOR, "redis", "memcached") and value is not None:
                found.append({"what": f"mxkv, {figure}", "paper": goals.told(reach, aim), "instead": f"{value:.3g}"})
        return found

    def description(self):
        """The page without its points, as bench/plot reads it."""
        heading = "Servers side by side, one worker each" + (", beside a busy loop on each CPU" if self.busy else "")
        versions = ", ".join(self.versions[name] for name in self.servers if name in self.versions)
        floor = "the floor is a server that answers the same bytes with nothing behind them"
        return {"title": "mxkv: servers side by side", "heading": heading,
                "reference": "sought", "figures": [
                    {"figure": name, "title": name, "source": "server CPU a request as a multiple of the floor's",
                     "setting": "medians of the rounds' ratios; pipelined gets that memcached answers one by one are left "
                                "out", "line": FLOOR, "facts": []}
                    for name in OVERVIEWS if FLOOR in self.servers and any(self.overview(name))] + [
                    {"figure": row.name, "title": row.name, "source": ROW_SOURCES[row.rate > 0],
                     "setting": f"{floor}; {versions}" if versions else floor,
                     "line": FLOOR, "facts": self.facts(row)} for row in self.rows]}

    def overview(self, name):
        """(row, server, ratio to the floor) for this overview; 1 for the floor itself."""
        for row in self.rows:
            if row.kind in OVERVIEWS[name]:
                for server in self.servers:
                    one_by_one = server == "memcached" and row.kind == "get" and row.depth > 1
                    ratio = self.ratio(row, server, FLOOR)
                    if server == FLOOR:
                        yield row, server, 1.0
                    elif ratio and not one_by_one:
                        yield row, server, ratio[0]

    def points(self, commit):
        """All points of the page, in the form of the figures' points."""
        machine = {"cpu": cpu_model(), "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release()}
        for name in OVERVIEWS if FLOOR in self.servers else ():
            for row, server, ratio in self.overview(name):
                yield {"figure": name, "series": server, "x": row.name, "y": ratio, "unit": RATIO_UNIT,
                       "parameters": {"rounds": len(self.values(server, row))}, "machine": machine, "commit": commit}
        for row in self.rows:
            for figure in ("cpu_us", "ops", *LATENCIES):
                for name in self.servers:
                    value = self.median(name, row, figure)
                    if value is not None:
                        x = figure.removesuffix("_us") if figure in LATENCIES else row.name
                        yield {"figure": row.name, "series": name, "x": x, "y": value, "unit": FIGURES[figure][0],
                               "parameters": {"rounds": len(self.values(name, row))}, "machine": machine, "commit": commit}

    def draw(self, folder, commit, trial=False):
        """Writes the page's data, and the page."""
        description, points = folder / "page.json", folder / "points.jsonl"
        description.write_text(json.dumps(self.description(), indent=1) + "\n")
        points.write_text("".join(json.dumps(point) + "\n" for point in self.points(commit)))
        if problem := drawing.draw("figures", [description, points], folder / "index.html", trial=trial):
            sys.exit(problem)


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()
