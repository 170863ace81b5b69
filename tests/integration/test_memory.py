"""A full server says so, keeps what it has, and takes more when there is room again."""

import random
import time

from harness import LONG, SANITIZED, Options, Server, ServerCase, mxkv_only, patience, scaled
from harness.connection import block

_MIB = 1 << 20
_FULL = b"SERVER_ERROR out of memory storing object"


@mxkv_only("memcached evicts, or fails by slab class")
class FullTest(ServerCase):
    """Each case has a server of its own: memory retired by the one before would come back at some time in the next."""
    options = Options(memory_mib=64)

    @classmethod
    def setUpClass(cls) -> None:
        pass

    @classmethod
    def tearDownClass(cls) -> None:
        pass

    def setUp(self):
        self.server = Server(self.options).start()
        self.addCleanup(self.server.kill)
        self.client = self.connect()

    def tearDown(self):
        self.server.stop()

    def fill(self, prefix: bytes, size: int) -> int:
        """Stores until the first refusal; returns how many were stored, and takes back what was after that."""
        count, batch = 0, 64
        while count * size < 256 * _MIB:
            self.client.send(b"".join(block(b"set", prefix + b"%d" % (count + i), b"x" * size) for i in range(batch)))
            replies = [self.client.line() for _ in range(batch)]
            self.assertLessEqual(set(replies), {b"STORED", _FULL})
            if _FULL in replies:
                stored = count + replies.index(_FULL)
                for key in range(stored, count + batch):
                    self.client.ask(b"delete %s%d" % (prefix, key))
                return stored
            count += batch
        self.fail("four times the limit was stored")

    def test_fills_up_to_near_the_limit_and_refuses_beyond(self):
        for size in (1000, 30000) if SANITIZED else (100, 1000, 30000):
            with self.subTest(size=size):
                self.client.ask(b"flush_all")
                self.await_room()
                stored = self.fill(b"f%d." % size, size)
                self.assertGreater(stored * size, (64 if size > 500 else 32) * _MIB // 4, "most of the memory holds data")
                self.assert_rss_below(64 + 80)

    def await_room(self):
        """Retired memory comes back within epochs, not at once."""
        deadline = time.monotonic() + patience(20)
        while self.client.set(b"room", b"x" * 1000000) != b"STORED":
            self.assertLess(time.monotonic(), deadline, "memory comes back")
            time.sleep(0.05)

    def test_the_old_value_stays_and_reads_and_deletes_go_on(self):
        stored = self.fill(b"old", 10000)
        self.assertEqual(self.client.set(b"old1", b"y" * 900000), _FULL)
        self.assertEqual(self.client.get(b"old1"), b"x" * 10000)
        self.assertEqual(self.client.store(b"append", b"old1", b"y" * 900000), _FULL)
        self.assertEqual(self.client.get(b"old1"), b"x" * 10000)
        self.assertEqual(self.client.get(b"old%d" % (stored - 1)), b"x" * 10000)
        self.assertEqual(self.client.ask(b"delete old2"), b"DELETED")

    def test_the_stream_stays_in_step_when_refused(self):
        self.fill(b"step", 20000)
        self.client.send(block(b"set", b"refused", b"z" * 900000) + block(b"set", b"q", b"z" * 900000, tail=b"noreply")
                         + b"get refused q\r\n")
        self.assertEqual(self.client.line(), _FULL)
        self.assertEqual(self.client.records(), [])

    def test_deletes_make_room_again(self):
        stored = self.fill(b"del", 5000)
        # All but a hundredth: workers keep a few free blocks each for themselves.
        present, goal = stored // 2, int(stored // 2 * 0.99)
        for round_number in range(3):
            self.client.send(b"".join(b"delete del%d\r\n" % i for i in range(present)))
            self.assertEqual({self.client.line() for _ in range(present)}, {b"DELETED"})
            present, deadline = 0, time.monotonic() + patience(30)
            while present < goal:
                if self.client.set(b"del%d" % present, b"n" * 5000) == b"STORED":
                    present += 1
                else:
                    self.assertLess(time.monotonic(), deadline, f"round {round_number}: {present} of {goal}")
                    time.sleep(0.01)
        self.assertEqual(self.client.get(b"del0"), b"n" * 5000)
        self.assert_rss_below(64 + 80)

    def test_flush_all_makes_room_again(self):
        self.fill(b"flush", 5000)
        self.client.ask(b"flush_all")
        self.await_room()
        self.assertGreater(self.fill(b"after", 5000), 32 * _MIB // 5000)


class ChurnTest(ServerCase):
    options = Options(memory_mib=64)

    def test_overwriting_the_same_keys_with_other_sizes_does_not_grow(self):
        client = self.connect()
        chance = random.Random(9)
        sizes = (0, 10, 100, 300, 1000, 3000, 10000, 40000, 100000)
        rounds = scaled(2000 if LONG else 250, 40)
        refused = total = 0
        for _ in range(rounds):
            requests = [block(b"set", b"churn%d" % chance.randrange(500), b"x" * chance.choice(sizes)) for _ in range(40)]
            client.send(b"".join(requests))
            replies = [client.line() for _ in requests]
            self.assertLessEqual(set(replies), {b"STORED", _FULL})
            refused += replies.count(_FULL)
            total += len(replies)
        self.assertEqual(refused, 0, f"of {total}: the live data is about a seventh of the limit")
        self.assert_rss_below(64 + 80)

    def test_items_and_bytes_of_the_stats_come_back(self):
        client = self.connect()
        client.ask(b"flush_all")
        for _ in range(3):
            client.send(b"".join(block(b"set", b"c%d" % i, b"x" * 1000) for i in range(2000)))
            self.assertEqual({client.line() for _ in range(2000)}, {b"STORED"})
            self.assertGreaterEqual(int(client.stats()["curr_items"]), 2000)
            client.send(b"".join(b"delete c%d\r\n" % i for i in range(2000)))
            self.assertEqual({client.line() for _ in range(2000)}, {b"DELETED"})
        self.assertLess(int(client.stats()["curr_items"]), 2000)
