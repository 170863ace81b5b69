"""Metrics as Prometheus reads them: by its own parsers, beside `stats`, and by all files that name them."""

import json
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from harness.daemon import wait_for
from harness.environment import patience
from harness.http import ADMIN, AdminCase

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
    from prometheus_client.parser import text_string_to_metric_families as prometheus
except ImportError:
    openmetrics = prometheus = None

ROOT = Path(__file__).resolve().parents[2]
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
NAMED = re.compile(r"\b(?:mxkv|process)_[a-z0-9_]+")
SELECTOR = re.compile(r"\b((?:mxkv|process)_[a-z0-9_]+)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')


class MetricsCase(AdminCase):
    """A daemon that has every metric."""

    def setUp(self):
        super().setUp()
        self.start_admin("--set", f"durability.directory={self.directory}/data", "--set", "stats.sample=1", "--set", "prefixes=[{prefix: key}]")

    def scrape(self, accept: str = ""):
        reply = self.get("/metrics", **({"Accept": accept} if accept else {}))
        self.assertEqual(reply.status, 200)
        return reply

    def work(self) -> None:
        client = self.client()
        for i in range(100):
            client.set(b"key:%d" % i, b"v" * (i * 7 % 900))
            client.get(b"key:%d" % i)
        client.get(b"none")
        client.ask(b"delete key:1")
        client.ask(b"delete none")
        client.ask(b"touch key:2 100")
        client.ask(b"mc key: p e")
        client.send(b"mr key: p k I10\r\nmn\r\n")
        while client.line() != b"MN":
            pass
        client.close()


@unittest.skipUnless(prometheus, "python3-prometheus-client is not installed")
class MetricsParsedTest(MetricsCase):
    def test_both_forms_are_read_by_prometheus_own_parsers(self):
        self.work()
        classic, strict = self.scrape(), self.scrape(OPENMETRICS)
        self.assertTrue(classic.headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        self.assertTrue(strict.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"))
        one = {family.name.removesuffix("_info"): family for family in prometheus(classic.text)}
        other = {family.name: family for family in openmetrics(strict.text)}
        self.assertEqual(set(one), set(other))
        for name, family in other.items():
            self.assertTrue(family.documentation, name)
            self.assertEqual({(s.name, *sorted(s.labels.items())) for s in family.samples},
                             {(s.name, *sorted(s.labels.items())) for s in one[name].samples}, name)

    def test_names_follow_the_conventions(self):
        for family in openmetrics(self.scrape(OPENMETRICS).text):
            self.assertRegex(family.name, r"^(mxkv|process)_[a-z0-9_]+[a-z0-9]$")
            self.assertNotRegex(family.name, r"_(ms|us|ns|kib|mib|percent|milliseconds|total)(_|$)")
            if re.search(r"_(seconds|bytes)$", family.name):
                self.assertEqual(family.unit, family.name.rpartition("_")[2])

    def test_a_start_is_told_in_seconds_since_1970(self):
        import time
        self.assertLess(abs(time.time() - self.metrics()["process_start_time_seconds"]), 3600)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_promtool_finds_nothing_to_complain_of(self):
        self.work()
        done = subprocess.run(["promtool", "check", "metrics"], input=self.scrape().text, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


class MetricsBesideStatsTest(MetricsCase):
    def test_counters_never_go_back_under_load_nor_by_a_reset(self):
        stop = threading.Event()

        def load():
            while not stop.is_set():
                self.work()
        threads = [threading.Thread(target=load) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            before = wait_for(lambda: (seen := self.metrics())['mxkv_commands_total{command="get",result="hit"}'] > 0 and seen, "gets")
            for i in range(10):
                if i == 5:
                    self.client().ask(b"stats reset")
                after = self.metrics()
                for name, value in before.items():
                    if "_total" in name or "_bucket" in name or name.partition("{")[0].endswith(("_count", "_sum")):
                        self.assertGreaterEqual(after[name], value, name)
                before = after
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertGreater(before['mxkv_commands_total{command="get",result="hit"}'], 0)

    def test_what_stats_counts_is_what_metrics_count(self):
        self.work()
        client = self.client()
        stats, seen = client.stats(), self.metrics()
        for name, metric in (("get_hits", 'mxkv_commands_total{command="get",result="hit"}'),
                             ("get_misses", 'mxkv_commands_total{command="get",result="miss"}'),
                             ("cmd_set", 'mxkv_commands_total{command="set",result="done"}'),
                             ("delete_hits", 'mxkv_commands_total{command="delete",result="hit"}'),
                             ("delete_misses", 'mxkv_commands_total{command="delete",result="miss"}'),
                             ("touch_hits", 'mxkv_commands_total{command="touch",result="hit"}'),
                             ("cmd_range_count", 'mxkv_ranges_total{kind="count"}'), ("cmd_scan", 'mxkv_ranges_total{kind="scan"}'),
                             ("scan_items", 'mxkv_range_items_total{kind="scan"}'), ("curr_items", "mxkv_items"), ("bytes", "mxkv_items_bytes"),
                             ("total_items", "mxkv_items_stored_total"), ("limit_maxbytes", "mxkv_memory_limit_bytes"),
                             ("max_connections", "mxkv_connections_limit"), ("evictions", "mxkv_evictions_total")):
            self.assertEqual(float(stats[name]), seen[metric], name)
        self.assertGreater(seen["mxkv_network_receive_bytes_total"], 0)
        self.assertGreater(seen["mxkv_journal_records_total"], 0)

    def test_latencies_add_up_to_those_of_stats(self):
        self.work()
        latency = self.client().stats(b"latency")
        seen = self.metrics()
        for command in ("get", "set", "range", "touch", "delete"):
            samples = latency.get(f"{command}:samples")
            labels = f'command="{command}",form="{"any" if command == "range" else "classic"}"'
            count = seen[f'mxkv_command_duration_seconds_count{{{labels}}}']
            self.assertEqual(float(samples or 0), count, command)
            buckets = [value for name, value in seen.items()
                       if name.startswith(f'mxkv_command_duration_seconds_bucket{{{labels}')]
            self.assertEqual(buckets, sorted(buckets))
            self.assertEqual(buckets[-1], count)
            longest = float(latency.get(f"{command}:max_ns", 0)) / 1e9
            self.assertLessEqual(seen[f'mxkv_command_duration_seconds_sum{{{labels}}}'], longest * count * 1.07)
        self.assertGreater(seen['mxkv_command_duration_seconds_count{command="get",form="classic"}'], 50)

    def test_a_command_has_one_name_in_all_metrics(self):
        self.work()
        named = {}
        for sample in self.metrics():
            family, _, labels = sample.partition("{")
            if found := re.search(r'\bcommand="([^"]*)"', labels):
                named.setdefault(family, set()).add(found.group(1))
        timed, counted = named["mxkv_command_duration_seconds_count"], named["mxkv_commands_total"]
        self.assertEqual(timed - counted, {"gat", "range", "batch", "other"}, "they have no results, or families of their own")
        self.assertEqual(counted - timed, set())
        self.assertEqual(set(named) - {"mxkv_commands_total"}, {f"mxkv_command_duration_seconds_{part}" for part in ("bucket", "count", "sum")})

    def test_the_meta_form_counts_to_the_same_command(self):
        client = self.client()
        client.ask(b"flush_all")
        before = self.metrics()
        for line in (b"ms meta 1\r\n7", b"ma meta", b"mg meta v", b"md meta"):
            client.send(line + b"\r\n")
        client.send(b"mn\r\n")
        while client.line() != b"MN":
            pass
        after = self.metrics()
        for name, result in (("set", "done"), ("arithmetic", "hit"), ("get", "hit"), ("delete", "hit")):
            counted = f'mxkv_commands_total{{command="{name}",result="{result}"}}'
            self.assertEqual(after[counted] - before[counted], 1, name)
            timed = f'mxkv_command_duration_seconds_count{{command="{name}",form="meta"}}'
            # A request is timed once its reply is sent, so the client may be faster.
            wait_for(lambda: self.metrics()[timed] > before[timed], f"{name} is timed")
            self.assertEqual(self.metrics()[timed] - before[timed], 1, name)

    def test_workers_of_a_node_add_up_to_all(self):
        self.work()
        seen = self.metrics()
        requests = sum(value for name, value in seen.items() if name.startswith("mxkv_worker_requests_total{"))
        commands = sum(value for name, value in seen.items() if name.startswith(("mxkv_commands_total{", "mxkv_ranges_total{",
                                                                                        "mxkv_flushes_total", "mxkv_batches_total")))
        self.assertEqual(requests, commands)


class MetricsOfLimitsTest(AdminCase):
    """Metrics tell refusals and waits by a client's own limit from those by the server's limit."""

    def refused(self) -> dict:
        return {reason: self.metrics()[f'mxkv_connections_refused_total{{reason="{reason}"}}']
                for reason in ("limit", "client", "user", "descriptors")}

    def is_refused(self, address: str) -> bool:
        one = socket.create_connection(("127.0.0.1", self.ports()[0]), timeout=patience(20), source_address=(address, 0))
        self.addCleanup(one.close)
        try:
            one.sendall(b"version\r\n")
            return not one.recv(100).startswith(b"VERSION")
        except ConnectionError:
            return True

    def test_refusals_for_one_address_and_for_all(self):
        self.start_admin("--set", "limits.connections=7", "--set", "limits.connections_per_client=5")
        self.assertEqual([self.is_refused("127.0.0.2") for _ in range(8)], [False] * 5 + [True] * 3)
        self.assertEqual([self.is_refused("127.0.0.3") for _ in range(4)], [False] * 2 + [True] * 2)
        self.assertEqual(self.refused(), {"limit": 2, "client": 3, "user": 0, "descriptors": 0})
        self.assertEqual(self.get_json("/status.json")["connections"]["refused"], 5)

    def test_users_that_want_too_much(self):
        users = self.directory / "users.yaml"
        users.write_text("users: [{name: a, password: x, connections: 1}, {name: b, password: x, role: administrator, requests: 200}]\n")
        users.chmod(0o600)
        self.start_admin("--set", f"server.auth_file={users}")
        first, second, wrong, busy = (self.client() for _ in range(4))
        self.assertEqual(first.store(b"set", b"any", b"a x"), b"STORED")
        self.assertEqual(second.store(b"set", b"any", b"a x"), b"SERVER_ERROR too many connections of this user")
        self.assertEqual(wrong.store(b"set", b"any", b"a wrong"), b"CLIENT_ERROR authentication failure")
        self.assertEqual(first.ask(b"flush_all"), b"CLIENT_ERROR forbidden")
        self.assertEqual(busy.store(b"set", b"any", b"b x"), b"STORED")

        def is_held_up() -> bool:
            """A slow machine may take longer than the rate does."""
            busy.send(b"mn\r\n" * 500)
            for _ in range(500):
                self.assertEqual(busy.line(), b"MN")
            return self.metrics()["mxkv_connection_rate_pauses_total"] > 0
        wait_for(is_held_up, "a pause")
        seen = self.metrics()
        self.assertEqual(self.refused(), {"limit": 0, "client": 0, "user": 1, "descriptors": 0})
        self.assertGreater(seen["mxkv_connection_rate_pauses_total"], 0)
        self.assertEqual([seen[f"mxkv_{name}_total"] for name in ("logins", "login_failures", "forbidden_requests")], [4, 1, 1])


def of_clusters() -> dict:
    """Names and types of metrics that only a node of a cluster has, read from the source."""
    text = (ROOT / "server/admin/metrics_cluster.cpp").read_text()
    found = re.findall(r'type::(\w+),\s*"(mxkv_\w+)"', text)
    assert len(found) > 10, "the source names them"
    return {name + ("_total" if kind == "counter" else ""): kind for kind, name in found}


class MetricsNamedTest(MetricsCase):
    """Every metric that a file names exists."""

    def exists(self, text: str, where: str) -> None:
        samples = self.metrics()
        families = re.findall(r"(?m)^# TYPE (\S+) ", self.scrape().text)  # some have no samples here
        names = {name.partition("{")[0] for name in samples} | of_clusters().keys() | set(families)
        for name in set(NAMED.findall(text)):
            self.assertIn(name, names, where)
        for name, labels in SELECTOR.findall(text):
            for label, how, value in MATCHER.findall(labels):
                if label in ("instance", "job") or value.startswith("$"):
                    continue
                seen = {match for sample in samples if sample.startswith(name + "{")
                        for match in re.findall(rf'\b{label}="([^"]*)"', sample)}
                for one in value.split("|") if how.endswith("~") else [value]:
                    self.assertIn(one, seen, f"{where}: {name} has no {label} {one}")

    def test_the_dashboard_does(self):
        dashboard = json.loads((ROOT / "server/admin/grafana.json").read_text())
        panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
        self.assertGreater(len(panels), 15)
        self.assertEqual(len({panel["id"] for panel in dashboard["panels"]}), len(dashboard["panels"]))
        for panel in panels:
            self.assertTrue(panel["targets"], panel["title"])
            for target in panel["targets"]:
                self.assertTrue(NAMED.search(target["expr"]) or re.search(r"\bup\{", target["expr"]), panel["title"])
                self.exists(target["expr"], panel["title"])
        shown = " ".join(target["expr"] for panel in panels for target in panel["targets"])
        for name in ("up{", "mxkv_overloaded", "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
                     "mxkv_tls_handshakes_total", "mxkv_certificate_expiry_timestamp_seconds", "mxkv_shard_serves", "mxkv_cluster_waiting_bytes"):
            self.assertIn(name, shown)

    def test_the_rules_for_alerts_do(self):
        text = (ROOT / "server/admin/alerts.yaml").read_text()
        self.assertGreater(text.count("- alert: "), 10)
        self.exists(text, "alerts.yaml")

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_queries_and_rules_are_what_prometheus_reads(self):
        dashboard = json.loads((ROOT / "server/admin/grafana.json").read_text())
        rules = [f"      - record: a:b{i}\n        expr: '{target['expr'].replace('$__rate_interval', '5m')}'\n"
                 for i, target in enumerate(target for panel in dashboard["panels"] for target in panel.get("targets", []))]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("groups:\n  - name: dashboard\n    rules:\n" + "".join(rules))
            file.flush()
            for name in (file.name, str(ROOT / "server/admin/alerts.yaml")):
                done = subprocess.run(["promtool", "check", "rules", name], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_documentation_lists_all_of_them_and_no_other(self):
        text = (ROOT / "server/OPERATING.md").read_text()
        rows = dict(re.findall(r"(?m)^\| `((?:mxkv|process)_[a-z0-9_]+)`((?: `\w+`)*) \|", text))
        types = dict(re.findall(r"(?m)^# TYPE (\S+) (\S+)$", self.scrape().text)) | of_clusters()
        self.assertEqual(set(rows), set(types))
        samples = self.metrics()
        for name, labels in rows.items():
            base = name + "_count" if types[name] == "histogram" else name
            seen = {label for sample in samples if sample.partition("{")[0] == base for label in re.findall(r'(\w+)="', sample)}
            if seen or not labels:
                self.assertEqual(set(re.findall(r"`(\w+)`", labels)), seen, name)
            self.assertIn(f"| {types[name]} |", next(line for line in text.splitlines() if line.startswith(f"| `{name}`")))


class MetricsBeforeServingTest(AdminCase):
    def test_a_server_that_recovers_tells_so_and_is_alive(self):
        data = f"durability.directory={self.directory}/data"
        self.start("--set", data, "--set", "durability.sync=never")
        client = self.client()
        count = 0
        for _ in range(400):
            client.send(b"".join(b"set key:%07d 0 0 64 noreply\r\n%s\r\n" % (count + i, b"v" * 64) for i in range(500)))
            count += 500
        client.ask(b"mn")
        client.close()
        self.end()
        self.log_file.write_text("")
        self.start(*ADMIN, "--set", data, "--set", "memory.limit=512MiB", wait="")
        port = self.admin_port()
        self.assertGreater(port, 0)
        seen = set()

        def served():
            live, ready = self.get("/livez"), self.get("/readyz")
            self.assertEqual(live.text, "alive\n")
            seen.add(ready.text.split()[0])
            state = self.metrics()
            self.assertEqual(sum(value for name, value in state.items() if name.startswith("mxkv_state{")), 1)
            if ready.status != 200:
                self.assertIn(self.get_json("/status.json")["state"], ("starting", "recovering", "serving"))
            return ready.status == 200
        wait_for(served, "ready", 120)
        self.assertLessEqual(seen, {"starting", "recovering", "ready"})
        self.assertEqual(self.metrics()["mxkv_recovered_items"], count)


if __name__ == "__main__":
    unittest.main()
