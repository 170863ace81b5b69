"""Clients that make a server hold memory: they request much and read nothing, or send requests that never end. `Hoarders` are
many such clients; `Regular` is a well-behaved client that runs beside them."""

import resource
import select
import socket
import threading
import time

from harness.connection import Connection, block


def raise_descriptor_limit(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


def requests_of(kind: str, number: int) -> bytes:
    """The bytes that one hoarder sends."""
    if kind == "gets":
        return b"get large\r\n" * 1024
    if kind == "middle":
        return b"get middle\r\n" * 1024
    if kind == "batch":
        return b"mb 1000\r\n" + b"mg large v\r\n" * 1000
    if kind == "unfinished batch":
        return b"mb 1000\r\n" + b"mg a-key-that-is-not-there v\r\n" * 999
    if kind == "line":
        return b"get " + (b"k" * 200 + b" ") * 4900
    if kind == "value":
        return b"set half%d 0 0 1000000\r\n" % number + b"v" * 900_000
    if kind == "scan":
        return b"mr k v A1000\r\n" * 64
    if kind == "mgdump":
        return b"lru_crawler mgdump all\r\n"
    if kind == "metadump":
        return b"lru_crawler metadump all\r\n"
    raise ValueError(kind)


class Hoarders:
    """Connections to `port` that send all of their requests, as far as the server takes them, and read nothing."""

    def __init__(self, port: int, kind: str, count: int):
        raise_descriptor_limit(count + 200)
        self.sockets = []
        self._left = {}
        for number in range(count):
            one = socket.socket()
            # The client's kernel also buffers replies, outside the server's memory. Keep that buffer small, as over a wide area.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", port))
            one.setblocking(False)
            self.sockets.append(one)
            self._left[one] = memoryview(requests_of(kind, number))

    def send(self, quiet_s: float = 1.5, most_s: float = 10) -> None:
        """Sends until the server has closed each connection or taken all of its requests, or takes nothing for `quiet_s`.

        `quiet_s` exceeds the second after which the server closes a client that makes no progress, so that the room of closed
        clients goes to others first. Under load the hoarders may end early: then they hoard less, and no assertion fails.
        """
        begin = last = time.monotonic()
        while self._left and last - begin < most_s:
            _, ready, _ = select.select([], list(self._left)[:1000], [], quiet_s)
            if not ready:
                return
            last = time.monotonic()
            for one in ready:
                try:
                    self._left[one] = self._left[one][one.send(self._left[one]):]
                except BlockingIOError:
                    continue
                except OSError:  # closed by the server
                    del self._left[one]
                    continue
                if not self._left[one]:
                    del self._left[one]

    def leave(self) -> None:
        for one in self.sockets:
            one.close()
        self.sockets = []


class Regular(threading.Thread):
    """Reads and writes small items, one after the other, and records every wrong reply."""

    def __init__(self, port: int, keys: int, client: Connection = None):
        super().__init__(daemon=True)
        self.errors = []
        self.requests = 0
        self._keys = keys
        self._client = client or Connection(port, timeout=120)
        self._stopping = threading.Event()

    def run(self) -> None:
        number = 0
        try:
            while not self._stopping.is_set():
                number += 1
                key = b"k%06d" % (number * 7919 % self._keys)
                self._client.send(b"get %s\r\n" % key + block(b"set", b"own%d" % (number % 50), b"v" * 100))
                self._client.records()
                stored = self._client.line()
                if stored != b"STORED":
                    self.errors.append(stored)
                self.requests += 2
                time.sleep(0.002)
        except Exception as error:  # any error belongs into the test's report
            self.errors.append(error)

    def stop(self) -> None:
        self._stopping.set()
        self.join()
        self._client.close()


def resident_bytes(pid: int) -> int:
    """The anonymous resident memory of a process, without mapped files of programs and libraries."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    raise ValueError(f"process {pid} has no resident memory")


class Watch(threading.Thread):
    """Records the highest resident memory of a process."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.most_bytes = 0
        self._pid = pid
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.wait(0.02):
            try:
                self.most_bytes = max(self.most_bytes, resident_bytes(self._pid))
            except OSError:
                return

    def stop(self) -> int:
        self._stopping.set()
        self.join()
        return self.most_bytes
