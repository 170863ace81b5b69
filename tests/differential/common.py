"""Imports from other tests: the server under test and the raw connections of tests/integration."""

import sys
from pathlib import Path

INTEGRATION = Path(__file__).resolve().parents[1] / "integration"
if str(INTEGRATION) not in sys.path:
    sys.path.insert(0, str(INTEGRATION))

from harness import Closed, Connection, LONG, Options, Server, ServerFailure, environment, patience  # noqa: E402

__all__ = ["Closed", "Connection", "LONG", "Options", "Server", "ServerFailure", "environment", "patience"]
