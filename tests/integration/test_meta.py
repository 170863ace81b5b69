"""Meta commands by hand: stale items and wins as two clients see them, the order of flags, quiet commands, me."""

from harness import mxkv_only, scaled
from meta_case import MetaCase

_BIG = 1 << 53


class StaleTest(MetaCase):
    def test_one_wins_a_stale_item_and_others_are_sent_away_until_it_is_set(self):
        self.store(b"ms k 3 T100", b"old")
        self.assertEqual(self.one.ask(b"md k I T30"), b"HD")
        self.assertEqual(self.value(self.one, b"mg k v t"), (b"t30 X W", b"old"))
        for client in (self.two, self.one, self.two):
            self.assertEqual(self.value(client, b"mg k v"), (b"Z X", b"old"))
        self.assertEqual(self.store(b"ms k 3", b"new"), b"HD")
        self.assertEqual(self.value(self.two, b"mg k v"), (b"", b"new"))

    def test_invalidated_again_it_is_won_again(self):
        self.store(b"ms k 1", b"a")
        for _ in range(3):
            self.assertEqual(self.one.ask(b"md k I"), b"HD")
            self.assertEqual(self.one.ask(b"mg k"), b"HD X W")
            self.assertEqual(self.two.ask(b"mg k"), b"HD Z X")

    def test_the_unique_changes_with_an_invalidation(self):
        self.store(b"ms k 1", b"a")
        before = self.unique(b"k")
        self.one.ask(b"md k I")
        self.assertEqual(self.one.ask(b"mg k"), b"HD X W")
        reply = self.one.ask(b"mg k c").split(b" ")
        self.assertGreater(int(reply[1][1:]), before)
        self.assertEqual(self.store(b"ms k 1 C%d" % before, b"b"), b"EX")
        self.assertEqual(self.store(b"ms k 1 C%s" % reply[1][1:], b"b"), b"HD")
        self.assertEqual(self.value(self.one, b"mg k v"), (b"", b"b"))

    def test_a_lower_unique_with_i_stores_as_stale(self):
        self.store(b"ms k 3 T100", b"one")
        before = self.unique(b"k")
        self.one.ask(b"md k I T50")
        self.assertEqual(self.one.ask(b"mg k"), b"HD X W")
        self.assertEqual(self.store(b"ms k 3 I C%d T900" % before, b"two"), b"HD")
        # The value is new; the time to live, the staleness and the winner stay.
        self.assertEqual(self.value(self.two, b"mg k v t"), (b"t50 Z X", b"two"))
        self.assertEqual(self.store(b"ms k 3 I C%d" % _BIG, b"no!"), b"EX", "a greater one does not")
        self.assertEqual(self.store(b"ms k 3 C%d" % before, b"no!"), b"EX", "nor without I")
        self.assertEqual(self.store(b"ms k 3 C%d I" % self.unique(b"k"), b"yes"), b"HD")
        self.assertEqual(self.value(self.two, b"mg k v"), (b"", b"yes"), "with the right one nothing is stale")

    def test_stored_as_stale_it_is_there_to_be_won(self):
        self.store(b"ms k 3", b"one")
        before = self.unique(b"k")
        self.store(b"ms k 3", b"two")
        self.assertEqual(self.store(b"ms k 5 I C%d" % before, b"three"), b"HD")
        self.assertEqual(self.value(self.one, b"mg k v"), (b"X W", b"three"))
        self.assertEqual(self.value(self.two, b"mg k v"), (b"Z X", b"three"))

    def test_classic_commands_see_the_stale_value_and_renew_it(self):
        self.store(b"ms k 1 F5", b"a")
        self.one.ask(b"md k I")
        self.assertEqual(self.one.records(b"get k"), [(b"k", b"a", [5])])
        self.assertEqual(self.one.ask(b"touch k 100"), b"TOUCHED")
        self.assertEqual(self.one.ask(b"mg k"), b"HD X W", "neither get nor touch wins")
        self.assertEqual(self.one.ask(b"touch k 0"), b"TOUCHED")
        self.assertEqual(self.two.ask(b"mg k"), b"HD Z X", "nor do they take it away")
        self.assertEqual(self.one.store(b"append", b"k", b"b"), b"STORED")
        self.assertEqual(self.value(self.two, b"mg k v"), (b"", b"ab"))

    def test_md_with_a_unique(self):
        self.store(b"ms k 1", b"a")
        unique = self.unique(b"k")
        self.check((b"md k I C%d" % (unique + 1), b"EX"), (b"md k C1 k O7", b"EX kk O7"),
                   (b"mg k", b"HD"), (b"md k I C%d" % unique, b"HD"), (b"mg k", b"HD X W"))


class VivifyTest(MetaCase):
    def test_the_first_makes_an_empty_item_and_wins_it(self):
        self.assertEqual(self.value(self.one, b"mg k N30 v t s"), (b"t30 s0 W", b""))
        self.assertEqual(self.value(self.two, b"mg k N30 v s"), (b"s0 Z", b""))
        self.assertEqual(self.two.get(b"k"), b"")
        self.assertEqual(self.store(b"ms k 5", b"value"), b"HD")
        self.assertEqual(self.value(self.two, b"mg k N30 v t"), (b"t-1", b"value"))

    def test_nothing_is_made_without_it(self):
        self.check((b"mg k v O1", b"EN O1"), (b"mg k T30 k", b"EN kk"), (b"mg k R30", b"EN"), (b"mg k v", b"EN"))

    def test_an_expired_item_is_made_anew(self):
        self.store(b"ms k 3 T-1 F9", b"old")
        self.assertEqual(self.value(self.one, b"mg k N30 v f s"), (b"f0 s0 W", b""))

    def test_n_and_t_in_the_order_sent(self):
        self.check((b"mg a N30 T90 t", b"HD t90 W"), (b"mg b T90 N30 t", b"HD t30 W"), (b"mg c t N30", b"HD t-1 W"),
                   (b"mg d N30 t T90", b"HD t30 W"), (b"mg d t", b"HD t90 Z"), (b"mg b t T50", b"HD t30 Z"))

    def test_recache(self):
        self.store(b"ms k 1 T100", b"a")
        self.assertEqual(self.one.ask(b"mg k R30"), b"HD")
        self.assertEqual(self.one.ask(b"mg k R200"), b"HD W")
        self.assertEqual(self.two.ask(b"mg k R200"), b"HD Z")
        self.assertEqual(self.two.ask(b"mg k"), b"HD Z")
        self.store(b"ms k 1 T100", b"b")
        self.assertEqual(self.two.ask(b"mg k R30"), b"HD")
        self.store(b"ms k 1", b"c")
        self.assertEqual(self.two.ask(b"mg k R2000"), b"HD", "what stays for ever is never short of time")

    def test_behind_the_winning_request_of_a_pipeline_each_read_tells_of_it(self):
        for number in range(20):
            key = b"k%d" % number
            self.store(b"ms %s 1 T100" % key, b"a")
            self.one.send(b"mg %s R200\r\n" % key + b"mg %s\r\n" % key * 3 + b"mn\r\n")
            self.assertEqual([self.one.line() for _ in range(5)], [b"HD W", b"HD Z", b"HD Z", b"HD Z", b"MN"])

    def test_recache_counts_from_the_touch_before_it(self):
        self.store(b"ms k 1 T100", b"a")
        self.check((b"mg k T500 R200", b"HD"), (b"mg k R200 T50", b"HD"), (b"mg k T50 R200", b"HD W"))

    @mxkv_only("came after memcached 1.6.18")
    def test_append_makes_an_item_too(self):
        self.assertEqual(self.store(b"ms k 2 MA", b"ab"), b"NS")
        self.assertEqual(self.store(b"ms k 2 MA N30", b"ab"), b"HD")
        self.assertEqual(self.store(b"ms k 2 MP N90", b"cd"), b"HD")
        self.assertEqual(self.value(self.one, b"mg k t v"), (b"t30", b"cdab"))

    def test_arithmetic_makes_an_item_too(self):
        self.check((b"ma n", b"NF"), (b"ma n k O3", b"NF kn O3"))
        self.assertEqual(self.value(self.one, b"ma n N30 J13 D5 v t"), (b"t30", b"13"))
        self.assertEqual(self.value(self.one, b"ma n N90 J13 D5 v t"), (b"t30", b"18"))
        self.assertEqual(self.value(self.one, b"ma n MD D20 T0 v t"), (b"t-1", b"0"))


class FlagsTest(MetaCase):
    def test_t_before_and_after_the_touch(self):
        self.store(b"ms k 1 T1000", b"a")
        self.check((b"mg k t T30", b"HD t1000"), (b"mg k T90 t", b"HD t90"), (b"mg k T0 t", b"HD t-1"), (b"mg k t", b"HD t-1"), (b"mg k T-1", b"HD"), (b"mg k", b"EN"))

    def test_h_and_l_tell_of_before_and_u_leaves_no_trace(self):
        self.store(b"ms k 1", b"a")
        self.check((b"mg k u h", b"HD h0"), (b"mg k h u", b"HD h0"), (b"mg k h", b"HD h0"), (b"mg k h", b"HD h1"),
                   (b"mg k u h", b"HD h1"))
        self.assertRegex(self.one.ask(b"mg k l"), rb"\AHD l\d+\Z")
        self.store(b"ms k 1", b"b")
        self.check((b"mg k h u", b"HD h0"))
        for read in (b"touch k 30", b"touch k 0"):
            self.store(b"ms k 1", b"b")
            self.assertEqual(self.one.ask(read), b"TOUCHED")
            self.assertEqual(self.one.ask(b"mg k h"), b"HD h1", read)
        for read in (b"get k", b"gets k", b"gat 0 k", b"gat 30 k"):
            self.store(b"ms k 1", b"b")
            self.assertEqual(len(self.one.records(read)), 1)
            self.assertEqual(self.one.ask(b"mg k h"), b"HD h1", read)
        self.check((b"md k I", b"HD"), (b"mg k h", b"HD h1 X W"))

    @mxkv_only("scans")
    def test_a_scan_leaves_no_trace(self):
        self.store(b"ms k 1", b"a")
        self.assertEqual(len(self.one.records(b"scan k 10")), 1)
        self.check((b"mg k h", b"HD h0"))

    def test_flags_come_back_in_the_order_sent(self):
        self.store(b"ms k 2 F7", b"ab")
        self.check((b"mg k s k f t O12", b"HD s2 kk f7 t-1 O12"), (b"mg k O12 t f k s", b"HD O12 t-1 f7 kk s2"),
                   (b"mg k P L q s", b"HD s2"), (b"mg k Pabc Ldef O f", b"HD O f7"))

    def test_opaque_and_key_come_back_from_failures(self):
        self.store(b"ms k 1", b"a")
        self.check((b"mg no k O1", b"EN kno O1"), (b"md no O1 k", b"NF O1 kno"), (b"ma no k O1", b"NF kno O1"),
                   (b"md k C1 O2", b"EX O2"), (b"ma k C1 O2 k", b"EX O2 kk"))
        self.assertEqual(self.store(b"ms k 1 ME O3 k", b"b"), b"NS O3 kk")
        self.assertEqual(self.store(b"ms no 1 MR k O3", b"b"), b"NS kno O3")
        self.assertEqual(self.store(b"ms k 1 C1 k", b"b"), b"EX kk")
        self.assertEqual(self.store(b"ms no 1 C1 O4", b"b"), b"NF O4")

    def test_q_silences_what_is_to_be_expected_and_mn_is_the_barrier(self):
        self.one.send(b"mg no v q\r\nms k 2 q\r\n12\r\nma k q\r\nma k v q\r\nmg k v q\r\nmd k q\r\nmg k q\r\nmn\r\n")
        self.assertEqual([self.one.line() for _ in range(3)], [b"VA 2", b"14", b"MN"])
        # Quiet commands still report failures and errors.
        self.one.send(b"ms k 1 q MR\r\nx\r\nms k 1 q C1\r\nx\r\nmd k q\r\nma k q\r\nms k 1 q\r\nx\r\nms k 1 q ME\r\nx\r\n"
                      b"ma k q\r\nmd k q C1\r\nms k 1 q\r\nxyzmg k q z\r\nmn\r\n")
        self.assertEqual([self.one.line() for _ in range(10)],
                         [b"NS", b"NF", b"NF", b"NF", b"NS", b"CLIENT_ERROR cannot increment or decrement non-numeric value", b"EX",
                          b"CLIENT_ERROR bad data chunk", b"CLIENT_ERROR invalid flag", b"MN"])

    def test_thousands_of_quiet_misses_are_silent(self):
        count = scaled(5000, 500)
        self.one.send(b"".join(b"mg miss%d v q k\r\n" % i for i in range(count)) + b"mn\r\n")
        self.assertEqual(self.one.line(), b"MN")

    def test_meta_and_classic_commands_of_one_stream_are_answered_in_order(self):
        self.one.send(b"".join(b"ms k%d 3 q\r\n%03d\r\nget k%d\r\nmg k%d v q\r\nmd k%d q\r\nmg k%d q\r\nversion\r\n" % ((i % 7, i) + (i % 7,) * 4)
                               for i in range(300)))
        for i in range(300):
            self.assertEqual(self.one.records(), [(b"k%d" % (i % 7), b"%03d" % i, [0])])
            self.assertEqual([self.one.line(), self.one.line()], [b"VA 3", b"%03d" % i])
            self.assertTrue(self.one.line().startswith(b"VERSION"))

    def test_me(self):
        # 1.6.18 counts a time to live below zero.
        self.store(b"ms k 3 T100", b"abc")
        self.one.ask(b"mg k")
        self.assertRegex(self.one.ask(b"me k"), rb"\AME k exp=-?(100|99|98) la=\d+ cas=\d+ fetch=yes cls=\d+ size=\d+\Z")
        self.check((b"me no", b"EN"))
