"""TLS by listener: replies are the same as without TLS, however the stream is cut into records."""

import os
import signal
import socket
import ssl
import subprocess

from harness import Threads, mxkv_only, patience, scaled, wait_for
from harness.connection import block
from harness.tls import TlsCase

_PATIENCE_S = 120


@mxkv_only("TLS")
class TlsTest(TlsCase):
    def serve(self, more: str = "", **options) -> None:
        """The server waits for slow handshakes, because the machine may be busy."""
        limits = "handshake: 1h"
        if more.startswith("limits: {"):
            more = more.replace("limits: {", f"limits: {{{limits}, ", 1)
        else:
            more += f"limits: {{{limits}}}\n"
        super().serve(more, **options)

    def secure(self, where=None, context=None, **options):
        return super().secure(where, context, **{"timeout": _PATIENCE_S, **options})

    def records(self, **options):
        made = super().records(**options)
        made.wire.settimeout(patience(_PATIENCE_S))
        return made

    def test_what_is_asked_is_answered_in_both_versions(self):
        self.serve()
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            client = self.secure(context=self.context(oldest=version, newest=version))
            self.assertEqual(client.set(b"k", b"v"), b"STORED")
            self.assertEqual(client.get(b"k"), b"v")
            self.assertEqual(self.plain().get(b"k"), b"v", "one store")
        stats = client.stats()
        self.assertEqual((stats["tls_connections"], stats["tls_handshakes"], stats["ssl_handshake_errors"]), ("2", "2", "0"))
        self.assertEqual(client.stats(b"settings")["ssl_enabled"], "yes")
        told = [text for name, text in client.stats(b"conns").items() if name.endswith(":tls")]
        self.assertEqual([text.split(" ")[0] for text in sorted(told)], ["TLSv1.2", "TLSv1.3"])
        self.assertIn("TLS with the certificate of CN=server", self.log().replace("O=example,", ""))
        self.end()

    def test_values_of_all_sizes_go_both_ways(self):
        self.serve(more="limits: {value_bytes: 8MiB}\n")
        client = self.secure()
        for size in (0, 1, 1000, 16383, 16384, 16385, 40000, 1 << 20, 5_000_000):
            value = (b"%d-" % size * (size // 2 + 1))[:size]
            self.assertEqual(client.set(b"k", value), b"STORED", size)
            self.assertEqual(client.get(b"k"), value, size)
        self.end()

    def test_pipelines_of_thousands_are_answered_in_order(self):
        self.serve()
        self.ask_many(b"v", scaled(5000))
        self.end()

    def test_records_in_any_parts(self):
        self.serve()
        for part in (1, 2, 7):
            client = self.records()
            client.shake_hands(part)
            client.send(block(b"set", b"k", b"value"), part)
            self.assertEqual(client.read(8), b"STORED\r\n")
            for byte in b"get k\r\n":  # one record each
                client.send(bytes([byte]), part)
            self.assertEqual(client.read(25), b"VALUE k 0 5\r\nvalue\r\nEND\r\n")
        many = b"".join(b"get k\r\n" for _ in range(500))
        at_once = self.records()
        at_once.shake_hands()
        for at in range(0, len(many), 3):
            at_once.tls.write(many[at:at + 3])
        at_once.drip(at_once.take(), 1 << 20)  # more than a thousand records
        self.assertEqual(at_once.read(25 * 500), b"VALUE k 0 5\r\nvalue\r\nEND\r\n" * 500)
        self.end()

    def test_a_value_in_a_record_that_comes_in_parts_is_whole(self):
        self.serve()
        client = self.records()
        client.shake_hands()
        value = bytes(range(256)) * 400
        client.send(block(b"set", b"k", value), 1009)
        self.assertEqual(client.read(8), b"STORED\r\n")
        self.assertEqual(self.plain().get(b"k"), value)
        self.end()

    def test_requests_that_come_with_the_end_of_the_handshake_are_answered(self):
        self.serve()
        client = self.records()
        try:
            client.tls.do_handshake()
        except ssl.SSLWantReadError:
            client.drip(client.take(), 1 << 20)
        while True:
            client._feed()
            try:
                client.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                pass
        client.tls.write(b"set k 0 0 1\r\nv\r\nget k\r\n")
        client.drip(client.take(), 1 << 20)
        self.assertEqual(client.read(29), b"STORED\r\nVALUE k 0 1\r\nv\r\nEND\r\n")
        self.end()

    def test_a_client_that_does_not_read_for_a_while_loses_nothing(self):
        self.serve(more="limits: {output_high_water: 64KiB}\n")
        client = self.secure(receive_buffer=4096)
        value = bytes(range(256)) * 1000
        self.assertEqual(client.set(b"k", value), b"STORED")
        client.send(b"get k\r\n" * 40)
        wait_for(lambda: "conn_mwrite" in self.plain().stats(b"conns").values(), "a reply that is not taken", _PATIENCE_S)
        for _ in range(40):
            self.assertEqual(client.records(), [(b"k", value, [0])])
        self.assertEqual(client.get(b"absent"), None)
        self.end()

    def test_the_end_of_input_is_answered_first(self):
        self.serve()
        asked = b"set k 0 0 1\r\nv\r\n" + b"get k\r\n" * 300
        answered = b"STORED\r\n" + b"VALUE k 0 1\r\nv\r\nEND\r\n" * 300
        said = self.records()
        said.shake_hands()
        said.send(asked)
        said.say_end()
        self.assertEqual(said.read(len(answered) + 1), answered)
        unsaid = self.records()
        unsaid.shake_hands()
        unsaid.send(asked)
        unsaid.wire.shutdown(socket.SHUT_WR)
        self.assertEqual(unsaid.read(len(answered) + 1), answered)
        quits = self.secure()
        quits.send(b"get k\r\nquit\r\n")
        self.assertEqual(quits.rest(), b"VALUE k 0 1\r\nv\r\nEND\r\n")
        self.wait_stat("tls_connections", 0)
        self.end()

    def test_a_client_that_is_gone_in_the_middle_of_a_record_is_forgotten(self):
        self.serve()
        for how in range(6):
            client = self.records()
            client.shake_hands()
            client.tls.write(block(b"set", b"k", b"v" * 9000))
            cut = client.take()[:-1 - how * 1000]
            client.wire.sendall(cut)
            if how % 2:
                client.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.wire.close()
        self.wait_stat("tls_connections", 0)
        self.assertIsNone(self.plain().get(b"k"))
        self.end()

    def test_a_record_that_was_changed_ends_its_connection_only(self):
        self.serve()
        other = self.secure()
        self.assertEqual(other.set(b"k", b"v"), b"STORED")
        client = self.records()
        client.shake_hands()
        client.tls.write(block(b"set", b"k", b"changed"))
        record = bytearray(client.take())
        record[20] ^= 1
        client.wire.sendall(record)
        while client.wire.recv(1 << 16):
            pass
        self.assertEqual(other.get(b"k"), b"v")
        self.end()

    def test_two_hundred_at_once(self):
        self.serve()
        count = scaled(200)
        def one(client, number: int) -> None:
            for turn in range(5):
                self.assertEqual(client.set(b"k%d" % number, b"%d" % turn), b"STORED")
                self.assertEqual(client.get(b"k%d" % number), b"%d" % turn)
        threads = Threads(self.ports()[0], timeout=_PATIENCE_S, tls=self.context())
        threads.start(one, count)
        threads.join()
        self.assertEqual(self.stat("tls_handshakes"), count)
        self.end()

    def test_streams_and_unix_sockets(self):
        path = self.directory / "tls.sock"
        self.serve(listeners=f"  - {{path: {path}, tls: {{certificate: {self.server}, key: {self.key}}}}}\n")
        self.wait_log(f"listening on unix:{path}")
        watcher = self.secure()
        self.assertEqual(watcher.ask(b"watch mutations"), b"OK")
        local = self.client(path, timeout=_PATIENCE_S, tls=self.context())
        self.assertEqual(local.set(b"key-of-it", b"v"), b"STORED")
        line = b""
        while not line.endswith(b"\n"):  # the watcher's lines, which have no CR
            line += watcher.exactly(1)
        self.assertIn(b"key-of-it", line)
        for i in range(3000):
            local.send(block(b"set", b"many-%04d" % i, b"v"))
        self.assertEqual({local.line() for _ in range(3000)}, {b"STORED"})
        local.send(b"lru_crawler metadump all\r\n")
        dump = local.line()  # the dump's other lines have no CR
        self.assertTrue(dump.endswith(b"\nEND"), dump[-100:])
        self.assertEqual(dump.count(b"key=many-"), 3000)
        self.end()

    def test_a_login_goes_by_it(self):
        users = self.directory / "users"
        users.write_text("ann:secret\n")
        self.serve(more=f"server: {{auth_file: {users}}}\n")
        client = self.secure()
        self.assertEqual(client.ask(b"get k"), b"CLIENT_ERROR unauthenticated")
        self.assertEqual(client.store(b"set", b"auth", b"ann secret"), b"STORED")
        self.assertIsNone(client.get(b"k"))
        self.end()

    def test_replies_that_wait_for_the_disk(self):
        self.serve(more="durability: {directory: data}\n")
        self.ask_many(b"v" * 500, scaled(2000))
        self.end()

    def test_the_end_of_the_server_answers_what_has_come(self):
        self.serve()
        client = self.secure()
        self.assertEqual(client.set(b"k", b"v" * 1000), b"STORED")
        half = self.records()
        half.wire.sendall(half.hello()[:40])
        client.send(b"get k\r\n" * 200)
        self.assertEqual(client.records(), [(b"k", b"v" * 1000, [0])])
        self.process.send_signal(signal.SIGTERM)
        for _ in range(199):
            self.assertEqual(client.records(), [(b"k", b"v" * 1000, [0])])
        self.assertEqual(client.rest(), b"")
        self.assertEqual(self.process.wait(timeout=patience(_PATIENCE_S)), 0)
        self.assert_no_report()

    def test_connections_move_between_workers(self):
        self.serve(more="experimental: {balance_window: 10ms}\n")
        clients = [self.secure() for _ in range(12)]
        for number, client in enumerate(clients):
            self.assertEqual(client.set(b"own-%d" % number, b"%d" % number), b"STORED")
        workers = {}
        stats = self.plain().stats(b"conns")
        by_address = {text: name.split(":")[0] for name, text in stats.items() if name.endswith(":addr")}
        for client in clients:
            address = "tcp:%s:%d" % client.socket.getsockname()
            workers.setdefault(stats[f"{by_address[address]}:worker"], []).append(client)
        busy = max(workers.values(), key=len)
        asked = (b"get " + b" ".join(b"absent-%02d" % i for i in range(80)) + b"\r\n") * 15
        def moved() -> bool:
            for client in busy:
                number = clients.index(client)
                client.send(asked + b"get own-%d\r\n" % number)
            for client in busy:
                number = clients.index(client)
                for _ in range(15):
                    self.assertEqual(client.records(), [])
                self.assertEqual(client.records(), [(b"own-%d" % number, b"%d" % number, [0])])
            return self.stat("connections_moved") > 0
        wait_for(moved, "a connection that moves", _PATIENCE_S)
        self.assertEqual(self.stat("tls_connections"), 12)
        told = [name for name in self.plain().stats(b"conns") if name.endswith(":tls")]
        self.assertEqual(len(told), 12)
        for number, client in enumerate(clients):
            self.assertEqual(client.get(b"own-%d" % number), b"%d" % number)
            client.close()
        self.wait_stat("tls_connections", 0)
        self.end()

    def test_openssl_s_client_reads_and_changes_keys(self):
        self.serve()
        self.assertEqual(self.plain().set(b"k", b"v"), b"STORED")
        client = subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{self.ports()[0]}", "-CAfile", self.root.file,
                                   "-verify_return_error", "-crlf"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        self.addCleanup(self.kill, client)
        self.addCleanup(client.stdout.close)
        os.set_blocking(client.stdout.fileno(), False)
        said = b""

        def await_said(text: bytes, count: int) -> None:
            def there() -> bool:
                nonlocal said
                said += client.stdout.read() or b""
                return said.count(text) >= count
            wait_for(there, f"{count} times {text!r}", _PATIENCE_S)
        # Each line waits for the answer to the previous line, because openssl would take both as one text.
        updates = 0
        await_said(b"Verify return code", 1)
        for gets, key in enumerate((b"K\n", b"k\n", b""), 1):
            client.stdin.write(b"get k\n")
            client.stdin.flush()
            await_said(b"END\r\n", gets)
            if key:
                client.stdin.write(key)
                client.stdin.flush()
                updates += 1
                await_said(b"KEYUPDATE", updates)
        client.stdin.write(b"quit\n")
        client.stdin.close()
        client.wait(timeout=patience(_PATIENCE_S))
        said += client.stdout.read() or b""
        self.assertEqual(said.count(b"VALUE k 0 1"), 3, said.decode())
        self.assertIn(b"Verification: OK", said)
        self.end()
