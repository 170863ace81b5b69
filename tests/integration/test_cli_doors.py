"""mxkv-cli through a server's guards: login, TLS, unix sockets."""

import pathlib
import socket
import ssl
import subprocess
import threading

from cli_case import CliCase
from harness import DaemonCase
from harness.beside import load_tests  # noqa: F401


class GuardedCase(DaemonCase, CliCase):
    """A daemon that each test starts for itself."""

    setUpClass = classmethod(lambda cls: None)
    tearDownClass = classmethod(lambda cls: None)

    def setUp(self):
        DaemonCase.setUp(self)

    def where(self) -> str:
        return f"127.0.0.1:{self.ports()[0]}"


class CliLoginTest(GuardedCase):
    def setUp(self):
        super().setUp()
        file = self.directory / "who may come"
        file.write_text("ann:secret word\nbob:other\n")
        file.chmod(0o600)
        self.start("--set", f"server.auth_file={file}")

    def test_the_password_comes_from_a_file_or_the_environment(self):
        password = self.directory / "password"
        password.write_text("secret word\nmore\n")
        self.assertEqual(self.out("--user", "ann", "--password-file", str(password), "set", "k", "v", where=self.where()),
                         "stored\n")
        self.assertEqual(self.out("--user", "ann", "get", "k", where=self.where(), MXKV_PASSWORD="secret word"), "v\n")
        self.assertEqual(self.out("--user", "ann", "export", where=self.where(), MXKV_PASSWORD="secret word").count("\n"), 3)

    def test_without_or_with_a_wrong_one_it_says_so(self):
        self.assertIn(b"unauthenticated (see --user)", self.cli("get", "k", code=5, where=self.where()).stderr)
        done = self.cli("--user", "ann", "get", "k", code=5, where=self.where(), MXKV_PASSWORD="other")
        self.assertIn(b"cannot log in as ann: CLIENT_ERROR authentication failure", done.stderr)
        self.assertNotIn(b"other", done.stderr)
        self.cli("--user", "ann", "--password-file", "/nowhere", "get", "k", code=6, where=self.where())


class CliUnixSocketTest(GuardedCase):
    def test_a_unix_socket(self):
        path = self.directory / "socket"
        self.start(listen=(f"unix:{path}",))
        self.assertEqual(self.out("set", "k", "v", where=f"unix:{path}"), "stored\n")
        self.assertEqual(self.out("get", "k", where=str(path)), "v\n")


class TlsDoor:
    """A proxy that terminates TLS and forwards the plain text."""

    def __init__(self, case, port: int, folder: pathlib.Path, client_ca: bool = False):
        self.port_behind = port
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem")
        if client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(folder / "ca.pem")
        self.context = context
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        case.addCleanup(self.listening.close)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client) -> None:
        try:
            with self.context.wrap_socket(client, server_side=True) as outer, \
                    socket.create_connection(("127.0.0.1", self.port_behind)) as inner:
                # Two threads, one a direction, must not share an SSL object: one thread takes turns with short timeouts.
                outer.settimeout(0.01)
                inner.settimeout(0.01)
                while True:
                    for source, target in ((outer, inner), (inner, outer)):
                        try:
                            data = source.recv(1 << 16)
                        except TimeoutError:
                            continue
                        if not data:
                            return
                        target.settimeout(20)
                        target.sendall(data)
                        target.settimeout(0.01)
        except OSError:
            pass


class CliTlsTest(GuardedCase):
    def setUp(self):
        super().setUp()
        self.start()
        self.make_certificates()

    def openssl(self, *arguments) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.directory, check=True, capture_output=True)

    def make_certificates(self) -> None:
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                     "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
        (self.directory / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        for name in ("server", "client"):
            self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                         "-keyout", f"{name}.key", "-out", f"{name}.csr")
            self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                         "-days", "2", "-extfile", "names", "-out", f"{name}.crt")
            (self.directory / f"{name}.pem").write_bytes((self.directory / f"{name}.key").read_bytes()
                                                         + (self.directory / f"{name}.crt").read_bytes())

    def tls(self, *more) -> tuple:
        return ("--tls", "--ca", str(self.directory / "ca.pem"), *more)

    def test_everything_goes_through_tls(self):
        door = TlsDoor(self, self.ports()[0], self.directory)
        for host in ("127.0.0.1", "localhost"):
            where = f"{host}:{door.port}"
            self.assertEqual(self.out(*self.tls(), "set", "k", "-", stdin=b"x" * 500_000, where=where), "stored\n")
            self.assertEqual(len(self.out(*self.tls(), "get", "k", where=where)), 500_001)
        dump = self.cli(*self.tls(), "export", "--format", "binary", where=where).stdout
        self.assertIn(b"imported 0 of 1 items", self.cli(*self.tls(), "import", "-", stdin=dump, where=where).stderr)
        self.assertEqual(self.out("--tls", "--insecure", "get", "nobody", code=1, where=where), "(not found)\n")

    def test_a_certificate_that_nobody_vouches_for_is_refused(self):
        door = TlsDoor(self, self.ports()[0], self.directory)
        where = f"127.0.0.1:{door.port}"
        self.assertRegex(self.cli("--tls", "get", "k", code=3, where=where).stderr.decode(),
                         r"no TLS: .*(certificate|self.signed)")
        self.assertIn(b"--ca: ", self.cli("--tls", "--ca", "/nowhere", "get", "k", code=6, where=where).stderr)
        self.cli("--ca", "x", "get", "k", code=2, where=where)
        self.assertIn(b"no TLS", self.cli(*self.tls(), "--timeout", "5", "get", "k", code=3, where=self.where()).stderr)

    def test_our_own_certificate_where_the_server_wants_one(self):
        door = TlsDoor(self, self.ports()[0], self.directory, client_ca=True)
        where = f"127.0.0.1:{door.port}"
        self.cli(*self.tls(), "get", "k", code=3, where=where)
        self.assertEqual(self.out(*self.tls("--cert", str(self.directory / "client.pem")), "set", "k", "v", where=where),
                         "stored\n")
        self.assertEqual(self.out(*self.tls("--cert", str(self.directory / "client.crt"), "--key",
                                            str(self.directory / "client.key")), "get", "k", where=where), "v\n")
