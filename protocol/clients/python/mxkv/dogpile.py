"""A back-end for dogpile.cache: `region.configure("mxkv", arguments={"url": "localhost:11211", "prefix": "app:"})`.

With DeletingInvalidation `region.invalidate()` deletes the region's keys, for all processes at once. `mxkv` does not import this
module.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dogpile.cache import CacheRegion
from dogpile.cache.api import NO_VALUE, BytesBackend, CacheMutex, SerializedReturnType
from dogpile.cache.region import RegionInvalidationStrategy

from ._caches import Caches, expiry
from ._wire import PlainSerde

_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.1


class MxkvBackend(BytesBackend):
    """Arguments; others are ignored, as dogpile's own back-ends do.

    url                a server or several: "localhost:11211" by default
    prefix             before all keys
    expire_time        seconds after which the server drops a value; None for never
    distributed_lock   of many processes one creates a value
    lock_timeout       seconds after which such a lock ends; None for never
    client             arguments of mxkv.PooledClient
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.prefix: str = arguments.get("prefix", "")
        self._expire = arguments.get("expire_time")
        self._distributed: bool = arguments.get("distributed_lock", False)
        self._lock_timeout = arguments.get("lock_timeout")
        self._cache = Caches(arguments.get("url", "localhost:11211"), **{"serde": PlainSerde(), **arguments.get("client", {})})

    def has_lock_timeout(self) -> bool:
        return self._lock_timeout is not None

    def get_mutex(self, key: str) -> CacheMutex | None:
        return _Mutex(self._cache, f"{self.prefix}_lock:{key}", expiry(self._lock_timeout)) if self._distributed else None

    def get_serialized(self, key: str) -> SerializedReturnType:
        found: SerializedReturnType = self._cache.get(self.prefix + key, NO_VALUE)
        return found

    def get_serialized_multi(self, keys: Iterable[str]) -> Sequence[SerializedReturnType]:
        names = [self.prefix + key for key in keys]
        found = self._cache.get_many(names)
        return [found.get(name, NO_VALUE) for name in names]

    def set_serialized(self, key: str, value: bytes) -> None:
        self._cache.set(self.prefix + key, value, expiry(self._expire))

    def set_serialized_multi(self, mapping: Mapping[str, bytes]) -> None:
        if mapping:
            self._cache.set_many({self.prefix + key: value for key, value in mapping.items()}, expiry(self._expire))

    def delete(self, key: str) -> None:
        self._cache.delete(self.prefix + key)

    def delete_multi(self, keys: Iterable[str]) -> None:
        self._cache.delete_many([self.prefix + key for key in keys])

    def delete_prefix(self, prefix: str) -> int:
        """Deletes the keys that begin so, by one request a page to each server, and returns their number. A region's `key_mangler` does
        not change the prefix.
        """
        return self._cache.delete_prefix(self.prefix + prefix)

    def delete_pattern(self, pattern: str) -> int:
        """Deletes the keys that match a pattern of fnmatch (* ? [a-z] [!a-z]), and returns their number. `prefix*` is as fast as
        `delete_prefix`; others scan the keys that begin as the pattern does.
        """
        return self._cache.delete_pattern(self.prefix, pattern)


class DeletingInvalidation(RegionInvalidationStrategy):
    """`region.invalidate()`, hard or soft, deletes all keys with the back-end's prefix, which must not be empty.

        region = make_region()
        region.configure("mxkv", arguments={"prefix": "app:"}, region_invalidator=DeletingInvalidation(region))
    """

    def __init__(self, region: CacheRegion) -> None:
        self._region = region

    def invalidate(self, hard: bool = True) -> None:
        self._region.actual_backend.delete_prefix("")

    def is_hard_invalidated(self, timestamp: float) -> bool:
        return False

    def was_hard_invalidated(self) -> bool:
        return False

    def is_soft_invalidated(self, timestamp: float) -> bool:
        return False

    def was_soft_invalidated(self) -> bool:
        return False

    def is_invalidated(self, timestamp: float) -> bool:
        return False


class _Mutex(CacheMutex):
    """A lock that is a key. Its value is its owner's, so that an owner whose time ended does not end the lock of the next one."""

    def __init__(self, cache: Caches, key: str, expire: int) -> None:
        self._cache, self._key, self._expire = cache, key, expire
        self._owner = secrets.token_bytes(16)

    def acquire(self, wait: bool = True) -> bool:
        pause = _SHORTEST_PAUSE_S
        while not self._cache.add(self._key, self._owner, self._expire):
            if not wait:
                return False
            time.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        return True

    def release(self) -> None:
        self._cache.delete_if(self._key, self._owner)

    def locked(self) -> bool:
        return bool(self._cache.get_many([self._key]))
