"""Administration by HTTPS: the same TLS as clients' listeners have, and that hostile handshakes stop only themselves."""

import contextlib
import datetime
import json
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import time

from harness import mxkv_only, patience, scaled, wait_for
from harness.beside import load_tests  # noqa: F401
from harness.certificates import Authority
from harness.http import AdminCase, ask, read_all
from harness.tls import Records, TlsCase

_LIVEZ = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"


class AdminTlsCase(AdminCase, TlsCase):
    def serve_admin(self, tls: str = "", more: str = "", options: str = "") -> None:
        """One listener for administration that speaks TLS, then one without."""
        self.write_config(f"admin:\n  listeners:\n    - {{port: 0, tls: {{certificate: {self.server}, key: {self.key}{tls}}}}}\n"
                          f"    - {{port: 0}}\n{more}{options}")
        self.start()
        self.secure_port, self.plain_port = wait_for(lambda: len(found := self.admin_ports()) == 2 and found, "both listeners")

    def get_secure(self, path: str, context=None, **options):
        return self.get(path, where=self.secure_port, tls=context or self.context(), **options)

    def records_of_admin(self, **options) -> Records:
        made = Records(self.secure_port, self.context(**options))
        self.addCleanup(made.wire.close)
        return made

    def bare(self, sent: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.secure_port), timeout=patience(20))
        self.addCleanup(connection.close)
        connection.sendall(sent)
        return connection

    def assert_answers(self):
        self.assertEqual(self.get_secure("/livez").text, "alive\n")
        self.assertEqual(self.get("/livez", where=self.plain_port).text, "alive\n")
        self.assertTrue(self.client().ask(b"version").startswith(b"VERSION"))

    def wait_counted(self, name: str, count: int) -> None:
        """Waits for a metric; the server refreshes its own figures once a second."""
        wait_for(lambda: self.metrics(where=self.plain_port)[f"mxkv_admin_{name}_total"] == count, f"{name} {count}")


@mxkv_only("TLS")
class AdminTlsTest(AdminTlsCase):
    def test_pages_are_those_without_it_in_both_versions(self):
        self.serve_admin()
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.context(oldest=version, newest=version)
            for path in ("/livez", "/config", "/", "/status.js", "/nothing"):
                plain, secure = self.get(path, where=self.plain_port), self.get_secure(path, context)
                self.assertEqual((secure.status, secure.text), (plain.status, plain.text), path)
                self.assertEqual(self.get_secure(path, context, method="HEAD").text, "")
            self.assertIn("mxkv_ready 1", self.get_secure("/metrics", context).text)
        self.assertIn("TLS with the certificate of ", self.log())
        self.wait_counted("tls_handshakes", 22)
        self.assertEqual(self.metrics(where=self.plain_port)["mxkv_admin_tls_handshake_errors_total"], 0)
        self.end()

    def test_a_connection_is_kept_and_its_end_is_said(self):
        self.serve_admin()
        connection = self.connect_admin(self.secure_port, self.context())
        for _ in range(50):
            self.assertEqual(ask(connection, "/livez").text, "alive\n")
        self.wait_counted("tls_handshakes", 1)
        client = ssl.SSLContext.wrap_socket(self.context(), self.bare(), server_hostname="localhost", suppress_ragged_eofs=False)
        self.addCleanup(client.close)
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        self.assertTrue(read_all(client).endswith(b"\n"), "an end that was cut off would be an error")

    def ends(self) -> list:
        """When each listener's certificate ends, by the metrics, in the order of their ports."""
        prefix = 'mxkv_certificate_expiry_timestamp_seconds{listener="127.0.0.1:'
        found = {int(name[len(prefix):-2]): value for name, value in self.metrics(where=self.plain_port).items() if name.startswith(prefix)}
        return [found[port] for port in sorted(found)]

    def test_the_ends_of_certificates_are_metrics_and_follow_a_reload(self):
        self.serve_admin()
        [end] = wait_for(self.ends, "the end of a certificate")
        told = subprocess.run(["openssl", "x509", "-in", str(self.server), "-noout", "-enddate"], capture_output=True, text=True, check=True)
        self.assertEqual(end, ssl.cert_time_to_seconds(told.stdout.strip().partition("=")[2]))
        [shown] = json.loads(self.get_secure("/status.json").text)["certificates"]
        self.assertEqual((shown["listener"], shown["ends"]), (f"127.0.0.1:{self.secure_port}", end))
        soon = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) + datetime.timedelta(days=3)
        certificate, key = self.root.sign("soon", until=soon)
        for old, new in ((self.server, certificate), (self.key, key)):
            os.replace(new, old)
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.ends() == [soon.timestamp()], "the end of the new certificate")
        self.end()

    def test_openssl_gets_a_page(self):
        self.serve_admin()
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.secure_port}", "-CAfile", str(self.root.file),
                               "-verify_return_error", "-quiet"], input=b"GET /livez HTTP/1.0\r\n\r\n", capture_output=True,
                              timeout=patience(20), check=False)
        self.assertTrue(done.stdout.endswith(b"\r\nalive\n"), done)

    def test_requests_in_records_of_any_size_are_answered_in_turn(self):
        self.serve_admin()
        for part in (1, 7, 1 << 20):
            client = self.records_of_admin()
            client.shake_hands(part)
            for byte in _LIVEZ:
                client.send(bytes([byte]), part)
            client.send(_LIVEZ * 30 + b"GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", part)
            reply = client.read(1 << 20)
            self.assertEqual((reply.count(b"HTTP/1.1 200 OK"), reply.count(b"HTTP/1.1 404 ")), (31, 1))

    def test_only_clients_with_a_certificate_of_theirs(self):
        self.serve_admin(tls=f", client_ca: {self.root.file}")
        ann = self.root.sign("ann", purpose="clientAuth")
        eve = Authority(self.files, "other").sign("eve", purpose="clientAuth")
        for wrong in (None, eve):
            with self.assertRaises((ssl.SSLError, OSError)):
                self.get_secure("/livez", self.context(wrong))
        self.assertEqual(self.get_secure("/livez", self.context(ann)).text, "alive\n")
        self.assertIn(", for clients with one of their own", self.log())
        self.wait_log("administration by HTTP: TLS handshake failed with tcp:127.0.0.1:")
        self.wait_counted("tls_handshake_errors", 2)

    def test_a_login_by_tls(self):
        users = self.directory / "users"
        users.write_text("ann:secret\n")
        users.chmod(0o600)
        self.write_config(f"server: {{auth_file: {users}}}\nadmin:\n  listeners:\n"
                          f"    - {{port: 0, auth: required, tls: {{certificate: {self.server}, key: {self.key}}}}}\n")
        self.start()
        self.secure_port = self.admin_port()
        self.assertEqual(self.get_secure("/config").status, 401)
        self.assertEqual(self.get_secure("/config", user="ann:secret").status, 200)
        self.assertEqual(self.get_secure("/readyz").status, 200)

    def test_a_client_by_tls_of_a_listener_without_it_is_told_of_by_the_log(self):
        self.serve_admin()
        with self.assertRaises((ssl.SSLError, OSError)):
            self.get("/livez", where=self.plain_port, tls=self.context())
        self.wait_log("it speaks TLS, which its listener does not")
        self.assert_answers()

    def test_clients_that_speak_tls_are_counted(self):
        self.write_config(f"listeners:\n  - {{port: 0, tls: {{certificate: {self.server}, key: {self.key}}}}}\n"
                          "admin: {listeners: [{port: 0}]}\n")
        self.start(listen=())
        self.plain_port = self.admin_port()
        client = self.secure()
        self.assertEqual(client.set(b"k", b"v"), b"STORED")
        with socket.create_connection(("127.0.0.1", self.ports()[0]), timeout=patience(20)) as other:
            other.sendall(b"get k\r\n")
            self.assertTrue(read_all(other).startswith(b"ERROR"))
        stats = client.stats()
        seen = self.metrics(where=self.plain_port)
        found = [seen[f"mxkv_tls_{name}"] for name in ("connections", "handshakes_total", "handshake_errors_total",
                                                       "connections_by_kernel_total")]
        self.assertEqual(found, [1, 1, 1, float(stats["tls_by_kernel"])])


@mxkv_only("TLS")
class AdminCertificatesTest(AdminTlsCase):
    def shown(self, port: int) -> bytes:
        with ssl.SSLContext.wrap_socket(self.context(), socket.create_connection(("127.0.0.1", port)), server_hostname="localhost") as one:
            return one.getpeercert(binary_form=True)

    def reload(self, text: str, count: int = 1) -> None:
        self.process.send_signal(signal.SIGHUP)
        self.wait_log(text, count)

    def test_new_ones_hold_for_connections_that_come_and_wrong_ones_for_none(self):
        certificate, key = self.root.sign("changing")
        where = f"{{port: 0, tls: {{certificate: {certificate}, key: {key}}}}}"
        self.write_config(f"listeners: [{where}]\nadmin: {{listeners: [{where}]}}\n")
        self.start(listen=())
        admin = self.admin_port()
        kept = self.connect_admin(admin, self.context())
        self.assertEqual(ask(kept, "/livez").status, 200)
        first = self.shown(admin)
        self.root.sign("changing")
        self.reload("certificates of 2 listeners were read")
        second = self.shown(admin)
        self.assertNotEqual(first, second)
        self.assertEqual(self.shown(self.ports()[0]), second)
        self.assertEqual(ask(kept, "/livez").status, 200)
        key.write_text("no key\n")
        self.reload(f"reload refused: tls.key: {key}: holds no private key in PEM")
        self.assertEqual(self.shown(admin), second)

    def test_a_wrong_file_is_an_error_at_its_place(self):
        self.write_config(f"admin:\n  listeners:\n    - {{port: 0, tls: {{certificate: {self.server}, key: absent.key}}}}\n")
        code, error = self.run_to_end()
        self.assertEqual(code, 2)
        self.assertRegex(error, re.escape(f"{self.config}:5:") + r"\d+: admin\.listeners\[0\]\.tls\.key: \S*absent\.key: cannot be read")
        done = subprocess.run([self.command()[0], "check", str(self.config)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("admin.listeners[0].tls.key", done.stderr)


@mxkv_only("TLS")
class HostileAdminTlsTest(AdminTlsCase):
    def test_garbage_is_closed_and_told_in_the_log(self):
        self.serve_admin()
        for sent in (b"\x00" * 300, b"\xff" * 300, b"\x16\x03\x01\x02\x00" + b"\x01" * 600, b"\x16\x03\x01\xff\xff" + b"a" * 70_000,
                     b"\x80\x2e\x01\x00\x02" + b"a" * 50, b"version\r\n" * 10):
            self.assertNotIn(b"alive", read_all(self.bare(sent)), sent[:10])
        self.wait_counted("tls_handshake_errors", 6)
        self.wait_log("administration by HTTP: TLS handshake failed with tcp:127.0.0.1:")
        self.assert_answers()
        self.end()

    def test_plain_http_is_told_that_it_is_not(self):
        self.serve_admin()
        reply = read_all(self.bare(_LIVEZ))
        self.assertTrue(reply.startswith(b"HTTP/1.1 400 Bad Request\r\n"), reply)
        self.assertTrue(reply.endswith(b"this listener speaks https.\n"), reply)
        self.assert_answers()

    def test_a_slow_handshake_is_cut_off(self):
        self.serve_admin()
        client = self.records_of_admin()
        hello = client.hello()
        began = time.monotonic()
        try:
            for byte in hello[:-1] * 100:
                client.wire.sendall(bytes([byte]))
                client.wire.settimeout(0.05)
                try:
                    if not client.wire.recv(100):
                        break
                except TimeoutError:
                    continue
                if time.monotonic() - began > patience(30):
                    self.fail("a handshake may take for ever")
        except OSError:
            pass
        self.assertGreater(time.monotonic() - began, 3)
        self.wait_log(": it took too long")
        self.assert_answers()

    def test_handshakes_that_do_not_end_keep_nobody_out(self):
        self.serve_admin()
        waiting = []
        for number in range(200):
            client = self.records_of_admin()
            client.wire.sendall(client.hello()[:number])
            waiting.append(client)
        self.assert_answers()
        wait_for(lambda: self.metrics(where=self.plain_port)["mxkv_admin_connections_displaced_total"] > 100, "those that wait longest have gone")

    def test_resets_in_the_middle_stop_nothing(self):
        self.serve_admin()
        for _ in range(scaled(30, 5)):
            for how in range(5):
                client = self.records_of_admin()
                hello = client.hello()
                if how == 1:
                    client.wire.sendall(hello[:100])
                elif how == 2:
                    client.wire.sendall(hello)
                elif how > 2:
                    client.drip(hello, 1 << 20)
                    client._feed()
                    client.shake_hands()
                    client.send(_LIVEZ * (how - 2) * 20)
                client.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.wire.close()
        self.assert_answers()
        self.end()

    def test_a_record_that_was_changed_ends_its_connection_only(self):
        self.serve_admin()
        client = self.records_of_admin()
        client.shake_hands()
        client.tls.write(_LIVEZ)
        sent = bytearray(client.take())
        sent[-1] ^= 1
        client.wire.sendall(sent)
        self.assertNotIn(b"alive", read_all(client.wire))
        self.assert_answers()

    def endings(self):
        """By name: the ways in which a client ends after its bytes."""
        def closed(wire):
            wire.close()

        def reset(wire):
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wire.close()

        def half_closed(wire):
            wire.shutdown(socket.SHUT_WR)
            read_all(wire)
            wire.close()

        def junk(bytes_sent):
            def way(wire):
                wire.sendall(bytes_sent)
                half_closed(wire)
            return way
        return {"close": closed, "reset": reset, "half close": half_closed, "HTTP": junk(_LIVEZ),
                "a record that is none": junk(b"\x17\x03\x03\x00\x20" + bytes(32)), "an alert": junk(b"\x15\x03\x03\x00\x02\x02\x28")}

    def test_connections_that_end_anywhere_leave_nothing_behind(self):
        self.serve_admin()
        self.assert_answers()
        def descriptors() -> int:
            return len(os.listdir(f"/proc/{self.process.pid}/fd"))
        wait_for(lambda: self.metrics(where=self.plain_port)["mxkv_admin_connections"] == 1, "that which asks is the only one", 120)
        before = descriptors()
        request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for name, end in self.endings().items():
            for stage in ("hello", "finish", "request", "unread"):
                for part in (0, 1, 7, 60, 1 << 20):
                    with self.subTest(end=name, stage=stage, part=part), contextlib.suppress(ConnectionError):
                        client = self.records_of_admin()
                        sent = client.hello()
                        if stage != "hello":
                            client.drip(sent, 1 << 20)
                            client._feed()
                            with contextlib.suppress(ssl.SSLWantReadError):
                                client.tls.do_handshake()
                            sent = client.take()
                        if stage in ("request", "unread"):
                            client.drip(sent, 1 << 20)
                            client.tls.write(request * (50 if stage == "unread" else 1))
                            sent = client.take()
                        client.drip(sent[:part], 1 << 20)
                        end(client.wire)
        self.assert_answers()
        wait_for(lambda: self.metrics(where=self.plain_port)["mxkv_admin_connections"] == 1, "all others are gone", 120)
        wait_for(lambda: descriptors() <= before + 1, f"{before + 1} descriptors", 120)  # with the client that looked last
        self.end()

    def test_who_takes_no_replies_stops_only_itself(self):
        self.serve_admin()
        client = self.records_of_admin()
        client.shake_hands()
        client.wire.setblocking(False)
        try:
            for _ in range(2000):
                client.tls.write(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 10)
                client.wire.send(client.take())
        except BlockingIOError:
            pass
        self.assert_answers()
        self.end()

    def test_a_refusal_arrives_though_more_was_sent(self):
        self.serve_admin()
        client = self.records_of_admin()
        client.shake_hands()
        client.send(b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + b"a" * 100_000)
        self.assertTrue(client.read(1 << 20).startswith(b"HTTP/1.1 413 "))
        self.assert_answers()

    def test_an_end_in_the_middle_of_handshakes_is_an_end_in_order(self):
        self.serve_admin()
        for part in (0, 10, 1000):
            client = self.records_of_admin()
            client.wire.sendall(client.hello()[:part])
        self.records_of_admin().shake_hands()
        self.end()
