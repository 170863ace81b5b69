"""A daemon whose memory is too small: any item may be missing at any time, but none comes back, and none has another value.

The model follows the answers: if an answer does not fit an item that the model holds, but fits its absence, the item was evicted.
"""

import base64
import random

import classic
from client import Client, Failure, run_all
from common import Options, Server
from keyspace import KeySpace
from meta import Flags
from model import Limits, Store
from pages import END_LINE, ITEM_LINE
from ranges import Range, read
from replies import match_one
from single_keys import SingleKeyRequests

_NO_MEMORY = b"SERVER_ERROR out of memory storing object\r\n"
_DERIVED = (b"append", b"prepend", b"incr", b"touch", b"gat", b"ma", b"mg", b"md", b"ms")


class Evicted(SingleKeyRequests):
    """Requests whose answers show whether an item existed; after set and delete that is certain anyway."""

    def value(self) -> bytes:
        self.counter += 1
        if self.flip(0.2):
            return b"%d" % self.counter
        return b"%s%d:" % (self.space.letter, self.counter) + b"v" * self.chance.choice((10, 100, 1000, 3000, 10_000, 40_000))

    def time(self) -> int:
        return self.chance.choice((0, 0, 0, 2592000, -1))

    def pipeline(self, length: int) -> list:
        ops = []
        while len(ops) < length:
            kind = self.chance.random()
            if kind < 0.4:
                begin = self.chance.randrange(self.space.dense - 60)
                ops += [classic.storage(b"set", self.space.at(begin + i), self.value(), noreply=self.flip(0.5)) for i in range(60)]
            elif kind < 0.45:
                where = Range(self.space.at(self.chance.randrange(self.space.dense)), self.space.at(99999), reverse=False)
                ops.append(read(where, Flags([(b"v", b""), (b"A", b"50")])))
            else:
                key = self.space.few(self.chance) if self.flip(0.3) else self.space.numbered(self.chance)
                ops += [op for op in (self.one_op(key) for _ in range(8)) if op is not None]
        return ops

    def one_op(self, key):
        op = self.classic_op(key) if self.flip(0.6) else self.meta_op(key)
        line = op.wire[:op.wire.index(b"\r\n")]
        words = line.split(b" ")
        silent = words[-1] == b"noreply" and words[0] not in (b"set", b"delete") or b"q" in words[2:]
        either_way = words[0] in (b"ms", b"ma") and any(word.startswith(b"N") for word in words[2:])
        return None if silent or either_way or words[0] == b"me" else op


class _Follower:
    """Goes through the answers of one pipeline with the model."""

    def __init__(self, store, received: bytes):
        self.store, self.received, self.at, self.gone = store, received, 0, 0

    def take(self, op) -> bool:
        """Whether the next answer is possible for the request."""
        if op.wire.startswith(b"mr"):
            return self._page(op)
        old = self.store.items.get(op.key)
        kept = old.copy() if old is not None else None
        for there in (True, False):
            if not there and old is None:
                break
            self._hold(op.key, kept.copy() if there and kept else None)
            end = match_one(op.expect(self.store), self.received, self.at)
            if end >= 0:
                self.gone += not there
                self.at = end
                return True
        if op.wire.startswith(_DERIVED) and self.received.startswith(_NO_MEMORY, self.at):
            self._hold(op.key, kept)
            self.at += len(_NO_MEMORY)
            return True
        return False

    def _hold(self, key, item) -> None:
        if item is None:
            self.store.remove(key)
        else:
            self.store.put(key, item)

    def _page(self, op) -> bool:
        where, shown = op.args[0], []
        while item := ITEM_LINE.match(self.received, self.at):
            self.at = item.end() + int(item[1]) + 2
            key = base64.b64decode(item[2]) if item[3].startswith(b" b") else item[2]
            if key not in self.store.items or self.received[item.end():self.at - 2] != self.store.items[key].value:
                return False
            shown.append(key)
        end = END_LINE.match(self.received, self.at)
        if end is None or shown != sorted(set(shown)) or int(end[1]) != len(shown):
            return False
        self.at = end.end()
        for key in where.keys(self.store):
            if key not in shown and (end[2] is None or key < shown[-1]):
                self.store.remove(key)
                self.gone += 1
        return True


class EvictingSession:
    def __init__(self, seed: int, server: Server, clients: int = 2, dense: int = 10_000):
        self.chance = random.Random(f"{seed} evicting")
        self.clients, self.requests, self.gone = [], 0, 0
        for number in range(clients):
            space = KeySpace(b"abcdefgh"[number:number + 1], dense)
            store = Store(Limits(), 1_700_000_000, space.owns)
            store.ticks = store.any_uniques = store.any_reads = True
            generator = Evicted(random.Random(f"{seed} evicting {number}"), store, space)
            self.clients.append(Client(server.port, generator, f"evicting-{number}"))

    def round(self, length: int = 300) -> None:
        for client in self.clients:
            client.set_plan(client.generator.pipeline(length), [])
            self.requests += len(client.ops)
        run_all(self.clients)
        for client in self.clients:
            received = bytes(client.received)
            follower = _Follower(client.generator.store, received[:len(received) - len(client.last)])
            for number, op in enumerate(client.ops):
                at = follower.at
                if not follower.take(op):
                    before = [other.wire[:100] for other in client.ops[:number] if other.key == op.key][-5:]
                    raise Failure(f"client {client.name}: request {number}, {op.wire[:200]!r}, was answered {received[at:at + 300]!r}; "
                                  f"held {client.generator.store.items.get(op.key)}, before it {before}")
            self.gone += follower.gone

    def close(self) -> None:
        for client in self.clients:
            client.close()


def small_server() -> Server:
    return Server(Options(memory_mib=64)).start()
