"""Ranges in the classic form: order, bounds, ceilings, cursors, and every argument, against a sorted Python model."""

import base64

from harness import mxkv_only
from scanning import ScanCase, page_through


@mxkv_only("scans")
class ArgumentsTest(ScanCase):
    """Keys k00 to k99 by tens, with values that tell their key."""
    all = [b"k%02d" % i for i in range(0, 100, 10)]

    def setUp(self):
        self.client = self.connect()
        self.client.ask(b"flush_all")
        self.load(self.client, ((key, b"v-" + key) for key in self.all))

    def test_start_and_count(self):
        self.assertEqual(self.client.records(b"scan k30 2"), [(b"k30", b"v-k30", [0]), (b"k40", b"v-k40", [0])])
        self.assertEqual(self.keys(b"scan k35 3"), [b"k40", b"k50", b"k60"])
        self.assertEqual(self.keys(b"scan a 100"), self.all)
        self.assertEqual(self.keys(b"scan z 100"), [])
        self.assertEqual(self.keys(b"scan - 3"), self.all[:3])

    def test_bounds(self):
        cases = {
            b"scan [k20 [k40 100": [b"k20", b"k30", b"k40"],
            b"scan k20 [k40 100": [b"k20", b"k30", b"k40"],
            b"scan (k20 [k40 100": [b"k30", b"k40"],
            b"scan [k20 (k40 100": [b"k20", b"k30"],
            b"scan (k20 (k40 100": [b"k30"],
            b"scan (k20 (k30 100": [],
            b"scan [k20 [k20 100": [b"k20"],
            b"scan [k20 (k20 100": [],
            b"scan [k40 [k20 100": [],
            b"scan - + 100": self.all,
            b"scan - (k20 100": [b"k00", b"k10"],
            b"scan (k80 + 100": [b"k90"],
            b"scan [k15 [k35 100": [b"k20", b"k30"],
            b"scan - + 4": self.all[:4],
        }
        for command, expected in cases.items():
            with self.subTest(command):
                self.assertEqual(self.keys(command), expected)

    def test_reverse_changes_only_the_order(self):
        self.assertEqual(self.keys(b"scan - + 100 reverse"), self.all[::-1])
        self.assertEqual(self.keys(b"scan (k20 [k60 2 reverse"), [b"k60", b"k50"])
        self.assertEqual(self.keys(b"scan [k15 (k40 100 reverse"), [b"k30", b"k20"])

    def test_keys_only(self):
        self.assertEqual(self.client.records(b"scan [k20 [k30 10 keys"), [(b"k20", None, []), (b"k30", None, [])])

    def test_scans_gives_the_cas_of_gets(self):
        found = self.client.records(b"scans [k20 [k30 10")
        self.assertEqual([record[2][1] for record in found], [self.client.gets(key)[2] for key in (b"k20", b"k30")])

    def test_prefix(self):
        self.load(self.client, ((key, b"v") for key in (b"j", b"k", b"k5", b"k5\xff", b"k6", b"l")))
        self.assertEqual(self.keys(b"pscan k5 100"), [b"k5", b"k50", b"k5\xff"])
        self.assertEqual(self.keys(b"pscan k 2"), [b"k", b"k00"])
        self.assertEqual(self.keys(b"pscan k5 100 reverse"), [b"k5\xff", b"k50", b"k5"])
        self.assertEqual(self.client.records(b"pscan k5 1 keys"), [(b"k5", None, [])])
        self.assertEqual(len(self.client.records(b"pscans k5 100")[0][2]), 2)
        self.assertEqual(self.keys(b"pscan zz 100"), [])

    def test_keys_that_look_like_bounds_need_the_sign(self):
        odd = [b"(a", b"+", b"-", b"[a"]
        self.load(self.client, ((key, b"v") for key in odd))
        self.assertEqual(self.keys(b"scan [(a [[a 100"), odd)
        self.assertEqual(self.keys(b"scan [- (k 100"), [b"-", b"[a"])
        self.assertEqual(self.keys(b"scan [+ [+ 100"), [b"+"])

    def test_limit_alone_gives_no_cursor_unless_asked(self):
        self.assertNotIn("CURSOR", self.keys(b"scan - + 4"))
        self.assertEqual(self.keys(b"scan - + 4 cursor")[-1], "CURSOR")
        self.assertNotIn("CURSOR", self.keys(b"scan - + 100 cursor"))

    def test_paging_by_every_limit_gives_everything_once(self):
        for limit in range(1, 12):
            for words in (b"", b" reverse", b" keys"):
                first = b"scan - + %d cursor%s" % (limit, words)
                found = page_through(self.client, first, lambda c, w=words, n=limit: b"scan cursor=%s %d cursor%s" % (
                    c, n, w.replace(b" reverse", b"")))
                self.assertEqual(found, self.all[::-1] if b"reverse" in words else self.all, first)

    def test_paging_keeps_the_bounds(self):
        for first, expected in ((b"scan (k20 [k70 2 cursor", self.all[3:8]), (b"scan [k20 (k70 2 cursor", self.all[2:7]),
                                (b"scan (k20 [k70 2 cursor reverse", self.all[3:8][::-1])):
            found = page_through(self.client, first, lambda c: b"scan cursor=%s 2 cursor" % c)
            self.assertEqual(found, expected, first)

    def test_paging_a_prefix(self):
        self.load(self.client, ((b"k5%d" % i, b"v") for i in range(10)))
        found = page_through(self.client, b"pscan k5 3 cursor", lambda c: b"pscan cursor=%s 3 cursor" % c)
        self.assertEqual(found, [b"k5%d" % i for i in range(10)])

    def test_a_cursor_is_good_on_another_connection(self):
        cursor = self.client.records(b"scan - + 3 cursor")[-1][1]
        self.assertEqual([r[0] for r in self.connect().records(b"scan cursor=%s 100" % cursor)], self.all[3:])

    def test_bytes_end_a_page_early_but_never_an_empty_one(self):
        self.load(self.client, ((b"b%d" % i, b"x" * 1000) for i in range(10)))
        page = self.keys(b"pscan b 10 bytes=3500")
        self.assertIn(len(page) - 1, (2, 3, 4))
        self.assertEqual(page[-1], "CURSOR")
        self.assertEqual(self.keys(b"pscan b 10 bytes=1")[0], b"b0")

    def test_malformed_ranges(self):
        for command in (b"scan", b"scan a", b"scan a x", b"scan a [b", b"scan a [b x", b"scan a [b -1", b"scan a b 10",
                        b"scan a [b 10 bogus", b"scan a [b 10 bytes=x", b"pscan", b"pscan a", b"pscan a x",
                        b"scan " + b"k" * 251 + b" 10", b"scan a\rb 10"):
            with self.subTest(command):
                self.assertRegex(self.client.ask(command), b"^CLIENT_ERROR ")
        for command in (b"scan cursor=nonsense 10", b"scan cursor= 10"):
            with self.subTest(command):
                self.assertRegex(self.client.ask(command), b"^CLIENT_ERROR ")
        self.assertEqual(self.keys(b"scan - + 1"), [b"k00"])

    def test_expired_and_deleted_keys_are_left_out(self):
        self.client.set(b"k20", b"v", exptime=-1)
        self.client.ask(b"delete k30")
        self.assertEqual(self.keys(b"scan k10 3"), [b"k10", b"k40", b"k50"])


@mxkv_only("scans")
class BinaryTest(ScanCase):
    def setUp(self):
        self.client = self.connect()
        self.client.ask(b"flush_all")

    def test_high_bytes_order_by_memcmp(self):
        keys = {bytes([b]) for b in range(0x21, 0x100) if b != 0x7f}
        keys |= {bytes([a, b]) for a in (0x21, 0x61, 0x80, 0xff) for b in (0x21, 0x7e, 0x80, 0xc3, 0xfe, 0xff)}
        keys |= {b"same8byt" + bytes([b]) * n for b in (0x21, 0xff) for n in range(4)}
        self.load(self.client, ((key, b"v") for key in keys))
        self.assertEqual(self.keys(b"scan - + 1000"), sorted(keys))
        self.assertEqual(self.keys(b"scan - + 1000 reverse"), sorted(keys, reverse=True))

    def test_keys_with_control_bytes_are_keys_like_others(self):
        keys = [b"\x01", b"a", b"a\x10\x1f", b"a\x7f", b"b\tc"]
        self.load(self.client, ((key, b"v") for key in keys))
        self.assertEqual(self.keys(b"scan - + 10"), keys)
        self.assertEqual(self.keys(b"scan a\x01 [a\x7f 10"), keys[2:4])
        self.assertEqual([key for key, _, _ in self.client.records(b"get " + b" ".join(keys))], keys)

    def test_base64_carries_keys_and_bounds(self):
        self.load(self.client, ((key, b"v") for key in (b"b64a", b"b64b\xff", b"b64c")))
        low, high = base64.b64encode(b"b64a"), base64.b64encode(b"b64c")
        found = self.keys(b"scan [%s (%s 10 base64" % (low, high))
        self.assertEqual([base64.b64decode(key, validate=True) for key in found], [b"b64a", b"b64b\xff"])
        self.assertRegex(self.client.ask(b"scan [!!! 10 10 base64"), b"^CLIENT_ERROR ")
