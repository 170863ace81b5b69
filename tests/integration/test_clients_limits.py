"""Limits of one client, by address or by user: connections at once, requests and bytes a second.

A rate is a lower bound on the time that a number of replies takes. A busy machine takes longer, so the tests assert only that
bound. Without a limit the server counts no pause.
"""

import signal
import threading
import time

from harness import LONG, DaemonCase, mxkv_only, patience, wait_for
from harness.connection import Closed, Connection, block

_PATIENCE_S = 120


class LimitsCase(DaemonCase):
    def client_from(self, address: str, where=None, **options) -> Connection:
        """A client of another address of this machine."""
        import socket  # pylint: disable=import-outside-toplevel
        client = Connection.__new__(Connection)
        client._local = False
        client.socket = socket.create_connection(("127.0.0.1", where or self.ports()[0]), timeout=patience(_PATIENCE_S),
                                                 source_address=(address, 0))
        client._buffer = bytearray()
        self.addCleanup(client.close)
        return client

    def reload(self, text: str) -> None:
        self.write_config(text)
        self.process.send_signal(signal.SIGHUP)


@mxkv_only("limits of one client")
class ConnectionsOfOneClientTest(LimitsCase):
    def test_one_client_does_not_take_all_connections(self):
        self.write_config("limits: {connections: 20, connections_per_client: 5}\n")
        self.start()
        held = []
        refused = 0
        for _ in range(30):
            client = self.client_from("127.0.0.2")
            try:
                answer = client.ask(b"version")
            except ConnectionError:
                answer = b""
            if answer.startswith(b"VERSION "):
                held.append(client)
            else:
                refused += 1
        self.assertEqual((len(held), refused), (5, 25))
        other = self.client()
        self.assertRegex(other.ask(b"version"), b"^VERSION ", "there is room for others")
        wait_for(lambda: [other.stats()[name] for name in ("rejected_per_client", "rejected_connections")] == ["25"] * 2,
                 "all refusals are counted", _PATIENCE_S)
        self.wait_log("connection refused from 127.0.0.2 (limits.connections_per_client is 5)")
        held.pop().close()

        def served() -> bool:
            try:
                return self.client_from("127.0.0.2").ask(b"version").startswith(b"VERSION ")
            except ConnectionError:
                return False
        wait_for(served, "one is free again", _PATIENCE_S)

    def test_it_can_be_set_while_the_server_runs(self):
        self.write_config()
        self.start()
        clients = [self.client_from("127.0.0.2") for _ in range(5)]
        for client in clients:
            client.ask(b"version")
        self.reload("limits: {connections_per_client: 3}\n")
        self.wait_log("reload: limits.connections_per_client is now 3, was off")
        for client in clients:
            self.assertRegex(client.ask(b"version"), b"^VERSION ", "who is there stays")
        with self.assertRaises((Closed, ConnectionError, AssertionError)):
            self.assertRegex(self.client_from("127.0.0.2").ask(b"version"), b"^VERSION ")

    def test_a_unix_socket_has_some_connections_more(self):
        path = str(self.directory / "socket")
        self.write_config("limits: {connections: 3}\n")
        self.start(listen=("127.0.0.1:0", f"unix:{path}"))
        port = self.ports()[0]
        full = [self.client(port) for _ in range(3)]
        for client in full:
            self.assertRegex(client.ask(b"version"), b"^VERSION ")
        self.assertEqual(self.client(port).line(), b"ERROR Too many open connections")
        inside = [self.client(path) for _ in range(8)]
        for client in inside:
            self.assertRegex(client.ask(b"version"), b"^VERSION ")
        self.assertEqual(self.client(path).line(), b"ERROR Too many open connections")


@mxkv_only("limits of one client")
class RatesTest(LimitsCase):
    # A client takes a second's worth of replies at once, and then so many seconds' worth at the limited rate.
    SECONDS = 1.5 if LONG else 0.5

    def take(self, client, request: bytes, per_round: int, count: int) -> float:
        """The seconds that a client needs for so many replies, if it sends as fast as the server answers."""
        begun = time.monotonic()
        for _ in range(0, count, per_round):
            client.send(request * per_round)
            for _ in range(per_round):
                client.line()
        return time.monotonic() - begun

    def assert_limited(self, seconds: float, count: float, rate: float, granule: float) -> None:
        """A second's worth of replies and the granule may come at once. All others come at the rate at most."""
        print(f"{self._testMethodName}: {count} in {seconds:.2f} s, {rate} a second are allowed", flush=True)
        self.assertGreaterEqual(seconds, (count - rate - granule) / rate)

    def runs_free(self, client, other) -> bool:
        """Whether the server lets 3000 replies of the client pass without a pause."""
        before = int(other.stats()["rate_pauses"])
        self.take(client, b"mn\r\n", 50, 3000)
        return int(other.stats()["rate_pauses"]) == before

    def test_requests_of_an_address_are_slowed_and_those_of_another_are_not(self):
        self.write_config("limits: {requests_per_client: 1000}\n")
        self.start()
        slow, fast = self.client_from("127.0.0.2"), self.client_from("127.0.0.3")
        count = int(1000 * (1 + self.SECONDS))
        self.assert_limited(self.take(slow, b"mn\r\n", 50, count), count, 1000, 50)
        self.assertRegex(fast.ask(b"version"), b"^VERSION ")
        self.assertGreater(int(fast.stats()["rate_pauses"]), 0)
        self.reload("")
        self.wait_log("reload: limits.requests_per_client is now off, was 1000")
        # A worker learns of the new limit a moment later.
        wait_for(lambda: self.runs_free(slow, fast), "it runs free again", _PATIENCE_S)

    def test_connections_of_one_address_share_its_rate(self):
        self.write_config("limits: {requests_per_client: 2000}\n")
        self.start()
        each = int(2000 * (1 + self.SECONDS)) // 4 + 256
        clients = [self.client_from("127.0.0.2") for _ in range(4)]
        threads = [threading.Thread(target=self.take, args=(client, b"get k\r\n", 20, each)) for client in clients]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assert_limited(time.monotonic() - begun, 4 * each, 2000, 4 * 256)

    def test_bytes_count_both_ways_and_large_values_too(self):
        self.write_config("limits: {bytes_per_client: 1MiB}\n")
        self.start()
        client = self.client_from("127.0.0.2")
        value = b"v" * 200_000
        times = int((1 + self.SECONDS) * (1 << 20) / len(value)) + 2
        begun = time.monotonic()
        for _ in range(times):
            self.assertEqual(client.set(b"k", value), b"STORED")
        self.assert_limited(time.monotonic() - begun, times * len(value), 1 << 20, 2 * len(value))
        begun = time.monotonic()
        for _ in range(times):
            self.assertEqual(client.get(b"k"), value)
        self.assert_limited(time.monotonic() - begun, times * len(value), 1 << 20, 2 * len(value))

    def test_what_a_watch_tells_counts_too(self):
        path = str(self.directory / "socket")
        self.write_config("limits: {bytes_per_client: 1MiB}\n")
        self.start(listen=("127.0.0.1:0", f"unix:{path}"))
        watcher, writer = self.client_from("127.0.0.2"), self.client(path)
        self.assertTrue(watcher.ask(b"mw - Ow v").startswith(b"HD Ow G"))
        value = b"v" * 50_000
        times = int((1 + self.SECONDS) * (1 << 20) / len(value)) + 2
        begun = time.monotonic()
        for _ in range(times):
            self.assertEqual(writer.set(b"k", value), b"STORED")
        told = 0
        while told < times:
            if watcher.line().startswith(b"WV "):
                self.assertEqual(watcher.exactly(len(value) + 2), value + b"\r\n")
                told += 1
        self.assert_limited(time.monotonic() - begun, times * len(value), 1 << 20, 2 * (len(value) + (64 << 10)))
        self.assertGreater(int(writer.stats()["rate_pauses"]), 0)

    def test_a_user_has_a_rate_on_all_its_connections_and_a_reload_changes_it(self):
        users = self.directory / "users.yaml"

        def write(rate: str) -> None:
            users.write_text(f"users:\n  - {{name: slow, password: x{rate}}}\n  - {{name: free, password: x}}\n")
            users.chmod(0o600)
        write(", requests: 1000")
        self.write_config(f"server: {{auth_file: {users}}}\n")
        self.start()
        slow, free = self.client(timeout=_PATIENCE_S), self.client(timeout=_PATIENCE_S)
        for client, name in ((slow, b"slow"), (free, b"free")):
            self.assertEqual(client.store(b"set", b"a", name + b" x"), b"STORED")
        count = int(1000 * (1 + self.SECONDS))
        self.assert_limited(self.take(slow, b"mn\r\n", 50, count), count, 1000, 50)
        self.assertGreater(int(free.stats()["rate_pauses"]), 0)
        self.assertTrue(self.runs_free(free, free), "the other user does not wait")
        write(", requests: 1000000")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("2 users may authenticate")
        # The same connection continues.
        wait_for(lambda: self.runs_free(slow, free), "the new rate lets through what the old one held back", _PATIENCE_S)

    def test_a_client_that_pauses_may_leave_and_the_server_may_end(self):
        self.write_config("limits: {requests_per_client: 10}\nserver: {drain_timeout: 500ms}\n")
        self.start()
        for _ in range(10):
            client = self.client_from("127.0.0.2")
            client.send(b"get k\r\n" * 1000)
            client.close()
        other = self.client()
        other.ask(b"version")
        waiting = self.client_from("127.0.0.2")
        waiting.send(b"get k\r\n" * 100 + block(b"set", b"k", b"v" * 10))
        self.assertEqual(waiting.line()[:3], b"END", "it is paused, and not failed")
        self.end()
