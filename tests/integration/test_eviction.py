"""A full server makes room: it refuses nothing, keeps items that are read, and stays within the limit."""

import random
import unittest

from harness import LONG, SANITIZED, Options, ServerCase, mxkv_only, scaled, wait_for
from harness.connection import Connection, block, padded
from harness.threads import Threads

_MIB = 1 << 20
_POLICY = unittest.skipIf(SANITIZED, "what is chosen is the same with a sanitizer, and takes long to tell")


def store_all(client: Connection, keys, size: int) -> None:
    """As Connection.store_all(), but compares the replies of a batch at once. A refusal is longer, so it never waits."""
    keys, some = list(keys), max(1, min(1000, _MIB // size))
    for at in range(0, len(keys), some):
        batch = keys[at:at + some]
        client.send(b"".join(b"set %s 0 0 %d\r\n%s\r\n" % (key, size, padded(key, size)) for key in batch))
        stored = b"STORED\r\n" * len(batch)
        replies = client.exactly(len(stored))
        assert replies == stored, replies


class FullCase(ServerCase):
    """A small server that the test fills."""
    limit_mib = 32 if LONG and not SANITIZED else 20
    options = Options(memory_mib=limit_mib)

    def setUp(self):
        self.client = self.connect(timeout=120)
        self.client.ask(b"flush_all")

    def present(self, keys, size: int) -> set:
        """The keys that are there; fails if a value is wrong."""
        there, keys = set(), list(keys)
        for at in range(0, len(keys), 100):
            for key, value, _ in self.client.records(b"get " + b" ".join(keys[at:at + 100])):
                self.assertEqual(value, padded(key, size))
                there.add(key)
        return there


@_POLICY
@mxkv_only("the figures are those of a store without slab classes")
class ReadItemsTest(FullCase):
    """The server records read times to a second. The test moves the clock, so that rounds are longer than that on any machine."""
    options = Options(memory_mib=FullCase.limit_mib, settings=(("server.debug_time", "true"),))

    def test_what_is_read_now_and_then_outlives_what_is_not(self):
        chance = random.Random(5)
        count = self.limit_mib * _MIB // 200
        read = [b"read%d" % i for i in range(count // 20)]
        store_all(self.client, read, 100)
        self.present(read, 100)
        for i in range(scaled(20 if LONG else 12, 12)):
            store_all(self.client, (b"once%d.%d" % (i, chance.getrandbits(60)) for _ in range(count // 5)), 100)
            there = self.present(read, 100)
            self.assertEqual(self.client.ask(b"debugtime 10"), b"OK")
        self.assertGreater(len(there), 0.95 * len(read))


@_POLICY
@mxkv_only("memcached does not count reads, and has no say of sizes")
class ScoresTest(FullCase):
    """Which of two kinds of items is left when others have taken their room."""
    options = Options(memory_mib=FullCase.limit_mib, settings=(("server.debug_time", "true"),))
    small, large = 100, 1600

    def count_left(self, prepare=None) -> tuple[float, float]:
        """The parts of small and of large items that are left. `prepare` gets the keys of both."""
        self.client.ask(b"flush_all")
        wait_for(lambda: int(self.client.stats(b"memory")["used"]) < self.limit_mib * _MIB // 2, "flushed items are freed", 60)
        count = self.limit_mib * _MIB // 20 // self.large
        chance = random.Random(7)  # keys of all kinds lie among each other: a walk meets some of each
        small, large = ([b"%08x%s%05d" % (chance.getrandbits(32), kind, i) for i in range(count)] for kind in (b"s", b"l"))
        store_all(self.client, small, self.small)
        store_all(self.client, large, self.large)
        for keys, size in ((small, self.small), (large, self.large)):
            self.assertEqual(self.client.ask(b"debugtime 3"), b"OK")
            self.present(keys, size)
        if prepare is not None:
            prepare(small, large)
        left = len(small), len(large)
        for i in range(120):
            self.assertEqual(self.client.ask(b"debugtime 10"), b"OK")
            store_all(self.client, (b"%08xonce%d" % (chance.getrandbits(32), i) for _ in range(self.limit_mib * _MIB // 2000)), 400)
            left = tuple(sum(not reply.startswith(b"EN") for reply in self.look(keys)) for keys in (small, large))
            if min(left) < count // 2:
                break
        return tuple(n / count for n in left)

    def look(self, keys) -> list[bytes]:
        """The replies to `me`, which notes no access."""
        self.client.send(b"".join(b"me %s\r\n" % key for key in keys))
        return [self.client.line() for _ in keys]

    def test_large_items_go_first_even_if_read_last_unless_bytes_count(self):
        small, large = self.count_left()
        self.assertGreater(small, 0.9)
        self.assertLess(large, 0.5)
        self.assertEqual(self.client.ask(b"config set memory.evict_for bytes"), b"OK")
        small, large = self.count_left()
        self.assertLess(min(small, large), 0.5)  # whichever kind the walk met first
        self.assertGreaterEqual(large, 0.7 * small)  # perhaps none is left of either
        self.assertEqual(self.client.ask(b"config set memory.evict_for requests"), b"OK")

    def test_an_item_that_was_read_often_outlives_one_that_was_read_once_also_in_new_values(self):
        def read_large_often(small, large):
            self.present(large, self.large)
            self.present(large, self.large)
            store_all(self.client, small, self.small)
            store_all(self.client, large, self.large)
        small, large = self.count_left(read_large_often)
        self.assertGreater(large, 0.9)
        self.assertLess(small, 0.5)

    def test_items_that_come_back_are_counted_and_stay_for_longer(self):
        count = self.limit_mib * _MIB // 100
        keys = [b"k%07d" % i for i in range(count)]
        for _ in range(2):
            store_all(self.client, keys, 100)
        evicted = [key for key, reply in zip(keys, self.look(keys)) if reply.startswith(b"EN")]
        self.assertGreater(len(evicted), count // 20)
        before = int(self.client.stats()["ghost_returns"])
        store_all(self.client, evicted[:1000], 100)
        returned = int(self.client.stats()["ghost_returns"]) - before
        self.assertGreater(returned, 300)
        self.assertLessEqual(returned, 1000)
        self.assertGreater(int(self.client.stats(b"memory")["ghosts"]), 0)
        store_all(self.client, evicted[:1000], 100)
        self.assertLess(int(self.client.stats()["ghost_returns"]) - before - returned, 100, "what is there does not come back")
        store_all(self.client, keys, 100)
        self.client.ask(b"flush_all")
        before = int(self.client.stats()["ghost_returns"])
        store_all(self.client, keys[:count // 10], 100)
        self.assertLess(int(self.client.stats()["ghost_returns"]) - before, 50, "a flush forgets them")


@mxkv_only("the figures are those of a store without slab classes")
class EvictionTest(FullCase):
    def test_many_times_the_limit_is_stored_and_the_latest_is_there(self):
        for size in (3000, 100000) if SANITIZED else (100, 3000, 100000):
            with self.subTest(size=size):
                if not LONG:
                    # Replacing small items by larger ones takes longest. Another test in this class does it once.
                    self.client.ask(b"flush_all")
                before = int(self.client.stats()["evictions"])
                count = (scaled(4, 2) if LONG else 2) * self.limit_mib * _MIB // (size + 60)
                keys = [b"%d.%d" % (size, i) for i in range(count)]
                store_all(self.client, keys, size)
                self.assertGreater(int(self.client.stats()["evictions"]), before + count // 4)
                latest = keys[-count // 20:]
                self.assertGreater(len(self.present(latest, size)), 0.9 * len(latest))
                self.assertLess(len(self.present(keys, size)), 0.75 * len(keys))
                memory = self.client.stats(b"memory")
                self.assertLessEqual(int(memory["used"]), int(memory["limit"]))
        self.assert_rss_below(self.limit_mib + 90)

    @_POLICY
    def test_a_scan_keeps_nothing(self):
        count = self.limit_mib * _MIB // 200
        scanned = [b"a.scanned%06d" % i for i in range(count // 20)]
        store_all(self.client, scanned, 100)
        for i in range(10):
            store_all(self.client, (b"b.%d.%d" % (i, j) for j in range(count // 5)), 100)
            self.client.records(b"scan a. (b. 1000")
        self.assertLess(len(self.present(scanned, 100)), 0.7 * len(scanned))

    @_POLICY
    def test_expired_items_that_are_met_are_not_counted_as_evicted(self):
        before = int(self.client.stats()["reclaimed"])
        count = self.limit_mib * _MIB // 300 // 500 * 500
        for at in range(0, count, 500):
            self.client.send(b"".join(block(b"set", b"gone%d" % i, b"x" * 100, exptime=-1) for i in range(at, at + 500)))
            self.assertEqual({self.client.line() for _ in range(500)}, {b"STORED"})
        store_all(self.client, (b"new%d" % i for i in range(2 * count)), 100)
        self.assertGreater(int(self.client.stats()["reclaimed"]), before + count // 50)


@mxkv_only("memory.evict_for")
class LargeValuesTest(FullCase):
    """Where requests count, large values that nobody read would go first."""
    options = Options(memory_mib=FullCase.limit_mib, settings=(("memory.evict_for", "bytes"),))

    def test_large_values_push_out_small_ones_and_back(self):
        small = [b"small%d" % i for i in range(self.limit_mib * _MIB // 250)]
        store_all(self.client, small, 100)
        large = [b"large%d" % i for i in range(self.limit_mib * 3 if LONG else self.limit_mib)]
        store_all(self.client, large, 500000)
        self.assertGreater(len(self.present(large[-8:], 500000)), 6)
        store_all(self.client, small, 100)
        self.assertGreater(len(self.present(small[-1000:], 100)), 900)


@mxkv_only("the counters are mxkv's")
class WaitingForMemoryTest(FullCase):
    """Values of all sizes in a small full cache: each waits for room, and does not block others meanwhile."""
    limit_mib = 20 if SANITIZED else 64
    options = Options(memory_mib=limit_mib)

    def test_a_value_that_waits_for_room_asks_for_it_now_and_then(self):
        count, most = scaled(400), 500_000

        def work(client: Connection, number: int) -> None:
            chance = random.Random(number)
            for _ in range(count):
                self.assertEqual(client.set(b"key%d" % chance.randrange(100_000), b"x" * chance.randint(100, most)), b"STORED")

        clients = Threads(self.server.port, timeout=120)
        clients.start(work, 4)
        clients.join()
        self.assertGreater(int(self.client.stats()["evictions"]), count, "it was full")
        # A worker that asks in a closed loop is refused some thirty thousand times a value. One that pauses between requests is
        # refused a few times. The bound is far from both, because a worker may get no processor for a while.
        refused = sum(int(value) for name, value in self.client.stats(b"memory").items() if name.endswith("items:refused"))
        self.assertGreater(refused, 0)
        self.assertLess(refused, 4 * count * 2000)


@unittest.skipIf(SANITIZED, "a sanitizer changes no walk, and makes each value slow")
@mxkv_only("the counters are mxkv's")
class SmallCacheTest(FullCase):
    """A cache for a few hundred values of 1 byte to 800 kB: large and small values compete for memory."""
    limit_mib = 16
    options = Options(memory_mib=limit_mib)

    def walks(self) -> int:
        memory = self.client.stats(b"memory")
        return int(memory["idle_walks"]) + int(memory["span_walks"])

    def store_some(self, count: int) -> None:
        def work(client: Connection, number: int) -> None:
            chance = random.Random(number)
            for _ in range(count):
                value = b"x" * int(800_000 ** chance.random())
                self.assertEqual(client.set(b"key%d" % chance.randrange(3000), value), b"STORED")

        clients = Threads(self.server.port, timeout=120)
        clients.start(work, 8)
        clients.join()

    def test_a_value_waits_for_few_walks(self):
        count = scaled(150, 40)
        self.store_some(count)
        before = self.walks()
        self.store_some(count)
        self.assertGreater(int(self.client.stats()["evictions"]), count, "it was full")
        # If each walk frees too little for a waiting value, there are 3.6 walks a value. If walks grow, there are 0.6 at most.
        self.assertLess((self.walks() - before) / (8 * count), 1.5, "walks a value")
