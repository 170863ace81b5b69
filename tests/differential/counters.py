"""Numbers that one client counts up and the others read. A number read lies between the numbers before and after the round, and
no client reads a smaller number later.
"""

import re

import classic

_VALUE = re.compile(rb"VALUE \S+ 0 \d+\r\n(\d+)\r\nEND\r\n")
_MOST = 40                    # requests of a client for one counter, in a round


class _Reading:
    """The answer to a get; `seen`: by counter, the greatest number that this client has read in the round."""

    def __init__(self, counter, seen):
        self.counter, self.seen = counter, seen

    def match(self, received: bytes, at: int) -> int:
        found = _VALUE.match(received, at)
        if found is None:
            return -1
        number, name = int(found[1]), self.counter.name
        least = self.seen.get(name, 0) if self.counter.ordered_reads else 0
        if not max(least, self.counter.before) <= number <= self.counter.value:
            return -1
        self.seen[name] = number
        return found.end()

    def __repr__(self):
        return f"<a number from {max(self.seen.get(self.counter.name, 0), self.counter.before)} to {self.counter.value}>"


class Counter:
    def __init__(self, letter: bytes, ordered_reads: bool):
        self.name, self.ordered_reads = b"s:n" + letter, ordered_reads
        self.before = self.value = 0

    def count(self, chance) -> list:
        """Requests of the one client that counts."""
        self.before = self.value
        made = []
        for _ in range(chance.randrange(_MOST)):
            self.value += 1
            quiet = chance.random() < 0.3
            made.append((classic.arithmetic(self.name, 1, noreply=quiet), b"" if quiet else b"%d\r\n" % self.value))
        return made

    def read(self, chance, seen: dict) -> list:
        """Requests of another client."""
        return [(classic.get([self.name]), [_Reading(self, seen)]) for _ in range(chance.randrange(_MOST))]

    def restore(self, control) -> None:
        """Stores the number again after a flush."""
        answer = control.set(self.name, b"%d" % self.value)
        assert answer == b"STORED", answer
