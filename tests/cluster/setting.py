"""Shared by the tests of this folder: the needs of tests/package, the registries of tests/clients, certificates."""

import signal
import sys
import time
import urllib.request  # noqa: F401 - before the harness, whose module http hides the standard library's
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
for folder in ("integration/harness", "package", "clients"):
    if str(TESTS / folder) not in sys.path:
        sys.path.insert(0, str(TESTS / folder))

import machine  # noqa: E402 - the path comes first
from certificates import Authority  # noqa: E402

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exit handlers end processes and remove files


def wait_for(what, text: str, state=lambda: "", seconds: float = 90, progress=lambda: 0):
    """Waits until what() is true; returns its value. Fails when progress() has not grown for `seconds`."""
    end, most = time.monotonic() + seconds, progress()
    while not (found := what()):
        if (now := progress()) > most:
            end, most = time.monotonic() + seconds, now
        if time.monotonic() > end:
            raise AssertionError(f"never came: {text}{state()}")
        time.sleep(0.02)
    return found


__all__ = ["Authority", "ROOT", "TESTS", "machine", "wait_for"]
