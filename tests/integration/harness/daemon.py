"""A daemon that a test starts itself: with a configuration file, on a port that the system chooses, in a directory of its own.
The end of the test removes the directory.
"""

import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from . import environment
from .connection import Connection
from .environment import patience


def wait_for(what, description: str, seconds: float = 20):
    """Polls until `what()` is true, and returns its value. The time is only an upper bound on waiting."""
    deadline = time.monotonic() + patience(seconds)
    while not (found := what()):
        if time.monotonic() >= deadline:
            raise AssertionError(f"did not happen in time: {description}")
        time.sleep(0.01)
    return found


def pause(process) -> None:
    """Stops a child process until SIGCONT. On return none of its threads runs, however busy the machine is."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


class DaemonCase(unittest.TestCase):
    """A test with its own directory, and daemons in it."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="mxkvd")
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.config = self.directory / "mxkv.yaml"
        self.log_file = self.directory / "out.log"
        self.process = None

    def write_config(self, text: str = "") -> None:
        self.config.write_text("workers: 2\nmemory: {limit: 64MiB}\n" + text)

    def command(self, *arguments, listen=("127.0.0.1:0",)) -> list:
        flags = [part for address in listen for part in ("--listen", address)]
        file = ["--config", str(self.config)] if self.config.exists() else ["--workers", "2", "--set", "memory.limit=64MiB"]
        return [environment.MXKVD, *file, *flags, *arguments]

    def start(self, *arguments, listen=("127.0.0.1:0",), prefix=(), wait: str = "listening on", **options):
        """Starts a daemon in the foreground, with its log in `log_file`, and waits until it listens."""
        with open(self.log_file, "ab") as log:
            process = subprocess.Popen([*prefix, *self.command(*arguments, listen=listen)], stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log, cwd=self.directory, **options)
        self.addCleanup(self.kill, process)
        self.process = process
        if wait:
            self.wait_log(wait, max(1, len(listen)))
        return process

    def run_to_end(self, *arguments, listen=("127.0.0.1:0",), **options):
        """Runs a daemon that ends by itself; returns (exit code, standard error)."""
        done = subprocess.run(self.command(*arguments, listen=listen), stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=patience(60), check=False, cwd=self.directory, **options)
        return done.returncode, done.stderr.decode()

    @staticmethod
    def kill(process) -> None:
        if process.poll() is None:
            process.kill()
        process.wait()

    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def wait_log(self, text: str, count: int = 1) -> None:
        def there():
            if self.log().count(text) >= count:
                return True
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"exit {self.process.returncode} before {text!r} was logged\n{self.log()}")
            return False
        try:
            wait_for(there, f"{text!r} in the log")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()}") from None

    def ports(self) -> list:
        return [int(port) for port in re.findall(r"listening on \S+:(\d+)", self.log())]

    def client(self, where=None, **options) -> Connection:
        client = Connection(where or self.ports()[0], **options)
        self.addCleanup(client.close)
        return client

    def end(self, how: int = signal.SIGTERM, code: int = 0) -> None:
        """Ends the daemon in order; checks its exit code, and that no sanitizer reported anything."""
        self.process.send_signal(how)
        self.assertEqual(self.process.wait(timeout=patience(30)), code, self.log())
        self.assert_no_report()

    def assert_no_report(self) -> None:
        self.assertNotRegex(self.log(), "Sanitizer|runtime error:|terminate called|[Aa]ssertion")

    def wait_gone(self, process: int) -> None:
        """Waits for the end of a process that is not our child; its parent may be slow to take its exit code."""
        def gone():
            try:
                with open(f"/proc/{process}/stat", encoding="ascii") as stat:
                    return stat.read().rpartition(") ")[2].startswith("Z")
            except FileNotFoundError:
                return True
        wait_for(gone, f"the end of process {process}")
