"""Limits of one client, by address or by user: connections at once, requests and bytes a second. Rates are judged by
counting what was answered between two moments, within wide bounds.
"""

import signal
import threading
import time

from harness import DaemonCase, mxkv_only, patience, wait_for
from harness.connection import Closed, Connection, block


class LimitsCase(DaemonCase):
    def client_from(self, address: str, where=None, **options) -> Connection:
        """A client of another address of this machine."""
        import socket  # pylint: disable=import-outside-toplevel
        client = Connection.__new__(Connection)
        client._local = False
        client.socket = socket.create_connection(("127.0.0.1", where or self.ports()[0]), timeout=patience(60),
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
        self.assertEqual(other.stats()["rejected_per_client"], "25")
        self.assertEqual(other.stats()["rejected_connections"], "25")
        self.wait_log("connection refused from 127.0.0.2 (limits.connections_per_client is 5)")
        held.pop().close()

        def served() -> bool:
            try:
                return self.client_from("127.0.0.2").ask(b"version").startswith(b"VERSION ")
            except ConnectionError:
                return False
        wait_for(served, "one is free again")

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
    WINDOW_S = 1.5

    def replies_in_a_window(self, client, request: bytes, per_round: int) -> tuple:
        """(replies, seconds) of a client that sends as fast as it is answered."""
        begun = time.monotonic()
        count = 0
        while time.monotonic() - begun < self.WINDOW_S:
            client.send(request * per_round)
            for _ in range(per_round):
                client.line()
            count += per_round
        return count, time.monotonic() - begun

    def assert_rate(self, count: int, seconds: float, rate: float, burst: float, granule: float) -> None:
        """No more than the rate and what may be drawn at once allow; and, as the server is idle, not much less."""
        self.assertLessEqual(count, rate * seconds + burst + granule)
        self.assertGreater(count, 0.3 * rate * seconds)

    def test_requests_of_an_address_are_slowed_and_those_of_another_are_not(self):
        self.write_config("limits: {requests_per_client: 1000}\n")
        self.start()
        slow, fast = self.client_from("127.0.0.2"), self.client_from("127.0.0.3")
        count, seconds = self.replies_in_a_window(slow, b"mn\r\n", 50)
        self.assert_rate(count, seconds, 1000, 1000, 50)
        self.assertRegex(fast.ask(b"version"), b"^VERSION ")
        self.assertGreater(int(fast.stats()["rate_pauses"]), 0)
        self.reload("")
        self.wait_log("reload: limits.requests_per_client is now off, was 1000")
        count, seconds = self.replies_in_a_window(slow, b"mn\r\n", 50)
        self.assertGreater(count, 3000, "it runs free again")

    def test_connections_of_one_address_share_its_rate(self):
        self.write_config("limits: {requests_per_client: 2000}\n")
        self.start()
        found = []

        def run() -> None:
            found.append(self.replies_in_a_window(self.client_from("127.0.0.2"), b"get k\r\n", 20))
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 4)
        self.assert_rate(sum(count for count, _ in found), max(seconds for _, seconds in found), 2000, 2000, 4 * 256)

    def test_bytes_count_both_ways_and_large_values_too(self):
        self.write_config("limits: {bytes_per_client: 1MiB}\n")
        self.start()
        client = self.client_from("127.0.0.2")
        value = b"v" * 200_000
        begun = time.monotonic()
        sent = 0
        while time.monotonic() - begun < self.WINDOW_S:
            self.assertEqual(client.set(b"k", value), b"STORED")
            sent += len(value)
        self.assertLessEqual(sent, (time.monotonic() - begun + 1) * (1 << 20) + 2 * len(value))
        begun = time.monotonic()
        came = 0
        while time.monotonic() - begun < self.WINDOW_S:
            self.assertEqual(client.get(b"k"), value)
            came += len(value)
        self.assertLessEqual(came, (time.monotonic() - begun + 1) * (1 << 20) + 2 * len(value))
        self.assertGreater(came, 0)

    def test_a_user_has_a_rate_on_all_its_connections_and_a_reload_changes_it(self):
        users = self.directory / "users.yaml"

        def write(rate: int) -> None:
            users.write_text(f"users:\n  - {{name: slow, password: x, requests: {rate}}}\n  - {{name: free, password: x}}\n")
            users.chmod(0o600)
        write(1000)
        self.write_config(f"server: {{auth_file: {users}}}\n")
        self.start()
        slow, free = self.client(), self.client()
        for client, name in ((slow, b"slow"), (free, b"free")):
            self.assertEqual(client.store(b"set", b"a", name + b" x"), b"STORED")
        count, seconds = self.replies_in_a_window(slow, b"get k\r\n", 50)
        self.assert_rate(count, seconds, 1000, 1000, 50)
        self.assertGreater(self.replies_in_a_window(free, b"get k\r\n", 50)[0], 3000)
        write(5000)
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("2 users may authenticate")
        self.assertGreater(self.replies_in_a_window(slow, b"get k\r\n", 50)[0], 2000, "the same connection goes on")

    def test_a_client_that_pauses_may_leave_and_the_server_may_end(self):
        self.write_config("limits: {requests_per_client: 1}\n")
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
