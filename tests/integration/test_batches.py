"""mb: batches take effect as a whole or not at all, name the failing line, and keep the stream in step."""

import random
import re

from harness import Connection, Options, ServerCase, Threads, mxkv_only, scaled, wait_for
from harness.connection import block, converse

_BAD = b"CLIENT_ERROR bad command line format\r\n"


def ms(key: bytes, value: bytes, flags: bytes = b"") -> bytes:
    return b"ms %s %d%s\r\n%s\r\n" % (key, len(value), flags, value)


def batch(*lines: bytes) -> bytes:
    return b"mb %d\r\n" % len(lines) + b"".join(lines)


class BatchCase(ServerCase):
    def setUp(self):
        self.client, self.other = self.connect(), self.connect()
        self.assertEqual(self.client.ask(b"flush_all"), b"OK")

    def answered(self, stream: bytes) -> bytes:
        """All bytes before the reply to a last request, which shows that the stream is in step."""
        self.client.send(stream + b"version\r\n")
        reply = b""
        while not reply.endswith(b"\r\n") or b"VERSION " not in reply.split(b"\r\n")[-2]:
            reply += self.client.line() + b"\r\n"
        return reply[:reply.rindex(b"VERSION ")]

    def contents(self) -> list:
        """All items, with uniques, as another client sees them."""
        return self.other.records(b"scans - + 1000")


@mxkv_only("mb")
class BatchTest(BatchCase):
    def test_each_line_is_answered_and_then_the_batch(self):
        stream = batch(ms(b"a", b"one", b" F3 O1 k"), ms(b"n", b"7"), b"md gone q\r\n", b"mg a v f k O2\r\n")
        self.client.set(b"gone", b"x")
        self.assertEqual(self.answered(stream), b"HD O1 ka\r\nHD\r\nVA 3 f3 ka O2\r\none\r\nHD\r\n")
        self.assertEqual([item[:2] for item in self.contents()], [(b"a", b"one"), (b"n", b"7")])

    def test_none_is_a_batch(self):
        self.assertEqual(self.answered(batch()), b"HD\r\n")

    def test_what_is_read_or_deleted_need_not_be_there(self):
        stream = batch(b"mg none v\r\n", ms(b"a", b"1"), b"md none O5\r\n", b"mg none v q\r\n", b"md none q\r\n")
        self.assertEqual(self.answered(stream), b"EN\r\nHD\r\nNF O5\r\nNF\r\nHD\r\n")

    def test_a_line_that_cannot_be_done_undoes_all(self):
        for key, value in ((b"a", b"1"), (b"text", b"text"), (b"n", b"5")):
            self.client.set(key, value)
        before = self.contents()
        good = (ms(b"a", b"2"), ms(b"new", b"3"), b"md n\r\n")
        for line, reply in (
                (b"md none C1\r\n", b"NF"), (b"md text C1 q O5\r\n", b"EX"), (ms(b"text", b"x", b" ME k"), b"NS"),
                (ms(b"none", b"x", b" MR"), b"NS"), (ms(b"none", b"x", b" MA"), b"NS"), (ms(b"none", b"x", b" C7"), b"NF"),
                (ms(b"text", b"x", b" C7 q"), b"EX"), (b"ma none\r\n", b"NF"),
                (b"ma text\r\n", b"CLIENT_ERROR cannot increment or decrement non-numeric value")):
            for at in range(4):
                lines = good[:at] + (line,) + good[at:]
                with self.subTest(line=line, at=at):
                    self.assertEqual(self.answered(batch(*lines)), b"EX %d %s\r\n" % (at + 1, reply))
                    self.assertEqual(self.contents(), before)

    def test_the_first_line_that_is_in_the_way_is_told(self):
        self.client.set(b"a", b"1")
        self.assertEqual(self.answered(batch(b"mg a\r\n", b"ma none\r\n", ms(b"a", b"x", b" ME"))), b"EX 2 NF\r\n")
        self.assertEqual(self.answered(batch(b"ma none\r\n", b"foo\r\n")), b"EX 2 ERROR\r\n", "what is malformed is seen first")

    def test_errors_in_the_middle_keep_the_stream_in_step(self):
        self.client.set(b"old", b"1")
        before = self.contents()
        for line, error in (
                (b"foo\r\n", b"ERROR\r\n"), (b"\r\n", _BAD), (b"mg\r\n", b"ERROR\r\n"), (b"mg a q q\r\n", b"CLIENT_ERROR duplicate flag\r\n"),
                (b"mg a ~\r\n", b"CLIENT_ERROR invalid flag\r\n"), (b"ms a 3 ~\r\nabc\r\n", b"CLIENT_ERROR invalid flag\r\n"),
                (b"ms a 3\r\nabcXY", b"CLIENT_ERROR bad data chunk\r\n"), (b"ms a 3 b\r\nabc\r\n", b"CLIENT_ERROR error decoding key\r\n"),
                (b"ms " + b"k" * 251 + b" 3\r\nabc\r\n", _BAD),
                (b"ms old 1100000\r\n" + b"v" * 1100000 + b"\r\n", b"SERVER_ERROR object too large for cache\r\n"),
                (b"mb x\r\n", _BAD)):
            for lines, number in (((line, ms(b"b", b"1"), b"md old\r\n"), 1), ((ms(b"b", b"1"), line, b"md old\r\n"), 2),
                                  ((ms(b"b", b"1"), b"md old\r\n", line), 3), ((line, line, b"bar\r\n"), 1)):
                with self.subTest(line=line[:40], number=number):
                    self.assertEqual(self.answered(batch(*lines)), b"EX %d %s" % (number, error))
                    self.assertEqual(self.contents(), before)

    def test_what_may_not_stand_in_a_batch(self):
        self.client.set(b"old", b"1")
        before = self.contents()
        for line in (b"get old\r\n", block(b"set", b"a", b"get old"), block(b"set", b"a", b"x", tail=b"noreply"), b"delete old noreply\r\n",
                     b"me old\r\n", b"mn\r\n", b"mr - X\r\n", b"mx - X\r\n", b"mt - T-1\r\n", b"mc -\r\n", b"mb 2\r\n", b"mb 0\r\n",
                     b"flush_all\r\n", b"scan - + 9\r\n", b"stats\r\n", b"watch\r\n", b"lru_crawler metadump all\r\n", b"quit\r\n"):
            with self.subTest(line=line):
                self.assertEqual(self.answered(batch(ms(b"a", b"1"), line, b"md old\r\n")), b"EX 2 CLIENT_ERROR not allowed in a batch\r\n")
                self.assertEqual(self.contents(), before)

    def test_where_the_end_is_not_known_the_connection_ends(self):
        for stream, reply in ((b"mb x\r\nmd old\r\n", _BAD), (b"mb\r\n", _BAD), (b"mb 1 q\r\n", _BAD), (b"mb 4294967296\r\n", _BAD),
                              (batch(ms(b"a", b"1"), b"ms k x\r\n", b"md old\r\n"), b"EX 2 " + _BAD),
                              (batch(b"foo\r\n", b"set k 0 0 -1\r\n", b"md old\r\n"), b"EX 1 ERROR\r\n"),
                              (batch(ms(b"a", b"1"), b"x" * 3000), b"")):
            with self.subTest(stream=stream[:40]):
                self.client.set(b"old", b"1")
                self.assertEqual(converse(self.server.port, [b"mn\r\n" + stream + b"mn\r\n"]), b"MN\r\n" + reply)
                self.assertEqual([item[0] for item in self.contents()], [b"old"])

    def test_pipelined_before_and_behind(self):
        stream, expected = b"", b""
        for i in range(scaled(300, 50)):
            stream += (block(b"set", b"a", b"%d" % i) + b"get a\r\n" + block(b"set", b"quiet", b"%d" % i, tail=b"noreply")
                       + batch(b"ma a D5 v\r\n", b"mg quiet v\r\n", ms(b"b", b"%d" % i), b"mg none q\r\n")
                       + b"get a b\r\n" + batch(b"md b\r\n", b"ma none\r\n") + b"scan a 1\r\n" + batch(b"md b\r\n") + b"get b\r\n")
            now, then = b"%d" % i, b"%d" % (i + 5)
            expected += (b"STORED\r\nVALUE a 0 %d\r\n%s\r\nEND\r\n" % (len(now), now)
                         + b"VA %d\r\n%s\r\nVA %d\r\n%s\r\nHD\r\nHD\r\n" % (len(then), then, len(now), now)
                         + b"VALUE a 0 %d\r\n%s\r\nVALUE b 0 %d\r\n%s\r\nEND\r\n" % (len(then), then, len(now), now)
                         + b"EX 2 NF\r\nVALUE a 0 %d\r\n%s\r\nEND\r\nHD\r\nHD\r\nEND\r\n" % (len(then), then))
        self.assertEqual(converse(self.server.port, [stream]), expected)

    def test_however_the_stream_is_cut(self):
        stream = (block(b"set", b"a", b"1") + batch(ms(b"b", b"x\r\ny", b" O1"), b"ma a D2 v\r\n", b"mg b v\r\n") + batch(b"foo\r\n", ms(b"c", b"1"))
                  + batch(ms(b"c", b"1"), b"ms d 3\r\nabcde", b"md a\r\n") + batch(b"md b\r\n", ms(b"e", b"")) + b"get a b c e\r\n" + batch()
                  + batch(b"md e\r\n", b"get a\r\n") + batch(b"md e\r\n"))
        expected = (b"STORED\r\nHD O1\r\nVA 1\r\n3\r\nVA 4\r\nx\r\ny\r\nHD\r\nEX 1 ERROR\r\nEX 2 CLIENT_ERROR bad data chunk\r\nHD\r\nHD\r\nHD\r\n"
                    b"VALUE a 0 1\r\n3\r\nVALUE e 0 0\r\n\r\nEND\r\nHD\r\nEX 2 CLIENT_ERROR not allowed in a batch\r\nHD\r\nHD\r\n")
        self.assertEqual(converse(self.server.port, [stream]), expected)
        self.assertEqual(converse(self.server.port, [stream[i:i + 1] for i in range(len(stream))]), expected)
        chance = random.Random(5)
        for _ in range(scaled(60, 10)):
            pieces, at = [], 0
            while at < len(stream):
                pieces.append(stream[at:at + chance.choice((1, 2, 3, 10, 50))])
                at += len(pieces[-1])
            self.assertEqual(converse(self.server.port, pieces), expected)

    def test_large_values_in_pieces(self):
        values = [bytes(range(256)) * size for size in (4096, 3000, 1)]
        stream = batch(*(ms(b"large%d" % i, value) for i, value in enumerate(values)), b"mg large0 s\r\n")
        for step in (len(stream), 16383, 65537):
            received = converse(self.server.port, [stream[i:i + step] for i in range(0, len(stream), step)])
            self.assertEqual(received, b"HD\r\n" * 3 + b"HD s%d\r\nHD\r\n" % len(values[0]))
            for i, value in enumerate(values):
                self.assertTrue(self.other.get(b"large%d" % i) == value, i)
            self.assertEqual(self.client.ask(b"flush_all"), b"OK")

    def test_a_client_that_leaves_in_the_middle_has_done_nothing(self):
        self.client.set(b"old", b"1")
        before = self.contents()
        stream = batch(ms(b"a", b"abc"), b"md old\r\n", ms(b"b", b"v" * 40))
        for cut in range(1, len(stream)):
            for leave in (Connection.close, Connection.reset):
                client = Connection(self.server.port)
                client.send(b"mn\r\n" + stream[:cut])
                self.assertEqual(client.line(), b"MN")
                leave(client)
        wait_for(lambda: self.other.stats()["curr_connections"] == "2", "the others have gone")
        self.assertEqual(self.contents(), before)
        self.assertEqual(converse(self.server.port, [stream]), b"HD\r\nHD\r\nHD\r\nHD\r\n")
        self.assertEqual([item[0] for item in self.contents()], [b"a", b"b"])


@mxkv_only("mb")
class BatchLimitTest(BatchCase):
    options = Options(settings=(("limits.batch_lines", "5"), ("limits.batch_bytes", "1KiB")))

    def test_lines(self):
        five = tuple(ms(b"k%d" % i, b"x") for i in range(5))
        self.assertEqual(self.answered(batch(*five)), b"HD\r\n" * 6)
        before = self.contents()
        for more in range(1, 4):
            lines = (b"md k0\r\n",) + five[1:] + (ms(b"more", b"x"),) * more
            self.assertEqual(self.answered(batch(*lines)), b"EX 6 CLIENT_ERROR too many lines in a batch\r\n")
        self.assertEqual(self.contents(), before)

    def test_bytes(self):
        self.assertEqual(self.answered(batch(ms(b"a", b"x" * 1000), ms(b"b", b"x" * 24))), b"HD\r\n" * 3)
        before = self.contents()
        self.assertEqual(self.answered(batch(ms(b"a", b"y" * 1000), ms(b"b", b"y" * 25), b"md a\r\n")),
                         b"EX 2 CLIENT_ERROR too many value bytes in a batch\r\n")
        self.assertEqual(self.answered(batch(ms(b"a", b"y" * 500000), ms(b"b", b"y"))), b"EX 1 CLIENT_ERROR too many value bytes in a batch\r\n")
        self.assertEqual(self.contents(), before)

    def test_a_batch_that_announces_much_keeps_nothing(self):
        """A batch much larger than the server may keep; the server consumes all of it."""
        value = ms(b"a", b"v" * 1000)
        count = scaled(200_000, 20_000)
        sender = Threads(self.server.port)
        sender.start(lambda _unused, _number: self.client.send(b"mb %d\r\n" % count + value * count + b"mn\r\n"), 1)
        self.assertEqual(self.client.line(), b"EX 2 CLIENT_ERROR too many value bytes in a batch")
        self.assertEqual(self.client.line(), b"MN")
        sender.join()
        self.assert_rss_below(400)
        self.assertEqual(self.contents(), [])


@mxkv_only("mb")
class BatchMemoryTest(BatchCase):
    options = Options(memory_mib=64, settings=(("memory.when_full", "error"), ("limits.batch_bytes", "1GiB"), ("limits.batch_lines", "65536")))

    def test_a_batch_that_does_not_fit_is_told_and_gives_all_back(self):
        self.assertEqual(self.client.set(b"old", b"1"), b"STORED")
        before = self.contents()
        line = b"md old\r\n" + ms(b"large", b"v" * 1_000_000)
        stream = b"mb 400\r\n" + line * 200
        for _ in range(scaled(5, 2)):
            reply = self.answered(stream)
            self.assertRegex(reply, rb"^EX \d+ SERVER_ERROR out of memory storing object\r\n$")
            self.assertLess(int(reply.split(b" ")[1]), 400)
            self.assertEqual(self.contents(), before)
            # The memory of the failed batch serves others.
            self.assertEqual(self.answered(batch(*(ms(b"k%d" % i, b"v" * 1_000_000) for i in range(10)))), b"HD\r\n" * 11)
            self.assertEqual(self.answered(batch(*(b"md k%d q\r\n" % i for i in range(10)))), b"HD\r\n")


@mxkv_only("mb")
class BatchRacesTest(ServerCase):
    """Batches move amounts between accounts: no client ever sees an amount that has left and not arrived."""
    options = Options(workers=2)

    def test_the_sum_of_all_accounts_stays(self):
        accounts, amount = 6, 1_000_000
        keys = [b"account%d" % i for i in range(accounts)]
        control = self.connect()
        for key in keys:
            self.assertEqual(control.set(key, b"%d" % amount), b"STORED")
        rounds = scaled(1500, 100)

        def moves(client, number: int) -> None:
            chance = random.Random(number)
            for _ in range(rounds):
                source, target = chance.sample(keys, 2)
                client.send(batch(b"ma %s MD D3 q\r\n" % source, b"ma %s D3 q\r\n" % target))
                assert client.line() == b"HD"

        def moves_in_vain(client, _number: int) -> None:
            for _ in range(rounds):
                client.send(batch(b"ma %s D1000000\r\n" % keys[0], b"ma nobody\r\n"))
                assert client.line() == b"EX 2 NF"

        def audits(client, _number: int) -> None:
            for _ in range(rounds):
                client.send(batch(*(b"mg %s v\r\n" % key for key in keys)))
                total = 0
                for _ in keys:
                    size = int(re.fullmatch(rb"VA (\d+)", client.line())[1])
                    total += int(client.exactly(size + 2))
                assert client.line() == b"HD"
                assert total == accounts * amount, total

        threads = Threads(self.server.port)
        for role, count in ((moves, 2), (moves_in_vain, 1), (audits, 2)):
            threads.start(role, count)
        threads.join()
        self.assertEqual(sum(int(control.get(key)) for key in keys), accounts * amount)
