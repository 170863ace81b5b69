"""The Python client if connections end, servers restart, passwords are wrong, or many threads share it."""

import contextlib
import os
import signal
import ssl
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from harness import DaemonCase, Options, Server, ServerCase, patience, pause, scaled, wait_for
from harness.proxy import Proxy
from harness.tls import GuardedCase
from python_client import mxkv

CLIENTS = Path(__file__).resolve().parents[2] / "protocol" / "clients"


class LostConnectionsTest(ServerCase):
    def setUp(self):
        self.proxy = Proxy(self.server.port)
        self.addCleanup(self.proxy.close)
        direct = self.client(self.server.port)
        direct.flush_all()
        self.keys = [b"key:%05d" % number for number in range(scaled(10000, 1000))]
        direct.set_many({key: b"value of " + key for key in self.keys})
        self.direct = direct

    def client(self, port=None, **arguments) -> mxkv.Client:
        client = mxkv.Client(("127.0.0.1", port or self.proxy.port), timeout=patience(20), connect_timeout=patience(20),
                             retry_wait=0.001, **arguments)
        self.addCleanup(client.close)
        return client

    def test_a_range_goes_on_where_a_connection_was_cut_in_a_page(self):
        for reverse in (False, True):
            found = []
            cuts = self.proxy.cuts
            for key, value in self.client().scan("key:", reverse=reverse, page_items=200):
                if len(found) % 997 == 0:
                    self.proxy.cut(len(found) % 5000)
                self.assertEqual(value, b"value of " + key)
                found.append(key)
            self.assertEqual(found, self.keys[::-1] if reverse else self.keys)
            self.assertGreater(self.proxy.cuts, cuts)

    def test_reads_are_sent_again_after_any_cut(self):
        client = self.client()
        wanted = {"key:00001": b"value of key:00001", b"no\0ne": None}
        for after in range(0, 60, 1):
            client.close()
            self.proxy.cut(after)
            self.assertEqual({key: client.get(key) for key in wanted}, wanted)
            self.assertEqual(client.count("key:"), len(self.keys))

    def test_writes_are_not_sent_again_unless_told(self):
        once = [lambda client: client.set("n", 1), lambda client: client.set(b"n\0", 1), lambda client: client.delete("n"),
                lambda client: client.touch("n", 1000), lambda client: client.touch_range("n", 1000), lambda client: client.delete_range("n")]
        never = [lambda client: client.incr("n", 1), lambda client: client.append("n", 1), lambda client: client.add("x", 1),
                 lambda client: client.cas("n", 1, 1), lambda client: client.incr(b"n\0", 1), self.batch_of_one]
        asked = self.client(retry_writes=True)
        silent = self.client()
        for write in once + never:
            for client, again in ((silent, False), (asked, write in once)):
                client.version()
                self.proxy.cut(0)
                with contextlib.nullcontext() if again else self.assertRaises(mxkv.ConnectionLost):
                    write(client)
                self.assertEqual(client.get("key:00001"), b"value of key:00001")

    @staticmethod
    def batch_of_one(client) -> None:
        with client.batch() as batch:
            batch.set("n", 1)

    def test_a_retry_has_an_end(self):
        self.proxy.close()
        with self.assertRaises(mxkv.ConnectionLost):
            self.client(retries=3).get("k")

    def test_a_late_reply_is_never_taken_for_another_ones(self):
        client = mxkv.Client(("127.0.0.1", self.server.port), timeout=0.2)
        self.addCleanup(client.close)

        def connects() -> bool:
            try:
                return bool(client.version())
            except mxkv.RequestTimeout:
                return False
        wait_for(connects, "an answer within the short timeout, on a connection that stays")
        pause(self.server.process)
        try:
            for late in (lambda: client.get("key:00001"), lambda: list(client.scan("key:")), lambda: client.count("key:")):
                with self.assertRaises(mxkv.RequestTimeout):
                    late()
        finally:
            os.kill(self.server.process.pid, signal.SIGCONT)
        client.timeout = patience(20)
        self.assertEqual(client.get("key:00002"), b"value of key:00002")

    def test_a_pool_of_few_connections_serves_many_threads(self):
        pool = mxkv.PooledClient(("127.0.0.1", self.proxy.port), max_pool_size=4, timeout=patience(20))
        self.addCleanup(pool.close)
        failures = []

        def work(number: int) -> None:
            try:
                for step in range(20):
                    key = f"thread:{number}:{step}"
                    pool.set(key, key)
                    assert pool.get(key) == key.encode()
                assert len(list(pool.scan(f"thread:{number}:", page_items=7))) == 20
                try:
                    pool.page(cursor="nonsense")
                    raise AssertionError("no cursor")
                except mxkv.BadCursor:
                    pass
            except BaseException as error:  # noqa: BLE001 - handed to the test
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertLessEqual(self.proxy.accepted, 4)


class RestartTest(unittest.TestCase):
    def test_a_range_goes_on_after_the_server_was_started_anew(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(Options(settings=(("durability.directory", folder), ("durability.sync", "never")))).start()
            self.addCleanup(lambda: server.kill())
            port = server.port
            client = mxkv.Client(("127.0.0.1", port), timeout=patience(20), retries=200, retry_wait=0.05)
            self.addCleanup(client.close)
            keys = [b"key:%04d" % number for number in range(1000)]
            client.set_many({key: "x" for key in keys})
            found = []
            for key, _ in client.scan("key:", page_items=100):
                found.append(key)
                if len(found) == 250:
                    server.stop()
                    server = self.start_on(port, folder)
            self.assertEqual(found, keys)
            server.stop()

    @staticmethod
    def start_on(port: int, folder: str) -> Server:
        again = Server(Options(settings=(("durability.directory", folder), ("durability.sync", "never"))))
        again.port = port
        again.process = subprocess.Popen(again.options.command(port), stdin=subprocess.DEVNULL, stdout=again._log,
                                         stderr=subprocess.STDOUT)
        return again


class LoginTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.users = self.directory / "users"
        self.users.write_text("ann:secret word\n")
        self.users.chmod(0o600)
        self.start("--set", f"server.auth_file={self.users}")
        self.proxy = Proxy(self.ports()[0])
        self.addCleanup(self.proxy.close)
        self.address = ("127.0.0.1", self.proxy.port)

    def tearDown(self):
        self.end()

    def test_each_connection_logs_in(self):
        with mxkv.Client(self.address, user="ann", password="secret word", retry_wait=0.001) as client:
            client.set("k", "v")
            for _ in range(3):
                self.proxy.cut(0)
                self.assertEqual(client.get("k"), b"v")
        with mxkv.PooledClient(self.address, user="ann", password="secret word") as pool:
            self.assertEqual(list(pool.scan()), [(b"k", b"v")])

    def test_who_is_not_logged_in_is_told_by_type(self):
        for arguments in ({"user": "ann", "password": "wrong"}, {"user": "nobody", "password": "secret word"}):
            with mxkv.Client(self.address, **arguments) as client:
                for refused in (lambda: client.get("k"), lambda: client.set("k", "v"), lambda: list(client.scan())):
                    with self.assertRaises(mxkv.AuthenticationFailed):
                        refused()
        with mxkv.Client(self.address) as client:
            for refused in (lambda: client.get("k"), lambda: list(client.scan())):
                with self.assertRaises(mxkv.Forbidden):
                    refused()

    def test_what_a_user_may_not_has_a_type_and_no_reply_is_taken_for_another_ones(self):
        self.users.write_text("users:\n"
                              "  - {name: ann, password: 'secret word', role: writer, prefixes: ['ann:']}\n"
                              "  - {name: root, password: 'secret word', role: administrator}\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("reload", 1)
        with mxkv.Client(self.address, user="root", password="secret word") as root:
            root.set_many({"ann:1": "1", "bob:1": "2"})
        with mxkv.Client(self.address, user="ann", password="secret word") as client:
            for refused in (lambda: client.get("bob:1"), lambda: client.get_many(["ann:1", "bob:1", b"bob: "]), lambda: list(client.scan()),
                            lambda: client.set("bob:1", "x"), lambda: client.delete_range(mxkv.Range()), lambda: client.count("b"), client.flush_all):
                with self.assertRaises(mxkv.Forbidden):
                    refused()
            with self.assertRaises(mxkv.Forbidden) as raised, client.batch() as batch:
                batch.set("ann:2", "x")
                batch.set("bob:2", "x")
            self.assertEqual(raised.exception.operation, 1)
            self.assertEqual(list(client.scan("ann:")), [(b"ann:1", b"1")])
            for ask in (lambda: client.count("ann:"), lambda: client.get("ann:1"), lambda: client.delete("ann:9")):
                client.set("bob:1", "x", noreply=True)
                client.delete("bob:1", noreply=True)
                with self.assertRaises(mxkv.Forbidden):
                    ask()  # the error of an earlier noreply command, which the client cannot attribute
                self.assertEqual([client.count("ann:"), client.get("ann:1"), client.delete("ann:9")], [1, b"1", False])


class TlsTest(GuardedCase):
    def setUp(self):
        super().setUp()
        self.ways = self.guard()

    def tearDown(self):
        self.end()

    def open(self, way: str, kind=mxkv.Client, password: str = "secret word", **arguments):
        client = kind(("127.0.0.1", self.ways.get(way, way)), user="ann", password=password, timeout=patience(20),
                      connect_timeout=patience(20), **arguments)
        self.addCleanup(client.close)
        return client

    def test_all_goes_over_tls_and_wrong_certificates_are_refused(self):
        client = self.open("tls", tls_context=self.trusting())
        client.set("large", b"x" * 900_000)
        self.assertEqual(len(client.get("large")), 900_000)
        self.assertEqual([key for key, _ in client.scan("large")], [b"large"])
        self.assertEqual(self.open("tls", mxkv.PooledClient, tls_context=self.trusting()).count("large"), 1)
        with self.assertRaises(mxkv.AuthenticationFailed):
            self.open("tls", password="wrong", tls_context=self.trusting()).get("large")
        with self.assertRaises(mxkv.TlsFailed):
            self.open("tls", tls_context=ssl.create_default_context()).get("large")
        with self.assertRaises((mxkv.TlsFailed, mxkv.ConnectionLost)):
            self.open("login", tls_context=self.trusting()).get("large")

    def test_reads_are_sent_again_after_a_cut_in_a_record(self):
        proxy = Proxy(self.ways["tls"])
        self.addCleanup(proxy.close)
        client = self.open(proxy.port, tls_context=self.trusting(), retry_wait=0.001)
        client.set("large", b"x" * 900_000)
        for after in (0, 5, 100_000):
            proxy.cut(after)
            self.assertEqual(len(client.get("large")), 900_000)
        self.assertEqual(proxy.cuts, 3)

    def test_a_certificate_is_shown_where_one_is_asked_for(self):
        context = self.trusting(self.identity)
        client = self.open("mutual_tls", tls_context=context)
        client.set("k", "v")
        self.assertEqual(list(client.scan()), [(b"k", b"v")])
        with self.assertRaises(mxkv.AuthenticationFailed):
            self.open("mutual_tls", password="wrong", tls_context=context).get("k")
        with self.assertRaises((mxkv.TlsFailed, mxkv.ConnectionLost)):
            self.open("mutual_tls", tls_context=self.trusting()).get("k")
        self.wait_log("peer did not return a certificate")


class ReadmeTest(ServerCase):
    def test_the_five_lines_of_the_readmes_page_through_a_range(self):
        with mxkv.Client(("127.0.0.1", self.server.port)) as client:
            client.set_many({f"user:{number:04}": number for number in range(2500)})
            client.set("visits", 1)
        for readme in (CLIENTS / "README.md", CLIENTS / "python" / "README.md"):
            example = readme.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
            self.assertLessEqual(len([line for line in example.splitlines() if line]), 5)
            code = example.replace("localhost:11211", f"127.0.0.1:{self.server.port}")
            said = []
            exec(compile(code, str(readme), "exec"), {"print": lambda *words: said.append(words)})  # our own text
            self.assertEqual(said, [(f"user:{number:04}", str(number)) for number in range(2500)])


if __name__ == "__main__":
    unittest.main()
