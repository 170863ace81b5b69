"""Requests that a program makes or a file holds, sent by `mxkv-ycsb --trace`; and a cache's memory, set to a wanted size.

Not done: starting servers (peers.py).
"""
import contextlib
import dataclasses
import gzip
import itertools
import math
import os
import pathlib
import statistics
import subprocess
import sys
import threading

import peers

MIB = 1 << 20
OBJECT_KEY_BYTES = 17  # of the formats that name an object by a number only: a letter and 16 hexadecimal digits
TOLERANCE = 0.02
MOST_TRIES = 6
# By kind of server: the least limit that it takes, and the step of its limit, MiB.
LEAST_MIB = {"mxkv": 16, "memcached": 1, "redis": 1}
# memcached refuses a set where its size class has no page yet and none is left.
MOST_REFUSED = {"mxkv": 0, "memcached": 10_000, "redis": 0}
STEP_MIB = {"mxkv": 1 / 16, "memcached": 1, "redis": 1 / 16}


class BadTrace(Exception):
    """A file that is no trace; the text says so in one line."""


def send(programs, server, source, *arguments, kind=None):
    """Sends a trace, a file's path or the text itself. Returns the client's figures by name."""
    command = [str(part) for part in (programs.ycsb, "run", "--trace", "-" if isinstance(source, bytes) else source, "--server",
                                      f"127.0.0.1:{server.port}", "--server-kind", kind or server.protocols["get"],
                                      "--operationcount", 0, "--no-server-counters", *arguments)]
    text = source if isinstance(source, bytes) else None
    done = subprocess.run(command, input=text, capture_output=True, check=False,
                          preexec_fn=lambda: os.sched_setaffinity(0, {programs.client_cpu}))
    if done.returncode != 0:
        sys.exit(f"{server.name}: {' '.join(command)}\n{done.stdout.decode()}{done.stderr.decode()}")
    return peers.figures_of(done.stdout.decode())


@contextlib.contextmanager
def lines_of(file):
    """The lines of a file that may be compressed."""
    if file.suffix == ".zst":
        with subprocess.Popen(["zstd", "-dcq", file], stdout=subprocess.PIPE, text=True) as unpacked:
            yield unpacked.stdout
            unpacked.stdout.close()
    else:
        with (gzip.open(file, "rt") if file.suffix == ".gz" else file.open(encoding="utf-8")) as opened:
            yield opened


def requests_of(lines, copies):
    """The requests as mxkv-ycsb reads them: Twitter's columns as they are, libCacheSim's (time, object, size, ..) as gets of
    objects whose size includes the key. Each comes once for each copy, with a key of its own."""
    lines = iter(lines)
    letters = [chr(ord("a") + copy) for copy in range(copies)]
    first = next(lines, "")
    if not first.startswith("#"):
        for line in itertools.chain([first], lines):
            try:
                time, key, key_bytes, rest = line.split(",", 3)
                if copies == 1:
                    yield line
                else:
                    for letter in letters:
                        yield f"{time},{letter}{key},{int(key_bytes) + 1},{rest}"
            except ValueError:
                raise BadTrace(f"'{line.strip()[:60]}' has not the columns timestamp,key,key size,value size,client id,operation,"
                               "TTL, and the file does not begin with '# time, object, size'") from None
        return
    for line in lines:
        try:
            time, name, size = line.split(",")[:3]
            name, value = f"{int(name):016x}", max(int(size) - OBJECT_KEY_BYTES, 0)
        except ValueError:
            raise BadTrace(f"'{line.strip()[:60]}' has not the columns time, object, size") from None
        for letter in letters:
            yield f"{time},{letter}{name},{OBJECT_KEY_BYTES},{value},0,get,0\n"


def write_halves(file, folder, most, copies):
    """Writes the first and the second half of the trace, or of its first `most` requests, into files that it returns."""
    with lines_of(file) as lines:
        count = sum(not line.startswith("#") for line in lines)
    count = min(count, most) if most else count
    if count < 2:
        raise BadTrace(f"{file} has {count} requests")
    halves = [folder / "first.csv", folder / "second.csv"]
    with lines_of(file) as lines:
        requests = requests_of(lines, copies)
        for path, length in zip(halves, (count // 2 * copies, (count - count // 2) * copies)):
            with path.open("w", encoding="utf-8") as half:
                half.writelines(itertools.islice(requests, length))
    return halves


@dataclasses.dataclass(frozen=True)
class Replay:
    """The outcome of a trace's second half."""

    memory_mib: float  # by which the process had grown
    limit_mib: float
    hits: float
    byte_hits: float
    cpu_us: float  # of the server a get


class Resident:
    """The mean of a server's resident memory in the second half of the time until `stop`. The end alone would be chance: an
    allocator gives memory back, and takes it again, in large pieces."""

    PAUSE_S = 0.1

    def __init__(self, server):
        self.samples, self.ended = [], threading.Event()
        self.thread = threading.Thread(target=self.watch, args=(server,))
        self.thread.start()

    def watch(self, server):
        while True:
            self.samples.append(server.resident_bytes())
            if self.ended.wait(self.PAUSE_S):
                return

    def stop(self):
        self.ended.set()
        self.thread.join()
        return statistics.fmean(self.samples[len(self.samples) // 2:])


def next_limit(kind, limit, wanted, grown):
    """The limit to try after this one, or None where it does."""
    if abs(grown - wanted) <= TOLERANCE * wanted:
        return None
    step = STEP_MIB[kind]
    there = max(round((limit + wanted - grown) / step) * step, LEAST_MIB[kind])
    return None if abs(there - limit) < step else there


def replay(programs, start, kind, halves, wanted_mib, limit_mib, arguments):
    """Replays both halves, with one limit after the other, until the process has grown by `wanted_mib` in each."""
    limit = max(round(limit_mib / STEP_MIB[kind]) * STEP_MIB[kind], LEAST_MIB[kind])
    last = 0  # what the process grew by in the try before
    for left in reversed(range(MOST_TRIES)):
        server = start(dataclasses.replace(programs, memory_mib=limit))
        try:
            before = server.resident_bytes()

            def play(half, server=server, before=before):
                """The client's figures, and the MiB that the process had grown by."""
                resident = Resident(server)
                try:
                    figures = send(programs, server, half, "--fill-misses", "--max-failures", MOST_REFUSED[kind], *arguments,
                                   kind=kind)
                finally:
                    mean = resident.stop()
                return figures, (mean - before) / MIB

            for half in halves:
                cpu = server.cpu_ns()
                figures, grown = play(half)
                cpu = server.cpu_ns() - cpu
                other = next_limit(kind, limit, wanted_mib, grown)
                full = other is None or other < limit or grown > last * (1 + TOLERANCE)  # a greater limit held more
                if other is not None and full and left > 0:
                    break
            else:
                other = None
            if other is not None:
                limit, last = other, grown
                continue
            gets = figures["[CACHE] Hits"] + figures["[CACHE] Misses"]
            return Replay(grown, limit, figures["[CACHE] HitRatio"],
                          figures["[CACHE] ByteHitRatio"], cpu / 1000 / gets)
        finally:
            server.stop()
    raise AssertionError("the last try returns")


def memory_for(hits, points):
    """The memory at which (memory, hits) `points` reach these hits, between two points in the logarithm of the memory. None
    below the least point; infinite above the greatest."""
    points = sorted(points)
    if not points or hits < points[0][1]:
        return None
    for (less, few), (more, many) in itertools.pairwise(points):
        if few <= hits <= many:
            share = (hits - few) / (many - few) if many > few else 0
            return math.exp(math.log(less) + share * math.log(more / less))
    return points[0][0] if hits == points[0][1] else math.inf


def mebibytes(text):
    """For argparse: a size such as 32MiB, or 1.5MiB."""
    if not text.endswith("MiB") or not 0 < float(text.removesuffix("MiB")) < 1 << 20:
        raise ValueError(text)
    return float(text.removesuffix("MiB"))


def existing_file(text):
    """For argparse."""
    path = pathlib.Path(text).absolute()
    if not path.is_file():
        raise ValueError(text)
    return path
