"""Client of mxkv: memcached's commands by pymemcache's names, ranges over ordered keys, and atomic batches.

    with mxkv.Client("localhost") as client:
        for key, value in client.scan(prefix="user:"):
            print(key, value)
"""

from ._batch import Batch, Outcome, Pipeline
from ._hooks import Hook
from ._ranges import Branch, Item, Numbers, Page, Range, Size
from ._wire import Key, PlainSerde, Serde
from .aio import AsyncClient
from .client import Client
from .errors import (AuthenticationFailed, BadAddress, BadCursor, ClientError, ConnectionLost, Forbidden, JournalFailed,
                     MxkvError, NotFound, NotStored, OutOfMemory, ProtocolError, RangeTooLarge, ReplyError, RequestTimeout,
                     ServerError, Stale, TlsFailed, TooLarge)
from .hash_client import AsyncHashClient, HashClient
from .pool import PooledClient

__all__ = [
    "AsyncClient", "AsyncHashClient", "AuthenticationFailed", "BadAddress", "BadCursor", "Batch", "Branch", "Client",
    "ClientError", "ConnectionLost", "Forbidden", "HashClient", "Hook", "Item", "JournalFailed", "Key", "MxkvError", "NotFound",
    "NotStored", "Numbers", "OutOfMemory", "Outcome", "Page", "Pipeline", "PlainSerde", "PooledClient", "ProtocolError",
    "Range", "RangeTooLarge", "ReplyError", "RequestTimeout", "Serde", "ServerError", "Size", "Stale", "TlsFailed", "TooLarge",
]
