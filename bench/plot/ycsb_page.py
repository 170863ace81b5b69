"""The page of results that mxkv-ycsb wrote by --json: latencies by percentile and over time, throughput, CPU time."""

import json
import math
from pathlib import Path

import charts
from figures_page import BadInput
from page import Page

_KINDS = ("READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE")
_SHORTEST_SECOND_S = 0.5  # the rest of a second at the end says little if it is shorter
_NS_A_US = 1000


class Histogram:
    """Counts by buckets: of each power of two 2^precision of the same width, as bench/client/histogram.hpp has it."""

    def __init__(self, precision_bits):
        self._bits = precision_bits
        self.buckets = {}
        self.most_ns = 0

    def add(self, histogram):
        """Adds a histogram in JSON: [bucket, count, bucket, count, ..]."""
        flat = histogram["buckets"]
        for bucket, count in zip(flat[::2], flat[1::2], strict=True):
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count
        self.most_ns = max(self.most_ns, histogram["max_ns"])
        return self

    @property
    def count(self):
        return sum(self.buckets.values())

    def last_ns(self, bucket):
        """The greatest value that counts into a bucket."""
        if bucket < 2 << self._bits:
            return min(bucket, self.most_ns)
        shift = (bucket >> self._bits) - 1
        return min(((bucket - (shift << self._bits) + 1) << shift) - 1, self.most_ns)

    def percentile_us(self, percent):
        rank = max(math.ceil(percent / 100 * self.count), 1)
        seen = 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen >= rank:
                return self.last_ns(bucket) / _NS_A_US
        return 0

    def steps(self):
        """(nines, us): a bucket's whole share of the operations took this long; the last bucket is drawn where it begins."""
        seen, total = 0, self.count
        for bucket in sorted(self.buckets):
            us = max(self.last_ns(bucket), 1) / _NS_A_US
            yield charts.nines(seen / total), us
            seen += self.buckets[bucket]
            if seen < total:
                yield charts.nines(seen / total), us


class Result:
    """One result file."""

    def __init__(self, file):
        try:
            text = Path(file).read_text(encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{file}: cannot be read: {error.strerror}") from error
        if not text:
            raise BadInput(f"{file}: is empty, and not a result of mxkv-ycsb")
        try:
            self.json = json.loads(text)
            if self.json["format"] != "mxkv-ycsb result":
                raise ValueError
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{file}: not a result of mxkv-ycsb") from error
        if self.json["format_version"] != 1:
            raise BadInput(f"{file}: written by another version of mxkv-ycsb, in another format")
        self.name = str(file)
        self.paced = self.json["schedule"]["target_ops_per_s"] > 0

    def histogram(self, kinds=None, second=None, sending=False):
        """The histogram of the whole run, or of one second, of some kinds or all; from the due time if there is one."""
        found = Histogram(self.json["histogram_precision_bits"])
        for kind in kinds or _KINDS:
            if second is not None:
                if kind in second["latency"]:
                    found.add(second["latency"][kind])
            elif kind in self.json["results"]:
                entry = self.json["results"][kind]
                found.add(entry["latency"] if sending else entry.get("intended_latency", entry["latency"]))
        return found

    def seconds(self):
        """(middle, length, second) of the seconds that are long enough."""
        series = self.json["series"]
        for second in series:
            length_s = second["length_ns"] / 1e9
            if length_s >= _SHORTEST_SECOND_S or len(series) == 1:
                yield second["second"] + length_s / 2, length_s, second

    def client_cpu_us(self):
        return self.json["client_cpu_ns"] / _NS_A_US / self.json["operations"] if self.json["operations"] else 0


def name_results(files, results):
    """Names each result by its label, else by its file's name. Results with equal names get their whole paths."""
    def label(result):
        return result.json["clients"][0]["label"] if result.json["clients"] else ""
    names = [label(result) or Path(file).stem for file, result in zip(files, results, strict=True)]
    for file, result, name in zip(files, results, names, strict=True):
        result.name = name if names.count(name) == 1 else f"{name} ({file})" if label(result) else str(file)


def _latency_axis():
    return charts.Axis("latency (log scale)", log=True, text=charts.short_latency)


def _percentiles(results, kind):
    series, most = [], 1.0
    for color, result in enumerate(results):
        if kind not in result.json["results"]:
            continue
        paced = "intended_latency" in result.json["results"][kind]
        whole = result.histogram([kind])
        series.append(charts.Series(result.name + (", from the due time" if paced else ""), list(whole.steps()), color))
        if paced:
            sending = list(result.histogram([kind], sending=True).steps())
            series.append(charts.Series(result.name + ", from the sending", sending, color, dashed=True))
        most = max(most, math.log10(whole.count))
    named = [0, 50, 90, *(100 - 10 ** -i for i in range(8))]
    ticks = [(charts.nines(percent / 100), f"{percent:.8g}") for percent in named]
    x = charts.Axis("percentile of the operations (%)", [tick for tick in ticks if tick[0] <= most + 0.01])
    return charts.lines(f"{kind}: latency by percentile", x, _latency_axis(), series)


def _over_time(results, title, y, value):
    series = [charts.Series(result.name, [(at, value(result, length_s, second)) for at, length_s, second in result.seconds()
                                          if second["operations"]], color) for color, result in enumerate(results)]
    return title, charts.lines(title, charts.Axis("seconds since the measuring began"), y, series)


def _bars(results, title, y, groups):
    """`groups`: {name: function of a result}, which returns 0 if there is no value."""
    series = {result.name: [value(result) or None for value in groups.values()] for result in results}
    return title, charts.bars(title, y, list(groups), series)


def _charts_of_latency(results):
    for kind in _KINDS:
        if any(kind in result.json["results"] for result in results):
            yield f"{kind}: latency by percentile", _percentiles(results, kind)


def _charts_over_time(results):
    yield _over_time(results, "Throughput over time", charts.Axis("operations per second"),
                     lambda result, length_s, second: second["operations"] / length_s)
    yield _over_time(results, "99th percentile of all operations over time", _latency_axis(),
                     lambda result, length_s, second: result.histogram(second=second).percentile_us(99))


def _charts_of_comparison(results):
    latencies = {f"{'RMW' if kind == 'READ-MODIFY-WRITE' else kind} p{percent:g}":
                 lambda result, kind=kind, percent=percent: result.histogram([kind]).percentile_us(percent)
                 for kind in _KINDS for percent in (50, 99, 99.9)
                 if any(kind in result.json["results"] for result in results)}
    yield _bars(results, "Throughput", charts.Axis("operations per second"),
                {"whole run": lambda result: result.json["ops_per_s"]})
    yield _bars(results, "Latency (of paced runs from the due time)", _latency_axis(), latencies)
    yield _bars(results, "CPU time an operation", charts.Axis("CPU time", text=charts.short_latency),
                {"server": lambda result: result.json["server_cpu_ns_per_op"] / _NS_A_US, "client": Result.client_cpu_us})


def _row(result):
    whole, target = result.histogram(), result.json["schedule"]["target_ops_per_s"]
    server_us = result.json["server_cpu_ns_per_op"] / _NS_A_US
    return [result.name, charts.short_number(result.json["ops_per_s"]),
            charts.short_number(target) if result.paced else "closed loop", result.json["operations"],
            *(charts.short_latency(whole.percentile_us(percent)) if whole.count else "-" for percent in (50, 99, 99.9, 100)),
            charts.short_latency(server_us) if server_us else "-", result.json["failures"]]


def _add_facts(page, result):
    facts = []
    for client in result.json["clients"]:
        machine = client["machine"]
        facts += [("command", client["command"]), ("client", f"mxkv-ycsb {client['version']}"),
                  ("machine", f"{machine['host']}: {machine['cpu_model']}, {machine['cpus']} CPUs ({machine['cpus_allowed']} "
                              f"allowed), {machine['memory_bytes'] / 2**30:.1f} GiB, {machine['kernel']}, {machine['system']}"),
                  ("settings", ", ".join(f"{name}={value}" for name, value in client["settings"].items()))]
    for server in result.json["servers"]:
        facts.append(("server", f"{server['address']}, version {server['version']}"))
        if server["cpu_source"]:
            source = "the clock of its process" if server["cpu_source"] == "process" else "its own counters"
            facts.append(("its CPU time", f"{server['cpu_ns'] / 1e9:.3f} s, by {source}"))
    page.facts(result.name, facts)


def draw(files, note=""):
    """The page of all files as text; `note` comes first."""
    results = [Result(file) for file in files]
    name_results(files, results)
    names = ", ".join(result.name for result in results)
    page = Page(f"mxkv-ycsb: {names}", f"mxkv-ycsb: {names if len(results) == 1 else f'{len(results)} results'}", note)
    page.table(["result", "ops/s", "target", "operations", "p50", "p99", "p99.9", "max", "server CPU/op", "failures"],
               map(_row, results))
    page.text("Latencies are of all kinds of operation together; of paced runs, from the time an operation was due.")
    for result in results:
        if result.json["schedule"]["fell_behind"]:
            target = charts.short_number(result.json["schedule"]["target_ops_per_s"])
            page.warning(f"{result.name}: the schedule of {target} operations per second was missed.")
        if result.json["problem"]:
            page.warning(f"{result.name}: {result.json['problem']}")
    for heading, found in (("Latency", _charts_of_latency), ("Over time", _charts_over_time),
                           ("Comparison", _charts_of_comparison)):
        page.heading(heading)
        page.charts(found(results))
    page.heading("How it was measured")
    for result in results:
        _add_facts(page, result)
    return str(page)
