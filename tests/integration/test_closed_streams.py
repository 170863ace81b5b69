"""Programs started with closed standard streams never print into a socket or file that they open."""

import os
import signal
import subprocess
import unittest

from cli_case import CliCase
from harness import DaemonCase, environment, mxkv_only, wait_for
from harness.environment import patience

CLOSE = {0: "<&-", 1: ">&-", 2: "2>&-"}


def run_without(descriptors, *arguments, **options) -> subprocess.CompletedProcess:
    closed = " ".join(CLOSE[each] for each in descriptors)
    return subprocess.run(["bash", "-c", f'exec "$0" "$@" {closed}', *map(str, arguments)], capture_output=True,
                          timeout=patience(120), check=False, **options)


class ClosedStreamsOfClientsTest(CliCase):
    KEYS = (b"flush_all", b"set", b"quit")

    def setUp(self):
        super().setUp()
        for key in self.KEYS:
            self.client.set(key, b"flush_all")

    def assert_unchanged(self):
        self.assertEqual([self.client.get(key) for key in self.KEYS], [b"flush_all"] * len(self.KEYS))

    def test_the_shell_prints_nothing_into_its_connection(self):
        where = ("--server", f"127.0.0.1:{self.server.port}")
        for descriptors in ((1,), (2,), (0, 1), (1, 2), (0, 1, 2)):
            for arguments in (("scan",), ("get", "flush_all"), ("raw", "get flush_all"), ("export",), ("nonsense",), ("get", "none")):
                with self.subTest(closed=descriptors, arguments=arguments):
                    done = run_without(descriptors, environment.MXKV_CLI, *where, *arguments, env=self.variables())
                    self.assert_unchanged()
                    if 1 in descriptors and arguments[0] in ("scan", "get", "raw", "export"):
                        self.assertEqual(done.returncode, 6, (done.stdout, done.stderr))
                    if descriptors == (1,) and arguments[0] == "scan":
                        self.assertEqual(done.stderr, b"mxkv-cli: standard output: Bad file descriptor\n")

    def test_a_script_without_standard_input_ends(self):
        done = run_without((0,), environment.MXKV_CLI, "--server", f"127.0.0.1:{self.server.port}", env=self.variables())
        self.assertIn(done.returncode, (0, 6))
        self.assert_unchanged()

    def test_the_load_client_prints_nothing_into_its_connection(self):
        for descriptors in ((1,), (1, 2), (0, 1, 2)):
            run_without(descriptors, environment.MXKV_YCSB, "load", "--server", f"127.0.0.1:{self.server.port}",
                        "-p", "recordcount=100", "--no-server-counters")
            self.assert_unchanged()


@mxkv_only("its streams")
class ClosedStreamsOfDaemonTest(DaemonCase):
    def test_the_daemon_serves_and_its_descriptors_0_to_2_are_no_sockets(self):
        path = self.directory / "server.sock"
        process = subprocess.Popen(["bash", "-c", 'exec "$0" "$@" <&- >&- 2>&-', environment.MXKVD, "--listen", f"unix:{path}",
                                    "--memory", "64MiB", "--workers", "1", "--set", "log.level=trace"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def serves() -> bool:
            try:
                return self.client(path).ask(b"mn") == b"MN"
            except OSError:
                return False
        wait_for(serves, "the daemon")
        for descriptor in range(3):
            self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/{descriptor}"), "/dev/null")
        client = self.client(path)
        self.assertEqual(client.set(b"k", b"v"), b"STORED")
        self.assertEqual(client.get(b"k"), b"v")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=patience(60)), 0)


if __name__ == "__main__":
    unittest.main()
