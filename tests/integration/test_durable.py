"""Daemons that are killed at any time come back with all acknowledged changes, and nothing half done.

    MXKV_KILLS=1000 python3 -B -m unittest test_durable.KillTest     a thousand kills; some ten without
"""

import os
import random
import signal
import time
import unittest

from durable_case import DurableCase
from durable_ledger import Clients
from harness import LONG, SANITIZED, WallClock, wait_for, wall_clock

_MOST_ANSWERS = 3000 if LONG else 1500
_KILLS = int(os.environ.get("MXKV_KILLS", "0")) or (100 if LONG else 6 if SANITIZED else 12)


_PATIENCE_S = 120
_FOR_EVER_S = 1e6


class _Kills(DurableCase):
    kills = _KILLS
    behind_s = 0.0  # _FOR_EVER_S: the disk may lag behind the answers, and the test asks the server how far it is
    # Small sizes, so that segments change and checkpoints come and go all the time.
    more = "  segment: 1MiB\n  checkpoint: {journal: 1MiB, rate: unlimited}\n"

    def test_kills_under_load_lose_nothing_that_was_answered(self):
        chance = random.Random(f"{type(self).__name__}/{self.kills}")
        clients = Clients(seed=self.kills, behind_s=self.behind_s)
        port = self.begin()
        clients.fill(port)
        self.on_disk(port)
        without_answer = noticed = 0
        for round_number in range(self.kills):
            before = clients.answers
            clients.start(port)
            self.wait_answers(clients, before + chance.randrange(1, _MOST_ANSWERS))
            kept = self.on_disk(port) if self.behind_s else 0.0
            if self.behind_s:
                self.wait_answers(clients, clients.answers + chance.randrange(1, _MOST_ANSWERS))
            crashed = self.crash()
            clients.join()
            if self.behind_s:
                crashed = kept + self.behind_s
            noticed += self.check_without_newest(chance.randrange(3))
            while chance.random() < 0.3:  # a daemon that recovers is also killed
                self.begin(wait="")
                time.sleep(chance.uniform(0, 0.15))
                self.crash()
            port = self.begin()
            try:
                without_answer += clients.reconcile(port, crashed)
            except AssertionError as problem:
                raise AssertionError(f"round {round_number}: {problem}\n{self.log()}") from None
        self.end(signal.SIGTERM)
        self.assertGreater(noticed, 0)
        print(f"{type(self).__name__}: {self.kills} kills, {noticed} lost segments noticed, {clients.answers} answers, "
              f"{without_answer} commands without one took effect")

    def wait_answers(self, clients: Clients, count: int) -> None:
        wait_for(lambda: clients.answers >= count, f"{count} answers", _PATIENCE_S)

    def on_disk(self, port: int) -> float:
        """Waits until a kill loses no change that was acknowledged before some moment. Returns that moment."""
        client = self.client(port)
        moment = time.monotonic()
        epoch = int(client.stats(b"durability")["epoch_current"])

        def reached() -> bool:
            told = client.stats(b"durability")
            return int(told["epoch_durable"]) >= epoch or told["behind_ms"] == told["waiting_bytes"] == "0"
        wait_for(reached, f"epoch {epoch} on disk", _PATIENCE_S)
        client.close()
        return moment


class KillTest(_Kills):
    pass


class KillWithIntervalTest(_Kills):
    sync = "100ms"
    behind_s = _FOR_EVER_S
    kills = max(4, _KILLS // 4)


class KillWithoutSyncTest(_Kills):
    """Data that the system has accepted survive the end of the process."""
    sync = "never"
    behind_s = _FOR_EVER_S
    kills = max(4, _KILLS // 4)


del _Kills


class CleanEndTest(DurableCase):
    def test_all_is_there_after_an_end_and_a_start(self):
        for sync in ("commit", "1s", "never"):
            with self.subTest(sync):
                self.configure(sync)
                clients = Clients(seed=7)
                port = self.begin()
                clients.fill(port)
                clients.start(port)
                wait_for(lambda: clients.answers >= 1000, "answers", _PATIENCE_S)
                clients.join()
                self.end(signal.SIGTERM)
                port = self.begin()
                self.assertEqual(clients.reconcile(port), 0)
                self.client(port).ask(b"flush_all")
                self.end(signal.SIGTERM)
                port = self.begin()
                self.assertEqual(self.client(port).stats()["curr_items"], "0")
                self.end(signal.SIGTERM)

    def test_a_large_value_comes_back(self):
        port = self.begin("--set", "limits.value_bytes=64MiB")
        value = random.Random(1).randbytes(40 << 20)
        client = self.client(port)
        self.assertEqual(client.set(b"large", value, flags=5), b"STORED")
        self.crash()
        port = self.begin("--set", "limits.value_bytes=64MiB")
        self.assertEqual(self.client(port).gets(b"large")[:2], (value, 5))

    @unittest.skipIf(wall_clock.LIBRARY is None or SANITIZED, "faketime is not installed, or a sanitizer's library must come first")
    def test_uniques_go_on_where_the_clock_went_back(self):
        clock = WallClock()
        self.addCleanup(clock.close)
        environment = os.environ | dict(clock.variables())
        before = 0
        for ahead in (0, -86_400, -2 * 86_400, 3600):
            clock.set_ahead(ahead)
            port = self.begin(env=environment)
            client = self.client(port)
            self.assertEqual(client.set(b"k", b"1"), b"STORED")
            self.assertEqual(client.set(b"k%d" % ahead, b"1", exptime=500), b"STORED")
            unique = client.gets(b"k")[2]
            self.assertGreater(unique, before)
            before = unique
            self.crash()
            if ahead < 0:
                self.assertIn("the wall clock is behind", self.log())

    @unittest.skipIf(wall_clock.LIBRARY is None or SANITIZED, "faketime is not installed, or a sanitizer's library must come first")
    def test_what_is_stored_keeps_its_time_to_live_where_the_clock_was_set(self):
        clock = WallClock()
        self.addCleanup(clock.close)
        environment = os.environ | dict(clock.variables())
        client = self.client(self.begin(env=environment))
        self.assertEqual(client.set(b"k", b"1", exptime=5000), b"STORED")
        for ahead in (3 * 3600, -2 * 3600, 0):
            groups = int(client.stats(b"durability")["groups"])
            clock.set_ahead(ahead)
            wait_for(lambda before=groups: int(client.stats(b"durability")["groups"]) > before,
                     "the journal is told of the new clock, although nobody writes", _PATIENCE_S)
            self.crash()
            client = self.client(self.begin(env=environment))
            left = int(client.ask(b"mg k t").split(b"t")[1])
            self.assertTrue(4000 < left <= 5001, left)

    @unittest.skipIf(wall_clock.LIBRARY is None or SANITIZED, "faketime is not installed, or a sanitizer's library must come first")
    def test_what_has_expired_stays_gone_where_the_clock_is_wrong_at_a_start(self):
        clock = WallClock()
        self.addCleanup(clock.close)
        environment = os.environ | dict(clock.variables())
        client = self.client(self.begin(env=environment))
        self.assertEqual(client.set(b"k", b"1", exptime=1), b"STORED")
        self.assertEqual(client.set(b"day", b"1", exptime=80_000), b"STORED")
        wait_for(lambda: client.get(b"k") is None, "the end of an item", _PATIENCE_S)
        for ahead, lives in ((-86_400, True), (0, True), (86_400, False), (0, False)):
            self.end(signal.SIGTERM)
            clock.set_ahead(ahead)
            client = self.client(self.begin(env=environment))
            self.assertIsNone(client.get(b"k"))
            self.assertEqual(client.get(b"day") is not None, lives, ahead)
        self.end(signal.SIGTERM)
