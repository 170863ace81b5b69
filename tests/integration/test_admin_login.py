"""Access to the pages of a listener that requires a login: HTTP Basic, with the users of clients."""

import base64
import re
import signal
import socket
import time
import unittest

from harness import mxkv_only, patience, scaled, wait_for
from harness.beside import load_tests  # noqa: F401
from harness.http import AdminCase, ask, read_all
from test_users import UsersCase, hash_of

try:
    from prometheus_client.parser import text_string_to_metric_families as prometheus
except ImportError:
    prometheus = None

_USERS = ("name: r, password: x", "name: a, password: y, role: administrator")
_PAGES = ("/", "/status.css", "/status.js", "/metrics", "/status.json", "/config", "/prefixes.json", "/nothing")
_FOR_ADMINISTRATORS = ("/config", "/prefixes.json")


class AdminLoginCase(AdminCase, UsersCase):
    def serve_admin(self, *users: str, options=()) -> None:
        """A listener that requires a login."""
        self.write(*users)
        self.write_config(f"server: {{auth_file: {self.users}}}\n"
                          "admin: {listeners: [{port: 0, auth: required}]}\n")
        self.start(*options)
        wait_for(lambda: self.get("/readyz").status == 200, "ready")


@mxkv_only("users")
class AdminLoginTest(AdminLoginCase):
    def test_without_a_login_only_the_probes_answer(self):
        self.serve_admin(*_USERS)
        for path in ("/livez", "/readyz"):
            self.assertEqual(self.get(path).status, 200, path)
        for path in _PAGES:
            for method in ("GET", "HEAD"):
                reply = self.get(path, method)
                self.assertEqual((reply.status, reply.headers["WWW-Authenticate"]), (401, 'Basic realm="mxkv", charset="UTF-8"'), path)
        self.assertIn(", for users of server.auth_file", self.log())
        self.assertEqual(self.metrics(user="a:y")["mxkv_admin_login_failures_total"], 0, "nobody has tried")
        self.end()
        self.assertNotIn("wrong user", self.log())

    def test_each_role_sees_what_it_may(self):
        self.serve_admin(*_USERS, "name: w, password: z, role: writer")
        for path in _PAGES:
            wanted = 404 if path == "/nothing" else 200
            self.assertEqual(self.get(path, user="a:y").status, wanted, path)
            for user in ("r:x", "w:z"):
                self.assertEqual(self.get(path, user=user).status, 403 if path in _FOR_ADMINISTRATORS else wanted, (path, user))
        self.assertEqual(self.metrics(user="a:y")["mxkv_forbidden_requests_total"], 4)

    def test_keys_and_clients_are_for_administrators_on_the_page_too(self):
        self.serve_admin(*_USERS, options=("--set", "stats.sample=1", "--set", "stats.slow=1ms"))
        client = self.as_user("a", "y")
        client.set(b"secret", b"v")
        for _ in range(300):
            client.get(b"secret")
        wait_for(lambda: "secret" in self.get("/status.json", user="a:y").text, "a hot key")
        reply = self.get("/status.json", user="r:x")
        self.assertNotIn("secret", reply.text)
        self.assertIn('"hot":null', reply.text.replace(" ", ""))
        self.assertGreater(self.metrics(user="r:x")['mxkv_commands_total{command="get",result="hit"}'], 0)

    @unittest.skipUnless(prometheus, "python3-prometheus-client is not installed")
    def test_a_scraper_that_is_a_reader_gets_all_metrics(self):
        self.serve_admin(*_USERS)
        families = {family.name for family in prometheus(self.get("/metrics", user="r:x").text)}
        self.assertLess({"mxkv_commands", "mxkv_tls_handshakes", "mxkv_login_failures"}, families)

    def test_a_listener_without_auth_asks_nobody_though_there_are_users(self):
        self.write(*_USERS)
        self.write_config(f"server: {{auth_file: {self.users}}}\n"
                          "admin: {listeners: [\"127.0.0.1:0\", {port: 0, auth: none}, {port: 0, auth: required}]}\n")
        self.start()
        ports = wait_for(lambda: len(found := self.admin_ports()) == 3 and found, "three listeners")
        self.assertEqual([self.get("/config", where=port).status for port in ports], [200, 200, 401])

    def test_a_hash_is_verified_once_and_stops_nobody(self):
        made = hash_of("se:cret")
        self.serve_admin(f'name: ann, password: "{made}", role: administrator')
        for wrong in ("ann:secret", "ann:", f"ann:{made}", "bob:se:cret", ":se:cret"):
            self.assertEqual(self.get("/metrics", user=wrong).status, 401, wrong)
        self.assertEqual(self.get("/config", user="ann:se:cret").status, 200, "a password may have colons")
        self.assertEqual(self.log_in(self.client(), "ann", "se:cret"), b"STORED")

    def test_what_is_no_login_is_a_wrong_one(self):
        self.serve_admin(*_USERS)
        coded = base64.b64encode(b"a:y").decode()
        for header in ("Basic", "Basic ", "Bearer " + coded, coded, "Basic " + coded[:-1], "Basic ====", "Basic \xff\xff",
                       "Basic " + base64.b64encode(b"ay").decode(), "Basic " + base64.b64encode(b"a:y\0").decode(),
                       "Basic " + base64.b64encode(b"a:y\n").decode(), "Basic " + coded + " x", "Digest username=\"a\"",
                       "Basic " + base64.b64encode(b"a:" + b"y" * 3000).decode()):
            self.assertEqual(self.get("/metrics", Authorization=header).status, 401, header)
        for header in ("basic " + coded, "BASIC   " + coded):
            self.assertEqual(self.get("/metrics", Authorization=header).status, 200, header)

    def test_logins_on_one_connection_are_each_their_own(self):
        self.serve_admin(*_USERS)
        connection = self.connect_admin()
        for user, status in (("r:x", 403), ("a:y", 200), ("", 401), ("r:x", 403), ("a:x", 401), ("a:y", 200), ("a:y", 200)):
            self.assertEqual(ask(connection, "/config", user=user).status, status, user)

    def test_a_login_is_counted_once_a_connection(self):
        self.serve_admin(*_USERS)
        connection = self.connect_admin()
        before = self.metrics(user="a:y")["mxkv_logins_total"]
        for _ in range(20):
            self.assertEqual(ask(connection, "/status.json", user="a:y").status, 200)
        self.assertEqual(self.metrics(user="a:y")["mxkv_logins_total"], before + 2)


@mxkv_only("users")
class WrongAdminLoginTest(AdminLoginCase):
    def test_wrong_logins_wait_and_end_their_connection(self):
        self.serve_admin(*_USERS)
        connection = self.connect_admin()
        waited = []
        for number in range(1, 11):
            began = time.monotonic()
            reply = ask(connection, "/metrics", user="a:wrong")
            waited.append(time.monotonic() - began)
            self.assertEqual(reply.status, 401)
            self.assertEqual(reply.headers["Connection"] == "close", number == 10, number)
        for number, seconds in ((4, 0.1), (5, 0.2), (6, 0.4), (7, 0.8)):
            self.assertGreaterEqual(waited[number - 1], seconds, number)
        self.assertEqual(self.get("/metrics", user="a:y").status, 200)
        wait_for(lambda: self.metrics(user="a:y")["mxkv_admin_login_failures_total"] == 10, "ten of them")
        self.assertEqual(self.metrics(user="a:y")["mxkv_login_failures_total"], 10)

    def test_who_waits_stops_nobody_else(self):
        self.serve_admin(*_USERS)
        coded = base64.b64encode(b"a:wrong").decode()
        asked = f"GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {coded}\r\n\r\n".encode()
        waiting = []

        def are_served_meanwhile() -> bool:
            """On a busy machine the logins may have ended before the last probe: then new logins wait."""
            waiting.extend(self.raw(asked * 9) for _ in range(20))
            self.wait_log("wrong user or password")
            began = time.monotonic()
            for _ in range(20):
                self.assertEqual(self.get("/livez").text, "alive\n")
            return time.monotonic() - began < 2
        wait_for(are_served_meanwhile, "20 answers while logins wait for seconds")
        self.assertEqual(self.get("/metrics", user="a:y").status, 200, "after a wait, as its address was wrong so often")
        self.assertTrue(all(connection.recv(1).startswith(b"H") for connection in waiting))

    def test_an_address_that_guesses_on_many_connections_waits_at_both_doors(self):
        self.serve_admin(*_USERS)
        for _ in range(21):
            self.assertEqual(self.get("/metrics", user="a:wrong").status, 401)
        began = time.monotonic()
        self.assertEqual(self.get("/metrics", user="a:wrong").status, 401)
        self.assertGreaterEqual(time.monotonic() - began, 0.1)
        began = time.monotonic()
        self.assertEqual(self.log_in(self.client(), "a", "y"), b"STORED")
        self.assertGreaterEqual(time.monotonic() - began, 0.1, "the same table")

    def test_the_log_names_address_and_user_a_line_a_second(self):
        self.serve_admin(*_USERS)
        connection = self.connect_admin()
        for _ in range(3):
            ask(connection, "/metrics", user='no"body:x')
        self.wait_log("administration by HTTP: wrong user or password from tcp:127.0.0.1:")
        wait_for(lambda: len(re.findall(r"wrong user or password from", self.log())) + sum(
            int(more) for more in re.findall(r"\(and (\d+) more\)", self.log())) == 3, "three of them")
        self.assertRegex(self.log(), r'warning administration by HTTP: wrong user or password from tcp:127\.0\.0\.1:\d+ as "no\\x22body"')
        self.assertNotIn(":x", self.log().partition("wrong user")[2], "no password")

    def test_who_leaves_while_its_login_waits_leaves_nothing(self):
        self.serve_admin(f'name: ann, password: "{hash_of("secret")}"')
        coded = base64.b64encode(b"ann:wrong").decode()
        for _ in range(30):
            connection = self.raw(f"GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {coded}\r\n\r\n".encode())
            connection.close()
        self.assertEqual(self.get("/metrics", user="ann:secret").status, 200)
        self.end()

    def test_the_daemon_ends_while_logins_wait(self):
        coded = base64.b64encode(b"a:wrong").decode()
        asked = f"GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {coded}\r\n\r\n".encode()
        for count in scaled(5, 2) * [5, 60]:
            self.log_file.write_text("")
            self.serve_admin(*_USERS)
            for _ in range(count):
                self.raw(asked * 9)
            self.end()

    def test_a_unix_socket_has_no_address_and_waits_by_connection(self):
        self.write(*_USERS)
        path = self.directory / "admin.sock"
        self.write_config(f"server: {{auth_file: {self.users}}}\nadmin: {{listeners: [{{path: {path}, auth: required}}]}}\n")
        self.start()
        coded = base64.b64encode(b"a:wrong").decode()
        for _ in range(30):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(path))
                connection.settimeout(patience(20))
                connection.sendall(f"GET /metrics HTTP/1.0\r\nAuthorization: Basic {coded}\r\n\r\n".encode())
                self.assertTrue(read_all(connection).startswith(b"HTTP/1.0 401 "))
        self.wait_log("wrong user or password from unix:")


@mxkv_only("users")
class AdminUsersReloadTest(AdminLoginCase):
    def test_users_hold_from_the_next_request_on(self):
        self.serve_admin(*_USERS, "name: b, password: x")
        connection = self.connect_admin()
        self.assertEqual(ask(connection, "/metrics", user="b:x").status, 200)
        other = self.connect_admin()
        self.assertEqual(ask(other, "/config", user="a:y").status, 200)
        self.reload("name: a, password: y", "name: c, password: x, role: administrator")
        self.wait_log("2 users may authenticate")
        self.assertEqual(ask(connection, "/metrics", user="b:x").status, 401, "it is gone")
        self.assertEqual(ask(other, "/config", user="a:y").status, 403, "it has less rights")
        self.assertEqual(ask(other, "/config", user="c:x").status, 200)


@mxkv_only("users")
class AdminLoginAtTheEndTest(AdminLoginCase):
    def test_users_may_look_while_it_drains(self):
        self.serve_admin(*_USERS, options=("--set", "server.drain_timeout=30s"))
        client = self.as_user("a", "y")
        client.send(b"mn\r\nset a 0 0 400000\r\n" + b"a" * 400000 + b"\r\n" + b"get a\r\n" * 200)
        wait_for(lambda: self.metrics(user="r:x")['mxkv_commands_total{command="get",result="hit"}'] > 0, "gets")
        self.process.send_signal(signal.SIGTERM)
        wait_for(lambda: self.get("/readyz").status == 503, "it drains")
        self.assertEqual(self.get("/metrics", user="r:x").status, 200, "who is known needs no hash")
        client.close()
        self.assertEqual(self.process.wait(timeout=patience(30)), 0)


if __name__ == "__main__":
    unittest.main()
