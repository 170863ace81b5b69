"""Administration by HTTP: the reply of each path, and that hostile requests stop only themselves."""

import contextlib
import http.client
import select
import signal
import socket
import struct
import time
import unittest

from harness.beside import load_tests  # noqa: F401
from harness.daemon import wait_for
from harness.environment import patience, scaled
from harness.http import AdminCase, read_all

LIVEZ = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"


class AdminPagesTest(AdminCase):
    def setUp(self):
        super().setUp()
        self.start_admin()

    def test_each_path_answers_get_and_head_alike(self):
        for path, kind in (("/livez", "text/plain"), ("/readyz", "text/plain"), ("/metrics", "text/plain"),
                           ("/config", "application/yaml"), ("/", "text/html"), ("/status.css", "text/css"),
                           ("/status.js", "text/javascript"), ("/status.json", "application/json"),
                           ("/prefixes.json?delimiter=:", "application/json")):
            with self.subTest(path):
                got, head = self.get(path), self.get(path, "HEAD")
                self.assertEqual((got.status, head.status), (200, 200))
                self.assertTrue(got.headers["Content-Type"].startswith(kind), got.headers["Content-Type"])
                self.assertEqual(head.headers["Content-Type"], got.headers["Content-Type"])
                self.assertEqual(head.text, "")
                self.assertGreater(int(head.headers["Content-Length"]), 0)
                self.assertEqual(int(got.headers["Content-Length"]), len(got.text.encode()))

    def test_a_server_that_serves_is_alive_and_ready(self):
        self.assertEqual(self.get("/livez").text, "alive\n")
        wait_for(lambda: self.get("/readyz").text == "ready\n", "ready")

    def test_replies_are_strict_about_what_browsers_may_do_with_them(self):
        for path in ("/", "/livez", "/metrics", "/config", "/status.js", "/status.json", "/nothing"):
            headers = self.get(path).headers
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])

    def test_config_is_what_is_in_force_and_who_set_it(self):
        text = self.get("/config").text
        self.assertRegex(text, r"(?m)^workers: +2 +# --workers$")
        self.assertRegex(text, r"(?m)^  slow: 10ms +# default$")

    def test_what_is_not_there_is_404_and_what_would_change_anything_405(self):
        for path in ("/nothing", "/metrics/", "/livez/..", "//livez", "/%6divez", "/config.yaml"):
            self.assertEqual(self.get(path).status, 404, path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"):
            reply = self.get("/livez", method)
            self.assertEqual((reply.status, reply.headers["Allow"]), (405, "GET, HEAD"), method)

    def test_a_connection_is_kept_for_the_next_request(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port(), timeout=patience(20))
        connection.connect()
        opened = connection.sock
        for _ in range(20):
            connection.request("GET", "/livez")
            self.assertEqual(connection.getresponse().read(), b"alive\n")
        self.assertIs(connection.sock, opened)
        connection.close()

    def test_http_1_0_and_connection_close_end_behind_the_reply(self):
        for request in (b"GET /livez HTTP/1.0\r\n\r\n", b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"):
            reply = self.raw_reply(request)
            self.assertTrue(reply.startswith(b"HTTP/1."), reply)
            self.assertTrue(reply.endswith(b"alive\n"), reply)

    def test_a_browser_that_was_led_here_by_somebody_elses_name_is_refused(self):
        browser = {"Accept-Language": "en"}
        self.assertEqual(self.get("/", Host="evil.example", **browser).status, 421)
        self.assertEqual(self.get("/status.json", Host="evil.example:11212", Origin="http://evil.example").status, 421)
        for host in ("127.0.0.1:1", "localhost", "[::1]", socket.gethostname()):
            self.assertEqual(self.get("/", Host=host, **browser).status, 200, host)
        self.assertEqual(self.get("/metrics", Host="cache1.example.com").status, 200)  # not a browser

    def test_a_request_of_http_1_1_has_one_header_host(self):
        for headers in (b"", b"Host: a\r\nHost: a\r\n", b"Host: a\r\nX: y\r\nhost: b\r\n", b"Host: a b\r\n", b"Host: u@a\r\n"):
            for method in (b"GET", b"POST"):
                reply = self.raw_reply(method + b" /livez HTTP/1.1\r\n" + headers + b"\r\n")
                self.assertTrue(reply.startswith(b"HTTP/1.1 400 "), (headers, reply))
                self.assertIn(b"Host", reply.split(b"\r\n\r\n")[1])
        reply = self.raw_reply(b"GET /livez HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n")
        self.assertTrue(reply.startswith(b"HTTP/1.0 400 "), reply)

    def test_a_target_may_be_a_whole_url_whose_host_counts(self):
        def status(target: bytes, *headers: bytes) -> bytes:
            sent = b"\r\n".join((b"GET %s HTTP/1.1" % target, b"Host: mxkv", b"Connection: close", *headers, b"", b""))
            return self.raw_reply(sent).split(b" ")[1]
        for target in (b"http://mxkv/livez", b"HTTP://127.0.0.1:80/livez?x", b"https://[::1]/metrics", b"http://mxkv", b"http://mxkv?x"):
            self.assertEqual(status(target), b"200", target)
        self.assertEqual(status(b"http://mxkv/nothing"), b"404")
        self.assertEqual(status(b"http://evil.example/", b"Accept-Language: en"), b"421")
        for target in (b"ftp://mxkv/livez", b"http:///livez", b"http://u@mxkv/livez", b"*", b"mxkv:80"):
            self.assertEqual(status(target), b"400", target)

    def test_weights_of_accept_decide_the_form_of_metrics(self):
        for accept, wanted in (("application/openmetrics-text;version=1.0.0;q=0.6,text/plain;q=0.5,*/*;q=0.1", "application/openmetrics-text"),
                               ("application/openmetrics-text;q=0", "text/plain"), ("application/openmetrics-text;q=0, text/plain", "text/plain"),
                               ("application/openmetrics-text;q=0.2,text/plain;q=0.8", "text/plain"), ("*/*", "text/plain")):
            kind = self.get("/metrics", Accept=accept).headers["Content-Type"]
            self.assertTrue(kind.startswith(wanted + ";"), (accept, kind))

    def test_the_classic_clients_are_not_its_clients(self):
        reply = self.raw_reply(b"get a\r\nversion\r\n")
        self.assertTrue(reply.startswith(b"HTTP/1.1 400 "), reply)


class HostileHttpTest(AdminCase):
    def setUp(self):
        super().setUp()
        self.start_admin()

    def assert_answers(self):
        self.assertEqual(self.get("/livez").text, "alive\n")
        self.assertTrue(self.client().ask(b"version").startswith(b"VERSION"))

    def test_requests_sent_together_are_answered_in_turn(self):
        count = 100
        connection = self.raw(LIVEZ * count + b"GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        reply = read_all(connection)
        self.assertEqual(reply.count(b"HTTP/1.1 200 OK"), count)
        self.assertEqual(reply.count(b"HTTP/1.1 404 "), 1)
        self.assertGreater(reply.rindex(b"HTTP/1.1 404 "), reply.rindex(b"HTTP/1.1 200 OK"))

    def test_a_header_that_is_too_long_is_told_so(self):
        for request in (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
                        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
                        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + b"\r\n"):
            reply = self.raw_reply(request)
            self.assertTrue(reply.startswith(b"HTTP/1.1 431 "), reply[:100])
        self.assert_answers()

    def test_a_header_of_many_small_lines_is_too_long_however_it_comes(self):
        # Each part ends with the first byte of a line: the parser has taken all lines before it.
        begin, lines = b"GET /livez HTTP/1.1\r\nHost: a\r\nA", b": b\r\nA"
        for first, *parts in ((1000, 1000), (1300, 60, 60), (20,) * 80, (400,) * 40):
            connection = self.raw(begin + lines * first)
            for count in parts:  # the server reads all parts that its kernel holds as one
                select.select([connection], [], [], 0.02)
                with contextlib.suppress(ConnectionError):  # the server has answered, and does not read for ever
                    connection.sendall(lines * count)
            with contextlib.suppress(ConnectionError):
                connection.sendall(b": b\r\nConnection: close\r\n\r\n")
            self.assertTrue(read_all(connection).startswith(b"HTTP/1.1 431 "), (first, parts))
        self.assertTrue(self.raw_reply(begin + lines * 1300 + b": b\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200 "))
        self.assert_answers()

    def test_a_header_without_end_ends(self):
        connection = self.raw(b"GET / HTTP/1.1\r\nHost: a\r\n")
        try:
            for _ in range(1000):
                connection.sendall(b"A: " + b"b" * 1000 + b"\r\n")
        except OSError:
            pass
        connection.settimeout(patience(20))
        read_all(connection)
        self.assert_answers()

    def test_what_is_no_http_is_told_so(self):
        for request in (b"\x80\x00\x00\x00\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
                        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n" * 8, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                        b"GET livez HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
                        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"):
            with self.subTest(request):
                self.assertTrue(self.raw_reply(request).startswith(b"HTTP/1.1 400 "), request)
        self.assert_answers()

    def test_a_body_is_refused(self):
        for request in (b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde",
                        b"GET /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"):
            reply = self.raw_reply(request)
            self.assertTrue(reply.startswith(b"HTTP/1.1 413 "), reply[:100])
        self.assert_answers()

    def test_connections_that_do_nothing_keep_nobody_out(self):
        idle = [self.raw(b"GET /" if i % 2 else b"") for i in range(200)]
        self.assert_answers()
        connection = idle[-1]  # the last connections are still open
        connection.sendall(b"livez HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 200 "))
        self.assertGreater(self.metrics()["mxkv_admin_connections_displaced_total"] + 1, 0)

    def test_a_slow_header_is_cut_off(self):
        connection = self.raw(b"GET /livez HTTP/1.1\r\nHost: a\r\n")
        ended = time.monotonic() + patience(30)
        try:
            while time.monotonic() < ended:
                connection.sendall(b"A")
                connection.settimeout(0.2)
                try:
                    if not connection.recv(100):
                        break
                except TimeoutError:
                    continue
            else:
                self.fail("a header may take for ever")
        except OSError:
            pass
        self.assert_answers()

    def test_resets_in_the_middle_stop_nothing(self):
        for sent in (b"", b"GET", LIVEZ, LIVEZ * 50, b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 20):
            for _ in range(scaled(50, 5)):
                connection = self.raw(sent)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
        self.assert_answers()

    def test_who_takes_no_replies_stops_only_itself(self):
        connection = self.raw()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        try:
            for _ in range(2000):
                connection.send(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        except BlockingIOError:
            pass
        self.assert_answers()

    def test_an_end_in_the_middle_of_requests_is_an_end_in_order(self):
        for sent in (b"", b"GET /li", LIVEZ, b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 100):
            self.raw(sent)
        self.end()


class AdminLifeTest(AdminCase):
    def test_a_port_in_use_is_one_clear_error(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            code, error = self.run_to_end("--set", f"admin.listeners=[127.0.0.1:{port}]")
        self.assertEqual(code, 1)
        lines = [line for line in error.splitlines() if line.startswith("mxkvd: ")]
        self.assertEqual(lines, [f"mxkvd: admin: listen on 127.0.0.1:{port}: Address already in use"])

    def test_a_place_that_clients_have_is_refused_with_its_place(self):
        self.write_config("listeners: [127.0.0.1:23911]\nadmin:\n  listeners: [127.0.0.1:23911]\n")
        code, error = self.run_to_end(listen=())
        self.assertEqual(code, 2)
        self.assertIn(f"{self.config}:5:15: admin.listeners[0]: 127.0.0.1:23911 is taken already (by listeners[0], ", error)

    def test_a_node_is_refused(self):
        self.write_config("admin:\n  listeners: [{port: 0, node: 0}]\n")
        code, error = self.run_to_end()
        self.assertEqual(code, 2)
        self.assertIn("admin.listeners[0].node: no worker serves administration", error)

    def test_a_login_where_there_are_no_users_is_refused(self):
        self.write_config("admin:\n  listeners: [{port: 0, auth: required}]\n")
        code, error = self.run_to_end()
        self.assertEqual(code, 2)
        self.assertIn(f"{self.config}:4:31: admin.listeners[0].auth: is required, but there are no users", error)

    def test_a_unix_socket_serves_and_goes_with_the_daemon(self):
        path = self.directory / "admin.sock"
        self.start("--set", f"admin.listeners=[unix:{path}]")
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            connection.settimeout(patience(20))
            connection.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
            self.assertTrue(read_all(connection).endswith(b"alive\n"))
        self.end()
        self.assertFalse(path.exists())

    def test_without_listeners_there_is_none(self):
        self.start()
        self.assertNotIn("administration", self.log())

    def test_reload_shows_in_config(self):
        self.write_config("admin: {listeners: [127.0.0.1:0]}\nstats: {slow: 20ms}\n")
        self.start()
        self.assertRegex(self.get("/config").text, r"(?m)^  slow: 20ms +# \S+mxkv.yaml:4:15$")
        self.write_config("admin: {listeners: [127.0.0.1:0]}\nstats: {slow: 30ms}\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("reload: stats.slow is now 30ms")
        self.assertRegex(self.get("/config").text, r"(?m)^  slow: 30ms ")

    def test_it_is_not_ready_while_it_drains_and_alive(self):
        self.start_admin("--set", "server.drain_timeout=30s")
        client = self.client()
        client.send(b"mn\r\nset a 0 0 400000\r\n" + b"a" * 400000 + b"\r\n" + b"get a\r\n" * 200)  # unread replies
        wait_for(lambda: self.metrics()['mxkv_commands_total{command="get",result="hit"}'] > 0, "gets")
        self.process.send_signal(signal.SIGTERM)
        reply = wait_for(lambda: (found := self.get("/readyz")).status == 503 and found, "not ready")
        self.assertEqual(reply.text, "draining\n")
        self.assertEqual(self.get("/livez").text, "alive\n")
        client.close()
        self.assertEqual(self.process.wait(timeout=patience(30)), 0)
        self.assert_no_report()

    def test_all_connections_taken_is_overloaded_and_passes(self):
        self.start_admin("--set", "limits.connections=2")
        clients = [self.client() for _ in range(2)]
        for client in clients:
            client.ask(b"version")
        reply = wait_for(lambda: (found := self.get("/readyz")).status == 503 and found, "overloaded")
        self.assertEqual(reply.text, "overloaded: all of 2 connections are in use (limits.connections)\n")
        self.assertEqual(self.metrics()["mxkv_overloaded"], 1)
        self.assertEqual(self.get("/livez").status, 200)
        for client in clients:
            client.close()
        wait_for(lambda: self.get("/readyz").status == 200, "ready again")

    def test_a_server_that_refuses_writes_is_overloaded_and_stays_ready(self):
        self.start_admin("--set", "memory.limit=16MiB", "--set", "memory.when_full=error")
        client = self.client()
        value = b"v" * 500_000
        for i in range(64):
            if client.set(b"k%d" % i, value) != b"STORED":
                break
        reply = wait_for(lambda: "overloaded" in (found := self.get("/readyz")).text and found, "overloaded")
        self.assertEqual((reply.status, reply.text),
                         (200, "ready\noverloaded: writes were refused for lack of memory in the last 10 s\n"))
        self.assertEqual(client.set(b"k", value), b"SERVER_ERROR out of memory storing object", "10 s begin anew")
        metrics = self.metrics()
        self.assertEqual((metrics["mxkv_ready"], metrics["mxkv_overloaded"]), (1, 1))
        self.assertEqual(client.get(b"k0"), value, "it serves reads")


if __name__ == "__main__":
    unittest.main()
