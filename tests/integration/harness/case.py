"""The base of all cases: one server per class or test, connections that close themselves, bounds on resident memory."""

import unittest

from . import environment
from .connection import Connection
from .server import Options, Server


def mxkv_only(what: str):
    """Marks tests of features that memcached does not have, or has differently on purpose."""
    return unittest.skipIf(environment.IS_MEMCACHED, f"mxkv only: {what}")


class ServerCase(unittest.TestCase):
    """A subclass sets `options`. The server is stopped at the end of the class, and must then exit with 0."""
    options = Options()
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server(cls.options).start()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.stop()

    def connect(self, **arguments) -> Connection:
        connection = Connection(self.server.port, **arguments)
        self.addCleanup(connection.close)
        return connection

    def assert_serves(self) -> None:
        """A new client gets replies."""
        client = self.connect()
        self.assertEqual(client.set(b"serves", b"yes"), b"STORED")
        self.assertEqual(client.get(b"serves"), b"yes")
        client.close()

    def assert_rss_below(self, mib: float) -> None:
        """Bounds resident memory. A sanitizer's shadow memory hides it: then this only checks that the server lives."""
        rss = self.server.rss_bytes() / (1 << 20)
        if not environment.SANITIZED:
            self.assertLess(rss, mib, "resident MiB")


class OwnServerCase(ServerCase):
    """Each test has its own server, so a test cannot harm the next one."""

    @classmethod
    def setUpClass(cls) -> None:
        pass

    @classmethod
    def tearDownClass(cls) -> None:
        pass

    def setUp(self):
        self.server = Server(self.options).start()
        self.addCleanup(self.server.kill)
        self.client = self.connect()

    def tearDown(self):
        self.server.stop()
