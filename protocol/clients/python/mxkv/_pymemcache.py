"""What is built on of pymemcache. The .pyi beside this gives types to what has none in the oldest version supported."""

from pymemcache.client.base import Client, PooledClient, normalize_server_spec
from pymemcache.exceptions import MemcacheClientError, MemcacheError, MemcacheServerError, MemcacheUnexpectedCloseError, MemcacheUnknownError
from pymemcache.pool import ObjectPool

__all__ = ["Client", "MemcacheClientError", "MemcacheError", "MemcacheServerError", "MemcacheUnexpectedCloseError",
           "MemcacheUnknownError", "ObjectPool", "PooledClient", "normalize_server_spec"]
