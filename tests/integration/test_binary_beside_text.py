"""The binary protocol beside the text protocol: both show the same data, times, uniques and counters."""

import base64
import re
import struct

from binary_case import BinaryCase
from harness import mxkv_only
from harness.binary import DECR, DELETE, EXISTS, GAT, GET, GETQ, INCR, SET, TOUCH, count, request, store, touch

_NUMBER = struct.Struct(">Q")


class BesideTextTest(BinaryCase):
    def test_values_flags_and_uniques_are_the_same(self):
        text = self.connect()
        cas = self.client.ask(store(SET, b"k", b"binary", flags=77)).cas
        self.assertEqual(text.gets(b"k"), (b"binary", 77, cas))
        self.assertEqual(text.store(b"cas", b"k", b"text", 78, tail=b"%d" % cas), b"STORED")
        reply = self.client.ask(request(GET, b"k"))
        self.assertEqual((reply.value, reply.flags, reply.cas), (b"text", 78, text.gets(b"k")[2]))
        self.assert_says(self.client.ask(store(SET, b"k", b"x", cas=cas)), EXISTS)
        self.assertEqual(text.ask(b"mg k c"), b"HD c%d" % reply.cas)

    def test_times_are_the_same(self):
        text = self.connect()
        self.client.ask(store(SET, b"k", b"v", exptime=1000))
        self.assertRegex(text.ask(b"mg k t"), rb"^HD t(1000|[89]\d\d)$")
        self.client.ask(touch(TOUCH, b"k", 500))
        self.assertRegex(text.ask(b"mg k t"), rb"^HD t(500|[34]\d\d)$")
        self.client.ask(touch(GAT, b"k", 0))
        self.assertEqual(text.ask(b"mg k t"), b"HD t-1")

    def test_numbers_are_the_same(self):
        text = self.connect()
        self.client.ask(count(INCR, b"n", 1, 40, 0))
        self.assertEqual(text.ask(b"incr n 2"), b"42")
        self.assertEqual(self.client.ask(count(DECR, b"n", 2)).value, _NUMBER.pack(40))

    @mxkv_only("how keys are told that no text can carry")
    def test_a_key_that_no_text_can_carry_is_told_in_base64(self):
        self.client.ask(store(SET, b"two words", b"v"))
        text = self.connect()
        self.assertEqual(text.ask(b"mg dHdvIHdvcmRz b k"), b"HD kdHdvIHdvcmRz b")
        self.assertEqual(text.ask(b"md dHdvIHdvcmRz b"), b"HD")
        self.client.ask(count(INCR, b"a number", 1, 1, 0))
        self.assertEqual(text.ask(b"mg YSBudW1iZXI= b k"), b"HD kYSBudW1iZXI= b")

    @mxkv_only("memcached limits the base64 of a key")
    def test_binary_keys_of_every_length_are_for_meta_commands_and_batches(self):
        text = self.connect()
        keys = [bytes(number % 32 for number in range(length)) for length in (1, 186, 187, 188, 249, 250)]
        for number, key in enumerate(keys):
            self.client.ask(store(SET, key, b"%d" % number))
            name = base64.b64encode(key)
            self.assertEqual(text.ask(b"mg %s b k s" % name), b"HD k%s b s1" % name)
            self.assertRegex(text.ask(b"me %s b" % name), b"^ME " + re.escape(name))
            self.assertEqual(text.ask(b"ma %s b D10" % name), b"HD")
            self.assertEqual(self.value(key), b"%d" % (number + 10))
            self.assertEqual(text.ask(b"mb 1\r\nms %s 1 b k\r\nx" % name), b"HD k%s b" % name)
            self.assertEqual(text.ask(b"mn"), b"HD")
            self.assertEqual(text.line(), b"MN")
            self.assertEqual(self.value(key), b"x")
        text.send(b"lru_crawler mgdump all\r\n")
        lines = [text.line() for _ in range(len(keys) + 1)]
        self.assertEqual(lines, [b"mg %s b" % base64.b64encode(key) for key in sorted(keys)] + [b"EN"])
        for line in lines[:-1]:
            self.assertEqual(text.ask(line), b"HD")
            self.assertEqual(text.ask(line.replace(b"mg", b"md")), b"HD")
        self.assertEqual(text.ask(b"mc - e"), b"HD A0 B0")
        self.assertEqual(text.ask(b"mg %s b" % base64.b64encode(bytes(251))), b"CLIENT_ERROR bad command line format")

    @mxkv_only("its counters")
    def test_requests_are_counted_as_those_of_the_text_protocol(self):
        before = {name: int(value) for name, value in self.client.stats().items() if value.isdigit()}
        self.client.until_noop(store(SET, b"k", b"1") + request(GET, b"k") + request(GETQ, b"none") + request(DELETE, b"none") +
                               count(INCR, b"k") + touch(TOUCH, b"k", 0) + store(SET, b"k", b"2", cas=1))
        after = self.client.stats()
        moved = {name: int(after[name]) - before[name] for name in ("cmd_set", "get_hits", "get_misses", "delete_misses", "incr_hits", "touch_hits",
                                                                     "cas_badval", "cmd_meta")}
        self.assertEqual(moved, {"cmd_set": 2, "get_hits": 1, "get_misses": 1, "delete_misses": 1, "incr_hits": 1, "touch_hits": 1,
                                 "cas_badval": 1, "cmd_meta": 0})

    @mxkv_only("its watch")
    def test_who_watches_is_told(self):
        watcher = self.connect()
        self.assertEqual(watcher.ask(b"watch mutations fetchers"), b"OK")
        self.client.ask(store(SET, b"watched", b"v"))
        self.client.ask(request(GET, b"watched"))
        told = b""
        while told.count(b"\n") < 3:
            told += watcher.exactly(1)
        self.assertRegex(told, rb"type=item_get key=watched status=not_found.*\n.*type=item_store key=watched status=stored cmd=set.*\n.*type=item_get key=watched status=found")

    @mxkv_only("its dialect of meta commands")
    def test_a_get_does_not_win_a_stale_item(self):
        text = self.connect()
        text.set(b"k", b"v")
        text.ask(b"md k I")
        self.assertEqual(self.value(b"k"), b"v")
        self.client.ask(touch(GAT, b"k", 0))
        self.assertRegex(text.ask(b"mg k"), rb"^HD X W$|^HD W X$|HD X W")
