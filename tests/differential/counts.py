"""mc: counts of a range, and of its prefixes."""

import re

from classic import Op
from keyspace import is_text
from meta import shown_key
from pages import Estimate
from ranges import TOO_MANY, Range, line_of, opaque, tally
from replies import CursorHole

_LARGEST_KEY_BYTES = 250


class Group:
    """The line of a prefix, whose figures may be estimates."""
    _FIGURES = re.compile(rb" A(\d+) B\d+( ~)?")

    def __init__(self, items: int, size: int, exact: bool):
        self.text, self.items, self.exact = b" A%d B%d" % (items, size), items, exact

    def match(self, received: bytes, at: int) -> int:
        found = self._FIGURES.match(received, at)
        if not found:
            return -1
        if found[2]:  # expired items that are not removed yet count
            return found.end() if not self.exact and int(found[1]) >= self.items else -1
        return found.end() if found[0] == self.text else -1

    def __repr__(self):
        return f"<{self.text.decode()}{'' if self.exact else ' or an estimate'}>"


def _run_count(store, where, flags):
    if b"D" in flags:
        return _prefixes(store, where, flags)
    keys = where.keys(store)
    if b"X" in flags and len(keys) > min(flags.number(b"A") or 1 << 63, store.limits.locked_items):
        return TOO_MANY
    text = tally(store, keys, flags)
    if b"X" in flags or b"e" in flags or b"M" in flags:
        return b"HD" + text + opaque(flags) + b"\r\n"
    return [Estimate(text, opaque(flags))]


def _group_of(key, behind: int, delimiter: bytes) -> bytes:
    at = key.find(delimiter, behind)
    return b"" if at < 0 else key[:at + len(delimiter)]


def _prefixes(store, where, flags):
    delimiter, behind = flags.by_letter[b"D"], len(where.prefix or b"")
    limit = min(flags.number(b"A") or 1 << 63, store.limits.scan_items)
    names_only, exact = b"k" in flags, b"e" in flags
    pieces, groups, singles, single_bytes = [], [], 0, 0
    last, more = None, False
    for key in where.keys(store):
        group = _group_of(key, behind, delimiter)
        size = len(key) + len(store.items[key].value)
        if group and (not groups or groups[-1][0] != group):
            if len(groups) >= limit:
                more = True
                break
            groups.append([group, 0, 0])
        if group:
            groups[-1][1] += 1
            groups[-1][2] += size
            last = group.ljust(_LARGEST_KEY_BYTES, b"\xff")
        else:
            singles, single_bytes, last = singles + 1, single_bytes + size, key
    for group, items, size in groups:
        printable = is_text(group)
        pieces.append(b"HD k" + shown_key(group, not printable))
        if not names_only:
            pieces.append(Group(items, size, exact))
        pieces.append(opaque(flags) + b"\r\n")
    pieces.append(b"EN A%d K%d B%d" % (len(groups), singles, single_bytes))
    if more:
        pieces += [b" G", CursorHole(store, None)] if last is None else [b" G", CursorHole(store, where.behind(last))]
    return pieces + [opaque(flags) + b"\r\n"]


def count(where: Range, flags, resumed=None) -> Op:
    return Op(line_of(b"mc", where, [a + b for a, b in flags.pairs], resumed), _run_count, (where, flags),
              where.start or where.prefix or b"")
