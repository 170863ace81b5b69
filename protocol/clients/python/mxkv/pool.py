"""A pool of clients: any thread may use it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ._address import Server, address_of
from ._pymemcache import ObjectPool
from ._pymemcache import PooledClient as _Base
from ._range_commands import RangeCommands
from ._wire import Codec, PlainSerde, Request, Serde, T
from .client import Client
from .errors import ReplyError


if TYPE_CHECKING:
    _Clients = ObjectPool[Client]
else:
    _Clients = ObjectPool  # not generic where it runs


class _WaitingPool(_Clients):
    """Waits for a free client, where pymemcache's pool raises. Keeps a client after a ReplyError, and closes it after any other
    error.
    """

    def __init__(self, pool: _Clients, most: int, idle_timeout: float) -> None:
        super().__init__(pool._obj_creator, after_remove=pool._after_remove, max_size=most, idle_timeout=idle_timeout)
        self._room = threading.BoundedSemaphore(most)

    @contextmanager
    def get_and_release(self, destroy_on_fail: bool = False) -> Iterator[Client]:
        with self._room:
            client = self.get()
            try:
                yield client
            except ReplyError:
                self.release(client)
                raise
            except BaseException:
                self.destroy(client)
                raise
            self.release(client)


class PooledClient(RangeCommands, _Base):
    """As Client, for many threads: each command takes one of up to `max_pool_size` connections, and waits if all are taken.
    A range takes one for each page.
    """

    def __init__(self, server: Server, *, max_pool_size: int = 8, pool_idle_timeout: float = 0,
                 serde: Serde | None = None, key_prefix: str | bytes = b"", **arguments: Any) -> None:
        self._arguments = {"serde": serde or PlainSerde(), "key_prefix": key_prefix, **arguments}
        super().__init__(address_of(server, None, "", None).place, serde=self._arguments["serde"], key_prefix=key_prefix)
        self._server = server
        self.client_pool = _WaitingPool(self.client_pool, max_pool_size, pool_idle_timeout)

    def _create_client(self) -> Client:
        return Client(self._server, **self._arguments)

    def _another(self) -> Client:
        return self._create_client()

    @property
    def _codec(self) -> Codec:
        return Codec(self.serde, self.key_prefix)

    def _ask(self, request: Request[T]) -> T:
        with self.client_pool.get_and_release(destroy_on_fail=True) as client:
            answer: T = client._ask(request)
            return answer

    def __enter__(self) -> PooledClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
