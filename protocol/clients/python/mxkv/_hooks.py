"""A hook sees each request: a context manager around it, with its retries. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Optional

# Called with the command's word, such as "get" or "mr", and the server's name, such as "localhost:11211".
Hook = Callable[[str, str], AbstractContextManager[object]]


def around(hook: Optional[Hook], command: bytes, server: str) -> AbstractContextManager[object]:
    return nullcontext() if hook is None else hook(command.decode(), server)
