from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

_F = TypeVar("_F")

DEFAULT_TIMEOUT: Final[Any]

def sync_to_async(function: Callable[..., _F], *, thread_sensitive: bool = ...) -> Callable[..., Awaitable[_F]]: ...

class BaseCache:
    default_timeout: float | None
    def __init__(self, params: dict[str, Any]) -> None: ...
    def make_key(self, key: Any, version: int | None = ...) -> str: ...
    def make_and_validate_key(self, key: Any, version: int | None = ...) -> str: ...
