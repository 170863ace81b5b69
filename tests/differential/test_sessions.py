"""Every answer of the daemon equals a sequential model's, in random pipelines of several clients. With too little memory items
may be missing. memcached answers common commands alike.

About 10 seconds, with MXKV_TEST_LONG=1 twenty minutes; MXKV_TEST_FUZZ_SECONDS says otherwise. The seed is 1 or MXKV_TEST_SEED.
"""

import os
import unittest

import beside
from common import LONG, environment
from differences import NAMES as KNOWN_DIFFERENCES
from runs import BESIDE, NAMES, run

_SECONDS = float(os.environ.get("MXKV_TEST_FUZZ_SECONDS", 1200 if LONG else 8))
_SEED = int(os.environ.get("MXKV_TEST_SEED", 1))
_SESSION_AT_MOST = 20         # seconds; a new one has a new seed, and a daemon without a past


class SessionsTest(unittest.TestCase):
    def test_every_answer_is_that_of_a_sequential_server(self):
        names = [name for name in NAMES if name != BESIDE or environment.MEMCACHED is not None]
        rounds = 1 + int(_SECONDS / len(names) / _SESSION_AT_MOST)
        for number in range(rounds * len(names)):
            name, seed = names[number % len(names)], _SEED + number
            with self.subTest(name, seed=seed):
                outcome = run(name, seed, _SECONDS / rounds / len(names))
                self.assertIsNone(outcome.failure)
                self.assertGreater(outcome.requests, 0)
                self.assertLessEqual(outcome.left_out, {*KNOWN_DIFFERENCES, *beside.DIFFERENCES}, "what is not sent has a name")


if __name__ == "__main__":
    unittest.main()
