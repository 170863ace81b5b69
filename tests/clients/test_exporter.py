"""Prometheus' memcached_exporter scrapes a server: it reads the same figures from mxkvd as from memcached."""

import re
import shutil
import subprocess
import urllib.error
import urllib.request

from common import Options, ServerCase, free_port, machine, patience, wait_for
from harness import Connection, Server, environment
from harness.connection import block
import registries

# The newest version that builds with Debian 12's Go.
_EXPORTER = ("github.com/prometheus/memcached_exporter/cmd/memcached_exporter", "v0.10.0")


# An exporter that is installed already.
_INSTALLED = shutil.which("memcached_exporter") or shutil.which("prometheus-memcached-exporter")


@machine.needs(machine.long_only(), "" if _INSTALLED else machine.missing("go"))
class ExporterTest(ServerCase):
    @classmethod
    def setUpClass(cls):
        cls.program = _INSTALLED or registries.go_program(*_EXPORTER)
        super().setUpClass()

    def scrape(self, port: int) -> dict:
        """{metric with its labels: value} of a server, by an exporter of its own."""
        where = f"127.0.0.1:{free_port()}"
        exporter = subprocess.Popen([self.program, f"--memcached.address=127.0.0.1:{port}", f"--web.listen-address={where}"],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            text = wait_for(lambda: self.read(f"http://{where}/metrics"), "the exporter answers")
        finally:
            exporter.terminate()
            exporter.wait(timeout=patience(20))
        return {name: float(value) for name, value in re.findall(r"^(memcached_\S+) (\S+)$", text, re.MULTILINE)}

    @staticmethod
    def read(address: str) -> str:
        try:
            with urllib.request.urlopen(address, timeout=patience(10)) as reply:
                return reply.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None
        except OSError:
            return ""

    @staticmethod
    def names(metrics: dict) -> set:
        """Names and labels, without the numbers of classes and the version, which differ."""
        return {re.sub(r'(slab|version)="[^"]*"', r'\1=""', name) for name in metrics if "exporter" not in name}

    def test_it_tells_what_happened(self):
        before = self.scrape(self.server.port)
        client = self.connect()
        client.send(b"".join(block(b"set", b"k%d" % number, b"v" * 100) for number in range(20)))
        self.assertEqual({client.line() for _ in range(20)}, {b"STORED"})
        client.get(b"k1")
        client.get(b"absent")
        found = self.scrape(self.server.port)
        for name, value in (('memcached_commands_total{command="set",status="hit"}', 20),
                            ('memcached_commands_total{command="get",status="hit"}', 1),
                            ('memcached_commands_total{command="get",status="miss"}', 1), ("memcached_items_total", 20)):
            self.assertEqual(found[name] - before[name], value, name)
        self.assertEqual(found["memcached_up"], 1)
        self.assertGreater(found["memcached_limit_bytes"], 0)

    @machine.needs("" if environment.MEMCACHED else "not installed: memcached")
    def test_it_finds_all_that_it_finds_with_memcached(self):
        theirs = Server(Options(memcached=True)).start()
        self.addCleanup(theirs.stop)
        for port in (self.server.port, theirs.port):
            client = Connection(port)
            self.addCleanup(client.close)
            client.set(b"k", b"v")
            client.get(b"k")
        ours = self.names(self.scrape(self.server.port))
        self.assertEqual(self.names(self.scrape(theirs.port)) - ours, set())


if __name__ == "__main__":
    machine.main()
