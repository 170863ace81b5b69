"""The client for asyncio: the same requests and replies over a pool of streams of its own.

A request has a connection for itself until its reply is read. If it ends earlier, by cancellation, too, the connection is
closed, so that a late reply is never taken for another request's. For tasks of one event loop.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, Literal, overload

from . import _commands, _ranges
from ._address import Server, address_of
from ._batch import Batch, Pipeline
from ._hooks import Hook, around
from ._range_commands import PAGE
from ._ranges import Branch, Item, Numbers, Page, Range, Show, Size, Where
from ._retries import Retries, named
from ._wire import Codec, Exchange, Key, PlainSerde, Repeat, Request, Serde, T, bytes_of
from .errors import ReplyError

if sys.version_info >= (3, 11):
    timeout_after = asyncio.timeout
else:
    from async_timeout import timeout as timeout_after

_AT_ONCE = 100  # keys whose requests leave before the first reply is read


class _Connection:
    """One stream; one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, request: Request[T]) -> T:
        exchange = Exchange(request, self.abort)
        self._writer.write(request.data)
        while True:
            data = await self._reader.read(1 << 18)
            if not data:
                raise ConnectionResetError("the server closed the connection in a reply")
            if exchange.feed(data):
                return exchange.result

    def usable(self) -> bool:
        return not self._writer.is_closing() and not self._reader.at_eof()

    def abort(self) -> None:
        self._writer.transport.abort()


class _Room:
    """A semaphore that hands a freed place to the task that waits longest. asyncio's, before Python 3.10.8, wakes nobody any more
    once a task was cancelled between its waking and its run.
    """

    def __init__(self, places: int) -> None:
        self.free = places
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self.free:
            self.free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except BaseException:
            if not waiter.cancel() and not waiter.cancelled():
                self._leave()  # cancelled after the place was handed over
            raise

    async def __aexit__(self, *error: object) -> None:
        self._leave()

    def _leave(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1


class AsyncClient:
    """The commands of Client, to be awaited. All tasks share `max_connections`, and wait while all are taken.
    `connect_timeout` is for a new connection with its handshakes, `timeout` for each request. Client describes the
    other arguments.
    """

    def __init__(self, server: Server, *, user: str | None = None, password: str = "",
                 tls_context: ssl.SSLContext | None = None, max_connections: int = 8, connect_timeout: float | None = 1,
                 timeout: float | None = 3, hook: Hook | None = None, retries: int = 2, retry_wait: float = 0.05,
                 retry_writes: bool = False, serde: Serde | None = None, key_prefix: Key = b"") -> None:
        address = address_of(server, user, password, tls_context)
        self._server, self._name, self._tls_context = address.place, address.name, address.tls_context
        self._login = None if address.user is None else _commands.login(address.user, address.password)
        self._hook = hook
        self._connect_timeout, self._timeout = connect_timeout, timeout
        self._retries = Retries(retries, retry_wait, retry_writes)
        self._codec = Codec(serde or PlainSerde(), bytes_of(key_prefix))
        self._room = _Room(max_connections)
        self._idle: list[_Connection] = []

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the unused connections. The next command opens another one."""
        self._drop_idle()
        await asyncio.sleep(0)  # for the transports to close

    async def get(self, key: Key, default: Any = None) -> Any:
        return (await self.get_many([key])).get(key, default)

    async def get_many(self, keys: Iterable[Key]) -> dict[Key, Any]:
        return {key: value for key, (value, _) in (await self.gets_many(keys)).items()}

    async def gets(self, key: Key) -> tuple[Any, int | None]:
        """Value and unique; None and None if there is no such key."""
        return (await self.gets_many([key])).get(key, (None, None))

    async def gets_many(self, keys: Iterable[Key]) -> dict[Key, tuple[Any, int]]:
        found: dict[Key, tuple[Any, int]] = {}
        for some in _pieces(keys):
            part = await self._ask(_commands.get_many(self._codec, some))
            found.update(part)
        return found

    async def set(self, key: Key, value: Any, expire: int = 0, flags: int | None = None) -> bool:
        return await self._store("set", key, value, expire, flags) is True

    async def set_many(self, values: Mapping[Key, Any], expire: int = 0, flags: int | None = None) -> list[Key]:
        """Stores the values, and returns the keys that were not stored."""
        failed: list[Key] = []
        for some in _pieces(values):
            part = {key: values[key] for key in some}
            stored = await self._ask(_commands.store_many(self._codec, "set", part, expire, flags))
            failed += [key for key, done in stored.items() if not done]
        return failed

    async def add(self, key: Key, value: Any, expire: int = 0, flags: int | None = None) -> bool:
        return await self._store("add", key, value, expire, flags) is True

    async def replace(self, key: Key, value: Any, expire: int = 0, flags: int | None = None) -> bool:
        return await self._store("replace", key, value, expire, flags) is True

    async def append(self, key: Key, value: Any) -> bool:
        return await self._store("append", key, value, 0, None) is True

    async def prepend(self, key: Key, value: Any) -> bool:
        return await self._store("prepend", key, value, 0, None) is True

    async def cas(self, key: Key, value: Any, cas: int | bytes, expire: int = 0, flags: int | None = None) -> bool | None:
        """False if the key has another unique, None if it is gone."""
        return await self._store("set", key, value, expire, flags, int(cas))

    async def delete(self, key: Key) -> bool:
        return (await self._ask(_commands.delete_many(self._codec, [key])))[0]

    async def delete_many(self, keys: Iterable[Key]) -> bool:
        for some in _pieces(keys):
            await self._ask(_commands.delete_many(self._codec, some))
        return True

    async def incr(self, key: Key, value: int) -> int | None:
        return await self._ask(_commands.count(self._codec, key, value, down=False))

    async def decr(self, key: Key, value: int) -> int | None:
        return await self._ask(_commands.count(self._codec, key, value, down=True))

    async def touch(self, key: Key, expire: int = 0) -> bool:
        return (await self._ask(_commands.touch(self._codec, key, expire)))[0]

    async def stats(self, group: str = "") -> dict[str, str]:
        return await self._ask(_commands.stats(group))

    async def version(self) -> str:
        return (await self._ask(_commands.word_line(b"version", b"VERSION", Repeat.always))).decode()

    async def flush_all(self, delay: int = 0) -> bool:
        await self._ask(_commands.word_line(b"flush_all %d" % delay, b"OK", Repeat.never))
        return True

    @overload
    def scan(self, prefix: Key = ..., *, values: Literal[True] = ..., reverse: bool = ..., limit: int | None = ...,
             page_items: int = ..., snapshot: bool = ...) -> AsyncIterator[tuple[bytes, Any]]: ...

    @overload
    def scan(self, prefix: Key = ..., *, values: Literal[False], reverse: bool = ..., limit: int | None = ...,
             page_items: int = ..., snapshot: bool = ...) -> AsyncIterator[bytes]: ...

    def scan(self, prefix: Key = "", *, values: bool = True, reverse: bool = False, limit: int | None = None,
             page_items: int = PAGE, snapshot: bool = False) -> AsyncIterator[Any]:
        """As Client.scan, for `async for`."""
        return self._walk(prefix, values, limit, page_items, Show(values, False, reverse, snapshot))

    @overload
    def range(self, start: Key | None = ..., stop: Key | None = ..., *, include_start: bool = ..., include_stop: bool = ...,
              values: Literal[True] = ..., reverse: bool = ..., limit: int | None = ..., page_items: int = ...,
              snapshot: bool = ...) -> AsyncIterator[tuple[bytes, Any]]: ...

    @overload
    def range(self, start: Key | None = ..., stop: Key | None = ..., *, include_start: bool = ..., include_stop: bool = ...,
              values: Literal[False], reverse: bool = ..., limit: int | None = ..., page_items: int = ...,
              snapshot: bool = ...) -> AsyncIterator[bytes]: ...

    def range(self, start: Key | None = None, stop: Key | None = None, *, include_start: bool = True, include_stop: bool = False,
              values: bool = True, reverse: bool = False, limit: int | None = None, page_items: int = PAGE,
              snapshot: bool = False) -> AsyncIterator[Any]:
        """As Client.range, for `async for`."""
        where = Range(start, stop, include_start, include_stop)
        return self._walk(where, values, limit, page_items, Show(values, False, reverse, snapshot))

    def items(self, where: Where = "", *, values: bool = True, reverse: bool = False, limit: int | None = None,
              page_items: int = PAGE, snapshot: bool = False) -> AsyncIterator[Item]:
        """As Client.items, for `async for`."""
        return self._items(where, limit, page_items, Show(values, True, reverse, snapshot))

    async def page(self, where: Where = "", *, limit: int = 100, cursor: str | None = None, values: bool = True,
                   reverse: bool = False, snapshot: bool = False) -> Page:
        """As Client.page."""
        show = Show(values, True, reverse, snapshot)
        return await self._ask(_ranges.page(self._codec, where, show, limit, cursor))

    async def count(self, where: Where = "", *, exact: bool = True) -> int:
        return (await self.size(where, exact=exact)).items

    async def size(self, where: Where = "", *, exact: bool = True, snapshot: bool = False) -> Size:
        """As Client.size."""
        return await self._ask(_ranges.size(self._codec, where, exact, snapshot))

    async def numbers(self, where: Where = "", *, snapshot: bool = False) -> Numbers:
        """As Client.numbers."""
        return await self._ask(_ranges.numbers(self._codec, where, snapshot))

    async def tree(self, where: Where = "", delimiter: Key = ":", *, exact: bool = True) -> AsyncIterator[Branch]:
        """As Client.tree, for `async for`."""
        found: _ranges.Branches | None = None
        while found is None or found.cursor is not None:
            cursor = None if found is None else found.cursor
            found = await self._ask(_ranges.tree(self._codec, where, bytes_of(delimiter), exact, cursor))
            for branch in found.branches:
                yield branch

    async def delete_range(self, where: Where, *, dry_run: bool = False, atomic: bool = False) -> int:
        """As Client.delete_range."""
        total = 0
        page: _ranges.Removed | None = None
        while not dry_run and (page is None or page.cursor is not None):
            page = await self._ask(_ranges.remove(self._codec, where, atomic, None if page is None else page.cursor))
            total += page.items
        return await self.count(where) if dry_run else total

    async def touch_range(self, where: Where, expire: int, *, at_most: int | None = None) -> int:
        """As Client.touch_range."""
        return await self._ask(_ranges.touch(self._codec, where, expire, at_most))

    @asynccontextmanager
    async def batch(self) -> AsyncIterator[Batch]:
        """As Client.batch, for `async with`."""
        operations = Batch(self._codec)
        yield operations
        if operations:
            await self._ask(operations._request())

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[Pipeline]:
        """As Client.pipeline, for `async with`."""
        operations = Pipeline(self._codec)
        yield operations
        refused = [error for request in operations._requests() if (error := await self._ask(request))]
        if refused:
            raise refused[0]

    async def _walk(self, where: Where, values: bool, limit: int | None, page_items: int, show: Show) -> AsyncIterator[Any]:
        async for item in self._items(where, limit, page_items, show):
            yield (item.key, item.value) if values else item.key

    async def _items(self, where: Where, limit: int | None, page_items: int, show: Show) -> AsyncIterator[Item]:
        left = limit
        page: Page | None = None
        while left != 0 and (page is None or page.cursor is not None):
            most = page_items if left is None else min(left, page_items)
            page = await self._ask(_ranges.page(self._codec, where, show, most, None if page is None else page.cursor))
            for item in page.items:
                yield item
            left = None if left is None else left - len(page.items)

    async def _store(self, how: str, key: Key, value: Any, expire: int, flags: int | None, unique: int | None = None) -> bool | None:
        return (await self._ask(_commands.store_many(self._codec, how, {key: value}, expire, flags, unique)))[key]

    async def _ask(self, request: Request[T]) -> T:
        with around(self._hook, request.command, self._name):
            return await self._retrying(request)

    async def _retrying(self, request: Request[T]) -> T:
        attempt = 0
        while True:
            try:
                return await self._ask_once(request)
            except ReplyError:
                raise
            except Exception as error:
                if (lost := named(error)) is None:
                    raise
                self._drop_idle()  # if the server stopped, all of them are lost
                if (pause := self._retries.pause(request.repeat, attempt, lost)) is None:
                    if lost is error:
                        raise
                    raise lost from error
            await asyncio.sleep(pause)
            attempt += 1

    async def _ask_once(self, request: Request[T]) -> T:
        async with self._room:
            connection = self._take_idle() or await self._connect()
            try:
                async with timeout_after(self._timeout):
                    result = await connection.ask(request)
            except ReplyError:
                self._idle.append(connection)
                raise
            except BaseException:
                connection.abort()
                raise
            self._idle.append(connection)
            return result

    def _take_idle(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable():
                return connection
            connection.abort()
        return None

    def _drop_idle(self) -> None:
        for connection in self._idle:
            connection.abort()
        self._idle.clear()

    async def _connect(self) -> _Connection:
        async with timeout_after(self._connect_timeout):
            if isinstance(self._server, tuple):
                host, port = self._server
                streams = await asyncio.open_connection(host, port, ssl=self._tls_context)
            else:
                streams = await asyncio.open_unix_connection(self._server)
            connection = _Connection(*streams)
            try:
                if self._login is not None:
                    await connection.ask(self._login)
            except BaseException:
                connection.abort()
                raise
            return connection


def _pieces(keys: Iterable[Key]) -> Iterable[list[Key]]:
    rest = iter(keys)
    return iter(lambda: list(islice(rest, _AT_ONCE)), [])
