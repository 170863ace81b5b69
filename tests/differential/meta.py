"""The meta commands mg ms md ma me, with their flags in the order sent.

A function run_* of the model returns (outcome, expected reply). The outcome is "" for success, or the code that a batch reports
as the reason of its failure.
"""

import base64

from classic import NON_NUMERIC, TOO_LARGE, Op, changed_number, joined, moved_number, note_access, number_of
from model import Item, Version
from replies import SESSION_AT_MOST, EitherHole, NumberHole, UniqueHole, age_hole


GREATEST_MINTED = (1 << 53) - 1


class Flags:
    """Flags as sent: pairs (letter, text behind it)."""
    __slots__ = ("pairs", "by_letter", "wire")

    def __init__(self, pairs):
        self.pairs = tuple(pairs)
        self.by_letter = dict(self.pairs)
        assert len(self.by_letter) == len(self.pairs), pairs
        self.wire = b"".join(b" %s%s" % pair for pair in self.pairs)

    def __contains__(self, letter):
        return letter in self.by_letter

    def number(self, letter):
        text = self.by_letter.get(letter)
        return None if text is None else int(text)


class Facts:
    """The properties of an item that a reply may have."""
    __slots__ = ("key", "binary", "size", "flags", "version", "accessed", "used", "expiry", "made", "quotes")

    def __init__(self, key, binary, quotes, size=0, version=None):
        self.key, self.binary, self.quotes, self.size, self.version = key, binary, quotes, size, version
        self.flags, self.accessed, self.used, self.expiry, self.made = 0, False, 0, 0, False


def shown_key(key: bytes, binary: bool) -> bytes:
    return base64.b64encode(key) + b" b" if binary else key


def _left(store, expiry: int):
    if expiry == 0:
        return b"-1"
    left = max(0, expiry - store.now)
    return NumberHole(left - SESSION_AT_MOST, left + 1) if store.ticks else b"%d" % left


def tell(store, code: bytes, flags: Flags, facts: Facts, marks=b"") -> list:
    """The first line of a reply as pieces; T and N change the value of a later t."""
    pieces, text, expiry = [], code, facts.expiry
    for letter, rest in flags.pairs:
        if letter == b"T":
            expiry = store.expiry(int(rest))
        elif letter == b"N" and facts.made:
            expiry = store.expiry(int(rest))
        if letter not in facts.quotes:
            continue
        text += b" " + letter
        if letter == b"O":
            text += rest
        elif letter == b"k":
            text += shown_key(facts.key, facts.binary)
        elif letter == b"f":
            text += b"%d" % facts.flags
        elif letter == b"s":
            text += b"%d" % facts.size
        else:
            pieces.append(text)
            text = b""
            if letter == b"t":
                pieces.append(_left(store, expiry))
            elif letter == b"c":
                pieces.append(UniqueHole(store, facts.key, facts.version) if facts.version else b"0")
            elif letter == b"l":
                pieces.append(age_hole(store.now - facts.used, store.ticks))
            else:  # h
                pieces.append(EitherHole(b"0", b"1") if facts.accessed is None or store.any_reads else b"1" if facts.accessed else b"0")
    return _one_piece([*pieces, text + marks + b"\r\n"])


def _one_piece(pieces: list) -> list:
    return [b"".join(pieces)] if all(type(piece) is bytes for piece in pieces) else pieces


def _after(store, flags: Flags, before: int, made: bool) -> int:
    """The expiry behind T and N."""
    for letter, rest in flags.pairs:
        if letter == b"T" or (letter == b"N" and made):
            before = store.expiry(int(rest))
    return before


def _chosen(flags: Flags):
    number = flags.number(b"E")
    return Version(number) if number else None


def _differs(item, flags: Flags) -> bool:
    return b"C" in flags and item.version.number != flags.number(b"C")


def _wins(store, item, flags: Flags) -> bool:
    if item.won or item.stale:
        return not item.won
    expiry = item.expiry
    for letter, rest in flags.pairs:
        if letter == b"T":
            expiry = store.expiry(int(rest))
        elif letter == b"R" and expiry != 0 and expiry < store.expiry(int(rest)):
            return True
    return False


def run_get(store, key, flags, in_batch=False):
    item = store.items.get(key)
    facts = Facts(key, b"b" in flags, b"Ok")
    won = made = False
    if item is None:
        if b"N" not in flags:
            return "", b"" if b"q" in flags else tell(store, b"EN", flags, facts)
        item = Item(b"", 0, _after(store, flags, 0, True), store.now, b"b" in flags, _chosen(flags))
        item.won = made = won = True
        sent = False
        facts.accessed, facts.used = False, store.now
    else:
        won = _wins(store, item, flags)
        sent = item.won
        item.won = item.won or won
        facts.accessed, facts.expiry = item.accessed, item.expiry
        facts.used = item.minted if store.any_reads else item.used
        if b"T" in flags:
            item.expiry = store.expiry(flags.number(b"T"))
    same = b"C" in flags and item.version.number == flags.number(b"C")
    facts.binary, facts.quotes, facts.size, facts.flags = item.binary, b"Okcfhlst", len(item.value), item.flags
    facts.version, facts.made = item.version, made
    marks = (b" Z" if sent else b"") + (b" X" if item.stale else b"") + (b" W" if won else b"")
    shows = b"v" in flags and not same
    store.wins += won
    pieces = tell(store, b"VA %d" % len(item.value) if shows else b"HD", flags, facts, marks)
    if shows:
        pieces.append(item.value + b"\r\n")
    if b"u" not in flags:
        note_access(store, item)
    if in_batch:
        item.accessed = None
    store.put(key, item)
    return "", pieces


def run_set(store, key, value, flags, in_batch=False):
    if len(value) > store.limits.value_bytes:
        if not in_batch:
            store.remove(key)
        return "SERVER_ERROR object too large for cache", TOO_LARGE
    item = store.items.get(key)
    mode = flags.by_letter.get(b"M", b"S")
    joins, binary = mode in (b"A", b"P"), b"b" in flags
    told = Item(value, flags.number(b"F") or 0, store.expiry(flags.number(b"T") or 0), store.now, binary, _chosen(flags))
    failed, made = "", told
    if item is None:
        if joins:
            told.expiry = store.expiry(flags.number(b"N") or 0)
        if mode == b"R" and b"C" not in flags or joins and b"N" not in flags:
            failed = "NS"
        elif b"C" in flags and not joins and mode != b"E":
            failed = "NF"
    elif mode == b"E":
        failed = "NS"
    elif _differs(item, flags):
        # A unique that is not known yet is greater than all uniques that the server sent before.
        number = GREATEST_MINTED if item.version.number is None else item.version.number
        if joins or b"I" not in flags or flags.number(b"C") > number:
            failed = "EX"
        else:
            told.expiry, told.stale, told.won = item.expiry, True, item.won
    elif joins:
        if len(item.value) + len(value) > store.limits.value_bytes:
            return "SERVER_ERROR object too large for cache", TOO_LARGE
        whole = item.value + value if mode == b"A" else value + item.value
        made = joined(store, item, whole, item.binary, _chosen(flags))
    facts = Facts(key, binary, b"Okcs", len(value) if failed else len(made.value), None if failed else made.version)
    if not failed:
        if in_batch:
            made.accessed = None
        store.put(key, made)
        if b"q" in flags:
            return "", b""
    return failed, tell(store, failed.encode() or b"HD", flags, facts)


def run_delete(store, key, flags, in_batch=False):
    item = store.items.get(key)
    facts = Facts(key, b"b" in flags, b"Ok")
    if item is None:
        # With q, too: a missing item is no failure of a delete, but it is answered.
        return "NF" if b"C" in flags else "", tell(store, b"NF", flags, facts)
    if _differs(item, flags):
        return "EX", tell(store, b"EX", flags, facts)
    if b"I" not in flags and b"x" not in flags:
        store.remove(key)
    else:
        if b"x" in flags:
            made = Item(b"", 0, _after(store, flags, 0, False), store.now, item.binary, _chosen(flags))
        else:
            made = item.copy()
            made.version, made.minted, made.expiry = _chosen(flags) or Version(), store.now, _after(store, flags, item.expiry, False)
            made.used = store.now
        made.stale, made.won = b"I" in flags, False
        if in_batch:
            made.accessed = None
        store.put(key, made)
    return "", b"" if b"q" in flags else tell(store, b"HD", flags, facts)


def run_arithmetic(store, key, flags, in_batch=False):
    item = store.items.get(key)
    facts = Facts(key, b"b" in flags, b"Ok")
    if item is None:
        if b"N" not in flags:
            return "NF", tell(store, b"NF", flags, facts)
        number = flags.number(b"J") or 0
        made = Item(b"%d" % number, 0, _after(store, flags, 0, True), store.now, b"b" in flags, _chosen(flags))
    else:
        if _differs(item, flags):
            return "EX", tell(store, b"EX", flags, facts)
        number = number_of(item)
        if number is None:
            return "CLIENT_ERROR cannot increment or decrement non-numeric value", NON_NUMERIC
        delta = flags.number(b"D")
        number = moved_number(number, 1 if delta is None else delta, flags.by_letter.get(b"M", b"I") in (b"D", b"-"))
        made = changed_number(store, item, number, _chosen(flags))
        facts.expiry = item.expiry
        made.expiry = _after(store, flags, item.expiry, False)
    if in_batch:
        made.accessed = None
    facts.quotes, facts.version, facts.made = b"Okct", made.version, item is None
    store.put(key, made)
    if b"q" in flags:
        return "", b""
    if b"v" not in flags:
        return "", tell(store, b"HD", flags, facts)
    return "", tell(store, b"VA %d" % len(made.value), flags, facts) + [made.value + b"\r\n"]


_RUNS = {b"mg": run_get, b"md": run_delete, b"ma": run_arithmetic}


def _reply_of(store, run, *args):
    return run(store, *args)[1]


def meta(verb, key, pairs, value=None) -> Op:
    """A request of mg, ms, md or ma. With the flag b the key is sent as base64."""
    flags = Flags(pairs)
    name = base64.b64encode(key) if b"b" in flags else key
    if verb == b"ms":
        wire = b"ms %s %d%s\r\n%s\r\n" % (name, len(value), flags.wire, value)
        return Op(wire, _reply_of, (run_set, key, value, flags), key)
    return Op(b"%s %s%s\r\n" % (verb, name, flags.wire), _reply_of, (_RUNS[verb], key, flags), key)


def _run_debug(store, key):
    item = store.items.get(key)
    if item is None:
        return b"EN\r\n"
    name = base64.b64encode(key) if item.binary else key
    fetched = EitherHole(b"yes", b"no") if item.accessed is None or store.any_reads else b"yes" if item.accessed else b"no"
    used = item.minted if store.any_reads else item.used
    return [b"ME %s exp=" % name, _left(store, item.expiry), b" la=", age_hole(store.now - used, store.ticks), b" cas=",
            UniqueHole(store, key, item.version), b" fetch=", fetched, b" cls=", NumberHole(1), b" size=", NumberHole(1), b"\r\n"]


def debug(key, binary=False) -> Op:
    name = base64.b64encode(key) + b" b" if binary else key
    return Op(b"me %s\r\n" % name, _run_debug, (key,), key)
