"""Logins by the binary protocol: nothing works before them, roles and prefixes apply after them, as by text."""

import signal

from harness import DaemonCase, mxkv_only
from harness.binary import (AUTH_ERROR, FLUSH, FLUSHQ, GET, GETQ, INCR, MISSING, NOOP, OK, SASL_AUTH, SASL_MECHANISMS, SET, SETQ, STAT, UNKNOWN,
                            VERSION, BinaryConnection, count, plain, request, store)


@mxkv_only("users")
class BinaryLoginTest(DaemonCase):
    def serve(self, text: str, name: str = "users", listen=("127.0.0.1:0",)) -> None:
        self.users = self.directory / name
        self.users.write_text(text)
        self.users.chmod(0o600)
        self.start("--set", f"server.auth_file={self.users}", listen=listen)

    def dial(self) -> BinaryConnection:
        client = BinaryConnection(self.ports()[0])
        self.addCleanup(client.close)
        return client

    def as_user(self, name: str, password: str = "x") -> BinaryConnection:
        client = self.dial()
        reply = client.ask(plain(name, password))
        self.assertEqual((reply.status, reply.value), (OK, b"Authenticated"))
        return client

    def test_nothing_works_before_and_everything_after(self):
        self.serve("ann:secret\n")
        for packet in (request(GET, b"k"), store(SETQ, b"k", b"v"), request(NOOP), request(STAT), request(FLUSHQ), count(INCR, b"n")):
            client = self.dial()
            client.send(packet)
            self.assertEqual(client.reply().status, AUTH_ERROR)
            self.assertEqual(client.rest(), b"", "who did not log in has to go")
        client = self.dial()
        self.assertEqual(client.ask(request(SASL_MECHANISMS)).value, b"PLAIN")
        self.assertEqual(client.ask(request(VERSION)).status, OK)
        self.assertEqual(client.ask(plain("ann", "secret")).value, b"Authenticated")
        self.assertEqual(client.ask(store(SET, b"k", b"v")).status, OK)
        self.assertEqual(client.ask(request(GET, b"k")).value, b"v")

    def test_wrong_passwords_and_other_mechanisms_stay_outside_and_may_try_again(self):
        self.serve("ann:secret\n")
        client = self.dial()
        for packet in (plain("ann", "wrong"), plain("", ""), plain("ann", "secret", who="somebody"), request(SASL_AUTH, b"CRAM-MD5", b"x"), request(SASL_AUTH, b"PLAIN", b"ann secret")):
            self.assertEqual(client.ask(packet).status, AUTH_ERROR)
        self.assertEqual(client.ask(plain("ann", "secret", who="ann")).status, OK)
        self.assertEqual(client.ask(request(GET, b"none")).status, MISSING)
        self.wait_log("wrong user or password from tcp:127.0.0.1:")

    def test_it_may_come_in_pieces_and_with_the_first_requests(self):
        self.serve("ann:secret\n")
        client = self.dial()
        for byte in plain("ann", "secret") + store(SET, b"k", b"v") + request(NOOP):
            client.send(bytes([byte]))
        self.assertEqual([reply.status for reply in client.replies(3)], [OK] * 3)

    def test_a_user_may_do_by_it_what_it_may_do_by_text(self):
        self.serve("users:\n"
                   "  - {name: root, password: x, role: administrator}\n"
                   "  - {name: reader, password: x, role: reader}\n"
                   "  - {name: app, password: x, role: writer, prefixes: ['app:']}\n", name="users.yaml")
        root, reader, app = self.as_user("root"), self.as_user("reader"), self.as_user("app")
        self.assertEqual(root.ask(store(SET, b"k", b"v")).status, OK)
        self.assertEqual(reader.ask(request(GET, b"k")).value, b"v")
        for packet in (store(SET, b"k", b"w"), store(SETQ, b"k", b"w"), request(FLUSH), count(INCR, b"k")):
            self.assertEqual(reader.ask(packet).status, AUTH_ERROR)
            self.assertEqual(reader.ask(request(NOOP)).status, OK, "it stays in step")
        self.assertEqual(app.ask(store(SET, b"app:k", b"1")).status, OK)
        self.assertEqual(app.ask(store(SET, b"other", b"1")).status, AUTH_ERROR)
        self.assertEqual(app.ask(request(GETQ, b"k")).status, AUTH_ERROR)
        self.assertEqual(app.ask(request(GET, b"app:k")).value, b"1")
        self.assertEqual(root.ask(request(GET, b"k")).value, b"v", "what was forbidden was not done")
        self.wait_log('as "reader": set')

    def test_on_a_listener_without_logins_there_are_none(self):
        self.write_config("listeners: [{address: 127.0.0.1, port: 0, auth: none}]\n")
        self.serve("ann:secret\n", listen=())
        client = self.dial()
        self.assertEqual(client.ask(store(SET, b"k", b"v")).status, OK)
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(timeout=60), 0)

    def test_without_users_nobody_is_asked(self):
        self.start()
        client = self.dial()
        self.assertEqual(client.ask(plain("ann", "secret")).status, UNKNOWN)
        self.assertEqual(client.ask(request(NOOP)).status, OK)
