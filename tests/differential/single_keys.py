"""Random requests for one key: every command, with random flags, times and values."""

import classic
import meta
from keyspace import is_text
from model import LONG


class SingleKeyRequests:
    def __init__(self, chance, store, space):
        self.chance, self.store, self.space = chance, store, space
        self.counter = 0

    def flip(self, share: float) -> bool:
        return self.chance.random() < share

    def value(self) -> bytes:
        if self.flip(0.3):
            return b"%d" % self.chance.choice((0, 1, 9, 10, 99, self.chance.randrange(10**6), 10**19, (1 << 64) - 1))
        self.counter += 1
        size = self.chance.choice((0, 8, 8, 8, 30, 100, 300, 2000) if self.flip(0.97) else (4096, 17_000, 20_000))
        return b"%s%d:" % (self.space.letter, self.counter) + b"x\r\nEND\r\nMN\r\n"[:size] + b"v" * max(0, size - 12)

    def time(self) -> int:
        """A time to live. With a running clock it is long."""
        short = (LONG, LONG, LONG) if self.store.ticks else (1, 2, 3, 3, 50)
        return self.chance.choice((0, 0, 0, 0, 0, *short, 1000, 2592000, -1, self.store.now + 5000, self.store.now - 100))

    def renewal_time(self) -> int:
        """Far enough from all times to live."""
        return self.chance.choice((100, 700, 3000)) if self.store.ticks else self.time()

    def classic_op(self, key):
        chance, quiet = self.chance, self.flip(0.25)
        kind = chance.randrange(20)
        if kind < 6:
            verb = chance.choice((b"set", b"set", b"add", b"replace", b"append", b"prepend"))
            return classic.storage(verb, key, self.value(), chance.choice((0, 0, 7, (1 << 32) - 1)), self.time(), None, quiet)
        if kind < 9:
            return classic.delete(key, quiet)
        if kind < 13:
            return classic.get([key] * chance.choice((1, 1, 1, 2)), self.flip(0.4))
        if kind < 15:
            return classic.arithmetic(key, chance.choice((0, 1, 5, 10**12, (1 << 64) - 1)), self.flip(0.5), quiet)
        if kind < 16:
            return classic.touch(key, self.time(), quiet)
        if kind < 17:
            return classic.get([key], self.flip(0.5), self.time())
        if kind < 19:
            return classic.storage(b"cas", key, self.value(), 0, self.time(), self.unique_of(key), quiet)
        return meta.debug(key)

    def unique_of(self, key) -> int:
        """The item's unique, an earlier one, or one that never existed."""
        item = self.store.items.get(key)
        known = item.version.number if item is not None else None
        had = 2 if self.store.any_uniques else self.store.greatest.get(key, 2)
        return known if known is not None and self.flip(0.7) else self.chance.choice((1, had, 1 << 60))

    def some(self, letters: bytes, share=0.2) -> list:
        return [(letter.to_bytes(1, "big"), b"") for letter in letters if self.flip(share)]

    def meta_op(self, key, in_batch=False):
        """h and l are left out of batches, whose accesses count at their end."""
        chance = self.chance
        verb = chance.choice((b"mg", b"mg", b"ms", b"ms", b"md", b"ma"))
        pairs = self.some(b"kq")
        if self.flip(0.2):
            pairs.append((b"O", b"o%d" % chance.randrange(100)))
        if not is_text(key) or self.flip(0.1):
            pairs.append((b"b", b""))
        if self.flip(0.15):
            pairs.append((b"C", b"%d" % self.unique_of(key)))
        if self.flip(0.15):
            self.counter += 1
            pairs.append((b"E", b"%d" % (self.counter if self.flip(0.9) else 0)))
        if self.flip(0.2 if verb != b"mg" else 0.1):
            pairs.append((b"T", b"%d" % self.time()))
        value = None
        if verb == b"mg":
            pairs += self.some(b"cfstvv"[:5] if in_batch else b"cfhlstvu", 0.3)
            pairs += [(b"N", b"%d" % self.time())] * self.flip(0.12) + [(b"R", b"%d" % self.renewal_time())] * self.flip(0.12)
        elif verb == b"ms":
            value = self.value()
            pairs += self.some(b"cs") + [(b"I", b"")] * self.flip(0.15) + [(b"F", b"%d" % chance.choice((0, 5)))] * self.flip(0.2)
            pairs += [(b"M", chance.choice((b"E", b"A", b"P", b"R", b"S")))] * self.flip(0.5)
            pairs += [(b"N", b"%d" % self.time())] * self.flip(0.3)
        elif verb == b"md":
            pairs += [(b"I", b"")] * self.flip(0.3) + [(b"x", b"")] * self.flip(0.1)
        else:
            pairs += self.some(b"ctv", 0.4)
            pairs += [(b"D", b"%d" % chance.choice((0, 1, 7, 10**12)))] * self.flip(0.5)
            pairs += [(b"J", b"%d" % chance.choice((0, 13)))] * self.flip(0.4)
            pairs += [(b"N", b"%d" % self.time())] * self.flip(0.4)
            pairs += [(b"M", chance.choice((b"I", b"+", b"D", b"-")))] * self.flip(0.5)
        chance.shuffle(pairs)
        return meta.meta(verb, key, pairs, value)
