"""`stats memory` explains its numbers: the test provokes each verdict that it can, and each goes when its cause is gone."""

import unittest

from harness import DaemonCase, mxkv_only, wait_for

_PATIENCE_S = 120


@mxkv_only("its verdicts")
class VerdictTest(DaemonCase):
    def start_with(self, text: str = ""):
        self.write_config(text)
        self.start()
        return self.client(timeout=_PATIENCE_S)

    @staticmethod
    def verdicts(client) -> list:
        stats = client.stats(b"memory")
        return [stats[name] for name in sorted(name for name in stats if name.startswith("verdict:"))]

    def wait_verdict(self, client, expected: str) -> None:
        wait_for(lambda: any(expected in line for line in self.verdicts(client)), expected, _PATIENCE_S)

    @staticmethod
    def fill(client, count: int, size: int, prefix: bytes = b"k") -> None:
        for begin in range(0, count, 500):
            client.send(b"".join(b"set %s%06d 0 0 %d noreply\r\n%s\r\n" % (prefix, i, size, b"x" * size)
                                 for i in range(begin, min(begin + 500, count))) + b"mn\r\n")
            while client.line() != b"MN":
                pass

    def test_an_empty_server_is_well(self):
        client = self.start_with()
        wait_for(lambda: self.verdicts(client) == ["all is well"], "all is well", _PATIENCE_S)
        self.end()

    def test_a_full_one_evicts(self):
        client = self.start_with()
        self.fill(client, 20000, 5000)
        self.wait_verdict(client, "items were evicted so far")
        self.end()

    def test_a_full_one_that_must_not_evict_refuses(self):
        client = self.start_with()
        self.assertEqual(client.ask(b"config set memory.when_full error"), b"OK")
        self.fill(client, 20000, 5000)
        self.wait_verdict(client, "writes were refused (memory.when_full: error)")
        self.end()

    def test_sparse_spans_are_told_until_items_were_moved_together(self):
        client = self.start_with()
        self.assertEqual(client.ask(b"config set memory.evacuation false"), b"OK")
        self.fill(client, 60000, 500)
        for begin in range(0, 60000, 500):
            client.send(b"".join(b"delete k%06d noreply\r\n" % i for i in range(begin, begin + 500) if i % 10) + b"mn\r\n")
            client.line()
        self.wait_verdict(client, "memory.evacuation: true would move items together")
        self.assertEqual(client.ask(b"config set memory.evacuation true"), b"OK")
        wait_for(lambda: self.verdicts(client) == ["all is well"], "items were moved", _PATIENCE_S)
        self.end()


if __name__ == "__main__":
    unittest.main()
