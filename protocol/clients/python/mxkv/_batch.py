"""Batches and pipelines: operations that leave together. They gather lines, and send nothing by themselves. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic

from . import _commands
from ._wire import Codec, Key, Reading, Reply, Request, T, number, unexpected, whole_number
from .errors import MxkvError, ReplyError, batch_error, error_of_code

_SENT_AT_ONCE = 1 << 16  # bytes of a pipeline that leave before the first reply is read, so that both sides never block
_MOST_AT_ONCE = 1000  # operations


class Outcome(Generic[T]):
    """The result of an operation of a batch or pipeline, set once it was executed."""

    def __init__(self, read: Callable[[Reply], T]) -> None:
        self._read = read
        self._value: tuple[T] | None = None
        self.error: MxkvError | None = None  # the reason why this operation of a pipeline failed

    @property
    def value(self) -> T:
        """The result. Raises the operation's error, if it failed."""
        if self.error is not None:
            raise self.error
        if self._value is None:
            raise MxkvError("the operation was not executed yet")
        return self._value[0]

    def _take(self, reply: Reply) -> None:
        self._value = (self._read(reply),)


class Batch:
    """Gathers operations. Each sees the effects of the operations before it. If one fails, none takes effect. The error,
    Stale, NotStored, NotFound or another ReplyError, has its number in `operation`.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._lines: list[bytes] = []
        self._outcomes: list[Outcome[Any]] = []

    def __len__(self) -> int:
        return len(self._lines)

    def get(self, key: Key, default: Any = None) -> Outcome[Any]:
        """The value after the operations before this one."""
        def read(reply: Reply) -> Any:
            return default if reply.block is None else self._codec.unpack(key, reply.block, reply.flags())
        return self._add(_commands.get_line(self._codec, key), read)

    def gets(self, key: Key) -> Outcome[tuple[Any, int] | None]:
        """Value and unique."""
        def read(reply: Reply) -> tuple[Any, int] | None:
            flags = reply.flags()
            return None if reply.block is None else (self._codec.unpack(key, reply.block, flags), number(flags, b"c", None))
        return self._add(_commands.get_line(self._codec, key), read)

    def set(self, key: Key, value: Any, expire: int = 0, flags: int | None = None) -> Outcome[bool]:
        return self._store("set", key, value, expire, flags)

    def add(self, key: Key, value: Any, expire: int = 0, flags: int | None = None) -> Outcome[bool]:
        """Fails with NotStored if the key is there."""
        return self._store("add", key, value, expire, flags)

    def replace(self, key: Key, value: Any, expire: int = 0, flags: int | None = None) -> Outcome[bool]:
        """Fails with NotStored if the key is not there."""
        return self._store("replace", key, value, expire, flags)

    def append(self, key: Key, value: Any) -> Outcome[bool]:
        return self._store("append", key, value, 0, None)

    def prepend(self, key: Key, value: Any) -> Outcome[bool]:
        return self._store("prepend", key, value, 0, None)

    def cas(self, key: Key, value: Any, cas: int | bytes, expire: int = 0, flags: int | None = None) -> Outcome[bool]:
        """Fails with Stale if the key has another unique, with NotFound if it is not there."""
        return self._store("set", key, value, expire, flags, int(cas))

    def delete(self, key: Key, cas: int | bytes | None = None) -> Outcome[bool]:
        """Was it there? Fails with Stale if it has another unique than `cas`."""
        line = _commands.delete_line(self._codec, key, None if cas is None else int(cas))
        return self._add(line, lambda reply: reply.words[0] == b"HD")

    def incr(self, key: Key, value: int = 1, initial: int | None = None, expire: int = 0) -> Outcome[int]:
        """The new number. A key that is missing is made with `initial`; without it the batch fails with NotFound."""
        return self._add(_commands.count_line(self._codec, key, value, False, initial, expire), _number)

    def decr(self, key: Key, value: int = 1, initial: int | None = None, expire: int = 0) -> Outcome[int]:
        """As incr; it stops at 0."""
        return self._add(_commands.count_line(self._codec, key, value, True, initial, expire), _number)

    def touch(self, key: Key, expire: int) -> Outcome[bool]:
        """Was it there?"""
        return self._add(_commands.touch_line(self._codec, key, expire), lambda reply: reply.words[0] == b"HD")

    def _store(self, how: str, key: Key, value: Any, expire: int, flags: int | None, unique: int | None = None) -> Outcome[bool]:
        return self._add(_commands.store_line(self._codec, how, key, value, expire, flags, unique), lambda reply: True)

    def _add(self, line: bytes, read: Callable[[Reply], T]) -> Outcome[T]:
        outcome = Outcome(read)
        self._lines.append(line)
        self._outcomes.append(outcome)
        return outcome

    def _request(self) -> Request[None]:
        def read() -> Reading[None]:
            replies = []
            for _ in self._outcomes:
                reply = (yield).checked()
                if reply.words[0] == b"EX" and len(reply.words) > 2:
                    raise batch_error(whole_number(reply.words[1]) - 1, b" ".join(reply.words[2:]))
                replies.append(reply)
            last = (yield).checked()
            if last.words != [b"HD"]:
                raise unexpected(last)
            for outcome, reply in zip(self._outcomes, replies):
                outcome._take(reply)
        return Request(b"mb %d\r\n" % len(self._lines) + b"".join(self._lines), read)


class Pipeline(Batch):
    """As a Batch, but each operation is executed by itself, whatever becomes of the others: one that fails gives its `error` to
    its outcome. Other clients' requests may come in between.
    """

    def _requests(self) -> Iterator[Request[ReplyError | None]]:
        """The requests to send one after the other. The result of each is its first refusal."""
        first, size = 0, 0
        for number, line in enumerate(self._lines):
            if number > first and (size + len(line) > _SENT_AT_ONCE or number - first == _MOST_AT_ONCE):
                yield self._piece(first, number)
                first, size = number, 0
            size += len(line)
        if self._lines:
            yield self._piece(first, len(self._lines))

    def _piece(self, first: int, end: int) -> Request[ReplyError | None]:
        def read() -> Reading[ReplyError | None]:
            refused: ReplyError | None = None
            for number in range(first, end):
                reply, outcome = (yield), self._outcomes[number]
                refusal = reply.error(number)
                refused = refused or refusal
                outcome.error = refusal or self._failure(number, reply)
                if outcome.error is None:
                    outcome._take(reply)
            return refused
        return Request(b"".join(self._lines[first:end]), read)

    def _failure(self, number: int, reply: Reply) -> ReplyError | None:
        if reply.words[0] == b"NF" and self._lines[number].startswith(b"md "):
            return None  # its outcome is False
        return error_of_code(reply.words[0], number)


def _number(reply: Reply) -> int:
    if reply.block is None:
        raise unexpected(reply)
    return whole_number(reply.block)
