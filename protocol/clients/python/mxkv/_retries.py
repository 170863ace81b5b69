"""When to send a request again, and the error types for errors of a socket. No I/O, no waiting."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from ._pymemcache import MemcacheUnexpectedCloseError
from ._wire import Repeat
from .errors import ConnectionLost, MxkvError, RequestTimeout

_LONGEST_WAIT_S = 1.0
_LOST = (ConnectionError, EOFError, MemcacheUnexpectedCloseError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


def named(error: BaseException) -> MxkvError | None:
    """The mxkv error for an error of the socket; None for other errors."""
    if isinstance(error, TimeoutError):
        return RequestTimeout(str(error) or "no reply in time")
    if isinstance(error, _LOST):
        return ConnectionLost(str(error) or "the server closed the connection")
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
        return float(min(_LONGEST_WAIT_S, self.wait * 2 ** min(attempt, 20)))
