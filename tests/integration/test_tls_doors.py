"""Clients that a TLS listener admits or refuses: one that may not enter, or does not finish, harms only itself; and files."""

import datetime
import signal
import socket
import ssl
import subprocess

from harness import LONG, Closed, environment, mxkv_only, patience, scaled, wait_for
from harness.certificates import Authority
from harness.tls import Records, TlsCase

_PATIENCE_S = 120
_YESTERDAY = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)


@mxkv_only("TLS")
class TlsDoorTest(TlsCase):
    """Admitted and refused clients."""

    def serve(self, more: str = "limits: {handshake: 1h}\n", **options) -> None:
        super().serve(more, **options)

    def secure(self, where=None, context=None, **options):
        return super().secure(where, context, **{"timeout": _PATIENCE_S, **options})

    def wait_stat(self, name: str, value: int) -> None:
        wait_for(lambda: self.stat(name) == value, f"{name} {value}", _PATIENCE_S)

    def refused(self, context, where=None) -> None:
        """The client is refused; with TLS 1.3 it notices only when it reads."""
        with self.assertRaises((ssl.SSLError, OSError, Closed)):
            client = self.secure(where, context)
            client.set(b"k", b"intruder")
        self.assertIsNone(self.plain().get(b"k"))

    def test_only_clients_with_a_certificate_of_theirs(self):
        self.serve(tls=f", client_ca: {self.root.file}")
        ann = self.root.sign("ann", purpose="clientAuth")
        other = Authority(self.files, "other")
        expired = self.root.sign("late", purpose="clientAuth", until=_YESTERDAY)
        for number, wrong in enumerate((None, other.sign("eve", purpose="clientAuth"), expired, (self.server, self.key)), 1):
            self.refused(self.context(wrong))
            self.wait_stat("ssl_handshake_errors", number)
        client = self.secure(context=self.context(ann))
        self.assertEqual(client.set(b"k", b"v"), b"STORED")
        told = [text for name, text in client.stats(b"conns").items() if name.endswith(":client_certificate")]
        self.assertEqual(len(told), 1)
        self.assertIn("CN=ann", told[0])
        self.wait_log("peer did not return a certificate")
        self.end()

    def test_a_session_goes_on_with_the_certificate_that_it_began_with(self):
        self.serve(tls=f", client_ca: {self.root.file}")
        context = self.context(self.root.sign("bob", purpose="clientAuth"))
        first = self.secure(context=context)
        self.assertEqual(first.set(b"k", b"v"), b"STORED")
        again = ssl.SSLContext.wrap_socket(context, socket.create_connection(("127.0.0.1", self.ports()[0])),
                                           server_hostname="localhost", session=first.socket.session)
        self.addCleanup(again.close)
        again.sendall(b"get k\r\n")
        self.assertEqual(again.recv(100)[:5], b"VALUE")
        self.assertTrue(again.session_reused)
        told = [text for name, text in self.plain().stats(b"conns").items() if name.endswith(":client_certificate")]
        self.assertEqual(len(told), 2)
        self.end()

    def test_old_versions_are_refused(self):
        self.serve(listeners=f"  - {{address: '::1', port: 0, tls: {{certificate: {self.server}, key: {self.key}, minimum: 1.3}}}}\n")
        self.wait_log("listening on [::1]")
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.ports()[0]}", "-tls1_1", "-cipher",
                               "DEFAULT@SECLEVEL=0"], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=patience(30))
        self.assertNotEqual(done.returncode, 0)
        self.wait_log("unsupported protocol")
        new = ("::1", self.ports()[2])
        self.refused(self.context(newest=ssl.TLSVersion.TLSv1_2), new)
        self.assertEqual(self.secure(new).set(b"k", b"v"), b"STORED")
        self.end()

    def test_who_speaks_no_tls_is_told_and_closed(self):
        self.serve()
        client = self.client(self.ports()[0])
        client.send(b"get k\r\n")
        self.assertEqual(client.rest(), b"ERROR this listener speaks TLS only\r\n")
        self.wait_log("it does not speak TLS, which its listener requires")
        with self.assertRaises((ssl.SSLError, OSError)):
            self.secure(self.ports()[1])
        self.wait_log("it speaks TLS")
        self.client(self.ports()[0]).close()  # checks that the port is open
        self.assertEqual(self.stat("ssl_handshake_errors"), 1)
        self.end()

    def test_a_handshake_that_does_not_end_is_given_up(self):
        self.serve(more="limits: {handshake: 500ms}\n")
        silent = socket.create_connection(("127.0.0.1", self.ports()[0]), timeout=patience(_PATIENCE_S))
        self.addCleanup(silent.close)
        half = self.records()
        half.wire.settimeout(patience(_PATIENCE_S))
        half.wire.sendall(half.hello()[:100])
        for wire in (half.wire, silent):
            self.assertEqual(wire.recv(100), b"", "closed")
        self.wait_log("not finished in time")
        self.wait_stat("ssl_handshake_errors", 2)
        # On a busy machine a good client may need more than 500 ms for its handshake.
        self.config.write_text(self.config.read_text().replace("handshake: 500ms", "handshake: 1h"))
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("reload: limits.handshake is now")
        self.assertEqual(self.secure().set(b"k", b"v"), b"STORED")
        self.end()

    def test_many_that_do_not_end_keep_nobody_out(self):
        self.serve(more="limits: {handshake: 1h}\n")
        # 32 half handshakes fill a worker's memory for input. Once a second the server closes some of them to admit others.
        waiting, context = [], self.context()
        for _ in range(scaled(300 if LONG else 90)):
            half = Records(self.ports()[0], context)
            self.addCleanup(half.wire.close)
            half.wire.sendall(half.hello()[:100])
            waiting.append(half)
        for _ in range(3):
            self.assertEqual(self.secure(context=context).set(b"k", b"v"), b"STORED")
        memory = self.plain().stats(b"memory")
        self.assertLess(int(memory["buffers_bytes"]) if "buffers_bytes" in memory else 0, 16 << 20)
        for half in waiting:
            half.wire.close()
        self.end()


@mxkv_only("TLS")
class TlsFilesTest(TlsCase):
    """Certificates and keys as files: at the start, in a check, and at a reload."""

    def test_wrong_files_start_nothing(self):
        text = self.directory / "text.pem"
        text.write_text("no certificate\n")
        locked = self.directory / "locked.key"
        subprocess.run(["openssl", "ec", "-in", self.key, "-aes128", "-passout", "pass:x", "-out", locked], check=True,
                       capture_output=True)
        other, other_key = self.root.sign("another")
        absent = self.directory / "absent.pem"
        good = f"certificate: {self.server}, key: {self.key}"
        for tls, key, what in ((f"certificate: {absent}, key: {self.key}", "certificate", f"{absent}: cannot be read: No such file"),
                               (f"certificate: {text}, key: {self.key}", "certificate", f"{text}: holds no certificate in PEM"),
                               (f"certificate: {self.server}, key: {text}", "key", f"{text}: holds no private key in PEM"),
                               (f"certificate: {self.server}, key: {locked}", "key", f"{locked}: is protected by a passphrase"),
                               (f"certificate: {self.server}, key: {other_key}", "key",
                                f"{other_key}: is not the key of {self.server}"),
                               (f"certificate: {self.server}, key: {self.directory}", "key", "cannot be read: Is a directory"),
                               (f"{good}, client_ca: {text}", "client_ca", f"{text}: holds no certificate in PEM")):
            self.write_config(f"listeners:\n  - {{port: 0, tls: {{{tls}}}}}\n")
            for arguments in (("--config", self.config), ("check", self.config)):
                done = subprocess.run([environment.MXKVD, *map(str, arguments)], capture_output=True, check=False, text=True,
                                      timeout=patience(30))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, rf"mxkv.yaml:4:\d+: listeners\[0\]\.tls\.{key}: ")
                self.assertIn(what, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_an_expired_certificate_is_told_of(self):
        certificate, key = self.root.sign("old", until=_YESTERDAY)
        self.write_config(f"listeners:\n  - {{port: 0, tls: {{certificate: {certificate}, key: {key}}}}}\n")
        done = subprocess.run([environment.MXKVD, "check", self.config], capture_output=True, check=False, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the certificate expired on", done.stderr)
        self.start(listen=(), wait="listening on")
        self.assertIn("the certificate expired on", self.log())
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.secure()
        self.end()

    def test_a_reload_takes_new_files_for_new_connections(self):
        certificate, key = self.directory / "now.pem", self.directory / "now.key"
        def install(name: str) -> None:
            made = self.root.sign(name)
            certificate.write_bytes(made[0].read_bytes())
            key.write_bytes(made[1].read_bytes())
        install("first")
        self.write_config(f"listeners:\n  - {{port: 0, tls: {{certificate: {certificate}, key: {key}}}}}\n  - {{port: 0}}\n")
        self.start(listen=(), wait="listening on")
        wait_for(lambda: len(self.ports()) == 2, "both listeners", _PATIENCE_S)
        def shown() -> str:
            client = self.secure()
            return dict(pair[0] for pair in client.socket.getpeercert()["subject"])["commonName"]
        before = self.secure()
        self.assertEqual(shown(), "first")
        install("second")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("reload: certificates of 1 listener were read")
        self.assertEqual(shown(), "second")
        key.write_text("broken")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log(f"reload refused: tls.key: {key}: holds no private key in PEM")
        self.assertEqual(shown(), "second")
        self.assertEqual(before.ask(b"refresh_certs"), f"CLIENT_ERROR tls.key: {key}: holds no private key in PEM".encode())
        self.assertEqual(shown(), "second")
        install("third")
        self.assertEqual(before.ask(b"refresh_certs"), b"OK")
        self.assertEqual(shown(), "third")
        self.assertEqual(before.set(b"k", b"v"), b"STORED", "who is in stays in")
        self.end()
