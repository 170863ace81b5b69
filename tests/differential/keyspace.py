"""The keys of one client: few and many, neighbours of its own keys and of other clients' keys, long keys, and binary keys.

The first two bytes of a key say its kind and its client. Keys mingled with other clients' keys end with the client instead. So
each client can tell its keys, and a prefix of them, from other clients' keys.
"""

MINGLED = 400


class KeySpace:
    def __init__(self, letter: bytes, dense: int):
        self.letter, self.dense = letter, dense
        self._kinds = (self.few, self.few, self.numbered, self.numbered, self.mingled, self.long, self.binary, self.word, self.tree)

    def owns(self, key: bytes) -> bool:
        """Whether a key is this client's, or a prefix has only keys of this client."""
        return key[6:7] == self.letter if key[:1] == b"m" else key[1:2] == self.letter

    def any(self, chance) -> bytes:
        return chance.choice(self._kinds)(chance)

    def few(self, chance) -> bytes:
        return b"f%s:%d" % (self.letter, chance.randrange(8))

    def at(self, number: int, tail: bytes = b"") -> bytes:
        """A key of a run of neighbours."""
        return b"d%s%05d%s" % (self.letter, number, tail)

    def numbered(self, chance) -> bytes:
        return self.at(chance.randrange(self.dense), chance.choice((b"", b"", b"", b"x")))

    def mingled(self, chance) -> bytes:
        return b"m%05d%s" % (chance.randrange(MINGLED), self.letter)

    def long(self, chance) -> bytes:
        return b"l%s%s%d" % (self.letter, b"p" * chance.choice((9, 100, 240, 247)), chance.randrange(10))

    def binary(self, chance) -> bytes:
        return b"b" + self.letter + bytes(chance.choice(b"\0\xff \r\nab") for _ in range(chance.choice((0, 1, 2, 3, 8, 180, 248))))

    def word(self, chance) -> bytes:
        return b"w%s/%s" % (self.letter, b"/".join(b"%d" % chance.randrange(12) for _ in range(chance.randrange(1, 4))))

    def tree(self, chance) -> bytes:
        return b"t%s%s" % (self.letter, b"".join(chance.choice((b"a", b"ab", b"abababab", b"b")) for _ in range(chance.randrange(1, 9))))

    def prefix(self, chance) -> bytes:
        """A prefix that only keys of this client have."""
        kind = chance.randrange(6)
        if kind == 0:
            return b"d%s%0*d" % (self.letter, chance.randrange(1, 5), chance.randrange(10))
        if kind == 1:
            return chance.choice((b"w%s/", b"w%s/1", b"w%s/1/", b"f%s", b"t%sab", b"t%sabab")) % self.letter
        if kind == 2:
            return self.mingled(chance)
        if kind == 3:
            return b"l%s" % self.letter + b"p" * chance.choice((1, 9, 200))
        if kind == 4:
            return b"b" + self.letter + chance.choice((b"", b"\0", b"\xff", b"\xff\xff", b"a"))
        return chance.choice((b"d", b"f", b"t", b"w")) + self.letter


def is_text(key: bytes) -> bool:
    """Whether classic commands can name it."""
    return not any(byte in b"\0 \r\n" for byte in key)
