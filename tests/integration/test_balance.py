"""Connections move from a busy worker to a less busy one, and their clients do not notice."""

import collections
import random
import tempfile
import time

from harness import LONG, Options, OwnServerCase, mxkv_only, scaled, wait_for
from harness.connection import block
from harness.environment import SANITIZED

_PATIENCE_S = 120
_EIGHT_WINDOWS_S = 2  # at least: a worker gives connections away once in several windows
_OPENED = 16
_ABSENT = b"get " + b" ".join(b"absent-%02d" % i for i in range(80)) + b"\r\n"
_ASKS = 15
_SHORT = "50ms" if SANITIZED else "4ms"  # a window that is short, but longer than a round


class BalanceCase(OwnServerCase):
    def workers_of(self, clients: list) -> list:
        stats = self.client.stats(b"conns")
        by_address = {text: name.split(":")[0] for name, text in stats.items() if name.endswith(":addr")}
        return [int(stats[f"{by_address['tcp:%s:%d' % client.socket.getsockname()]}:worker"]) for client in clients]

    def tasks(self) -> list:
        stats = self.client.stats(b"runtime")
        return [int(stats[f"worker:{worker}:tasks"]) for worker in range(2)]

    def moved(self) -> int:
        return int(self.client.stats()["connections_moved"])

    def all_on_worker_0(self) -> list:
        clients = [self.connect(timeout=_PATIENCE_S) for _ in range(_OPENED)]
        for client in clients:
            client.ask(b"version")
        workers = self.workers_of(clients)
        # A new connection goes to the worker with fewer connections.
        self.assertGreaterEqual(min(workers.count(0), workers.count(1)), _OPENED // 4, workers)
        for client, worker in zip(clients, workers):
            if worker == 1:
                client.close()
        return [client for client, worker in zip(clients, workers) if worker == 0]

    def load(self, clients: list, turn: int) -> None:
        """A pipeline on each connection at once: writes and reads back own numbers, and makes the server look up many keys."""
        for number, client in enumerate(clients):
            client.send(b"".join(block(b"set", b"own-%d" % number, b"%d-%d" % (turn, i)) + b"get own-%d\r\n" % number + _ABSENT
                                 for i in range(_ASKS)))
        for number, client in enumerate(clients):
            for i in range(_ASKS):
                value = b"%d-%d" % (turn, i)
                self.assertEqual([client.line() for _ in range(5)],
                                 [b"STORED", b"VALUE own-%d 0 %d" % (number, len(value)), value, b"END", b"END"])

    def load_turns(self, clients: list, turns: int) -> list:
        """Runs so many loads; returns the tasks of each worker meanwhile."""
        before = self.tasks()
        for turn in range(turns):
            self.load(clients, turn)
        return [new - old for new, old in zip(self.tasks(), before)]


@mxkv_only("workers that balance their connections")
class BalanceTest(BalanceCase):
    options = Options(workers=2)

    def test_all_connections_of_one_worker_become_half_of_them(self):
        clients = self.all_on_worker_0()

        def balanced() -> bool:
            done = self.load_turns(clients, 10)
            workers = self.workers_of(clients)
            # On a busy machine a worker may get less of a processor, and keep fewer connections.
            return min(done) >= 0.25 * sum(done) and min(workers.count(0), workers.count(1)) >= len(clients) // 4
        wait_for(balanced, "each worker does a good part of the work", _PATIENCE_S)
        self.assertGreater(self.moved(), 0)
        wait_for(lambda: int(self.client.stats()["curr_connections"]) == len(clients) + 1, "the others are gone", _PATIENCE_S)

    def test_where_all_have_as_much_to_do_nothing_moves_for_long(self):
        clients = [self.connect(timeout=_PATIENCE_S) for _ in range(8)]

        def rests() -> bool:
            before, end = self.moved(), time.monotonic() + _EIGHT_WINDOWS_S
            while time.monotonic() < end:
                self.load_turns(clients, 10)
            return self.moved() - before <= 4
        # On a busy machine workers do differ, and moves for that reason are right. A balancer that oscillates never rests.
        wait_for(rests, "few connections move", _PATIENCE_S)


@mxkv_only("workers that balance their connections")
class NoBalanceTest(BalanceCase):
    # A running balancer would have many windows in which to move connections.
    options = Options(workers=2, settings=(("server.balance", "off"), ("experimental.balance_window", "10ms")))

    def test_connections_stay_where_they_came_to(self):
        clients = self.all_on_worker_0()
        done = self.load_turns(clients, 200 if LONG else 60)
        print(f"tasks of each worker, all connections at the first: {done}", flush=True)
        self.assertEqual(self.moved(), 0)
        self.assertEqual(set(self.workers_of(clients)), {0})


class Conversation:
    """One client's requests and the expected replies. A write ends anywhere: in a line, a value or a batch."""

    def __init__(self, client, number: int):
        self.client, self.number = client, number
        self.random = random.Random(number)
        self.sequence = 0
        self.unsent = b""
        self.expected = collections.deque()

    def ask(self) -> None:
        requests, reply = b"", b""
        for _ in range(_ASKS):
            self.sequence += 1
            key = b"c%d-%d" % (self.number, self.sequence % 7)
            value = b"%d." % self.sequence + b"x" * self.random.choice((0, 10, 300, 5000))
            requests += block(b"set", key, value) + b"get %s\r\n" % key + _ABSENT
            reply += b"STORED\r\nVALUE %s 0 %d\r\n%s\r\nEND\r\nEND\r\n" % (key, len(value), value)
            kind = self.random.randrange(4)
            if kind == 0:
                requests += block(b"set", key, b"%d" % self.sequence, tail=b"noreply") + b"incr %s 5 noreply\r\n" % key
                requests += b"incr %s 1\r\n" % key
                reply += b"%d\r\n" % (self.sequence + 6)
            elif kind == 1:
                requests += b"mb 2\r\nms %s 3\r\nabc\r\nmg %s v\r\n" % (key, key)
                reply += b"HD\r\nVA 3\r\nabc\r\nHD\r\n"
            elif kind == 2:
                requests += b"mg %s v O%d\r\nmn\r\n" % (key, self.sequence)
                reply += b"VA %d O%d\r\n%s\r\nMN\r\n" % (len(value), self.sequence, value)
        cut = self.random.randrange(min(200, len(requests)))
        self.client.send(self.unsent + requests[:len(requests) - cut])
        self.unsent = requests[len(requests) - cut:]
        self.expected.append(reply)

    def hear(self, left: int) -> None:
        while len(self.expected) > left:
            reply = self.expected.popleft()
            got = self.client.exactly(len(reply))
            assert got == reply, f"client {self.number}: {got[:300]!r} in place of {reply[:300]!r}"

    def end(self) -> None:
        self.client.send(self.unsent)
        self.unsent = b""
        self.hear(0)


@mxkv_only("workers that balance their connections")
class RestlessTest(BalanceCase):
    """Loads that change sides all the time, and windows so short that connections follow at once."""
    options = Options(workers=2, settings=(("experimental.balance_window", _SHORT),))
    wanted = 60 if LONG else 20

    def test_replies_are_right_and_in_order_through_many_moves(self):
        talks = [Conversation(self.connect(timeout=_PATIENCE_S), number) for number in range(12)]
        watcher = self.connect()
        self.assertEqual(watcher.ask(b"watch deletions"), b"OK")
        wanted = scaled(self.wanted, 10)

        def enough_moved() -> bool:
            workers = self.workers_of([talk.client for talk in talks])
            side = max((0, 1), key=workers.count)
            loaded = [talk for talk, worker in zip(talks, workers) if worker == side]
            for _ in range(scaled(20, 4)):
                for talk in loaded:
                    talk.ask()
                for talk in loaded:
                    talk.hear(1)
            return self.moved() >= wanted
        wait_for(enough_moved, f"{wanted} moves", _PATIENCE_S)
        for talk in talks:
            talk.end()
        self.assertEqual(int(self.client.stats()["curr_connections"]), len(talks) + 2)
        self.assertEqual(len(self.workers_of([talk.client for talk in talks])), len(talks))
        self.client.set(b"gone", b"1")
        self.client.ask(b"delete gone")
        told = b""
        while not told.endswith(b"\n"):
            told += watcher.exactly(1)
        self.assertIn(b"gone", told)
        for talk in talks:
            talk.ask()  # the server gets SIGTERM while these are under way


@mxkv_only("workers that balance their connections")
class RestlessDurableTest(RestlessTest):
    """The same if replies wait for the disk."""
    wanted = 20 if LONG else 10

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.options = Options(workers=2, settings=(("experimental.balance_window", _SHORT),
                                                    ("durability.directory", f"{directory.name}/data"),
                                                    ("durability.sync", "commit")))
        super().setUp()
