"""When to send a request again, and the error types for errors of a socket. No I/O, no waiting."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass

from ._pymemcache import MemcacheIllegalInputError, MemcacheUnexpectedCloseError
from ._wire import Repeat
from .errors import ClientError, ConnectionLost, MxkvError, RequestTimeout, TlsFailed

_LONGEST_WAIT_S = 1.0
_TIMEOUTS = (TimeoutError, socket.timeout, asyncio.TimeoutError)  # one type from Python 3.11 on
_ENDED = (EOFError, MemcacheUnexpectedCloseError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


def named(error: BaseException) -> MxkvError | None:
    """The mxkv error for an error of the socket or of pymemcache; None for other errors."""
    if isinstance(error, MxkvError):
        return error
    if isinstance(error, _TIMEOUTS):
        return RequestTimeout(str(error) or "no reply in time")
    if isinstance(error, _ENDED):
        return ConnectionLost(str(error) or "the server closed the connection")
    if isinstance(error, ssl.SSLError):
        return TlsFailed(str(error))
    if isinstance(error, OSError):  # also an unknown host, and a missing unix socket
        return ConnectionLost(str(error) or "the connection was lost")
    if isinstance(error, MemcacheIllegalInputError):
        return ClientError(str(error))
    return None


@dataclass(frozen=True)
class Retries:
    """How often to retry, after how many seconds, and whether to retry idempotent writes, too."""
    most: int
    wait: float
    writes: bool

    def pause(self, repeat: Repeat, attempt: int, error: MxkvError) -> float | None:
        """Seconds to wait before a retry after attempt number `attempt`, from 0; None for no retry."""
        again = repeat is Repeat.always or (repeat is Repeat.if_asked and self.writes)
        if not again or attempt >= self.most or not isinstance(error, ConnectionLost):
            return None
        return self.wait_after(attempt)

    def wait_after(self, attempt: int) -> float:
        """Seconds to wait after attempt number `attempt`, from 0."""
        return float(min(_LONGEST_WAIT_S, self.wait * 2 ** min(attempt, 20)))
