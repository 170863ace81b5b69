"""A cache back-end for Django that uses the order of keys: `clear()` deletes the keys of one cache, `delete_prefix()` a group of keys.

    CACHES = {"default": {"BACKEND": "mxkv.django.MxkvCache", "LOCATION": "localhost:11211", "KEY_PREFIX": "site"}}

Keys and values have the form of Django's PyMemcacheCache. `mxkv` does not import this module.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._caches import Caches, expiry, servers_of
from ._django import DEFAULT_TIMEOUT, BaseCache, sync_to_async
from ._wire import T

_shared: dict[Any, Caches] = {}
_lock = threading.Lock()


def _caches(servers: Any, options: dict[str, Any]) -> Caches:
    """One object for each set of servers and options: Django makes back-ends for each thread, and for each asynchronous request."""
    name = repr((servers_of(servers), sorted(options.items())))
    with _lock:
        if name not in _shared:
            _shared[name] = Caches(servers, **options)
        return _shared[name]


class MxkvCache(BaseCache):
    """`LOCATION` is a server, or several; `OPTIONS` are the arguments of mxkv.PooledClient. All threads share the connections."""

    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._cache = _caches(server, params.get("OPTIONS") or {})

    def add(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        return self._cache.add(self.make_and_validate_key(key, version), value, self._expiry(timeout))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        return self._cache.get(self.make_and_validate_key(key, version), default)

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        self._cache.set(self.make_and_validate_key(key, version), value, self._expiry(timeout))

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        return self._cache.touch(self.make_and_validate_key(key, version), self._expiry(timeout))

    def delete(self, key: Any, version: int | None = None) -> bool:
        return self._cache.delete(self.make_and_validate_key(key, version))

    def get_many(self, keys: Iterable[Any], version: int | None = None) -> dict[Any, Any]:
        names = {self.make_and_validate_key(key, version): key for key in keys}
        return {names[str(name)]: value for name, value in self._cache.get_many(names).items()}

    def set_many(self, data: Mapping[Any, Any], timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> list[Any]:
        """Stores the values, and returns the keys that were not stored."""
        names = {self.make_and_validate_key(key, version): key for key in data}
        failed = self._cache.set_many({name: data[key] for name, key in names.items()}, self._expiry(timeout))
        return [names[str(name)] for name in failed]

    def delete_many(self, keys: Iterable[Any], version: int | None = None) -> None:
        self._cache.delete_many([self.make_and_validate_key(key, version) for key in keys])

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        """The new number; ValueError if there is none. A counter does not fall below 0."""
        found = self._cache.incr(self.make_and_validate_key(key, version), delta)
        if found is None:
            raise ValueError(f"Key '{key}' not found")
        return found

    def clear(self, version: int | None = None) -> None:
        """Deletes the keys with this cache's KEY_PREFIX and with its version, or another one. Other keys of the servers stay."""
        self.delete_prefix("", version)

    def delete_prefix(self, prefix: str, version: int | None = None) -> int:
        """Deletes the keys that begin so, by one request a page to each server, and returns their number."""
        return self._cache.delete_prefix(self._beginning(version) + prefix)

    def delete_pattern(self, pattern: str, version: int | None = None) -> int:
        """Deletes the keys that match a pattern of fnmatch (* ? [a-z] [!a-z]), and returns their number. `prefix*` is as fast as
        `delete_prefix`; others scan the keys that begin as the pattern does.
        """
        return self._cache.delete_pattern(self._beginning(version), pattern)

    def close(self, **arguments: Any) -> None:
        """Does nothing: at the end of each request Django calls this, and other threads use the connections."""

    async def adelete_prefix(self, prefix: str, version: int | None = None) -> int:
        return await _in_thread(self.delete_prefix, prefix, version)

    async def adelete_pattern(self, pattern: str, version: int | None = None) -> int:
        return await _in_thread(self.delete_pattern, pattern, version)

    # Django before 6.1 has these ask for one key after the other, and count by get and set.

    async def aget_many(self, keys: Iterable[Any], version: int | None = None) -> dict[Any, Any]:
        return await _in_thread(self.get_many, keys, version)

    async def aset_many(self, data: Mapping[Any, Any], timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> list[Any]:
        return await _in_thread(self.set_many, data, timeout, version)

    async def adelete_many(self, keys: Iterable[Any], version: int | None = None) -> None:
        await _in_thread(self.delete_many, keys, version)

    async def aincr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        return await _in_thread(self.incr, key, delta, version)

    async def aclear(self, version: int | None = None) -> None:
        await _in_thread(self.clear, version)

    def _expiry(self, timeout: Any) -> int:
        return expiry(self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout)

    def _beginning(self, version: int | None) -> str:
        """The beginning of all keys of this cache and version. ValueError if a KEY_FUNCTION does not put it first."""
        beginning = self.make_key("", version)
        if self.make_key("*", version) != beginning + "*":
            raise ValueError("KEY_FUNCTION must return keys that end with `key`: otherwise this cache's keys are no range")
        return beginning


async def _in_thread(function: Callable[..., T], *arguments: Any) -> T:
    return await sync_to_async(function, thread_sensitive=True)(*arguments)
