"""The binary protocol beside memcached's own, for a while; by hand for as long as one likes: ./test_binary.py SECONDS [SEED]"""

import shutil
import sys
import time
import unittest

from binary_beside import Mismatch, Pair
from harness import LONG, environment
from harness.binary import SET, store

_LEAST_REQUESTS = 1000


def run(seconds: float, seed: int) -> int:
    """Runs for so many seconds, and at least _LEAST_REQUESTS. Returns the number of requests."""
    pair, end = Pair(seed), time.monotonic() + seconds
    try:
        while time.monotonic() < end or pair.requests < _LEAST_REQUESTS:
            pair.round()
    finally:
        pair.close()
    return pair.requests


@unittest.skipIf(shutil.which(environment.MEMCACHED or "memcached") is None, "memcached is not installed")
class BinaryBesideTest(unittest.TestCase):
    def test_every_answer_is_memcacheds(self):
        for seed in range(1, 4):
            run(300 if LONG else 1.5, seed)

    def test_another_answer_would_be_found(self):
        pair = Pair(1)
        self.addCleanup(pair.close)
        with self.assertRaises(Mismatch):
            for _ in range(100):
                for side, value in zip(pair.sides, (b"one", b"two")):
                    side.client.until_noop(b"".join(store(SET, b"t%d" % number, value) for number in range(8)))
                pair.round()


if __name__ == "__main__":
    print(f"{run(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)} requests")
