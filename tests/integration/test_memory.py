"""A full server says so, keeps what it has, and takes more when there is room again."""

import random

from harness import IS_MEMCACHED, LONG, SANITIZED, Options, OwnServerCase, ServerCase, mxkv_only, scaled, wait_for
from harness.connection import block, padded

_MIB = 1 << 20
_PATIENCE_S = 120
_FULL = b"SERVER_ERROR out of memory storing object"


@mxkv_only("memcached evicts, or fails by slab class")
class FullTest(OwnServerCase):
    limit_mib = 64 if LONG and not SANITIZED else 32
    options = Options(memory_mib=limit_mib, settings=(("memory.when_full", "error"),))

    def fill(self, prefix: bytes, size: int) -> int:
        """Stores until the first refusal and deletes the items that were stored after it; returns how many were stored before."""
        count, batch = 0, 64
        while count * size < 4 * self.limit_mib * _MIB:
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
                self.assertGreater(stored * size, self.limit_mib * _MIB // (4 if size > 500 else 8), "most of the memory holds data")
                self.assert_rss_below(self.limit_mib + 80)

    def await_room(self):
        """Retired memory comes back within epochs, not at once."""
        wait_for(lambda: self.client.set(b"room", b"x" * 1000000) == b"STORED", "memory comes back", _PATIENCE_S)

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
            present = 0
            while present < goal:
                wait_for(lambda: self.client.set(b"del%d" % present, b"n" * 5000) == b"STORED",
                         f"round {round_number}: room for value {present} of {goal}", _PATIENCE_S)
                present += 1
        self.assertEqual(self.client.get(b"del0"), b"n" * 5000)
        self.assert_rss_below(self.limit_mib + 80)

    def test_flush_all_makes_room_again(self):
        self.fill(b"flush", 5000)
        self.client.ask(b"flush_all")
        self.await_room()
        # The server frees retired memory within epochs. Until then it may refuse early.
        wait_for(lambda: int(self.client.stats(b"memory")["retired"]) == 0, "what was flushed is freed", _PATIENCE_S)
        self.assertGreater(self.fill(b"after", 5000), self.limit_mib // 2 * _MIB // 5000)


@mxkv_only("memcached has no freed memory on its way")
class FreedMemoryTest(OwnServerCase):
    """Stores wait for memory that was just freed. Here it would come back by itself after ten seconds."""
    limit_mib = 64
    options = Options(memory_mib=limit_mib, settings=(
        ("memory.when_full", "error"), ("experimental.epoch.interval", "10s"), ("experimental.epoch.bytes", "1GiB")))
    value = b"x" * 100_000

    def fill(self) -> int:
        for count in range(self.limit_mib * _MIB // len(self.value)):
            reply = self.client.set(b"k%06d" % count, self.value)
            if reply == _FULL:
                return count
            self.assertEqual(reply, b"STORED")
        self.fail("more than the limit was stored")

    def test_stores_right_after_a_mass_delete_are_not_refused(self):
        others = [self.connect(timeout=_PATIENCE_S) for _ in range(4)]  # some of them at the other worker
        for prefix, free in ((b"range", lambda: others[0].ask(b"mx k p")), (b"flush", lambda: others[1].ask(b"flush_all")),
                             (b"delete", lambda: {others[i % 4].ask(b"delete k%06d" % i) for i in range(stored)})):
            with self.subTest(how=prefix):
                self.client.ask(b"flush_all")
                stored = self.fill()
                self.assertGreater(stored, self.limit_mib * _MIB // len(self.value) // 2)
                free()
                replies = [others[i % 4].set(prefix + b"%06d" % i, self.value) for i in range(stored * 9 // 10)]
                self.assertEqual(replies.count(b"STORED"), len(replies), f"{replies.count(_FULL)} of {len(replies)} refused")

    def test_a_few_deleted_values_make_room_for_others_at_once(self):
        stored = self.fill()
        other = self.connect(timeout=_PATIENCE_S)
        self.assertEqual(other.set(b"more", self.value * 9), _FULL)
        for first in range(0, scaled(stored - 8, 80), 8):
            for key in range(first, first + 8):  # stored one after the other, so that whole spans become free
                self.assertEqual(self.client.ask(b"delete k%06d" % key), b"DELETED")
            for key in range(6):
                self.assertEqual(other.set(b"new%d.%d" % (first, key), self.value), b"STORED")


@mxkv_only("memcached moves slabs, not items")
class EvacuationTest(OwnServerCase):
    """If each span has few items left, the rest of the span serves other sizes."""
    # The large items fit only into what the small ones leave.
    limit_mib, small_items, large_mib = (128, 250000, 60) if LONG and not SANITIZED else (32, 60000, 22)
    options = Options(memory_mib=limit_mib, settings=(("memory.when_full", "error"),))

    def memory(self) -> dict:
        return {name: int(value) for name, value in self.client.stats(b"memory").items()
                if not name.startswith("verdict:")}

    def await_memory(self, enough, why: str) -> dict:
        # These requests keep an idle server from sleeping.
        return wait_for(lambda: enough(memory := self.memory()) and memory, why, _PATIENCE_S)

    def expect_values(self, keys, size: int) -> None:
        for at in range(0, len(keys), 200):
            batch = keys[at:at + 200]
            self.client.send(b"".join(b"get %s\r\n" % key for key in batch))
            for key in batch:
                self.assertEqual(self.client.records(), [(key, padded(key, size), [0])])

    def test_small_items_most_of_which_go_leave_room_for_large_ones(self):
        small = [b"small%07d" % i for i in range(self.small_items)]
        self.client.store_all(small, 100)
        chance = random.Random(3)
        chance.shuffle(small)
        kept, gone = small[:len(small) // 10], small[len(small) // 10:]
        for at in range(0, len(gone), 1000):
            batch = gone[at:at + 1000]
            self.client.send(b"".join(b"delete %s\r\n" % key for key in batch))
            self.assertEqual({self.client.line() for _ in batch}, {b"DELETED"})
        memory = self.await_memory(
            # Before deleted items are freed, they count as live.
            lambda now: now["retired"] == 0 and now["node:0:items:spans"] < 1.25 * now["node:0:items:live"] + (1 << 20),
            "spans run empty")
        self.assertGreater(memory["moved_items"], len(kept) // 2)
        # The memory of the deleted items serves other sizes: most of it, in another size.
        large = [b"large%04d" % i for i in range(self.large_mib * _MIB // 6000)]
        self.client.store_all(large, 6000)
        self.expect_values(kept, 100)
        self.expect_values(large, 6000)

    def test_what_is_moved_is_written_and_read_as_ever(self):
        keys = [b"mix%06d" % i for i in range(scaled(40000, 8000) if LONG else 16000)]
        model = {}
        chance = random.Random(4)
        moved = self.memory()["moved_items"]
        rounds = 0
        while rounds < 8 or self.memory()["moved_items"] == moved:
            self.assertLess(rounds, 400, "something is moved")
            rounds += 1
            # Grown and thinned out in turn, with sizes that differ from round to round.
            if rounds % 2 == 1:
                model = {key: chance.choice((30, 100 * (rounds % 10), 700)) for key in keys}
                requests = [block(b"set", key, padded(key, size)) for key, size in model.items()]
            else:
                gone = [key for key in keys if chance.random() < 0.9]
                for key in gone:
                    del model[key]
                requests = [b"delete %s\r\n" % key for key in gone]
            for at in range(0, len(requests), 500):
                self.client.send(b"".join(requests[at:at + 500]))
                for _ in requests[at:at + 500]:
                    self.assertIn(self.client.line(), (b"STORED", b"DELETED"))
            for key in chance.sample(sorted(model), min(300, len(model))):
                self.assertEqual(self.client.get(key), key.ljust(model[key], b"+"))
        for key, size in model.items():
            self.assertEqual(self.client.get(key), padded(key, size))


class ChurnTest(ServerCase):
    options = Options(memory_mib=64, settings=(("memory.when_full", "error"),))

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
            if self.retired(client) > 8 * _MIB:  # a worker that gets no processor keeps replaced values from being freed
                wait_for(lambda: self.retired(client) < _MIB, "replaced values are freed", _PATIENCE_S)
        self.assertEqual(refused, 0, f"of {total}: the live data is about a seventh of the limit")
        self.assert_rss_below(64 + 80)

    @staticmethod
    def retired(client) -> int:
        return 0 if IS_MEMCACHED else int(client.stats(b"memory")["retired"])

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
