"""Ranges that an operation holds while it runs: mr, mc and mx with X, and mt."""

from harness import Options, mxkv_only, scaled, wait_for
from meta_ranges import MetaCase, all_items, ask_flags, ask_page, delete_all, encoded, pages
from scanning import UNHURRIED

TOO_MANY = b"CLIENT_ERROR too many keys in the range"


class LockedCase(MetaCase):
    options = Options(workers=2, settings=(UNHURRIED, ("limits.locked_items", "5000"), ("limits.scan_items", "1000")))

    def setUp(self):
        super().setUp()
        self.load(self.client, ((b"k%02d" % i, b"%d" % i) for i in range(40)))


@mxkv_only("mr")
class LockedPageTest(LockedCase):
    def test_a_page_is_as_without(self):
        for line in (b"mr k p v", b"mr k10 Hk20 v", b"mr k10 Hk20 i o v", b"mr - r A7 k", b"mr k20 r Hk10 v c",
                     b"mr zzz", b"mr k20 Hk10"):
            with self.subTest(line):
                self.assertEqual(ask_page(self.client, line + b" X").items, ask_page(self.client, line).items)

    def test_pages_go_on(self):
        self.assertEqual(all_items(self.client, b"mr k p v A7 X"), all_items(self.client, b"mr k p v"))
        self.assertEqual([len(page.items) for page in pages(self.client, b"mr k35 r A9 X")], [9, 9, 9, 9])

    def test_keys_of_any_bytes(self):
        keys = [b"\x00", b"\x00\xff", b"\xff" * 3, b"\xff" * 180]
        self.store_binary((key, b"1") for key in keys)
        for prefix, found in ((b"\x00", keys[:2]), (b"\xff" * 180, keys[3:]), (b"\xff", keys[2:3])):
            self.assertEqual(ask_page(self.client, b"mr %s p b X" % encoded(prefix)).keys, found)
            self.assertEqual(ask_page(self.client, b"mr %s p b r X" % encoded(prefix)).keys, found[::-1])
            self.assertEqual(ask_flags(self.client, b"mx %s p b X" % encoded(prefix))[b"A"], b"%d" % len(found))

    def test_pages_without_a_far_bound_go_on_to_the_end(self):
        keys = [b"m%06d" % i for i in range(scaled(6000, 1500))]
        self.load(self.client, ((key, b"1") for key in keys))
        wait_for(lambda: self.client.ask(b"mc n p X") and int(self.client.stats(b"locks")["slot_maps"]) > 0, "a map is drawn")
        for line in (b"mr m X", b"mr m A7 X", b"mr m o A300 X", b"mr - X v"):
            with self.subTest(line):
                found = [item[0] for item in all_items(self.client, line) if item[0] >= b"m"]
                self.assertTrue(found == keys, "forward")
        for line in (b"mr n r X", b"mr n r A90 X", b"mr - r X"):
            with self.subTest(line):
                found = [item[0] for item in all_items(self.client, line) if item[0] >= b"m"]
                self.assertTrue(found == keys[::-1], "backward")
        # Long stretches without keys.
        self.assertEqual(sum(delete_all(self.client, b"mx m0 p")), len(keys))
        self.load(self.client, ((key, b"1") for key in (keys[0], keys[-1])))
        self.assertEqual(ask_page(self.client, b"mr %s o X" % keys[0]).keys, keys[-1:])
        self.assertEqual(ask_page(self.client, b"mr %s o r X Hm" % keys[-1]).keys, keys[:1])
        self.assertEqual(all_items(self.client, b"mr %s o r X" % keys[-1])[0][0], keys[0])
        self.assertEqual(all_items(self.client, b"mr %s o r X" % keys[0])[0][0], b"k39")

    def test_requests_around_it_keep_their_order(self):
        for _ in range(scaled(200, 20)):
            self.client.send(b"set o1 0 0 1\r\na\r\nmr o p v X\r\nset o1 0 0 1\r\nb\r\nmx o p X\r\nmr o p v X\r\n")
            self.assertEqual([self.client.line() for _ in range(7)],
                             [b"STORED", b"VA 1 ko1", b"a", b"EN A1", b"STORED", b"HD A1", b"EN A0"])


@mxkv_only("mr")
class EmptySlotsTest(LockedCase):
    """A page without a far bound holds a few slots at a time; here many slots have lost all their items."""

    def walk(self, line: bytes, most: int) -> list:
        """The keys of all pages; cuts off endless paging after `most` keys."""
        keys = []
        for page in pages(self.client, line):
            keys += page.keys
            if len(keys) > most:
                break
        return keys

    def expect_pages_around(self, first: int, last: int, count: int) -> None:
        """Deletes, of `count` keys, those from `first` to before `last`; then pages must skip the gap."""
        keys = [b"w%05d" % i for i in range(count)]
        self.load(self.client, ((key, b"1") for key in keys))
        wait_for(lambda: ask_page(self.client, b"mr w00010 X A1").keys and int(self.client.stats(b"locks")["slot_maps"]) > 0,
                 "a map is drawn")
        self.assertEqual(sum(delete_all(self.client, b"mx %s H%s" % (keys[first], keys[last]))), last - first)
        middle = keys[(first + last) // 2]
        above, below = keys[last:], keys[:first][::-1] + [b"k%02d" % i for i in range(39, -1, -1)]
        for start in (keys[first], middle, keys[last - 1]):
            for line, following in ((b"mr %s X A2", above[:2]), (b"mr %s r X A2", below[:2])):
                with self.subTest(line % start):
                    self.assertEqual(ask_page(self.client, line % start).keys, following)
        for size in (1, 7, 300):
            with self.subTest(size):
                self.assertTrue(self.walk(b"mr %s X A%d" % (middle, size), count) == above, "forward")
                self.assertTrue(self.walk(b"mr %s r X A%d" % (middle, size), count) == below, "backward")
        with self.subTest("from outside"):
            self.assertTrue(self.walk(b"mr w X A90", count) == keys[:first] + above, "forward")
            self.assertTrue(self.walk(b"mr x r X A90", count) == above[::-1] + below, "backward")

    def test_pages_pass_over_them_from_near_the_first_key(self):
        self.expect_pages_around(10, scaled(14000, 3500), scaled(20000, 5000))

    def test_pages_pass_over_them_to_near_the_last_key(self):
        self.expect_pages_around(scaled(6000, 1500), scaled(20000, 5000) - 10, scaled(20000, 5000))


@mxkv_only("mc")
class LockedCountTest(LockedCase):
    def test_a_count_is_exact(self):
        self.assertEqual(self.client.ask(b"mc k p X Msnx"), b"HD A40 B190 N40 Ms780 Mn0 Mx39")
        self.assertEqual(self.client.ask(b"mc k10 Hk20 X"), b"HD A10 B50")
        self.assertEqual(self.client.ask(b"mc z p X Oq"), b"HD A0 B0 Oq")

    def test_more_than_may_be_held_is_refused(self):
        self.load(self.client, ((b"m%05d" % i, b"v") for i in range(5001)))
        self.assertEqual(self.client.ask(b"mc m p X"), TOO_MANY)
        self.assertEqual(self.client.ask(b"mx m p X"), TOO_MANY)
        self.assertEqual(self.client.ask(b"mt m p T30"), TOO_MANY)
        self.assertEqual(self.client.ask(b"mc m p e"), b"HD A5001 B35007")
        self.assertEqual(self.client.ask(b"md m00000"), b"HD")
        self.assertEqual(self.client.ask(b"mc m p X"), b"HD A5000 B35000")
        self.assertEqual(self.client.ask(b"mg m00001 t"), b"HD t-1")
        self.assertEqual(self.client.ask(b"mx m p X"), b"HD A5000")


@mxkv_only("mx")
class LockedDeleteTest(LockedCase):
    def test_all_of_it_or_nothing(self):
        self.assertEqual(self.client.ask(b"mx k1 p X A9"), TOO_MANY)
        self.assertEqual(self.client.ask(b"mc k1 p X"), b"HD A10 B50")
        self.assertEqual(self.client.ask(b"mx k1 p X A10 Oq"), b"HD A10 Oq")
        self.assertEqual(self.client.ask(b"mx k1 p X"), b"HD A0")
        self.assertEqual(self.client.ask(b"mc k p X"), b"HD A30 B140")

    def test_bounds_are_those_of_a_page(self):
        for line in (b"k05 Hk10", b"k05 Hk12 i o", b"k3 p", b"- Hk04 i"):
            with self.subTest(line):
                doomed = ask_page(self.client, b"mr %s" % line).keys
                rest = [key for key in ask_page(self.client, b"mr -").keys if key not in doomed]
                self.assertEqual(ask_flags(self.client, b"mx %s X" % line)[b"A"], b"%d" % len(doomed))
                self.assertEqual(ask_page(self.client, b"mr -").keys, rest)

    def test_items_that_expired_do_not_count(self):
        self.client.store(b"set", b"k99", b"gone", exptime=-1)
        self.assertEqual(self.client.ask(b"mx k9 p X A1"), b"HD A0")

    def test_ranges_of_many_leaves_and_slots(self):
        count = scaled(4000, 600)

        def counts():
            return self.client.ask(b"mc d p X").split()[1] == b"A%d" % count

        for _ in range(2):
            self.load(self.client, ((b"d%06d" % i, b"v%d" % i) for i in range(count)))
            # An operation draws the map of keys to slots when it finds many more keys than at the last drawing.
            wait_for(lambda: counts() and int(self.client.stats(b"locks")["slot_maps"]) > 0, "a map is drawn")
            self.assertEqual(self.client.ask(b"mx d0001 p X"), b"HD A100")
            self.assertEqual(self.client.ask(b"mx d p X"), b"HD A%d" % (count - 100))
            self.assertEqual(ask_page(self.client, b"mr d p").items, [])
        self.assertEqual(self.client.ask(b"mc k p X"), b"HD A40 B190")

    def test_quiet(self):
        self.client.send(b"mx k0 p X q\r\nmx k1 p X q A1\r\nmn\r\n")
        self.assertEqual([self.client.line() for _ in range(2)], [TOO_MANY, b"MN"])

    def test_bad_lines(self):
        for line in (b"mx - X U5", b"mx - X Gabc", b"mc - X Dk", b"mt k p", b"mt k p T30 Gabc", b"mt k p T30 r", b"mt k p T30 U4",
                     b"mt k p Tx", b"mt", b"mr - X X"):
            with self.subTest(line):
                self.assertRegex(self.client.ask(line), b"^CLIENT_ERROR ")
        self.assertEqual(self.client.ask(b"mc k p X"), b"HD A40 B190")


@mxkv_only("mt")
class RangeTouchTest(LockedCase):
    def test_all_get_the_time(self):
        before = self.client.gets(b"k15")[2]
        self.client.store(b"set", b"k16", b"16", exptime=1000)
        self.assertEqual(self.client.ask(b"mt k1 p T300 Oq"), b"HD A10 Oq")
        for item in ask_page(self.client, b"mr k1 p t").items:
            self.assertIn(int(item[2][b"t"]), range(1, 301))
        self.assertEqual(self.client.ask(b"mg k20 t"), b"HD t-1")
        self.assertEqual(self.client.gets(b"k15"), (b"15", 0, before), "the version stays")
        self.assertEqual(self.client.ask(b"mt k1 p T0"), b"HD A10")
        self.assertEqual({item[2][b"t"] for item in ask_page(self.client, b"mr k1 p t").items}, {b"-1"})

    def test_a_time_in_the_past_ends_them(self):
        self.assertEqual(self.client.ask(b"mt k1 p T-1"), b"HD A10")
        self.assertEqual(self.client.ask(b"mc k p X"), b"HD A30 B140")
        self.assertEqual(self.client.ask(b"mt k1 p T30"), b"HD A0")

    def test_too_many_are_left_alone(self):
        self.assertEqual(self.client.ask(b"mt k1 p T300 A9"), TOO_MANY)
        self.assertEqual({item[2][b"t"] for item in ask_page(self.client, b"mr k1 p t").items}, {b"-1"})

    def test_large_values_keep_their_bytes(self):
        value = bytes(range(256)) * 2000
        self.client.set(b"large", value)
        self.assertEqual(self.client.ask(b"mt large p T300"), b"HD A1")
        self.assertEqual(self.client.get(b"large"), value)
        self.assertEqual(self.client.ask(b"mt large p T400"), b"HD A1")
        self.assertEqual(self.client.get(b"large"), value)


class TwoSlotsLockedPageTest(LockedPageTest):
    """Nearly every operation meets the others, and single writes."""
    options = Options(workers=2, settings=(UNHURRIED, ("experimental.lock_slots", "2")))


class OneWorkerEmptySlotsTest(EmptySlotsTest):
    options = Options(workers=1, settings=TwoSlotsLockedPageTest.options.settings[:-1])


class TwoSlotsLockedDeleteTest(LockedDeleteTest):
    options = TwoSlotsLockedPageTest.options


class TwoSlotsRangeTouchTest(RangeTouchTest):
    options = Options(workers=3, settings=TwoSlotsLockedPageTest.options.settings)
