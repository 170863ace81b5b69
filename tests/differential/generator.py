"""Random pipelines of one client: scenes of several requests each, with a known answer for every request.

A scene looks at the model, so that its requests meet existing items. It may emit any sequence of Ops; the model follows at
once.
"""

import batches
import batches
import classic
import counts
import meta
import ranges
from keyspace import is_text
from meta import Flags
from model import LONG
from ranges import Range
from single_keys import SingleKeyRequests

_FILLER = [
    (b"version\r\n", None), (b"verbosity 0\r\n", b"OK\r\n"), (b"mn\r\n", b"MN\r\n"), (b"mn x\r\n", b"MN\r\n"), (b"mb 0\r\n", b"HD\r\n"),
    (b"foo bar\r\n", b"ERROR\r\n"), (b"\r\n", classic.BAD), (b"get\r\n", classic.BAD), (b"mg\r\n", b"ERROR\r\n"),
    (b"get " + b"k" * 251 + b"\r\n", classic.BAD), (b"set k x 0 3\r\nabc\r\n", classic.BAD),
    (b"mg k q q\r\n", b"CLIENT_ERROR duplicate flag\r\n"), (b"mr a p Hb\r\n", b"CLIENT_ERROR p excludes H, i and o\r\n"),
    (b"mx a r\r\n", b"CLIENT_ERROR mx does not allow r\r\n"), (b"scan cursor=abc 5\r\n", b"CLIENT_ERROR bad cursor\r\n"),
    (b"mb 1\r\nget x\r\n", b"EX 1 CLIENT_ERROR not allowed in a batch\r\n")]


class Generator(SingleKeyRequests):
    """`alone`: there is no other client, so that flushes are known; `runs`: the factor for the length of runs of neighbours."""

    def __init__(self, chance, store, space, version_line, alone=False, runs=1, excluded=()):
        super().__init__(chance, store, space)
        self.version_line, self.runs, self.excluded = version_line, runs, excluded
        self.store.any_uniques, self.store.any_reads = "batch-uniques" in excluded, "reads" in excluded
        self.ops, self.expected = [], []
        self.scenes = [(12, self.talk), (6, self.fill), (6, self.clear), (4, self.remove), (8, self.read), (4, self.count), (2, self.touch),
                       (5, self.batch), (3, self.get_many), (2, self.filler), (3, self.go_on), (1, self.too_large), (2, self.fill_again)]
        if alone:
            self.scenes.append((1, self.flush))

    def pipeline(self, length: int) -> tuple:
        """(requests, expected replies), of about as many requests."""
        self.ops, self.expected = [], []
        weights, scenes = zip(*self.scenes)
        while len(self.ops) < length:
            self.chance.choices(scenes, weights)[0]()
        return self.ops, self.expected

    def emit(self, op) -> None:
        wins = self.store.wins
        self.ops.append(op)
        self.expected.append(op.expect(self.store))
        if "wins" in self.excluded and wins != self.store.wins and op.wire.startswith(b"mg"):
            self.emit(classic.fixed(b"verbosity 0\r\n", b"OK\r\n"))

    def talk(self) -> None:
        """A few keys; each request for them depends on the request before."""
        keys = [self.space.any(self.chance) for _ in range(self.chance.choice((1, 1, 2, 3)))]
        for _ in range(self.chance.randrange(3, 40)):
            self.one(self.chance.choice(keys))

    def one(self, key) -> None:
        if is_text(key) and self.flip(0.55):
            self.emit(self.classic_op(key))
        else:
            self.emit(self.meta_op(key))

    def batch(self) -> None:
        keys = [self.space.any(self.chance) for _ in range(self.chance.choice((1, 2, 4, 4, 10)))]
        lines = [self.meta_op(self.chance.choice(keys), True) for _ in range(self.chance.choice((1, 2, 3, 5, 20)))]
        self.emit(batches.batch(lines))
        for key in keys[:3]:
            self.one(key)

    def get_many(self) -> None:
        keys = [key for key in (self.space.any(self.chance) for _ in range(self.chance.randrange(1, 60))) if is_text(key)]
        if keys:
            self.emit(classic.get(keys, self.flip(0.3), self.time() if self.flip(0.2) else None))

    def too_large(self) -> None:
        key, size = self.space.few(self.chance), self.store.limits.value_bytes
        value = b"L" * (size + self.chance.choice((-1, 0, 1, 500)))
        self.emit(classic.storage(self.chance.choice((b"set", b"add", b"append")), key, value, noreply=self.flip(0.2)) if self.flip(0.6)
                  else meta.meta(b"ms", key, [], value))
        self.one(key)

    # --- Runs of neighbours ---

    def run_of_keys(self) -> list:
        count = self.runs * self.chance.choice((5, 20, 80, 80, 200, 400))
        begin = self.chance.randrange(max(1, self.space.dense - count))
        return [self.space.at(number) for number in range(begin, min(begin + count, self.space.dense))]

    def fill(self) -> None:
        keys, way, exptime = self.run_of_keys(), self.chance.randrange(3), self.time()
        share = self.chance.choice((1, 1, 0.5))
        if self.flip(0.3):
            self.chance.shuffle(keys)
        for key in keys:
            if share < 1 and self.flip(0.5):
                continue
            self.counter += 1
            value = b"%d" % self.counter
            self.emit(meta.meta(b"ms", key, [(b"q", b""), (b"T", b"%d" % exptime)], value) if way == 2
                      else classic.storage(b"set", key, value, 0, exptime, None, way == 1))

    def clear(self) -> None:
        """Removes a run by single requests, then asks for one of its keys, or for a key in between."""
        keys, way = self.run_of_keys(), self.chance.randrange(4)
        if self.flip(0.2):
            keys.reverse()
        for key in keys:
            self.emit(classic.touch(key, -1, True) if way == 3 else meta.meta(b"md", key, [(b"q", b"")]) if way == 2
                      else classic.delete(key, way == 1))
        self.ask_between(keys)

    def ask_between(self, keys) -> None:
        for _ in range(self.chance.randrange(4)):
            key = self.chance.choice(keys) + self.chance.choice((b"", b"x", b"x"))
            if self.flip(0.5):
                self.emit(classic.storage(b"set", key, b"v"))
                self.emit(classic.delete(key))
                self.emit(classic.get([key]))
            for _ in range(self.chance.randrange(1, 6)):
                self.one(key)

    def fill_again(self) -> None:
        self.clear()
        self.fill()
        self.clear()

    def remove(self) -> None:
        """Deletes ranges, by pages or at once."""
        if self.flip(0.6):
            keys = self.run_of_keys()
            where = Range(keys[0], keys[-1], None, self.flip(0.5), self.flip(0.5))
        else:
            keys, where = [self.space.numbered(self.chance)], Range(prefix=self.space.prefix(self.chance))
        pairs = [(b"X", b"")] * self.flip(0.4) + [(b"A", b"%d" % self.chance.choice((1, 7, 100, 1000)))] * self.flip(0.3)
        pairs += self.some(b"q") + [(b"O", b"r")] * self.flip(0.1)
        self.emit(ranges.remove(where, Flags(pairs)))
        if self.flip(0.5):
            self.look_out_of(keys)
        self.ask_between(keys)

    def look_out_of(self, keys) -> None:
        """Pages without a far bound that begin where no keys are left."""
        pairs = [(b"X", b"")] * self.flip(0.8) + [(b"A", b"%d" % self.chance.choice((1, 2, 20)))]
        self.emit(ranges.read(Range(self.chance.choice(keys), reverse=self.flip(0.5)), Flags(pairs)))

    def touch(self) -> None:
        where = Range(prefix=self.space.prefix(self.chance))
        time = self.time() if self.flip(0.3) else self.chance.choice((0, LONG))
        self.emit(ranges.touch(where, Flags([(b"T", b"%d" % time)] + self.some(b"q") + [(b"A", b"50")] * self.flip(0.1))))
        self.one(self.space.any(self.chance))

    # --- Ranges that change nothing ---

    def where(self) -> Range:
        kind = self.chance.random()
        reverse = self.flip(0.4)
        if kind < 0.35:
            return Range(prefix=self.space.prefix(self.chance), reverse=reverse)
        one = self.space.any(self.chance)
        if kind < 0.45:
            return Range(one if self.flip(0.8) else None, None, None, False, self.flip(0.3) and one is not None, reverse)
        other = self.space.at(self.chance.randrange(self.space.dense)) if one[:1] == b"d" else self.space.any(self.chance)
        low, high = sorted((one, other))
        if self.flip(0.05):
            low, high = high, low
        return Range(high if reverse else low, low if reverse else high, None, self.flip(0.5), self.flip(0.3), reverse)

    def read(self) -> None:
        where = self.where()
        if where.start is None:
            where.start_out = False
        bounds = [bound for bound in (where.start, where.far, where.prefix) if bound is not None]
        encoded = not all(is_text(bound) for bound in bounds) or self.flip(0.1) and where.is_own(self.store)
        if self.flip(0.4):
            self.scan(where, encoded)
            return
        locks = self.flip(0.25)
        loose = not where.is_own(self.store) or locks
        pairs = self.some(b"vfst", 0.4) + ([] if loose else self.some(b"clhkq", 0.1))
        pairs += [(b"X", b"")] * locks
        pairs += [(b"A", b"%d" % self.chance.choice((1, 7, 100)))] * self.flip(0.4)
        pairs += [(b"B", b"%d" % self.chance.choice((1, 200)))] * self.flip(0.1)
        self.emit(ranges.read(where, Flags(pairs)))

    def scan(self, where, encoded: bool) -> None:
        limit, size = self.chance.choice((1, 5, 100, 1000, 5000)), self.chance.choice((None, None, 300))
        open_ended = where.prefix is None and where.far is None and where.start is not None and not where.reverse
        where.far_in = where.far_in and where.far is not None
        self.emit(ranges.scan(where, limit, size, self.flip(0.3), self.flip(0.2), self.flip(0.4), encoded,
                              counted=open_ended and self.flip(0.5)))

    def count(self) -> None:
        where = Range(prefix=self.space.prefix(self.chance))
        if self.flip(0.4):
            where = self.where()
            where.reverse = False
            if not where.is_own(self.store):
                return
        if self.flip(0.4):
            pairs = [(b"D", self.chance.choice((b"/", b"0", b"ab")))] + self.some(b"ek", 0.3) + [(b"A", b"3")] * self.flip(0.3)
        else:
            pairs = self.some(b"eX", 0.4) + [(b"M", self.chance.choice((b"s", b"snx", b"nx")))] * self.flip(0.3)
        self.emit(counts.count(where, Flags(pairs + [(b"O", b"c")] * self.flip(0.1))))

    def go_on(self) -> None:
        """Resumes at a cursor of an earlier page, whatever has changed since."""
        if not self.store.cursors:
            return
        text, where = self.chance.choice(self.store.cursors)
        if not where.is_own(self.store):
            return
        kind = self.chance.random()
        if kind < 0.4:
            self.emit(ranges.read(where, Flags(self.some(b"vfst", 0.4) + [(b"A", b"7")] * self.flip(0.5)), text))
        elif kind < 0.6:
            self.emit(ranges.scan(where, 10, None, self.flip(0.3), False, self.flip(0.5), True, text))
        elif kind < 0.8 and not where.reverse:
            self.emit(ranges.remove(where, Flags([(b"A", b"5")]), text))
        elif not where.reverse:
            self.emit(counts.count(where, Flags([(b"e", b"")]), text))

    def filler(self) -> None:
        wire, reply = self.chance.choice(_FILLER)
        self.emit(classic.fixed(wire, self.version_line if reply is None else reply))

    def flush(self) -> None:
        if self.flip(0.3):
            self.emit(classic.flush_all(self.flip(0.3)))
