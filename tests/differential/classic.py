"""The classic commands on keys: each function makes an Op, whose `expect(store)` changes the model and returns the reply."""

from model import Item, Version
from replies import UniqueHole

BAD = b"CLIENT_ERROR bad command line format\r\n"
NON_NUMERIC = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
TOO_LARGE = b"SERVER_ERROR object too large for cache\r\n"
LARGEST = (1 << 64) - 1
MOST_INLINE_BYTES = 4096     # longer values may be kept in pieces, which are no numbers


class Op:
    """One request. `wire`: its bytes; `key`: its key, for reports."""
    __slots__ = ("wire", "run", "args", "key")

    def __init__(self, wire, run, args=(), key=b""):
        self.wire, self.run, self.args, self.key = wire, run, args, key

    def expect(self, store):
        return self.run(store, *self.args)


def number_of(item):
    """The number that incr reads from a value, or None."""
    text = item.value.rstrip(b" ")
    if not text.isdigit() or len(item.value) > MOST_INLINE_BYTES:
        return None
    number = int(text)
    return number if number <= LARGEST else None


def note_access(store, item) -> None:
    item.accessed, item.used = True, store.now


def joined(store, old, value: bytes, binary: bool, version=None):
    """The item after append or prepend: not stale, without a winner, not read."""
    return Item(value, old.flags, old.expiry, store.now, binary, version)


def _silent(noreply: bool, reply):
    return b"" if noreply else reply


def _run_storage(store, verb, key, value, flags, exptime, unique, noreply):
    item = store.items.get(key)
    if len(value) > store.limits.value_bytes:
        if verb == b"set":
            store.remove(key)
        return _silent(noreply, TOO_LARGE)
    reply = b"STORED\r\n"
    if verb == b"set" or (verb == b"add" and item is None) or (verb == b"replace" and item is not None):
        store.put(key, Item(value, flags, store.expiry(exptime), store.now))
    elif verb in (b"add", b"replace"):
        reply = b"NOT_STORED\r\n"
    elif verb == b"cas":
        if item is None:
            reply = b"NOT_FOUND\r\n"
        elif item.version.number == unique:
            store.put(key, Item(value, flags, store.expiry(exptime), store.now))
        else:
            reply = b"EXISTS\r\n"
    elif item is None:
        reply = b"NOT_STORED\r\n"
    elif len(item.value) + len(value) > store.limits.value_bytes:
        reply = TOO_LARGE
    else:
        whole = item.value + value if verb == b"append" else value + item.value
        store.put(key, joined(store, item, whole, item.binary))
    return _silent(noreply, reply)


def storage(verb, key, value, flags=0, exptime=0, unique=None, noreply=False) -> Op:
    tail = (b" %d" % unique if verb == b"cas" else b"") + (b" noreply" if noreply else b"")
    wire = b"%s %s %d %d %d%s\r\n%s\r\n" % (verb, key, flags, exptime, len(value), tail, value)
    return Op(wire, _run_storage, (verb, key, value, flags, exptime, unique, noreply), key)


def value_line(store, key, item, told: bytes, with_unique: bool) -> list:
    head = b"VALUE %s %d %d" % (told, item.flags, len(item.value))
    if with_unique:
        return [head + b" ", UniqueHole(store, key, item.version), b"\r\n%s\r\n" % item.value]
    return [b"%s\r\n%s\r\n" % (head, item.value)]


def _run_get(store, keys, with_unique, exptime):
    pieces = []
    for key in keys:
        item = store.items.get(key)
        if item is None:
            continue
        note_access(store, item)
        pieces += value_line(store, key, item, key, with_unique)
        if exptime is not None:
            item.expiry = store.expiry(exptime)
            store.put(key, item)
    pieces.append(b"END\r\n")
    return pieces if with_unique else b"".join(pieces)


def get(keys, with_unique=False, exptime=None) -> Op:
    """get, gets; with an exptime gat, gats."""
    verb = (b"gat" if exptime is not None else b"get") + (b"s" if with_unique else b"")
    time = b" %d" % exptime if exptime is not None else b""
    return Op(b"%s%s %s\r\n" % (verb, time, b" ".join(keys)), _run_get, (keys, with_unique, exptime), keys[0])


def _run_delete(store, key, noreply):
    found = key in store.items
    store.remove(key)
    return _silent(noreply, b"DELETED\r\n" if found else b"NOT_FOUND\r\n")


def delete(key, noreply=False) -> Op:
    return Op(b"delete %s%s\r\n" % (key, b" noreply" if noreply else b""), _run_delete, (key, noreply), key)


def changed_number(store, old, number: int, version=None):
    """The item after incr or decr: flags, times and marks stay."""
    made = old.copy()
    made.value = b"%d" % number
    made.version = version or Version()
    made.minted = store.now
    if made.accessed:
        made.used = store.now
    return made


def moved_number(number: int, delta: int, down: bool) -> int:
    return max(0, number - delta) if down else (number + delta) & LARGEST


def _run_arithmetic(store, key, delta, down, noreply):
    item = store.items.get(key)
    if item is None:
        return _silent(noreply, b"NOT_FOUND\r\n")
    number = number_of(item)
    if number is None:
        return _silent(noreply, NON_NUMERIC)
    number = moved_number(number, delta, down)
    store.put(key, changed_number(store, item, number))
    return _silent(noreply, b"%d\r\n" % number)


def arithmetic(key, delta, down=False, noreply=False) -> Op:
    wire = b"%s %s %d%s\r\n" % (b"decr" if down else b"incr", key, delta, b" noreply" if noreply else b"")
    return Op(wire, _run_arithmetic, (key, delta, down, noreply), key)


def _run_touch(store, key, exptime, noreply):
    item = store.items.get(key)
    if item is None:
        return _silent(noreply, b"NOT_FOUND\r\n")
    note_access(store, item)
    item.expiry = store.expiry(exptime)
    store.put(key, item)
    return _silent(noreply, b"TOUCHED\r\n")


def touch(key, exptime, noreply=False) -> Op:
    return Op(b"touch %s %d%s\r\n" % (key, exptime, b" noreply" if noreply else b""), _run_touch, (key, exptime, noreply), key)


def _run_flush(store, noreply):
    store.clear()
    return _silent(noreply, b"OK\r\n")


def flush_all(noreply=False) -> Op:
    return Op(b"flush_all%s\r\n" % (b" noreply" if noreply else b""), _run_flush, (noreply,))


def _run_fixed(_store, reply):
    return reply


def fixed(wire: bytes, reply) -> Op:
    """A request that changes nothing and always has the same answer."""
    return Op(wire, _run_fixed, (reply,))
