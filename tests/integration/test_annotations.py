"""A task's annotations decide where, when and how it runs: each effect shows in the counters of `stats runtime`."""

import random
import socket
import threading

from harness import Options, ServerCase, mxkv_only
from harness.connection import block
from harness.daemon import wait_for

_KEYS = 4000


def counts(client, name: str) -> list:
    stats = client.stats(b"runtime")
    return [int(stats[f"worker:{worker}:{name}"]) for worker in range(2)]


def load(client) -> None:
    """Loads all keys over one connection, so that one worker makes all nodes."""
    client.send(b"".join(block(b"set", b"a%05d" % i, b"0") for i in range(_KEYS)))
    for _ in range(_KEYS):
        assert client.line() == b"STORED"


class Writers:
    """Threads that all write to the same few keys, over connections of their own, in long pipelines."""

    def __init__(self, case, keys: list, writers: int = 4, depth: int = 1000):
        self.port = case.server.port
        chance = random.Random(1)
        self.bursts = [b"".join(block(b"set", chance.choice(keys), b"%07d" % i) for i in range(depth)) for _ in range(writers)]
        self.depth = depth
        self.wrong = []

    def turn(self) -> None:
        threads = [threading.Thread(target=self.one, args=(burst,)) for burst in self.bursts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def one(self, burst: bytes) -> None:
        expected = b"STORED\r\n" * self.depth
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            for _ in range(10):
                client.sendall(burst)
                got = b""
                while len(got) < len(expected) and (part := client.recv(1 << 16)):
                    got += part
                if got != expected:
                    self.wrong.append(got[:100])
                    return


@mxkv_only("primitives of nodes")
class PrimitiveTest(ServerCase):
    options = Options(workers=2, settings=(("server.balance", "off"),))

    def test_reads_alone_meet_no_writer_and_no_pool(self):
        client = self.connect()
        load(client)
        wait_for(lambda: not self.grew(client), "rest")
        before = [counts(client, name) for name in ("conflicts", "bound")]
        client.send(b"".join(b"get a%05d\r\n" % (i % _KEYS) for i in range(10_000)))
        for _ in range(10_000):
            self.assertEqual(len(client.records()), 1)
        self.assertEqual([counts(client, name) for name in ("conflicts", "bound")], before)

    @staticmethod
    def grew(client) -> bool:
        return counts(client, "conflicts") != counts(client, "conflicts")


@mxkv_only("priorities")
class PriorityTest(ServerCase):
    options = Options(workers=2, settings=(("experimental.epoch.interval", "5ms"), ("server.balance", "off")))

    def test_separators_are_urgent_and_reclamation_waits(self):
        client = self.connect()
        before = {name: sum(counts(client, name)) for name in ("urgent", "low")}
        load(client)
        after = {name: sum(counts(client, name)) for name in before}
        self.assertGreater(after["urgent"] - before["urgent"], _KEYS / 100, "leaves split")
        writers = Writers(self, [b"a%05d" % i for i in range(_KEYS)], writers=2)
        writers.turn()
        self.assertEqual(writers.wrong, [])
        wait_for(lambda: sum(counts(client, "reclaims")) > 0, "what was replaced is freed")
        self.assertGreater(sum(counts(client, "low")), after["low"], "by tasks of low priority")
