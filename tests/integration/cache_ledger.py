"""A client's knowledge of a cache that is restarted at any time: values, and absences.

A cache may forget, but not bring data back: a key that the client saw absent stays absent until the client stores it again,
and a key that is there has the value stored last.
"""

import random

from harness import Closed
from harness.connection import block, padded

_BATCH = 100


class CacheLedger:
    """One client and its keys. One thread at a time."""

    def __init__(self, keys: int, size: int, chance: random.Random):
        self.keys = [b"cache-%06d" % number for number in range(keys)]
        self._size = size
        self._chance = chance
        self._versions = 0
        self._known: dict = {}  # key: the value stored last, or None if seen absent
        self._sent: list = []   # keys of unanswered changes: their state is unknown
        self.hits = self.misses = self.deletes_of_absent = 0

    def _value(self, key: bytes) -> bytes:
        self._versions += 1
        return padded(b"%s:%d:" % (key, self._versions), self._size)

    def saw(self, key: bytes, value) -> None:
        """Checks the answer to a read."""
        known = self._known.get(key, value)  # an unknown key may have any value
        if value is not None:
            assert known is not None, f"{key!r} was seen absent, and came back as {value[:40]!r}"
            assert known == value, f"{key!r} is {value[:40]!r} in place of {known[:40]!r}"
        self.hits += value is not None
        self.misses += value is None
        self._known[key] = value

    def read(self, client, keys) -> int:
        """Reads keys; returns how many are there."""
        found = {}
        for at in range(0, len(keys), _BATCH):
            some = keys[at:at + _BATCH]
            found.update((key, value) for key, value, _ in client.records(b"get " + b" ".join(some)))
        for key in keys:
            self.saw(key, found.get(key))
        return len(found)

    def store(self, client, keys, exptime: int = 0) -> None:
        """Stores keys anew."""
        for at in range(0, len(keys), _BATCH):
            some = {key: self._value(key) for key in keys[at:at + _BATCH]}
            self._sent = list(some)
            client.send(b"".join(block(b"set", key, value, exptime=exptime) for key, value in some.items()))
            for key, value in some.items():
                line = client.line()
                assert line == b"STORED", line
                self._known[key] = value
            self._sent = []

    def delete(self, client, keys) -> None:
        for at in range(0, len(keys), _BATCH):
            self._sent = some = keys[at:at + _BATCH]
            client.send(b"".join(b"delete %s\r\n" % key for key in some))
            for key in some:
                line = client.line()
                assert line in (b"DELETED", b"NOT_FOUND"), line
                absent = line == b"NOT_FOUND"
                assert absent or self._known.get(key, b"") is not None, f"{key!r} was seen absent, and is deleted"
                self.deletes_of_absent += absent
                self._known[key] = None
            self._sent = []

    def some(self, count: int) -> list:
        return self._chance.sample(self.keys, count)

    def absent(self) -> list:
        """Keys that the last read found absent."""
        return [key for key, value in self._known.items() if value is None]

    def live(self, client, turns: int) -> None:
        """Stores, reads and deletes for a while, or until the server is gone."""
        try:
            for _ in range(turns):
                what = self._chance.random()
                if what < 0.5:
                    self.store(client, self.some(500), self._chance.choice((0, 0, 0, 2, 1000)))
                elif what < 0.8:
                    self.read(client, self.some(500))
                elif absent := self.absent():
                    self.delete(client, self.some(50) + self._chance.sample(absent, min(50, len(absent))))
        except (Closed, OSError):
            for key in self._sent:
                self._known.pop(key, None)
            self._sent = []
