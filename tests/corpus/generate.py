"""Requests by seed: every command on keys, ranges and batches, valid and not, as bytes for any daemon.

The generator does not know the right replies, because the replies of two daemons are compared. So a request is useful when its
reply depends on earlier requests: few keys are used often, uniques are chosen (E) so that a later C or cas meets them, and times
are long, at once, or moved by debugtime. Requests whose replies depend on chance or the clock alone are left out (see README.md).
"""

import base64
import dataclasses
import random

CLASSIC_WRITES = (b"set", b"add", b"replace", b"append", b"prepend", b"cas")
WORDS = (b"get", b"gets", b"gat", b"gats", *CLASSIC_WRITES, b"incr", b"decr", b"touch", b"delete", b"scan", b"scans", b"pscan", b"pscans",
         b"mg", b"ms", b"md", b"ma", b"me", b"mn", b"mr", b"mc", b"mx", b"mt", b"mb", b"verbosity", b"flush_all", b"lru", b"slabs", b"put")
UNIQUES = (b"1", b"7", b"500", b"501", b"18446744073709551615")
TIMES = (b"0", b"0", b"0", b"100", b"1000", b"3000", b"2592000", b"2592001", b"4000000000", b"-1", b"1")
NUMBERS = (b"0", b"1", b"7", b"99", b"10", b"18446744073709551615", b"18446744073709551616", b"12 ", b"1a", b"", b"-1")
SIZES = (0, 1, 1, 2, 3, 5, 10, 20, 40, 100, 100, 300, 1000, 3000)
LARGE = (4000, 4096, 4097, 9000, 20000, 70000)
VALUE_LIMIT = 1 << 20


@dataclasses.dataclass
class Request:
    """`last`: the connection ends behind it, or the begin of the next request is unclear."""
    verb: str
    wire: bytes
    last: bool = False


def block(head: bytes, value: bytes, tail: bytes = b"") -> bytes:
    return b"%s %d%s\r\n%s\r\n" % (head, len(value), tail, value)


class Generator:
    def __init__(self, seed, many_keys: int = 3000):
        self.chance = random.Random(f"corpus {seed}")
        self.many_keys, self.mode = many_keys, b""
        self.kinds = [(14, self.retrieval), (26, self.storage), (6, self.delete), (9, self.arithmetic), (5, self.touch), (13, self.meta_get),
                      (16, self.meta_set), (8, self.meta_delete), (10, self.meta_arithmetic), (2, self.meta_debug), (1, self.noop),
                      (3, self.scan), (5, self.meta_range), (2, self.count), (2, self.range_change), (8, self.batch), (8, self.mangled),
                      (1, self.nonsense), (1, self.administration), (0.15, self.large)]

    # --- Parts ---

    def flip(self, part: float) -> bool:
        return self.chance.random() < part

    def one(self, of):
        return self.chance.choice(of)

    def key(self) -> bytes:
        """A key: few keys are used again and again; many keys make a tree of some levels."""
        kind = self.chance.random()
        if kind < 0.62:
            return b"k%d" % self.chance.randrange(6)
        if kind < 0.93:
            return b"many%05d" % self.chance.randrange(self.many_keys)
        return self.one((b"p/%d/%d" % (self.chance.randrange(5), self.chance.randrange(5)), b"x" * 250, b"y" * 249, b"\xff\xfe", b"a"))

    def bad_key(self) -> bytes:
        return self.one((b"k" * 251, b"k" * 1000, b"\x01", b"k\t1"))

    def value(self) -> bytes:
        if self.flip(0.35):
            return self.one(NUMBERS)
        if self.flip(0.02):
            return self.chance.randbytes(self.one(LARGE))
        return self.chance.randbytes(self.one(SIZES)).replace(b"1", b"2")

    def noreply(self) -> bytes:
        return b" noreply" if self.flip(0.12) else b""

    # --- Classic ---

    def retrieval(self) -> Request:
        verb = self.one((b"get", b"get", b"gets", b"gat", b"gats"))
        keys = b" ".join(self.key() for _ in range(self.one((1, 1, 1, 1, 2, 3, 10, 60))))
        time = self.one(TIMES) + b" " if verb.startswith(b"gat") else b""
        return Request(verb.decode(), b"%s %s%s\r\n" % (verb, time, keys))

    def storage(self) -> Request:
        verb = self.one((b"set", *CLASSIC_WRITES))
        unique = b" " + self.one(UNIQUES) if verb == b"cas" else b""
        head = b"%s %s %s %s" % (verb, self.key(), self.one((b"0", b"0", b"5", b"4294967295")), self.one(TIMES))
        return Request(verb.decode(), block(head, self.value(), unique + self.noreply()))

    def delete(self) -> Request:
        return Request("delete", b"delete %s%s%s\r\n" % (self.key(), b" 0" if self.flip(0.05) else b"", self.noreply()))

    def arithmetic(self) -> Request:
        verb = self.one((b"incr", b"incr", b"decr"))
        delta = self.one((b"1", b"1", b"5", b"100", b"18446744073709551615", b"18446744073709551616", b"x", b"-1"))
        return Request(verb.decode(), b"%s %s %s%s\r\n" % (verb, self.key(), delta, self.noreply()))

    def touch(self) -> Request:
        return Request("touch", b"touch %s %s%s\r\n" % (self.key(), self.one(TIMES), self.noreply()))

    # --- Meta ---

    def flags(self, of: bytes, part: float = 0.22) -> bytes:
        """Some of these flags in any order, each with its token."""
        words = [self.flag(letter) for letter in of.decode() if self.flip(part)]
        self.chance.shuffle(words)
        return b"".join(b" " + word for word in words)

    def flag(self, letter: str) -> bytes:
        take = {"T": lambda: self.one(TIMES), "N": lambda: self.one(TIMES), "R": lambda: self.one(TIMES), "C": lambda: self.one(UNIQUES),
                "E": lambda: self.one(UNIQUES), "F": lambda: self.one((b"0", b"3", b"4294967295")), "O": lambda: b"o%d" % self.chance.randrange(99),
                "D": lambda: self.one((b"1", b"3", b"18446744073709551615")), "J": lambda: self.one((b"0", b"5", b"1000")),
                "A": lambda: self.one((b"1", b"3", b"50")), "B": lambda: self.one((b"1", b"200", b"100000")), "L": lambda: b"",
                "M": lambda: self.mode}.get(letter, lambda: b"")
        return letter.encode() + take()

    def named(self) -> tuple:
        """(key as sent, flag b or nothing)."""
        if self.flip(0.06):
            return base64.b64encode(self.one((self.key()[:150], self.chance.randbytes(4)))), b" b"
        return self.key(), b""

    def meta_line(self, verb: bytes, of: bytes, modes=(b"",)) -> bytes:
        self.mode = self.one(modes)
        key, binary = self.named()
        return b"%s %s%s%s" % (verb, key, binary, self.flags(of))

    def meta_get(self) -> Request:
        return Request("mg", self.meta_line(b"mg", b"vtcfklshOqTNRCEu") + b"\r\n")

    def meta_set(self) -> Request:
        self.mode = self.one((b"E", b"A", b"P", b"R", b"S", b"e", b"a", b"p", b"r", b"s", b"Z", b""))
        key, binary = self.named()
        value = self.value()
        return Request("ms", b"ms %s %d%s%s\r\n%s\r\n" % (key, len(value), binary, self.flags(b"OkcqsTFICEMN", 0.17), value))

    def meta_delete(self) -> Request:
        return Request("md", self.meta_line(b"md", b"OkqTICEx") + b"\r\n")

    def meta_arithmetic(self) -> Request:
        return Request("ma", self.meta_line(b"ma", b"OkctvqTNCEDJM", (b"I", b"D", b"+", b"-", b"i", b"d", b"x")) + b"\r\n")

    def meta_debug(self) -> Request:
        key, binary = self.named()
        return Request("me", b"me %s%s\r\n" % (key, binary))

    def noop(self) -> Request:
        return Request("mn", b"mn\r\n")

    # --- Ranges ---

    def bound(self) -> bytes:
        return self.one((b"k", b"k2", b"many", b"many%05d" % self.chance.randrange(self.many_keys), b"p/", b"p/1/", b"z", self.key()))

    def scan(self) -> Request:
        verb = self.one((b"scan", b"scans", b"pscan", b"pscans"))
        bounds = self.one((b"", b"(", b"[")) + self.bound()
        if not verb.startswith(b"p"):
            bounds += b" " + self.one((b"", b"(", b"[")) + self.one((self.bound(), b"+"))
        options = b"".join(b" " + word for word in (b"keys", b"reverse", b"cursor", b"base64", b"bytes=100") if self.flip(0.12))
        return Request(verb.decode(), b"%s %s %s%s\r\n" % (verb, bounds, self.one((b"1", b"5", b"40", b"0")), options))

    def meta_range(self) -> Request:
        self.mode = b""
        far = self.one((b" p", b" H" + self.bound(), b"", b" p A5"))
        flags = b"vtcfklsqOrioB" + (b"" if b"A" in far else b"A") + (b"X" if far else b"")  # X without a far bound may end early
        return Request("mr", b"mr %s%s%s\r\n" % (self.bound(), far, self.flags(flags, 0.16)))

    def count(self) -> Request:
        self.mode = self.one((b"s", b"n", b"x", b"snx"))
        return Request("mc", b"mc %s%s e%s\r\n" % (self.bound(), self.one((b" p", b" H" + self.bound())), self.flags(b"MOXio", 0.15)))

    def range_change(self) -> Request:
        self.mode = b""
        few = self.one((b"p/1/ p", b"p/ p", b"k4 Hk5", b"many000 p", b"many0100 p", b"k2 Hk3 i"))
        if self.flip(0.5):
            return Request("mx", b"mx %s%s\r\n" % (few, self.flags(b"qOXA", 0.25)))
        return Request("mt", b"mt %s T%s%s\r\n" % (few, self.one(TIMES), self.flags(b"qO", 0.25)))

    # --- Batches ---

    def batch(self) -> Request:
        count = self.one((0, 1, 2, 2, 3, 5, 12))
        makes = [self.meta_get, self.meta_get, self.meta_set, self.meta_set, self.meta_delete, self.meta_arithmetic]
        if self.flip(0.1):
            makes += [self.retrieval, self.mangled_line, self.storage]
        lines = b"".join(self.one(makes)().wire for _ in range(count))
        return Request("mb", b"mb %d\r\n" % count + lines)

    # --- Wrong requests ---

    def mangled_line(self) -> Request:
        """A line without a block, with an error in it."""
        request = self.one((self.retrieval, self.delete, self.arithmetic, self.touch, self.meta_get, self.meta_delete, self.meta_arithmetic,
                            self.scan, self.meta_range, self.count))()
        words = request.wire[:-2].split(b" ")
        at = self.chance.randrange(len(words))
        for _ in range(self.one((1, 1, 2))):
            way = self.chance.randrange(6)
            if way == 0 and len(words) > 1:
                del words[at % len(words)]
            elif way == 1:
                words.insert(at, words[at % len(words)])
            elif way == 2:
                words[at % len(words)] = self.one((self.bad_key(), b"", b"-5", b"99999999999999999999", b"noreply", b"Q", b"v", b"q"))
            elif way == 3:
                words.append(self.one((b"noreply", b"x", b"v", b"O" + b"o" * 40, b"Tx", b"C-1", b"b", b"")))
            elif way == 4:
                words[0] = self.one((words[0].upper(), words[0] + b"x", words[0][:1]))
            else:
                words[at % len(words)] += self.one((b"x", b"\x00", b"\r", b"  "))
        return Request("bad " + request.verb, b" ".join(words) + self.one((b"\r\n", b"\r\n", b"\n")))

    def mangled(self) -> Request:
        if self.flip(0.7):
            request = self.mangled_line()
            # A word that became a command with a block, or a batch, would take the following lines.
            taken = (b"set", b"add", b"replace", b"append", b"prepend", b"cas", b"ms", b"mb", b"put", b"s", b"quit", b"watch", b"shutdown")
            return request if request.wire.split(b" ")[0].strip() not in taken else self.nonsense()
        value = b"abcde fghij klmno"[:self.chance.randrange(18)]  # if the daemon takes it for a line, the connection goes on
        key, size = self.key(), len(value)
        wire, last = self.one((
            (b"set %s 0 0 %d\r\n%sxx" % (key, size, value), False),                        # no CR LF behind the block
            (b"set %s 0 0 %d\r\n%s\r\n" % (self.bad_key()[:251], size, value), True),
            (b"set %s x 0 %d\r\n%s\r\n" % (key, size, value), False),
            (b"set %s 0 x %d noreply\r\n%s\r\n" % (key, size, value), False),
            (b"set %s 0 0 %d nonsense\r\n%s\r\n" % (key, size, value), False),
            (b"set %s 4294967296 0 %d\r\n%s\r\n" % (key, size, value), False),
            (b"cas %s 0 0 %d\r\n%s\r\n" % (key, size, value), True),
            (b"cas %s 0 0 %d x\r\n%s\r\n" % (key, size, value), False),
            (b"set %s 0 0 -1\r\n" % key, True),
            (b"set %s 0 0 x\r\n%s\r\n" % (key, value), True),
            (b"ms %s %d Mz\r\n%s\r\n" % (key, size, value), False),
            (b"ms %s %d q q\r\n%s\r\n" % (key, size, value), False),
            (b"ms %s x\r\n%s\r\n" % (key, value), True),
            (b"ms %s\r\n" % key, True),
            (b"ms %s %d c\r\n%sxx" % (key, size, value), False),
            (b"mb 3\r\nmg %s v\r\nget %s\r\nms %s %d\r\n%s\r\n" % (key, key, key, size, value), False),
            (b"mb 2\r\nmg %s v\r\nms %s x\r\n" % (key, key), True),
            (b"mb 2\r\nms %s %d\r\n%sxx" % (key, size, value) + b"mg %s s v\r\n" % key, False),
            (b"mb x\r\n", True), (b"mb 2 x\r\nmg k0 v\r\n", True), (b"mb -1\r\n", True), (b"mb 99999999\r\n", True)))
        return Request("bad " + wire.split(b" ")[0].decode(), wire, last)

    def nonsense(self) -> Request:
        wire = self.one((b"\r\n", b"\n", b"foo\r\n", b"foo bar\r\n", b"get\r\n", b"set\r\n", b"set k\r\n", b"delete\r\n", b"incr k\r\n", b"touch k\r\n",
                         b"mg\r\n", b"md\r\n", b"ma\r\n", b"me\r\n", b"mr\r\n", b"mx\r\n", b"mt k p\r\n", b"scan\r\n", b"GET k\r\n", b"gat 10\r\n",
                         b"gat x k0\r\n", b"get " + b"q" * 2049 + b"\r\n", b" get k0\r\n", b"get  k0   k1\r\n", b"mn x\r\n", b"\x00\r\n"))
        return Request("nonsense", wire)

    # --- The rest ---

    def administration(self) -> Request:
        wire = self.one((b"verbosity 1\r\n", b"verbosity\r\n", b"verbosity 1 noreply\r\n", b"lru tune 10 20 1 2\r\n", b"slabs automove 1\r\n",
                         b"lru_crawler enable\r\n", b"slabs reassign 1 2\r\n", b"debugtime x\r\n",
                         b"flush_all 4000\r\n" if self.flip(0.05) else b"mn\r\n", b"flush_all\r\n" if self.flip(0.15) else b"mn\r\n",
                         b"flush_all noreply\r\n" if self.flip(0.05) else b"mn\r\n", b"flush_all x\r\n"))
        return Request(wire.split()[0].decode(), wire)

    def large(self) -> Request:
        """A value at the limit, or above."""
        value = b"L" * (VALUE_LIMIT + self.one((-1, 0, 1, 5000)))
        verb, key = self.one((b"set", b"set", b"append", b"ms", b"mb")), self.key()
        if verb == b"ms":
            return Request("ms", b"ms %s %d s\r\n%s\r\n" % (key, len(value), value))
        if verb == b"mb":
            return Request("mb", b"mb 2\r\nms %s %d s\r\n%s\r\nmg %s s\r\n" % (key, len(value), value, key))
        return Request(verb.decode(), block(b"%s %s 0 0" % (verb, key), value, self.noreply()))

    def connection(self, most: int) -> list:
        """Requests of one connection, up to `most`; after the last one the begin of a next request may be unclear."""
        weights, makes = zip(*self.kinds)
        requests = []
        while len(requests) < most:
            request = self.chance.choices(makes, weights)[0]()
            if request.last and len(requests) < most // 2:
                continue   # or most connections would be short
            requests.append(request)
            if request.last:
                break
        if self.flip(0.1) and not requests[-1].last:
            requests.append(Request("quit", b"quit\r\n", True))
        return requests

    def pieces(self, wire: bytes) -> list:
        """The bytes split at random points: in the middle of words, of blocks, of CR LF."""
        count = self.one((0, 1, 3, 10, 40))
        cuts = sorted(self.chance.randrange(len(wire) + 1) for _ in range(count))
        return [wire[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(wire)]) if end > begin]
