"""The lines of watches, without a server."""

import random
import unittest

import mxkv
from mxkv._changes import Change, Changes, Over, WatchForm, WatchReader
from mxkv._ranges import Range
from mxkv._wire import Codec, PlainSerde, Reply

CODEC = Codec(PlainSerde())
SECTIONS = (b"HD Ow\r\nWS Ow\r\nWB 2\r\nWV 6 kuser:1 c17 f5 s6 t-1\r\n\r\nWE O\r\nWP ka2V5IA== b c18 t30 X\r\nWE Ow\r\n"
            b"WS Ow\r\nWG ka Rd\r\nWG ka2V5IA== b Re\r\nWG kb Rx\r\nWT ka t9\r\nWT kb t-1\r\nWX ka Hc o i Rd\r\nWX k Rf t2\r\n"
            b"WX kYSA= HYyA= b Rf\r\nWY kuser: Huser; t5\r\nWP klarge s70000\r\nWE Ow G9c41e07a55d2b813.1042 m7\r\nWO Ow ends G1.2\r\n")
CHANGES = [
    Change("put", b"user:1", value=b"\r\nWE O", size=6, flags=5, unique=17, ttl=None),
    Change("put", b"key ", unique=18, ttl=30, stale=True),
    Change("deleted", b"a"), Change("evicted", b"key "), Change("expired", b"b"), Change("touched", b"a", ttl=9), Change("touched", b"b"),
    Change("range_deleted", range=Range(b"a", b"c", False, True)), Change("flushed", range=Range(), delay=2),
    Change("flushed", range=Range(b"a ", b"c ")), Change("range_touched", range=Range(b"user:", b"user;"), ttl=5),
    Change("put", b"large", size=70000),
]


def read(data: bytes, pieces: int = 1 << 20, codec: Codec = CODEC) -> list:
    reader, found = WatchReader(codec), []
    for at in range(0, len(data), pieces):
        reader.feed(data[at:at + pieces])
        while (one := reader.next()) is not None:
            found.append(one)
    return found


class WatchLinesTest(unittest.TestCase):
    def test_sections_read_the_same_however_they_are_cut(self):
        wanted = [Reply([b"HD", b"Ow"], None), Changes(CHANGES[:2], None), Changes(CHANGES[2:], "9c41e07a55d2b813.1042", b"7"), Over(None)]
        for pieces in (1, 2, 3, 7, 1 << 20):
            self.assertEqual(read(SECTIONS, pieces), wanted)

    def test_the_ends_of_a_watch_have_types(self):
        for line, kind in ((b"WO Ow old G1.2", mxkv.TooOld), (b"WO Ow lost", mxkv.HistoryLost)):
            over, = read(line + b"\r\n")
            self.assertIs(type(over.error), kind)

    def test_what_no_server_sends_is_refused(self):
        for wrong in (b"WP ka", b"WE Ow G1.1", b"WO Ow", b"WO Ow why", b"WO", b"WS Ow\r\nHD", b"WS Ow\r\nWS Ow", b"WS Ow\r\nWP", b"WS Ow\r\nWQ ka",
                      b"WS Ow\r\nWG ka", b"WS Ow\r\nWG ka Rq", b"WS Ow\r\nWG k% b Rd", b"WS Ow\r\nWX ka Re", b"WS Ow\r\nWX kYQ== H% b Rd",
                      b"WS Ow\r\nWP ka cx", b"WS Ow\r\nWT ka tx", b"WS Ow\r\nWV x ka", b"WS Ow\r\nWV 1 ka\r\nxyz", b"WS Ow\r\nWE Ow G", b"WS Ow\r\nWE Ow G\xff"):
            with self.subTest(wrong[:40]), self.assertRaises(mxkv.ProtocolError):
                read(wrong + b"\r\n")

    def test_damaged_lines_raise_errors_of_the_client_or_are_read(self):
        chance = random.Random(11)
        for _ in range(3000):
            damaged = bytearray(SECTIONS)
            for _ in range(1 + chance.randrange(4)):
                damaged[chance.randrange(len(damaged))] = chance.choice(b"\r\n 0A9WSEPVXGbkHRt-")
            try:
                read(bytes(damaged))
            except mxkv.MxkvError:
                pass

    def test_keys_and_bounds_lose_the_prefix_of_the_client(self):
        codec = Codec(PlainSerde(), b"p:")
        section, = read(b"WS Ow\r\nWG kp:a Rd\r\nWX kp: Hp; Rd\r\nWX kp:a Hp:c o Rf\r\nWE Ow\r\n", codec=codec)
        self.assertEqual(section.changes, [Change("deleted", b"a"), Change("range_deleted", range=Range()),
                                           Change("flushed", range=Range(b"a", b"c", False))])

    def test_a_watch_begins_by_a_line(self):
        for form, position, line in (
                (WatchForm("user:"), None, b"mw user: p Ow\r\n"),
                (WatchForm(Range("a", "c"), values=True), "1.2", b"mw a Hc Ow v f G1.2\r\n"),
                (WatchForm("", values=True, details=True, kinds=("touched", "put")), None, b"mw - Ow v c f s t Mpt\r\n")):
            self.assertEqual(form.line(CODEC, position), line)
        for form, position in ((WatchForm(""), "1.2\r\nflush_all"), (WatchForm(""), ""), (WatchForm("", kinds=()), None),
                               (WatchForm("", kinds=("moved",)), None)):
            with self.assertRaises(mxkv.ClientError):
                form.line(CODEC, position)

    def test_a_range_knows_its_keys(self):
        for where, inside, outside in ((Range("b", "d"), ("b", b"c"), ("a", "d")), (Range("b", "d", False, True), ("c", "d"), ("b", "da")),
                                       (Range(), ("a", b"\xff"), ()), (Range(stop="b"), ("a",), ("b",))):
            self.assertTrue(all(key in where for key in inside))
            self.assertFalse(any(key in where for key in outside))


if __name__ == "__main__":
    unittest.main()
