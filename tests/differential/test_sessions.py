"""Every answer of the daemon is that of a sequential model, in random pipelines of several clients; and what memcached knows,
it answers alike.

About 20 seconds, with MXKV_TEST_LONG=1 twenty minutes; MXKV_TEST_FUZZ_SECONDS says otherwise. The seed is 1 or MXKV_TEST_SEED.
"""

import os
import unittest

from common import LONG, SANITIZED, Connection, environment
from differences import NAMES
from fuzzer import PLANS
from runs import run_session

_SECONDS = float(os.environ.get("MXKV_TEST_FUZZ_SECONDS", 1200 if LONG else 18))
_SEED = int(os.environ.get("MXKV_TEST_SEED", 1))


class SessionsTest(unittest.TestCase):
    def test_every_answer_is_that_of_a_sequential_server(self):
        count = len(PLANS) * max(1, int(_SECONDS / 60))
        for number in range(count):
            plan = PLANS[number % len(PLANS)]
            with self.subTest(plan=plan.name, seed=_SEED + number):
                failure, requests = run_session(plan, _SEED + number, 0.8 * _SECONDS / count)
                self.assertIsNone(failure)
                self.assertGreater(requests, 0)


@unittest.skipIf(environment.MEMCACHED is None or SANITIZED, "memcached is not installed, or the daemon is slow")
class BesideMemcachedTest(unittest.TestCase):
    def test_both_answer_as_the_model(self):
        import beside
        ours, theirs = beside.servers()
        self.addCleanup(ours.kill)
        self.addCleanup(theirs.kill)
        left_out, requests = set(), 0
        for seed in range(_SEED, _SEED + max(3, int(_SECONDS / 6))):
            for server in (ours, theirs):
                connection = Connection(server.port)
                connection.ask(b"flush_all")
                connection.close()
            session = beside.BesideSession(seed, ours, theirs)
            for _ in range(25):
                session.round()
            session.close()
            requests += session.requests
            left_out |= {why for client, _, _ in session.pairs for why in client.generator.left_out}
        self.assertGreater(requests, 1000)
        self.assertLessEqual(left_out, {*NAMES, *beside.DIFFERENCES}, "what is not sent has a name")
        ours.stop()
        theirs.stop()


if __name__ == "__main__":
    unittest.main()
