"""Sessions against one daemon each: rounds of pipelines of several clients at once, with a clock that moves between them.

Each round every client sends a pipeline over its own keys. Then, while no request is under way, the time may pass, everything
may be flushed now or later, or all items of the server are compared with all models. A session follows from its seed, except
for the interleaving of the daemon's workers.
"""

import base64
import dataclasses
import random
import time

from client import Client, Failure, run_all
from common import Connection, Options, Server
from counters import Counter
from generator import Generator
from keyspace import MINGLED, KeySpace
from model import LONG, Limits, Store
from pages import END_LINE, ITEM_LINE
from shared import Group


@dataclasses.dataclass(frozen=True)
class Plan:
    """One way to run the daemon, and the number of clients."""
    name: str
    workers: int = 2
    clients: int = 3
    dense: int = 2500
    noise: bool = False
    ticks: bool = False           # the clock runs, and with it the daemon's own sweeps
    runs: int = 1
    length: int = 300
    limits: tuple = ()
    settings: tuple = ()

    def options(self) -> Options:
        limits = [(f"limits.{name}", value) for name, value in self.limits]
        return Options(workers=self.workers, memory_mib=512, settings=(
            ("server.debug_time", "true"), ("limits.scan_time", "10s"), ("memory.when_full", "error"), *limits, *self.settings))

    def model_limits(self) -> Limits:
        return Limits(**dict(self.limits))


_SMALL = (("value_bytes", 50_000), ("scan_items", 50), ("locked_items", 2000))

PLANS = [
    Plan("one client, one worker", workers=1, clients=1),
    Plan("three clients and a noisy one, two workers", noise=True),
    Plan("one client", clients=1),
    Plan("five clients, small limits, one worker", workers=1, clients=5, dense=600, limits=_SMALL, length=150),
    Plan("two clients and a noisy one, long runs and sweeps", clients=2, noise=True, ticks=True, dense=20_000, runs=10, length=1500),
    Plan("two clients, few keys, two slots, three workers", workers=3, clients=2, dense=120, length=600, settings=(("experimental.lock_slots", "2"),)),
]


# Properties of a sequential server that the daemon does not have, so that they are not tested:
#   batch-uniques   a new item has a greater unique than an item that a batch made and removed before
#   wins            a reader right behind the winner of an item sees that another client has won
#   reads           several reads of a key in one pipeline happen one after the other
UNASKED = ("batch-uniques", "wins", "reads")


class Session:
    def __init__(self, plan: Plan, seed: int, server=None, excluded=UNASKED):
        self.plan, self.seed = plan, seed
        self.chance = random.Random(f"{seed} {plan.name}")
        self.server = server or Server(plan.options()).start()
        self.rounds = self.requests = 0
        self.control = Connection(self.server.port, timeout=60)
        self._stop_the_clock()
        self.clients, self.noise = [], None
        for number in range(plan.clients):
            space = KeySpace(b"abcdefgh"[number:number + 1], plan.dense)
            alone = plan.clients == 1 and not plan.noise
            store = Store(plan.model_limits(), self.now, None if alone else space.owns)
            store.ticks = plan.ticks
            chance = random.Random(f"{seed} {plan.name} {number}")
            generator = Generator(chance, store, space, self.version, alone, plan.runs, excluded)
            self.clients.append(Client(self.server.port, generator, space.letter.decode()))
        self.groups = [Group(name, count, plan.model_limits(), self.now, plan.ticks, "reads" not in excluded)
                       for name, count in ((b"a", 1), (b"b", 2), (b"c", 3))]
        self.counters = [Counter(client.generator.space.letter, "reads" not in excluded) for client in self.clients]
        self._restore_counters()
        if plan.noise:
            self.noise = Client(self.server.port, None, "noise")

    def _stop_the_clock(self) -> None:
        self.version = self.control.ask(b"version") + b"\r\n"
        if not self.plan.ticks:
            self.ask(b"debugtime p")
        self.control.set(b"clock", b"", exptime=4_000_000_000)
        self.now = 4_000_000_000 - int(self.control.ask(b"mg clock t")[4:])
        assert self.control.ask(b"delete clock") == b"DELETED"

    def close(self) -> None:
        for client in [*self.clients, *([self.noise] if self.noise else [])]:
            client.close()
        self.control.close()

    def run(self, seconds: float, rounds: int = 1 << 60) -> None:
        end = time.monotonic() + seconds
        while self.rounds == 0 or time.monotonic() < end and self.rounds < rounds:
            self.round()
        self.audit()

    def round(self) -> None:
        self.rounds += 1
        for client in self.clients:
            client.plan(self.chance.randrange(1, 2 * self.plan.length))
            self.requests += len(client.ops)
        asked = self._share() if self.plan.clients > 1 and self.chance.random() < 0.7 else []
        active = list(self.clients)
        if self.noise:
            self.noise.set_plan(_noise(self.chance), [])
            active.append(self.noise)
        run_all(active)
        for client in self.clients:
            client.check()
        self._judge(asked)
        self.between()

    def _share(self) -> list:
        """Adds requests for shared keys to the pipelines; returns pairs of a group and each client's requests for it."""
        asked = []
        for group in self.groups:
            requests = [[group.request(self.chance) for _ in range(self.chance.randrange(5))] for _ in self.clients[:3]]
            for client, mine in zip(self.clients, requests):
                client.weave(self.chance, [(request.op, [request.taken]) for request in mine])
            asked.append((group, requests))
        for counting, counter in zip(self.clients, self.counters):
            counting.weave(self.chance, counter.count(self.chance))
            for client in self.clients:
                if client is not counting:
                    client.weave(self.chance, counter.read(self.chance, {}))
        return asked

    def _judge(self, asked: list) -> None:
        for group, requests in asked:
            looks = group.look()
            for look in looks:
                self.control.send(look.op.wire)
                line = self.control.line() + b"\r\n"
                look.taken.reply = line if line[:2] != b"VA" else line + self.control.exactly(int(line.split()[1]) + 2)
            if wrong := group.judge(requests, looks):
                raise Failure(wrong)

    # --- Between rounds no answer is outstanding ---

    def between(self) -> None:
        kind = self.chance.random()
        if kind < 0.10:
            self.pass_time(LONG + 200 if self.plan.ticks else self.chance.choice((1, 1, 2, 3, 60)))
        elif kind < 0.12:
            self.ask(b"flush_all")
            for store in self.stores():
                store.clear()
            self._restore_counters()
        elif kind < 0.13:
            delay = LONG if self.plan.ticks else self.chance.choice((2, 3, 5))
            self.ask(b"flush_all %d" % delay)
            for store in self.stores():
                store.flush_later(delay)
        elif kind < 0.2:
            self.audit()
        elif kind < 0.24:
            self.chance.choice(self.clients).reconnect()

    def ask(self, command: bytes) -> None:
        answer = self.control.ask(command)
        if answer != b"OK":
            raise Failure(f"{command!r} was answered {answer!r}")

    def pass_time(self, seconds: int) -> None:
        """Skips the second before a coming flush: whether the flush removes an item stored in it depends on its fractions."""
        left = self.clients[0].generator.store.flush_at - self.now
        if left - 2 < seconds:
            seconds = max(seconds, left)
        self.ask(b"debugtime %d" % seconds)
        self.now += seconds
        for store in self.stores():
            store.advance(seconds)
        self._restore_counters()

    def _restore_counters(self) -> None:
        if len(self.counters) > 1:
            for counter in self.counters:
                counter.restore(self.control)

    def stores(self) -> list:
        return [client.generator.store for client in self.clients] + [state for group in self.groups for state in group.states]

    def audit(self) -> None:
        """Reads all items of the server, page by page, and compares them with the models' items."""
        items, cursor = [], b""
        while True:
            self.control.send(b"mr -%s v f t\r\n" % cursor)
            page, end = self._page()
            items += page
            if end[2] is None:
                break
            cursor = b" G" + end[2]
        spaces = [client.generator.space for client in self.clients]
        found = [item for item in items if any(space.owns(item[0]) for space in spaces) or len(spaces) == 1 and not self.noise]
        wanted = sorted((self._record(client.generator.store, key) for client in self.clients for key in client.generator.store.keys))
        if found != wanted:
            raise Failure("what the server holds is not what the models hold:\n" + _difference(found, wanted, self.clients))
        exact = b"HD A%d B" % len(items)
        answer = self.control.ask(b"mc - X")
        if not self.noise and len(items) <= self.clients[0].generator.store.limits.locked_items and not answer.startswith(exact):
            raise Failure(f"mc - X answers {answer!r} where a scan finds {len(items)} items")

    @staticmethod
    def _record(store, key):
        item = store.items[key]
        left = b"any" if item.expiry and store.ticks else b"%d" % (item.expiry - store.now) if item.expiry else b"-1"
        return key, item.value, b"f%d t%s" % (item.flags, left), item.won, item.stale

    def _page(self):
        items = []
        while True:
            line = self.control.line() + b"\r\n"
            if end := END_LINE.fullmatch(line):
                return items, end
            item = ITEM_LINE.fullmatch(line)
            if item is None:
                raise Failure(f"{line!r} in a page")
            value = self.control.exactly(int(item[1]) + 2)[:-2]
            key, words = item[2], item[3].split()
            if words[0] == b"b":
                key, words = base64.b64decode(key), words[1:]
            if self.plan.ticks and words[1] != b"t-1":
                words[1] = b"tany"
            items.append((key, value, b" ".join(words[:2]), b"Z" in words, b"X" in words))


def _difference(found: list, wanted: list, clients) -> str:
    mine, other = ({item[0]: item for item in items} for items in (found, wanted))
    lines = [f"{len(found)} items, {len(wanted)} expected"]
    for key in sorted({*mine, *other}):
        if mine.get(key) != other.get(key):
            lines.append(f"  {key[:80]!r}: {str(mine.get(key))[:150]}, expected {str(other.get(key))[:150]}")
    if [item[0] for item in found] != sorted(mine):
        lines.append("  keys out of order, or twice")
    first = next((key for key in sorted({*mine, *other}) if mine.get(key) != other.get(key)), b"")
    owner = next((client for client in clients if client.generator.space.owns(first)), clients[0])
    return "\n".join([*lines[:20], f"what was asked of {first[:80]!r}:", *owner.asked_before(first, 12)])


class _Raw:
    """Requests whose answers are not checked."""
    __slots__ = ("wire", "key")

    def __init__(self, wire):
        self.wire, self.key = wire, b""


def _noise(chance) -> list:
    """Runs of keys beside, and between, the clients' keys: stored, expired, deleted one by one and by range."""
    begin, count, ops = chance.randrange(3000), chance.choice((100, 500, 2000)), []
    names = [b"z%05d" % number for number in range(begin, begin + count)]
    if chance.random() < 0.5:
        names = [b"m%05dz" % number for number in range(MINGLED)]
    kind = chance.randrange(5)
    if kind in (0, 1):
        exptime = chance.choice((0, 0, 2))
        ops = [b"set %s 0 %d 2 noreply\r\nno\r\n" % (name, exptime) for name in names]
    elif kind == 2:
        ops = [b"delete %s noreply\r\n" % name for name in names]
    elif kind == 3:
        ops = [b"mx z p q%s\r\n" % chance.choice((b"", b" X"))]
    else:
        ops = [b"set %s 0 0 2 noreply\r\nno\r\ndelete %s noreply\r\n" % (name, name) for name in names]
    return [_Raw(b"".join(ops))]
