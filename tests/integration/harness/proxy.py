"""A connection to a server that a test can cut. It checks nothing."""

from __future__ import annotations  # for Python 3.9

import contextlib
import socket
import threading


class Proxy:
    """A TCP proxy in front of a server. `cut(after)` resets, once, the next connection that has passed so many bytes of replies;
    with `every` it resets each such connection.
    """

    def __init__(self, port: int, every: int | None = None):
        self._target, self._every = port, every
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.accepted, self.cuts, self._left = 0, 0, every
        self.received = b""
        self._lock = threading.Lock()
        self._open = set()
        threading.Thread(target=self._serve, daemon=True).start()

    def cut(self, after: int) -> None:
        with self._lock:
            self._left = after

    def close(self) -> None:
        with contextlib.suppress(OSError):  # closed already
            self._listener.shutdown(socket.SHUT_RDWR)  # without it the thread would go on to accept
        self._listener.close()
        with self._lock:
            for end in self._open:
                end.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            near.close()
            return
        with self._lock:
            self.accepted += 1
            self._open |= {near, far}
        threading.Thread(target=self._copy, args=(near, far, False), daemon=True).start()
        self._copy(far, near, True)

    def _copy(self, source: socket.socket, sink: socket.socket, replies: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if not replies:
                    self.received += data
                if replies and (part := self._part_before_cut(data)) is not None:
                    sink.sendall(part)
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def _part_before_cut(self, data: bytes):
        with self._lock:
            if self._left is None:
                return None
            if len(data) <= self._left:
                self._left -= len(data)
                return None
            part, self._left = data[:self._left], self._every
            self.cuts += 1
            return part
