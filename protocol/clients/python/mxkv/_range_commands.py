"""Commands on ranges, batches and pipelines, for all clients that wait for each reply."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _ranges
from ._batch import Batch, Pipeline
from ._changes import Kind, WatchForm
from ._ranges import Branch, Item, Numbers, Page, Range, Show, Size, Where
from ._watching import Watch
from ._wire import Codec, Key, Request, T, bytes_of

if TYPE_CHECKING:
    from .client import Client

PAGE = 1000  # items; the server may end a page earlier


class RangeCommands:
    """`where` is a prefix, or a Range; an empty prefix means all keys. Between two pages of an iterator the client is free
    for other commands. If the connection is lost meanwhile, the client opens another one, and the range resumes behind the
    last page.
    """

    @abstractmethod
    def _ask(self, request: Request[T]) -> T:
        """Sends the request and waits for its result."""

    @property
    @abstractmethod
    def _codec(self) -> Codec:
        """Converts keys and values to bytes and back."""

    @abstractmethod
    def _another(self) -> Client:
        """A client of the same server with a connection of its own."""

    @overload
    def scan(self, prefix: Key = ..., *, values: Literal[True] = ..., reverse: bool = ..., limit: int | None = ...,
             page_items: int = ..., snapshot: bool = ...) -> Iterator[tuple[bytes, Any]]: ...

    @overload
    def scan(self, prefix: Key = ..., *, values: Literal[False], reverse: bool = ..., limit: int | None = ...,
             page_items: int = ..., snapshot: bool = ...) -> Iterator[bytes]: ...

    def scan(self, prefix: Key = "", *, values: bool = True, reverse: bool = False, limit: int | None = None,
             page_items: int = PAGE, snapshot: bool = False) -> Iterator[Any]:
        """Key and value (with `values=False` the key) of each item whose key begins with `prefix`, in order of keys.

        `limit` is the most items of all pages together. With `snapshot` each page shows one moment of its part of the range,
        without it each item. A key that exists all the time is returned, each at most once, in strict order.
        """
        return self._walk(prefix, values, limit, page_items, Show(values, False, reverse, snapshot))

    @overload
    def range(self, start: Key | None = ..., stop: Key | None = ..., *, include_start: bool = ..., include_stop: bool = ...,
              values: Literal[True] = ..., reverse: bool = ..., limit: int | None = ..., page_items: int = ...,
              snapshot: bool = ...) -> Iterator[tuple[bytes, Any]]: ...

    @overload
    def range(self, start: Key | None = ..., stop: Key | None = ..., *, include_start: bool = ..., include_stop: bool = ...,
              values: Literal[False], reverse: bool = ..., limit: int | None = ..., page_items: int = ...,
              snapshot: bool = ...) -> Iterator[bytes]: ...

    def range(self, start: Key | None = None, stop: Key | None = None, *, include_start: bool = True, include_stop: bool = False,
              values: bool = True, reverse: bool = False, limit: int | None = None, page_items: int = PAGE,
              snapshot: bool = False) -> Iterator[Any]:
        """As `scan`, for the keys from `start` to `stop`, the low and the high bound in either direction."""
        where = Range(start, stop, include_start, include_stop)
        return self._walk(where, values, limit, page_items, Show(values, False, reverse, snapshot))

    def items(self, where: Where = "", *, values: bool = True, reverse: bool = False, limit: int | None = None,
              page_items: int = PAGE, snapshot: bool = False) -> Iterator[Item]:
        """Each item with its flags, unique and time to live."""
        return self._items(where, limit, page_items, Show(values, True, reverse, snapshot))

    def page(self, where: Where = "", *, limit: int = 100, cursor: str | None = None, values: bool = True,
             reverse: bool = False, snapshot: bool = False) -> Page:
        """One page, and the cursor of the next, for programs that continue in another process, such as pages of a web site.
        A cursor is text without spaces, valid on any connection and after a restart. It is not signed. BadCursor if the text
        is no cursor.
        """
        return self._ask(_ranges.page(self._codec, where, Show(values, True, reverse, snapshot), limit, cursor))

    def count(self, where: Where = "", *, exact: bool = True) -> int:
        """The number of items; without `exact` an estimate, in less time."""
        return self.size(where, exact=exact).items

    def size(self, where: Where = "", *, exact: bool = True, snapshot: bool = False) -> Size:
        """The number of items, and the bytes of their keys and values. With `snapshot` at one moment."""
        return self._ask(_ranges.size(self._codec, where, exact, snapshot))

    def numbers(self, where: Where = "", *, snapshot: bool = False) -> Numbers:
        """The sum, the least and the greatest of the values that are numbers."""
        return self._ask(_ranges.numbers(self._codec, where, snapshot))

    def tree(self, where: Where = "", delimiter: Key = ":", *, exact: bool = True) -> Iterator[Branch]:
        """Counts by prefix, each up to the next delimiter behind the prefix of `where`. Each page ends with the keys without
        a delimiter.
        """
        cursor = None
        while True:
            found = self._ask(_ranges.tree(self._codec, where, bytes_of(delimiter), exact, cursor))
            yield from found.branches
            cursor = found.cursor
            if cursor is None:
                return

    def delete_range(self, where: Where, *, dry_run: bool = False, atomic: bool = False) -> int:
        """Deletes all keys of a range and returns their number; with `dry_run` only counts them. An empty prefix is refused:
        `Range()` is all keys.

        It deletes page by page, and other clients see the state in between; keys stored meanwhile may be deleted, too. With
        `atomic` it deletes all keys at one moment, or none: RangeTooLarge if there are more than the server locks at once
        (`limits.locked_items`).
        """
        if dry_run:
            return self.count(where)
        total, cursor = 0, None
        while True:
            removed = self._ask(_ranges.remove(self._codec, where, atomic, cursor))
            total, cursor = total + removed.items, removed.cursor
            if cursor is None:
                return total

    def touch_range(self, where: Where, expire: int, *, at_most: int | None = None) -> int:
        """Gives all keys of a range this time to live, at one moment, and returns their number. RangeTooLarge if there are
        more than `at_most`, or than the server locks at once; then nothing was done.
        """
        return self._ask(_ranges.touch(self._codec, where, expire, at_most))

    def watch(self, where: Where = "", *, values: bool = False, details: bool = False, kinds: Iterable[Kind] | None = None,
              position: str | None = None) -> Watch:
        """Begins to watch a range, on a connection of its own, and returns an iterator over `Changes`: from now on, or behind a
        `position` of an earlier watch. TooOld or HistoryLost if the server no longer has the changes behind it.

            with client.watch("user:", values=True) as watch:
                for changes in watch:
                    for change in changes:
                        print(change.kind, change.key, change.value)

        With `details` come flags, uniques, lengths and times to live. `kinds` are all but "expired" if not given. To copy a range, begin
        the watch, read the range, then apply the changes.
        """
        return Watch(self._another(), WatchForm(where, values, details, kinds), position)

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        """Operations that happen at once or not at all, when the block ends. Nothing is sent if the block raises."""
        gathered = Batch(self._codec)
        yield gathered
        if gathered:
            self._ask(gathered._request())

    @contextmanager
    def pipeline(self) -> Iterator[Pipeline]:
        """Operations that leave together when the block ends, each executed by itself: many requests in few round trips. If the
        server refuses some, all others are executed, and then the first refusal is raised (ClientError, ServerError). NotStored,
        NotFound and Stale come only with the operation's outcome.
        """
        gathered = Pipeline(self._codec)
        yield gathered
        refused = [error for request in gathered._requests() if (error := self._ask(request))]
        if refused:
            raise refused[0]

    def _walk(self, where: Where, values: bool, limit: int | None, page_items: int, show: Show) -> Iterator[Any]:
        for item in self._items(where, limit, page_items, show):
            yield (item.key, item.value) if values else item.key

    def _items(self, where: Where, limit: int | None, page_items: int, show: Show) -> Iterator[Item]:
        cursor = None
        while limit is None or limit > 0:
            most = page_items if limit is None else min(limit, page_items)
            found = self._ask(_ranges.page(self._codec, where, show, most, cursor))
            yield from found.items
            cursor = found.cursor
            if cursor is None:
                return
            limit = None if limit is None else limit - len(found.items)
