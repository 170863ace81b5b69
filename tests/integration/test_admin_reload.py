"""Administration listeners change by SIGHUP and by `config set`: the server opens new ones first, and changes all or none."""

import json
import signal
import socket
import threading
import time

from harness import mxkv_only, patience, wait_for
from harness.beside import load_tests  # noqa: F401
from harness.http import ask
from harness.server import free_port
from test_admin_tls import AdminTlsCase


@mxkv_only("reloading")
class AdminReloadTest(AdminTlsCase):
    """A line of the log shows each reload."""

    def configure(self, *listeners: str, more: str = "") -> None:
        self.write_config(f"admin: {{listeners: [{', '.join(listeners)}]}}\n{more}")

    def reload(self, expected: str, *listeners: str, more: str = "") -> None:
        self.configure(*listeners, more=more)
        before = self.log().count(expected)
        self.process.send_signal(signal.SIGHUP)
        self.wait_log(expected, before + 1)

    def start_with(self, *listeners: str, more: str = "") -> None:
        self.configure(*listeners, more=more)
        self.start()

    def alive(self, port: int) -> bool:
        try:
            return self.get("/livez", where=port).text == "alive\n"
        except ConnectionRefusedError:
            return False

    def test_listeners_come_and_go_and_those_that_stay_keep_their_connections(self):
        first, second = free_port(), free_port()
        self.start_with(f"127.0.0.1:{first}")
        kept = self.connect_admin(first)
        ask(kept, "/livez")
        opened = kept.sock
        self.reload("reload: admin.listeners is now", f"127.0.0.1:{second}", f"127.0.0.1:{first}")
        self.assertTrue(self.alive(first) and self.alive(second))
        self.assertEqual(ask(kept, "/livez").text, "alive\n")
        self.assertIs(kept.sock, opened)
        gone = self.connect_admin(second)
        ask(gone, "/livez")
        self.reload("reload: admin.listeners is now", f"127.0.0.1:{first}")
        self.assertEqual(gone.sock.recv(1), b"", "its listener has gone")
        self.assertFalse(self.alive(second))
        self.assertEqual(ask(kept, "/livez").text, "alive\n")
        self.assertIs(kept.sock, opened)
        self.assertIn(f"127.0.0.1:{first}", self.get("/config", where=first).text)
        self.end()

    def test_from_none_to_some_and_back(self):
        self.start_with()
        port = free_port()
        requests = ended = 0
        for _ in range(3):
            self.reload("reload: admin.listeners is now", f"127.0.0.1:{port}")
            wait_for(lambda: self.get("/readyz", where=port).status == 200, "ready")
            seen = self.metrics(where=port)
            self.assertEqual(seen["mxkv_ready"], 1)
            self.assertGreater(seen["mxkv_admin_requests_total"], requests, "it counts on")
            requests = seen["mxkv_admin_requests_total"]
            times = wait_for(lambda: json.loads(self.get("/status.json", where=port).text)["series"]["time"], "a second")
            self.assertGreater(times[0], ended, "what was before is not shown as of now")
            self.reload("reload: admin.listeners is now []")
            ended = time.time()
            self.assertFalse(self.alive(port))
        self.end()

    def test_an_address_that_is_taken_leaves_all_as_it_was(self):
        first, second = free_port(), free_port()
        self.start_with(f"127.0.0.1:{first}")
        kept = self.connect_admin(first)
        ask(kept, "/livez")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.reload(f"error reload refused: {self.config}:3:", f"127.0.0.1:{second}", f"127.0.0.1:{port}",
                        more="limits: {pipeline: 77}\n")
        lines = [line for line in self.log().splitlines() if "refused" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(f"admin.listeners[1]: listen on 127.0.0.1:{port}: Address already in use", lines[0])
        self.assertFalse(self.alive(second), "it was opened, and closed again")
        self.assertEqual(ask(kept, "/livez").text, "alive\n")
        self.assertNotEqual(self.client().stats(b"settings")["pipeline"], "77", "nothing of the file holds")
        self.reload("limits.pipeline is now 77", f"127.0.0.1:{second}", more="limits: {pipeline: 77}\n")
        self.assertTrue(self.alive(second))

    def test_a_login_that_is_asked_for_ends_connections_that_had_none(self):
        users = self.directory / "users"
        users.write_text("ann:secret\n")
        users.chmod(0o600)
        port, more = free_port(), f"server: {{auth_file: {users}}}\n"
        self.start_with(f"127.0.0.1:{port}", more=more)
        before = self.connect_admin(port)
        self.assertEqual(ask(before, "/config").status, 200)
        self.reload("reload: admin.listeners is now", f"{{port: {port}, auth: required}}", more=more)
        self.assertEqual(before.sock.recv(1), b"")
        self.assertEqual(self.get("/config", where=port).status, 401)
        self.assertEqual(self.get("/config", where=port, user="ann:secret").status, 200)

    def test_tls_that_is_asked_for_holds_on_the_same_address(self):
        port = free_port()
        secure = f"{{port: {port}, tls: {{certificate: {self.server}, key: {self.key}}}}}"
        self.start_with(f"127.0.0.1:{port}")
        self.assertTrue(self.alive(port))
        self.reload("reload refused:", secure.replace(str(self.key), "absent.key"))
        self.assertIn("admin.listeners[0].tls.key: ", self.log())
        self.assertTrue(self.alive(port), "a wrong file changes nothing")
        self.reload("reload: admin.listeners is now", secure)
        self.assertEqual(self.get("/livez", where=port, tls=self.context()).text, "alive\n")
        self.assertEqual(self.get("/livez", where=port).status, 400)
        self.reload("reload: admin.listeners is now", f"127.0.0.1:{port}")
        self.assertTrue(self.alive(port))

    def test_a_unix_socket_goes_with_its_file(self):
        path = self.directory / "admin.sock"
        self.start_with()
        self.reload("reload: admin.listeners is now", f"\"unix:{path}\"")
        self.assertTrue(path.is_socket())
        self.reload("error reload refused:", f"{{path: {path}, mode: \"0600\"}}")
        self.assertTrue(path.is_socket(), "the mode of one that is open stays")
        self.reload("reload: admin.listeners is now []")
        self.assertFalse(path.exists())

    def test_config_set_takes_them_too(self):
        port = free_port()
        self.start_with()
        client = self.client()
        self.assertEqual(client.ask(b"config set admin.listeners [127.0.0.1:%d]" % port), b"OK")
        self.assertTrue(self.alive(port))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            reply = client.ask(b"config set admin.listeners [127.0.0.1:%d]" % taken.getsockname()[1])
        self.assertRegex(reply, rb"^CLIENT_ERROR .*Address already in use")
        self.assertTrue(self.alive(port))
        self.reload("reload: admin.listeners is now [], was", more="limits: {pipeline: 77}\n")
        self.assertFalse(self.alive(port))

    def test_those_who_ask_all_the_time_are_never_refused_by_one_that_stays(self):
        port, other = free_port(), free_port()
        self.start_with(f"127.0.0.1:{port}")
        stop, failed = threading.Event(), []

        def asks():
            while not stop.is_set():
                try:
                    if self.get("/livez", where=port).text != "alive\n":
                        failed.append("another answer")
                except OSError as error:
                    failed.append(error)
        threads = [threading.Thread(target=asks) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for number in range(10):
                self.reload("reload: admin.listeners is now", f"127.0.0.1:{port}", *([f"127.0.0.1:{other}"] if number % 2 == 0 else []))
        finally:
            stop.set()
            for thread in threads:
                thread.join(patience(20))
        self.assertEqual(failed, [])
        self.end()
