"""Imports from other tests: the server under test of tests/integration, the needs of tests/package."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
for folder in ("integration", "package"):
    if str(TESTS / folder) not in sys.path:
        sys.path.insert(0, str(TESTS / folder))

import machine  # noqa: E402 - the path comes first
from harness import DaemonCase, Options, ServerCase, free_port, patience, wait_for  # noqa: E402
from harness.proxy import Proxy  # noqa: E402
from harness.tls import GuardedCase  # noqa: E402

LARGE = bytes(range(256)) * 3900  # just below the default limit of a value, 1 MiB


class LibraryCase(ServerCase, GuardedCase):
    """For clients that log in or speak TLS: an open server, a proxy to it that cuts connections, and a guarded server."""

    def ways(self) -> dict:
        """The addresses of all servers as environment variables, for tests in other languages."""
        cut = Proxy(self.server.port, every=20011)
        self.addCleanup(cut.close)
        guarded = {f"MXKV_{name.upper()}_PORT": port for name, port in self.guard().items()}
        found = {"MXKV_PORT": self.server.port, "MXKV_CUT_PORT": cut.port, "MXKV_CERTIFICATES": self.directory, **guarded}
        return {name: str(value) for name, value in found.items()}


__all__ = ["DaemonCase", "GuardedCase", "LARGE", "LibraryCase", "Options", "ServerCase", "TESTS", "free_port", "machine", "patience", "wait_for"]
