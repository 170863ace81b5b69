"""memcached's binary protocol, raw: packets out, packets in. It checks only the framing that it reads."""

import dataclasses
import struct

from .connection import Connection

_HEADER_BYTES = 24

GET, SET, ADD, REPLACE, DELETE, INCR, DECR, QUIT, FLUSH, GETQ, NOOP, VERSION, GETK, GETKQ, APPEND, PREPEND, STAT = range(0x11)
SETQ, ADDQ, REPLACEQ, DELETEQ, INCRQ, DECRQ, QUITQ, FLUSHQ, APPENDQ, PREPENDQ, VERBOSITY, TOUCH, GAT, GATQ = range(0x11, 0x1f)
SASL_MECHANISMS, SASL_AUTH, SASL_STEP, GATK, GATKQ = range(0x20, 0x25)

OK, MISSING, EXISTS, TOO_LARGE, INVALID, NOT_STORED, NOT_A_NUMBER = range(7)
AUTH_ERROR, UNKNOWN, NO_MEMORY = 0x20, 0x81, 0x82

TEXTS = {MISSING: b"Not found", EXISTS: b"Data exists for key.", TOO_LARGE: b"Too large.", INVALID: b"Invalid arguments",
         NOT_STORED: b"Not stored.", NOT_A_NUMBER: b"Non-numeric server-side value for incr or decr",
         AUTH_ERROR: b"Auth failure.", UNKNOWN: b"Unknown command", NO_MEMORY: b"Out of memory"}


@dataclasses.dataclass(frozen=True)
class Reply:
    opcode: int
    status: int
    opaque: int
    cas: int
    extras: bytes
    key: bytes
    value: bytes

    @property
    def flags(self) -> int:
        return int.from_bytes(self.extras, "big")


def request(opcode: int, key: bytes = b"", value: bytes = b"", extras: bytes = b"", cas: int = 0, opaque: int = 0, *, magic: int = 0x80,
            key_bytes=None, extras_bytes=None, body_bytes=None, data_type: int = 0, bucket: int = 0) -> bytes:
    """The bytes of a request. A test may give the header's lengths, to make them wrong."""
    body = extras + key + value
    return struct.pack(">BBHBBHIIQ", magic, opcode, len(key) if key_bytes is None else key_bytes,
                       len(extras) if extras_bytes is None else extras_bytes, data_type, bucket,
                       len(body) if body_bytes is None else body_bytes, opaque, cas) + body


def store(opcode: int, key: bytes, value: bytes, flags: int = 0, exptime: int = 0, cas: int = 0, opaque: int = 0) -> bytes:
    """set, add, replace and their quiet forms."""
    return request(opcode, key, value, struct.pack(">II", flags, exptime), cas, opaque)


def count(opcode: int, key: bytes, delta: int = 1, initial: int = 0, exptime: int = 0xffffffff, cas: int = 0, opaque: int = 0) -> bytes:
    """increment, decrement; with another exptime they create a missing number."""
    return request(opcode, key, b"", struct.pack(">QQI", delta, initial, exptime), cas, opaque)


def touch(opcode: int, key: bytes, exptime: int, opaque: int = 0) -> bytes:
    return request(opcode, key, b"", struct.pack(">I", exptime), opaque=opaque)


def plain(user: str, password: str, who: str = "") -> bytes:
    return request(SASL_AUTH, b"PLAIN", f"{who}\0{user}\0{password}".encode())


def replies_in(data: bytes) -> list:
    """All replies of a stream, which must end with one."""
    found = []
    while data:
        assert len(data) >= _HEADER_BYTES, f"cut reply {data!r}"
        reply, used = _parse(data)
        assert len(data) >= used, f"cut reply {data!r}"
        found.append(reply)
        data = data[used:]
    return found


def _parse(data: bytes) -> tuple:
    magic, opcode, key, extras, data_type, status, body, opaque, cas = struct.unpack(">BBHBBHIIQ", data[:_HEADER_BYTES])
    assert magic == 0x81 and data_type == 0 and key + extras <= body, data[:_HEADER_BYTES]
    whole = data[_HEADER_BYTES:_HEADER_BYTES + body]
    return Reply(opcode, status, opaque, cas, whole[:extras], whole[extras:extras + key], whole[extras + key:]), _HEADER_BYTES + body


class BinaryConnection(Connection):
    def reply(self) -> Reply:
        header = self.exactly(_HEADER_BYTES)
        body = self.exactly(struct.unpack(">I", header[8:12])[0])
        return _parse(header + body)[0]

    def replies(self, how_many: int) -> list:
        return [self.reply() for _ in range(how_many)]

    def ask(self, packet: bytes) -> Reply:
        """One request that must have a reply."""
        self.send(packet)
        return self.reply()

    def until_noop(self, packets: bytes) -> list:
        """Sends the packets followed by a noop, and returns the replies before the noop's."""
        self.send(packets + request(NOOP, opaque=0xfeedbeef))
        found = []
        while (reply := self.reply()).opaque != 0xfeedbeef:
            found.append(reply)
        return found

    def stats(self, group: bytes = b"") -> dict:
        self.send(request(STAT, group))
        found = {}
        while (reply := self.reply()).key:
            assert reply.status == OK, reply
            found[reply.key.decode()] = reply.value.decode()
        assert reply.status == OK and not reply.value, reply
        return found
