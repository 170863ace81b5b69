"""Pipelined writes of one connection to one key: each write sees the effect of the one before it.

Meanwhile leaves disappear: the same connection has just deleted the key's neighbours, so its leaf is empty when the first
write comes, and is being unlinked from the tree while the other writes wait for their turn.
"""

import random
import re

from harness import Connection, Options, ServerCase, campaign, mxkv_only

_LOADED = campaign(4000, 1000)
_RUN = 80          # neighbours that are deleted: more than a leaf holds
_EVERY = 100       # keys between two tested keys

# After `set KEY` with the value 5: a command, its reply, and the value that a get then finds.
_CLASSIC = (
    (b"delete %s", b"DELETED", None),
    (b"incr %s 2", b"7", b"7"),
    (b"decr %s 2", b"3", b"3"),
    (b"append %s 0 0 1\r\n6", b"STORED", b"56"),
    (b"prepend %s 0 0 1\r\n6", b"STORED", b"65"),
    (b"replace %s 0 0 1\r\n6", b"STORED", b"6"),
    (b"add %s 0 0 1\r\n6", b"NOT_STORED", b"5"),
    (b"cas %s 0 0 1 1\r\n6", b"EXISTS", b"5"),
    (b"touch %s 1000", b"TOUCHED", b"5"),
    (b"set %s 0 0 1\r\n6", b"STORED", b"6"),
)
_META = (
    (b"md %s", b"HD", None),
    (b"md %s C1", b"EX", b"5"),
    (b"ma %s D2", b"HD", b"7"),
    (b"ma %s D2 MD t", b"HD t-1", b"3"),
    (b"ms %s 1\r\n6", b"HD", b"6"),
    (b"ms %s 1 MA\r\n6", b"HD", b"56"),
    (b"ms %s 1 MP\r\n6", b"HD", b"65"),
    (b"ms %s 1 MR\r\n6", b"HD", b"6"),
    (b"ms %s 1 ME\r\n6", b"NS", b"5"),
    (b"ms %s 1 C1\r\n6", b"EX", b"5"),
    (b"mg %s T1000 t", b"HD t1000", b"5"),
)


class DependentWrites:
    """Every kind of write, after a set and after an add; the connection's own deletes empty the leaves."""

    def load(self) -> None:
        self.client.send(b"".join(b"set k%06d 0 0 1 noreply\r\n1\r\n" % i for i in range(_LOADED)) + b"mn\r\n")
        self.assertEqual(self.client.line(), b"MN")

    def setUp(self):
        self.client = self.connect()

    def expect_decided_in_order(self, store: bytes, command: bytes, reply: bytes, left) -> None:
        self.load()
        wrong = []
        for begin in range(_EVERY, _LOADED - _EVERY, _EVERY):
            key = b"k%06dx" % (begin + _RUN // 2)
            self.client.send(b"".join(b"delete k%06d noreply\r\n" % i for i in range(begin, begin + _RUN)) +
                             store % key + b"\r\n5\r\n" + command % key + b"\r\nget %s\r\n" % key)
            answers = [self.client.line(), self.client.line()]
            found = self.client.records()
            # Seconds may pass between both.
            answers[1] = re.sub(rb"t[89]\d\d$", b"t1000", answers[1])
            if answers != [b"STORED", reply] or found != ([] if left is None else [(key, left, [0])]):
                wrong.append((key, answers, found))
            self.client.ask(b"delete " + key)
        self.assertEqual(wrong[:3], [], f"{len(wrong)} of {_LOADED // _EVERY - 2} are wrong")

    def expect_all(self, rows, store: bytes) -> None:
        for command, reply, left in rows:
            with self.subTest(command=command % b"KEY"):
                self.expect_decided_in_order(store, command, reply, left)

    def test_writes_after_a_set(self):
        self.expect_all(_CLASSIC, b"set %s 0 0 1")

    def test_writes_after_an_add(self):
        self.expect_all(_CLASSIC, b"add %s 0 0 1")

    def test_meta_writes_after_a_set(self):
        self.expect_all(_META, b"set %s 0 0 1")

    def test_keys_that_come_and_go_on_six_connections(self):
        """Each connection has 50 keys of its own, between the others', and knows their state; all fill and empty in turns."""
        chance = random.Random(3)
        numbers = chance.sample(range(1_000_000), 6 * 50)
        clients = [Sequence(self.connect(), [b"r%06d" % number for number in numbers[at::6]], chance) for at in range(6)]
        for _ in range(campaign(150, 60)):
            share = chance.choice((0.05, 0.1, 0.9))
            for client in clients:
                client.send(300, share)
            for client in clients:
                client.compare()
        wrong = [problem for client in clients for problem in client.wrong]
        self.assertEqual(wrong[:3], [], f"{len(wrong)} answers are wrong")


class Sequence:
    """One connection's writes and the expected replies, if each write sees the effect of the one before it."""

    def __init__(self, client: Connection, keys: list, chance: random.Random):
        self.client, self.keys, self.chance = client, keys, chance
        self.there: dict = {}
        self.expected: list = []
        self.wrong: list = []

    def send(self, count: int, share_of_sets: float) -> None:
        requests = []
        for _ in range(count):
            key = self.chance.choice(self.keys)
            present = key in self.there
            if self.chance.random() < 0.1:
                request, reply = self.chance.choice((
                    (b"touch %s 0", b"TOUCHED" if present else b"NOT_FOUND"),
                    (b"append %s 0 0 0\r\n", b"STORED" if present else b"NOT_STORED"),
                    (b"incr %s 1", b"%d" % (self.there.get(key, 0) + 1) if present else b"NOT_FOUND")))
                if request.startswith(b"incr") and present:
                    self.there[key] += 1
            elif self.chance.random() < share_of_sets:
                request, reply = b"set %s 0 0 1\r\n5", b"STORED"
                self.there[key] = 5
            else:
                request, reply = b"delete %s", b"DELETED" if self.there.pop(key, None) else b"NOT_FOUND"
            requests.append(request % key + b"\r\n")
            self.expected.append((requests[-1], reply))
        self.client.send(b"".join(requests))

    def compare(self) -> None:
        for request, reply in self.expected:
            if (found := self.client.line()) != reply:
                self.wrong.append((request, reply, found))
        self.expected.clear()


class DependentWritesOneWorkerTest(DependentWrites, ServerCase):
    options = Options(workers=1)


class DependentWritesTwoWorkersTest(DependentWrites, ServerCase):
    options = Options(workers=2)
