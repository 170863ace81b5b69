"""The items of a sequential server: by key, in order, at a time that stands still until it is moved.

Because time stands still while requests run, an item either lives or does not, and expired items are not kept. A unique that
the server mints is a Version whose number is unknown until a reply has it.
"""

from bisect import bisect_left, insort

RELATIVE_AT_MOST = 60 * 60 * 24 * 30
LONG = 400                    # seconds that no session takes
_NEGATIVE_IN_32_BITS = (1 << 32) - RELATIVE_AT_MOST
_LAST = 0xFFFFFFFF


class Version:
    """A cas unique. `number` is None until a reply has it, or the number that the client chose."""
    __slots__ = ("number", "chosen")

    def __init__(self, number=None):
        self.number = number
        self.chosen = number is not None


class Item:
    __slots__ = ("value", "flags", "expiry", "version", "stale", "won", "binary", "accessed", "used", "minted")

    def __init__(self, value, flags, expiry, now, binary=False, version=None):
        self.value = value
        self.flags = flags
        self.expiry = expiry          # second at which it ends, 0: never
        self.version = version or Version()
        self.stale = False
        self.won = False
        self.binary = binary
        self.accessed = False         # None: not known
        self.used = now               # second of the last access
        self.minted = now             # second in which this version was made

    def copy(self):
        other = Item.__new__(Item)
        for name in Item.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def state(self):
        """The state that later answers depend on."""
        return (self.value, self.flags, self.expiry, self.version.number, self.stale, self.won, self.binary)


class Limits:
    """Limits of the modelled server."""
    __slots__ = ("value_bytes", "scan_items", "scan_bytes", "locked_items")

    def __init__(self, value_bytes=1 << 20, scan_items=1000, scan_bytes=1 << 20, locked_items=1_000_000):
        self.value_bytes, self.scan_items, self.scan_bytes, self.locked_items = value_bytes, scan_items, scan_bytes, locked_items


class Store:
    """`owned`: whether a key is this store's alone; None: all keys are."""

    def __init__(self, limits, now, owned=None):
        self.limits = limits
        self.now = now
        self.owned = owned
        self.items = {}
        self.keys = []
        self.greatest = {}            # by key, the greatest unique that the server sent
        self.flush_at = 0
        self.cursors = []             # cursors of replies: (text, the rest of the range)
        self.wins = 0                 # number of wins, which ask a client to renew an item
        self.ticks = False            # the server's clock runs, and may be a minute ahead
        self.any_reads = False        # also right: reads of a key in one pipeline happen in any order
        self.any_uniques = False   # also right: the uniques of a key do not grow

    def expiry(self, exptime: int) -> int:
        """The second at which an item stored now expires; 0: never, 1: it has expired already."""
        if exptime == 0:
            return 0
        if exptime < 0 or _NEGATIVE_IN_32_BITS <= exptime <= _LAST:
            return 1
        at = self.now + exptime if exptime <= RELATIVE_AT_MOST else exptime
        return 1 if at <= self.now else min(at, _LAST)

    def put(self, key, item) -> None:
        if 0 < item.expiry <= self.now:
            self.remove(key)
            return
        if key not in self.items:
            insort(self.keys, key)
        self.items[key] = item

    def remove(self, key) -> None:
        if self.items.pop(key, None) is not None:
            del self.keys[bisect_left(self.keys, key)]

    def clear(self) -> None:
        self.items.clear()
        self.keys.clear()
        if self.flush_at > self.now:
            self.flush_at = 0         # replaces a coming flush

    def flush_later(self, delay: int) -> None:
        self.flush_at = self.now + delay

    def advance(self, seconds: int) -> None:
        """Moves the time. A flush may or may not remove an item of the second before it, so the caller avoids that case."""
        self.now += seconds
        flushes = 0 < self.flush_at <= self.now
        ended = [key for key, item in self.items.items()
                 if 0 < item.expiry <= self.now or (flushes and item.minted < self.flush_at)]
        for key in ended:
            del self.items[key]
        if ended:
            self.keys = sorted(self.items)
        if flushes:
            self.flush_at = 0

    def learn(self, key, version, number: int) -> bool:
        """Takes a unique from a reply. Returns False if the unique is impossible."""
        if version.number is not None:
            return version.number == number
        greatest = self.greatest.get(key, 0)
        if number <= greatest and not self.any_uniques:
            return False
        version.number = self.greatest[key] = number
        return True
