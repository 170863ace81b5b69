"""Tests of TLS: certificates, servers with listeners of several kinds, and a client whose TLS records the test can handle."""

import contextlib
import select
import socket
import ssl
import tempfile
from pathlib import Path

from .certificates import Authority
from .connection import Closed, block
from .daemon import DaemonCase, wait_for
from .environment import patience


class Records:
    """A client whose TLS records the test handles: `wire` is the socket, `take()` returns the bytes to send on it."""

    def __init__(self, port: int, context: ssl.SSLContext):
        self.wire = socket.create_connection(("127.0.0.1", port), timeout=patience(20))
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._come, self._go = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._come, self._go, server_hostname="localhost")

    def take(self) -> bytes:
        return self._go.read()

    def hello(self) -> bytes:
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self.take()

    def shake_hands(self, part: int = 1 << 20) -> None:
        while True:
            try:
                self.tls.do_handshake()
                self.drip(self.take(), part)
                return
            except ssl.SSLWantReadError:
                self.drip(self.take(), part)
                self._feed()

    def drip(self, data: bytes, part: int) -> None:
        for at in range(0, len(data), part):
            self.wire.sendall(data[at:at + part])

    def _feed(self) -> None:
        data = self.wire.recv(1 << 16)
        if not data:
            raise Closed("closed")
        self._come.write(data)

    def send(self, data: bytes, part: int = 1 << 20) -> None:
        self.tls.write(data)
        self.drip(self.take(), part)

    def read(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            try:
                more = self.tls.read(count - len(found))
                if not more:
                    break
                found += more
            except ssl.SSLWantReadError:
                self._feed()
            except ssl.SSLZeroReturnError:
                break
        return found

    def say_end(self) -> None:
        """Tells the server that nothing more comes; the client can still read."""
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        self.drip(self.take(), 1 << 20)


class TlsCase(DaemonCase):
    """Makes certificates once per class, because that takes a while."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="mxkvd-tls")
        cls.addClassCleanup(directory.cleanup)
        cls.files = Path(directory.name)
        cls.root = Authority(cls.files)
        cls.server, cls.key = cls.root.sign("server")

    def serve(self, more: str = "", tls: str = "", listeners: str = "", **options) -> None:
        """One listener with TLS, then one without."""
        self.write_config(f"listeners:\n  - {{port: 0, tls: {{certificate: {self.server}, key: {self.key}{tls}}}}}\n"
                          f"  - {{port: 0}}\n{listeners}{more}")
        self.start(listen=(), wait="listening on 127.0.0.1", **options)
        wait_for(lambda: len(self.ports()) >= 2, "both listeners")

    def context(self, certificate=None, oldest=None, newest=None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.root.file)
        if certificate is not None:
            context.load_cert_chain(*certificate)
        if oldest is not None:
            context.minimum_version = oldest
        if newest is not None:
            context.maximum_version = newest
        return context

    def secure(self, where=None, context=None, **options):
        return self.client(where, tls=context or self.context(), **options)

    def records(self, **options) -> Records:
        made = Records(self.ports()[0], self.context(**options))
        self.addCleanup(made.wire.close)
        return made

    def ask_many(self, value: bytes, count: int) -> None:
        """Sets and gets in one pipeline; one thread sends and reads in turns, because two threads cannot share a TLS session."""
        wire = self.secure().socket
        wire.setblocking(False)
        values = [(b"k%d" % i, value + b"%d" % i) for i in range(count)]
        asked = memoryview(b"".join(block(b"set", key, one) + b"get %s\r\n" % key for key, one in values))
        answers = b"".join(b"STORED\r\nVALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(one), one) for key, one in values)
        got = bytearray()
        while len(got) < len(answers):
            moved = False
            with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                came = wire.recv(1 << 18)
                self.assertTrue(came, f"closed behind {len(got)} of {len(answers)} bytes")
                got += came
                moved = True
            if asked:
                with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    asked = asked[wire.send(asked[:1 << 14]):]
                    moved = True
            if not moved:
                ready = select.select([wire], [wire] if asked else [], [], patience(60))
                self.assertTrue(any(ready), f"nothing more came behind {len(got)} of {len(answers)} bytes")
        self.assertEqual(got, answers)
        self.assertFalse(asked, "all was asked before it was answered")

    def plain(self):
        return self.client(self.ports()[1])

    def stat(self, name: str) -> int:
        return int(self.plain().stats()[name])

    def wait_stat(self, name: str, value: int) -> None:
        wait_for(lambda: self.stat(name) == value, f"{name} {value}")


class GuardedCase(DaemonCase):
    """A server that admits `ann` with `secret word`, `bob` with `secret` and no other user, by three listeners: without TLS,
    with TLS, and with TLS that requires a certificate. In the test's directory ca.pem signed all; ann.pem and ann.key are Ann's.
    """

    def guard(self) -> dict:
        """Starts the server; returns the port of each listener."""
        self.authority = Authority(self.directory)
        certificate, key = self.authority.sign("server")
        self.identity = self.authority.sign("ann", purpose="clientAuth")
        users = self.directory / "users"
        users.write_text("ann:secret word\nbob:secret\n", encoding="ascii")
        users.chmod(0o600)
        tls = f"tls: {{certificate: {certificate}, key: {key}"
        self.write_config(f"server: {{auth_file: {users}}}\n"
                          "listeners:\n  - {port: 0}\n"
                          f"  - {{port: 0, {tls}}}}}\n"
                          f"  - {{port: 0, {tls}, client_ca: {self.authority.file}}}}}\n")
        self.start(listen=())
        self.wait_log("listening on", 3)
        return dict(zip(("login", "tls", "mutual_tls"), self.ports()))

    def trusting(self, identity=None) -> ssl.SSLContext:
        """A context for a client that trusts ca.pem and presents `identity`, a certificate and its key."""
        context = ssl.create_default_context(cafile=self.authority.file)
        if identity is not None:
            context.load_cert_chain(*identity)
        return context
