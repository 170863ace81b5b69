"""The parts of pymemcache that mxkv uses. The .pyi beside this gives types, which the oldest supported version lacks."""

from pymemcache.client.base import Client, PooledClient, normalize_server_spec
from pymemcache.client.rendezvous import RendezvousHash
from pymemcache.exceptions import (MemcacheClientError, MemcacheError, MemcacheIllegalInputError, MemcacheServerError,
                                   MemcacheUnexpectedCloseError, MemcacheUnknownError)
from pymemcache.pool import ObjectPool
from pymemcache.serde import pickle_serde

__all__ = ["Client", "MemcacheClientError", "MemcacheError", "MemcacheIllegalInputError", "MemcacheServerError",
           "MemcacheUnexpectedCloseError", "MemcacheUnknownError", "ObjectPool", "PooledClient", "RendezvousHash", "normalize_server_spec",
           "pickle_serde"]
