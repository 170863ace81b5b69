"""Meta commands beyond memcached 1.6.18: E, x, C of mg, strict errors, and binary keys in every command."""

import base64

from harness import mxkv_only
from meta_case import MetaCase

_BIG = 1 << 53


@mxkv_only("came after memcached 1.6.18")
class NewerFlagsTest(MetaCase):
    def test_e_chooses_the_unique(self):
        self.store(b"ms k 1 E77", b"a")
        self.assertEqual(self.unique(b"k"), 77)
        self.assertEqual(self.one.gets(b"k"), (b"a", 0, 77))
        self.assertEqual(self.one.store(b"cas", b"k", b"b", tail=b"76"), b"EXISTS")
        self.assertEqual(self.store(b"ms k 1 C77 E18446744073709551615", b"b"), b"HD")
        self.assertEqual(self.unique(b"k"), (1 << 64) - 1)
        self.check((b"touch k 100", b"TOUCHED"), (b"mg k T200", b"HD"))
        self.assertEqual(self.unique(b"k"), (1 << 64) - 1, "neither touch changes it")
        self.assertEqual(self.store(b"ms k 1 MA E5", b"c"), b"HD")
        self.assertEqual(self.unique(b"k"), 5)
        self.check((b"md k I E6", b"HD"), (b"mg k c", b"HD c6 X W"), (b"md k x E7 C6", b"HD"), (b"mg k c s", b"HD c7 s0"))
        self.check((b"ma n N0 J5 E8 c", b"HD c8"), (b"ma n E9 C8 c", b"HD c9"), (b"mg v N0 E10 c", b"HD c10 W"))

    def test_e_never_feeds_the_mint(self):
        self.store(b"ms k 1", b"a")
        minted = self.unique(b"k")
        self.store(b"ms k 1 E%d" % (_BIG * 100), b"b")
        self.store(b"ms k 1", b"c")
        self.assertGreater(self.unique(b"k"), minted)
        self.assertLess(self.unique(b"k"), _BIG)
        self.store(b"ms k 1 E3", b"d")
        self.check((b"md k", b"HD"))
        self.store(b"ms k 1", b"e")
        self.assertGreater(self.unique(b"k"), minted)

    def test_e_of_zero_asks_for_a_fresh_unique(self):
        for line, value in ((b"ms k 1 E0", b"a"), (b"ms k 1 E0 MA N0", b"b")):
            before = self.unique(b"k") if value == b"b" else 0
            self.assertEqual(self.store(line, value), b"HD")
            self.assertGreater(self.unique(b"k"), before)
        self.one.send(b"ma n N0 E0 c\r\nma n E0 c\r\nmg v N0 E0 c\r\nmd k x E0\r\nmg k c\r\nmb 1\r\nms k 1 E0 c\r\nd\r\n")
        replies = [self.one.line() for _ in range(7)]
        self.assertEqual([reply[:4] for reply in replies], [b"HD c", b"HD c", b"HD c", b"HD", b"HD c", b"HD c", b"HD"])
        self.assertNotIn(b"c0", b" ".join(replies).split(b" "))

    def test_c_in_mg_spares_the_value(self):
        self.store(b"ms k 1 E77", b"a")
        self.check((b"mg k v c C77", b"HD c77"), (b"mg k C78", b"HD"))
        self.assertEqual(self.value(self.one, b"mg k v c C78"), (b"c77", b"a"))

    def test_x_takes_the_value_and_leaves_the_item(self):
        self.store(b"ms k 5 F7 T100", b"value")
        self.assertEqual(self.one.ask(b"md k x T30"), b"HD")
        self.assertEqual(self.value(self.one, b"mg k v f s t"), (b"f0 s0 t30", b""))
        self.store(b"ms k 5 F7 T100", b"value")
        self.assertEqual(self.one.ask(b"md k x I"), b"HD")
        self.assertEqual(self.value(self.one, b"mg k v s t"), (b"s0 t-1 X W", b""))
        self.assertEqual(self.value(self.two, b"mg k v"), (b"Z X", b""))
        self.check((b"md no x", b"NF"), (b"md no x q", b"NF"))

    def test_too_large_a_value_goes_with_the_old_one(self):
        self.store(b"ms k 1", b"a")
        size = (1 << 20) + 1
        self.assertEqual(self.store(b"ms k %d c q" % size, b"x" * size), b"SERVER_ERROR object too large for cache")
        self.check((b"mg k", b"EN"), (b"mn", b"MN"))

    def test_the_longest_value_by_pieces(self):
        size = 1 << 20
        self.one.send(b"ms k %d s O1\r\n" % size)
        for _ in range(16):
            self.one.send(b"x" * (size // 16))
        self.one.send(b"\r\n")
        self.assertEqual(self.one.line(), b"HD s%d O1" % size)
        self.assertEqual(self.value(self.two, b"mg k v s"), (b"s%d" % size, b"x" * size))
        self.assertEqual(self.store(b"ms k 1 MA s", b"y"), b"SERVER_ERROR object too large for cache")

    def test_every_error_leaves_the_stream_in_step(self):
        for line in (b"ms k 2 zz", b"ms k 2 c c", b"ms k 2 C", b"ms k 2 MQ", b"ms k 2 Fx", b"ms k 2 O" + b"o" * 32, b"ms %s 2" % (b"k" * 251),
                     b"ms = 2 b", b"ms k 2 " + b" ".join(b"bcfhklstvquxIPLOTN"[i:i + 1] for i in range(18))):
            self.assertTrue(self.store(line, b"mn").startswith(b"CLIENT_ERROR "), line)
            self.assertEqual(self.one.ask(b"mn"), b"MN", line)


@mxkv_only("control bytes in keys; ranges")
class BinaryKeysTest(MetaCase):
    RAW = b"bin\0 \r\n\xff"
    KEY = base64.b64encode(RAW)

    def test_every_command(self):
        self.assertEqual(self.store(b"ms %s 2 b k s" % self.KEY, b"10"), b"HD k%s b s2" % self.KEY)
        self.assertEqual(self.value(self.one, b"mg %s b k v" % self.KEY), (b"k%s b" % self.KEY, b"10"))
        self.assertEqual(self.value(self.one, b"ma %s v b k" % self.KEY), (b"k%s b" % self.KEY, b"11"))
        self.assertEqual(self.store(b"ms %s 1 b MA k" % self.KEY, b"2"), b"HD k%s b" % self.KEY)
        self.assertEqual(self.value(self.one, b"mg %s v b N5 k T50" % self.KEY), (b"k%s b" % self.KEY, b"112"))
        self.assertTrue(self.one.ask(b"me %s b" % self.KEY).startswith(b"ME %s exp=" % self.KEY))
        self.assertEqual(self.one.ask(b"md %s I b k" % self.KEY), b"HD k%s b" % self.KEY)
        self.assertEqual(self.one.ask(b"mg %s b k" % self.KEY), b"HD k%s b X W" % self.KEY)
        self.assertEqual(self.one.ask(b"md %s b" % self.KEY), b"HD")
        self.check((b"mg %s b k" % self.KEY, b"EN k%s b" % self.KEY), (b"md %s b k" % self.KEY, b"NF k%s b" % self.KEY),
                   (b"ma %s b k" % self.KEY, b"NF k%s b" % self.KEY))

    def test_another_key_than_its_base64(self):
        self.store(b"ms %s 1 b" % self.KEY, b"1")
        self.check((b"mg %s" % self.KEY, b"EN"))
        self.assertIsNone(self.one.get(self.KEY))

    def test_a_plain_key_sent_in_base64_is_the_same_item(self):
        self.store(b"ms Zm9v 1 b F3", b"1")
        self.assertEqual(self.one.records(b"get foo"), [(b"foo", b"1", [3])])
        self.assertEqual(self.one.ask(b"mg foo k"), b"HD kZm9v b", "as it was stored")
        self.one.set(b"foo", b"2")
        self.assertEqual(self.one.ask(b"mg Zm9v b k"), b"HD kfoo")
        self.assertEqual(self.one.ask(b"incr foo 1"), b"3")

    def test_classic_reads_cannot_name_it_and_scans_stop_before_it(self):
        self.one.set(b"bim", b"1")
        self.store(b"ms %s 1 b" % self.KEY, b"2")
        self.one.set(b"bio", b"3")
        self.one.send(b"scan bi 10\r\n")
        self.assertEqual([self.one.line() for _ in range(3)], [b"VALUE bim 0 1", b"1", b"SERVER_ERROR binary key, use mr"])
        self.one.send(b"get bin\0\r\n")
        self.assertEqual(self.one.line(), b"CLIENT_ERROR bad command line format")
        found = self.one.records(b"scan [%s + 10 base64" % base64.b64encode(b"bi"))
        self.assertEqual([(base64.b64decode(key), value) for key, value, _ in found], [(b"bim", b"1"), (self.RAW, b"2"), (b"bio", b"3")])
        self.assertEqual(self.one.records(b"scan bio 10")[0][:2], (b"bio", b"3"), "what begins behind it is not stopped")

    def test_keys_of_every_length(self):
        for length in range(1, 251):
            raw = bytes((i * 37 + length) % 256 for i in range(length))
            key = base64.b64encode(raw)
            self.assertEqual(self.store(b"ms %s 3 b k" % key, b"%03d" % length), b"HD k%s b" % key)
        for length in range(1, 251):
            raw = bytes((i * 37 + length) % 256 for i in range(length))
            self.assertEqual(self.value(self.two, b"mg %s v b" % base64.b64encode(raw)), (b"", b"%03d" % length))

    def test_bad_base64(self):
        for key in (b"=", b"A", b"AAA", b"AB==", b"AAAA=", b"A A=", b"!!!!", b"AA==AA=="):
            if b" " not in key:
                self.assertEqual(self.one.ask(b"mg %s b" % key), b"CLIENT_ERROR error decoding key", key)
        self.check((b"mn", b"MN"))
