"""Both workers run parts of large ranges: the answers are the same as from one worker, and counters show the division."""

import random
import threading
import time

from harness import Options, OwnServerCase, Server, Threads, campaign, mxkv_only, patience, scaled, wait_for
from harness.connection import Connection, block
from meta_ranges import MetaCase, ask_flags, encoded
from scanning import UNHURRIED

_KEYS = campaign(60_000, 20_000)
_LIMIT = _KEYS - 5000


class DividedCase(MetaCase):
    options = Options(workers=2, settings=(UNHURRIED, ("limits.locked_items", str(_LIMIT))))

    def setUp(self):
        super().setUp()
        self.model = {b"k%07d" % (7 * i): b"%d" % i for i in range(_KEYS)}
        self.load(self.client, self.model.items())

    def taken(self) -> list:
        """The number of deferred tasks that each worker took."""
        stats = self.client.stats(b"runtime")
        return [int(stats[f"worker:{worker}:deferred_group"]) + int(stats[f"worker:{worker}:deferred_far"])
                for worker in range(2)]

    def until_both_carry(self, operation) -> None:
        """Repeats the operation until both workers had a turn, because on a busy machine one of them may get none."""
        deadline = time.monotonic() + patience(60)
        while True:
            before = self.taken()
            operation()
            grown = [after - old for after, old in zip(self.taken(), before)]
            self.assertGreaterEqual(sum(grown), 2, "it was not divided")
            if all(grown):
                return
            self.assertLess(time.monotonic(), deadline, f"one worker did it all: {grown}")

    def start_writers(self, writers: int, others: int) -> Threads:
        """Starts clients that set and delete keys between, below and above the model's keys."""
        threads = Threads(self.server.port)

        def write(client, number):
            chance = random.Random(number)
            while not threads.stop.is_set():
                keys = [b"%s%05d" % (chance.choice((b"j", b"k0000", b"l")), chance.randrange(others)) for _ in range(100)]
                keys = [key for key in keys if key not in self.model]
                client.send(b"".join(block(b"set", key, b"12") if chance.random() < 0.6 else b"delete %s\r\n" % key
                                     for key in keys))
                for _ in keys:
                    client.line()

        threads.start(write, writers)
        return threads

    def expected(self, low: bytes, high: bytes) -> tuple:
        found = [(key, value) for key, value in self.model.items() if low <= key < high]
        return len(found), sum(len(key) + len(value) for key, value in found)


@mxkv_only("mc")
class DividedCountTest(DividedCase):
    def count(self, client, command: bytes) -> tuple:
        flags = ask_flags(client, command)
        return int(flags[b"A"]), int(flags[b"B"])

    def test_both_workers_count(self):
        wanted = self.expected(b"", b"l")
        self.until_both_carry(lambda: self.assertEqual(self.count(self.client, b"mc - e"), wanted))

    def test_a_small_range_stays_one_task(self):
        before = self.taken()
        self.assertEqual(self.count(self.client, b"mc k0000 p e"), self.expected(b"k0000", b"k0001"))
        self.assertEqual(self.taken(), before)

    def test_answers_are_those_of_one_worker(self):
        binary = {b"\x00b" + bytes([i % 256, i // 256, i % 7]): b"7" for i in range(_KEYS // 8)}
        self.store_binary(binary.items())
        alone = Server(Options(workers=1, settings=self.options.settings)).start()
        self.addCleanup(alone.stop)
        other = Connection(alone.port, timeout=60)
        self.addCleanup(other.close)
        self.load(other, self.model.items())
        for begin in range(0, len(binary), 1000):
            part = list(binary.items())[begin:begin + 1000]
            other.send(b"".join(b"ms %s %d b\r\n%s\r\n" % (encoded(key), len(value), value) for key, value in part))
            for key, _ in part:
                self.assertEqual(other.line(), b"HD", key)
        chance = random.Random(5)
        commands = [b"mc - e Msnx", b"mc - Msnx", b"mc k p e", b"mc k0 p Ms", b"mc k1 o e", b"mc k9 r e", b"mc k2 Hk1 e",
                    b"mc %s p b e" % encoded(b"\x00"), b"mc %s b H%s i e" % (encoded(b"\x00b\x20"), encoded(b"k1"))]
        for _ in range(scaled(40, 8)):
            low, high = sorted(b"k%07d" % chance.randrange(7 * _KEYS) for _ in range(2))
            commands.append(b"mc %s H%s%s%s e Msnx" % (low, high, chance.choice((b"", b" i")), chance.choice((b"", b" o"))))
        for command in commands:
            with self.subTest(command):
                self.assertEqual(self.client.ask(command), other.ask(command))

    def test_the_ceiling_of_a_held_range_is_exact(self):
        last = b"k%07d" % (7 * _LIMIT)
        self.assertEqual(self.count(self.client, b"mc k H%s X" % last)[0], _LIMIT)
        for command in (b"mc k H%s i X" % last, b"mc - X"):
            self.assertEqual(self.client.ask(command), b"CLIENT_ERROR too many keys in the range")

    def test_beside_writers_what_they_leave_alone_is_exact(self):
        wanted = self.expected(b"k", b"l")
        others = scaled(20_000, 4000)
        threads = self.start_writers(3, others)
        try:
            for _ in range(scaled(60, 10)):
                items, _ = self.count(self.client, b"mc k0001 Hl e")
                self.assertEqual(items, self.expected(b"k0001", b"l")[0])
                items, _ = self.count(self.client, b"mc k p e")
                self.assertGreaterEqual(items, wanted[0])
                self.assertLessEqual(items, wanted[0] + others)
        finally:
            threads.stop.set()
            threads.join()

    def test_clients_that_leave_in_the_middle_leave_nothing_behind(self):
        for turn in range(scaled(60, 10)):
            client = self.connect()
            client.send(b"mc - e\r\n" * (1 + turn % 3))
            time.sleep(turn % 4 * 0.001)
            if turn % 2:
                client.reset()
            else:
                client.close()
        self.assertEqual(self.count(self.client, b"mc - e"), self.expected(b"", b"l"))
        self.assertEqual(self.client.ask(b"mx k00000 p X"), b"HD A%d" % self.expected(b"k00000", b"k00001")[0])


@mxkv_only("order")
class DividedDumpTest(DividedCase):
    def dump(self, client, command: bytes, end: bytes) -> list:
        client.send(command + b"\r\n")
        lines = []
        while (line := client.line()) != end:
            lines.append(line)
        return lines

    def test_both_workers_make_pages_and_they_come_in_order(self):
        wanted = [b"mg " + key for key in sorted(self.model)]
        self.until_both_carry(
            lambda: self.assertEqual(self.dump(self.client, b"lru_crawler mgdump all", b"EN"), wanted))
        names = [b"key=" + key for key in sorted(self.model)]
        lines = self.client.ask(b"lru_crawler metadump all").split(b"\n")
        self.assertEqual(lines.pop(), b"END")
        self.assertEqual([line.split(b" ")[0] for line in lines], names)

    def test_a_small_dump_stays_one_task(self):
        self.assertEqual(self.client.ask(b"mx k%07d H%s X" % (7 * 1000, b"k%07d" % (7 * _LIMIT))),
                         b"HD A%d" % (_LIMIT - 1000))
        self.assertEqual(self.client.ask(b"mx k%07d X" % (7 * _LIMIT)), b"HD A%d" % (_KEYS - _LIMIT))

        def dumped_by_one() -> bool:
            before = self.taken()
            self.assertEqual(len(self.dump(self.client, b"lru_crawler mgdump all", b"EN")), 1000)
            return self.taken() == before
        # The memory of the removed items is tidied up in tasks of the same kind, which may come beside a dump.
        wait_for(dumped_by_one, "a dump is not divided")

    def test_beside_writers_what_they_leave_alone_comes_once_and_in_order(self):
        threads = self.start_writers(2, 4000)
        try:
            for _ in range(scaled(10, 3)):
                keys = [line[3:] for line in self.dump(self.client, b"lru_crawler mgdump all", b"EN")]
                self.assertTrue(all(one < two for one, two in zip(keys, keys[1:])), "not in order")
                self.assertEqual([key for key in keys if key in self.model], sorted(self.model))
        finally:
            threads.stop.set()
            threads.join()

    def test_who_does_not_read_is_not_sent_for(self):
        slow = self.connect(receive_buffer=4096)
        slow.send(b"lru_crawler metadump all\r\n")
        begin = slow.exactly(100)
        for _ in range(20):
            self.assertEqual(self.client.get(b"k%07d" % 0), b"0")
        self.assertLess(int(self.client.stats(b"memory")["output"]), 3 << 20)
        text = begin + slow.line()
        self.assertEqual(text.count(b"key="), len(self.model))

    def test_who_leaves_in_the_middle_leaves_nothing_behind(self):
        for _ in range(scaled(30, 10)):
            client = self.connect(receive_buffer=4096)
            client.send(b"lru_crawler mgdump all\r\n")
            client.exactly(100)
            client.reset()
        self.assertEqual(len(self.dump(self.client, b"lru_crawler mgdump all", b"EN")), len(self.model))


@mxkv_only("mt")
class DividedChangeTest(DividedCase):
    def test_both_workers_touch_and_remove(self):
        here = b"k%07d" % (7 * _LIMIT)
        self.until_both_carry(
            lambda: self.assertEqual(self.client.ask(b"mt k H%s T1000" % here), b"HD A%d" % _LIMIT))
        for number in (0, _LIMIT - 1):
            reply = self.client.ask(b"mg k%07d t" % (7 * number))
            self.assertRegex(reply, rb"^HD t\d+$")
            self.assertIn(int(reply[4:]), range(1, 1001))
        self.assertEqual(self.client.ask(b"mg %s t" % here), b"HD t-1")

        def remove():
            self.load(self.client, self.model.items())
            self.assertEqual(self.client.ask(b"mx k H%s X" % here), b"HD A%d" % _LIMIT)

        self.until_both_carry(remove)
        self.assertEqual(int(ask_flags(self.client, b"mc k p e")[b"A"]), _KEYS - _LIMIT)
        self.assertEqual(self.client.get(here), self.model[here])

    def test_all_or_nothing(self):
        for command in (b"mt k p T1000", b"mx k p X", b"mt - T5 A%d" % (_LIMIT - 1), b"mx - X A300"):
            self.assertEqual(self.client.ask(command), b"CLIENT_ERROR too many keys in the range")
        self.assertEqual(int(ask_flags(self.client, b"mc k p e")[b"A"]), _KEYS)
        self.assertEqual(self.client.ask(b"mg %s t" % (b"k%07d" % 0)), b"HD t-1")

    def test_held_counts_see_all_of_a_change_or_nothing(self):
        """Two clients touch or remove a whole prefix and store it anew; locked counts in between."""
        keys = [key for key in self.model if key < b"k%07d" % (7 * campaign(20_000, 9000))]
        bound = keys[-1] + b"0"
        turns = scaled(8, 3)

        def change(client, _):
            for _ in range(turns):
                self.assertEqual(client.ask(b"mx k H%s X" % bound), b"HD A%d" % len(keys))
                for begin in range(0, len(keys), 500):
                    client.send(b"".join(b"set %s 0 0 1 noreply\r\n1\r\n" % key for key in keys[begin:begin + 500]))
                self.assertEqual(client.ask(b"mt k H%s T0" % bound), b"HD A%d" % len(keys))
            threads.stop.set()

        def look(client, _):
            while not threads.stop.is_set():
                flags = ask_flags(client, b"mc k H%s X" % bound)
                self.assertLessEqual(int(flags[b"A"]), len(keys))

        threads = Threads(self.server.port)
        threads.start(change, 1)
        threads.start(look, 2)
        threads.join()
        self.assertEqual(int(ask_flags(self.client, b"mc k H%s X" % bound)[b"A"]), len(keys))


@mxkv_only("mc")
class DividedDrainTest(OwnServerCase):
    options = Options(workers=2, settings=(UNHURRIED,))

    def test_what_was_asked_for_is_answered_before_the_end(self):
        keys = _KEYS // 2
        for begin in range(0, keys, 1000):
            self.client.send(b"".join(b"set d%06d 0 0 1 noreply\r\nx\r\n" % i for i in range(begin, begin + 1000)))
        self.assertEqual(int(ask_flags(self.client, b"mc - e")[b"A"]), keys)
        asked = threading.Barrier(3)
        answers = []

        def ask(client, _):
            client.send(b"mc - e\r\nmc d p X\r\nmt d p T900\r\n")
            first = client.line()
            asked.wait()
            answers.append([first, *client.rest().split(b"\r\n")])

        threads = Threads(self.server.port)
        threads.start(ask, 2)
        asked.wait()
        self.server.stop()
        threads.join()
        for answer in answers:
            for line in answer:
                if line:
                    self.assertTrue(line.startswith(b"HD A%d" % keys), answer)
