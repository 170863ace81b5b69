"""Shared by the tests of the binary protocol."""

from harness import ServerCase
from harness.binary import FLUSH, GET, OK, TEXTS, BinaryConnection, request


class BinaryCase(ServerCase):
    def setUp(self):
        self.client = self.dial()
        self.assertEqual(self.client.ask(request(FLUSH)).status, OK)

    def dial(self, **arguments) -> BinaryConnection:
        client = BinaryConnection(self.server.port, **arguments)
        self.addCleanup(client.close)
        return client

    def assert_says(self, reply, status: int) -> None:
        """An error, in memcached's words."""
        self.assertEqual((reply.status, reply.value, reply.key, reply.extras, reply.cas), (status, TEXTS[status], b"", b"", 0))

    def assert_done(self, reply) -> int:
        self.assertEqual((reply.status, reply.value, reply.key, reply.extras), (OK, b"", b"", b""))
        return reply.cas

    def assert_closes(self, client) -> None:
        self.assertEqual(client.rest(), b"")

    def value(self, key: bytes) -> bytes:
        return self.client.ask(request(GET, key)).value
