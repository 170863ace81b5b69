"""Authentication by a file of users: nothing works before it, everything after it, on every listener."""

import signal
import unittest

from harness import DaemonCase, mxkv_only
from harness.connection import block

try:
    from pymemcache.client.base import Client
except ImportError:
    Client = None

_UNAUTHENTICATED = b"CLIENT_ERROR unauthenticated"
_FAILURE = b"CLIENT_ERROR authentication failure"


@mxkv_only("its own option")
class AuthTest(DaemonCase):
    def serve(self, text: str = "ann:secret\nbob:pass word\n", listen=("127.0.0.1:0",)) -> None:
        self.users = self.directory / "users"
        self.users.write_text(text)
        self.start("--set", f"server.auth_file={self.users}", listen=listen)

    def log_in(self, client, text: bytes, key: bytes = b"any") -> bytes:
        return client.store(b"set", key, text)

    def test_nothing_works_before_and_everything_after(self):
        self.serve()
        client = self.client()
        for command in (b"get k", b"version", b"stats", b"flush_all", b"mn", b"mg k v", b"quit", b"x", b"", b"shutdown",
                        b"lru_crawler metadump all", b"set k 0 0", b"delete k noreply", b"scan - + 1"):
            self.assertEqual(client.ask(command), _UNAUTHENTICATED, command)
        for verb in (b"add", b"replace", b"append"):
            self.assertEqual(client.store(verb, b"k", b"ann secret"), _UNAUTHENTICATED)
        client.send(b"ms k 10\r\nann secret\r\n")
        self.assertEqual(client.line(), _UNAUTHENTICATED)
        self.assertEqual(self.log_in(client, b"ann secret"), b"STORED")
        self.assertIsNone(client.get(b"any"), "the credentials are not stored")
        self.assertEqual(client.set(b"k", b"v"), b"STORED")
        self.assertEqual(client.get(b"k"), b"v")

    def test_wrong_credentials_stay_outside_and_may_try_again(self):
        self.serve()
        for text in (b"ann secre", b"ann secrets", b"ann ", b"an nsecret", b"bob secret", b"carl secret", b"ann Secret",
                     b" ", b"ann secret\0"):
            client = self.client()
            self.assertEqual(self.log_in(client, text), _FAILURE, text)
            self.assertEqual(client.ask(b"version"), _UNAUTHENTICATED)
        self.assertEqual(self.log_in(client, b"annsecret"), b"CLIENT_ERROR bad authentication token format")
        self.assertEqual(self.log_in(client, b"x" * 257), b"CLIENT_ERROR auth token too long")
        client.send(b"set a 0 0 10\r\nann secretXY")
        self.assertEqual(client.line(), b"CLIENT_ERROR bad command line termination")
        self.assertEqual(self.log_in(client, b"bob pass word"), b"STORED")
        stats = client.stats()
        self.assertEqual((stats["auth_cmds"], stats["auth_errors"]), ("10", "9"))
        self.assertEqual(client.stats(b"settings")["auth_enabled_ascii"], "yes")

    def test_it_may_come_in_pieces_and_with_the_first_commands(self):
        self.serve()
        client = self.client()
        for byte in block(b"set", b"a", b"ann secret") + block(b"set", b"k", b"v") + b"get k\r\n":
            client.send(bytes([byte]))
        self.assertEqual([client.line(), client.line()], [b"STORED", b"STORED"])
        self.assertEqual(client.records(), [(b"k", b"v", [0])])
        at_once = self.client()
        at_once.send(b"get k\r\n" + block(b"set", b"a", b"ann secret") + b"get k\r\n")
        self.assertEqual([at_once.line(), at_once.line()], [_UNAUTHENTICATED, b"STORED"])
        self.assertEqual(at_once.records(), [(b"k", b"v", [0])])

    def test_key_flags_and_time_of_the_login_mean_nothing(self):
        self.serve()
        for line in (b"set _ _ _ 10", b"set - x y 10", b"set " + b"k" * 300 + b" 0 0 10", b"set k 0 0 10 noreply"):
            client = self.client()
            client.send(line + b"\r\nann secret\r\n")
            self.assertEqual(client.line(), b"STORED", line)
            self.assertEqual(client.set(b"k", b"v"), b"STORED")

    def test_before_a_login_a_length_that_nobody_can_mean_is_not_waited_for(self):
        self.serve()
        client = self.client()
        client.send(b"set k 0 0 4294967294\r\nset k 0 0 10\r\nann secret\r\n")
        self.assertEqual([client.line(), client.line()], [_UNAUTHENTICATED, b"STORED"])

    def test_every_listener_asks(self):
        path = str(self.directory / "socket")
        self.serve(listen=("127.0.0.1:0", "127.0.0.1:0", f"unix:{path}"))
        for where in (*self.ports(), path):
            client = self.client(where)
            self.assertEqual(client.ask(b"version"), _UNAUTHENTICATED)
            self.assertEqual(self.log_in(client, b"ann secret"), b"STORED")
            self.assertRegex(client.ask(b"version"), b"^VERSION ")

    def test_a_listener_without_login_serves_beside_one_that_asks(self):
        path = str(self.directory / "open.sock")
        users = self.directory / "users"
        users.write_text("ann:secret\n")
        self.write_config("listeners:\n  - 127.0.0.1:0\n  - {address: 127.0.0.1, port: 0, auth: none}\n"
                          f"  - {{path: {path}, auth: none}}\n  - {{address: '::1', port: 0, auth: required}}\n"
                          f"server: {{auth_file: {users}}}\n")
        self.start(listen=(), wait="listening on [::1]")
        asks, open_port = self.ports()[0], self.ports()[1]
        for _ in range(8):  # of all workers
            for where in (open_port, path):
                self.assertEqual(self.client(where).set(b"k", b"v"), b"STORED")
            for where in (asks, ("::1", self.ports()[2])):
                client = self.client(where)
                self.assertEqual(client.ask(b"get k"), _UNAUTHENTICATED)
                self.assertEqual(self.log_in(client, b"ann secret"), b"STORED")
                self.assertEqual(client.get(b"k"), b"v")
        self.assertEqual(self.client(open_port).stats()["auth_errors"], "0")
        self.end()

    def test_a_listener_without_login_gives_its_clients_the_role_that_it_names(self):
        users = self.directory / "users"
        users.write_text("ann:secret\n")
        self.write_config("listeners:\n  - 127.0.0.1:0\n  - {address: 127.0.0.1, port: 0, auth: none, role: reader}\n"
                          f"  - {{address: 127.0.0.1, port: 0, auth: none, role: writer}}\nserver: {{auth_file: {users}}}\n")
        self.start(listen=())
        asks, reads, writes = self.ports()
        forbidden = b"CLIENT_ERROR forbidden"
        for _ in range(8):  # of all workers
            writer, reader = self.client(writes), self.client(reads)
            self.assertEqual(writer.set(b"k", b"v"), b"STORED")
            self.assertEqual(writer.ask(b"flush_all"), forbidden)
            self.assertEqual(reader.get(b"k"), b"v")
            self.assertEqual(reader.set(b"k", b"w"), forbidden)
            self.assertEqual(reader.ask(b"flush_all"), forbidden)
            self.assertEqual(reader.ask(b"ms k 1\r\n7"), forbidden)
            self.assertIn("curr_items", reader.stats())
        self.wait_log("forbidden to tcp:127.0.0.1:")
        self.assertIn(" without a login: ", self.log())
        # The role stays when the users are read again, and a login still gives the user's rights.
        users.write_text("ann:secret\neve:new\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("2 users may authenticate")
        self.assertEqual(reader.get(b"k"), b"v")
        self.assertEqual(reader.set(b"k", b"w"), forbidden)
        inside = self.client(asks)
        self.assertEqual(self.log_in(inside, b"ann secret"), b"STORED")
        self.assertEqual(inside.ask(b"flush_all"), b"OK")
        self.end()

    def test_a_listener_that_asks_where_there_are_no_users_starts_nothing(self):
        self.write_config("listeners:\n  - {port: 0, auth: required}\n")
        code, errors = self.run_to_end(listen=())
        self.assertEqual(code, 2, errors)
        self.assertIn(f"{self.config}:4:21: listeners[0].auth: is required, but there are no users", errors)

    def test_a_reload_changes_who_may_come(self):
        self.serve()
        inside = self.client()
        self.assertEqual(self.log_in(inside, b"ann secret"), b"STORED")
        self.users.write_text("eve:new\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("1 user may authenticate; closed 1 connection of users who were removed or changed")
        self.assertRaises(ConnectionError, inside.ask, b"version")
        self.assertNotIn("nothing changed", self.log())
        client = self.client()
        self.assertEqual(self.log_in(client, b"ann secret"), _FAILURE)
        self.assertEqual(self.log_in(client, b"eve new"), b"STORED")
        self.users.write_text("eve\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log(f"reload refused: {self.users}:1:1: is not user:password")
        self.assertEqual(self.log_in(self.client(), b"eve new"), b"STORED", "the users that were known stay")
        self.assertNotIn("secret", self.log())
        self.end()

    def test_a_wrong_file_starts_nothing(self):
        users = self.directory / "users"
        for text, expected in (("", ": holds no user"), ("ann\n", ":1:1: is not user:password"),
                               ("ann:x\n\n", ":2:1: is not user:password"), (":x\n", ":1:1: is not user:password"),
                               ("a n:x\n", ":1:2: the user's name contains a space"), ("a:" + "x" * 254 + "\n", ":1:256: is longer than 255"),
                               (None, ": cannot be read")):
            users.unlink(missing_ok=True)
            if text is not None:
                users.write_text(text)
            code, errors = self.run_to_end("--set", f"server.auth_file={users}")
            self.assertEqual(code, 2, errors)
            self.assertIn(f"{users}{expected}", errors)
            self.assertNotIn("listening", errors)

    def test_ten_thousand_users_may_come(self):
        self.serve("".join(f"u{i}:pw{i}\n" for i in range(10_000)))
        self.assertEqual(self.log_in(self.client(), b"u9999 pw9999"), b"STORED")
        self.assertIn("clients authenticate: 10000 users of", self.log())
        self.assertIn("10000 passwords are in clear text", self.log())

    @unittest.skipIf(Client is None, "pymemcache is not installed")
    def test_a_client_library_logs_in_by_its_set(self):
        self.serve()
        client = Client(("127.0.0.1", self.ports()[0]), default_noreply=False)
        self.addCleanup(client.close)
        self.assertTrue(client.set("auth", b"ann secret"))
        self.assertTrue(client.set("k", b"v"))
        self.assertEqual(client.get("k"), b"v")
