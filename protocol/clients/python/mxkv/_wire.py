"""Parses replies, and converts keys and values to bytes and back. No I/O, no clock: the caller feeds received bytes in pieces
of any size. One owner at a time.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, Union

from .errors import ERROR_WORDS, ClientError, ProtocolError, ReplyError, error_of

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Key = Union[str, bytes]

LONGEST_KEY = 250
_LONGEST_LINE = 1 << 16
_LENGTH = re.compile(rb"[0-9]{1,10}")
_NUMBER = re.compile(rb"-?[0-9]{1,40} *")
_NEEDS_BASE64 = re.compile(rb"[\x00-\x20\x7f]")


class Reply(NamedTuple):
    """One line, and the block behind it if it announces one."""
    words: list[bytes]
    block: bytes | None

    @property
    def line(self) -> bytes:
        return b" ".join(self.words)

    def checked(self) -> Reply:
        """Returns itself, or raises its error."""
        if error := self.error():
            raise error
        return self

    def error(self, operation: int | None = None) -> ReplyError | None:
        """The error of an error line, else None."""
        return error_of(self.line, operation) if self.words[0] in ERROR_WORDS else None

    def flags(self) -> dict[bytes, bytes]:
        """The flags of a meta reply by letter; the several flags of M by two letters."""
        found = {}
        for word in self.words[2:] if self.block is not None else self.words[1:]:
            letters = 2 if word[:1] == b"M" else 1
            found[word[:letters]] = word[letters:]
        return found


class ReplyReader:
    """Takes bytes as they come and returns whole replies."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._words: list[bytes] | None = None
        self._size = 0

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def pending(self) -> bool:
        """Are there bytes that belong to no reply yet?"""
        return bool(self._buffer) or self._words is not None

    def next(self) -> Reply | None:
        """The next reply, or None if more must be fed first."""
        if self._words is None:
            end = self._buffer.find(b"\r\n", self._searched)
            if end < 0:
                self._searched = max(0, len(self._buffer) - 1)
                if len(self._buffer) > _LONGEST_LINE:
                    raise ProtocolError("a line of a reply does not end")
                return None
            words = bytes(self._buffer[:end]).split(b" ")
            del self._buffer[:end + 2]
            self._searched = 0
            if words[0] not in (b"VA", b"WV"):
                return Reply(words, None)
            if len(words) < 2 or not _LENGTH.fullmatch(words[1]):
                raise ProtocolError(f"no valid length of a value in {b' '.join(words)[:100]!r}")
            self._words, self._size = words, int(words[1])
        if len(self._buffer) < self._size + 2:
            return None
        if self._buffer[self._size:self._size + 2] != b"\r\n":
            raise ProtocolError("a value is longer than announced")
        reply = Reply(self._words, bytes(self._buffer[:self._size]))
        del self._buffer[:self._size + 2]
        self._words = None
        return reply


class Repeat(Enum):
    """May a request be sent again if the connection was lost, and it is unknown whether it took effect?"""
    always = 1   # it changes nothing
    if_asked = 2  # it is idempotent
    never = 3


Reading = Generator[None, Reply, T]


@dataclass(frozen=True)
class Request(Generic[T_co]):
    """The bytes to send, and a generator that receives reply by reply and returns the result."""
    data: bytes
    read: Callable[[], Reading[T_co]]
    repeat: Repeat = Repeat.never

    @property
    def command(self) -> bytes:
        """The first word."""
        return self.data[:20].split(None, 1)[0]


class Exchange(Generic[T]):
    """One request on its way: `feed` received bytes until it returns True. Calls `leave` if more bytes follow an error,
    because the next reply on this connection would then belong to another request.
    """

    def __init__(self, request: Request[T], leave: Callable[[], object]) -> None:
        self._leave = leave
        self._reading = request.read()
        self._replies = ReplyReader()
        self.done = False
        self._result: T | None = None
        self._advance(None)

    def feed(self, data: bytes) -> bool:
        """True when the whole reply is there. Raises the reply's error, a ReplyError after the whole reply was read."""
        self._replies.feed(data)
        try:
            while not self.done and (reply := self._replies.next()):
                self._advance(reply)
        except ReplyError:
            if self._replies.pending():
                self._leave()
            raise
        if self.done and self._replies.pending():
            raise ProtocolError("the server sent more than was asked for")
        return self.done

    @property
    def result(self) -> T:
        return self._result  # type: ignore[return-value]  # it is there when done

    def _advance(self, reply: Reply | None) -> None:
        try:
            next(self._reading) if reply is None else self._reading.send(reply)
        except StopIteration as end:
            self.done, self._result = True, end.value


class Serde(Protocol):
    """Converts values to bytes and flags, and back, as in pymemcache."""

    def serialize(self, key: Any, value: Any) -> tuple[Any, int]: ...

    def deserialize(self, key: Any, value: bytes, flags: int) -> Any: ...


class PlainSerde:
    """Text is stored as UTF-8, numbers in decimal, bytes as they are. All come back as bytes."""

    def serialize(self, key: Any, value: Any) -> tuple[bytes, int]:
        return value if isinstance(value, bytes) else str(value).encode(), 0

    def deserialize(self, key: Any, value: bytes, flags: int) -> bytes:
        return value


@dataclass(frozen=True)
class Codec:
    """Keys with their prefix, values by their serde."""
    serde: Serde
    prefix: bytes = b""

    def key(self, key: Key) -> bytes:
        """The whole key, of 1 to 250 bytes."""
        whole = self.prefix + bytes_of(key)
        if not 0 < len(whole) <= LONGEST_KEY:
            raise ClientError(f"a key must have 1 to {LONGEST_KEY} bytes, not {len(whole)}")
        return whole

    def own(self, key: bytes) -> bytes:
        """A key from the server, without the prefix."""
        return key[len(self.prefix):]

    def pack(self, key: Key, value: Any, flags: int | None) -> tuple[bytes, int]:
        data, own_flags = self.serde.serialize(key, value)
        return data if isinstance(data, bytes) else str(data).encode(), own_flags if flags is None else flags

    def unpack(self, key: Key, data: bytes, flags: dict[bytes, bytes]) -> Any:
        return self.serde.deserialize(key, data, number(flags, b"f"))

    def key_words(self, key: Key) -> tuple[bytes, bytes]:
        """The word for a key of mg, ms, md, ma, and the flag that it needs."""
        whole = self.key(key)
        if not needs_base64(whole):
            return whole, b""
        return base64.b64encode(whole), b" b"


def bytes_of(key: Key) -> bytes:
    return key.encode() if isinstance(key, str) else bytes(key)


def needs_base64(key: bytes) -> bool:
    return _NEEDS_BASE64.search(key) is not None


def told_key(flags: dict[bytes, bytes]) -> bytes:
    """The key in a line of a range."""
    if b"k" not in flags:
        raise ProtocolError("a line of a range without its key")
    return unbase64(flags[b"k"]) if b"b" in flags else flags[b"k"]


def unbase64(text: bytes) -> bytes:
    """The bytes of a key in base64."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ProtocolError(f"not base64: {text[:40]!r}") from None


def number(flags: dict[bytes, bytes], letters: bytes, otherwise: int | None = 0) -> int:
    """The number behind the letters of a flag; `otherwise` if there is no such flag. ProtocolError if it is no number, or
    missing without `otherwise`.
    """
    text = flags.get(letters)
    if text is None and otherwise is not None:
        return otherwise
    return whole_number(text or b"")


def whole_number(text: bytes) -> int:
    """The number in the text of a counter or flag."""
    if not _NUMBER.fullmatch(text):
        raise ProtocolError(f"not a number: {text[:40]!r}")
    return int(text)


def unexpected(reply: Reply) -> ProtocolError:
    return ProtocolError(f"unexpected reply: {reply.line[:100]!r}")
