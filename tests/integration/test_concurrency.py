"""Several clients at once: no lost update, uniques that exclude, writes seen in the order sent, scans beside writers."""

import threading

from harness import LONG, Options, ServerCase, Threads, mxkv_only, scaled
from harness.connection import block
from scanning import UNHURRIED, page_through


class AtomicityTest(ServerCase):
    options = Options(workers=2)

    def setUp(self):
        self.client = self.connect(timeout=120)
        self.threads = Threads(self.server.port, timeout=120)

    def run_all(self, work, count=8) -> None:
        self.threads.start(work, count)
        self.threads.join()

    def test_every_incr_gives_another_number_and_none_is_lost(self):
        self.client.set(b"n", b"0")
        each, results = scaled(2000, 200), []

        def work(client, _number):
            client.send(b"incr n 1\r\n" * each)
            mine = [int(client.line()) for _ in range(each)]
            assert mine == sorted(mine), "one connection's results grow"
            results.extend(mine)

        self.run_all(work)
        self.assertEqual(sorted(results), list(range(1, 8 * each + 1)))
        self.assertEqual(self.client.get(b"n"), b"%d" % (8 * each))

    def test_cas_loops_lose_no_update(self):
        self.client.set(b"c", b"0")
        each = scaled(150, 30)

        def work(client, _number):
            done = 0
            while done < each:
                value, _, unique = client.gets(b"c")
                reply = client.store(b"cas", b"c", b"%d" % (int(value) + 1), tail=b"%d" % unique)
                assert reply in (b"STORED", b"EXISTS"), reply
                done += reply == b"STORED"

        self.run_all(work, 4)
        self.assertEqual(self.client.get(b"c"), b"%d" % (4 * each))

    def test_only_one_add_wins(self):
        keys, wins = [b"add%d" % i for i in range(scaled(1000, 100))], []

        def work(client, number):
            client.send(b"".join(block(b"add", key, b"%d" % number) for key in keys))
            wins.append([client.line() == b"STORED" for _ in keys])

        self.run_all(work, 4)
        self.assertEqual([sum(column) for column in zip(*wins)], [1] * len(keys))
        for key, column in zip(keys, zip(*wins)):
            winner = int(self.client.get(key))
            self.assertLess(winner, 4)
            self.assertEqual(sum(column), 1)

    def test_only_one_delete_wins(self):
        keys, wins = [b"del%d" % i for i in range(scaled(1000, 100))], []
        self.client.send(b"".join(block(b"set", key, b"v") for key in keys))
        self.assertEqual({self.client.line() for _ in keys}, {b"STORED"})

        def work(client, _number):
            client.send(b"".join(b"delete %s\r\n" % key for key in keys))
            wins.append([client.line() == b"DELETED" for _ in keys])

        self.run_all(work, 4)
        self.assertEqual([sum(column) for column in zip(*wins)], [1] * len(keys))

    def test_appends_are_all_there_and_each_client_s_are_in_order(self):
        self.client.set(b"list", b"")
        each = scaled(300, 50)

        def work(client, number):
            client.send(b"".join(block(b"append", b"list", b"%d:%d," % (number, i)) for i in range(each)))
            assert {client.line() for _ in range(each)} == {b"STORED"}

        self.run_all(work, 4)
        entries = [tuple(map(int, entry.split(b":"))) for entry in self.client.get(b"list").split(b",")[:-1]]
        for number in range(4):
            self.assertEqual([i for n, i in entries if n == number], list(range(each)))

    def test_values_are_never_torn(self):
        def write(client, number):
            for i in range(scaled(400, 60)):
                letter = bytes([97 + (number * 7 + i) % 26])
                client.send(block(b"set", b"torn", letter * (1 + i * 97 % 9000)))
                assert client.line() == b"STORED"

        def read(client, _number):
            while not done.is_set():
                value = client.get(b"torn")
                assert value is None or len(set(value)) == 1, "bytes of two values in one"

        done = threading.Event()
        readers = Threads(self.server.port, timeout=120)
        readers.start(read, 3)
        try:
            self.run_all(write, 3)
        finally:
            done.set()
            readers.join()

    def test_payload_then_pointer_is_seen_in_that_order(self):
        """One connection writes a payload, then a pointer, in one pipeline; a client that sees the pointer sees the payload."""
        rounds, done = scaled(3000, 300), threading.Event()
        self.client.set(b"pointer", b"0")
        self.client.set(b"payload0", b"0")

        def write(client, _number):
            try:
                for begin in range(1, rounds, 50):
                    batch = range(begin, begin + 50)
                    client.send(b"".join(block(b"set", b"payload%d" % i, b"%d" % i) + block(b"set", b"pointer", b"%d" % i)
                                         for i in batch))
                    assert {client.line() for _ in range(100)} == {b"STORED"}
            finally:
                done.set()

        def read(client, _number):
            last = 0
            while not done.is_set():
                pointer = int(client.get(b"pointer"))
                assert pointer >= last, "the pointer went back"
                last = pointer
                assert client.get(b"payload%d" % pointer) == b"%d" % pointer, f"pointer {pointer} without its payload"

        self.threads.start(read, 3)
        self.threads.start(write, 1)
        self.threads.join()

    def test_a_client_s_uniques_grow_under_contention(self):
        def work(client, _number):
            last = 0
            for _ in range(scaled(300, 50)):
                client.send(block(b"set", b"u", b"v") + b"gets u\r\n")
                assert client.line() == b"STORED"
                unique = client.records()[0][2][1]
                assert unique > last, (unique, last)
                last = unique

        self.run_all(work, 4)


@mxkv_only("scans")
class ScanBesideWritersTest(ServerCase):
    options = Options(workers=2, settings=(UNHURRIED,))

    @staticmethod
    def page(client, reverse: bool) -> list:
        first = b"scan - + 200 cursor keys" + (b" reverse" if reverse else b"")
        return page_through(client, first, lambda cursor: b"scan cursor=%s 200 cursor keys" % cursor)

    def test_stable_keys_appear_exactly_once_in_order_while_others_come_and_go(self):
        stable = [b"key%06d" % (i * 10) for i in range(scaled(3000, 500))]
        loader = self.connect(timeout=120)
        loader.ask(b"flush_all")
        loader.send(b"".join(block(b"set", key, b"stable") for key in stable))
        self.assertEqual({loader.line() for _ in stable}, {b"STORED"})
        threads = Threads(self.server.port, timeout=120)
        wanted, scans, writes = 400 if LONG else 10, [0, 0], [0, 0, 0]

        def go_on() -> bool:
            """Whether to go on: until each client has done enough beside the others."""
            return min(scans + writes) < wanted and not threads.stop.is_set()

        def write(client, number):
            turn = 0
            while go_on():
                turn += 1
                verbs = [b"delete key%06d\r\n" % i if turn % 2 else block(b"set", b"key%06d" % i, b"moving")
                         for i in range(turn * 37 % len(stable), len(stable) * 10, 101) if i % 10 == number + 1]
                client.send(b"".join(verbs))
                assert {client.line() for _ in verbs} <= {b"STORED", b"DELETED", b"NOT_FOUND"}
                writes[number] += 1

        def scan(client, number):
            while go_on():
                keys = self.page(client, reverse=bool(number))
                assert keys == sorted(set(keys), reverse=bool(number)), "strict order"
                present = [key for key in keys if key.endswith(b"0")]
                assert present == (stable[::-1] if number else stable), "each stable key exactly once"
                scans[number] += 1

        threads.start(write, 3)
        threads.start(scan, 2)
        threads.join()

    def test_a_sliding_window_of_keys_is_scanned_right(self):
        client = self.connect()
        width = 200
        for begin in range(0, scaled(6000, 1000), 50):
            client.send(b"".join(block(b"set", b"w%08d" % i, b"v") for i in range(begin, begin + 50)))
            self.assertEqual({client.line() for _ in range(50)}, {b"STORED"})
            gone = range(max(0, begin - width - 50), max(0, begin - width))
            client.send(b"".join(b"delete w%08d\r\n" % i for i in gone))
            for _ in gone:
                self.assertEqual(client.line(), b"DELETED")
            expected = [b"w%08d" % i for i in range(max(0, begin - width), begin + 50)]
            self.assertEqual([record[0] for record in client.records(b"pscan w 1000")], expected)
