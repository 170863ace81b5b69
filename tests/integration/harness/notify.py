"""What a service manager would hear: a datagram socket for NOTIFY_SOCKET."""

import os
import socket
import tempfile
import time

from .environment import patience


class NotifySocket:
    """Binds a path, or a name in the abstract namespace; keeps the order of what came."""

    def __init__(self, abstract: bool = False):
        self._directory = tempfile.TemporaryDirectory(prefix="notify")
        self.name = f"@mxkvd-test-{os.getpid()}-{time.monotonic_ns()}" if abstract else self._directory.name + "/socket"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.name.replace("@", "\0", 1))
        self.seen = []

    def close(self) -> None:
        self.socket.close()
        self._directory.cleanup()

    def next(self, seconds: float = 20) -> dict:
        """The next message as {name: value}; TimeoutError if none comes in time."""
        self.socket.settimeout(patience(seconds))
        message = dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())
        self.seen.append(message)
        return message

    def until(self, name: str) -> dict:
        """The first message that has `name`; what comes before is only remembered in `seen`."""
        while name not in (message := self.next()):
            pass
        return message

    def silent_for(self, seconds: float) -> bool:
        """Whether nothing comes for so long."""
        self.socket.settimeout(seconds)
        try:
            self.socket.recv(4096)
        except TimeoutError:
            return True
        return False

    def forget(self) -> None:
        """Drops what has come so far."""
        self.socket.setblocking(False)
        try:
            while True:
                self.socket.recv(4096)
        except BlockingIOError:
            pass
