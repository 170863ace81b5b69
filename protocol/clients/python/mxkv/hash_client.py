"""Clients of several servers, with pymemcache's hashing: each key belongs to one server.

If a server is down, requests for its keys fail: no other server takes over, so old values never come back with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._address import Server
from ._hash import Servers
from ._wire import Key
from .aio import AsyncClient
from .pool import PooledClient


class HashClient(Servers[PooledClient]):
    """Single keys on several servers, for many threads. The arguments go to a PooledClient for each server.

    `client_of(key)` is the client of one server, with its ranges and batches; `clients` has all by name.
    """

    def __init__(self, servers: Iterable[Server], **arguments: Any) -> None:
        super().__init__(servers, PooledClient, arguments)

    def get(self, key: Key, default: Any = None) -> Any:
        return self.client_of(key).get(key, default)

    def gets(self, key: Key) -> tuple[Any, bytes | None]:
        return self.client_of(key).gets(key)

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Any]:
        return {key: value for client, some in self._by_client(keys) for key, value in client.get_many(some).items()}

    def set(self, key: Key, value: Any, expire: int = 0, **more: Any) -> bool:
        return self.client_of(key).set(key, value, expire, **more)

    def set_many(self, values: Mapping[Key, Any], expire: int = 0, **more: Any) -> list[Key]:
        """Stores the values, and returns the keys that were not stored."""
        return [key for client, some in self._by_client(values)
                for key in client.set_many({key: values[key] for key in some}, expire, **more)]

    def add(self, key: Key, value: Any, expire: int = 0, **more: Any) -> bool:
        return self.client_of(key).add(key, value, expire, **more)

    def replace(self, key: Key, value: Any, expire: int = 0, **more: Any) -> bool:
        return self.client_of(key).replace(key, value, expire, **more)

    def append(self, key: Key, value: Any, **more: Any) -> bool:
        return self.client_of(key).append(key, value, **more)

    def prepend(self, key: Key, value: Any, **more: Any) -> bool:
        return self.client_of(key).prepend(key, value, **more)

    def cas(self, key: Key, value: Any, cas: int | bytes, expire: int = 0, **more: Any) -> bool | None:
        """False if the key has another unique, None if it is gone."""
        return self.client_of(key).cas(key, value, cas, expire, **more)

    def delete(self, key: Key) -> bool:
        return self.client_of(key).delete(key)

    def delete_many(self, keys: Iterable[Key]) -> bool:
        return all([client.delete_many(some) for client, some in self._by_client(keys)])

    def incr(self, key: Key, value: int) -> int | None:
        return self.client_of(key).incr(key, value)

    def decr(self, key: Key, value: int) -> int | None:
        return self.client_of(key).decr(key, value)

    def touch(self, key: Key, expire: int = 0) -> bool:
        return self.client_of(key).touch(key, expire)

    def close(self) -> None:
        for client in self.clients.values():
            client.close()

    def __enter__(self) -> HashClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncHashClient(Servers[AsyncClient]):
    """HashClient for asyncio. The arguments go to an AsyncClient for each server."""

    def __init__(self, servers: Iterable[Server], **arguments: Any) -> None:
        super().__init__(servers, AsyncClient, arguments)

    async def get(self, key: Key, default: Any = None) -> Any:
        return await self.client_of(key).get(key, default)

    async def gets(self, key: Key) -> tuple[Any, int | None]:
        return await self.client_of(key).gets(key)

    async def get_many(self, keys: Iterable[Key]) -> dict[Key, Any]:
        found: dict[Key, Any] = {}
        for client, some in self._by_client(keys):
            found.update(await client.get_many(some))
        return found

    async def set(self, key: Key, value: Any, expire: int = 0, flags: int | None = None) -> bool:
        return await self.client_of(key).set(key, value, expire, flags)

    async def set_many(self, values: Mapping[Key, Any], expire: int = 0, flags: int | None = None) -> list[Key]:
        """Stores the values, and returns the keys that were not stored."""
        failed: list[Key] = []
        for client, some in self._by_client(values):
            failed += await client.set_many({key: values[key] for key in some}, expire, flags)
        return failed

    async def add(self, key: Key, value: Any, expire: int = 0, flags: int | None = None) -> bool:
        return await self.client_of(key).add(key, value, expire, flags)

    async def replace(self, key: Key, value: Any, expire: int = 0, flags: int | None = None) -> bool:
        return await self.client_of(key).replace(key, value, expire, flags)

    async def cas(self, key: Key, value: Any, cas: int | bytes, expire: int = 0, flags: int | None = None) -> bool | None:
        """False if the key has another unique, None if it is gone."""
        return await self.client_of(key).cas(key, value, cas, expire, flags)

    async def delete(self, key: Key) -> bool:
        return await self.client_of(key).delete(key)

    async def delete_many(self, keys: Iterable[Key]) -> bool:
        for client, some in self._by_client(keys):
            await client.delete_many(some)
        return True

    async def incr(self, key: Key, value: int) -> int | None:
        return await self.client_of(key).incr(key, value)

    async def decr(self, key: Key, value: int) -> int | None:
        return await self.client_of(key).decr(key, value)

    async def touch(self, key: Key, expire: int = 0) -> bool:
        return await self.client_of(key).touch(key, expire)

    async def close(self) -> None:
        for client in self.clients.values():
            await client.close()

    async def __aenter__(self) -> AsyncHashClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
