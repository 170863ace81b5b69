"""Shared by all integration tests: the server under test, raw connections, and the base case."""

from .case import OwnServerCase, ServerCase, mxkv_only
from .connection import Connection, Closed
from .daemon import DaemonCase, pause, wait_for
from . import environment
from .environment import IS_MEMCACHED, LONG, SANITIZED, campaign, patience, scaled
from .notify import NotifySocket
from .program_run import ProgramRun
from .server import Options, Server, ServerFailure, free_port
from .threads import Threads
from .wall_clock import WallClock

__all__ = [
    "Closed", "Connection", "DaemonCase", "IS_MEMCACHED", "LONG", "NotifySocket", "Options", "OwnServerCase", "ProgramRun", "SANITIZED",
    "Server", "ServerCase", "ServerFailure", "Threads", "WallClock", "campaign", "environment", "free_port", "mxkv_only", "patience",
    "pause", "scaled", "wait_for",
]
