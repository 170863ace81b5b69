"""Makes a failure smaller: sends the requests of the client that found it, alone, and leaves out more and more of them as long
as an answer is wrong. Fails if the failure needs other clients, or luck.
"""

import time

from client import Client, Failure, run_all
from common import Server
from fuzzer import Session
from model import Store

_TRIES = 3                    # a smaller pipeline counts as right after so many
_AT_ONCE = 500                # earlier requests in one pipeline
_MOST_LINES = 120


class _Bench:
    def __init__(self, plan, client, number: int):
        self.plan, self.client = plan, client
        self.server = Server(plan.options()).start()
        self.session = Session(plan, 0, self.server)
        self.before = [op for op, _ in client.history]
        self.ops = client.ops[:number + 1]

    def close(self) -> None:
        self.session.close()
        self.server.kill()

    def fails(self, before, ops) -> bool:
        for _ in range(_TRIES):
            self.session.ask(b"flush_all")
            like = self.client.generator.store
            store = Store(self.plan.model_limits(), self.session.now)
            store.ticks, store.any_uniques, store.any_reads = self.plan.ticks, like.any_uniques, like.any_reads
            client = Client(self.server.port, None, "again")
            try:
                for part in [*(before[at:at + _AT_ONCE] for at in range(0, len(before), _AT_ONCE)), ops]:
                    client.set_plan(list(part), [op.expect(store) for op in part])
                    run_all([client])
                    client.check()
            except Failure:
                return True
            finally:
                client.close()
        return False


def _fewer(things: list, fails, end: float) -> list:
    """Leaves out halves, quarters, and so on, as long as the rest fails."""
    size = max(1, len(things) // 2)
    while size >= 1 and things:
        at = 0
        while at < len(things) and time.monotonic() < end:
            rest = things[:at] + things[at + size:]
            if fails(rest):
                things = rest
            else:
                at += size
        if size == 1 or time.monotonic() >= end:
            break
        size //= 2
    return things


def shrink(plan, failure: Failure, seconds: float = 30) -> str:
    """The remaining requests, as text; empty if the failure does not occur again."""
    client = failure.client
    if client is None or client.generator is None or failure.number < 0:
        return ""
    bench, begin = _Bench(plan, client, failure.number), time.monotonic()
    try:
        before, ops = bench.before, bench.ops
        if not bench.fails(before, ops):
            return "it does not fail again alone"
        before = _fewer(before, lambda rest: bench.fails(rest, ops), begin + seconds / 2)
        ops = _fewer(ops, lambda rest: bench.fails(before, rest), begin + seconds)
        lines = [f"fails alone with {len(before)} requests, and these {len(ops)} behind them:"]
        return "\n".join(lines + [f"  {op.wire[:200]!r}" for op in [*before[-_MOST_LINES:], *ops]][-_MOST_LINES:])
    except (Failure, OSError) as error:
        return f"not made smaller: {error!r}"
    finally:
        bench.close()
