"""Imports from tests/integration: raw connections, and servers that are started and stopped."""

import sys
from pathlib import Path

INTEGRATION = Path(__file__).resolve().parents[1] / "integration"
if str(INTEGRATION) not in sys.path:
    sys.path.insert(0, str(INTEGRATION))

from harness import Connection, Options, Server, ServerFailure, environment, free_port, patience  # noqa: E402

__all__ = ["Connection", "Options", "Server", "ServerFailure", "environment", "free_port", "patience"]
