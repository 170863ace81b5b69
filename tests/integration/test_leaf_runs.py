"""Expiry empties runs of neighbouring leaves at once: writers there get their answers, and the leaves go.

The test moves the clock by which items expire, so that a sweep comes when it wants one: sweeps begin at most every 40 s of
that clock. The soak covers the other ways that empty leaves (deletes of ranges, eviction).
"""

import random

from harness import LONG, Options, OwnServerCase, mxkv_only, scaled, wait_for

_PATIENCE_S = 120
_SWEEP_S = 41
_ITEMS = scaled(200_000, 100_000) if LONG else 50_000
_LEAF_ENTRIES = 48  # at most, so `count` items fill at least count / 48 leaves
_BATCH = 2000


class ExpiringRuns:
    """These tests hold for any number of workers, and for any way that keeps the writers of a leaf apart."""

    def setUp(self):
        super().setUp()
        self.writer = self.connect(timeout=_PATIENCE_S)
        self.chance = random.Random(1)

    def number(self, name: str, group: bytes = b"") -> int:
        return int(self.writer.stats(group)[name])

    def store(self, keys: list, exptime) -> None:
        """Stores in pipelines and waits for the end of each; `exptime(number)` is in seconds."""
        for at in range(0, len(keys), _BATCH):
            batch = range(at, min(at + _BATCH, len(keys)))
            self.writer.send(b"".join(b"set %s 0 %d 4 noreply\r\nabcd\r\n" % (keys[i], exptime(i)) for i in batch) + b"mn\r\n")
            self.assertEqual(self.writer.line(), b"MN")

    def pass_time(self, seconds: int) -> None:
        self.assertEqual(self.writer.ask(b"debugtime %d" % seconds), b"OK")

    def write_while_they_go(self, keys: list, left: int) -> None:
        """Sets, reads and deletes single keys until `left` items are there; a missing answer is a timeout.

        A sweep skips a leaf that another operation holds. So the clock moves on now and then, and another sweep comes.
        """
        rounds = 0

        def gone() -> bool:
            nonlocal rounds
            if self.number("curr_items") <= left:
                return True
            rounds += 1
            if rounds % 100 == 0:
                self.pass_time(_SWEEP_S)
            for key in self.chance.choices(keys, k=50):
                self.writer.send(b"set %s 0 0 1\r\n1\r\nget %s\r\ndelete %s\r\n" % (key, key, key))
                self.assertEqual(self.writer.line(), b"STORED")
                self.assertEqual(self.writer.records(), [(key, b"1", [0])])
                self.assertEqual(self.writer.line(), b"DELETED")
            return False
        wait_for(gone, "the sweep removes all expired items", _PATIENCE_S)

    def await_leaves(self, unlinked: int, node_bytes: int) -> None:
        """Unlinking runs after the deletes that emptied the leaves, and memory comes back within epochs."""
        found = []

        def gone() -> bool:
            found[:] = self.number("leaves_unlinked", b"runtime"), self.number("node:0:index:live", b"memory")
            return found[0] >= unlinked and found[1] <= node_bytes
        try:
            wait_for(gone, "empty leaves go", _PATIENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}: leaves unlinked, bytes of nodes: {found} of {(unlinked, node_bytes)}") from None

    def expire_rounds(self, keys: list) -> None:
        count = len(keys)
        for sweep in range(1, 4 if LONG else 3):
            self.store(keys, lambda _: 2)
            full = self.number("node:0:index:live", b"memory")
            self.pass_time(_SWEEP_S)
            self.write_while_they_go(keys, 0)
            # The first child of a parent stays until the parent is folded away. A level has few of these.
            self.await_leaves(sweep * count // _LEAF_ENTRIES * 9 // 10, full // 4)

    def test_writes_go_on_while_neighbouring_leaves_expire_that_were_filled_in_order(self):
        self.expire_rounds([b"k%08d" % i for i in range(_ITEMS)])

    def test_writes_go_on_while_neighbouring_leaves_expire_that_were_filled_at_random(self):
        keys = [b"k%08d" % i for i in range(_ITEMS)]
        self.chance.shuffle(keys)
        self.expire_rounds(keys)

    def test_writes_go_on_where_some_items_outlive_the_sweep(self):
        """Several sweeps empty leaves, with live leaves between them."""
        for load in range(3):
            keys = [b"t%d-%d" % (load, i) for i in range(_ITEMS)]
            self.store(keys, lambda _: self.chance.randrange(1, 4 * _SWEEP_S))
            self.pass_time(_SWEEP_S)
        stay = [b"t1-%dx" % i for i in self.chance.sample(range(_ITEMS), k=_BATCH)]
        for _ in range(4):
            self.pass_time(_SWEEP_S)
            self.store(stay, lambda _: 0)
        self.pass_time(_SWEEP_S)
        self.write_while_they_go(keys, _BATCH)
        self.assertEqual(self.number("curr_items"), _BATCH)

    def test_a_window_of_keys_that_slides_by_expiry_goes_on_for_ever(self):
        a_second = scaled(5000, 2000) if LONG else 1000
        full = 0
        for second in range(120):
            keys = [b"w%08d" % (second * a_second + i) for i in range(a_second)]
            self.store(keys, lambda _: 30)
            self.pass_time(1)
            if second == 35:  # before the first sweep
                full = self.number("node:0:index:live", b"memory")
        self.pass_time(2 * _SWEEP_S)
        self.write_while_they_go(keys, 0)
        self.await_leaves(120 * a_second // _LEAF_ENTRIES * 9 // 10, full // 4)


_CLOCK = (("server.debug_time", "true"),)


@mxkv_only("sweeps, and a clock that can be moved")
class ExpiringRunsOneWorkerTest(ExpiringRuns, OwnServerCase):
    options = Options(workers=1, settings=_CLOCK)


@mxkv_only("sweeps, and a clock that can be moved")
class ExpiringRunsTwoWorkersTest(ExpiringRuns, OwnServerCase):
    options = Options(workers=2, settings=_CLOCK)
