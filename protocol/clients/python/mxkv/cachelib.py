"""A cache of cachelib's interface, with deletes by prefix and by pattern. `mxkv` does not import this module."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from cachelib import BaseCache

from ._caches import Caches, Servers, expiry

Timeout = Any  # seconds, a timedelta since cachelib 0.17, or None for the default; 0 is for ever


class MxkvCache(BaseCache):
    """`arguments` go to mxkv.PooledClient. `key_prefix` is before all keys; without it `clear()` deletes all keys of the servers."""

    def __init__(self, servers: Servers = "localhost:11211", default_timeout: Timeout = 300, key_prefix: str | None = None,
                 ignore_delete_many_errors: bool = True, **arguments: Any) -> None:
        super().__init__(default_timeout)
        self.ignore_delete_many_errors = ignore_delete_many_errors  # an error of a server is always raised
        self.key_prefix = key_prefix or ""
        self._cache = Caches(servers, **arguments)

    def get(self, key: str) -> Any:
        return self._cache.get(self.key_prefix + key)

    def has(self, key: str) -> bool:
        return bool(self._cache.get_many([self.key_prefix + key]))

    def get_many(self, *keys: str) -> list[Any]:
        found = self._cache.get_many([self.key_prefix + key for key in keys])
        return [found.get(self.key_prefix + key) for key in keys]

    def set(self, key: str, value: Any, timeout: Timeout = None) -> bool:
        return self._cache.set(self.key_prefix + key, value, self._expiry(timeout))

    def set_many(self, mapping: dict[str, Any], timeout: Timeout = None) -> list[Any]:
        """Stores the values, and returns the keys that were stored."""
        failed = self._cache.set_many({self.key_prefix + key: value for key, value in mapping.items()}, self._expiry(timeout))
        return [key for key in mapping if self.key_prefix + key not in failed]

    def add(self, key: str, value: Any, timeout: Timeout = None) -> bool:
        return self._cache.add(self.key_prefix + key, value, self._expiry(timeout))

    def delete(self, key: str) -> bool:
        return self._cache.delete(self.key_prefix + key)

    def delete_many(self, *keys: str) -> list[Any]:
        self._cache.delete_many([self.key_prefix + key for key in keys])
        return list(keys)

    def inc(self, key: str, delta: int = 1) -> int:
        """The new number. It keeps its time to live, unlike in most of cachelib's caches. Atomic."""
        return self._cache.add_number(self.key_prefix + key, delta, self._expiry(None))

    def dec(self, key: str, delta: int = 1) -> int:
        """As inc."""
        return self._cache.add_number(self.key_prefix + key, -delta, self._expiry(None))

    def clear(self) -> bool:
        """Deletes the keys with this cache's prefix."""
        if self.key_prefix:
            self._cache.delete_prefix(self.key_prefix)
        else:
            self._cache.delete_all()
        return True

    def delete_prefix(self, prefix: str) -> int:
        """Deletes the keys that begin so, by one request a page to each server, and returns their number."""
        return self._cache.delete_prefix(self.key_prefix + prefix)

    def delete_pattern(self, pattern: str) -> int:
        """Deletes the keys that match a pattern of fnmatch (* ? [a-z] [!a-z]), and returns their number. `prefix*` is as fast as
        `delete_prefix`; others scan the keys that begin as the pattern does.
        """
        return self._cache.delete_pattern(self.key_prefix, pattern)

    def _expiry(self, timeout: Timeout) -> int:
        seconds = self._normalize_timeout(timeout)
        if isinstance(seconds, timedelta):
            seconds = seconds.total_seconds()
        return expiry(seconds or None)
