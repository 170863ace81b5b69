"""The parts of Django that mxkv uses. The .pyi beside this gives types, which Django lacks."""

from asgiref.sync import sync_to_async
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache

__all__ = ["BaseCache", "DEFAULT_TIMEOUT", "sync_to_async"]
