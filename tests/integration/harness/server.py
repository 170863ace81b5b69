"""One server process: starts it on a free port, waits for it, stops it, and checks its log.

The same options start mxkvd or memcached, so that a test of the shared protocol runs against both. A server that
crashed, printed a sanitizer report or did not exit with 0 on SIGTERM raises ServerFailure, with its log.
"""

import dataclasses
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

from . import environment
from .environment import patience

_MIB = 1 << 20
_REPORT = re.compile(
    rb"AddressSanitizer|LeakSanitizer|ThreadSanitizer|MemorySanitizer|runtime error:|terminate called|"
    rb"Assertion|assertion failed|Segmentation fault", re.IGNORECASE)
_PORT_TAKEN = re.compile(rb"in use", re.IGNORECASE)


class ServerFailure(AssertionError):
    """The server did not start, crashed, or did not stop as it should."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Settings of a server under test, in the tests' terms. `extra` goes to mxkvd alone, word for word."""
    workers: int = 2
    memory_mib: int = 256
    value_bytes: int = 0          # 0: the server's own default
    connections: int = 0          # 0: the server's own default
    settings: tuple = ()          # pairs (path, value) for --set, mxkvd only
    extra: tuple = ()
    variables: tuple = ()         # pairs (name, value) of environment variables, added to the test's own
    memcached: bool = environment.IS_MEMCACHED

    def command(self, port: int) -> list:
        return self._memcached(port) if self.memcached else self._mxkvd(port)

    def _mxkvd(self, port: int) -> list:
        settings = list(self.settings)
        if self.value_bytes:
            settings.append(("limits.value_bytes", self.value_bytes))
        if self.connections:
            settings.append(("limits.connections", self.connections))
        command = [environment.MXKVD, "--listen", f"127.0.0.1:{port}", "--workers", str(self.workers),
                   "--memory", f"{self.memory_mib}MiB"]
        for path, value in settings:
            command += ["--set", f"{path}={value}"]
        return command + list(self.extra)

    def _memcached(self, port: int) -> list:
        # memcached counts its item header towards the item limit: leave room for it above the value.
        command = [environment.MEMCACHED or "memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(port), "-U", "0",
                   "-t", str(self.workers), "-m", str(self.memory_mib), "-c", str(self.connections or 4096)]
        if self.value_bytes:
            command += ["-I", str(self.value_bytes)]
        return command


def free_port() -> int:
    """A port that was free a moment ago. Another process may take it: then the start retries."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, options: Options = Options()):
        self.options = options
        self.port = 0
        self.process = None
        self._log = tempfile.TemporaryFile()

    def start(self) -> "Server":
        try:
            return self._start()
        except ServerFailure:
            self.kill()
            raise

    def _start(self) -> "Server":
        for _ in range(5):
            self.port = free_port()
            self._log.seek(0)
            self._log.truncate()
            self.process = subprocess.Popen(self.options.command(self.port), stdin=subprocess.DEVNULL,
                                            stdout=self._log, stderr=subprocess.STDOUT,
                                            env={**os.environ, **dict(self.options.variables)})
            if self._wait_ready():
                return self
        raise ServerFailure("no free port found in five tries\n" + self.log())

    def _wait_ready(self) -> bool:
        """True when the server has answered `version`, False when another process has taken the port."""
        deadline = time.monotonic() + patience(30)
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                if _PORT_TAKEN.search(self.log().encode()):
                    return False
                raise ServerFailure(f"exit {self.process.returncode} at start\n{self.log()}")
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as probe:
                    probe.sendall(b"version\r\n")
                    if probe.recv(64).startswith(b"VERSION "):
                        return True
            except OSError:
                time.sleep(0.01)
        raise ServerFailure("no answer to `version` in time\n" + self.log())

    def log(self) -> str:
        # pread leaves the file offset alone, which the server shares with this descriptor.
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace")

    def stop(self, how: int = signal.SIGTERM) -> None:
        """Asks the server to stop, and checks that it stops in order; raises ServerFailure otherwise."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.wait_exit()

    def wait_exit(self) -> None:
        """Waits for exit code 0 and a clean log; raises ServerFailure otherwise."""
        process, self.process = self.process, None
        try:
            code = process.wait(timeout=patience(30))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise ServerFailure("did not stop in time\n" + self.log()) from None
        if code != 0:
            raise ServerFailure(f"exit {code}\n{self.log()}")
        if _REPORT.search(self.log().encode()):
            raise ServerFailure("a report in the log\n" + self.log())
        self._log.close()

    def kill(self) -> None:
        """Kills the process, without checks; does nothing if it has ended. The log is gone afterwards."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        self._log.close()

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def rss_bytes(self) -> int:
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        raise ServerFailure("no VmRSS: the server is gone\n" + self.log())

    def cpu_ticks(self) -> int:
        """User and system time used so far, in clock ticks (10 ms)."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
