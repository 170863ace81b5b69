"""Random pipelines of the binary protocol, to mxkvd and to memcached: every answer is the same, to the byte, except for uniques.

A unique is compared by its meaning: whether there is one, and whether a write that names it succeeds. Requests that
memcached answers differently are not sent: commands it lacks, a body behind an unknown command, joins to a number that
keeps its old width there, numbers from 2^63 on (it looks for a minus sign then), counts of a non-number with a unique
(it checks the unique first), texts that begin with spaces and digits.
"""

import random

from common import Closed, Options, Server
from harness import binary
from harness.binary import (ADD, ADDQ, APPEND, APPENDQ, DECR, DECRQ, DELETE, DELETEQ, FLUSH, FLUSHQ, GAT, GATK, GATKQ, GATQ, GET, GETK, GETKQ,
                            GETQ, INCR, INCRQ, NOOP, PREPEND, PREPENDQ, QUIT, QUITQ, REPLACE, REPLACEQ, SASL_AUTH, SASL_MECHANISMS, SASL_STEP,
                            SET, SETQ, TOUCH, BinaryConnection, count, request, store, touch)

_STORES, _JOINS, _COUNTS = (SET, ADD, REPLACE, SETQ, ADDQ, REPLACEQ), (APPEND, PREPEND, APPENDQ, PREPENDQ), (INCR, DECR, INCRQ, DECRQ)
_GETS, _GATS, _DELETES = (GET, GETQ, GETK, GETKQ), (TOUCH, GAT, GATQ, GATK, GATKQ), (DELETE, DELETEQ)
_SIZES = (0, 1, 2, 10, 100, 1000, 4096, 5000, 20_000, 300_000)
_SPECIAL_NUMBERS = (0, 1, 2, 9, 10, 99, (1 << 32) - 1, 1 << 32, 1 << 61)


class Mismatch(AssertionError):
    pass


class Side:
    """One of the two servers, and the uniques that it sent."""

    def __init__(self, memcached: bool):
        self.server = Server(Options(memcached=memcached, memory_mib=256)).start()
        self.uniques = {}
        self.dial()

    def dial(self) -> None:
        self.client = BinaryConnection(self.server.port, timeout=60)

    def close(self) -> None:
        self.client.close()
        self.server.stop()

    def ask(self, wire: bytes, keys: dict, closes: bool) -> list:
        """All answers to the pipeline, which ends with a noop or closes the connection."""
        if not closes:
            replies = self.client.until_noop(wire)
        else:
            self.client.send(wire)
            replies = binary.replies_in(self.client.rest())
            self.client.close()
            self.dial()
        for reply in replies:
            if reply.cas:
                self.uniques[keys[reply.opaque]] = reply.cas
        return replies


class Pair:
    def __init__(self, seed: int):
        self.seed, self.chance = seed, random.Random(f"binary {seed}")
        self.sides = [Side(memcached) for memcached in (False, True)]
        self.requests = 0

    def close(self) -> None:
        for side in self.sides:
            side.close()

    def key(self) -> bytes:
        """Numbers have keys of their own."""
        return self.chance.choice((b"text %d", b"t%d", b"long" + b"x" * 240 + b"%d")) % self.chance.randrange(8)

    def number_key(self) -> bytes:
        return b"n%d" % self.chance.randrange(5)

    def value(self) -> bytes:
        size = self.chance.choice(_SIZES[:7] if self.chance.random() < 0.95 else _SIZES)
        return b"v" + self.chance.randbytes(size - 1) if 0 < size < 5000 else bytes([self.chance.randrange(128, 256)]) * size

    def unique(self, key: bytes) -> tuple:
        """The unique for each side: usually none, else the last one that it sent, or another."""
        if self.chance.random() < 0.7 or not all(key in side.uniques for side in self.sides):
            return 0, 0
        away = self.chance.choice((0, 0, 1 << 62))
        return tuple(side.uniques[key] + away for side in self.sides)

    def request(self, opaque: int) -> tuple:
        """(key, a request for each side)."""
        chance, kind = self.chance, self.chance.random()
        key = self.key()
        if kind < 0.3:
            value, flags, time = self.value(), chance.choice((0, 1, 0xffffffff)), chance.choice((0, 0, 1000))
            opcode = chance.choice(_STORES)
            return key, [store(opcode, key, value, flags, time, cas, opaque) for cas in self.unique(key)]
        if kind < 0.4:
            opcode, value = chance.choice(_JOINS), self.value()[:1000]
            return key, [request(opcode, key, value, cas=cas, opaque=opaque) for cas in self.unique(key)]
        if kind < 0.6:
            key = key if chance.random() < 0.7 else self.number_key()
            return key, [request(chance.choice(_GETS), key, opaque=opaque)] * 2
        if kind < 0.68:
            key = key if chance.random() < 0.7 else self.number_key()
            opcode = chance.choice(_DELETES)
            return key, [request(opcode, key, cas=cas, opaque=opaque) for cas in self.unique(key)]
        if kind < 0.85:
            key = key if chance.random() < 0.1 else self.number_key()
            opcode, delta, initial = chance.choice(_COUNTS), chance.choice(_SPECIAL_NUMBERS), chance.choice(_SPECIAL_NUMBERS)
            number = key.startswith(b"n")
            time = chance.choice((0, 0, 1000, 0xffffffff)) if number else 0xffffffff
            uniques = self.unique(key) if number else (0, 0)
            return key, [count(opcode, key, delta, initial, time, cas, opaque) for cas in uniques]
        if kind < 0.9:
            key = self.number_key()
            return key, [store(SET, key, b"%d" % chance.choice(_SPECIAL_NUMBERS), opaque=opaque)] * 2
        if kind < 0.96:
            return key, [touch(chance.choice(_GATS), key, chance.choice((0, 1000)), opaque)] * 2
        if kind < 0.965:
            return key, [request(chance.choice((FLUSH, FLUSHQ)), extras=chance.choice((b"", bytes(4))), opaque=opaque)] * 2
        if kind < 0.97:
            return key, [store(chance.choice((SET, ADD)), key, bytes(2 << 20), opaque=opaque)] * 2
        if kind < 0.98:
            return key, [request(chance.choice((0x1f, 0x25, 0x30, 0x3c, 0xff, SASL_MECHANISMS)), opaque=opaque)] * 2
        return key, [request(NOOP, opaque=opaque)] * 2

    def last(self, opaque: int) -> bytes:
        """A request that ends the connection."""
        return self.chance.choice((
            request(QUIT, opaque=opaque), request(QUITQ, opaque=opaque), request(GET, opaque=opaque), request(SET, b"k", b"v", opaque=opaque),
            request(NOOP, b"k", opaque=opaque), request(GET, b"k", b"v", opaque=opaque), request(GET, b"k" * 251, opaque=opaque),
            request(DELETE, b"k", extras=b"1", opaque=opaque), request(GET, b"k", body_bytes=0, opaque=opaque),
            request(SASL_AUTH, opaque=opaque), request(SASL_STEP, opaque=opaque), request(INCR, b"k", extras=bytes(8), opaque=opaque)))

    def round(self, most: int = 60) -> None:
        closes = self.chance.random() < 0.1
        keys, wires, told = {}, [b"", b""], []
        for opaque in range(1, self.chance.randrange(2, most)):
            keys[opaque], both = self.request(opaque)
            wires = [wire + packet for wire, packet in zip(wires, both)]
            told.append(both[0])
            self.requests += 1
        if closes:
            told.append(self.last(len(told) + 1))
            wires = [wire + told[-1] for wire in wires]
        answers = [[self.comparable(reply, keys) for reply in side.ask(wire, keys, closes)] for side, wire in zip(self.sides, wires)]
        for number, (ours, theirs) in enumerate(zip(*answers)):
            if ours != theirs:
                asked = told[max(ours[1], 1) - 1]
                raise Mismatch(f"seed {self.seed}: answer {number} to {asked[:100]!r}\n  is {str(ours)[:300]}\n  memcached says "
                               f"{str(theirs)[:300]}\n  before: {[packet[:60] for packet in told[:ours[1]] if keys.get(ours[1], b'-') in packet]}")
        if len(answers[0]) != len(answers[1]):
            raise Mismatch(f"seed {self.seed}: {len(answers[0])} answers, of memcached {len(answers[1])}")

    @staticmethod
    def comparable(reply, keys: dict) -> tuple:
        value = reply.value.rstrip(b" ") if keys.get(reply.opaque, b"").startswith(b"n") else reply.value
        return reply.opcode, reply.opaque, reply.status, reply.extras, reply.key, value, reply.cas != 0


__all__ = ["Closed", "Mismatch", "Pair"]
