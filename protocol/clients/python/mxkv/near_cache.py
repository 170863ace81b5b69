"""A near cache: items of a range in this process, which the server's changes keep current.

    near = mxkv.NearCache(client, "user:", max_bytes=64 << 20, max_stale=2.0)
    value = near.get("user:1")

*Bound.* A value that `get` returns was current at some moment at most `max_stale` seconds before the call. A thread watches the
range. Every `max_stale / 4` it notes the time and asks the server for a mark. The mark stands behind all changes that took effect
before it was asked for, so at the mark the cache has been current since then, and is *live* until that time + `max_stale`. Counting from
the mark's arrival would trust a delayed packet. While the cache is not live, reads go to the server, and the entries stay.

*Fetches.* Watch and fetches have different connections, so the line of a change may arrive before the reply to an older read. Each fetch
is therefore in the pending table before it is sent. A line for its key, a clear of the cache, and an own write, when it is sent and when
it is answered, taint it: its value is returned, but not kept. A change that the read did not see takes effect behind it, hence its
line comes after the fetch was entered.

*Times to live.* The server tells whole seconds, rounded up, and the end of an entry is counted from before its request was sent. So an
entry outlives its item by at most a second, or by `max_stale` if that is less. A line's seconds are counted from the last mark's request,
since the line was written after it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Union

from . import _commands
from ._changes import Change, Changes, WatchForm
from ._ranges import Range, Where, words_of
from ._watching import Stream
from ._wire import Key, PlainSerde, bytes_of
from .errors import ClientError, HistoryLost, MxkvError, RequestTimeout, TooOld

if TYPE_CHECKING:
    from .client import Client
    from .pool import PooledClient

ENTRY_BYTES = 300  # of an entry beside its key and value: the object, its slot, its links
_NEVER = float("inf")
_MARKS = 4  # that are asked for in `max_stale`


class _Entry:
    """What the server had: the bytes of a value, or None if it had no item. Never changed, except for `end`."""
    __slots__ = ("cost", "data", "end", "flags", "unique")

    def __init__(self, key: bytes, data: bytes | None, flags: int, unique: int | None, end: float) -> None:
        self.data, self.flags, self.unique, self.end = data, flags, unique, end
        self.cost = len(key) + len(data or b"") + ENTRY_BYTES


class _Fetch:
    """A read on its way. Its value is not kept if it is tainted."""
    __slots__ = ("tainted",)

    def __init__(self) -> None:
        self.tainted = False


class NearCache:
    """Keeps items of a range that were read, and that there was no item, in at most `max_bytes`; the least recently used ones go.
    `where` is a prefix or a Range. The module's text above tells what a read promises.

    Any number of threads may use it if they may use the client: a PooledClient. Writes of the range should go through `set`, `delete` or
    `writing` of this object, so that this process reads its own writes; others are seen within `max_stale`. The client must read from the
    server that it watches.

    The constructor begins the watch, and raises if the server refuses it. `failure` is the error that ended the last connection of the
    watch, None while it is followed.

    Two limits: a `flush_all` with a delay that was sent before the cache began is not noticed, and two values of a key must not have the
    same unique, as the flag `E` of the meta commands would allow.
    """

    def __init__(self, client: Union[Client, PooledClient], where: Where, *, max_bytes: int = 64 << 20, max_stale: float = 2.0) -> None:
        if max_stale <= 0 or max_bytes < 0:
            raise ClientError("max_stale must be above 0, and max_bytes must not be negative")
        self._client = client
        self._codec, self._prefix = client._codec, client._codec.prefix
        self._where = where if isinstance(where, Range) else bytes_of(where)
        words_of(self._codec, where)
        self._form = WatchForm(where, details=True, kinds=("put", "deleted", "evicted", "touched"))
        self._max_bytes, self._max_stale = max_bytes, max_stale
        self._slack = min(max_stale, 1.0) - 1.0
        self._plain = type(self._codec.serde) is PlainSerde

        # Reads of `_entries` and `_live_until` take no lock: each is one operation of the interpreter.
        self._lock = threading.Lock()
        self._live_until = 0.0
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._bytes = 0
        self._pending: dict[bytes, set[_Fetch]] = {}
        self._follows = False  # the server will send the changes behind a read that is sent now
        self._keeps_from = 0.0  # values of reads that were sent before are not kept
        self._known_at = 0.0  # lines that come now were written after this time

        self.failure: MxkvError | None = None
        self._closed = threading.Event()
        self._watching = client._another()
        self._stream: Stream | None = None
        self._position: str | None = None
        self._attempt = 0  # to begin the watch, since the last mark
        self._begin()
        self._thread = threading.Thread(target=self._run, name="mxkv near cache", daemon=True)
        self._thread.start()

    def get(self, key: Key, default: Any = None) -> Any:
        """The value; `default` if there is no such item. Do not change a value that is returned."""
        whole = self._prefix + (key.encode() if isinstance(key, str) else key)
        # The clock is read before the entry: the entry found then was current at the mark by which the cache is live, or later.
        now = monotonic()
        if now < self._live_until:
            entry = self._entries.get(whole)
            if entry is not None and now < entry.end:
                try:
                    self._entries.move_to_end(whole)
                except KeyError:
                    pass  # it has gone meanwhile
                if entry.data is None:
                    return default
                return entry.data if self._plain else self._codec.serde.deserialize(key, entry.data, entry.flags)
        return self._fetch(key, whole, default)

    def set(self, key: Key, value: Any, expire: int = 0) -> bool:
        """Stores a value, as the client does."""
        with self.writing(key):
            return bool(self._client.set(key, value, expire))

    def delete(self, key: Key) -> bool:
        """Deletes an item. Was it there?"""
        with self.writing(key):
            return bool(self._client.delete(key))

    @contextmanager
    def writing(self, *keys: Key) -> Iterator[None]:
        """Put writes of these keys by the client into this block, so that later reads see them:

            with near.writing("user:1"):
                client.incr("user:1", 1)
        """
        whole = [self._checked(key) for key in keys]
        self._forget(whole)
        try:
            yield
        finally:
            self._forget(whole)

    @property
    def is_live(self) -> bool:
        """Does it answer reads itself?"""
        return monotonic() < self._live_until

    @property
    def entries(self) -> int:
        return len(self._entries)

    @property
    def used_bytes(self) -> int:
        """Bytes of keys and values, and 300 for each entry."""
        return self._bytes

    def close(self) -> None:
        """Ends the watch. Reads go to the server from then on."""
        self._closed.set()
        stream = self._stream
        if stream is not None:
            stream.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        with self._lock:
            self._clear()

    def __enter__(self) -> NearCache:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Reads and writes.

    def _checked(self, key: Key) -> bytes:
        whole = self._codec.key(key)
        inside = key in self._where if isinstance(self._where, Range) else bytes_of(key).startswith(self._where)
        if not inside:
            raise ClientError("the key is outside of the range of this near cache")
        return whole

    def _fetch(self, key: Key, whole: bytes, default: Any) -> Any:
        self._checked(key)
        fetch = _Fetch()
        with self._lock:
            fetch.tainted = not self._follows
            self._pending.setdefault(whole, set()).add(fetch)
        sent = monotonic()
        found: _commands.Found | None = None
        try:
            found = self._client._ask(_commands.get_current(self._codec, key))
        finally:
            with self._lock:
                self._pending[whole].remove(fetch)
                if not self._pending[whole]:
                    del self._pending[whole]
                if found is not None and not fetch.tainted and found.is_current and sent >= self._keeps_from:
                    end = _NEVER if found.ttl is None else sent + found.ttl + self._slack
                    self._keep(whole, _Entry(whole, found.data, found.flags, found.unique, end))
        if found.data is None:
            return default
        return self._codec.serde.deserialize(key, found.data, found.flags)

    def _keep(self, whole: bytes, entry: _Entry) -> None:
        self._drop(whole)
        if entry.cost > self._max_bytes:
            return
        self._entries[whole] = entry
        self._bytes += entry.cost
        while self._bytes > self._max_bytes:
            _, oldest = self._entries.popitem(last=False)
            self._bytes -= oldest.cost

    def _drop(self, whole: bytes) -> None:
        entry = self._entries.pop(whole, None)
        if entry is not None:
            self._bytes -= entry.cost

    def _forget(self, keys: list[bytes]) -> None:
        with self._lock:
            for whole in keys:
                self._drop(whole)
                self._taint(whole)

    def _taint(self, whole: bytes) -> None:
        for fetch in self._pending.get(whole, ()):
            fetch.tainted = True

    def _clear(self) -> None:
        """Forgets all, and keeps nothing until a watch has begun anew."""
        self._live_until, self._follows, self._position = 0.0, False, None
        self._entries.clear()
        self._bytes = 0
        for whole in self._pending:
            self._taint(whole)

    # The thread that follows the watch.

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                if self._stream is None:
                    self._begin()
                self._follow()
            except MxkvError as error:
                self._stream, self.failure = None, error
                if isinstance(error, (TooOld, HistoryLost)):
                    with self._lock:
                        self._clear()  # the position, too: it is never sent again
                self._closed.wait(self._watching._retries.wait_after(self._attempt))
                self._attempt += 1
        self._watching.close()

    def _begin(self) -> None:
        asked = monotonic()
        stream = Stream(self._watching, self._form, self._position)
        with self._lock:
            self._stream, self._position = stream, stream.position
            self._known_at, self._follows = asked, True

    def _follow(self) -> None:
        stream = self._stream
        assert stream is not None
        asked: dict[bytes, float] = {}  # the times of requests for marks that did not come yet
        number, due = 0, 0.0
        while not self._closed.is_set():
            now = monotonic()
            if now >= due:
                if self._watching.timeout is not None and now - min(asked.values(), default=now) > self._watching.timeout:
                    stream.close()
                    raise RequestTimeout("no mark in time")
                number, due = number + 1, now + self._max_stale / _MARKS
                asked[b"%d" % number] = now
                stream.ask_mark(b"%d" % number)
            changes = stream.receive(max(0.0, due - monotonic()))
            if changes is not None:
                self._take(changes, asked.pop(changes.mark, None) if changes.mark else None)

    def _take(self, changes: Changes, asked: float | None) -> None:
        with self._lock:
            for change in changes:
                self._apply(change)
            self._position = changes.position or self._position
            if asked is not None:
                self._known_at, self._live_until = asked, asked + self._max_stale
                self._attempt, self.failure = 0, None

    def _apply(self, change: Change) -> None:
        if change.range is not None:
            self._apply_to_range(change, change.range)
            return
        whole = self._prefix + (change.key or b"")
        self._taint(whole)
        entry = self._entries.get(whole)
        if entry is None:
            return
        if change.kind == "touched":
            entry.end = self._end_of(change)
        elif change.kind != "put" or change.unique != entry.unique or change.stale:
            self._drop(whole)  # else it is the put that was read

    def _apply_to_range(self, change: Change, where: Range) -> None:
        own = len(self._prefix)
        for whole in [key for key in self._pending if key[own:] in where]:
            self._taint(whole)
        for whole in [key for key in list(self._entries) if key[own:] in where]:
            if change.kind == "range_touched":
                self._entries[whole].end = self._end_of(change)
            else:
                self._drop(whole)
        if change.delay:
            self._keeps_from = max(self._keeps_from, monotonic() + change.delay + 1)

    def _end_of(self, change: Change) -> float:
        return _NEVER if change.ttl is None else self._known_at + change.ttl + self._slack
