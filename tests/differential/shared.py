"""Keys that all clients change at once. All answers must fit one order of all requests of a round. That order keeps, for each
client, the order that the protocol promises, and in it the sequential model gives exactly these answers.

Requests are few, values differ, and clients choose the uniques, so that all orders can be tried.
"""

import re

import batches
import classic
import meta
import ranges
from meta import Flags
from model import LONG, Store
from ranges import Range
from replies import match_one

_LINE = re.compile(rb"[^\r\n]*\r\n")
_DATA = re.compile(rb"(?:VALUE \S+ \d+|VA) (\d+)[^\r\n]*\r\n")
_UNCHANGED = (b"NOT_", b"EXISTS", b"NS", b"NF", b"EX", b"EN", b"CLIENT_ERROR", b"SERVER_ERROR")
MOST_STATES = 200_000         # tried in a round; beyond that the search is given up


class Taken:
    """The place of an answer in a pipeline: takes any answer and keeps it. `ends`: prefixes of the line that ends it."""

    def __init__(self, op, ends):
        self.op, self.ends, self.reply = op, ends, b""

    def match(self, received: bytes, at: int) -> int:
        begin = at
        while self.ends is not None:
            line = _LINE.match(received, at)
            if line is None:
                return -1
            at = line.end()
            if data := _DATA.match(line[0]):
                at += int(data[1]) + 2
            if not self.ends or line[0].startswith(self.ends):
                break
        self.reply = received[begin:at]
        return at

    def __repr__(self):
        return "<any answer>"


class Request:
    """A request of one client. `reads`: it changes nothing; `key`: its only key, or None."""

    def __init__(self, op, key, reads, ends=()):
        self.op, self.key, self.reads = op, key, reads
        self.taken = Taken(op, ends)

    def writes(self) -> bool:
        """Whether it surely changed something. A request without effect may be decided before earlier writes of other keys."""
        if self.taken.ends is None:
            return self.op.wire.startswith(b"set")
        return not self.reads and not self.op.wire.startswith(b"mg") and not self.taken.reply.startswith(_UNCHANGED)

    def comes_before(self, other, ordered_reads: bool) -> bool:
        """Whether this request takes effect before the other one, which the same client sent later."""
        if self.key is None or other.key is None:
            return not (self.reads and other.reads)
        if self.key == other.key:
            return ordered_reads or not (self.reads and other.reads)
        return self.writes() and other.writes()


class Group:
    """Keys with one prefix, and the states that they may be in."""

    def __init__(self, name: bytes, count: int, limits, now: int, ticks: bool = False, ordered_reads: bool = True):
        self.prefix = b"s:%s" % name
        self.keys = [self.prefix + b"%d" % number for number in range(count)]
        self.states = [Store(limits, now)]
        self.states[0].ticks = ticks
        self.counter = 1 << 40
        self.ordered_reads = ordered_reads

    def request(self, chance) -> Request:
        key, kind = chance.choice(self.keys), chance.randrange(16)
        self.counter += 1
        value = b"%d" % self.counter if chance.random() < 0.7 else b"text%d" % self.counter
        unique, quiet = self.counter, chance.random() < 0.2
        old = self.counter - chance.randrange(12)
        silent = None if quiet else ()
        if kind < 2:
            return Request(classic.storage(b"set", key, value, noreply=quiet), key, False, silent)
        if kind < 3:
            verb = chance.choice((b"add", b"replace", b"append", b"prepend"))
            return Request(classic.storage(verb, key, value, noreply=quiet), key, False, silent)
        if kind < 4:
            return Request(classic.storage(b"cas", key, value, unique=old), key, False)
        if kind < 5:
            return Request(classic.delete(key, quiet), key, False, silent)
        if kind < 6:
            return Request(classic.arithmetic(key, 3, chance.random() < 0.5), key, False)
        if kind < 8:
            return Request(classic.get([key]), key, True, (b"END",))
        if kind < 9:
            pairs = [(b"v", b"")] + [(b"N", b"0")] * (chance.random() < 0.5) + [(b"R", b"100")] * (chance.random() < 0.3)
            return Request(meta.meta(b"mg", key, pairs), key, len(pairs) == 1 or pairs[1][0] != b"N")
        if kind < 11:
            pairs = [(b"E", b"%d" % unique)] + [(b"C", b"%d" % old)] * (chance.random() < 0.5) + [(b"I", b"")] * (chance.random() < 0.2)
            return Request(meta.meta(b"ms", key, pairs, value), key, False)
        if kind < 12:
            pairs = [(b"C", b"%d" % old)] * (chance.random() < 0.5) + [(b"I", b"")] * (chance.random() < 0.5)
            return Request(meta.meta(b"md", key, pairs), key, False)
        if kind < 13:
            return Request(meta.meta(b"ma", key, [(b"v", b""), (b"N", b"0"), (b"J", b"5")]), key, False)
        return self._of_all(chance, value)

    def _of_all(self, chance, value) -> Request:
        kind, where = chance.randrange(6), Range(prefix=self.prefix)
        if kind < 2:
            return Request(ranges.read(where, Flags([(b"X", b""), (b"v", b"")])), None, True, (b"EN",))
        if kind < 3:
            return Request(ranges.remove(where, Flags([(b"X", b"")])), None, False)
        if kind < 4:
            return Request(ranges.touch(where, Flags([(b"T", b"%d" % chance.choice((0, LONG, -1)))])), None, False)
        one, other = chance.choice(self.keys), chance.choice(self.keys)
        lines = chance.choice((
            [meta.meta(b"ma", one, [(b"q", b""), (b"D", b"3")]), meta.meta(b"ma", other, [(b"q", b""), (b"D", b"3"), (b"M", b"D")])],
            [meta.meta(b"ms", one, [(b"q", b"")], value), meta.meta(b"ms", other, [(b"q", b"")], value)],
            [meta.meta(b"md", one, [(b"q", b"")]), meta.meta(b"ms", other, [(b"q", b""), (b"M", b"E")], value)]))
        # An answer to the missing key of md comes before the last line.
        return Request(batches.batch(lines), None, False, (b"HD", b"EX"))

    def look(self) -> list:
        return [Request(meta.meta(b"mg", key, [(letter, b"") for letter in (b"v", b"f", b"t", b"u")]), key, True) for key in self.keys]

    def advance(self, seconds: int) -> None:
        for state in self.states:
            state.advance(seconds)

    def judge(self, clients: list, looks: list):
        """`clients`: each client's requests of a round; `looks`: requests after all of these were answered. Returns an error, or
        None.
        """
        ends = _Search(clients, self.ordered_reads).run(self.states)
        if ends is None:
            raise AssertionError("too many orders")
        if not ends:
            return "no order of these requests gives these answers:\n" + _story(clients, self.states)
        fitting = [state for state in ends if all(_fits(state, request) for request in looks)]
        if not fitting:
            return "no order of these requests leads to what is there then:\n" + _story([*clients, looks], self.states)
        self.states = fitting
        return None


def _fits(state, request) -> bool:
    return match_one(request.op.expect(state), request.taken.reply, 0) == len(request.taken.reply)


def _story(clients, states) -> str:
    lines = [f"  at first: {[(key, item.state()) for key, item in state.items.items()]}" for state in states[:3]]
    for number, requests in enumerate(clients):
        lines += [f"  client {number}: {request.op.wire[:200]!r} -> {request.taken.reply[:200]!r}" for request in requests]
    return "\n".join(lines)


def _copy(store) -> Store:
    other = Store(store.limits, store.now)
    other.flush_at, other.ticks = store.flush_at, store.ticks
    for key in store.keys:
        other.put(key, store.items[key].copy())
    return other


class _Search:
    """Tries all orders, depth first. Visits each combination of the clients' progress and the resulting state once."""

    def __init__(self, clients, ordered_reads: bool):
        self.clients = clients
        self.needs = [[sum(1 << i for i in range(number) if requests[i].comes_before(requests[number], ordered_reads))
                       for number in range(len(requests))] for requests in clients]
        self.all = tuple((1 << len(requests)) - 1 for requests in clients)

    def run(self, states):
        """The states that all requests may lead to; None if there are too many to try."""
        ends, seen = {}, set()
        waiting = [(tuple(0 for _ in self.clients), state) for state in states]
        while waiting:
            done, state = waiting.pop()
            signature = (done, tuple((key, state.items[key].state()) for key in state.keys))
            if signature in seen:
                continue
            seen.add(signature)
            if len(seen) > MOST_STATES:
                return None
            if done == self.all:
                ends[signature[1]] = state
                continue
            waiting += self._steps(done, state)
        return list(ends.values())

    def _steps(self, done, state):
        for client, requests in enumerate(self.clients):
            for number, request in enumerate(requests):
                if done[client] >> number & 1 or self.needs[client][number] & ~done[client]:
                    continue
                after = _copy(state)
                if _fits(after, request):
                    yield tuple(mask | 1 << number if i == client else mask for i, mask in enumerate(done)), after
