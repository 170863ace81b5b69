"""The same pipelines to mxkvd and to memcached 1.6.18, each with a model of its own: both answer common commands alike.

Intended differences have names, in tests/integration/differences.py. Requests with such differences are not sent, and neither
are the requests below. memcached's clock cannot be stopped, so all times to live are long.
"""

import random

import classic
from client import Client, run_all
from common import Connection, Options, Server
from differences import wanted_difference
from generator import Generator
from keyspace import KeySpace, is_text
from model import Limits, Store

DIFFERENCES = {
    "shorter numbers": "what incr or decr leaves is padded in 1.6.18 where it gets shorter",
    "great numbers": "1.6.18 looks for a minus sign behind a number from 2^63 on, in the request and in the item's memory",
    "binary keys": "1.6.18 forgets that a key came in base64 when the item is appended to",
    "time of ma": "T of ma is given to the old item in 1.6.18 where the number gets longer",
    "compare of texts": "an item whose value is empty or long is no number to memcached before it looks at C",
    "marks of numbers": "incr and decr leave an item unread, and neither stale nor owed, in 1.6.18",
    "errors": "some error lines were worded anew after 1.6.18",
}
_OWN = (b"mb ", b"mr ", b"mc ", b"mx ", b"mt ", b"scan", b"pscan")


class SharedGenerator(Generator):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.left_out = {}
        self.scenes = [(20, self.talk), (5, self.fill), (5, self.clear), (3, self.get_many), (1, self.filler)]

    def emit(self, op) -> None:
        why = self.difference(op)
        if why is None:
            super().emit(op)
        else:
            self.left_out[why] = self.left_out.get(why, 0) + 1

    def time(self) -> int:
        return self.chance.choice((0, 0, 0, 1000, 2592000))

    def unique_of(self, key) -> int:
        return 1 << 60

    def difference(self, op):
        """The name of the difference that a request would show, or None."""
        line = op.wire[:op.wire.index(b"\r\n")]
        words = line.split(b" ")
        if line.startswith(_OWN):
            return "ranges"
        if not is_text(op.key) or b"b" in words[2:]:
            return "binary keys"
        if words[0] == b"me" or words[0] == b"mg" and b"h" in words[2:]:
            return "marks of numbers"
        if words[0] in (b"incr", b"decr", b"ma"):
            return self._difference_of_numbers(op, words)
        if op.wire in (b"\r\n", b"get\r\n", b"mg\r\n") or words[0] == b"version" or line.startswith((b"mg k q q", b"get kkk")):
            return "errors"
        if any(word.startswith(b"R") for word in words[2:]):
            return "time of ma"   # the remaining time depends on the clock
        return wanted_difference(line)

    def _difference_of_numbers(self, op, words):
        if words[0] == b"ma" and any(word[:1] == b"T" for word in words[2:]):
            return "time of ma"
        item = self.store.items.get(op.key)
        if item is not None and not 0 < len(item.value) <= 20 and any(word[:1] == b"C" for word in words[2:]):
            return "compare of texts"
        if item is not None and (item.stale or item.won):
            return "marks of numbers"
        number = classic.number_of(item) if item is not None else None
        if number is not None:
            delta = int(words[2]) if words[0] != b"ma" else next((int(word[1:]) for word in words[2:] if word[:1] == b"D"), 1)
            down = words[0] == b"decr" or any(word in (b"MD", b"M-") for word in words[2:])
            if max(delta, number) >= 1 << 63:
                return "great numbers"
            if len(b"%d" % classic.moved_number(number, delta, down)) < len(item.value):
                return "shorter numbers"
        elif words[0] != b"ma" and int(words[2]) >= 1 << 63:
            return "great numbers"
        return wanted_difference(b" ".join(words))


class BesideSession:
    """Clients in pairs: the first asks mxkvd, the second memcached."""

    def __init__(self, seed: int, ours: Server, theirs: Server, clients: int = 2, excluded=("wins", "reads")):
        self.seed, self.chance = seed, random.Random(f"{seed} beside")
        self.requests, self.pairs = 0, []
        with_clock = Connection(ours.port)
        with_clock.set(b"clock", b"", exptime=4_000_000_000)
        now = 4_000_000_000 - int(with_clock.ask(b"mg clock t")[4:])
        with_clock.close()
        for number in range(clients):
            space = KeySpace(b"abcdefgh"[number:number + 1], 1000)
            stores = [Store(Limits(), now, space.owns) for _ in range(2)]
            for store in stores:
                store.ticks = True
            stores[1].any_uniques = True
            generator = SharedGenerator(random.Random(f"{seed} beside {number}"), stores[0], space, b"", excluded=excluded)
            twin = Client(theirs.port, None, f"memcached-{space.letter.decode()}")
            self.pairs.append((Client(ours.port, generator, space.letter.decode()), twin, stores[1]))

    def round(self, length: int = 200) -> None:
        for client, twin, store in self.pairs:
            client.plan(self.chance.randrange(1, 2 * length))
            twin.set_plan(client.ops, [op.expect(store) for op in client.ops])
            self.requests += len(client.ops)
        clients = [client for client, twin, _ in self.pairs for client in (client, twin)]
        run_all(clients)
        for client in clients:
            client.check()

    def close(self) -> None:
        for client, twin, _ in self.pairs:
            client.close()
            twin.close()


def servers() -> list:
    """mxkvd and memcached, started."""
    return [Server(Options(memory_mib=512)).start(), Server(Options(memory_mib=512, memcached=True)).start()]
