"""YCSB's generators, computed anew from their published formulas: an independent second opinion on the C++ streams.

Random numbers are the client's (xoshiro256** seeded by splitmix64). The formulas that turn them into records, keys and
lengths come from CoreWorkload and its generators. Where YCSB takes a nextDouble() this takes the upper 53 bits of a
number, where it takes Math.abs(nextLong()) the absolute value of a number.
"""

import math

MASK = (1 << 64) - 1
THETA = 0.99


class Random:
    def __init__(self, seed: int):
        self.state = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            word = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
            self.state.append(word ^ (word >> 31))

    @staticmethod
    def _rotate(word: int, by: int) -> int:
        return ((word << by) | (word >> (64 - by))) & MASK

    def bits(self) -> int:
        state = self.state
        result = (self._rotate((state[1] * 5) & MASK, 7) * 9) & MASK
        shifted = (state[1] << 17) & MASK
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= shifted
        state[3] = self._rotate(state[3], 45)
        return result

    def next_double(self) -> float:
        return (self.bits() >> 11) / (1 << 53)

    def abs_long(self) -> int:
        bits = self.bits()
        return bits if bits < 1 << 63 else (1 << 64) - bits


def fnvhash64(value: int) -> int:
    hashed = 0xCBF29CE484222325
    for _ in range(8):
        hashed = ((hashed ^ (value & 0xFF)) * 1099511628211) & MASK
        value >>= 8
    return hashed if hashed < 1 << 63 else (1 << 64) - hashed


class Uniform:
    def __init__(self, lower: int, upper: int):
        self.lower, self.interval = lower, upper - lower + 1

    def next(self, random: Random) -> int:
        return random.abs_long() % self.interval + self.lower


def zeta(start: int, end: int, total: float = 0.0) -> float:
    for i in range(start, end):
        total += 1 / math.pow(i + 1, THETA)
    return total


class Zipfian:
    """Gray et al., SIGMOD 1994, over [lower, upper]."""

    def __init__(self, lower: int, upper: int, zetan: float | None = None):
        self.base, self.items = lower, upper - lower + 1
        self.zetan = zeta(0, self.items) if zetan is None else zetan
        self.count_for_zeta = self.items
        self.zeta2 = zeta(0, 2)
        self.eta = self._eta()

    def _eta(self) -> float:
        return (1 - math.pow(2.0 / self.items, 1 - THETA)) / (1 - self.zeta2 / self.zetan)

    def next(self, random: Random, items: int | None = None) -> int:
        items = self.items if items is None else items
        if items > self.count_for_zeta:
            self.zetan += zeta(self.count_for_zeta, items)
            self.count_for_zeta = items
            self.eta = self._eta()
        unit = random.next_double()
        mass = unit * self.zetan
        if mass < 1.0:
            return self.base
        if mass < 1.0 + math.pow(0.5, THETA):
            return self.base + 1
        return self.base + int(items * math.pow(self.eta * unit - self.eta + 1, 1.0 / (1.0 - THETA)))


class ScrambledZipfian:
    ITEMS, ZETAN = 10000000000, 26.46902820178302

    def __init__(self, lower: int, upper: int):
        self.lower, self.count = lower, upper - lower + 1
        self.zipfian = Zipfian(0, self.ITEMS, self.ZETAN)

    def next(self, random: Random) -> int:
        return self.lower + fnvhash64(self.zipfian.next(random)) % self.count


class Hotspot:
    def __init__(self, lower: int, upper: int, data: float, operations: float):
        interval = upper - lower + 1
        self.lower, self.operations = lower, operations
        self.hot = int(interval * data)
        self.cold = interval - self.hot

    def next(self, random: Random) -> int:
        if random.next_double() < self.operations:
            return self.lower + random.abs_long() % self.hot
        return self.lower + self.hot + random.abs_long() % self.cold


class Histogram:
    def __init__(self, block: int, buckets: list[int]):
        self.block, self.buckets = block, buckets

    def next(self, random: Random) -> int:
        number = random.abs_long() % sum(self.buckets)
        for i in range(len(self.buckets) - 1):
            number -= self.buckets[i]
            if number <= 0:
                return (i + 1) * self.block
        return (len(self.buckets) - 1) * self.block


class CoreWorkload:
    """The stream of one client thread; every insert is acknowledged at once."""

    def __init__(self, properties: dict[str, str], seed: int):
        def number(name, default):
            return type(default)(properties.get(name, default))

        self.random = Random((seed * 0x9E3779B97F4A7C15) & MASK)
        self.padding = number("zeropadding", 1)
        self.ordered = properties.get("insertorder", "hashed") != "hashed"
        self.fields = number("fieldcount", 10)
        self.read_all = properties.get("readallfields", "true") == "true"
        self.write_all = properties.get("writeallfields", "false") == "true"
        self.records = number("recordcount", 1000)
        start = number("insertstart", 0)
        end = start + number("insertcount", self.records - start) - 1
        self.last = self.records - 1
        weights = [("READ", number("readproportion", 0.95)), ("UPDATE", number("updateproportion", 0.05)),
                   ("INSERT", number("insertproportion", 0.0)), ("SCAN", number("scanproportion", 0.0)),
                   ("READ-MODIFY-WRITE", number("readmodifywriteproportion", 0.0))]
        self.weights = [(kind, weight) for kind, weight in weights if weight > 0]
        scan = (number("minscanlength", 1), number("maxscanlength", 1000))
        self.scan = (Zipfian if properties.get("scanlengthdistribution") == "zipfian" else Uniform)(*scan)
        self.distribution = properties.get("requestdistribution", "uniform")
        self.sequence = 0
        match self.distribution:
            case "uniform":
                self.keys = Uniform(start, end)
            case "zipfian":
                expected = int(number("operationcount", 1000) * number("insertproportion", 0.0) * 2.0)
                self.keys = ScrambledZipfian(start, end + 1 + expected)
            case "latest":
                self.keys = Zipfian(0, self.last - 1)
            case "sequential":
                self.keys = (start, end - start + 1)
            case "hotspot":
                self.keys = Hotspot(start, end, number("hotspotdatafraction", 0.2), number("hotspotopnfraction", 0.8))
            case "exponential":
                percentile = number("exponential.percentile", 95.0)
                span = self.records * number("exponential.frac", 0.8571428571)
                self.keys = -math.log(1.0 - percentile / 100.0) / span

    def _draw(self) -> int:
        match self.distribution:
            case "latest":
                return self.last - self.keys.next(self.random, self.last)
            case "sequential":
                self.sequence += 1
                return self.keys[0] + (self.sequence - 1) % self.keys[1]
            case "exponential":
                return self.last - int(-math.log(self.random.next_double()) / self.keys)
        return self.keys.next(self.random)

    def _record(self) -> int:
        while True:
            record = self._draw()
            if 0 <= record <= self.last:
                return record

    def _kind(self) -> str:
        total = sum(weight for _, weight in self.weights)
        value = self.random.next_double()
        for kind, weight in self.weights:
            if value < weight / total:
                return kind
            value -= weight / total
        return self.weights[-1][0]

    def _field(self, everything: bool) -> str:
        return "-" if everything else str(self.random.abs_long() % self.fields)

    def next(self) -> str:
        kind = self._kind()
        if kind == "INSERT":
            self.last += 1
            record = self.last
        else:
            record = self._record()
        length = self.scan.next(self.random) if kind == "SCAN" else 0
        read = self._field(self.read_all) if kind in ("READ", "SCAN", "READ-MODIFY-WRITE") else "-"
        write = self._field(self.write_all) if kind in ("UPDATE", "READ-MODIFY-WRITE") else "-"
        number = record if self.ordered else fnvhash64(record)
        return f"{kind} {record} user{str(number).rjust(self.padding, '0')} {length} {read} {write}"
