"""The parts of pymemcache that mxkv uses. The .pyi beside this gives types, which the oldest supported version lacks."""

from pymemcache.client.base import Client, PooledClient, normalize_server_spec
from pymemcache.exceptions import MemcacheClientError, MemcacheError, MemcacheServerError, MemcacheUnexpectedCloseError, MemcacheUnknownError
from pymemcache.pool import ObjectPool

__all__ = ["Client", "MemcacheClientError", "MemcacheError", "MemcacheServerError", "MemcacheUnexpectedCloseError",
           "MemcacheUnknownError", "ObjectPool", "PooledClient", "normalize_server_spec"]
