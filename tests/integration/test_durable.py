"""Daemons that are killed at any time come back with all that was answered, and nothing half done.

    MXKV_KILLS=1000 python3 -B -m unittest test_durable.KillTest     a thousand times; some ten without
"""

import os
import random
import signal
import time
import unittest

from durable_case import DurableCase
from durable_ledger import Clients
from harness import LONG, SANITIZED, WallClock, patience, wait_for, wall_clock

_KILLS = int(os.environ.get("MXKV_KILLS", "0")) or (100 if LONG else 6 if SANITIZED else 12)


class _Kills(DurableCase):
    kills = _KILLS
    behind_s = 0.0
    # Small, so that segments change and checkpoints come and go all the time.
    more = "  segment: 1MiB\n  checkpoint: {journal: 1MiB, rate: unlimited}\n"

    def test_kills_under_load_lose_nothing_that_was_answered(self):
        chance = random.Random(f"{type(self).__name__}/{self.kills}")
        clients = Clients(seed=self.kills, behind_s=self.behind_s)
        port = self.begin()
        clients.fill(port)
        if self.behind_s:
            time.sleep(2 * self.behind_s)  # the accounts are on disk
        without_answer = 0
        for round_number in range(self.kills):
            clients.start(port)
            time.sleep(chance.uniform(0.02, patience(0.5)))
            crashed = self.crash()
            clients.join()
            while chance.random() < 0.3:  # also while it comes back
                self.begin(wait="")
                time.sleep(chance.uniform(0, 0.15))
                self.crash()
            port = self.begin()
            try:
                without_answer += clients.reconcile(port, crashed)
            except AssertionError as problem:
                raise AssertionError(f"round {round_number}: {problem}\n{self.log()}") from None
        self.assertGreater(clients.answers, 20 * self.kills)
        self.end(signal.SIGTERM)
        print(f"{type(self).__name__}: {self.kills} kills, {clients.answers} answers, "
              f"{without_answer} commands without one took effect")


class KillTest(_Kills):
    pass


class KillWithIntervalTest(_Kills):
    sync = "100ms"
    behind_s = patience(0.8)  # where other tests leave its thread no processor
    kills = max(4, _KILLS // 4)


class KillWithoutSyncTest(_Kills):
    """What the system was given survives the end of the process."""
    sync = "never"
    behind_s = patience(0.8)  # where other tests leave its thread no processor
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
                time.sleep(0.3)
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
                self.assertIn("the clock", self.log())

    @unittest.skipIf(wall_clock.LIBRARY is None or SANITIZED, "faketime is not installed, or a sanitizer's library must come first")
    def test_what_is_stored_keeps_its_time_to_live_where_the_clock_was_set(self):
        clock = WallClock()
        self.addCleanup(clock.close)
        environment = os.environ | dict(clock.variables())
        port = self.begin(env=environment)
        self.assertEqual(self.client(port).set(b"k", b"1", exptime=5000), b"STORED")
        clock.set_ahead(3 * 3600)
        client = self.client(port)

        def write_and_look() -> bool:
            self.assertEqual(client.set(b"other", b"1"), b"STORED")  # at a write it is noticed
            return client.stats(b"durability")["checkpoints"] != "0"
        wait_for(write_and_look, "a checkpoint with the times of the new clock")
        self.crash()
        port = self.begin(env=environment)
        left = int(self.client(port).ask(b"mg k t").split(b"t")[1])
        self.assertTrue(4800 < left <= 5001, left)
