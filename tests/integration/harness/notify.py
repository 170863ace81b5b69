"""The service manager's side of sd_notify: a datagram socket for NOTIFY_SOCKET."""

import os
import socket
import tempfile
import time

from .environment import patience


class NotifySocket:
    """Binds a path, or a name in the abstract namespace; keeps messages in the order of arrival."""

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
        """The first message that has `name`; earlier messages are only kept in `seen`."""
        while name not in (message := self.next()):
            pass
        return message

    def silent_for(self, seconds: float) -> bool:
        """Whether no message comes within that time."""
        self.socket.settimeout(seconds)
        try:
            self.socket.recv(4096)
        except TimeoutError:
            return True
        return False

    def forget(self) -> None:
        """Drops all messages that have come so far."""
        self.socket.setblocking(False)
        try:
            while True:
                self.socket.recv(4096)
        except BlockingIOError:
            pass
