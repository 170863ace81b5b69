"""The part that the back-ends of frameworks share: pickled values, keys of any length, deletes by prefix and by pattern.

Any thread may use it. A child process opens connections of its own.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Union

from ._address import Server
from ._pymemcache import pickle_serde
from ._ranges import Range
from ._wire import LONGEST_KEY, Key, bytes_of
from .errors import ClientError
from .hash_client import HashClient
from .pool import PooledClient

_DIGEST = 32  # hexadecimal digits
LONGEST_PREFIX = LONGEST_KEY - 1 - _DIGEST  # bytes of a long key that stay as they are
_LONGEST_RELATIVE_S = 30 * 24 * 3600  # greater numbers are points in time
_AT_ONCE = 1000  # keys
_SPECIAL = re.compile(r"[*?\[]")

Servers = Union[str, Iterable[Server]]


def expiry(seconds: float | None) -> int:
    """The protocol's time to live: 0 is for ever, a negative number is at once. None is for ever; 0 seconds and less are at once."""
    if seconds is None:
        return 0
    whole = int(seconds)
    if whole <= 0:
        return -1
    return whole if whole <= _LONGEST_RELATIVE_S else whole + int(time.time())


def servers_of(text: Servers) -> list[Server]:
    """Servers from a text with ',' or ';' between them, or from a list."""
    return [part for part in re.split("[;, ]+", text) if part] if isinstance(text, str) else list(text)


class Caches:
    """The items of one or several servers. `arguments` go to PooledClient. Values are pickled unless there is a `serde`; numbers
    stay numbers, and text and bytes stay as they are, in the form of pymemcache's `pickle_serde`. Idempotent writes are sent again
    after a lost connection, unless `retry_writes` is False.

    A key of more than 250 bytes keeps its first 217, and ends with a digest of all.
    """

    def __init__(self, servers: Servers, **arguments: Any) -> None:
        self._servers = servers_of(servers)
        self._arguments = {"serde": pickle_serde, "retry_writes": True, **arguments}
        self._current = self._open()

    def _open(self) -> tuple[int, PooledClient | HashClient]:
        one = len(self._servers) == 1
        return os.getpid(), (PooledClient(self._servers[0], **self._arguments) if one else
                             HashClient(self._servers, **self._arguments))

    @property
    def client(self) -> PooledClient | HashClient:
        process, client = self._current
        if process != os.getpid():  # its connections are the parent's
            self._current = process, client = self._open()
        return client

    def _each(self) -> list[PooledClient]:
        client = self.client
        return list(client.clients.values()) if isinstance(client, HashClient) else [client]

    def get(self, key: Key, default: Any = None) -> Any:
        return self.client.get(_whole(key), default)

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Any]:
        names = {_whole(key): key for key in keys}
        return {names[bytes_of(name)]: value for name, value in self.client.get_many(names).items()} if names else {}

    def set(self, key: Key, value: Any, expire: int) -> bool:
        return self.client.set(_whole(key), value, expire)

    def set_many(self, values: Mapping[Key, Any], expire: int) -> list[Key]:
        """Stores the values, and returns the keys that were not stored."""
        names = {_whole(key): key for key in values}
        return [names[bytes_of(name)] for name in self.client.set_many({name: values[key] for name, key in names.items()}, expire)]

    def add(self, key: Key, value: Any, expire: int) -> bool:
        return self.client.add(_whole(key), value, expire)

    def delete(self, key: Key) -> bool:
        return self.client.delete(_whole(key))

    def delete_many(self, keys: Iterable[Key]) -> None:
        self.client.delete_many([_whole(key) for key in keys])

    def touch(self, key: Key, expire: int) -> bool:
        return self.client.touch(_whole(key), expire)

    def incr(self, key: Key, delta: int) -> int | None:
        """The new number, None if there is none. A counter does not fall below 0."""
        return self.client.incr(_whole(key), delta) if delta >= 0 else self.client.decr(_whole(key), -delta)

    def add_number(self, key: Key, delta: int, expire: int) -> int:
        """Adds to a number, which may be negative and keeps its time to live. A missing one becomes `delta`. Atomic."""
        name = _whole(key)
        client = self._client_of(name)
        while True:
            found = client.page(Range(name, name, include_stop=True), limit=1).items
            if not found:
                if client.add(name, delta, expire):
                    return delta
                continue
            total: int = found[0].value + delta
            left = found[0].ttl
            if client.cas(name, total, found[0].unique, expiry(None if left is None else max(left, 1))):
                return total

    def delete_if(self, key: Key, value: Any) -> bool:
        """Deletes the key if it has this value. Atomic."""
        name = _whole(key)
        client = self._client_of(name)
        found, unique = client.gets(name)
        if unique is None or found != value:
            return False
        with client.pipeline() as pipeline:
            deleted = pipeline.delete(name, cas=unique)
        return deleted.error is None and deleted.value

    def delete_prefix(self, prefix: Key) -> int:
        """Deletes all keys with a prefix, by one request a page to each server, and returns their number. An empty prefix is refused."""
        if len(bytes_of(prefix)) > LONGEST_PREFIX:
            raise ClientError(f"a prefix may have {LONGEST_PREFIX} bytes at most, because longer keys are shortened behind them")
        return sum(client.delete_range(prefix) for client in self._each())

    def delete_all(self) -> int:
        return sum(client.delete_range(Range()) for client in self._each())

    def delete_pattern(self, prefix: str, pattern: str) -> int:
        """Deletes the keys that begin with `prefix` and go on as `pattern` says (fnmatch's: * ? [a-z] [!a-z]), and returns their number.
        A pattern that is a prefix and `*` deletes as `delete_prefix`. Others scan the keys that begin as they do, up to their first
        special character. A shortened key is matched as it is stored.
        """
        special = _SPECIAL.search(pattern)
        if special is None:
            return int(self.delete(prefix + pattern))
        literal, rest = prefix + pattern[:special.start()], pattern[special.start():]
        if not rest.strip("*"):
            return self.delete_prefix(literal)
        matches = re.compile(fnmatch.translate(rest)).match
        head = literal.encode()
        return sum(_delete_those(client, (key for key in client.scan(head, values=False)
                                          if matches(key[len(head):].decode("utf-8", "surrogateescape")))) for client in self._each())

    def _client_of(self, name: bytes) -> PooledClient:
        client = self.client
        return client.client_of(name) if isinstance(client, HashClient) else client

    def close(self) -> None:
        self.client.close()


def _delete_those(client: PooledClient, keys: Iterator[bytes]) -> int:
    total = 0
    while some := list(islice(keys, _AT_ONCE)):
        with client.pipeline() as pipeline:
            outcomes = [pipeline.delete(key) for key in some]
        total += sum(outcome.value for outcome in outcomes)
    return total


def _whole(key: Key) -> bytes:
    """The key as it is stored: shortened if it is too long."""
    name = bytes_of(key)
    if len(name) <= LONGEST_KEY:
        return name
    return name[:LONGEST_PREFIX] + b"#" + hashlib.sha256(name).hexdigest()[:_DIGEST].encode()
