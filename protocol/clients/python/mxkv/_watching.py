"""A watch on a connection of its own, which the iterator opens again after it was lost."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ._changes import Changes, Over, WatchForm, WatchReader, begun, mark_line
from ._hooks import around
from ._retries import named
from ._wire import Reply
from .errors import ConnectionLost, MxkvError, RequestTimeout

if TYPE_CHECKING:
    from .client import Client

_RECEIVE_BYTES = 1 << 18


class Stream:
    """One connection with one watch. For one thread, apart from `close`."""

    def __init__(self, client: Client, form: WatchForm, position: str | None) -> None:
        self._client = client
        self._reader = WatchReader(client._codec)
        with self._closing_on_errors(), around(client._hook, b"mw", client._name):
            client._connect()
            assert client.sock is not None
            self._sock: socket.socket = client.sock
            self._sock.sendall(form.line(client._codec, position))
            while not isinstance(answer := self._reader.next(), Reply):
                self._reader.feed(self._read())
            self.position = begun(answer)  # behind which it begins

    def ask_mark(self, mark: bytes) -> None:
        """Asks for a mark: the server sends all changes up to now, and then `Changes` with this `mark`."""
        with self._closing_on_errors():
            self._sock.settimeout(self._client.timeout)
            self._sock.sendall(mark_line(mark))

    def receive(self, wait: float | None) -> Changes | None:
        """The next changes; None if there are none within so many seconds. ConnectionLost if the server ends, TooOld if this
        client reads too slowly.
        """
        end = None if wait is None else time.monotonic() + wait
        with self._closing_on_errors():
            while True:
                found = self._reader.next()
                if isinstance(found, Changes):
                    return found
                if isinstance(found, Over):
                    raise found.error or ConnectionLost("the server ends")
                if isinstance(found, Reply):
                    continue  # to a request for a mark
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self._sock.settimeout(left)
                try:
                    data = self._read()
                except socket.timeout:
                    return None
                self._reader.feed(data)

    def close(self) -> None:
        """Any thread may call it; a thread that waits in `receive` gets ConnectionLost."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed already

    def _read(self) -> bytes:
        data = self._sock.recv(_RECEIVE_BYTES)
        if not data:
            raise ConnectionResetError("the server closed the connection")
        return data

    @contextmanager
    def _closing_on_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self._client.close()
            lost = named(error)
            if lost is None or lost is error:
                raise
            raise lost from error


class Watch:
    """Iterates over the changes of a range, as `Changes`. If the connection is lost it opens another one and goes on behind the
    last position, for as long as it takes; then the server sends the changes behind that position again. `close()` ends it, from any thread.

    TooOld or HistoryLost ends it if the server no longer has the changes behind the position: begin another watch, without a
    position, and read the range again. Errors that another attempt would not change, such as Forbidden, end it, too.
    """

    def __init__(self, client: Client, form: WatchForm, position: str | None) -> None:
        self._client, self._form = client, form
        self._closed = threading.Event()
        self._reading = threading.Lock()  # held by the thread that waits for changes
        self._stream: Stream | None = None
        attempt = 0
        while self._stream is None:
            try:
                self._stream = Stream(client, form, position)
            except ConnectionLost:
                if attempt >= client._retries.most:
                    raise
                time.sleep(client._retries.wait_after(attempt))
                attempt += 1
        self.position = self._stream.position  # behind the last changes of a moment

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> Changes:
        with self._reading:
            attempt = 0
            while not self._closed.is_set():
                try:
                    if self._stream is None:
                        self._stream = Stream(self._client, self._form, self.position)
                    changes = self._next(self._stream)
                except MxkvError as error:
                    self._stream = None
                    if self._closed.is_set():
                        break
                    if not isinstance(error, (ConnectionLost, RequestTimeout)):
                        self._closed.set()
                        raise
                    self._closed.wait(self._client._retries.wait_after(attempt))
                    attempt += 1
                    continue
                self.position = changes.position or self.position
                return changes
            self._client.close()
            raise StopIteration

    def _next(self, stream: Stream) -> Changes:
        """Changes, or another position. A connection that is silent is asked for a mark, to see whether it lives."""
        asked = False
        while True:
            changes = stream.receive(self._client.timeout)
            if changes is None and asked:
                stream.close()
                raise RequestTimeout("no mark in time")
            if changes is None:
                stream.ask_mark(b"alive")
            elif changes.changes or changes.position not in (None, self.position):
                return changes
            asked = changes is None

    def close(self) -> None:
        self._closed.set()
        stream = self._stream
        if stream is not None:
            stream.close()
        if self._reading.acquire(blocking=False):
            self._client.close()
            self._reading.release()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
