"""Client of mxkv: memcached's commands by pymemcache's names, ranges over ordered keys, and atomic batches.

    with mxkv.Client("localhost") as client:
        for key, value in client.scan(prefix="user:"):
            print(key, value)
"""

from ._batch import Batch, Outcome, Pipeline
from ._changes import Change, Changes
from ._hooks import Hook
from ._ranges import Branch, Item, Numbers, Page, Range, Size
from ._watching import Watch
from ._wire import Key, PlainSerde, Serde
from .aio import AsyncClient
from .client import Client
from .errors import (AuthenticationFailed, BadAddress, BadCursor, ClientError, ConnectionLost, Forbidden, HistoryLost, JournalFailed,
                     MxkvError, NotFound, NotStored, OutOfMemory, ProtocolError, RangeTooLarge, ReplyError, RequestTimeout,
                     ServerError, Stale, TlsFailed, TooLarge, TooOld)
from .hash_client import AsyncHashClient, HashClient
from .near_cache import NearCache
from .pool import PooledClient

__all__ = [
    "AsyncClient", "AsyncHashClient", "AuthenticationFailed", "BadAddress", "BadCursor", "Batch", "Branch", "Change", "Changes", "Client",
    "ClientError", "ConnectionLost", "Forbidden", "HashClient", "HistoryLost", "Hook", "Item", "JournalFailed", "Key", "MxkvError",
    "NearCache", "NotFound", "NotStored", "Numbers", "OutOfMemory", "Outcome", "Page", "Pipeline", "PlainSerde", "PooledClient",
    "ProtocolError", "Range", "RangeTooLarge", "ReplyError", "RequestTimeout", "Serde", "ServerError", "Size", "Stale", "TlsFailed",
    "TooLarge", "TooOld", "Watch",
]
