"""A redis on a free port, without persistence, as a target for the load client."""

import socket
import subprocess
import tempfile
import time

from . import environment
from .environment import patience
from .server import free_port


class Redis:
    def __init__(self):
        self.port = 0
        self.process = None
        self._directory = tempfile.TemporaryDirectory()
        self.socket_path = f"{self._directory.name}/redis"

    def start(self) -> "Redis":
        for _ in range(5):
            self.port = free_port()
            self.process = subprocess.Popen(
                [environment.REDIS, "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.socket_path,
                 "--save", "", "--appendonly", "no", "--dir", self._directory.name],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if self._wait_ready():
                return self
        raise AssertionError("redis-server did not start in five tries")

    def _wait_ready(self) -> bool:
        deadline = time.monotonic() + patience(30)
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.ask("PING") == b"+PONG\r\n":
                    return True
            except OSError:
                time.sleep(0.01)
        self.stop()
        return False

    def ask(self, *words: str) -> bytes:
        """One command whose reply is short."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience(10)) as connection:
            parts = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
            connection.sendall(f"*{len(words)}\r\n{parts}".encode())
            return connection.recv(1024)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=patience(30))
            self.process = None

    def remove(self) -> None:
        self.stop()
        self._directory.cleanup()
