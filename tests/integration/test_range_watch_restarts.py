"""Watches of a server with a data directory: positions outlive its processes, and what watchers fold over many of them equals
what a scan shows.

    MXKV_KILLS=200 python3 -B -m unittest test_range_watch_restarts.KillsTest     200 kills; some ten without
"""

import os
import random
import shutil
import signal
import threading
import unittest
from contextlib import closing

from durable_case import DurableCase
from harness import LONG, SANITIZED, mxkv_only, scaled, wait_for
from harness.connection import Connection
from range_watcher import Watcher, change, drain_to, mark

_KILLS = int(os.environ.get("MXKV_KILLS", "0")) or (60 if LONG else 5 if SANITIZED else 8)


class RestartCase(DurableCase):
    # Small sizes, so that segments change and checkpoints come and go.
    small = "  segment: 1MiB\n  checkpoint: {journal: 1MiB, rate: unlimited}\n"

    def hear(self, watcher: Watcher) -> list:
        """The lines up to a mark."""
        watcher.lines = []
        mark(watcher.client, b"w", b"now")
        drain_to(watcher, b"HD Ow")
        watcher.until_mark(b"now")
        return watcher.lines

    def watch_from(self, position: bytes) -> Watcher:
        watcher = Watcher(self.client())
        self.assertEqual(watcher.begin(b"mw - Ow v G" + position), b"HD Ow G" + position)
        return watcher

    def fill(self, rounds: int) -> None:
        """Writes half a MiB a round."""
        client = self.client()
        for _ in range(rounds):
            client.store_all([b"fill%d" % number for number in range(64)], 8192)

    def checkpoints(self) -> int:
        return int(self.client().stats(b"durability")["checkpoints"])

    def make_checkpoint(self) -> None:
        """Writes until a checkpoint begins behind all that was written before, and is complete."""
        before = self.checkpoints()
        wait_for(lambda: self.fill(1) or self.checkpoints() >= before + 2, "two checkpoints", 60)


@mxkv_only("watches of ranges")
class PositionsTest(RestartCase):
    def test_a_watch_goes_on_after_an_orderly_end(self):
        self.begin()
        writer, watcher = self.client(), Watcher(self.client())
        watcher.begin(b"mw - Ow v")
        writer.set(b"a", b"1")
        self.assertEqual(self.hear(watcher), [b"WV 1 ka"])
        self.end(signal.SIGTERM)
        over = watcher.section()
        self.assertEqual(over, b"WO Ow ends G" + watcher.position)
        self.begin()
        self.client().set(b"b", b"2")
        again = self.watch_from(watcher.position)
        self.assertEqual(self.hear(again), [b"WV 1 kb"])
        self.assertNotEqual(again.position.split(b".")[0], watcher.position.split(b".")[0], "each process has a tag of its own")

    def test_a_watch_goes_on_after_a_kill(self):
        for sync in ("commit", "1s", "never"):
            with self.subTest(sync):
                shutil.rmtree(self.data, ignore_errors=True)
                self.configure(sync)
                self.begin()
                watcher = Watcher(self.client())
                watcher.begin(b"mw - Ow v")
                self.client().set(b"a", b"1")
                self.assertEqual(self.hear(watcher), [b"WV 1 ka"])
                self.client().set(b"b", b"2")
                other = Watcher(self.client())
                other.begin(b"mw b Ow v")
                self.hear(other)  # so that the change is on disk
                self.crash()
                self.begin()
                self.client().set(b"c", b"3")
                self.assertEqual(self.hear(self.watch_from(watcher.position)), [b"WV 1 kb", b"WV 1 kc"])
                self.end(signal.SIGTERM)

    def test_history_outlives_checkpoints_and_restarts(self):
        self.configure(more=self.small)
        self.begin()
        watcher = Watcher(self.client())
        watcher.begin(b"mw - Ow v")
        self.client().set(b"first", b"1")
        first = self.segments()[0]
        self.make_checkpoint()
        self.end(signal.SIGTERM)
        self.begin()
        self.assertTrue(first.exists())
        self.assertGreater(int(self.client().stats(b"watch")["history_bytes"]), 0)
        again = self.watch_from(watcher.position)
        self.assertEqual(self.hear(again)[0], b"WV 1 kfirst")

    def test_without_history_a_position_before_the_checkpoint_is_old(self):
        self.configure(more=self.small + "watch: {history: 0}\n")
        self.begin()
        watcher = Watcher(self.client())
        watcher.begin(b"mw - Ow v")
        first = self.segments()[0]
        self.make_checkpoint()
        wait_for(lambda: not first.exists(), "the first segment is gone")
        refusal = self.client().ask(b"mw - Ow v G" + watcher.position)
        self.assertRegex(refusal, rb"^EX Ow old G[0-9a-f]{16}\.\d+$")
        self.assertEqual(self.client().stats(b"watch")["history_bytes"], "0")
        client, answer = self.client(), refusal
        while answer.startswith(b"EX Ow old"):  # another checkpoint may have come meanwhile
            answer = client.ask(b"mw - Ow v G" + answer.split(b" G")[1])
        self.assertRegex(answer, rb"^HD Ow G")
        self.end(signal.SIGTERM)
        self.begin()
        self.assertRegex(self.client().ask(b"mw - Ow v G" + watcher.position), rb"^EX Ow old G")

    def test_history_never_refuses_a_write(self):
        """It goes first when the journal reaches its limit."""
        self.configure(more=self.small + "  journal_most: 16MiB\nwatch: {history: 1GiB}\n")
        self.begin()
        watcher = Watcher(self.client())
        watcher.begin(b"mw - Ow v")
        first = self.segments()[0]
        for _ in range(16):  # 32 MiB
            before = self.checkpoints()
            self.fill(4)  # each write is accepted
            wait_for(lambda least=before: self.checkpoints() > least, "a checkpoint")
        self.assertFalse(first.exists())
        self.assertNotIn("refusal", self.client().stats(b"durability"))
        self.assertGreater(int(self.client().stats(b"watch")["history_bytes"]), 0)
        self.assertRegex(self.client().ask(b"mw - Ow v G" + watcher.position), rb"^EX Ow old G")

    def test_a_position_of_another_server_or_history_is_lost(self):
        self.begin()
        self.client().set(b"a", b"1")
        self.end(signal.SIGTERM)
        copy = self.directory / "copy"
        shutil.copytree(self.data, copy)
        self.begin()
        watcher = Watcher(self.client())
        begun = watcher.begin(b"mw - Ow v").split(b" G")[1]
        self.client().set(b"b", b"2")
        self.hear(watcher)
        self.crash()
        shutil.rmtree(self.data)  # the disk goes back to what it was
        shutil.move(copy, self.data)
        self.begin()
        client = self.client()
        for _ in range(5):
            client.set(b"c", b"3")  # has the epochs of the lost writes
        for position in (begun, watcher.position):
            self.assertEqual(client.ask(b"mw - Ow v G" + position), b"EX Ow lost")
        self.end(signal.SIGTERM)
        shutil.rmtree(self.data)
        self.begin()
        self.assertEqual(self.client().ask(b"mw - Ow v G" + begun), b"EX Ow lost")


@mxkv_only("watches of ranges")
class KillsTest(RestartCase):
    """Writers change keys at random, watchers fold, the server is killed again and again. Watchers go on from the last position
    that they heard; at the end each map equals a scan."""
    keys = [b"key:%02d" % number for number in range(40)]
    watchers = 3

    def setUp(self):
        super().setUp()
        self.more = self.small
        self.configure()
        self.resumed = 0

    def write(self, port: int, number: int, written: list) -> None:
        chance = random.Random(f"writer/{number}")
        try:
            with closing(Connection(port, timeout=60)) as client:
                for turn in range(1 << 20):
                    change(client, chance, self.keys, b"%d-%d" % (number, turn))
                    written[0] += 1
        except OSError:
            pass  # the kill

    def watch(self, port: int, number: int, watcher: Watcher) -> None:
        chance = random.Random(f"watcher/{number}")
        try:
            with closing(Connection(port, timeout=60)) as watcher.client:
                watcher.begin(b"mw key: p Ow v" + (b" G" + watcher.position if watcher.position else b""))
                self.resumed += 1
                while True:
                    if chance.randrange(3) == 0:
                        mark(watcher.client, b"w", b"now")
                        drain_to(watcher, b"HD Ow")
                        watcher.until_mark(b"now")
                    else:
                        watcher.section()
        except OSError:
            pass  # the kill

    def test_every_map_equals_the_last_scan(self):
        chance = random.Random(_KILLS)
        folds = [Watcher(None) for _ in range(self.watchers)]
        problems = []

        def run(work, *arguments):
            try:
                work(*arguments)
            except BaseException as problem:  # noqa: BLE001 - handed to the test
                problems.append(problem)
        for kill in range(_KILLS):
            port, written = self.begin(), [0]
            began = self.resumed
            threads = [threading.Thread(target=run, args=(self.watch, port, kill * 10 + i, fold)) for i, fold in enumerate(folds)]
            for thread in threads:
                thread.start()
            if kill == 0:  # else changes before the first position are not heard of
                wait_for(lambda: self.resumed == began + self.watchers or problems, "all watch", 60)
            threads += [threading.Thread(target=run, args=(self.write, port, kill * 10 + i, written)) for i in range(2)]
            for thread in threads[self.watchers:]:
                thread.start()
            wanted = chance.randrange(scaled(1500))
            wait_for(lambda w=written, n=wanted: w[0] >= n or problems, "writes are answered", 120)
            self.crash()
            for thread in threads:
                thread.join()
            self.assertEqual(problems, [], self.log())
        self.begin()
        held = {key: value for key, value, _ in self.client().records(b"scan - 1000")}
        for fold in folds:
            fold.client = self.client()
            fold.begin(b"mw key: p Ow v G" + fold.position)
            self.hear(fold)
            self.assertEqual(fold.items, held)
        self.end(signal.SIGTERM)


@mxkv_only("watches of ranges")
class DelayedKillsTest(KillsTest):
    """Replies do not wait for the disk, but what a watch has heard was written before: no kill takes it back."""
    sync = "1s"


@mxkv_only("watches of ranges")
class KillsWithoutSyncTest(KillsTest):
    sync = "never"


if __name__ == "__main__":
    unittest.main()
