"""Small clients that know the outcome of each request: done, known not to have been done, or unknown.

`Memcached` speaks text and meta commands to mxkvd, `RedisCluster` speaks RESP to Redis Cluster and follows MOVED. Each
call returns an Answer and raises nothing; it closes a connection in doubt, and the next call opens another. A `Writer` writes
to mxkvd until the test ends it.
"""

import dataclasses
import random
import socket
import threading
import zlib

# mxkvd's errors after which nothing was done; after any other error the outcome is unknown.
KNOWN_NOT_DONE = (b"SERVER_ERROR not stored", b"SERVER_ERROR moved", b"SERVER_ERROR not here", b"SERVER_ERROR stale",
                  b"SERVER_ERROR out of memory", b"SERVER_ERROR busy")


@dataclasses.dataclass
class Answer:
    outcome: str  # ok, failed: known not to have been done, unknown
    result: str = ""  # done, missing, exists
    number: int | None = None
    unique: int = 0
    text: str = ""  # the error, if the outcome is not ok


class Line:
    """A connection that reads lines and blocks."""

    def __init__(self, address: tuple, timeout: float) -> None:
        self.socket = socket.create_connection(address, timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("closed by the server")
        self.buffer += data

    def line(self) -> bytes:
        while b"\r\n" not in self.buffer:
            self.more()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def block(self, size: int) -> bytes:
        while len(self.buffer) < size + 2:
            self.more()
        block, self.buffer = self.buffer[:size], self.buffer[size + 2:]
        return block

    def close(self) -> None:
        self.socket.close()


class Memcached:
    """Talks to one of several nodes, and to the next one after each error. Half of the requests are meta commands."""

    def __init__(self, addresses: list, first: int = 0, timeout: float = 3.0, seed: int = 0) -> None:
        self.addresses = addresses
        self.at = first % len(addresses)
        self.timeout = timeout
        self.dice = random.Random(seed)
        self.connection = None

    @property
    def address(self) -> tuple:
        return self.addresses[self.at]

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def go_on(self) -> None:
        self.close()
        self.at = (self.at + 1) % len(self.addresses)

    def ask(self, request: bytes, understand) -> Answer:
        if self.connection is None:
            try:
                self.connection = Line(self.address, self.timeout)
            except OSError as error:
                self.go_on()
                return Answer("failed", text=f"not connected: {error}")
        where = self.address
        try:
            self.connection.send(request)
            line = self.connection.line()
            answer = understand(line)
        except OSError as error:
            self.go_on()
            return Answer("unknown", text=f"{where[0]}: {error or type(error).__name__}")
        if answer is not None:
            return answer
        if line.startswith(KNOWN_NOT_DONE) or line.endswith((b" has no owner", b" cannot be reached")):
            return Answer("failed", text=line.decode())
        self.close()
        return Answer("unknown", text=line.decode())

    def get(self, key: str) -> Answer:
        if self.dice.random() < 0.5:
            return self.ask(f"mg {key} v c\r\n".encode(), self.meta)
        return self.ask(f"gets {key}\r\n".encode(), self.value)

    def set(self, key: str, number: int) -> Answer:
        if self.dice.random() < 0.5:
            return self.ask(f"ms {key} {len(str(number))} c\r\n{number}\r\n".encode(), self.meta)
        return self.ask(f"set {key} 0 0 {len(str(number))}\r\n{number}\r\n".encode(), self.text)

    def cas(self, key: str, number: int, unique: int) -> Answer:
        if self.dice.random() < 0.5:
            return self.ask(f"ms {key} {len(str(number))} C{unique} c\r\n{number}\r\n".encode(), self.meta)
        return self.ask(f"cas {key} 0 0 {len(str(number))} {unique}\r\n{number}\r\n".encode(), self.text)

    def incr(self, key: str, by: int) -> Answer:
        if self.dice.random() < 0.5:
            return self.ask(f"ma {key} D{by} v c\r\n".encode(), self.meta)
        return self.ask(f"incr {key} {by}\r\n".encode(), self.text)

    def delete(self, key: str) -> Answer:
        return self.ask((f"md {key}\r\n" if self.dice.random() < 0.5 else f"delete {key}\r\n").encode(), self.text)

    def meta(self, line: bytes) -> Answer | None:
        words = line.split()
        if words and words[0] in (b"VA", b"HD"):
            unique = next((int(word[1:]) for word in words[1:] if word[:1] == b"c"), 0)
            return Answer("ok", "done", int(self.connection.block(int(words[1]))) if words[0] == b"VA" else None, unique)
        return self.text(line.split(b" ")[0] if line.startswith((b"NF ", b"EX ")) else line)

    def value(self, line: bytes) -> Answer | None:
        if line == b"END":
            return Answer("ok", "missing")
        words = line.split()
        if not words or words[0] != b"VALUE":
            return None
        number = int(self.connection.block(int(words[3])))
        if (end := self.connection.line()) != b"END":
            raise ConnectionError(f"END was due, not {end!r}")
        return Answer("ok", "done", number, int(words[4]))

    @staticmethod
    def text(line: bytes) -> Answer | None:
        if line.isdigit():
            return Answer("ok", "done", int(line))
        results = {b"STORED": "done", b"DELETED": "done", b"HD": "done", b"NOT_FOUND": "missing", b"NF": "missing",
                   b"EN": "missing", b"EXISTS": "exists", b"EX": "exists"}
        return Answer("ok", results[line]) if line in results else None


class Writer(threading.Thread):
    """Writes each key once, to one node and after an error to the next, and keeps the acknowledged ones."""

    def __init__(self, number: int, addresses: list, letters: str, patience_s: float) -> None:
        """`letters`: keys begin with each of them in turn, as one of each shard."""
        super().__init__(daemon=True)
        self.number = number
        self.letters = letters
        self.connection = Memcached(addresses, first=number, timeout=patience_s, seed=number)
        self.over = threading.Event()
        self.acknowledged = {}
        self.errors = []  # replies of servers; a connection that a node closes when it ends is none

    def run(self) -> None:
        written = 0
        while not self.over.wait(0.01):
            written += 1
            key = f"{self.letters[written % len(self.letters)]}.{self.number}.{written}"
            answer = self.connection.set(key, written)
            if answer.outcome == "ok":
                self.acknowledged[key] = written
            elif "ERROR" in answer.text:
                self.errors.append(answer.text)
        self.connection.close()


def hash_slot(key: str) -> int:
    """A key's slot in Redis Cluster; the keys of these tests have no {}."""
    return crc16(key.encode()) % 16384


def crc16(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021) & 0xFFFF if crc & 0x8000 else crc << 1
    return crc


class RedisCluster:
    """Asks the master of a key's slot, as far as it knows it, and follows MOVED."""

    def __init__(self, addresses: list, first: int = 0, timeout: float = 1.0, seed: int = 0) -> None:
        self.addresses = addresses
        self.timeout = timeout
        self.dice = random.Random(zlib.crc32(f"{first} {seed}".encode()))
        self.owners = {}
        self.connections = {}

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()
        self.connections = {}

    def command(self, key: str, *words) -> Answer:
        slot = hash_slot(key)
        address = self.owners.get(slot) or self.dice.choice(self.addresses)
        for _ in range(5):
            answer, moved = self.command_at(address, words)
            if moved is None:
                if answer.outcome == "ok":
                    self.owners[slot] = address
                else:
                    self.owners.pop(slot, None)
                return answer
            address = moved
        return Answer("failed", text="sent from node to node")

    def command_at(self, address: tuple, words: tuple) -> tuple:
        try:
            if address not in self.connections:
                self.connections[address] = Line(address, self.timeout)
        except OSError as error:
            return Answer("failed", text=f"not connected: {error}"), None
        connection = self.connections[address]
        parts = "".join(f"${len(str(word))}\r\n{word}\r\n" for word in words)
        try:
            connection.send(f"*{len(words)}\r\n{parts}".encode())
            line = connection.line()
            body = connection.block(int(line[1:])) if line[:1] == b"$" and line != b"$-1" else None
        except OSError as error:
            self.connections.pop(address).close()
            return Answer("unknown", text=f"{address}: {error or type(error).__name__}"), None
        if line.startswith(b"-MOVED "):
            host, _, port = line.split()[2].decode().rpartition(":")
            return None, (host, int(port))
        if line[:1] == b"-":
            return Answer("failed", text=line.decode()), None
        if line == b"$-1":
            return Answer("ok", "missing"), None
        number = int(body) if body is not None else int(line[1:]) if line[:1] == b":" else None
        return Answer("ok", "done", number), None

    def get(self, key: str) -> Answer:
        return self.command(key, "GET", key)

    def set(self, key: str, number: int) -> Answer:
        return self.command(key, "SET", key, number)

    def delete(self, key: str) -> Answer:
        answer = self.command(key, "DEL", key)
        return Answer("ok", "done" if answer.number else "missing") if answer.outcome == "ok" else answer
