"""One session from its start to the check of its daemon, and the report of a failed session.

run(name, seed, seconds) is for all kinds of sessions: the plans of fuzzer.py by their names, EVICTING, and BESIDE.
"""

import contextlib
import time

import beside
import evicting
from client import Failure
from common import Server, ServerFailure
from fuzzer import PLANS, UNASKED, Session
from shrink import shrink

EVICTING = "evicting"
BESIDE = "beside memcached"
NAMES = [plan.name for plan in PLANS] + [EVICTING, BESIDE]
_FAILURES = (Failure, ServerFailure, TimeoutError, ConnectionError)


class Outcome:
    """`failure`: its report, or None; `log`: errors that the daemon logged; `left_out`: names of differences met."""

    def __init__(self):
        self.failure, self.requests, self.log, self.left_out = None, 0, [], set()


def run(name: str, seed: int, seconds: float, excluded=UNASKED) -> Outcome:
    plan = next((plan for plan in PLANS if plan.name == name), None)
    outcome = Outcome()
    with contextlib.ExitStack() as cleanup:
        try:
            if plan is not None:
                _run_plan(plan, seed, seconds, excluded, outcome, cleanup)
            else:
                (_run_evicting if name == EVICTING else _run_beside)(seed, seconds, outcome, cleanup)
        except _FAILURES as failure:
            outcome.failure = f"seed {seed}, {name!r}\n{failure}"
            if plan is not None and isinstance(failure, Failure):
                outcome.failure += "\n" + shrink(plan, failure)
    return outcome


def _start(server: Server, outcome: Outcome, cleanup) -> Server:
    cleanup.callback(server.kill)
    cleanup.callback(lambda: server.process and _keep_errors(server, outcome))
    return server


def _keep_errors(server: Server, outcome: Outcome) -> None:
    outcome.log += [line for line in server.log().splitlines() if " error " in line]


def _stop(server: Server, outcome: Outcome) -> None:
    _keep_errors(server, outcome)
    server.stop()


def _run_plan(plan, seed, seconds, excluded, outcome, cleanup) -> None:
    server = _start(Server(plan.options()).start(), outcome, cleanup)
    session = Session(plan, seed, server, excluded)
    cleanup.callback(session.close)
    try:
        session.run(seconds)
    finally:
        outcome.requests = session.requests
    session.close()
    _stop(server, outcome)


def _run_evicting(seed, seconds, outcome, cleanup) -> None:
    server = _start(evicting.small_server(), outcome, cleanup)
    _rounds(evicting.EvictingSession(seed, server), seconds, outcome, cleanup)
    _stop(server, outcome)


def _run_beside(seed, seconds, outcome, cleanup) -> None:
    ours, theirs = (_start(server, outcome, cleanup) for server in beside.servers())
    session = beside.BesideSession(seed, ours, theirs)
    try:
        _rounds(session, seconds, outcome, cleanup)
    except Failure as failure:
        if not failure.closed or failure.client.port != theirs.port:
            raise
        outcome.log.append("memcached ended a connection")  # 1.6.18 does so at times, for no reason that its log tells
    outcome.left_out = {why for client, _, _ in session.pairs for why in client.generator.left_out}
    _stop(ours, outcome)


def _rounds(session, seconds, outcome, cleanup) -> None:
    cleanup.callback(session.close)
    end = time.monotonic() + seconds
    try:
        while session.requests == 0 or time.monotonic() < end:
            session.round()
    finally:
        outcome.requests = session.requests
