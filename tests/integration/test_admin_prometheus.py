"""Prometheus itself scrapes a listener for administration that speaks TLS and asks for a login."""

import json
import shutil
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

from harness import mxkv_only, patience, wait_for
from harness.server import free_port
from test_admin_tls import AdminTlsCase

_PROMETHEUS = shutil.which("prometheus")


@mxkv_only("TLS")
@unittest.skipUnless(_PROMETHEUS, "prometheus is not installed")
class PrometheusTest(AdminTlsCase):
    def query(self, expression: str):
        """The value of one series; None: there is none yet."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=patience(20)) as reply:
                found = json.load(reply)["data"]["result"]
        except urllib.error.URLError:
            return None
        return float(found[0]["value"][1]) if found else None

    def scrape(self, password: str) -> None:
        self.port = free_port()
        config = self.directory / "prometheus.yaml"
        config.write_text(f"scrape_configs:\n  - job_name: mxkv\n    scheme: https\n    scrape_interval: 1s\n    scrape_timeout: 1s\n"
                          f"    static_configs: [{{targets: [\"127.0.0.1:{self.secure_port}\"]}}]\n"
                          f"    tls_config: {{ca_file: {self.root.file}}}\n"
                          f"    basic_auth: {{username: prometheus, password: {password}}}\n")
        process = subprocess.Popen([_PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={self.directory}/series-{password}",
                                    f"--web.listen-address=127.0.0.1:{self.port}"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.kill, process)

    def test_a_reader_by_tls_is_scraped_and_a_wrong_password_is_not(self):
        users = self.directory / "users.yaml"
        users.write_text("users: [{name: prometheus, password: right}]\n")
        users.chmod(0o600)
        self.write_config(f"server: {{auth_file: {users}}}\nadmin:\n  listeners:\n"
                          f"    - {{port: 0, auth: required, tls: {{certificate: {self.server}, key: {self.key}}}}}\n")
        self.start()
        self.secure_port = self.admin_port()
        self.scrape("right")
        wait_for(lambda: self.query('mxkv_ready{job="mxkv"}') == 1, "a scrape", 60)
        self.assertEqual(self.query('mxkv_login_failures_total{job="mxkv"}'), 0)
        self.scrape("wrong")
        wait_for(lambda: self.query('up{job="mxkv"}') == 0, "a scrape that is refused", 60)
        self.wait_log('as "prometheus"')
        self.end()
