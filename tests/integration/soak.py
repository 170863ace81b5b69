"""The clients of the soak: each fills keys and empties leaves again, or reads slowly, until it is stopped.

A lost answer ends the soak: a client waits LOST_S for it. A late answer ends it, too: the server works on other tasks for
ANSWER_S of CPU time per worker before it answers. CPU time does not depend on how busy the machine is. Elapsed time does, so
it is a bound only where MXKV_SOAK_S asks for a soak by hand. The clients bound what they ask at once, so that memory holds
the tree and the items, and not unread replies.
"""

import bisect
import os
import random
import re
import sys
import threading
import time

from harness import Connection, environment, patience

ANSWER_S = 5.0
LOST_S = 120.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SWEEP_S = 41  # of the items' clock: the least time between two sweeps
_LONGEST_TTL_S = 3 * SWEEP_S
_BEYOND_BYTES = 80  # memory of an item beyond its value: its key, its header, and its share of the node, about
_EVICTED_FILLS = 8
_BATCH = 500
_BATCH_TRIES = 1000
_NO_MEMORY = re.compile(rb"EX \d+ SERVER_ERROR out of memory[^\r\n]*")
_WINDOW = 300


class Tally:
    """The work that all clients did, and the longest wait of any client. Any thread."""

    def __init__(self, server):
        self._server = server
        self._lock = threading.Lock()
        self._looks = [(time.monotonic(), server.cpu_ticks())]
        self.stored_bytes = 0
        self.ways: dict = {}
        self.longest_s = 0.0
        self.pause_s = 0.0

    def filled(self, byte_count: int) -> None:
        with self._lock:
            self.stored_bytes += byte_count

    def went(self, way: str) -> None:
        with self._lock:
            self.ways[way] = self.ways.get(way, 0) + 1

    def waited(self, begun: float) -> None:
        """Checks an answer that came now to a request sent at `begun`."""
        seconds = time.monotonic() - begun
        if seconds > self.longest_s:
            with self._lock:
                self.longest_s = max(self.longest_s, seconds)
        if seconds < ANSWER_S:
            return
        cpu_s = self._cpu_s_since(begun)
        told = f"an answer came after {seconds:.1f} s and {cpu_s:.1f} s of the server's CPU time; clients paused {self.pause_s:.1f} s"
        print(told, file=sys.stderr, flush=True)
        assert cpu_s < patience(ANSWER_S) * self._server.options.workers, told
        assert not environment.SOAK_S or seconds < patience(ANSWER_S), told

    def _cpu_s_since(self, begun: float) -> float:
        """The server's CPU time from `begun` on; if that was before the first look, from the first look on."""
        looks = self._looks
        first = looks[max(0, bisect.bisect_right(looks, (begun, 1 << 62)) - 1)]
        return (self._server.cpu_ticks() - first[1]) / _TICKS_PER_S

    def watch_the_clients(self, stop: threading.Event) -> None:
        """Looks at the server's CPU time every 50 ms, and at how late this thread itself wakes: other clients are as late."""
        while not stop.is_set():
            begun = time.monotonic()
            time.sleep(0.05)
            now = time.monotonic()
            self.pause_s = max(self.pause_s, now - begun - 0.05)
            self._looks.append((now, self._server.cpu_ticks()))


class Filler:
    """Fills a range of keys, ascending or at random, and empties it in one of many ways; again and again."""

    def __init__(self, number: int, fill_bytes: int, tally: Tally, stop: threading.Event):
        self.number, self.fill_bytes, self.tally, self.stop = number, fill_bytes, tally, stop
        self.chance = random.Random(number)
        self.client = None
        self.ways = [self.evicted, self.expired, self.deleted, self.deleted_by_pages, self.deleted_at_once,
                     self.deleted_by_windows, self.deleted_by_batches, self.touched]

    def run(self, client: Connection) -> None:
        self.client = client
        turn = self.number
        while not self.stop.is_set():
            way = self.ways[turn % len(self.ways)]
            prefix = b"f%d-%d-" % (self.number, turn % 3)
            value = b"v" * self.chance.choice((10, 40, 100, 300))
            keys = [prefix + b"%08d" % i for i in range(self.fill_bytes // (len(value) + _BEYOND_BYTES))]
            if self.chance.random() < 0.5:
                self.chance.shuffle(keys)
            way(prefix, keys, value)
            self.tally.went(way.__name__)
            turn += 1

    def pipeline(self, requests: list) -> None:
        """Sends requests without replies, in parts, and waits for the end of each part."""
        for at in range(0, len(requests), _BATCH):
            if self.stop.is_set():
                return
            begun = time.monotonic()
            self.client.send(b"".join(requests[at:at + _BATCH]) + b"mn\r\n")
            line = self.client.line()
            assert line == b"MN", line
            self.tally.waited(begun)

    def ask(self, line: bytes) -> bytes:
        """Sends a line; the reply is the number of items that it changed."""
        begun = time.monotonic()
        reply = self.client.ask(line)
        self.tally.waited(begun)
        assert reply.startswith(b"HD A"), reply
        return reply

    def fill(self, keys: list, value: bytes, ttl=lambda: 0) -> None:
        self.pipeline([b"set %s 0 %d %d noreply\r\n%s\r\n" % (key, ttl(), len(value), value) for key in keys])
        self.tally.filled(len(keys) * (len(value) + _BEYOND_BYTES))

    def evicted(self, _prefix: bytes, keys: list, value: bytes) -> None:
        """Stores more than the memory limit, and deletes nothing."""
        for number in range(_EVICTED_FILLS):
            self.fill([b"%s-%d" % (key, number) for key in keys], value)

    def expired(self, _prefix: bytes, keys: list, value: bytes) -> None:
        self.fill(keys, value, lambda: 2)

    def touched(self, prefix: bytes, keys: list, value: bytes) -> None:
        """Gives the items times to live later, some of them short."""
        self.fill(keys, value, lambda: self.chance.randrange(1, _LONGEST_TTL_S))
        self.ask(b"mt %s p T2" % prefix)

    def deleted(self, _prefix: bytes, keys: list, value: bytes) -> None:
        """Deletes in key order, whatever the order of insertion was."""
        self.fill(keys, value)
        self.pipeline([b"delete %s noreply\r\n" % key for key in sorted(keys)])

    def deleted_by_pages(self, prefix: bytes, keys: list, value: bytes) -> None:
        self.fill(keys, value)
        cursor = None
        while not self.stop.is_set():
            line = self.ask(b"mx %s p" % prefix + (b" G" + cursor if cursor else b""))
            cursor = next((token[1:] for token in line.split() if token.startswith(b"G")), None)
            if cursor is None:
                return

    def deleted_at_once(self, prefix: bytes, keys: list, value: bytes) -> None:
        self.fill(keys, value)
        self.ask(b"mx %s p X" % prefix)

    def deleted_by_windows(self, _prefix: bytes, keys: list, value: bytes) -> None:
        self.fill(keys, value)
        edges = sorted(keys)[::_WINDOW]
        self.pipeline([b"mx %s H%s X q\r\n" % pair for pair in zip(edges, edges[1:])])

    def deleted_by_batches(self, _prefix: bytes, keys: list, value: bytes) -> None:
        self.fill(keys, value)
        keys = sorted(keys)
        for at in range(0, len(keys), _BATCH):
            if self.stop.is_set():
                return
            batch = keys[at:at + _BATCH]
            for _ in range(_BATCH_TRIES):
                if self.delete_batch(batch):
                    break
            else:
                raise AssertionError(f"a batch of deletes was refused {_BATCH_TRIES} times for lack of memory")

    def delete_batch(self, batch: list) -> bool:
        """False: the server refused the whole batch, because memory is full and eviction is behind."""
        begun = time.monotonic()
        self.client.send(b"mb %d\r\n" % len(batch) + b"".join(b"md %s\r\n" % key for key in batch))
        first = self.client.line()
        # A failed batch has one reply.
        answers = {first} | ({self.client.line() for _ in batch} if not first.startswith(b"EX ") else set())
        self.tally.waited(begun)
        if _NO_MEMORY.fullmatch(first):
            self.tally.went("refused_batch")
            return False
        assert answers <= {b"HD", b"NF"}, answers
        return True


class Probe:
    """Single keys, one pipeline at a time, in the ranges of all fillers; checks the form of each answer."""

    def __init__(self, number: int, fillers: int, tally: Tally, stop: threading.Event):
        self.fillers, self.tally, self.stop = fillers, tally, stop
        self.chance = random.Random(100 + number)

    def run(self, client: Connection) -> None:
        while not self.stop.is_set():
            key = b"f%d-%d-%08dp" % (self.chance.randrange(self.fillers), self.chance.randrange(3), self.chance.randrange(100_000))
            begun = time.monotonic()
            client.send(b"set %s 0 0 1\r\n1\r\ntouch %s 0\r\nget %s\r\ndelete %s\r\nget %s\r\n" % ((key,) * 5))
            answers = [client.line(), client.line()]
            found = client.records()
            answers.append(client.line())
            left = client.records()
            self.tally.waited(begun)
            # Between the two commands other clients may remove or evict the item.
            assert answers[0] == b"STORED" and answers[1] in (b"TOUCHED", b"NOT_FOUND"), answers
            assert found in ([], [(key, b"1", [0])]), found
            assert answers[2] in (b"DELETED", b"NOT_FOUND") and left == [], (answers, left)
            time.sleep(0.002)


def read_slowly(client: Connection, stop: threading.Event) -> None:
    """Requests one page at a time, and reads a little of it now and then."""
    start = b"-"
    while not stop.is_set():
        client.send(b"mr %s v A300\r\n" % start)
        page = b""
        while not re.search(rb"(^|\r\n)EN A.*\r\n$", page):
            if stop.wait(0.01):
                return
            part = client.socket.recv(2000)
            assert part, "closed in the middle of a page"
            page += part
        keys = re.findall(rb"^VA \d+ k(\S+)", page, re.MULTILINE)
        start = keys[-1] if len(keys) > 1 else b"-"


def read_nothing(port: int, stop: threading.Event) -> None:
    """Requests some hundred kilobytes once and does not read them; then it leaves, and the next client comes."""
    while not stop.is_set():
        client = Connection(port, timeout=LOST_S, receive_buffer=4096)
        try:
            client.send(b"mr - v A1000\r\nscan f 1000\r\n" + b"get f0-0-00000001\r\n" * 50)
            stop.wait(3)
        finally:
            client.close()
