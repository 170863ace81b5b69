"""Several servers: each key belongs to one of them, which pymemcache's HashClient would choose, too. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from ._address import Server, address_of
from ._pymemcache import RendezvousHash
from ._wire import Key, bytes_of
from .errors import BadAddress

C = TypeVar("C")


class Servers(Generic[C]):
    """The clients of several servers by name, and the one that has a key."""

    def __init__(self, servers: Iterable[Server], make: Any, arguments: dict[str, Any]) -> None:
        self.clients: dict[str, C] = {}
        self._hasher = RendezvousHash()
        for server in servers:
            name = address_of(server, None, "", None).name
            self.clients[name] = make(server, **arguments)
            self._hasher.add_node(name)
        if not self.clients:
            raise BadAddress("no servers were given")

    def client_of(self, key: Key) -> C:
        """The client of the server that has this key. Its ranges, batches and pipelines see this server alone."""
        return self.clients[self._name_of(key)]

    def _name_of(self, key: Key) -> str:
        # Bytes are read as text, so that b"k" is where "k" is; any bytes become some text.
        return self._hasher.get_node(bytes_of(key).decode("utf-8", "surrogateescape"))

    def _by_client(self, keys: Iterable[Key]) -> list[tuple[C, list[Any]]]:
        parts: dict[str, list[Any]] = {}
        for key in keys:
            parts.setdefault(self._name_of(key), []).append(key)
        return [(self.clients[name], some) for name, some in parts.items()]
