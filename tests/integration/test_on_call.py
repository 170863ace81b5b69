"""The ten steps of OPERATING.md's "On call", in order, with the tools that it names, on one server that a nightly job has
filled."""

import json
import os
import re
import signal
import subprocess
import unittest
from pathlib import Path

from harness import environment, mxkv_only, wait_for
from harness.connection import Closed, block
from harness.environment import patience
from harness.http import AdminCase
from harness.tls import TlsCase

try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None

VALUE = b"v" * 1000
ADMIN_SOURCES = Path(__file__).resolve().parents[2] / "server" / "admin"
USERS = """users:
  - {name: ann, password: "clear", role: administrator}
  - {name: shop, password: "clear", role: writer, prefixes: ["shop:"]}
"""
NIGHTLY = '  - {name: nightly, password: "clear", role: writer%s}\n'


@mxkv_only("its own instruments")
@unittest.skipUnless(text_string_to_metric_families, "python3-prometheus-client is not installed")
class OnCallTest(AdminCase, TlsCase):
    def test_ten_steps_in_their_order(self):
        self.begin()
        for step in (self.the_alert_is_made_of_what_metrics_tell, self.livez_and_readyz_say_that_it_serves,
                     self.the_log_says_that_it_evicts, self.the_page_shows_memory_and_what_is_asked_for,
                     self.the_list_of_clients_tells_who_wrote_most, self.hot_and_slow_tell_what_is_asked,
                     self.the_tree_tells_what_fills_the_memory, self.the_job_is_slowed_down_while_it_runs,
                     self.its_keys_are_counted_and_deleted,
                     self.a_user_goes_and_certificates_change_without_a_restart):
            with self.subTest(step.__name__):
                step()
        self.end()

    def begin(self) -> None:
        """A server with TLS, users and administration; a job that stores more than fits."""
        self.users = self.directory / "users.yaml"
        self.write_users(NIGHTLY % "")
        self.write_config(
            f"listeners:\n  - {{port: 0, tls: {{certificate: {self.server}, key: {self.key}}}}}\n  - {{port: 0}}\n"
            f"admin: {{listeners: [\"127.0.0.1:0\"]}}\nserver: {{auth_file: {self.users}}}\nstats: {{sample: 1}}\n")
        self.start(listen=(), wait="listening on 127.0.0.1")
        wait_for(lambda: len(self.ports()) >= 2, "both listeners")
        self.shop = self.log_in("shop")
        self.nightly = self.log_in("nightly")
        for first in range(0, 90_000, 1000):
            self.nightly.send(b"".join(block(b"set", b"tmp:%06d" % i, VALUE) for i in range(first, first + 1000)))
            for _ in range(1000):
                self.assertEqual(self.nightly.line(), b"STORED")
        self.ask_for_the_price(300)

    def ask_for_the_price(self, times: int) -> None:
        self.shop.set(b"shop:price", b"1")
        for _ in range(times):
            self.assertEqual(self.shop.get(b"shop:price"), b"1")

    def write_users(self, more: str) -> None:
        self.users.write_text(USERS + more)
        self.users.chmod(0o600)

    def log_in(self, name: str):
        client = self.client(self.ports()[1])
        self.assertEqual(client.store(b"set", b"any", b"%s clear" % name.encode()), b"STORED")
        return client

    def cli(self, *arguments: str, code: int = 0) -> str:
        """mxkv-cli as the administrator, by TLS."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith("MXKV_")}
        done = subprocess.run(
            [environment.MXKV_CLI, "--server", f"localhost:{self.ports()[0]}", "--tls", "--ca", str(self.root.file),
             "--user", "ann", *arguments], capture_output=True, text=True, timeout=patience(60), check=False,
            stdin=subprocess.DEVNULL, env={**variables, "MXKV_PASSWORD": "clear"})
        self.assertEqual(done.returncode, code, (arguments, done.stdout[-1000:], done.stderr[-1000:]))
        return done.stdout

    def sums(self) -> dict:
        """The sum of each family's samples, by name."""
        found = {}
        for family in text_string_to_metric_families(self.get("/metrics").text):
            for sample in family.samples:
                found[sample.name] = found.get(sample.name, 0) + sample.value
        return found

    def reload(self) -> None:
        before = self.log().count("reload: ")
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.log().count("reload: ") > before, "a reload")

    def the_alert_is_made_of_what_metrics_tell(self):
        sums = self.sums()
        self.assertIn("MxkvEvictsUnreadItems", (ADMIN_SOURCES / "alerts.yaml").read_text(encoding="utf-8"))
        self.assertGreater(sums["mxkv_evictions_unread_total"] / sums["mxkv_evictions_total"], 0.5)

    def livez_and_readyz_say_that_it_serves(self):
        self.assertEqual(self.get("/livez").text, "alive\n")
        self.assertEqual(self.get("/readyz").status, 200, self.get("/readyz").text)

    def the_log_says_that_it_evicts(self):
        wait_for(lambda: re.search(r"(?m)^\d{4}-\d\d-\d\d \S+ \w+ .*evict", self.log()), "a line on eviction")

    def the_page_shows_memory_and_what_is_asked_for(self):
        page = self.get("/")
        self.assertEqual((page.status, page.headers["Content-Type"].split(";")[0]), (200, "text/html"))
        status = self.get_json("/status.json")
        memory = status["memory"]
        self.assertGreater(memory["used"], 0.8 * memory["limit"])
        self.assertIn("shop:price", json.dumps(status["hot"]))

    def the_list_of_clients_tells_who_wrote_most(self):
        clients = [json.loads(line) for line in self.cli("--json", "clients", "list").splitlines()]
        self.assertEqual(max(clients, key=lambda client: client["read"])["user"], "nightly")
        self.assertRegex(self.cli("clients", "list"), r"^id +cfd +addr .*\n(?s:.*) nightly ")

    def hot_and_slow_tell_what_is_asked(self):
        self.assertIn("shop:price", self.cli("hot"))
        self.cli("slow")

    def the_tree_tells_what_fills_the_memory(self):
        first = self.cli("tree").splitlines()
        self.assertIn("tmp:", "\n".join(first))
        self.assertRegex(self.cli("memory"), r"(?i)evict|limit")

    def the_job_is_slowed_down_while_it_runs(self):
        self.write_users(NIGHTLY % ", requests: 200")
        self.reload()
        self.nightly.send(b"get tmp:1\r\n" * 1000)
        before = int(self.stats()["rate_pauses"])
        wait_for(lambda: int(self.stats()["rate_pauses"]) > before or before > 0, "a pause")
        self.ask_for_the_price(50)

    def stats(self) -> dict:
        return dict(line.split(" ", 1) for line in self.cli("raw", "stats").replace("STAT ", "").splitlines() if " " in line)

    def its_keys_are_counted_and_deleted(self):
        counted = int(re.search(r"\d+", self.cli("count", "--exact", "tmp:")).group())
        self.assertGreater(counted, 1000)
        self.assertIn(str(counted), self.cli("delete-prefix", "--dry-run", "tmp:"))
        self.cli("delete-prefix", "--yes", "tmp:")
        self.assertEqual(int(re.search(r"\d+", self.cli("count", "--exact", "tmp:")).group()), 0)
        self.ask_for_the_price(1)

    def a_user_goes_and_certificates_change_without_a_restart(self):
        def subject() -> str:
            done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.ports()[0]}", "-servername",
                                   "localhost"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                  timeout=patience(30))
            return re.search(r"subject=(.*)", done.stdout).group(1)
        self.assertIn("server", subject())
        certificate, key = self.root.sign("another")
        for new, place in ((certificate, self.server), (key, self.key)):
            Path(place).write_bytes(Path(new).read_bytes())
        self.write_users("")
        self.reload()
        wait_for(lambda: "another" in subject(), "the new certificate")
        with self.assertRaises((Closed, OSError)):
            for _ in range(2000):
                self.nightly.line()
        self.ask_for_the_price(1)


if __name__ == "__main__":
    unittest.main()
