"""What these tests share with others: the server under test of tests/integration, the needs of tests/package."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
for folder in ("integration", "package"):
    if str(TESTS / folder) not in sys.path:
        sys.path.insert(0, str(TESTS / folder))

import machine  # noqa: E402 - the path comes first
from harness import Options, ServerCase, free_port, patience, wait_for  # noqa: E402

LARGE = bytes(range(256)) * 3900  # just below the default limit of a value, 1 MiB

__all__ = ["LARGE", "Options", "ServerCase", "TESTS", "free_port", "machine", "patience", "wait_for"]
