"""The environment variables that steer a run, read once. Nothing here starts or connects to anything.

MXKVD                  path of the daemon under test
MXKV_YCSB              path of the load client
MXKV_CLI               path of the shell and one-shot client
MXKV_TEST_TARGET       "mxkvd" (default), or "memcached": the tests of the shared protocol run against
                       memcached 1.6.18, which shows that the tests themselves are right
MXKV_TEST_SCALE        factor on the amount of work, 1 by default (sanitizer builds: less)
MXKV_TEST_PATIENCE     factor on every timeout, 1 by default (sanitizer builds: more)
MXKV_TEST_SANITIZED    "1": tests do not assert bounds on resident memory, which a sanitizer inflates
MXKV_TEST_LONG         "1": the campaigns run in full, which takes minutes
MXKV_SOAK_S            the duration of each soak in seconds; each part of it then prints its findings
"""

import os
import shutil

TARGET = os.environ.get("MXKV_TEST_TARGET", "mxkvd")
IS_MEMCACHED = TARGET == "memcached"
MXKV_YCSB = os.environ.get("MXKV_YCSB", "mxkv-ycsb")
MXKV_CLI = os.environ.get("MXKV_CLI", "mxkv-cli")
MXKVD = os.environ.get("MXKVD", "mxkvd")
MEMCACHED = shutil.which("memcached")
REDIS = shutil.which("redis-server")
LONG = os.environ.get("MXKV_TEST_LONG", "") == "1"
SOAK_S = float(os.environ.get("MXKV_SOAK_S", "0"))
SANITIZED = os.environ.get("MXKV_TEST_SANITIZED", "") == "1"
LEAST_DEADLINE_S = 120
_SCALE = float(os.environ.get("MXKV_TEST_SCALE", "1"))
_PATIENCE = float(os.environ.get("MXKV_TEST_PATIENCE", "1"))


def preloaded(variable: str) -> str:
    """The library to preload that a variable names; empty: none, as with sanitizers. The dynamic linker only warns of a
    library that is not there, and a test would measure, or wait for, a server without it."""
    library = os.environ.get(variable, "")
    if library and not os.path.exists(library):
        raise FileNotFoundError(f"{library} ({variable}) is not built: build its target, or short_tests")
    return library


def scaled(count: int, least: int = 1) -> int:
    """An amount of work, reduced on slow builds, never below `least`."""
    return max(least, int(count * _SCALE))


def campaign(count: int, least: int = 1, part: int = 4) -> int:
    """The amount of work of a campaign: all of it with MXKV_TEST_LONG, otherwise one `part`th. `least` as in scaled().

    Sanitizer builds shrink the work by MXKV_TEST_SCALE already, so `part` does not apply there.
    """
    return scaled(count if LONG or SANITIZED else count // part, least)


def patience(seconds: float) -> float:
    """A timeout, made longer on slow builds. Only ever an upper bound on waiting.

    A deadline of 10 s or more is raised to LEAST_DEADLINE_S, because a busy machine can stop any process for that long.
    Shorter values are the length of a pause or of a load, so they are only scaled.
    """
    scaled_s = seconds * _PATIENCE
    return scaled_s if seconds < 10 else max(scaled_s, LEAST_DEADLINE_S)
