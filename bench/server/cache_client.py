"""Requests for caches: keys by rank, and a client that asks for many at once and stores what it did not find."""
import itertools
import socket
import sys

import peers

BATCH = 100
VALUE = b"v" * peers.VALUE_BYTES


class Zipf:
    """Ranks below `count`, rank r with a weight of 1 / (r + 1) ** theta; scattered over the key space."""

    def __init__(self, count, theta, chance):
        self.chance = chance
        self.keys = list(range(count))
        chance.shuffle(self.keys)
        self.weights = list(itertools.accumulate(1 / rank ** theta for rank in range(1, count + 1)))

    def draw(self, count):
        return self.chance.choices(self.keys, cum_weights=self.weights, k=count)


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def get(self, keys):
        """The keys that were there."""
        self.socket.sendall(b"get " + b" ".join(keys) + b"\r\n")
        received = bytearray()
        while not received.endswith(b"END\r\n"):
            part = self.socket.recv(1 << 18)
            if not part:
                sys.exit("the server closed the connection")
            received += part
        return {line.split(b" ", 2)[1] for line in bytes(received).split(b"\r\n") if line.startswith(b"VALUE ")}

    def set(self, keys):
        self.socket.sendall(b"".join(b"set %s 0 0 %d noreply\r\n%s\r\n" % (key, len(VALUE), VALUE) for key in keys))
