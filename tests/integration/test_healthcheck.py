"""The container's health check, against a daemon of this build: by a client listener, or by /readyz."""

import os
import signal
import socket
import subprocess
import threading
import unittest
from pathlib import Path

from harness import mxkv_only, patience, pause, wait_for
from harness.beside import load_tests  # noqa: F401
from harness.http import AdminCase
from harness.tls import GuardedCase

CHECK = Path(__file__).resolve().parents[2] / "docker" / "healthcheck"


needs_bash = unittest.skipUnless(os.path.exists("/bin/bash"), "the check is a script of bash")


def ask(**ports: int) -> subprocess.CompletedProcess:
    return subprocess.run(["bash", str(CHECK)], env=os.environ | {name: str(port) for name, port in ports.items()}, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=patience(30))


@mxkv_only("its container")
@needs_bash
class HealthcheckTest(GuardedCase):
    """By a client listener: the check passes also if the listener requires a login or TLS, or is full."""

    def check(self, port: int) -> int:
        return ask(MXKV_HEALTH_PORT=port).returncode

    def assert_well(self, port: int) -> None:
        """The script has its own timeout, which a busy machine may exceed: then the test runs it again."""
        wait_for(lambda: self.check(port) == 0, f"the server at port {port} is well")

    def test_a_server_that_answers_is_well(self):
        self.start()
        self.assert_well(self.ports()[0])

    def test_one_that_listens_by_ipv6_alone_is_well(self):
        self.start(listen=("[::1]:0",))
        self.assert_well(self.ports()[0])

    def test_one_that_asks_for_a_login_or_for_tls_is_well(self):
        for port in self.guard().values():
            self.assert_well(port)
        self.assertNotIn("wrong user", self.log())

    def test_one_that_has_all_its_connections_is_well(self):
        self.start("--set", "limits.connections=2")
        full = [self.client() for _ in range(2)]
        for client in full:
            client.ask(b"version")
        for _ in range(10):
            self.assert_well(self.ports()[0])

    def test_one_that_hangs_or_is_gone_is_not(self):
        self.start()
        port = self.ports()[0]
        pause(self.process)
        self.assertNotEqual(self.check(port), 0)
        self.process.send_signal(signal.SIGCONT)
        self.assert_well(port)
        self.end()
        self.assertNotEqual(self.check(port), 0)

    def test_another_server_is_not(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            def serve() -> None:
                client, _ = other.accept()
                client.recv(100)
                client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                client.close()
            thread = threading.Thread(target=serve)
            thread.start()
            self.assertNotEqual(self.check(other.getsockname()[1]), 0)
            thread.join()


@mxkv_only("its container")
@needs_bash
class ReadinessTest(AdminCase):
    """By the administration port: the check passes when /readyz says so."""

    def check(self) -> tuple:
        done = ask(MXKV_HEALTH_ADMIN_PORT=self.admin_port(), MXKV_HEALTH_PORT=1)
        return done.returncode == 0, done.stdout

    def test_one_that_is_ready_is_well_and_one_that_is_overloaded_is_not(self):
        self.start_admin("--set", "limits.connections=2")
        wait_for(lambda: self.check() == (True, "ready\n"), "ready")
        clients = [self.client() for _ in range(2)]
        for client in clients:
            client.ask(b"version")
        wait_for(lambda: self.check() == (False, "overloaded: all of 2 connections are in use (limits.connections)\n"), "overloaded")
        for client in clients:
            client.close()
        wait_for(lambda: self.check() == (True, "ready\n"), "ready again")

    def test_one_that_hangs_or_is_gone_is_not(self):
        self.start_admin()
        wait_for(lambda: self.check()[0], "ready")
        pause(self.process)
        self.assertFalse(self.check()[0])
        self.process.send_signal(signal.SIGCONT)
        wait_for(lambda: self.check()[0], "ready again")
        self.end()
        self.assertFalse(self.check()[0])
