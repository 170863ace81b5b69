"""The back-end for Flask-Caching: CACHE_TYPE = "mxkv.flask_caching.cache". `mxkv` does not import this module.

    CACHE_MXKV_SERVERS   a server, or several: "localhost:11211" by default
    CACHE_KEY_PREFIX     before all keys; `cache.clear()` deletes the keys with it
    CACHE_OPTIONS        further arguments of mxkv.cachelib.MxkvCache
"""

from __future__ import annotations

from typing import Any

from .cachelib import MxkvCache


def cache(app: Any, config: dict[str, Any], args: list[Any], kwargs: dict[str, Any]) -> MxkvCache:
    """The cache of an application. Flask-Caching calls this."""
    own = {"servers": config.get("CACHE_MXKV_SERVERS", "localhost:11211"), "key_prefix": config.get("CACHE_KEY_PREFIX")}
    return MxkvCache(*args, **{**own, **kwargs})
