"""Ranges: scan and its kin, mr mc mx mt, and cursors.

`Range` has the bounds. The items and the end of a page follow the server's rules: limits of items and bytes, ceilings, and
whether there is one more item. A range with other clients' keys is compared as far as possible, see pages.py.
"""

import base64
from bisect import bisect_left, bisect_right

from classic import Op, number_of, value_line
from keyspace import is_text
from meta import Facts, shown_key, tell
from pages import LoosePage
from replies import CursorHole, EitherHole

TOO_MANY = b"CLIENT_ERROR too many keys in the range\r\n"


class Range:
    """Start and far bound in walking order; None for no bound. A prefix excludes bounds."""
    __slots__ = ("start", "far", "prefix", "far_in", "start_out", "reverse")

    def __init__(self, start=None, far=None, prefix=None, far_in=False, start_out=False, reverse=False):
        self.start, self.far, self.prefix, self.far_in, self.start_out, self.reverse = start, far, prefix, far_in, start_out, reverse

    def behind(self, key: bytes) -> "Range":
        """The rest of the range after a page with this last key."""
        return Range(key, self.far, self.prefix, self.far_in, True, self.reverse)

    def reach(self, keys: list) -> tuple:
        """Indices of the first and behind the last key, forward."""
        low, high = 0, len(keys)
        near, far = (1, 0) if self.reverse else (0, 1)
        for bound, taken, side in ((self.start, not self.start_out, near), (self.far, self.far_in, far)):
            if bound is None:
                continue
            if side == 0:
                low = max(low, bisect_left(keys, bound) if taken else bisect_right(keys, bound))
            else:
                high = min(high, bisect_right(keys, bound) if taken else bisect_left(keys, bound))
        if self.prefix is not None:
            low = max(low, bisect_left(keys, self.prefix))
            high = min(high, bisect_left(keys, self.prefix + b"\xff" * 251))
        return low, max(low, high)

    def within(self, key: bytes) -> bool:
        return self.reach([key]) == (0, 1)

    def keys(self, store) -> list:
        low, high = self.reach(store.keys)
        found = store.keys[low:high]
        return found[::-1] if self.reverse else found

    def is_own(self, store) -> bool:
        """Whether the range can have no key of other clients."""
        if store.owned is None:
            return True
        if self.prefix is not None:
            return store.owned(self.prefix)
        if self.start is None or self.far is None:
            return False
        return store.owned(self.start) and store.owned(self.far) and store.owned(_common(self.start, self.far))


def _common(one: bytes, other: bytes) -> bytes:
    count = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    return one[:count]


class Budget:
    """The limits that end a page."""
    __slots__ = ("items", "bytes", "ceiling", "count", "taken")

    def __init__(self, store, items, bytes_=None):
        self.items = min(items or 1 << 63, store.limits.scan_items)
        self.ceiling = (items or 1 << 63) > store.limits.scan_items
        self.bytes = min(bytes_ or 1 << 63, store.limits.scan_bytes)
        self.count = self.taken = 0

    def takes(self, size: int) -> bool:
        if self.count < self.items and (self.taken + size <= self.bytes or self.count == 0):
            self.count += 1
            self.taken += size
            return True
        self.ceiling = self.ceiling or self.count < self.items
        return False


# --- scan scans pscan pscans ---

def _run_scan(store, where, limit, bytes_, keys_only, unique, cursor, encoded):
    budget, pieces, more, last = Budget(store, limit, bytes_), [], False, None
    if not where.is_own(store):
        return [LoosePage(store, where, classic=True, keys_only=keys_only, encoded=encoded)]
    for key in where.keys(store):
        item = store.items[key]
        if not budget.takes(len(key) + (0 if keys_only else len(item.value))):
            more = True
            break
        if not encoded and not is_text(key):
            return pieces + [b"SERVER_ERROR binary key, use mr\r\n"]
        told = base64.b64encode(key) if encoded else key
        pieces += [b"KEY %s\r\n" % told] if keys_only else value_line(store, key, item, told, unique)
        last = key
        if budget.count == budget.items and not (budget.ceiling or cursor):
            break
    if more and last is not None and (cursor or budget.ceiling):
        pieces += [b"CURSOR ", CursorHole(store, where.behind(last)), b"\r\n"]
    pieces.append(b"END\r\n")
    return pieces if len(pieces) < 3 or any(type(piece) is not bytes for piece in pieces) else b"".join(pieces)


def _bound(key, taken: bool, encoded: bool) -> bytes:
    return (b"[" if taken else b"(") + (base64.b64encode(key) if encoded else key)


def scan(where, limit, bytes_=None, keys_only=False, unique=False, cursor=False, encoded=False, resumed=None, counted=False) -> Op:
    """`resumed`: the text of a cursor whose range is `where`; `counted`: the short form, without an end."""
    by_prefix = where.prefix is not None
    verb = (b"pscan" if by_prefix else b"scan") + (b"s" if unique else b"")
    words = [b"bytes=%d" % bytes_] if bytes_ else []
    words += [word for word, said in ((b"reverse", where.reverse and not resumed), (b"keys", keys_only), (b"cursor", cursor),
                                      (b"base64", encoded)) if said]
    if resumed:
        bounds = [b"cursor=" + resumed]
    elif by_prefix:
        bounds = [base64.b64encode(where.prefix) if encoded else where.prefix]
    else:
        near = _bound(where.start, not where.start_out, encoded) if where.start is not None else b"+" if where.reverse else b"-"
        far = _bound(where.far, where.far_in, encoded) if where.far is not None else b"-" if where.reverse else b"+"
        bounds = [near] if counted else [far, near] if where.reverse else [near, far]
    line = b" ".join([verb, *bounds, b"%d" % limit, *words])
    return Op(line + b"\r\n", _run_scan, (where, limit, bytes_, keys_only, unique, cursor, encoded), where.start or where.prefix or b"")


# --- mr mc mx mt ---

def line_of(verb, where, flags, resumed=None) -> bytes:
    """Sends all bounds as base64 if one of them needs it."""
    words = []
    encoded = any(bound is not None and not is_text(bound) for bound in (where.start, where.far, where.prefix))
    text = (lambda key: base64.b64encode(key)) if encoded else (lambda key: key)
    if resumed:
        words = [b"-", b"G" + resumed]
    elif where.prefix is not None:
        words = [text(where.prefix), b"p"]
    else:
        words = [b"-" if where.start is None else text(where.start)]
        if where.start is None:
            assert not encoded or where.far is None, "no line says this"
        words += [b"H" + text(where.far)] if where.far is not None else []
        words += [b"i"] if where.far_in else []
        words += [b"o"] if where.start_out else []
    if not resumed:
        words += [b"r"] if where.reverse else []
        words += [b"b"] if encoded else []
    return b" ".join([verb, *words, *flags]) + b"\r\n"


def item_line(store, key, item, flags) -> list:
    binary = item.binary or not is_text(key)
    facts = Facts(key, binary, b"Ocfhlst", len(item.value), item.version)
    # Reads and ranges of a connection do not wait for each other, so it is unknown whether, and when, the item was read.
    facts.flags, facts.accessed, facts.used, facts.expiry = item.flags, None, item.minted, item.expiry
    value = b"v" in flags
    code = (b"VA %d" % len(item.value) if value else b"HD") + b" k" + shown_key(key, binary)
    pieces = tell(store, code, flags, facts, b" X" if item.stale else b"")
    if item.stale or item.won or item.expiry:
        # For the same reason the winner of a stale item, which a read decides, is unknown.
        end = pieces.pop()
        told = len(end) - (4 if item.stale else 2)
        pieces += [end[:told], EitherHole(b" Z" + end[told:], end[told:])]
    return pieces + ([item.value + b"\r\n"] if value else [])


def opaque(flags) -> bytes:
    return b" O" + flags.by_letter[b"O"] if b"O" in flags else b""


def _run_read(store, where, flags):
    if not where.is_own(store) or (b"X" in flags and where.far is None and where.prefix is None):
        return [LoosePage(store, where, flags=flags)]
    budget, pieces, more, last = Budget(store, flags.number(b"A"), flags.number(b"B")), [], False, None
    for key in where.keys(store):
        item = store.items[key]
        if not budget.takes(len(key) + (len(item.value) if b"v" in flags else 0)):
            more = True
            break
        pieces += item_line(store, key, item, flags)
        last = key
    goes_on = more and last is not None
    if goes_on or b"q" not in flags:
        pieces.append(b"EN A%d" % budget.count)
        if goes_on:
            pieces += [b" G", CursorHole(store, where.behind(last))]
        pieces.append(opaque(flags) + b"\r\n")
    return b"".join(pieces) if all(type(piece) is bytes for piece in pieces) else pieces


def read(where, flags, resumed=None) -> Op:
    return Op(line_of(b"mr", where, [a + b for a, b in flags.pairs], resumed), _run_read, (where, flags),
              where.start or where.prefix or b"")


def tally(store, keys, flags) -> bytes:
    text = b" A%d B%d" % (len(keys), sum(len(key) + len(store.items[key].value) for key in keys))
    if b"M" in flags:
        numbers = [number for number in (number_of(store.items[key]) for key in keys) if number is not None]
        modes = flags.by_letter[b"M"]
        text += b" N%d" % len(numbers)
        text += b" Ms%d" % sum(numbers) if b"s" in modes else b""
        text += b" Mn%d" % min(numbers) if b"n" in modes and numbers else b""
        text += b" Mx%d" % max(numbers) if b"x" in modes and numbers else b""
    return text


def _run_remove(store, where, flags):
    keys, whole = where.keys(store), b"X" in flags
    limit = min(flags.number(b"A") or 1 << 63, store.limits.locked_items if whole else store.limits.scan_items)
    more = len(keys) > limit
    if whole and more:
        return TOO_MANY
    for key in keys[:limit]:
        store.remove(key)
    if b"q" in flags and not more:
        return b""
    pieces = [b"HD A%d" % min(len(keys), limit)]
    if more:
        pieces += [b" G", CursorHole(store, where.behind(keys[limit - 1]))]
    return pieces + [opaque(flags) + b"\r\n"]


def remove(where, flags, resumed=None) -> Op:
    return Op(line_of(b"mx", where, [a + b for a, b in flags.pairs], resumed), _run_remove, (where, flags),
              where.start or where.prefix or b"")


def _run_touch(store, where, flags):
    keys = where.keys(store)
    if len(keys) > min(flags.number(b"A") or 1 << 63, store.limits.locked_items):
        return TOO_MANY
    for key in keys:
        item = store.items[key]
        item.expiry = store.expiry(flags.number(b"T"))
        store.put(key, item)
    return b"" if b"q" in flags else b"HD A%d%s\r\n" % (len(keys), opaque(flags))


def touch(where, flags) -> Op:
    return Op(line_of(b"mt", where, [a + b for a, b in flags.pairs]), _run_touch, (where, flags), where.start or where.prefix or b"")
