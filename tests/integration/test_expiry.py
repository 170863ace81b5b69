"""Times: relative, absolute, past, the 30 days boundary, touch and gat, and flush_all with a delay.

memcached's clock ticks once a second, so that an item may go a second early there; what a test waits for is
only ever "gone by then" with time to spare.
"""

import time

from harness import ServerCase, mxkv_only, patience

_DAYS_30 = 30 * 24 * 3600
_BOTH = (b"set", b"add")


class ExpiryTest(ServerCase):
    def setUp(self):
        self.client = self.connect()

    def expect_gone(self, *keys):
        deadline = time.monotonic() + patience(15)
        while self.client.records(b"get " + b" ".join(keys)):
            self.assertLess(time.monotonic(), deadline, "still there")
            time.sleep(0.05)

    def expect_stays(self, key, exptime):
        self.assertEqual(self.client.set(key, b"v", exptime=exptime), b"STORED")
        self.assertEqual(self.client.get(key), b"v", f"exptime {exptime}")

    def expect_expired_at_once(self, key, exptime):
        for verb in _BOTH:
            self.client.ask(b"delete " + key)
            self.assertEqual(self.client.store(verb, key, b"v", exptime=exptime), b"STORED")
            self.assertIsNone(self.client.get(key), f"exptime {exptime}")

    def test_relative_time_passes(self):
        self.client.set(b"short", b"v", exptime=2)
        self.client.set(b"long", b"v", exptime=1000)
        self.assertEqual(self.client.get(b"short"), b"v")
        self.expect_gone(b"short")
        self.assertEqual(self.client.get(b"long"), b"v")

    def test_absolute_time_passes(self):
        self.client.set(b"abs", b"v", exptime=int(time.time()) + 3)
        self.assertEqual(self.client.get(b"abs"), b"v")
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
        for exptime in (4000000000, 1 << 33, (1 << 63) - 1):
            self.expect_stays(b"future", exptime)
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


class FlushTest(ServerCase):
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
        deadline = time.monotonic() + patience(15)
        while client.get(b"k") is not None:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
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
