"""One connection with a deep pipeline of reads: an idle worker takes part of them, which shows only in `stats runtime`."""

import random
import time

from harness import Options, OwnServerCase, mxkv_only, patience
from harness.connection import block

_KEYS = 3000
_DEPTH = 512
_TURNS = 40


class OfferCase(OwnServerCase):
    options = Options(workers=2, settings=(("experimental.offer_reads", "idle"),))

    def counters(self, name: str) -> list:
        stats = self.client.stats(b"runtime")
        return [int(stats[f"worker:{worker}:{name}"]) for worker in range(2)]

    @staticmethod
    def value(number: int) -> bytes:
        return b"%d-" % number + b"v" * (number * 7 % 300)

    def setUp(self):
        super().setUp()
        self.random = random.Random(7)
        for begin in range(0, _KEYS, 500):
            self.client.send(b"".join(block(b"set", b"key-%d" % i, self.value(i)) for i in range(begin, begin + 500)))
            for _ in range(500):
                self.assertEqual(self.client.line(), b"STORED")

    def read(self, client, depth: int) -> None:
        """Random keys, some of them absent, by get and by mg: the test knows each reply beforehand."""
        numbers = [self.random.randrange(_KEYS + 200) for _ in range(depth)]
        client.send(b"".join((b"mg key-%d v\r\n" if number % 3 else b"get key-%d\r\n") % number for number in numbers))
        for number in numbers:
            value = self.value(number)
            if number >= _KEYS:
                self.assertEqual(client.line(), b"EN" if number % 3 else b"END")
            elif number % 3:
                self.assertEqual([client.line(), client.line()], [b"VA %d" % len(value), value])
            else:
                self.assertEqual([client.line() for _ in range(3)], [b"VALUE key-%d 0 %d" % (number, len(value)), value, b"END"])


@mxkv_only("workers that offer reads")
class OfferedReadsTest(OfferCase):
    def test_the_other_worker_takes_part_of_one_connections_pipeline(self):
        client = self.connect()
        deadline = time.monotonic() + patience(60)
        tasks = self.counters("tasks")
        hits = int(self.client.stats()["get_hits"])
        while True:
            for _ in range(_TURNS):
                self.read(client, _DEPTH)
            if max(self.counters("taken_reads")) >= 2 * _DEPTH:
                break
            self.assertLess(time.monotonic(), deadline, self.client.stats(b"runtime"))
        offered, taken = self.counters("offered_reads"), self.counters("taken_reads")
        home = offered.index(max(offered))
        self.assertEqual(offered[1 - home], 0, "one connection has one worker")
        self.assertEqual(taken[home], 0, "its own are not taken of another")
        self.assertLessEqual(taken[1 - home], offered[home])
        grown = [new - old for new, old in zip(self.counters("tasks"), tasks)]
        self.assertGreaterEqual(grown[1 - home], taken[1 - home] // 32, "a task for each row")
        self.assertGreater(int(self.client.stats()["get_hits"]), hits)

    def test_a_shallow_pipeline_is_not_offered(self):
        client = self.connect()
        before = self.counters("offered_reads")
        for _ in range(_TURNS):
            self.read(client, 32)
        self.assertEqual(self.counters("offered_reads"), before)

    def test_writes_among_the_reads_take_effect_in_their_order(self):
        client = self.connect()
        for turn in range(_TURNS):
            client.send(b"get key-1\r\n" * _DEPTH + block(b"set", b"own", b"%d" % turn) + b"get own\r\n" * _DEPTH)
            for _ in range(_DEPTH):
                self.assertEqual([client.line() for _ in range(3)][1], self.value(1))
            self.assertEqual(client.line(), b"STORED")
            for _ in range(_DEPTH):
                self.assertEqual([client.line() for _ in range(3)][1], b"%d" % turn)

    def test_a_client_that_goes_amid_its_reads_harms_nobody(self):
        for _ in range(_TURNS):
            client = self.connect()
            client.send(b"get key-%d\r\n" % self.random.randrange(_KEYS) * _DEPTH)
            client.close()
        self.read(self.client, _DEPTH)

    def test_values_of_all_kinds(self):
        client = self.connect()
        large = b"l" * 100_000
        self.client.set(b"large", large)
        self.client.set(b"flagged", b"abc", flags=9)
        for _ in range(4):
            client.send((b"get large\r\n" + b"get key-2\r\n" * 60 + b"get flagged\r\n" * 3) * 6)
            for _ in range(6):
                self.assertEqual([client.line() for _ in range(3)][1], large)
                for _ in range(60):
                    self.assertEqual([client.line() for _ in range(3)][1], self.value(2))
                for _ in range(3):
                    self.assertEqual([client.line() for _ in range(3)], [b"VALUE flagged 9 3", b"abc", b"END"])


@mxkv_only("workers that offer reads")
class NoOfferTest(OfferCase):
    options = Options(workers=2, settings=(("experimental.offer_reads", "off"),))

    def test_without_the_switch_one_worker_reads_all(self):
        client = self.connect()
        for _ in range(_TURNS // 4):
            self.read(client, _DEPTH)
        self.assertEqual(self.counters("offered_reads"), [0, 0])
        self.assertEqual(self.counters("taken_reads"), [0, 0])
