"""A cache with more data than memory, over ends and starts of any kind: it forgets, but brings nothing back.

    MXKV_KILLS=200 python3 -B -m unittest test_durable_cache.CampaignTest     two hundred restarts; some eight without
"""

import os
import random
import re
import signal
import threading
import time
import unittest

from cache_ledger import CacheLedger
from durable_case import DurableCase
from harness import IS_MEMCACHED, LONG, SANITIZED, WallClock, wait_for, wall_clock

_RESTARTS = int(os.environ.get("MXKV_KILLS", "0")) or (40 if LONG else 8)
_PATIENCE_S = 120
_VALUE = 1000


class _CacheCase(DurableCase):
    limit = "32MiB"

    def configure(self, sync: str = "", more: str = "") -> None:
        super().configure(sync, more)
        self.config.write_text(self.config.read_text().replace("when_full: error", "when_full: evict"))

    def left_out(self) -> int:
        found = re.search(r"(\d+) items do not fit", self.log())
        return int(found[1]) if found else 0


@unittest.skipIf(IS_MEMCACHED or SANITIZED, "of mxkvd; too much for too slow a build")
class CampaignTest(_CacheCase):
    more = "  segment: 1MiB\n  checkpoint: {journal: 16MiB, rate: unlimited}\n"

    def test_what_a_client_saw_absent_never_comes_back(self):
        chance = random.Random(f"cache/{_RESTARTS}")
        ledger = CacheLedger(40_000, _VALUE, chance)
        environment = dict(os.environ)
        clock = None
        if wall_clock.LIBRARY is not None:
            clock = WallClock()
            self.addCleanup(clock.close)
            environment |= dict(clock.variables())
        client = self.client(self.begin(env=environment))
        ledger.store(client, ledger.keys)
        left_out = 0
        for turn in range(_RESTARTS):
            ledger.live(client, 20)
            if turn % 3 == 2:
                live = threading.Thread(target=ledger.live, args=(client, 1000))
                live.start()
                before = ledger.hits
                wait_for(lambda seen=before: ledger.hits > seen + 2000, "answers", _PATIENCE_S)
                self.crash()
                live.join()
            else:
                self.end(signal.SIGTERM)
            client.close()
            if clock is not None:
                # After a kill the clock never goes back, because the journal's last time may be lost.
                clock.set_ahead(chance.choice((0, 0, 3600, 86_400) if turn % 3 == 2 else (0, -86_400, -3600, 86_400)))
            limit = "20MiB" if turn % 4 == 1 else self.limit
            client = self.client(self.begin("--set", f"memory.limit={limit}", env=environment))
            left_out += self.left_out()
            there = ledger.read(client, ledger.keys)
            self.assertGreater(there, 2000)
            if clock is not None and turn % 2:
                clock.set_ahead(chance.choice((0, -3600, 3600)))
        self.assertGreater(left_out, 0)
        self.assertGreater(ledger.deletes_of_absent, 0)
        self.end(signal.SIGTERM)


@unittest.skipIf(IS_MEMCACHED or SANITIZED, "of mxkvd; too much for too slow a build")
class WarmStartTest(_CacheCase):
    sync = "never"

    def test_a_full_cache_comes_back_whole_at_the_same_limit(self):
        client = self.client(self.begin())
        ledger = CacheLedger(60_000, _VALUE, random.Random(3))
        ledger.store(client, ledger.keys)
        there = ledger.read(client, ledger.keys)
        self.assertGreater(there, 10_000)
        self.assertLess(there, 40_000)
        for _ in range(3):
            self.end(signal.SIGTERM)
            client = self.client(self.begin())
            self.assertEqual(self.left_out(), 0, self.log())
            now = ledger.read(client, ledger.keys)
            self.assertGreater(now, there * 0.99)
            there = now
        self.end(signal.SIGTERM)

    def test_a_start_knows_what_was_read_before_it_and_when(self):
        client = self.client(self.begin())
        ledger = CacheLedger(15_000, _VALUE, random.Random(5))
        ledger.store(client, ledger.keys)
        read = set(random.Random(1).sample(ledger.keys, 4000))
        wait_for(lambda: int(client.stats()["uptime"]) >= 3, "an age of some seconds", _PATIENCE_S)
        ledger.read(client, sorted(read))
        began = time.monotonic()
        before = self.accesses(client, ledger.keys)
        self.end(signal.SIGTERM)
        client = self.client(self.begin())
        after = self.accesses(client, ledger.keys)
        seconds = time.monotonic() - began
        self.assertEqual({key for key in ledger.keys if after[key][1]}, read)
        for key in ledger.keys:
            self.assertGreaterEqual(after[key][0], before[key][0], key)
            self.assertLess(after[key][0], before[key][0] + seconds + 2, key)
        self.end(signal.SIGTERM)

    def accesses(self, client, keys) -> dict:
        """By key: the seconds since the last access, and whether any client has read the item."""
        found = {}
        for at in range(0, len(keys), 100):
            some = keys[at:at + 100]
            client.send(b"".join(b"me %s\r\n" % key for key in some))
            for key in some:
                line = client.line()
                self.assertRegex(line, b"^ME " + key + b" ")
                found[key] = int(re.search(rb" la=(\d+) ", line)[1]), b" fetch=yes " in line
        return found


del _CacheCase
