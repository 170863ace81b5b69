"""The part of the Python client that reads replies, without a server: streams cut at every byte, and wrong in many ways."""

import random
import unittest

from python_client import mxkv
from mxkv import _commands, _ranges
from mxkv._batch import Batch
from mxkv._wire import Codec, Exchange, PlainSerde, ReplyReader

CODEC = Codec(PlainSerde())
STAY = bool  # an exchange calls this to leave its connection; it does nothing
SHOW = _ranges.Show(details=True)


def results(request, pieces) -> list:
    exchange = Exchange(request(), STAY)
    done = [exchange.feed(piece) for piece in pieces]
    assert done[-1] and not any(done[:-1]), done
    return exchange.result


def batch() -> Batch:
    gathered = Batch(CODEC)
    gathered.set("a", "1")
    gathered.get("a")
    gathered.delete("b")
    return gathered


PAGE = (b"VA 9 kuser:1 f5 c17 t-1\r\n\r\nEN A1\r\n\r\nHD ka2V5IA== b f0 c18 t30\r\nVA 0 kz f0 c19 t0\r\n\r\nEN A3 GabcD\r\n")
CASES = (
    (lambda: _ranges.page(CODEC, "", SHOW, 10, None), PAGE,
     _ranges.Page([_ranges.Item(b"user:1", b"\r\nEN A1\r\n", 5, 17, None), _ranges.Item(b"key ", None, 0, 18, 30),
                   _ranges.Item(b"z", b"", 0, 19, 0)], "abcD")),
    (lambda: _ranges.page(CODEC, "", SHOW, 10, None), b"EN A0\r\n", _ranges.Page([], None)),
    (lambda: _ranges.size(CODEC, "", False, False), b"HD A12 B345 ~2\r\n", _ranges.Size(12, 345, 2.0)),
    (lambda: _ranges.numbers(CODEC, "", False), b"HD A3 B26 N2 Ms-4 Mn-5 Mx1\r\n", _ranges.Numbers(3, 2, -4, -5, 1)),
    (lambda: _ranges.tree(CODEC, "", b":", True, None), b"HD kuser: A2 B18\r\nHD kYSA= b A1 B4 ~\r\nEN A2 K1 B8 Gx\r\n",
     _ranges.Branches([_ranges.Branch(b"user:", 2, 18, True), _ranges.Branch(b"a ", 1, 4, False),
                       _ranges.Branch(None, 1, 8, True)], "x")),
    (lambda: _ranges.remove(CODEC, _ranges.Range(), False, None), b"HD A7 Gnext\r\n", _ranges.Removed(7, "next")),
    (lambda: _ranges.touch(CODEC, "", 5, None), b"HD A7\r\n", 7),
    (lambda: _commands.get_many(CODEC, ["a", "b", "c"]), b"VA 2 f0 c5\r\n\r\n\r\nEN\r\nVA 1 f1 c6\r\nx\r\n",
     {"a": (b"\r\n", 5), "c": (b"x", 6)}),
    (lambda: _commands.store_many(CODEC, "set", {"a": 1, "b": 2, "c": 3, "d": 4}, 0, None), b"HD\r\nNS\r\nEX\r\nNF\r\n",
     {"a": True, "b": False, "c": False, "d": None}),
    (lambda: _commands.delete_many(CODEC, ["a", "b"]), b"HD\r\nNF\r\n", [True, False]),
    (lambda: _commands.stats(""), b"STAT a 1\r\nSTAT b two words\r\nEND\r\n", {"a": "1", "b": "two words"}),
    (lambda: batch()._request(), b"HD\r\nVA 1 f0 c9\r\n1\r\nNF\r\nHD\r\n", None),
)


class RepliesTest(unittest.TestCase):
    def test_a_reply_cut_at_every_byte_reads_as_a_whole_one(self):
        for request, reply, wanted in CASES:
            for at in range(1, len(reply)):
                self.assertEqual(results(request, [reply[:at], reply[at:]]), wanted, (reply, at))
            self.assertEqual(results(request, [reply[at:at + 1] for at in range(len(reply))]), wanted, reply)

    def test_an_error_line_in_place_of_any_reply_is_raised_by_type(self):
        for line, kind in ((b"CLIENT_ERROR bad cursor", mxkv.BadCursor), (b"CLIENT_ERROR too many keys in the range", mxkv.RangeTooLarge),
                           (b"CLIENT_ERROR unauthenticated", mxkv.Forbidden), (b"CLIENT_ERROR x", mxkv.ClientError),
                           (b"CLIENT_ERROR authentication failure", mxkv.AuthenticationFailed), (b"ERROR", mxkv.ClientError),
                           (b"ERROR Too many open connections", mxkv.ClientError), (b"SERVER_ERROR x", mxkv.ServerError),
                           (b"SERVER_ERROR out of memory storing object", mxkv.OutOfMemory),
                           (b"SERVER_ERROR object too large for cache", mxkv.TooLarge), (b"SERVER_ERROR journal: x", mxkv.JournalFailed)):
            for request in (lambda: _ranges.page(CODEC, "", SHOW, 1, None), lambda: _ranges.size(CODEC, "", True, False),
                            lambda: _commands.get_many(CODEC, ["a"]), lambda: _commands.delete_many(CODEC, ["a"]),
                            lambda: _commands.store_many(CODEC, "set", {"a": 1}, 0, None), lambda: batch()._request()):
                with self.assertRaises(mxkv.ReplyError) as raised:
                    Exchange(request(), STAY).feed(line + b"\r\n")
                self.assertIs(type(raised.exception), kind, line)

    def test_of_many_replies_those_behind_an_error_are_read(self):
        exchange = Exchange(_commands.get_many(CODEC, ["a", "b"]), STAY)
        self.assertFalse(exchange.feed(b"SERVER_ERROR x\r\n"))
        with self.assertRaises(mxkv.ServerError):
            exchange.feed(b"VA 1 f0 c5\r\nx\r\n")

    def test_an_error_with_more_behind_it_leaves_the_connection(self):
        for behind in (b"", b"HD A1 B2\r\n", b"C"):
            left = []
            with self.assertRaises(mxkv.ClientError):
                Exchange(_ranges.size(CODEC, "", True, False), lambda: left.append(True)).feed(b"CLIENT_ERROR x\r\n" + behind)
            self.assertEqual(left, [True] if behind else [])

    def test_a_batch_that_failed_tells_which_operation_and_why(self):
        for why, kind in ((b"NF", mxkv.NotFound), (b"NS", mxkv.NotStored), (b"EX", mxkv.Stale),
                          (b"CLIENT_ERROR not allowed in a batch", mxkv.ClientError),
                          (b"SERVER_ERROR out of memory storing object", mxkv.OutOfMemory)):
            with self.assertRaises(kind) as raised:
                Exchange(batch()._request(), STAY).feed(b"EX 2 " + why + b"\r\n")
            self.assertEqual(raised.exception.operation, 1)

    def test_what_no_server_sends_is_no_reply(self):
        for request, reply in ((CASES[0][0], b"VA x ka\r\n"), (CASES[0][0], b"VA 1 ka f0 c1 t1\r\nxyz\r\n"), (CASES[0][0], b"VA 1 f0\r\nx\r\n"),
                               (CASES[0][0], b"OK\r\n"), (CASES[2][0], b"EN\r\n"), (CASES[2][0], b"HD A1 B2\r\nHD\r\n"),
                               (CASES[9][0], b"HD\r\nVA 0\r\n\r\n"), (CASES[0][0], b"x" * (1 << 17)),
                               (CASES[11][0], b"HD\r\nEN\r\nNF\r\nEN\r\n")):
            with self.assertRaises(mxkv.ProtocolError):
                Exchange(request(), STAY).feed(reply)

    def test_damaged_replies_are_told_by_type_or_read_and_never_anything_else(self):
        chance = random.Random(11)
        for _ in range(4000):
            request, reply, _ = chance.choice(CASES)
            damaged = bytearray(reply)
            for _ in range(chance.randrange(1, 4)):
                at = chance.randrange(len(damaged))
                damaged[at:at + chance.randrange(3)] = bytes(chance.choice(b"\r\n 0A9VAHDENkb~-") for _ in range(chance.randrange(3)))
            try:
                Exchange(request(), STAY).feed(bytes(damaged))
            except mxkv.MxkvError:
                pass

    def test_a_reader_holds_what_is_not_whole(self):
        reader = ReplyReader()
        for piece in (b"VA 3 ka", b"\r", b"\nab", b"c\r"):
            reader.feed(piece)
            self.assertIsNone(reader.next())
            self.assertTrue(reader.pending())
        reader.feed(b"\n")
        self.assertEqual(reader.next().block, b"abc")
        self.assertFalse(reader.pending())


class RequestsTest(unittest.TestCase):
    def test_ranges_as_lines_say_them(self):
        Range = mxkv.Range
        for where, reverse, wanted in (
                ("", False, b"-"), ("", True, b"- r"), ("user:", False, b"user: p"), ("-", False, b"- p"), (b"a b", True, b"YSBi p b r"),
                (Range(), False, b"-"), (Range("a"), False, b"a"), (Range("a", "c"), False, b"a Hc"), (Range("a", "c"), True, b"c o Ha i r"),
                (Range("a", "c", False, True), False, b"a o Hc i"), (Range("a", "c", False, True), True, b"c Ha r"),
                (Range(None, "c"), True, b"c o r"), (Range(None, "c"), False, b"- Hc"), (Range("-"), False, b"LQ== b"),
                (Range(None, b"c "), False, b"AA== b HYyA="), (Range("a", None), True, b"- Ha i r")):
            self.assertEqual(_ranges.words_of(CODEC, where, reverse), wanted, (where, reverse))

    def test_keys_and_modes_as_lines_say_them(self):
        self.assertEqual(_commands.store_line(CODEC, "add", "k", "v", 5, 3), b"ms k 1 ME F3 T5\r\nv\r\n")
        self.assertEqual(_commands.store_line(CODEC, "set", b"k ", "v", 0, None, 7), b"ms ayA= 1 b C7\r\nv\r\n")
        self.assertEqual(_commands.count_line(CODEC, "n", 5, True, 1, 9), b"ma n D5 MD N9 J1 v\r\n")


if __name__ == "__main__":
    unittest.main()
