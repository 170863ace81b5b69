"""Tests of the fuzzer itself: it must find deliberate mistakes in the model, in answers on their way, and in orders."""

import random
import unittest
from unittest import mock

import batches
import classic
import meta
import model
import ranges
from client import Client, Failure
from common import LONG, Server
from fuzzer import PLANS, Session
from model import Limits, Store
from shared import Group, Request

_PLAN = PLANS[0]
_MOST_ROUNDS = 150 if LONG else 75


def _remove_but_some(store, key):
    if hash(key) % 64 or key not in store.items:
        return _REMOVE(store, key)
    return None


_REMOVE, _REACH, _TAKES = Store.remove, ranges.Range.reach, ranges.Budget.takes


def _reach_too_far(where, keys):
    low, high = _REACH(where, keys)
    return low, min(len(keys), high + (where.far is not None))


def _takes_one_less(budget, size):
    return _TAKES(budget, size) and (budget.count < 7 or budget.count != budget.items)


MISTAKES = {
    "what is deleted stays, sometimes": (Store, "remove", _remove_but_some),
    "time passes and nothing ends": (Store, "advance", lambda store, seconds: setattr(store, "now", store.now + seconds)),
    "a touch changes no time": (classic, "_run_touch", lambda store, key, exptime, noreply: classic._silent(
        noreply, b"TOUCHED\r\n" if key in store.items else b"NOT_FOUND\r\n")),
    "decr goes below zero": (classic, "moved_number", lambda number, delta, down: (number + (-delta if down else delta)) & classic.LARGEST),
    "C is not looked at": (meta, "_differs", lambda item, flags: False),
    "nobody wins": (meta, "_wins", lambda store, item, flags: False),
    "a range reaches too far": (ranges.Range, "reach", _reach_too_far),
    "pages have one item less": (ranges.Budget, "takes", _takes_one_less),
    "uniques stay": (model, "Version", type("Version", (model.Version,), {"number": property(lambda self: 7, lambda self, value: None)})),
}


class MistakesTest(unittest.TestCase):
    def setUp(self):
        self.server = Server(_PLAN.options()).start()
        self.addCleanup(self.server.kill)
        self.failure = None

    def finds(self, seed: int) -> bool:
        session = Session(_PLAN, seed, self.server)
        try:
            session.ask(b"flush_all")
            session.run(3600, _MOST_ROUNDS)
            return False
        except Failure as failure:
            self.failure = failure
            return True
        finally:
            session.close()

    def test_mistakes_of_the_model(self):
        for what, (where, name, wrong) in MISTAKES.items():
            with self.subTest(what):
                with mock.patch.object(where, name, wrong):
                    self.assertTrue(self.finds(1))
        self.failure = None
        self.assertFalse(self.finds(1), f"{self.failure}: and without a mistake there is nothing to be found")

    def test_answers_changed_on_their_way(self):
        """Finds a missing line, a repeated line, two swapped lines and a changed byte."""
        chance = random.Random(1)

        def corrupted(received: bytes) -> bytes:
            lines = received.splitlines(keepends=True)
            if len(lines) < 12:
                return received
            at = chance.randrange(len(lines) - 4)
            kind = chance.randrange(4)
            if kind == 0:
                del lines[at]
            elif kind == 1:
                lines.insert(at, lines[at])
            elif kind == 2:
                other = next((i for i in range(at + 1, len(lines) - 2) if lines[i] != lines[at]), None)
                if other is None:
                    return received
                lines[at], lines[other] = lines[other], lines[at]
            else:
                lines[at] = lines[at].replace(b"STORED", b"NOT_STORED") if b"STORED" in lines[at] else b"x" + lines[at]
            return b"".join(lines)

        changed = found = 0
        check = Client.check

        def checks(client):
            nonlocal changed, found
            right = bytes(client.received)
            store = client.generator.store
            uniques, cursors = dict(store.greatest), list(store.cursors)
            wrong = corrupted(right)
            check(client)
            if wrong != right:
                changed += 1
                learnt = dict(store.greatest), list(store.cursors)
                store.greatest, store.cursors = uniques, cursors
                client.received = bytearray(wrong)
                try:
                    check(client)
                except Failure:
                    found += 1
                client.received = bytearray(right)
                store.greatest, store.cursors = learnt

        with mock.patch.object(Client, "check", checks):
            self.assertFalse(self.finds(2), self.failure)
        self.assertGreater(changed, _MOST_ROUNDS // 2)
        self.assertEqual(found, changed)


class OrdersTest(unittest.TestCase):
    """Histories by hand: each is a list of pairs (request, answer) for each client."""

    def judged(self, clients, then) -> str:
        group = Group(b"x", 2, Limits(), 1000)
        made = []
        for pairs in clients:
            made.append([])
            for op, key, reads, answer in pairs:
                request = Request(op, key, reads)
                request.taken.reply = answer
                made[-1].append(request)
        looks = group.look()
        for look, reply in zip(looks, then):
            look.taken.reply = reply
        return group.judge(made, looks) or ""

    ONE, TWO = b"s:x0", b"s:x1"
    MISS = b"EN\r\n"

    def set(self, key, value):
        return classic.storage(b"set", key, value), key, False, b"STORED\r\n"

    def get(self, key, value):
        return classic.get([key]), key, True, b"END\r\n" if value is None else b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value)

    @staticmethod
    def there(value):
        return b"VA %d f0 t-1\r\n%s\r\n" % (len(value), value)

    def test_any_order_of_two_clients(self):
        for last in (b"a", b"b"):
            self.assertEqual(self.judged([[self.set(self.ONE, b"a")], [self.set(self.ONE, b"b")]], [self.there(last), self.MISS]), "")

    def test_a_value_that_was_never_last(self):
        self.assertIn("leads to", self.judged([[self.set(self.ONE, b"a"), self.set(self.ONE, b"c")], []], [self.there(b"a"), self.MISS]))

    def test_a_client_sees_its_own_write(self):
        self.assertIn("gives", self.judged([[self.set(self.ONE, b"a"), self.get(self.ONE, None)], []], [self.there(b"a"), self.MISS]))

    def test_reads_do_not_go_back(self):
        clients = [[self.set(self.ONE, b"a"), self.set(self.ONE, b"b")], [self.get(self.ONE, b"b"), self.get(self.ONE, b"a")]]
        self.assertIn("gives", self.judged(clients, [self.there(b"b"), self.MISS]))

    def test_one_client_alone_makes_an_item(self):
        made = (meta.meta(b"ms", self.ONE, [(b"M", b"E")], b"v"), self.ONE, False, b"HD\r\n")
        self.assertIn("gives", self.judged([[made], [made]], [self.there(b"v"), self.MISS]))

    def test_a_batch_is_seen_whole(self):
        batch = (batches.batch([meta.meta(b"ms", key, [(b"q", b"")], b"v") for key in (self.ONE, self.TWO)]), None, False, b"HD\r\n")
        where, flags = ranges.Range(prefix=b"s:x"), meta.Flags([(b"X", b""), (b"v", b"")])
        page = b"".join(b"VA 1 k%s\r\nv\r\n" % key for key in (self.ONE, self.TWO)) + b"EN A2\r\n"
        half = b"VA 1 k%s\r\nv\r\nEN A1\r\n" % self.ONE
        then = [self.there(b"v"), self.there(b"v")]
        for answer, wrong in ((page, False), (b"EN A0\r\n", False), (half, True)):
            read = (ranges.read(where, flags), None, True, answer)
            self.assertEqual("gives" in self.judged([[batch], [read]], then), wrong, answer)


if __name__ == "__main__":
    unittest.main()
