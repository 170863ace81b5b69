"""Random streams for the comparison with memcached 1.6.18, and the named list of all intended differences.

A command whose line falls under a rule in `wanted_difference` is not compared with memcached: mxkv must then answer it with
an error, or as the rule says. Such commands use keys of their own, so that all other state stays equal.
"""

import random
import re
import string

import meta_streams
from reply_table import DIFFERENCES

NAMES = dict(DIFFERENCES, **meta_streams.DIFFERENCES, **{
    "strict numbers": "a sign where none is meant, or blanks inside a word, are errors here; strtol takes them in 1.6.18",
    "time range": "times are 64-bit here, cut to 32 bits in 1.6.18",
    "length range": "lengths are 64-bit here, cut to 32 bits in 1.6.18",
    "extra words": "words after the last known one are an error here, mostly ignored in 1.6.18",
    "delete usage": "1.6.18 adds its usage to the error line of delete",
    "ranges": "ranges are not 1.6.18's, and not sent",
    "nul": "a NUL ends the line for 1.6.18",
})

_STORAGE = {b"set": 5, b"add": 5, b"replace": 5, b"append": 5, b"prepend": 5, b"cas": 6}
_COUNTS = {b"delete": (2, 2), b"touch": (3, 3), b"incr": (3, 3), b"decr": (3, 3), b"verbosity": (2, 2), b"flush_all": (1, 2)}
_KEYS_AT = {b"get": 1, b"gets": 1, b"gat": 2, b"gats": 2}
_META = {b"mg", b"ms", b"md", b"ma", b"mn", b"me"}
_RANGES = {b"scan", b"scans", b"pscan", b"pscans", b"mr", b"mc", b"mx"}
_INT32 = 1 << 31


def _number(word: bytes, low: int, high: int) -> bool:
    return re.fullmatch(rb"-?[0-9]+", word) is not None and low <= int(word) <= high


def wanted_difference(line: bytes):
    """The name of the difference that this command line (without its end) falls under, or None."""
    if b"\0" in line:
        return "nul"
    words = [word for word in line.split(b" ") if word]
    if not words:
        return "arity"
    verb = words[0]
    if verb in _RANGES:
        return "ranges"
    first = _KEYS_AT.get(verb, 1)
    if any(b"\r" in word for word in (words[:1] + words[first:] if verb in _KEYS_AT else words[:2])):
        return "key bytes"
    if verb in _META:
        return meta_streams.meta_difference(words)
    keyed = verb in _STORAGE or verb in (b"touch", b"incr", b"decr", b"delete")
    others = words[1:first] if verb in _KEYS_AT else words[2:] if keyed else words[1:]
    if any(re.search(rb"[\x01-\x1f\x7f]", word) for word in others):
        return "strict numbers"
    if words[-1] == b"noreply" and verb not in _KEYS_AT:
        words = words[:-1]
    numbers = words[2:] if verb in _STORAGE or verb in (b"touch", b"incr", b"decr") else words[1:2]
    unsigned = numbers[:1] + numbers[2:] if verb in _STORAGE else numbers if verb in (b"incr", b"decr") else []
    if verb not in (b"get", b"gets", b"delete") and any(word.startswith(b"+") for word in numbers):
        return "strict numbers"
    if any(re.fullmatch(rb"-0+", word) for word in unsigned):
        return "strict numbers"
    if verb in _STORAGE:
        return _storage_difference(verb, words)
    if verb in _COUNTS:
        low, high = _COUNTS[verb]
        if len(words) < low:
            return "arity"
        if len(words) > high:
            return "delete usage" if verb == b"delete" else "extra words"
    if verb in _KEYS_AT and len(words) <= _KEYS_AT[verb]:
        return "arity"
    times = {b"touch": 2, b"gat": 1, b"gats": 1, b"flush_all": 1}
    if verb in times and len(words) > times[verb] and re.fullmatch(rb"-?[0-9]+", words[times[verb]]):
        return None if _number(words[times[verb]], -_INT32, _INT32 - 1) else "time range"
    return None


def _storage_difference(verb: bytes, words: list):
    if len(words) < _STORAGE[verb]:
        return "arity"
    if len(words) > _STORAGE[verb]:
        return "extra words"
    _, key, flags, exptime, length = words[:5]
    if not _number(length, 0, _INT32 - 3):
        return "length range" if _number(length, 0, 1 << 80) else None
    if _number(flags, 1 << 32, 1 << 80):
        return "flags range"
    if re.fullmatch(rb"-?[0-9]+", exptime) and not _number(exptime, -_INT32, _INT32 - 1):
        return "time range"
    if len(key) > 250 or not _number(flags, 0, (1 << 32) - 1) or not _number(exptime, -_INT32, _INT32 - 1):
        return "swallow"
    if verb == b"cas" and not _number(words[5], 0, (1 << 64) - 1):
        return "swallow"
    if 1048000 < int(length) <= 1048576:
        return "limit"
    return None


class Generator:
    """An endless source of (command bytes, name of the wanted difference or None), repeatable by its seed."""

    def __init__(self, seed: int):
        self.chance = random.Random(seed)
        self.metas = meta_streams.MetaCommands(self.chance)

    def next(self):
        kinds = (self.valid, self.meta, self.broken_meta, self.boundary, self.mutated, self.garbage)
        return self.chance.choices(kinds, (35, 30, 10, 10, 10, 5))[0]()

    def meta(self):
        return self.finish(*self.metas.valid(self.value()))

    def broken_meta(self):
        line, data = self.metas.broken(self.own_key())
        return self.broken_meta() if self.swallows_apart(line) else self.finish(line, data)

    @staticmethod
    def swallows_apart(line: bytes) -> bool:
        """True if replies after this line cannot be compared: one server would swallow the next commands as data, or delete."""
        words = [word for word in line.split(b" ") if word]
        if not words or not wanted_difference(line):
            return False
        return words[0] in _RANGES or words[0] in _STORAGE and b"4" not in words[4:5] or words[0] == b"ms" and b"4" not in words[2:3]

    def key(self) -> bytes:
        return b"a%d" % self.chance.randrange(6)

    def own_key(self) -> bytes:
        return "".join(self.chance.choices(string.ascii_lowercase, k=10)).encode()

    def value(self) -> bytes:
        size = self.chance.choice((0, 1, 2, 7, 30, 200, 2000, 20000))
        return bytes(self.chance.choices(b"0123456789 abc\r\n\xff\x01", k=size))

    def maybe_noreply(self) -> bytes:
        return b" noreply" if self.chance.random() < 0.15 else b""

    def storage(self, key, flags=b"0", exptime=b"0", value=b"zzzz", verb=None, length=None) -> tuple:
        verb = verb or self.chance.choice(list(_STORAGE))
        words = [verb, key, flags, exptime, length or b"%d" % len(value)] + ([b"9007199254740990"] if verb == b"cas" else [])
        return b" ".join(words) + self.maybe_noreply(), value + b"\r\n"

    def valid(self):
        pick, number = self.chance.random(), b"n%d" % self.chance.randrange(3)
        times = self.chance.choice((b"0", b"0", b"0", b"1000", b"2592000", b"2000000000", b"-1", b"2592001"))
        if pick < 0.4:
            line, data = self.storage(self.key(), self.chance.choice((b"0", b"1", b"4294967295")), times, self.value())
        elif pick < 0.5:
            line, data = self.storage(number, value=b"%d" % self.chance.choice((0, 9, 10, 99, 10**12)), verb=b"set")
        else:
            data, keys = b"", b" ".join(self.key() for _ in range(self.chance.randrange(1, 6)))
            # Below 2^63: with greater ones 1.6.18 looks for a minus sign beyond the end of the value.
            delta = b"%d" % self.chance.choice((0, 1, 5, 100, 10**12))
            line = self.chance.choice((
                b"get " + keys, b"get " + number, b"gets " + keys, b"gat %s %s" % (times, keys),
                b"delete " + self.key() + self.maybe_noreply(), b"touch %s %s" % (self.key(), times) + self.maybe_noreply(),
                b"incr %s %s" % (number, delta) + self.maybe_noreply(), b"decr %s %s" % (number, delta) + self.maybe_noreply(), b"get " + number))
        return self.finish(line, data)

    def boundary(self):
        odd = (b"-1", b"0", b"00", b"+1", b"1x", b"x", b"4294967295", b"4294967296", b"18446744073709551615",
               b"18446744073709551616", b"9223372036854775808", b"2147483647", b"2147483648", b"99999999999999999999999")
        key = self.chance.choice((self.own_key(), b"k" * 250, b"k" * 251))
        line, data = self.chance.choice((
            self.storage(self.own_key(), flags=self.chance.choice(odd)), self.storage(self.own_key(), exptime=self.chance.choice(odd)),
            self.storage(key), self.storage(self.own_key(), length=self.chance.choice((b"-1", b"x", b"1x", b"1", b"0"))),
            (b"incr counter %s" % self.chance.choice(odd), b""), (b"touch counter %s" % self.chance.choice(odd), b""),
            (b"delete " + key, b""), (b"get " + key, b""), (b"touch %s 0" % key, b""),
            (b"gat %s counter" % self.chance.choice(odd), b"")))
        # Each command sets the counter anew, so that the states stay equal even if only one server counts.
        return self.finish(line, data, before=b"set counter 0 0 2 noreply\r\n10\r\n")

    def mutated(self):
        key, data = self.own_key(), b""
        line = self.chance.choice((b"get " + key, b"delete " + key, b"incr %s 5" % key, b"touch %s 0" % key, b"gat 0 " + key,
                                   b"mg %s v k O1 t" % key, b"md %s q I T30" % key, b"ma %s N0 J13 v" % key))
        if self.chance.random() < 0.5:
            line, data = self.storage(key) if self.chance.random() < 0.6 else (b"ms %s 4 c T30 k F5" % key, b"zzzz\r\n")
        line = bytearray(line)
        for _ in range(self.chance.randrange(1, 3)):
            at = self.chance.randrange(len(line))
            line[at:at + self.chance.randrange(2)] = self.chance.choice((b"", b" ", b"\t", b"\x01", b"-", b"0", b"x", b"\xff", b"\r"))
            line = line or bytearray(b"x")
        if self.swallows_apart(bytes(line)):
            return self.mutated()
        return self.finish(bytes(line), data)

    def garbage(self):
        line = bytes(b for b in self.chance.randbytes(self.chance.randrange(1, 120)) if b not in b"\n")
        return self.finish(line, b"")

    @staticmethod
    def finish(line: bytes, data: bytes, before: bytes = b""):
        return before + line + b"\r\n" + data, wanted_difference(line)
