"""Ranges of keys, and the requests on them: pages, counts, deletes, touches. No I/O.

Each request is one line of mr, mc, mx or mt. The request for the next page is the same line with the cursor behind it, so
only the cursor is kept between pages.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

from ._wire import LONGEST_KEY, Codec, Key, Reading, Repeat, Reply, Request, bytes_of, needs_base64, number, told_key, unexpected
from .errors import BadCursor, ClientError


@dataclass(frozen=True)
class Range:
    """Keys from `start` to `stop`. As in Python's own ranges, `start` is inclusive and `stop` exclusive, by default. None is
    the first key, or the end.
    """
    start: Key | None = None
    stop: Key | None = None
    include_start: bool = True
    include_stop: bool = False

    def __contains__(self, key: Key) -> bool:
        """Does the range have this key?"""
        whole = bytes_of(key)
        if self.start:
            start = bytes_of(self.start)
            if whole < start or (whole == start and not self.include_start):
                return False
        if self.stop:
            stop = bytes_of(self.stop)
            return whole < stop or (whole == stop and self.include_stop)
        return True


Where = Union[Key, Range]  # a key is a prefix; an empty one means all keys


class Item(NamedTuple):
    """An item of a range. `ttl` is in seconds, None for ever."""
    key: bytes
    value: Any
    flags: int
    unique: int
    ttl: int | None


class Page(NamedTuple):
    """`cursor` resumes the range at the next page; None if this was the last."""
    items: list[Item]
    cursor: str | None


class Size(NamedTuple):
    """The number of items, and the bytes of their keys and values. `within` is the error in per cent that 19 of 20 estimates
    do not exceed; None if the size is exact.
    """
    items: int
    bytes: int
    within: float | None


class Numbers(NamedTuple):
    """`numeric` of the `items` of a range are numbers; `least` and `greatest` are None if no value is a number."""
    items: int
    numeric: int
    total: int
    least: int | None
    greatest: int | None


class Branch(NamedTuple):
    """The keys that share a prefix up to a delimiter. `prefix` None: those that have no delimiter."""
    prefix: bytes | None
    items: int
    bytes: int
    exact: bool


class Branches(NamedTuple):
    branches: list[Branch]
    cursor: str | None


class Removed(NamedTuple):
    items: int
    cursor: str | None


def words_of(codec: Codec, where: Where, reverse: bool = False) -> bytes:
    """The words of a line for the start and end of a range."""
    if not isinstance(where, Range):
        prefix = codec.prefix + bytes_of(where)
        if not prefix:
            return b"-" + (b" r" if reverse else b"")
        encoded = needs_base64(prefix)
        return (base64.b64encode(prefix) + b" p b" if encoded else prefix + b" p") + (b" r" if reverse else b"")
    low, low_inclusive = _bound(codec, where.start, where.include_start, codec.prefix)
    high, high_inclusive = _bound(codec, where.stop, where.include_stop, _behind(codec.prefix))
    near, far = (high, low) if reverse else (low, high)
    near_inclusive, far_inclusive = (high_inclusive, low_inclusive) if reverse else (low_inclusive, high_inclusive)
    encoded = needs_base64(near) or needs_base64(far) or near == b"-"
    if not near and encoded:  # "-" in base64 would be a key, so use the first or last possible key
        near = b"\xff" * LONGEST_KEY if reverse else b"\0"
    line = base64.b64encode(near) if encoded else near or b"-"
    line += b" b" if encoded else b""
    line += b"" if near_inclusive or not near else b" o"
    if far:
        line += b" H" + (base64.b64encode(far) if encoded else far) + (b" i" if far_inclusive else b"")
    return line + (b" r" if reverse else b"")


def _bound(codec: Codec, key: Key | None, inclusive: bool, otherwise: bytes) -> tuple[bytes, bool]:
    """A bound, empty if there is none. `otherwise` is the bound by the codec's prefix: the first key with it, or behind it."""
    if key is None or not key:
        return otherwise, otherwise == codec.prefix
    return codec.key(key), inclusive


def _behind(prefix: bytes) -> bytes:
    """The first key that is greater than all keys with the prefix; empty if there is none."""
    shorter = prefix.rstrip(b"\xff")
    return shorter[:-1] + bytes([shorter[-1] + 1]) if shorter else b""


@dataclass(frozen=True)
class Show:
    """The parts of each item that a page has, and its direction and lock."""
    values: bool = True
    details: bool = False
    reverse: bool = False
    snapshot: bool = False


def page(codec: Codec, where: Where, show: Show, most: int, cursor: str | None) -> Request[Page]:
    line = b"mr " + words_of(codec, where, show.reverse) + b" A%d" % most
    line += (b" v f" if show.values else b"") + (b" c t" if show.details else b"") + (b" X" if show.snapshot else b"")

    def read() -> Reading[Page]:
        items = []
        while (reply := (yield).checked()).words[0] != b"EN":
            if reply.words[0] not in (b"VA", b"HD"):
                raise unexpected(reply)
            flags = reply.flags()
            key = codec.own(told_key(flags))
            value = None if reply.block is None else codec.unpack(key, reply.block, flags)
            ttl = number(flags, b"t", -1)
            items.append(Item(key, value, number(flags, b"f"), number(flags, b"c"), None if ttl < 0 else ttl))
        return Page(items, _cursor(reply))
    return Request(line + _goes_on(cursor), read, Repeat.always)


def size(codec: Codec, where: Where, exact: bool, snapshot: bool) -> Request[Size]:
    def read() -> Reading[Size]:
        reply = yield
        flags = _done(reply)
        return Size(number(flags, b"A"), number(flags, b"B"), float(number(flags, b"~")) if b"~" in flags else None)
    how = b" X" if snapshot else b" e" if exact else b""
    return Request(b"mc " + words_of(codec, where) + how + b"\r\n", read, Repeat.always)


def numbers(codec: Codec, where: Where, snapshot: bool) -> Request[Numbers]:
    def read() -> Reading[Numbers]:
        reply = yield
        flags = _done(reply)
        least, greatest = (number(flags, letters) if letters in flags else None for letters in (b"Mn", b"Mx"))
        return Numbers(number(flags, b"A"), number(flags, b"N"), number(flags, b"Ms"), least, greatest)
    return Request(b"mc " + words_of(codec, where) + b" Msnx" + (b" X" if snapshot else b"") + b"\r\n", read, Repeat.always)


def tree(codec: Codec, where: Where, delimiter: bytes, exact: bool, cursor: str | None) -> Request[Branches]:
    if needs_base64(delimiter):
        raise ClientError("a delimiter must not have blanks or control bytes")
    line = b"mc " + words_of(codec, where) + b" D" + delimiter + (b" e" if exact else b"")

    def read() -> Reading[Branches]:
        found = []
        while (reply := (yield).checked()).words[0] == b"HD":
            flags = reply.flags()
            found.append(Branch(codec.own(told_key(flags)), number(flags, b"A"), number(flags, b"B"), b"~" not in flags))
        if reply.words[0] != b"EN":
            raise unexpected(reply)
        flags = reply.flags()
        if flags.get(b"K", b"0") != b"0":
            found.append(Branch(None, number(flags, b"K"), number(flags, b"B"), b"~" not in flags))
        return Branches(found, _cursor(reply))
    return Request(line + _goes_on(cursor), read, Repeat.always)


def remove(codec: Codec, where: Where, atomic: bool, cursor: str | None) -> Request[Removed]:
    if not isinstance(where, Range) and not codec.prefix + bytes_of(where):
        raise ClientError("an empty prefix would delete all keys: name them by mxkv.Range()")

    def read() -> Reading[Removed]:
        reply = yield
        return Removed(number(_done(reply), b"A"), _cursor(reply))
    line = b"mx " + words_of(codec, where) + (b" X" if atomic else b"")
    return Request(line + _goes_on(cursor), read, Repeat.if_asked)


def touch(codec: Codec, where: Where, expire: int, most: int | None) -> Request[int]:
    def read() -> Reading[int]:
        reply = yield
        return number(_done(reply), b"A")
    line = b"mt " + words_of(codec, where) + b" T%d" % expire + (b"" if most is None else b" A%d" % most)
    return Request(line + b"\r\n", read, Repeat.if_asked)


def _goes_on(cursor: str | None) -> bytes:
    if not cursor:
        return b"\r\n"
    word = cursor.encode()
    if needs_base64(word):  # it comes from elsewhere, and must not end the line
        raise BadCursor("a cursor must not have blanks or control bytes")
    return b" G" + word + b"\r\n"


def _cursor(reply: Reply) -> str | None:
    cursor = reply.flags().get(b"G")
    return cursor.decode() if cursor else None


def _done(reply: Reply) -> dict[bytes, bytes]:
    if reply.checked().words[0] != b"HD":
        raise unexpected(reply)
    return reply.flags()
