"""Two workers, all connections on one of them: the other takes over work, which shows only in `stats runtime`."""

import time

from harness import Options, ServerCase, mxkv_only, patience
from harness.connection import block

_CONNECTIONS = 48
_BATCH = 100
_KEYS = 150


@mxkv_only("stealing")
class StealingTest(ServerCase):
    # Writers of a leaf run in its pool. The window is small, so that a worker with many writers leaves pools to the other.
    options = Options(workers=2, settings=(("experimental.stealing", "machine"), ("experimental.index.leaves", "optimistic_scheduling"),
                                           ("experimental.prefetch.window", "2"), ("server.balance", "off")))

    def counters(self, client, name: str) -> list:
        stats = client.stats(b"runtime")
        return [int(stats[f"worker:{worker}:{name}"]) for worker in range(2)]

    def worker_of(self, client) -> int:
        """The worker that has the connection: reads run where they were spawned."""
        before = self.counters(client, "tasks")
        client.send(b"get absent\r\n" * _BATCH)
        for _ in range(_BATCH):
            self.assertEqual(client.line(), b"END")
        after = self.counters(client, "tasks")
        grown = [new - old for new, old in zip(after, before)]
        self.assertGreaterEqual(max(grown), _BATCH)
        return grown.index(max(grown))

    def write_and_read(self, clients: list, turn: int) -> None:
        """Pipelines on all connections at once, each with keys of its own: the test knows every reply beforehand."""
        expected = [self.send_batch(client, number, turn) for number, client in enumerate(clients)]
        for client, batch in zip(clients, expected):
            for key, value in batch:
                self.assertEqual([client.line() for _ in range(4)],
                                 [b"STORED", b"VALUE %s 0 %d" % (key, len(value)), value, b"END"])

    def send_batch(self, client, number: int, turn: int) -> list:
        keys = [b"c%d-%03d" % (number, (turn * _BATCH + i) % _KEYS) for i in range(_BATCH)]
        values = [b"%d-%d-%d" % (number, turn, i) for i in range(_BATCH)]
        client.send(b"".join(block(b"set", key, value) + b"get %s\r\n" % key for key, value in zip(keys, values)))
        return list(zip(keys, values))

    def test_the_other_worker_takes_over_and_all_replies_are_right(self):
        clients = [self.connect() for _ in range(_CONNECTIONS)]
        workers = [self.worker_of(client) for client in clients]
        self.assertEqual(set(workers), {0, 1}, "connections are spread")
        for client, worker in zip(clients, workers):
            if worker == 1:
                client.close()
        clients = [client for client, worker in zip(clients, workers) if worker == 0]
        before = self.counters(clients[0], "tasks_stolen")
        deadline = time.monotonic() + patience(60)
        turn = 0
        while self.counters(clients[0], "tasks_stolen")[1] == before[1]:
            self.assertLess(time.monotonic(), deadline, clients[0].stats(b"runtime"))
            self.write_and_read(clients, turn)
            turn += 1
        after = self.counters(clients[0], "tasks_stolen")
        self.assertGreater(after[1], before[1])
        # All keys once more, on all connections at the same time.
        for number, client in enumerate(clients):
            client.send(b"".join(b"get c%d-%03d\r\n" % (number, key) for key in range(_KEYS)))
        for client in clients:
            found = 0
            for _ in range(_KEYS):
                line = client.line()
                if line != b"END":
                    found += 1
                    client.line()
                    self.assertEqual(client.line(), b"END")
            self.assertGreaterEqual(found, _BATCH)
