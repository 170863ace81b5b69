"""The same seeded byte streams to mxkvd and to memcached 1.6.18: equal replies, except for the differences listed by name."""

import random
import re
import subprocess
import unittest

import differences
import meta_streams
from harness import Connection, LONG, Options, SANITIZED, Server, campaign, environment, scaled
from harness.connection import block, converse

_MARK = re.compile(rb"^VALUE mark(\d+) 0 0\r\n\r\nEND\r\n", re.MULTILINE)
_CAS = re.compile(rb"^(VALUE \S+ \d+ \d+) \d+\r\n", re.MULTILINE)
_COUNTER = re.compile(rb"^VALUE (n\d+ \d+) \d+\r\n(\d+) *\r\n", re.MULTILINE)
_ARITY = re.compile(rb"^(ERROR|CLIENT_ERROR bad command line format)\r\n", re.MULTILINE)
_MAY_STORE = {"time range", "limit", *meta_streams.DIFFERENCES}


def oracle_missing() -> bool:
    if environment.MEMCACHED is None:
        return True
    return b" 1.6.18" not in subprocess.run([environment.MEMCACHED, "-V"], capture_output=True, check=True).stdout


def segments(replies: bytes) -> list:
    """Pairs (text, number of the mark behind it), without the parts on which two servers cannot agree.

    These are cas uniques, decr's padding, and the parts that `meta_streams` names. A block with a wrong length swallows the marks
    behind it: then its segment covers several commands.
    """
    parts = _MARK.split(_COUNTER.sub(rb"VALUE \1\r\n\2\r\n", _CAS.sub(rb"\1\r\n", meta_streams.comparable(replies))))
    return [(text, int(mark)) for text, mark in zip(parts[::2], parts[1::2])]


def in_pieces(stream: bytes, seed: int) -> list:
    chance, pieces, at = random.Random(seed), [], 0
    while at < len(stream):
        size = chance.choice((1, 100, 5000, 50000))
        pieces.append(stream[at:at + size])
        at += size
    return pieces


@unittest.skipIf(oracle_missing(), "memcached 1.6.18 is not installed")
class DifferentialTest(unittest.TestCase):
    """One server of each kind serves all tests. A test empties both first; mxkvd must end in order after the last one."""

    @classmethod
    def setUpClass(cls):
        cls.ours = Server(Options()).start()
        cls.addClassCleanup(cls.ours.kill)
        cls.theirs = Server(Options(memcached=True)).start()
        cls.addClassCleanup(cls.theirs.kill)

    @classmethod
    def tearDownClass(cls):
        cls.ours.stop()
        cls.theirs.stop()

    def setUp(self):
        for server in (self.ours, self.theirs):
            client = Connection(server.port)
            self.assertEqual(client.ask(b"flush_all"), b"OK")
            client.close()

    def compare(self, seed: int, length: int) -> int:
        generator = differences.Generator(seed)
        commands = [generator.next() for _ in range(length)]
        marks = [b"get mark%d\r\n" % number for number in range(length)]
        stream = b"flush_all noreply\r\n" + b"".join(block(b"set", mark[4:-2], b"", tail=b"noreply") for mark in marks)
        stream += b"".join(command + mark for (command, _), mark in zip(commands, marks))
        ours, theirs = (segments(converse(server.port, in_pieces(stream, seed))) for server in (self.ours, self.theirs))
        begin = 0
        for mine, other in zip(ours, theirs):
            context = f"seed {seed}, commands {begin} to {mine[1]}: {commands[begin:mine[1] + 1]}"
            self.assertEqual(mine[1], other[1], "swallowed not the same: " + context)
            wanted = {why for _, why in commands[begin:mine[1] + 1]} - {None}
            if begin != mine[1]:
                # A server read the rest of a swallowing block as a line, maybe an empty one: difference "arity".
                mine, other = ((_ARITY.sub(b"ERROR\r\n", text), mark) for text, mark in (mine, other))
            if not wanted:
                expected = meta_streams.in_later_words(commands[begin][0].lstrip(), other[0], mine[0])
                self.assertEqual(mine[0], expected, context)
            elif begin == mine[1] and not wanted & _MAY_STORE and not environment.IS_MEMCACHED:
                self.assertRegex(mine[0], rb"\A((CLIENT_|SERVER_)?ERROR[^\r\n]*\r\n)*\Z", context)
            begin = mine[1] + 1
        self.assertEqual(len(ours), len(theirs), f"seed {seed}: number of segments")
        return len(ours)

    def test_random_streams(self):
        seeds = scaled(3000 if LONG else 150 if SANITIZED else 100, 20)
        compared = sum(self.compare(seed, 120) for seed in range(seeds))
        self.assertGreater(compared, 0.9 * seeds * 120, "most commands had a segment of their own")

    def test_a_pipeline_of_thousands(self):
        length = campaign(4000, 400, part=2)
        compared = [self.compare(seed, length) for seed in range(77, 80)]
        # A block that announces hundreds of megabytes swallows the rest of its stream.
        self.assertGreater(max(compared), 0.9 * length)

    def test_every_rule_is_reached(self):
        reached = set()
        wanted = {"arity", "swallow", "key bytes", "flags range", "time range", "strict numbers", "nul",
                  "extra words", "delete usage", *meta_streams.DIFFERENCES}
        for seed in range(150):
            generator = differences.Generator(seed)
            reached |= {generator.next()[1] for _ in range(120)}
            if wanted <= reached and not LONG:
                break
        self.assertLessEqual(reached - {None}, set(differences.NAMES))
        self.assertLessEqual(wanted, reached)

    def test_cas_with_the_uniques_that_each_server_gave(self):
        clients = [Connection(server.port) for server in (self.ours, self.theirs)]
        seen = [{}, {}]
        chance = random.Random(5)
        for step in range(campaign(1500, 200, part=2)):
            key = b"c%d" % chance.randrange(4)
            action = chance.randrange(5)
            replies = []
            for client, uniques in zip(clients, seen):
                if action == 0:
                    found = client.gets(key)
                    uniques[key] = found[2] if found else 1
                    replies.append(found[:2] if found else None)
                elif action <= 2:
                    replies.append(client.store(b"cas", key, b"%d" % step, flags=step, tail=b"%d" % uniques.get(key, 0)))
                elif action == 3:
                    replies.append(client.ask(b"delete " + key) if step % 3 == 0 else client.ask(b"touch %s 100" % key))
                else:
                    replies.append(client.store(b"append" if step % 2 else b"add", key, b"x"))
            self.assertEqual(replies[0], replies[1], f"step {step}, key {key}, action {action}")
        for client in clients:
            client.close()

    def test_large_values_and_swallowed_ones(self):
        stream = b"".join(block(b"set", b"l%d" % i, b"x" * size) + b"get l%d\r\n" % i for i, size in enumerate(
            (1000000, 1048577, 1200000, 5000000, 500000)))
        answers = [converse(server.port, [stream]) for server in (self.ours, self.theirs)]
        self.assertTrue(answers[0] == answers[1])
