"""If a process may not have enough address space, it prints how much it needs, for what, and what to do."""

import resource
import unittest

from harness import DaemonCase, SANITIZED, mxkv_only

_GIB = 1 << 30


@mxkv_only("reserves address space")
@unittest.skipIf(SANITIZED, "a sanitizer needs far more")
class AddressSpaceTest(DaemonCase):
    @staticmethod
    def limited_to(gib: int):
        return lambda: resource.setrlimit(resource.RLIMIT_AS, (gib * _GIB, gib * _GIB))

    def test_too_little_is_refused_with_what_is_needed(self):
        code, error = self.run_to_end(preexec_fn=self.limited_to(4))
        self.assertEqual(code, 1)
        last = error.splitlines()[-1]
        self.assertRegex(last, r"^mxkvd: at least [4-9](\.\d)?GiB of address space are needed, but this process may have 4GiB ")
        for part in ("RLIMIT_AS", "reserved for tasks", "each for items and tree", "ulimit -v", "LimitAS="):
            self.assertIn(part, last)

    def test_enough_is_enough(self):
        self.start(preexec_fn=self.limited_to(8))
        self.assertEqual(self.client().set(b"k", b"v"), b"STORED")
        self.end()
