"""One session from its start to the judgement of its daemon, and what is told of one that failed."""

from client import Failure
from common import Server, ServerFailure
from fuzzer import UNASKED, Session
from shrink import shrink


def run_session(plan, seed: int, seconds: float, excluded=UNASKED) -> tuple:
    """(what failed, or None; number of requests)."""
    server = Server(plan.options()).start()
    session = None
    try:
        session = Session(plan, seed, server, excluded)
        session.run(seconds)
        session.close()
        server.stop()
        return None, session.requests
    except (Failure, ServerFailure, TimeoutError, ConnectionError) as failure:
        log = server.log() if server.process is not None else ""
        rounds = session.rounds if session else 0
        text = (f"seed {seed}, plan {plan.name!r}, round {rounds}\n{failure}\n"
                + "\n".join(line for line in log.splitlines()[-8:] if " info " not in line))
        if isinstance(failure, Failure) and session:
            text += "\n" + shrink(plan, failure)
        return text, session.requests if session else 0
    finally:
        if session:
            session.close()
        server.kill()
