"""The hot path allocates nothing from the system: no malloc and no operator new in a million GETs and SETs."""

import os
import struct
import tempfile
import unittest

from harness import Options, ServerCase, mxkv_only
from harness.connection import block
from harness.environment import SANITIZED, preloaded

_COUNTER = preloaded("MXKV_MALLOC_COUNTER")
_KEYS = 5000
_PIPELINE = 64


@unittest.skipIf(SANITIZED or not _COUNTER, "sanitizers bring an allocator of their own")
@mxkv_only("memcached is not ours to count")
class ZeroMallocTest(ServerCase):
    # On a busy machine some requests are slow. The main thread, which logs them, may allocate.
    options = Options(workers=1, settings=(("stats.slow", "off"),))

    @classmethod
    def setUpClass(cls) -> None:
        cls.counts = tempfile.NamedTemporaryFile()
        cls.counts.write(struct.pack("Q", 0))
        cls.counts.flush()
        os.environ["LD_PRELOAD"] = _COUNTER
        os.environ["MALLOC_COUNT_FILE"] = cls.counts.name
        try:
            super().setUpClass()
        finally:
            del os.environ["LD_PRELOAD"], os.environ["MALLOC_COUNT_FILE"]

    def calls(self) -> int:
        with open(self.counts.name, "rb") as file:
            return struct.unpack("Q", file.read(8))[0]

    def run_requests(self, client, requests: int) -> None:
        value = b"v" * 100
        batches = []
        for first in range(0, _KEYS, _PIPELINE):
            keys = [b"key-of-some-length-%06d" % ((first + i) % _KEYS) for i in range(_PIPELINE)]
            sets = b"".join(block(b"set", key, value) for key in keys)
            gets = b"".join(b"get " + key + b"\r\n" for key in keys)
            reply = _PIPELINE * len(b"STORED\r\n") + sum(len(b"VALUE  0 100\r\n\r\nEND\r\n") + len(key) + 100 for key in keys)
            batches.append((sets + gets, reply))
        for number in range(requests // (2 * _PIPELINE) + 1):
            request, expected = batches[number % len(batches)]
            client.send(request)
            client.exactly(expected)

    def test_a_million_requests_after_warm_up_call_malloc_not_once(self):
        client = self.connect()
        self.run_requests(client, 200_000)
        before = self.calls()
        self.assertGreater(before, 0, "the counter counts")
        self.run_requests(client, 1_000_000)
        self.assertEqual(self.calls() - before, 0, "calls of malloc and operator new")


if __name__ == "__main__":
    unittest.main()
