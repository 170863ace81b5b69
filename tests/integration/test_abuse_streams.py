"""Streams that demand too much at once: every error in a deep pipeline, a million keys in a line, ten thousand clients
that send a byte now and then. The server answers other clients meanwhile, and each reply is in its place."""

import random
import resource
import unittest

import reply_table
from harness import LONG, Options, ServerCase, Threads, mxkv_only, scaled
from harness.connection import block, converse

_MIB = 1 << 20
_STATE = b"delete a noreply\r\ndelete n noreply\r\n" + block(b"set", b"a", b"10", flags=3, tail=b"noreply")
_META_ERRORS = (
    (b"mg\r\n", b"ERROR\r\n"), (b"mg a q q\r\n", b"CLIENT_ERROR duplicate flag\r\n"),
    (b"mg a ~\r\n", b"CLIENT_ERROR invalid flag\r\n"), (b"mg a O" + b"o" * 33 + b"\r\n", b"CLIENT_ERROR opaque token too long\r\n"),
    (b"ms a x\r\n", reply_table.BAD), (b"mg ?? b\r\n", b"CLIENT_ERROR error decoding key\r\n"),
    (b"ms a 3 S\r\nabcd\r\n", None), (b"mr - G!\r\n", b"CLIENT_ERROR bad cursor\r\n"),
    (b"mx a X U1\r\n", b"CLIENT_ERROR X excludes G and U\r\n"),
    (b"mt a\r\n", b"CLIENT_ERROR mt needs T\r\n"),
    (b"mx a p r\r\n", b"CLIENT_ERROR mx does not allow r\r\n"), (b"scan a\r\n", reply_table.BAD))


@mxkv_only("the replies are those of the table for mxkv")
class ErrorPipelineTest(ServerCase):
    """Every row of the table of replies, and of meta errors, again and again: thousands in one stream."""

    def setUp(self):
        self.other = self.connect(timeout=120)
        # Other tests check the text of meta errors; this one checks that each error is in its place.
        self.rows = [(row.stream, row.reply) for table in (reply_table.LINES, reply_table.RETRIEVAL, reply_table.STORAGE, reply_table.REST)
                     for row in table if not row.closes and len(row.stream) < 10000]
        for stream, _ in _META_ERRORS:
            self.rows.append((stream, converse(self.server.port, [_STATE + stream])))

    def test_the_errors_of_meta_commands_and_ranges_are_one_line_each(self):
        for stream, reply in _META_ERRORS:
            with self.subTest(stream=stream):
                told = dict(self.rows)[stream]
                self.assertTrue(told.startswith((b"CLIENT_ERROR ", b"ERROR")) and told.endswith(b"\r\n"), told)
                if reply is not None:
                    self.assertTrue(told.startswith(reply), told)

    def run_pipeline(self, client, seed: int, rounds: int) -> None:
        chance = random.Random(seed)
        rows = [chance.choice(self.rows) for _ in range(rounds)]
        stream = b"".join(_STATE + sent for sent, _ in rows)
        expected = b"".join(reply for _, reply in rows)
        sender = Threads(self.server.port)
        sender.start(lambda _unused, _number: (client.send(stream), client.finish_sending()), 1)
        received = client.rest()
        sender.join()
        version = self.other.ask(b"version") + b"\r\n"
        self.assertEqual(received.replace(version, b"VERSION\r\n"), expected)

    def test_every_error_in_one_deep_pipeline(self):
        for seed in range(scaled(10 if LONG else 4, 2)):
            self.run_pipeline(self.connect(timeout=120), seed, scaled(3000, 500))
            self.assertEqual(self.other.set(b"other", b"%d" % seed), b"STORED")

    def test_a_pipeline_of_errors_cut_into_single_bytes(self):
        client = self.connect()
        chance = random.Random(7)
        rows = [chance.choice([row for row in self.rows if len(row[0]) < 100]) for _ in range(scaled(150, 40))]
        for byte in b"".join(_STATE + sent for sent, _ in rows):
            client.send(bytes([byte]))
        client.finish_sending()
        version = self.other.ask(b"version") + b"\r\n"
        self.assertEqual(client.rest().replace(version, b"VERSION\r\n"), b"".join(reply for _, reply in rows))


@mxkv_only("the cap on lines of get")
class MillionKeysTest(ServerCase):
    options = Options(memory_mib=256, settings=(("limits.get_line_bytes", "16MiB"),))

    def test_a_million_keys_in_one_get(self):
        count = scaled(1_000_000, 50_000)
        writer, client, other = (self.connect(timeout=120) for _ in range(3))
        present = range(0, count, count // 1000)
        writer.send(b"".join(block(b"set", b"key%d" % i, b"%d" % i) for i in present))
        self.assertEqual({writer.line() for _ in present}, {b"STORED"})
        line = b"get " + b" ".join(b"key%d" % i for i in range(count)) + b"\r\n"
        sender = Threads(self.server.port)
        sender.start(lambda _unused, _number: client.send(line + b"version\r\n"), 1)
        for i in range(scaled(500 if LONG else 100, 50)):
            self.assertEqual(other.set(b"other", b"%d" % i), b"STORED")
            self.assertEqual(other.get(b"other"), b"%d" % i)
        self.assertEqual(client.records(), [(b"key%d" % i, b"%d" % i, [0]) for i in present])
        self.assertTrue(client.line().startswith(b"VERSION "))
        sender.join()
        self.assert_rss_below(256)

    def test_a_hit_for_each_of_many_keys(self):
        count = scaled(300_000 if LONG else 100_000, 20_000)
        client = self.connect(timeout=120)
        self.assertEqual(client.set(b"hit", b"v" * 100), b"STORED")
        sender = Threads(self.server.port)
        sender.start(lambda _unused, _number: client.send(b"gets" + b" hit" * count + b"\r\n"), 1)
        found = client.records()
        sender.join()
        self.assertEqual(len(found), count)
        self.assertEqual({(key, value) for key, value, _ in found}, {(b"hit", b"v" * 100)})
        self.assert_rss_below(256 + 100)


class TenThousandTest(ServerCase):
    count = scaled(10_000, 2_000)
    options = Options(memory_mib=256, connections=count + 50)

    @classmethod
    def setUpClass(cls) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < cls.count + 200:
            raise unittest.SkipTest(f"a process may open {hard} files here, {cls.count + 200} are needed")
        if soft < cls.count + 200:
            resource.setrlimit(resource.RLIMIT_NOFILE, (cls.count + 200, hard))
            cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        super().setUpClass()

    def test_all_send_slowly_and_all_are_answered(self):
        other = self.connect(timeout=120)
        before = self.server.rss_bytes() / _MIB
        slow = [self.connect(timeout=120) for _ in range(self.count)]
        request = b"set slow%05d 0 0 1\r\nx\r\n"
        cuts = (0, 4, 11, 21, len(request % 0))
        for begin, end in zip(cuts, cuts[1:]):
            for number, client in enumerate(slow):
                client.send((request % number)[begin:end])
                if number % 500 == 0:
                    self.assertEqual(other.set(b"other", b"%d" % number), b"STORED")
                    self.assertEqual(other.get(b"other"), b"%d" % number)
        self.assertEqual({client.line() for client in slow}, {b"STORED"})
        self.assertGreaterEqual(int(other.stats()["curr_connections"]), self.count)
        # Each connection holds a block of input for its half request, and its own state.
        self.assert_rss_below(before + 20 * self.count / 1024 + 100)
        for number, client in enumerate(slow):
            client.send(b"get slow%05d\r\n" % (self.count - 1 - number))
        for number, client in enumerate(slow):
            self.assertEqual(client.records(), [(b"slow%05d" % (self.count - 1 - number), b"x", [0])])

