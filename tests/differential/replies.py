"""Expected replies, and their comparison with received bytes.

A reply that is known to the byte is bytes. A reply with parts that only the server knows is a list of bytes and holes. A hole
has match(received, at), which returns its end, or -1.
"""

import re

SESSION_AT_MOST = 120         # seconds that a running clock may have advanced
_NUMBER = re.compile(rb"\d+")
_CURSOR = re.compile(rb"[A-Za-z0-9+/]+=*")


class Mismatch(Exception):
    """`number`: of the request in its pipeline; `at`: the begin of its reply."""

    def __init__(self, number: int, at: int):
        super().__init__(number, at)
        self.number, self.at = number, at


class UniqueHole:
    """The unique of a version, which the store learns."""
    __slots__ = ("store", "key", "version")

    def __init__(self, store, key, version):
        self.store, self.key, self.version = store, key, version

    def match(self, received: bytes, at: int) -> int:
        found = _NUMBER.match(received, at)
        return found.end() if found and self.store.learn(self.key, self.version, int(found[0])) else -1

    def __repr__(self):
        if self.version.number is None:
            return f"<unique above {self.store.greatest.get(self.key, 0)}>"
        return f"<unique {self.version.number}>"


class NumberHole:
    """A number from `least` to `most`."""
    __slots__ = ("least", "most")

    def __init__(self, least=0, most=1 << 64):
        self.least, self.most = least, most

    def match(self, received: bytes, at: int) -> int:
        found = _NUMBER.match(received, at)
        return found.end() if found and self.least <= int(found[0]) <= self.most else -1

    def __repr__(self):
        return f"<{self.least}..{self.most}>"


class EitherHole:
    __slots__ = ("texts",)

    def __init__(self, *texts):
        self.texts = texts

    def match(self, received: bytes, at: int) -> int:
        return next((at + len(text) for text in self.texts if received.startswith(text, at)), -1)

    def __repr__(self):
        return f"<one of {self.texts}>"


class CursorHole:
    """A cursor, kept with the rest of its range."""
    __slots__ = ("store", "rest")

    def __init__(self, store, rest):
        self.store, self.rest = store, rest

    def match(self, received: bytes, at: int) -> int:
        found = _CURSOR.match(received, at)
        if not found:
            return -1
        if self.rest is not None:
            keep_cursor(self.store, found[0], self.rest)
        return found.end()

    def __repr__(self):
        return "<cursor>"


def keep_cursor(store, text: bytes, rest) -> None:
    store.cursors.append((text, rest))
    del store.cursors[:-8]


def age_hole(seconds: int, ticks: bool) -> NumberHole:
    """Times of accesses are kept to a second or a hundredth, and a flush lets uniques, from which they count, run ahead."""
    return NumberHole(0, seconds + 2 + seconds // 50 + ticks * SESSION_AT_MOST)


def match_one(expected, received: bytes, at: int) -> int:
    """The end of the reply, or -1 if it does not match."""
    if type(expected) is bytes:
        return at + len(expected) if received.startswith(expected, at) else -1
    for piece in expected:
        if type(piece) is bytes:
            if not received.startswith(piece, at):
                return -1
            at += len(piece)
        else:
            at = piece.match(received, at)
            if at < 0:
                return -1
    return at


def match_all(expected: list, received: bytes) -> None:
    """All replies of a pipeline; raises Mismatch at the first that is not as expected."""
    at = 0
    for number, reply in enumerate(expected):
        end = match_one(reply, received, at)
        if end < 0:
            raise Mismatch(number, at)
        at = end
    if at != len(received):
        raise Mismatch(len(expected), at)


def shown(expected) -> str:
    """The reply as text for reports; long texts are cut."""
    pieces = [expected] if type(expected) is bytes else expected
    text = " ".join(repr(bytes(piece[:200])) if type(piece) is bytes else repr(piece) for piece in pieces[:12])
    return text[:1200]


def first_difference(expected, received: bytes, at: int) -> str:
    """The place of the mismatch in a reply, and the bytes there."""
    begin = at
    for piece in [expected] if type(expected) is bytes else expected:
        end = match_one([piece], received, at)
        if end < 0:
            same = 0
            while type(piece) is bytes and received[at + same:at + same + 1] == piece[same:same + 1]:
                same += 1
            what = repr(bytes(piece[max(0, same - 80):same + 120])) if type(piece) is bytes else repr(piece)
            return f"after {at + same - begin} bytes: {received[max(begin, at + same - 80):at + same + 120]!r} where {what} was expected"
        at = end
    return "none"
