"""The store's own upkeep is deferred work that any worker may take: scans of checkpoints, and sweeps."""

import time

from durable_case import DurableCase
from harness import Options, OwnServerCase, mxkv_only, patience, wait_for
from harness.connection import Connection, block


def taken(client) -> list:
    """Deferred tasks that each of two workers took."""
    stats = client.stats(b"runtime")
    return [int(stats[f"worker:{worker}:deferred_group"]) + int(stats[f"worker:{worker}:deferred_far"])
            for worker in range(2)]


class SharedCheckpointTest(DurableCase):
    more = "  checkpoint: {every: 1s, rate: unlimited}\n"

    def test_both_workers_scan_for_checkpoints(self):
        client = Connection(self.begin(), timeout=60)
        self.addCleanup(client.close)
        deadline = time.monotonic() + patience(60)
        value = b"v" * 500
        while not all(taken(client)):
            self.assertLess(time.monotonic(), deadline, f"one worker did it all: {taken(client)}")
            for begin in range(0, 10_000, 500):
                client.send(b"".join(block(b"set", b"c%06d" % i, value) for i in range(begin, begin + 500)))
                for _ in range(500):
                    self.assertEqual(client.line(), b"STORED")
            done = int(client.stats(b"durability")["checkpoints"])
            wait_for(lambda done=done: int(client.stats(b"durability")["checkpoints"]) > done, "a checkpoint", 30)


@mxkv_only("sweeps of its own")
class SharedSweepTest(OwnServerCase):
    options = Options(workers=2, settings=(("server.debug_time", "true"),))

    def test_a_sweep_is_a_request_of_deferred_tasks(self):
        keys = 2000
        for begin in range(0, keys, 500):
            self.client.send(b"".join(block(b"set", b"e%06d" % i, b"v", exptime=30) for i in range(begin, begin + 500)))
            for _ in range(500):
                self.assertEqual(self.client.line(), b"STORED")
        self.assertEqual(taken(self.client), [0, 0])
        self.assertEqual(self.client.ask(b"debugtime 100"), b"OK")
        wait_for(lambda: int(self.client.stats()["crawler_reclaimed"]) == keys, "a sweep", 30)
        self.assertGreaterEqual(sum(taken(self.client)), 1)
