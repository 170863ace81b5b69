"""Changes of a range: the line that begins a watch, and the lines that the server pushes. No I/O.

    WS Ow                      a section begins
    WP kuser:1 c17 t-1         lines of changes
    WE Ow G<position> m<mark>  it ends; G: the client has all changes up to there
    WO Ow old                  the watch is over
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ._ranges import Range, Where, words_of
from ._wire import Codec, Reply, ReplyReader, needs_base64, number, told_key, unbase64, unexpected
from .errors import ClientError, HistoryLost, ProtocolError, ReplyError, TooOld

Kind = Literal["put", "deleted", "evicted", "expired", "touched"]
ChangeKind = Literal["put", "deleted", "evicted", "expired", "touched", "range_deleted", "flushed", "range_touched"]

_LETTERS: dict[Kind, bytes] = {"put": b"p", "deleted": b"d", "evicted": b"e", "expired": b"x", "touched": b"t"}
_REASONS: dict[bytes, ChangeKind] = {b"d": "deleted", b"e": "evicted", b"x": "expired"}
_RANGE_REASONS: dict[bytes, ChangeKind] = {b"d": "range_deleted", b"f": "flushed"}


class Change(NamedTuple):
    """A change of the item `key`, or of all items of `range`; the other one is None.

    kind      "put", "deleted", "evicted", "expired", "touched"; of a range "range_deleted", "flushed", "range_touched"
    value     of a put, if the watch asked for values; None if it did not, or the value is above the server's `watch.value_bytes`
    size      bytes of the value, if the watch asked for details, or the value is too large to be sent
    flags, unique   of a put, if the watch asked for details; flags also with values
    ttl       seconds to live, when the line was sent, of a put with details, and of touched items; None for ever
    delay     "flushed": so many seconds later
    stale     a put: the item was marked as stale
    """
    kind: ChangeKind
    key: bytes | None = None
    range: Range | None = None
    value: Any = None
    size: int | None = None
    flags: int = 0
    unique: int = 0
    ttl: int | None = None
    delay: int = 0
    stale: bool = False


@dataclass(frozen=True)
class Changes:
    """Changes in the order in which they happened to each key. `position`: all changes up to this point were sent, and together
    they make one consistent state; a watch may go on behind it. None: changes of the same moment follow.
    """
    changes: list[Change]
    position: str | None
    mark: bytes | None = None  # the text of the request for a mark that this answers

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)


@dataclass(frozen=True)
class Over:
    """The watch has ended; the error if it cannot go on where it was."""
    error: ReplyError | None


@dataclass(frozen=True)
class WatchForm:
    """The range, and what the server sends of each change."""
    where: Where
    values: bool = False
    details: bool = False
    kinds: Iterable[Kind] | None = None

    def line(self, codec: Codec, position: str | None) -> bytes:
        line = b"mw %s Ow" % words_of(codec, self.where)
        line += b" v" if self.values else b""
        line += b" c f s t" if self.details else b" f" if self.values else b""
        if self.kinds is not None:
            line += b" M" + _letters(self.kinds)
        if position is not None:
            word = position.encode()
            if not word or needs_base64(word):
                raise ClientError("a position is a word without blanks and control bytes")
            line += b" G" + word
        return line + b"\r\n"


def mark_line(mark: bytes) -> bytes:
    return b"mu Ow m%s\r\n" % mark


def _letters(kinds: Iterable[Kind]) -> bytes:
    chosen = set(kinds)
    if not chosen or not chosen <= set(_LETTERS):
        raise ClientError(f"kinds of changes are some of {', '.join(_LETTERS)}")
    return b"".join(letter for kind, letter in _LETTERS.items() if kind in chosen)


def begun(reply: Reply) -> str:
    """The position behind which a watch begins, from the answer to its line."""
    if reply.words[0] == b"EX":
        raise _ended(reply) or unexpected(reply)
    if reply.words[0] != b"HD":
        raise unexpected(reply)
    return _text(reply, b"G")


class WatchReader:
    """Takes bytes as they come and returns whole sections, and the answers between them."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._replies = ReplyReader()
        self._section: list[Change] | None = None

    def feed(self, data: bytes) -> None:
        self._replies.feed(data)

    def next(self) -> Changes | Over | Reply | None:
        """None if more must be fed first."""
        while (reply := self._replies.next()) is not None:
            word = reply.words[0]
            if self._section is None:
                if word == b"WS":
                    self._section = []
                elif word == b"WO":
                    return Over(_ended(reply))
                elif word.startswith(b"W"):
                    raise unexpected(reply)
                else:
                    return reply.checked()
            elif word == b"WE":
                changes, self._section = self._section, None
                flags = reply.flags()
                return Changes(changes, _text(reply, b"G") if b"G" in flags else None, flags.get(b"m"))
            elif word != b"WB":  # an application that wants batches whole applies all changes up to a position at once
                self._section.append(change_of(self._codec, reply))
        return None


def change_of(codec: Codec, reply: Reply) -> Change:
    """The change that a line of a section stands for."""
    word, flags = reply.words[0], reply.flags()
    ttl = number(flags, b"t", -1)
    lives = None if ttl < 0 else ttl
    if word in (b"WP", b"WV"):
        key = codec.own(told_key(flags))
        value = None if reply.block is None else codec.unpack(key, reply.block, flags)
        size = number(flags, b"s") if b"s" in flags else None
        return Change("put", key, value=value, size=size, flags=number(flags, b"f"), unique=number(flags, b"c"), ttl=lives,
                      stale=b"X" in flags)
    if word == b"WG":
        return Change(_reason(_REASONS, reply, flags), codec.own(told_key(flags)))
    if word == b"WT":
        return Change("touched", codec.own(told_key(flags)), ttl=lives)
    if word == b"WX":
        return Change(_reason(_RANGE_REASONS, reply, flags), range=_range(codec, flags), delay=max(ttl, 0))
    if word == b"WY":
        return Change("range_touched", range=_range(codec, flags), ttl=lives)
    raise unexpected(reply)


def _range(codec: Codec, flags: dict[bytes, bytes]) -> Range:
    start, stop = told_key(flags), flags.get(b"H")
    if stop is not None and b"b" in flags:
        stop = unbase64(stop)
    # A bound that does not begin with the codec's prefix is the first or last key with this prefix.
    own = [key[len(codec.prefix):] if key is not None and key.startswith(codec.prefix) else None for key in (start, stop)]
    return Range(own[0] or None, own[1] or None, b"o" not in flags, b"i" in flags)


def _reason(reasons: dict[bytes, ChangeKind], reply: Reply, flags: dict[bytes, bytes]) -> ChangeKind:
    kind = reasons.get(flags.get(b"R", b""))
    if kind is None:
        raise unexpected(reply)
    return kind


def _ended(reply: Reply) -> ReplyError | None:
    """The error of EX or WO; None if the server ends, and the watch may go on when it is back."""
    why = reply.words[2] if len(reply.words) > 2 else b""
    if why == b"old":
        return TooOld("the server no longer has the changes behind this position")
    if why == b"lost":
        return HistoryLost("the position is of another process of the server, or of another server")
    if why == b"ends":
        return None
    raise unexpected(reply)


def _text(reply: Reply, letter: bytes) -> str:
    text = reply.flags().get(letter)
    if not text:
        raise unexpected(reply)
    try:
        return text.decode("ascii")
    except UnicodeDecodeError:
        raise ProtocolError("a position is not ASCII") from None
