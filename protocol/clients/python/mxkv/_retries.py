"""When a request is sent again, and what the errors of a socket are called. No I/O, no waiting."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from ._pymemcache import MemcacheUnexpectedCloseError
from ._wire import Repeat
from .errors import ConnectionLost, MxkvError, RequestTimeout

_LONGEST_WAIT_S = 1.0
_LOST = (ConnectionError, EOFError, MemcacheUnexpectedCloseError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


def named(error: BaseException) -> MxkvError | None:
    """What an error of the way to the server is called; None if it is none."""
    if isinstance(error, TimeoutError):
        return RequestTimeout(str(error) or "no reply in time")
    if isinstance(error, _LOST):
        return ConnectionLost(str(error) or "the server closed the connection")
    return None


@dataclass(frozen=True)
class Retries:
    """How often, after how many seconds, and whether also writes that leave the same if done twice."""
    most: int
    wait: float
    writes: bool

    def pause(self, repeat: Repeat, attempt: int, error: MxkvError) -> float | None:
        """How long to wait before the request is sent again after attempt number `attempt`, from 0; None: it is not."""
        again = repeat is Repeat.always or (repeat is Repeat.if_asked and self.writes)
        if not again or attempt >= self.most or not isinstance(error, ConnectionLost):
            return None
        return float(min(_LONGEST_WAIT_S, self.wait * 2 ** min(attempt, 20)))
