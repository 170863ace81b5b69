"""Random meta commands for the comparison with memcached 1.6.18, and the comparable parts of commands and replies.

Keys that the two servers may treat differently are never shared: a command that falls under a wanted difference uses a
key of its own.
"""

import base64
import random
import re

DIFFERENCES = {
    "newer flags": "E, x, C of mg, s of ms, and N of an ms that appends came after 1.6.18",
    "quiet vivify": "q silences ma that makes an item, too; not in 1.6.18",
    "binary vivify": "what mg makes of a key in base64 is known to be binary; 1.6.18 prints the key raw afterwards",
    "base64": "base64 is strict here: whole groups, padding, no bits beyond the end; 1.6.18 reads what it can",
    "long base64": "the limit of 250 bytes holds for the key here, for its base64 in 1.6.18",
    "no letters": "a flag beyond ASCII is unknown here, a duplicate in memcached",
    "blanks": "control bytes within flags are part of them here; strtol passes over some in 1.6.18",
    "twenty words": "a line may have twenty words, as in later versions; 1.6.18 takes nineteen",
    "modes": "of an M token the first letter counts, as in later versions; 1.6.18 wants one letter",
    "me": "me refuses flags that it does not know, and tells of a key that is not base64",
    "zero unique": "C0 is a number like others here, no comparison at all in some commands of 1.6.18",
}

_NUMBERS = {"T": True, "N": True, "R": True, "C": False, "D": False, "J": False, "F": False}
_INT32 = 1 << 31
_VERBS = {b"mg": 2, b"md": 2, b"ma": 2, b"me": 2, b"ms": 3}


def _number_difference(flag: str, text: bytes):
    signed = _NUMBERS[flag]
    if text.startswith(b"+") or (not signed and re.fullmatch(rb"-0+", text)):
        return "strict numbers"
    if re.fullmatch(rb"-?[0-9]+", text):
        if signed and not -_INT32 <= int(text) < _INT32:
            return "time range"
        if flag == "F" and int(text) >= 1 << 32:
            return "flags range"
        if flag == "C" and int(text) == 0:
            return "zero unique"
    return None


def _is_base64(key: bytes) -> bool:
    try:
        return base64.b64encode(base64.b64decode(key, validate=True)) == key
    except ValueError:
        return False


def meta_difference(words: list):
    """The name of the difference that a meta command of these words falls under, or None. The key has no CR."""
    verb, flags_at = words[0], _VERBS.get(words[0], 99)
    if len(words) > 1 and len(words[1]) > 250 and any(word.startswith(b"b") for word in words[2:]):
        return "long base64"
    if verb == b"me":
        return None if words[2:] == [] or (words[2:] == [b"b"] and _is_base64(words[1])) else "me"
    if len(words) < flags_at:
        return None
    if verb == b"ms":
        if words[2].startswith(b"+") or re.fullmatch(rb"-0+", words[2]):
            return "strict numbers"
        if re.fullmatch(rb"-?[0-9]+", words[2]) and int(words[2]) > _INT32 - 3:
            return "length range"
        if len(words[1]) > 250:
            return "swallow"
    if any(re.search(rb"[\x01-\x1f\x7f]", word) for word in words[2:]):
        return "blanks"
    flags = words[flags_at:]
    if any(word[0] > 126 for word in flags):
        return "no letters"
    letters = {chr(word[0]) for word in flags}  # text behind the letter of such a flag has no meaning
    found = "twenty words" if len(words) == 20 else None
    for word in flags:
        flag, rest = chr(word[0]), word[1:]
        if flag in "Ex" or (verb, flag) in ((b"mg", "C"), (b"ms", "s"), (b"ms", "N")):
            return "newer flags"
        if flag == "N" and verb == b"ma" and "q" in letters:
            found = "quiet vivify"
        if flag == "N" and verb == b"mg" and "b" in letters:
            found = "binary vivify"
        if flag == "M" and len(rest) != 1:
            found = "modes"
        if flag == "b" and not _is_base64(words[1]):
            found = "base64"
        if flag in _NUMBERS:
            found = found or _number_difference(flag, rest)
    return found


def _is_base64(key: bytes) -> bool:
    try:
        return base64.b64encode(base64.b64decode(key, validate=True)) == key and len(key) > 0
    except ValueError:
        return False


_LINE = re.compile(rb"^(VA \d+|HD|EN|NF|NS|EX)((?: [^ \r\n]+)+)\r\n", re.MULTILINE)
_COUNTER = re.compile(rb"^VA \d+([^\r\n]*)\r\n(\d+) *\r\n", re.MULTILINE)
_DEBUG = re.compile(rb"^(ME \S+ )exp=(-?\d+) la=\d+ cas=\d+ (fetch=\w+) cls=\d+ size=\d+\r\n", re.MULTILINE)


def _seconds(text: bytes) -> bytes:
    """Rounds, because the servers' clocks tick apart. 1.6.18 shows a past time as a negative number of 32 bits; me negates it."""
    seconds = abs(int(text))
    step = 50 if seconds < 10 ** 8 else 10 ** 8  # the time left until a point in time passes through any small step
    return text if seconds == 1 else b"%d" % (0 if seconds > 1 << 31 else (seconds + step // 2) // step * step)


def comparable(replies: bytes) -> bytes:
    """Replies without cas uniques, ages, and the length of numbers that 1.6.18 has padded."""
    def flags(match):
        words = [word for word in match[2].split(b" ") if word]
        kept = [b"t" + _seconds(word[1:]) if re.fullmatch(rb"t-?\d+", word) else
                word[:1] if re.fullmatch(rb"[cl]\d+", word) else word for word in words]
        return b" ".join([match[1], *kept]) + b"\r\n"
    replies = _COUNTER.sub(rb"VA number\1\r\n\2\r\n", _LINE.sub(flags, replies))
    return _DEBUG.sub(lambda match: b"%sexp=%s %s\r\n" % (match[1], _seconds(match[2]), match[3]), replies)


def in_later_words(line: bytes, theirs: bytes, ours: bytes) -> bytes:
    """A reply of 1.6.18 with its first error in the words of later versions: these name the flaw of an md, and changed the
    text and the order for too many words."""
    error, _, rest = theirs.partition(b"\r\n")
    later, _, _ = ours.partition(b"\r\n")
    changed = error == b"CLIENT_ERROR options flags too long" or (
        error == b"CLIENT_ERROR invalid or duplicate flag" and line.split(b" ")[:1] == [b"md"])
    return later + b"\r\n" + rest if changed and later in _FLAG_ERRORS else theirs


_FLAG_ERRORS = {b"CLIENT_ERROR " + text for text in (
    b"options flags are too long", b"invalid or duplicate flag", b"duplicate flag", b"invalid flag", b"bad command line format",
    b"bad token in command line format", b"opaque token too long", b"invalid numeric initial value", b"invalid numeric delta value")}


class MetaCommands:
    """Meta commands as pairs (line, data), by the caller's Random."""

    def __init__(self, chance: random.Random):
        self.chance = chance

    def _some(self, *flags) -> list:
        chosen = [flag for flag in flags if self.chance.random() < 0.3]
        self.chance.shuffle(chosen)
        return chosen

    def _time(self, flag: bytes) -> bytes:
        return flag + self.chance.choice((b"0", b"1000", b"2592000", b"2000000000", b"-1", b"2592001"))

    def _key(self, reads: bool = True) -> tuple:
        """A key and the flags that it needs. After an append 1.6.18 forgets that it stored a base64 key as binary, so classic
        commands never use such keys."""
        pick = self.chance.random()
        if pick < 0.7:
            return b"a%d" % self.chance.randrange(6), []
        if pick < 0.8 and reads:
            return base64.b64encode(b"a%d" % self.chance.randrange(6)), [b"b"]
        return base64.b64encode(b"\0 bin\r\n%d" % self.chance.randrange(3)), [b"b"]

    def _opaque(self) -> bytes:
        return b"O" + b"o" * self.chance.choice((0, 1, 5, 30, 31))

    def valid(self, value: bytes) -> tuple:
        kind = self.chance.choice((self._get, self._get, self._set, self._set, self._delete, self._arithmetic, self._counter_get,
                                   self._noop, self._debug))
        return kind(value)

    def _line(self, verb: bytes, key: bytes, flags: list, length: bytes = b"") -> bytes:
        self.chance.shuffle(flags)
        return (b" " * self.chance.choice((1, 1, 1, 2))).join([verb, key] + ([length] if length else []) + flags)

    def _get(self, _value) -> tuple:
        key, flags = self._key()
        flags += [] if flags else self._some(self._time(b"N"))
        flags += self._some(b"c", b"f", b"h", b"k", b"l", b"s", b"t", b"v", b"v", b"q", b"u", b"P", b"Lx", self._opaque(),
                            self._time(b"T"), b"R" + self.chance.choice((b"30", b"5000", b"0", b"-1")))
        return self._line(b"mg", key, list(dict.fromkeys(flags))), b""

    def _set(self, value) -> tuple:
        key, flags = self._key(reads=False)
        mode = self.chance.choice((b"", b"", b"", b"E", b"A", b"P", b"R", b"S"))
        if mode in (b"A", b"P") and flags:
            mode = b"S"
        flags += self._some(b"c", b"k", b"q", b"F%d" % self.chance.choice((0, 1, 4294967295)), self._time(b"T"), self._opaque(),
                            b"C" + self.chance.choice((b"1", b"9007199254740990")), b"I")
        flags += [b"M" + mode] if mode else []
        return self._line(b"ms", key, list(dict.fromkeys(flags)), b"%d" % len(value)), value + b"\r\n"

    def _delete(self, _value) -> tuple:
        key, flags = self._key()
        flags += self._some(b"k", b"q", b"I", b"I", self._time(b"T"), self._opaque(), b"C1")
        return self._line(b"md", key, list(dict.fromkeys(flags))), b""

    def _counter(self) -> bytes:
        return b"n%d" % self.chance.randrange(3)

    def _arithmetic(self, _value) -> tuple:
        delta = b"D%d" % self.chance.choice((0, 1, 7, 100, 10**12))
        # No T: if the number gets longer, 1.6.18 applies T to the old item.
        flags = self._some(b"c", b"k", b"q", b"t", b"v", b"v", delta, b"M" + self.chance.choice((b"I", b"+", b"D", b"-")),
                           self._time(b"N"), b"J%d" % self.chance.choice((0, 13, 10**15)), self._opaque())
        key = b"mark0" if self.chance.random() < 0.05 else self._counter()
        return self._line(b"ma", key, list(dict.fromkeys(flags))), b""

    def _counter_get(self, _value) -> tuple:
        flags = self._some(b"c", b"f", b"k", b"t", b"v", b"q", b"u", self._opaque())
        verb = b"mg" if self.chance.random() < 0.8 else b"md"
        return self._line(verb, self._counter(), flags if verb == b"mg" else self._some(b"k", b"q", self._opaque())), b""

    def _debug(self, _value) -> tuple:
        key, flags = self._key()
        return self._line(b"me", key, flags), b""

    def _noop(self, _value) -> tuple:
        return self.chance.choice((b"mn", b"mn x", b"mn ")), b""

    def broken(self, key: bytes) -> tuple:
        """One to three odd flags, or an odd key or length. `key` must be unused elsewhere, since one server may store
        it while the other refuses."""
        odd = (b"O" + b"o" * 31, b"O" + b"o" * 32, b"O" + b"o" * 60, b"T", b"Tx", b"T1x", b"T99999999999", b"N", b"Nx", b"R", b"R-", b"C",
               b"Cx", b"C0", b"C18446744073709551615", b"C18446744073709551616", b"D", b"D-1", b"Dx", b"J", b"Jx", b"F", b"Fx", b"F-1",
               b"F4294967296", b"M", b"Me", b"Mset", b"MQ", b"Ma", b"z", b"!", b"0", b"\x80", b"\xff", b"E5", b"x", b"noreply", b"v", b"q",
               b"b", b"k", b"k", b"T+5", b"D+5", b"u", b"I", b"s", b"N5")
        verb = self.chance.choice((b"mg", b"ms", b"md", b"ma", b"mg", b"ms", b"md", b"ma", b"me"))
        key = self.chance.choice((key, key, key, key, base64.b64encode(key), base64.b64encode(key.ljust(200)), b"=" + key, key.ljust(250, b"k"), key.ljust(251, b"k")))
        flags = [self.chance.choice(odd) for _ in range(self.chance.randrange(1, 4))]
        if self.chance.random() < 0.1:
            flags = [b"O1", b"T5", b"v", b"k", b"s", b"t", b"f", b"c", b"h", b"l", b"u", b"q", b"P", b"L", b"I", b"S", b"N1", b"R1"][:17] + flags
        if verb == b"mg" and self.chance.random() < 0.1:
            key, flags = base64.b64encode(key), [b"b", b"N30", b"k"]
        if verb != b"ms":
            return b" ".join([verb, key] + flags), b""
        length = self.chance.choice((b"4", b"4", b"4", b"4", b"4", b"4", b"-1", b"x", b"4x", b""))
        return b" ".join([word for word in [verb, key, length] + flags if word]), b"zzzz\r\n"
