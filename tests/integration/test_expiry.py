"""Times: relative, absolute, past, the 30 days boundary, touch and gat, and flush_all with a delay.

debugtime moves the clock of mxkvd's items; a separate test checks that the clock runs by itself. memcached's clock cannot be
moved, and ticks once a second, so an item may expire a second early there. A test only ever waits for "gone by then".
"""

import time

from harness import IS_MEMCACHED, LONG, Options, OwnServerCase, ServerCase, mxkv_only, patience, wait_for
from harness.beside import load_tests  # noqa: F401
from harness.connection import block

_DAYS_30 = 30 * 24 * 3600
_BOTH = (b"set", b"add")


class ClockCase(ServerCase):
    """The clock of items stands still until a test moves or starts it."""
    options = Options(settings=(("server.debug_time", "true"),))

    def setUp(self):
        self.client = self.connect()
        self.clock(b"p")

    def clock(self, word: bytes) -> None:
        """Does nothing if the server is memcached, whose clock always runs."""
        if not IS_MEMCACHED:
            self.assertEqual(self.client.ask(b"debugtime " + word), b"OK")

    def wait_gone(self, *keys) -> None:
        wait_for(lambda: not self.client.records(b"get " + b" ".join(keys)), f"the end of {keys}")


class ExpiryTest(ClockCase):
    def expect_gone(self, *keys):
        """The keys are gone within three seconds of the clock of items."""
        self.clock(b"3")
        self.wait_gone(*keys)

    def expect_stays(self, key, exptime):
        self.assertEqual(self.client.set(key, b"v", exptime=exptime), b"STORED")
        self.assertEqual(self.client.get(key), b"v", f"exptime {exptime}")

    def expect_expired_at_once(self, key, exptime):
        for verb in _BOTH:
            self.client.ask(b"delete " + key)
            self.assertEqual(self.client.store(verb, key, b"v", exptime=exptime), b"STORED")
            self.assertIsNone(self.client.get(key), f"exptime {exptime}")

    def test_time_passes_by_itself(self):
        """Relative times, absolute times, and a delayed flush."""
        self.client.set(b"flushed", b"v")
        self.assertEqual(self.client.ask(b"flush_all 2"), b"OK")
        self.client.set(b"relative", b"v", exptime=2)
        self.client.set(b"absolute", b"v", exptime=int(time.time()) + 2)
        self.client.set(b"long", b"v", exptime=1000)
        self.clock(b"r")
        self.wait_gone(b"relative")
        self.wait_gone(b"absolute")
        self.wait_gone(b"flushed", b"long")
        self.client.set(b"long", b"v", exptime=1000)
        self.assertEqual(self.client.get(b"long"), b"v")

    def test_relative_time_passes(self):
        self.client.set(b"short", b"v", exptime=2)
        self.client.set(b"long", b"v", exptime=1000)
        self.assertEqual(self.client.get(b"short"), b"v")
        self.expect_gone(b"short")
        self.assertEqual(self.client.get(b"long"), b"v")

    def test_absolute_time_passes(self):
        self.client.set(b"abs", b"v", exptime=int(time.time()) + (3 if IS_MEMCACHED else 1000))
        self.assertEqual(self.client.get(b"abs"), b"v")
        self.clock(b"1000")
        self.expect_gone(b"abs")

    def test_nought_never_expires(self):
        self.expect_stays(b"never", 0)

    def test_exactly_30_days_is_relative(self):
        self.expect_stays(b"days", _DAYS_30)

    def test_more_than_30_days_is_absolute_and_past(self):
        self.expect_expired_at_once(b"past", _DAYS_30 + 1)

    def test_absolute_past_is_expired_at_once(self):
        self.expect_expired_at_once(b"past", int(time.time()) - 100)

    def test_negative_is_expired_at_once(self):
        for exptime in (-1, -100, -_DAYS_30 - 1):
            self.expect_expired_at_once(b"negative", exptime)

    @mxkv_only("memcached cuts times to 32 bits")
    def test_times_beyond_32_bits_keep_their_meaning(self):
        for exptime in (4000000000, (1 << 32) - _DAYS_30 - 1, 1 << 32, 1 << 33, (1 << 63) - 1):
            self.expect_stays(b"future", exptime)
        for exptime in ((1 << 32) - 1, (1 << 32) - _DAYS_30):
            self.expect_expired_at_once(b"negative", exptime)
        for exptime in (-(1 << 31), -(1 << 32) + 5, -(1 << 40), -(1 << 63)):
            self.expect_expired_at_once(b"negative", exptime)

    def test_expired_over_a_live_value_hides_it(self):
        self.client.set(b"hide", b"old")
        self.client.set(b"hide", b"new", exptime=-1)
        self.assertIsNone(self.client.get(b"hide"))

    def test_expired_items_count_as_absent_for_every_verb(self):
        expectations = {b"replace": b"NOT_STORED", b"append": b"NOT_STORED", b"prepend": b"NOT_STORED", b"add": b"STORED"}
        for verb, reply in expectations.items():
            self.client.set(b"gone", b"v", exptime=-1)
            self.assertEqual(self.client.store(verb, b"gone", b"x"), reply, verb)
        for command in (b"touch gone 100", b"incr gone 1", b"decr gone 1", b"delete gone"):
            self.client.set(b"gone", b"1", exptime=-1)
            self.assertEqual(self.client.ask(command), b"NOT_FOUND", command)
        self.client.set(b"gone", b"1", exptime=-1)
        self.assertEqual(self.client.store(b"cas", b"gone", b"x", tail=b"1"), b"NOT_FOUND")
        self.assertEqual(self.client.records(b"gat 100 gone"), [])

    def test_an_expired_key_can_be_stored_again(self):
        self.client.set(b"again", b"v", exptime=-1)
        self.assertEqual(self.client.set(b"again", b"w"), b"STORED")
        self.assertEqual(self.client.get(b"again"), b"w")

    def test_touch_lengthens_and_shortens(self):
        self.client.set(b"touched", b"v", exptime=2)
        self.assertEqual(self.client.ask(b"touch touched 1000"), b"TOUCHED")
        self.client.set(b"shortened", b"v", exptime=1000)
        self.assertEqual(self.client.ask(b"touch shortened 1"), b"TOUCHED")
        self.client.set(b"clock", b"v", exptime=3)
        self.expect_gone(b"shortened", b"clock")
        self.assertEqual(self.client.get(b"touched"), b"v")
        self.client.ask(b"touch touched -1")
        self.assertIsNone(self.client.get(b"touched"))

    def test_gat_sets_the_time_of_each_hit(self):
        for key in (b"g1", b"g2"):
            self.client.set(key, b"v", flags=7)
        found = self.client.records(b"gat 1 g1 absent g2")
        self.assertEqual(found, [(b"g1", b"v", [7]), (b"g2", b"v", [7])])
        self.expect_gone(b"g1", b"g2")

    def test_gats_gives_cas_and_touch_leaves_it_alone(self):
        self.client.set(b"c", b"v")
        before = self.client.gets(b"c")
        self.client.ask(b"touch c 1000")
        self.assertEqual(self.client.records(b"gats 500 c"), [(b"c", b"v", [before[1], before[2]])])
        self.assertEqual(self.client.gets(b"c"), before)

    def test_incr_and_append_keep_the_time(self):
        self.client.set(b"n", b"1", exptime=1)
        self.client.set(b"s", b"x", exptime=1)
        self.client.send(b"incr n 1\r\n" + b"append s 0 0 1\r\ny\r\n")
        self.client.line(), self.client.line()
        self.expect_gone(b"n", b"s")


class FlushTest(ClockCase):
    def test_flush_hides_everything_before_it_and_nothing_after(self):
        client = self.connect()
        for i in range(100):
            client.set(b"old%d" % i, b"v")
        client.send(b"flush_all\r\nset new 0 0 1\r\nv\r\nget new old1\r\n")
        self.assertEqual([client.line(), client.line()], [b"OK", b"STORED"])
        self.assertEqual([record[0] for record in client.records()], [b"new"])
        self.assertEqual(client.records(b"get " + b" ".join(b"old%d" % i for i in range(100))), [])

    def test_delayed_flush_takes_effect_later(self):
        client = self.connect()
        client.ask(b"flush_all")
        client.set(b"k", b"v")
        self.assertEqual(client.ask(b"flush_all 2"), b"OK")
        self.assertEqual(client.get(b"k"), b"v")
        self.clock(b"3")
        self.wait_gone(b"k")
        self.assertEqual(client.set(b"after", b"v"), b"STORED")

    def test_flush_noreply_then_get(self):
        client = self.connect()
        client.set(b"k", b"v")
        client.send(b"flush_all noreply\r\nget k\r\n")
        self.assertEqual(client.records(), [])

    def test_flush_is_seen_by_other_connections(self):
        one, other = self.connect(), self.connect()
        one.set(b"k", b"v")
        self.assertEqual(other.get(b"k"), b"v")
        self.assertEqual(one.ask(b"flush_all"), b"OK")
        self.assertIsNone(other.get(b"k"))
        self.assertEqual(other.store(b"add", b"k", b"w"), b"STORED")


@mxkv_only("sweeps of its own")
class SweepTest(OwnServerCase):
    """Items that no client requests expire, too."""
    options = Options(settings=(("server.debug_time", "true"),))
    count = 2000

    def setUp(self):
        super().setUp()
        for at in range(0, self.count, 500):
            self.client.send(b"".join(block(b"set", b"stays%06d" % i, b"v") for i in range(at, at + 500)))
            self.assertEqual({self.client.line() for _ in range(500)}, {b"STORED"})

    def store(self, prefix: bytes, exptime: int) -> None:
        for at in range(0, self.count, 500):
            keys = [prefix + b"%06d" % i for i in range(at, at + 500)]
            self.client.send(b"".join(block(b"set", key, b"v" * 100, exptime=exptime) for key in keys))
            self.assertEqual({self.client.line() for _ in keys}, {b"STORED"})

    def number(self, name: str) -> int:
        return int(self.client.stats()[name])

    def pass_time(self, seconds: int) -> None:
        self.assertEqual(self.client.ask(b"debugtime %d" % seconds), b"OK")

    def await_items(self, count: int, pause_s: float = 0.05) -> None:
        deadline = time.monotonic() + patience(60)
        while (found := self.number("curr_items")) != count:
            self.assertLess(time.monotonic(), deadline, f"{found} items")
            self.assertGreater(found, count)
            time.sleep(pause_s)

    def test_what_expires_goes_and_the_rest_stays(self):
        before = {name: self.number(name) for name in ("crawler_reclaimed", "expired_unfetched", "lru_crawler_starts", "get_expired")}
        self.store(b"short", 100)
        self.store(b"long", 1000)
        self.client.records(b"get short000001 short000002")
        bytes_before = self.number("bytes")
        self.pass_time(150)
        self.await_items(2 * self.count, 1.2)  # few requests: an idle server must sweep by itself
        self.assertEqual(self.number("crawler_reclaimed"), before["crawler_reclaimed"] + self.count)
        self.assertEqual(self.number("expired_unfetched"), before["expired_unfetched"] + self.count - 2)
        self.assertGreater(self.number("lru_crawler_starts"), before["lru_crawler_starts"])
        self.assertEqual(self.number("get_expired"), before["get_expired"])
        self.assertLess(self.number("bytes"), bytes_before - 100 * self.count)
        self.pass_time(1000)
        self.await_items(self.count)

    def test_what_has_expired_and_is_still_there_is_told(self):
        """Half of 256 random walks meet expired items: the standard error is some 8 percent. Five times that never happens."""
        self.store(b"first", 10)
        self.pass_time(60)
        self.await_items(self.count)
        # A sweep has just begun, and the next one does not within 40 seconds.
        self.assertEqual(self.client.ask(b"debugtime p"), b"OK")
        self.store(b"second", 2)
        self.pass_time(12)
        wait_for(lambda: 0.6 * self.count < self.number("expired_present_items") < 1.4 * self.count, "an estimate of them")
        self.assertGreater(self.number("expired_present_bytes"), 0.6 * self.count * 100)
        self.assertEqual(self.client.ask(b"debugtime r"), b"OK")
        self.pass_time(60)
        self.await_items(self.count)
        wait_for(lambda: self.number("expired_present_items") == 0, "that none is left")

    def test_the_time_that_a_touch_gave_counts(self):
        self.store(b"longer", 100)
        self.store(b"shorter", 100000)
        for i in range(self.count):
            self.client.send(b"touch longer%06d 5000 noreply\r\n" % i + (b"gat", b"mg")[i % 2] +
                             (b" 50 shorter%06d\r\n", b" shorter%06d T50\r\n")[i % 2] % i)
        for i in range(self.count):
            self.client.line()
            if i % 2 == 0:
                self.client.exactly(len(b"v" * 100 + b"\r\nEND\r\n"))
        self.pass_time(200)
        self.await_items(2 * self.count)
        self.assertEqual(self.client.get(b"longer000000"), b"v" * 100)
        self.pass_time(5000)
        self.await_items(self.count)

    def test_far_times_come(self):
        self.store(b"far", 10 * 24 * 3600)
        self.store(b"near", 8 * 24 * 3600)
        self.pass_time(9 * 24 * 3600)
        self.await_items(2 * self.count)  # a sweep has run
        self.assertEqual(self.client.get(b"far000000"), b"v" * 100)
        self.pass_time(2 * 24 * 3600)
        self.await_items(self.count)

    def test_a_flush_to_come_is_carried_out(self):
        self.assertEqual(self.client.ask(b"flush_all 100"), b"OK")
        self.client.set(b"before", b"v")
        self.pass_time(150)
        self.client.set(b"after", b"v")
        self.await_items(1)
        self.assertEqual(self.client.get(b"after"), b"v")

    def test_without_times_to_live_nothing_is_swept(self):
        quiet = 4 if LONG else 3
        self.store(b"swept", 10)
        self.pass_time(100)
        self.await_items(self.count)  # the last sweep that has work; another one may follow it
        starts = [self.number("lru_crawler_starts")]
        for _ in range(10):
            self.pass_time(100)
            time.sleep(1.2)  # workers look at the clock once a second
            starts.append(self.number("lru_crawler_starts"))
            if len(set(starts[-quiet:])) == 1 and len(starts) >= quiet:
                return
        self.fail(f"sweeps go on: {starts}")
