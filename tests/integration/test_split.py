"""The places where a stream is cut into writes do not change the replies."""

import array
import fcntl
import random
import socket
import termios
import time

from harness import Connection, ServerCase, scaled
from harness.connection import block, converse

_STREAM = b"".join([
    block(b"set", b"alpha", b"one\r\ntwo", flags=7),
    b"get alpha absent alpha\r\n",
    block(b"add", b"alpha", b"x") + block(b"append", b"alpha", b"+", tail=b"noreply"),
    b"get  alpha \n",
    block(b"set", b"empty", b""),
    b"bogus line\r\n",
    b"set alpha x 0 -1\r\n",
    b"set alpha 0 0 3\r\nabcde" + b"\r\n",
    b"delete alpha\r\ndelete alpha noreply\r\nget alpha empty\r\n",
    block(b"set", b"n", b"9") + b"incr n 1\r\ndecr n 100\r\n",
    block(b"set", b"crlf", b"\r\n\r\n") + b"get crlf\r\ntouch crlf 0\r\ngat 0 crlf\r\n",
    b"delete crlf\r\ndelete n\r\ndelete empty\r\n",
])


class SplitTest(ServerCase):
    """The stream restores the state that it began with, so a test can send it again and again."""

    def setUp(self):
        converse(self.server.port, [_STREAM])
        self.expected = converse(self.server.port, [_STREAM])
        self.assertTrue(self.expected.endswith(b"DELETED\r\n" * 3), self.expected)

    def test_byte_by_byte(self):
        pieces = [_STREAM[i:i + 1] for i in range(len(_STREAM))]
        self.assertEqual(converse(self.server.port, pieces), self.expected)

    def test_byte_by_byte_each_a_packet_of_its_own(self):
        connection = self.connect()
        for i in range(len(_STREAM)):
            connection.send(_STREAM[i:i + 1])
            time.sleep(0.0005)
        connection.finish_sending()
        self.assertEqual(connection.rest(), self.expected)

    def test_every_split_into_two(self):
        for cut in range(1, len(_STREAM)):
            connection = Connection(self.server.port)
            connection.send(_STREAM[:cut])
            # The server must see the first part alone before the second one is sent, or the stream is not split.
            self.wait_consumed(connection)
            connection.send(_STREAM[cut:])
            connection.finish_sending()
            self.assertEqual(connection.rest(), self.expected, f"cut at {cut}: {_STREAM[max(0, cut - 20):cut]!r}")
            connection.close()

    @staticmethod
    def wait_consumed(connection):
        # 0 once the peer's kernel has taken all bytes. Wait a moment more, so that its process reads them.
        deadline = time.monotonic() + 1
        while unsent(connection.socket) and time.monotonic() < deadline:
            time.sleep(0.0002)
        time.sleep(0.0005)

    def test_random_pieces(self):
        chance = random.Random(11)
        for round_number in range(scaled(60, 10)):
            pieces, at = [], 0
            while at < len(_STREAM):
                length = chance.choice((1, 2, 3, 10, 50))
                pieces.append(_STREAM[at:at + length])
                at += length
            self.assertEqual(converse(self.server.port, pieces), self.expected, f"round {round_number}")

    def test_large_value_in_pieces_of_odd_length(self):
        value = bytes(range(256)) * 2000
        stream = block(b"set", b"large", value) + b"get large\r\n"
        for step in (997, 16383, 65537):
            received = converse(self.server.port, [stream[i:i + step] for i in range(0, len(stream), step)])
            self.assertTrue(received == b"STORED\r\nVALUE large 0 %d\r\n%s\r\nEND\r\n" % (len(value), value), step)

    def test_long_multi_get_in_pieces(self):
        keys = [b"key%d" % i for i in range(20000)]
        stream = block(b"set", b"key777", b"v") + b"get " + b" ".join(keys) + b"\r\n"
        for step in (1000, 4099):
            received = converse(self.server.port, [stream[i:i + step] for i in range(0, len(stream), step)])
            self.assertEqual(received, b"STORED\r\nVALUE key777 0 1\r\nv\r\nEND\r\n")


def unsent(sock: socket.socket) -> int:
    """Bytes that the peer's kernel has not taken yet (SIOCOUTQ)."""
    count = array.array("i", [0])
    fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, count)
    return count[0]
