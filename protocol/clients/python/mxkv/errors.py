"""The types of errors. All are `MxkvError`; each also derives from pymemcache's, or Python's, type for it.

A reply error leaves the connection in step with the server. After any other error the connection is closed, and the next
command opens another one.
"""

from __future__ import annotations

from ._pymemcache import MemcacheClientError, MemcacheError, MemcacheServerError, MemcacheUnknownError


class MxkvError(MemcacheError):
    """The base of all errors."""


class ReplyError(MxkvError):
    """The server refused. `operation` is the number of the failed operation of a batch or pipeline, from 0; otherwise None."""

    def __init__(self, text: str, operation: int | None = None) -> None:
        super().__init__(text if operation is None else f"operation {operation}: {text}")
        self.text = text
        self.operation = operation


class ClientError(ReplyError, MemcacheClientError):
    """The request is wrong; it has had no effect."""


class BadCursor(ClientError):
    """The text is no cursor, or a cursor of another range."""


class RangeTooLarge(ClientError):
    """More keys than may be changed or counted at once; nothing was done."""


class Forbidden(ClientError):
    """Not logged in, or the user may not use this command."""


class AuthenticationFailed(Forbidden):
    """Wrong name or password."""


class ServerError(ReplyError, MemcacheServerError):
    """The request may be right, but cannot be done now."""


class OutOfMemory(ServerError):
    """The cache is full, and no item may or can be evicted."""


class TooLarge(ServerError):
    """The value is larger than the server takes. A `set` has deleted the old value."""


class JournalFailed(ServerError):
    """The server cannot write its journal now, so it refused the change."""


class NotFound(ReplyError):
    """In a batch or pipeline: there is no such key."""


class NotStored(ReplyError):
    """In a batch or pipeline: `add` of an existing key, or `replace`, `append` or `prepend` of a missing one."""


class Stale(ReplyError):
    """The key has another unique by now."""


class TooOld(ReplyError):
    """The server no longer has the changes behind the position of a watch. Begin a watch without a position, then read the range."""


class HistoryLost(ReplyError):
    """The position of a watch belongs to changes that this server does not know, for example because it was started again. Begin a
    watch without a position, then read the range.
    """


class BadAddress(MxkvError, ValueError):
    """The text is no address of a server."""


class ConnectionLost(MxkvError, ConnectionError):
    """No connection, or it ended before the reply did. Whether a write took effect is not known. Its cause (`__cause__`) is the
    error of the socket, for example of an unknown host.
    """


class RequestTimeout(MxkvError, TimeoutError):
    """No reply in time. Whether a write took effect is not known."""


class TlsFailed(MxkvError, ConnectionError):
    """TLS failed, for example because a certificate is not trusted or missing. Not retried."""


class ProtocolError(MxkvError, MemcacheUnknownError):
    """mxkv never sends such a reply."""


_CLIENT: dict[bytes, type[ReplyError]] = {
    b"bad cursor": BadCursor,
    b"the cursor leads out of the range": BadCursor,
    b"too many keys in the range": RangeTooLarge,
    b"unauthenticated": Forbidden,
    b"forbidden": Forbidden,
    b"authentication failure": AuthenticationFailed,
}
_SERVER: dict[bytes, type[ReplyError]] = {
    b"object too large for cache": TooLarge,
    b"out of memory": OutOfMemory,
    b"journal": JournalFailed,
}
_OUTCOMES: dict[bytes, tuple[type[ReplyError], str]] = {
    b"NF": (NotFound, "there is no such key"),
    b"NS": (NotStored, "not stored"),
    b"EX": (Stale, "the key has another unique by now"),
}


ERROR_WORDS = (b"CLIENT_ERROR", b"SERVER_ERROR", b"ERROR", b"ERROR:")  # first words of error lines


def error_of(line: bytes, operation: int | None = None) -> ReplyError | None:
    """The error that a line of a reply stands for, or None."""
    word, _, rest = line.partition(b" ")
    text = rest.decode("utf-8", "replace")
    if word == b"CLIENT_ERROR":
        return _first(_CLIENT, rest, ClientError)(text, operation)
    if word == b"SERVER_ERROR":
        return _first(_SERVER, rest, ServerError)(text, operation)
    if word in (b"ERROR", b"ERROR:"):
        return ClientError(text or "no such command", operation)
    return None


def error_of_code(code: bytes, operation: int) -> ReplyError | None:
    """The error that the code of an operation's reply stands for, or None."""
    if code not in _OUTCOMES:
        return None
    kind, text = _OUTCOMES[code]
    return kind(text, operation)


def batch_error(number: int, why: bytes) -> ReplyError:
    """The error of a batch that operation `number`, counted from 0, made fail."""
    return error_of_code(why, number) or error_of(why, number) or ClientError(why.decode("utf-8", "replace"), number)


def _first(kinds: dict[bytes, type[ReplyError]], text: bytes, otherwise: type[ReplyError]) -> type[ReplyError]:
    return next((kind for beginning, kind in kinds.items() if text.startswith(beginning)), otherwise)
