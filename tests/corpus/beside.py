"""Two daemons get the same connections, one after the other: compares their answers, and the lines of their watchers.

Values that differ in each run are masked: uniques that the server minted, moments of the log, the age of the process. Uniques
that a client chose are not masked. Everything else is compared to the byte.
"""

import collections
import re
import socket
import time

from common import Connection, Options, Server, patience

SETTINGS = (("server.debug_time", "true"), ("limits.scan_time", "10s"), ("memory.when_full", "error"), ("stats.sample", "off"))
COUNTED = ("cmd_get", "cmd_set", "cmd_touch", "cmd_meta", "cmd_flush", "get_hits", "get_misses", "delete_hits", "delete_misses", "incr_hits",
           "incr_misses", "decr_hits", "decr_misses", "cas_hits", "cas_misses", "cas_badval", "touch_hits", "touch_misses", "total_items",
           "store_too_large", "store_no_memory", "curr_items")
SETTLED_S = 20
SWEPT_AFTER_S = 1000
_MASKS = (
    (re.compile(rb"(?<![0-9])(?:1[0-9]|[2-9])[0-9]{14}(?![0-9])"), b"#"),             # a minted unique: microseconds of the clock, or more
    (re.compile(rb"\bts=[0-9]+\.[0-9]+ gid=[0-9]+ "), b""),            # in a watcher's line
    (re.compile(rb"(?<![0-9])2[12][0-9]{8}(?![0-9])"), b"far"),        # seconds to a moment of the wall clock, which runs
    (re.compile(rb"(?<= )(l|la=)[0-9]+(?=[ \r])"), rb"\1#"),           # since the last access; without one the server derives it from the unique
    (re.compile(rb"\bcfd=[0-9]+"), b"cfd=#"),
    (re.compile(rb"(status=not_(?:found|stored)) .*"), rb"\1"),       # of an expired item that may be removed already
)


def masked(text: bytes) -> bytes:
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text


class Difference(AssertionError):
    """The answers of two daemons differ."""


def first_difference(one: bytes, other: bytes):
    """The place of the first difference, or None."""
    if one == other:
        return None
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


class Side:
    """One daemon, with a control connection and a watcher."""

    def __init__(self, name: str, port: int):
        self.name, self.port, self.heard = name, port, 0
        self.control = Connection(port)
        assert self.control.ask(b"debugtime p") == b"OK", f"{name} lets nobody stop its clock"
        self.watcher = Connection(port)
        assert self.watcher.ask(b"watch fetchers mutations deletions") == b"OK"

    def close(self) -> None:
        self.control.close()
        self.watcher.close()

    def clock(self) -> int:
        """The daemon's clock in seconds."""
        self.control.set(b"clock", b"", exptime=4_000_000_000)
        left = int(self.control.ask(b"mg clock t").split(b"t")[1])
        assert self.control.ask(b"delete clock") == b"DELETED"
        return 4_000_000_000 - left

    def move_clock(self, seconds: int) -> None:
        assert self.control.ask(b"debugtime %d" % seconds) == b"OK"

    def converse(self, pieces, pauses, last: bytes) -> bytes:
        """Sends the pieces, with pauses if `pauses` says so, half-closes, and returns everything received.

        `last`: the bytes at which the daemon may close, or nothing. They are sent when all earlier requests are answered,
        because bytes on their way to a closing socket cost the client its unread answers.
        """
        connection = Connection(self.port, patience(30))
        sock, said = connection.socket, bytearray()
        try:
            sock.setblocking(False)
            for piece, pause in zip(pieces, pauses):
                if not self._send(sock, memoryview(piece), said):
                    break
                if pause:
                    time.sleep(0.0003)
            if last:
                self._send(sock, memoryview(b"mg before-the-last k\r\n"), said)
                sock.settimeout(patience(30))
                while not said.endswith(b"EN kbefore-the-last\r\n") and (data := self._receive(sock)):
                    said += data
                self._send(sock, memoryview(last), said)
            try:
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass   # the daemon closed
            sock.settimeout(patience(30))
            while data := self._receive(sock):
                said += data
        finally:
            connection.close()
        return bytes(said)

    @staticmethod
    def _receive(sock) -> bytes:
        try:
            return sock.recv(1 << 18)
        except ConnectionResetError:
            return b""

    def _send(self, sock, rest, said) -> bool:
        """Sends bytes, and takes replies meanwhile, or both sides would wait. Returns False if the daemon has closed."""
        end = time.monotonic() + patience(30)
        while rest:
            try:
                rest = rest[sock.send(rest):]
                continue
            except BlockingIOError:
                pass
            except OSError:
                return False
            try:
                said += sock.recv(1 << 18)
            except BlockingIOError:
                time.sleep(0.0002)
            except OSError:
                return False
            if time.monotonic() > end:
                raise Difference(f"{self.name} takes nothing more")
        return True

    def watched(self) -> bytes:
        """The watcher's lines since the last call, by key: requests for different keys may end in any order."""
        self.heard += 1
        mark = b"watched-%d" % self.heard
        self.control.send(b"mg %s k\r\n" % mark)
        self.control.line()
        lines = bytearray()
        while not (lines.endswith(b"\n") and b"key=%s " % mark in lines):
            lines += self._some()
        return b"".join(sorted(lines.splitlines(True), key=lambda line: line[line.index(b"key="):].split(b" ")[0]))

    def _some(self) -> bytes:
        data = self.watcher.socket.recv(1 << 18)
        assert data, f"{self.name} ended its watcher"
        return data

    def counted(self) -> dict:
        stats = self.control.stats()
        return {name: stats.get(name) for name in COUNTED}


class Comparison:
    """Sends the connections of a generator to both daemons. `requests`: the number of requests by command."""

    def __init__(self, generator, new_port: int, old_port: int):
        self.generator = generator
        self.sides = [Side("the new daemon", new_port), Side("the old daemon", old_port)]
        clocks = [side.clock() for side in self.sides]
        for side, clock in zip(self.sides, clocks):
            side.move_clock(max(clocks) - clock)
        self.requests = collections.Counter()
        self.connections = self.bytes = 0

    def close(self) -> None:
        for side in self.sides:
            side.close()

    def run(self, requests: int) -> None:
        """Compares connections until so many requests were sent. Raises Difference, with the earlier requests, at the first
        difference.
        """
        while sum(self.requests.values()) < requests:
            self.one_connection(self.generator.chance.choice((1, 5, 20, 100, 100, 300)))
        # Expired items are counted until a request or a sweep removes them. Sweeps follow the clocks, which stand still:
        # after this move the next sweep, of every leaf, is due at both.
        for side in self.sides:
            side.move_clock(SWEPT_AFTER_S)
        until = time.monotonic() + SETTLED_S
        while (counted := [side.counted() for side in self.sides])[0] != counted[1] and time.monotonic() < until:
            time.sleep(0.1)
        if counted[0] != counted[1]:
            names = [name for name in COUNTED if counted[0][name] != counted[1][name]]
            raise Difference("stats differ: " + ", ".join(f"{name} {counted[0][name]}, old {counted[1][name]}" for name in names))

    def one_connection(self, most: int) -> None:
        asked = self.generator.connection(most)
        if self.generator.flip(0.2):
            seconds = self.generator.one((1, 1, 90, 1000))
            for side in self.sides:
                side.move_clock(seconds)
        last = asked[-1].wire if asked[-1].last else b""
        pieces = self.generator.pieces(b"".join(request.wire for request in asked if not request.last))
        pauses = [self.generator.flip(0.3) for _ in pieces]
        self.connections += 1
        self.requests.update(request.verb for request in asked)
        said = [masked(side.converse(pieces, pauses, last)) for side in self.sides]
        self.bytes += len(said[0])
        self._judge("said", asked, *said)
        self._judge("told its watcher", asked, *[masked(side.watched()) for side in self.sides])

    def _judge(self, what: str, asked, new: bytes, old: bytes) -> None:
        at = first_difference(new, old)
        if at is None:
            return
        before = new[:at].count(b"\n")
        sent = "".join(f"  {i:5} {request.wire[:100]!r}\n" for i, request in enumerate(asked))
        begin = max(0, at - 400)
        raise Difference(
            f"connection {self.connections}, line {before} of what was {what} differs at byte {at}\nsent:\n{sent}"
            f"before: {new[begin:at]!r}\nnew:    {new[at:at + 200]!r}\nold:    {old[at:at + 200]!r}")


def start(program: str, workers: int) -> Server:
    """A daemon with a clock that can be stopped."""
    class Named(Options):
        def command(self, port):
            return [program, *super().command(port)[1:]]
    return Server(Named(workers=workers, memory_mib=512, settings=SETTINGS, memcached=False)).start()
