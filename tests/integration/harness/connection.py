"""A raw client connection: bytes out, bytes in, and the few helpers that every test needs.

It checks only the framing that it reads. A reply that does not come in time raises TimeoutError; a stream that ends in the
middle of a reply raises Closed. Two threads must not use a connection at once.
"""

import socket
import struct

from .environment import patience


class Closed(ConnectionError):
    """The server ended the connection in the middle of a reply."""


class Connection:
    def __init__(self, where, timeout: float = 20, receive_buffer: int = 0, tls=None):
        """`where` is a port of 127.0.0.1, an (address, port) pair, or the path of a unix socket; `tls`: an ssl.SSLContext."""
        if isinstance(where, int):
            where = ("127.0.0.1", where)
        self._local = not isinstance(where, tuple)
        self.socket = socket.socket(socket.AF_UNIX if self._local else
                                    socket.AF_INET6 if ":" in where[0] else socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience(timeout))
        try:
            self.socket.connect(str(where) if self._local else where)
            if tls is not None:
                self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        except OSError:
            self.socket.close()
            raise
        if not self._local:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()

    def close(self) -> None:
        self.socket.close()

    def reset(self) -> None:
        """Closes with RST, as a crashed client or a cut network does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def finish_sending(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)

    def _fill(self) -> None:
        data = self.socket.recv(1 << 18)
        if not data:
            raise Closed(f"closed with {bytes(self._buffer[:200])!r} unread")
        self._buffer += data

    def line(self) -> bytes:
        """The next line without its CR LF."""
        start = 0
        while (end := self._buffer.find(b"\r\n", start)) < 0:
            start = max(0, len(self._buffer) - 1)
            self._fill()
        taken = bytes(self._buffer[:end])
        del self._buffer[:end + 2]
        return taken

    def exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._fill()
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def rest(self) -> bytes:
        """All bytes until the server closes. A reset counts as the end."""
        try:
            while True:
                self._fill()
        except (Closed, ConnectionResetError):
            pass
        taken = bytes(self._buffer)
        self._buffer.clear()
        return taken

    def ask(self, command: bytes) -> bytes:
        """Sends one command (CR LF is added) and returns its one-line reply."""
        self.send(command + b"\r\n")
        return self.line()

    def store(self, verb: bytes, key: bytes, value: bytes, flags: int = 0, exptime: int = 0, tail: bytes = b"") -> bytes:
        return self.ask(block(verb, key, value, flags, exptime, tail)[:-2])

    def set(self, key: bytes, value: bytes, flags: int = 0, exptime: int = 0) -> bytes:
        return self.store(b"set", key, value, flags, exptime)

    def store_all(self, keys, size: int) -> None:
        """Stores values `padded(key, size)`, which contain their keys; fails if the server refuses one."""
        keys = list(keys)
        for at in range(0, len(keys), 500):
            batch = keys[at:at + 500]
            self.send(b"".join(block(b"set", key, padded(key, size)) for key in batch))
            replies = {self.line() for _ in batch}
            assert replies == {b"STORED"}, replies

    def records(self, command: bytes = b"") -> list:
        """Sends a retrieval or scan (nothing if empty) and reads to END: a list of (key, value, fields after the size).

        KEY lines come as (key, None, []), a CURSOR line as ("CURSOR", its text, []); an error line raises.
        """
        if command:
            self.send(command + b"\r\n")
        found = []
        while (line := self.line()) != b"END":
            word, *fields = line.split(b" ")
            if word == b"VALUE":
                value = self.exactly(int(fields[2]) + 2)
                assert value.endswith(b"\r\n"), f"no CR LF after the value of {fields[0]!r}"
                found.append((fields[0], value[:-2], [int(fields[1])] + [int(f) for f in fields[3:]]))
            elif word == b"KEY":
                found.append((fields[0], None, []))
            elif word == b"CURSOR":
                found.append(("CURSOR", fields[0], []))
            else:
                raise AssertionError(f"{line!r} in reply to {command[:100]!r}")
        return found

    def present(self, keys) -> set:
        """The keys that are there."""
        return {key for at in range(0, len(keys), 100) for key, *_ in self.records(b"get " + b" ".join(keys[at:at + 100]))}

    def get(self, key: bytes):
        """The value, or None on a miss."""
        found = self.records(b"get " + key)
        return found[0][1] if found else None

    def gets(self, key: bytes):
        """(value, flags, cas), or None on a miss."""
        found = self.records(b"gets " + key)
        return (found[0][1], *found[0][2]) if found else None

    def stats(self, group: bytes = b"") -> dict:
        """`stats` or one of its groups, as text by name."""
        self.send(b"stats" + (b" " + group if group else b"") + b"\r\n")
        result = {}
        while (line := self.line()) != b"END":
            word, name, value = (line.decode() + " ").split(" ", 2)
            assert word == "STAT", line
            result[name] = value.strip()
        return result


def padded(key: bytes, size: int) -> bytes:
    """A value of `size` bytes that begins with its key."""
    return key.ljust(size, b"+")


def block(verb: bytes, key: bytes, value: bytes, flags: int = 0, exptime: int = 0, tail: bytes = b"") -> bytes:
    """The bytes of one storage command; `tail` is a cas unique or noreply."""
    extra = b" " + tail if tail else b""
    return b"%s %s %d %d %d%s\r\n%s\r\n" % (verb, key, flags, exptime, len(value), extra, value)


def converse(port: int, pieces) -> bytes:
    """Sends each piece in one write, half-closes, and returns all bytes up to the server's close."""
    connection = Connection(port)
    try:
        for piece in pieces:
            connection.send(piece)
        connection.finish_sending()
        return connection.rest()
    finally:
        connection.close()
