"""One connection that is fuzzed: sends a whole pipeline, takes all its answers as bytes, and compares them with the model's."""

import base64
import collections
import selectors
import time

from common import Closed, Connection, patience
from replies import Mismatch, first_difference, match_all, shown

ANSWER_TIME = 20              # seconds until a pipeline counts as hanging; only ever an upper bound


class Failure(AssertionError):
    """An answer that no sequential server gives, to the request `number` of a client, or with `closed` the end of the connection."""

    def __init__(self, text, client=None, number=0, closed=False):
        super().__init__(text)
        self.client, self.number, self.closed = client, number, closed


class Client:
    def __init__(self, port: int, generator=None, name=""):
        self.port, self.generator, self.name = port, generator, name
        self.connection = Connection(port)
        self.socket = self.connection.socket
        self.ops, self.expected = [], []
        self.history = collections.deque(maxlen=20_000)       # answered requests of earlier rounds
        self._rounds = 0

    def close(self) -> None:
        self.connection.close()

    def reconnect(self) -> None:
        self.close()
        self.connection = Connection(self.port)
        self.socket = self.connection.socket

    def plan(self, length: int) -> None:
        self.set_plan(*self.generator.pipeline(length))

    def weave(self, chance, requests) -> None:
        """Adds pairs (Op, expected reply), in their order, somewhere among the others; some of them in one piece."""
        begin = chance.randrange(len(self.ops) + 1)
        last = begin if chance.random() < 0.5 else len(self.ops)
        places = sorted(chance.randint(begin, last) for _ in requests)
        for place, (op, expected) in reversed(list(zip(places, requests))):
            self.ops.insert(place, op)
            self.expected.insert(place, expected)
        self._set_wire()

    def set_plan(self, ops, expected) -> None:
        self.history.extend(zip(self.ops, self.expected))
        self.ops, self.expected = ops, expected
        self._rounds += 1
        self._set_wire()

    def _set_wire(self) -> None:
        last = b"%s%d" % (self.name.encode(), self._rounds)
        # The first of these waits for all requests before it, noreply or not, so other clients see their effects afterwards.
        self.last = b"OK\r\nEN O%s\r\n" % last
        self.outgoing = memoryview(b"".join(op.wire for op in self.ops) + b"verbosity 0\r\nmg no-such-key O%s\r\n" % last)
        self.received = bytearray()

    def done(self) -> bool:
        return self.received.endswith(self.last)

    def step(self, readable: bool, writable: bool) -> None:
        if writable and self.outgoing:
            try:
                self.outgoing = self.outgoing[self.socket.send(self.outgoing[:1 << 17]):]
            except BlockingIOError:
                pass
        if readable:
            data = self.socket.recv(1 << 20)
            if not data:
                raise Closed("closed")
            self.received += data

    def check(self) -> None:
        received = bytes(self.received)
        try:
            match_all(self.expected, received[:len(received) - len(self.last)])
        except Mismatch as found:
            raise Failure(self._tell(found.number, received, found.at), self, found.number) from None

    def asked_before(self, key: bytes, most: int) -> list:
        """The last requests that name a key, with the expected replies."""
        names = (key, base64.b64encode(key))
        asked = [pair for pair in [*self.history, *zip(self.ops, self.expected)] if key and any(name in pair[0].wire for name in names)]
        return [f"  {op.wire[:160]!r} -> {shown(reply)[:160]}" for op, reply in asked[-most:]]

    def _tell(self, number: int, received: bytes, at: int) -> str:
        lines = [f"client {self.name}: request {number} of {len(self.ops)} was answered as no sequential server does"]
        if number < len(self.ops):
            op = self.ops[number]
            same = [i for i in range(number) if op.key and op.key in self.ops[i].wire][-8:]
            for i in sorted({*same, *range(max(0, number - 12), number)}):
                lines.append(f"  {i:5} {self.ops[i].wire[:160]!r} -> {shown(self.expected[i])[:160]}")
            lines += [f"> {number:5} {op.wire[:400]!r}", f"  expected {shown(self.expected[number])}",
                      f"  differs {first_difference(self.expected[number], received, at)}"]
        lines.append(f"  got      {received[at:at + 400]!r}")
        return "\n".join(lines)


def run_all(clients) -> None:
    """Sends all pipelines at once; raises Failure if one is not answered in time."""
    waiting = {client.socket: client for client in clients}
    with selectors.DefaultSelector() as selector:
        for client in clients:
            client.socket.setblocking(False)
            selector.register(client.socket, selectors.EVENT_READ | selectors.EVENT_WRITE)
        deadline = time.monotonic() + patience(ANSWER_TIME)
        while waiting:
            for key, events in selector.select(1):
                client = waiting[key.fileobj]
                try:
                    client.step(events & selectors.EVENT_READ, events & selectors.EVENT_WRITE)
                except ConnectionError as error:
                    raise Failure(f"client {client.name}: {error!r}, {len(client.received)} bytes received, "
                                  f"the last {bytes(client.received[-200:])!r}", client, -1, True) from None
                if client.done():
                    selector.unregister(client.socket)
                    del waiting[client.socket]
                elif not client.outgoing:
                    selector.modify(client.socket, selectors.EVENT_READ)
            if time.monotonic() > deadline:
                raise Failure("\n".join(_hangs(client) for client in waiting.values()), next(iter(waiting.values())), -1)


def _hangs(client) -> str:
    """The failure of an unfinished pipeline: its right answers show which request was not answered."""
    try:
        match_all(client.expected, bytes(client.received))
    except Mismatch as found:
        return f"client {client.name}: no answer in time\n" + client._tell(found.number, bytes(client.received), found.at)
    return f"client {client.name}: no answer in time"
