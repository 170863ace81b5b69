"""The wall clock is set while the server runs, hours forward and a day back: stored items keep their times to live.

Relative exptimes count by the monotonic clock. mxkvd converts absolute ones by the wall clock when it receives them; memcached
counts on from its wall clock at its own start.
"""

import dataclasses
import re
import unittest

from harness import Options, SANITIZED, ServerCase, WallClock, mxkv_only, wait_for
from harness import wall_clock
from harness.beside import load_tests  # noqa: F401

_HOUR = 3600
_DAY = 24 * _HOUR
_JUMPS = (2 * _HOUR, -_DAY, 40 * _DAY, 0)
_SLACK = 120  # seconds that may pass while the test runs on a busy machine


@unittest.skipIf(wall_clock.LIBRARY is None, "faketime is not installed")
@unittest.skipIf(SANITIZED, "a sanitizer's library must come first")
class WallClockCase(ServerCase):
    options = Options()

    @classmethod
    def setUpClass(cls) -> None:
        cls.clock = WallClock()
        cls.addClassCleanup(cls.clock.close)
        cls.options = dataclasses.replace(cls.options, variables=cls.clock.variables())
        super().setUpClass()

    def setUp(self):
        self.clock.set_ahead(0)
        self.addCleanup(self.clock.set_ahead, 0)
        self.client = self.connect()

    def left(self, key: bytes) -> int:
        """The item's time to live, in seconds."""
        reply = self.client.ask(b"mg " + key + b" t")
        self.assertRegex(reply, rb"^HD t\d+", f"{key} {reply}")
        return int(reply.split()[1][1:])

    def expect_left(self, key: bytes, seconds: int, where: str) -> None:
        left = self.left(key)
        self.assertLessEqual(left, seconds, f"{key} {where}")
        self.assertGreater(left, seconds - _SLACK, f"{key} {where}")

    def jumps(self):
        """Sets the clock, and waits until the server uses it."""
        for ahead in _JUMPS:
            self.clock.set_ahead(ahead)
            yield f"{ahead:+d} s"


class RelativeTimesTest(WallClockCase):
    def test_every_relative_time_outlives_every_jump(self):
        client = self.client
        client.set(b"set", b"v", exptime=_HOUR)
        client.set(b"touched", b"v")
        client.ask(b"touch touched 3600")
        client.set(b"gat", b"v")
        client.records(b"gat 3600 gat")
        client.ask(b"ms ms 1 T3600\r\nv")
        client.set(b"mg", b"v")
        client.ask(b"mg mg T3600")
        client.ask(b"mg vivified N3600")
        client.ask(b"ma counter N3600")
        for where in self.jumps():
            for key in (b"set", b"touched", b"gat", b"ms", b"mg", b"vivified", b"counter"):
                self.expect_left(key, _HOUR, where)
        self.clock.set_ahead(-_DAY)
        client.set(b"later", b"v", exptime=_HOUR)
        self.clock.set_ahead(2 * _HOUR)
        self.expect_left(b"later", _HOUR, "set before a jump of 26 hours")

    def test_time_passes_all_the_same(self):
        for where in self.jumps():
            self.client.set(b"long", b"v", exptime=_HOUR)
            before = self.left(b"long")
            self.expect_left(b"long", _HOUR, where)
            wait_for(lambda: self.left(b"long") < before, f"a second less, {where}")
        self.clock.set_ahead(-_DAY)
        self.client.set(b"short", b"v", exptime=1)
        wait_for(lambda: self.client.get(b"short") is None, "its end")

    def test_an_access_is_as_long_ago_as_it_is(self):
        self.client.set(b"k", b"v")
        for where in self.jumps():
            reply = self.client.ask(b"me k")
            self.assertLess(int(re.search(rb" la=(\d+)", reply)[1]), _SLACK, f"{reply} {where}")

    def test_absolute_times_that_are_stored_outlive_every_jump(self):
        self.client.set(b"absolute", b"v", exptime=self.clock.now() + _DAY)
        for where in self.jumps():
            self.expect_left(b"absolute", _DAY, where)

    def test_a_flush_that_was_put_off_comes_when_it_should(self):
        self.client.set(b"k", b"v")
        self.assertEqual(self.client.ask(b"flush_all 3600"), b"OK")
        for where in self.jumps():
            self.assertEqual(self.client.get(b"k"), b"v", where)
        self.assertEqual(self.client.ask(b"flush_all"), b"OK")


@mxkv_only("memcached reckons absolute times by its start, and has no ranges")
class AbsoluteTimesTest(WallClockCase):
    def test_an_absolute_time_means_the_wall_clock_at_its_receipt(self):
        for where in self.jumps():
            wall = self.clock.now()
            self.client.set(b"absolute", b"v", exptime=wall + _DAY)
            self.expect_left(b"absolute", _DAY, where)
            self.client.ask(b"touch absolute %d" % (wall + _HOUR))
            self.expect_left(b"absolute", _HOUR, where)
            self.client.ask(b"mg absolute T%d" % (wall + 2 * _HOUR))
            self.expect_left(b"absolute", 2 * _HOUR, where)
            self.client.set(b"absolute", b"v", exptime=wall - 1)
            self.assertIsNone(self.client.get(b"absolute"), where)

    def test_ranges_are_touched_by_the_same_clocks(self):
        self.client.set(b"q1", b"v")
        self.client.ask(b"mt q p T3600")
        for where in self.jumps():
            self.expect_left(b"q1", _HOUR, where)
            self.client.set(b"r1", b"v")
            self.client.ask(b"mt r p T3600")
            self.expect_left(b"r1", _HOUR, where)
            self.client.ask(b"mt r p T%d" % (self.clock.now() + _DAY))
            self.expect_left(b"r1", _DAY, where)

    def test_a_dump_tells_times_that_could_be_set_again(self):
        self.client.set(b"k", b"v", exptime=_HOUR)
        for where in self.jumps():
            self.client.send(b"lru_crawler metadump all\r\n")
            lines = self.client.line()  # the whole reply, because its lines end with LF alone
            for line, expected in ((rb"key=k exp=(\d+)", _HOUR), (rb"key=k exp=\d+ la=(\d+)", 0)):
                told = int(re.search(line, lines)[1])
                self.assertLess(abs(told - self.clock.now() - expected), _SLACK, f"{lines} {where}")

    def test_uniques_ascend(self):
        before = 0
        for where in self.jumps():
            reply = self.client.ask(b"ms k 1 c\r\nv")
            unique = int(reply.split(b"c")[-1])
            self.assertGreater(unique, before, where)
            before = unique

    def test_stats_tell_the_wall_clock(self):
        for where in self.jumps():
            self.assertLess(abs(int(self.client.stats()["time"]) - self.clock.now()), _SLACK, where)
