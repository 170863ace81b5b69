"""Clients that misbehave: garbage, endless lines, deaths in the middle, crowds. Other clients must not notice."""

import random
import socket
import threading
import time

from harness import LONG, Closed, Connection, Options, ServerCase, mxkv_only, scaled, wait_for
from harness.connection import block, converse

_MIB = 1 << 20
_PATIENCE_S = 120


class GarbageTest(ServerCase):
    def test_random_bytes(self):
        chance = random.Random(3)
        for _ in range(scaled(200, 30)):
            client = self.connect()
            try:
                for _ in range(5):
                    client.send(chance.randbytes(chance.choice((10, 1000, 20000))))
                client.finish_sending()
                client.rest()
            except OSError:
                pass  # garbage may close the connection at any time
            client.close()
        self.assert_serves()

    def test_binary_protocol_gets_no_text_and_is_closed_at_the_end(self):
        self.assertEqual(converse(self.server.port, [b"\x80\x0a" + b"\0" * 10]), b"")

    def test_http_is_closed_without_a_word(self):
        for request in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"POST /set HTTP/1.1\r\nContent-Length: 9\r\n\r\nflush_all"):
            client = self.connect()
            client.send(request)
            self.assertEqual(client.rest(), b"")

    def test_a_line_without_an_end_is_closed(self):
        client = self.connect()
        try:
            for _ in range(1000):
                client.send(b"x" * 1000)
        except OSError:
            pass
        self.assertNotIn(b"STORED", client.rest())
        self.assert_serves()

    @mxkv_only("the cap on lines of get")
    def test_a_get_line_beyond_its_cap_is_closed(self):
        client = self.connect()
        try:
            client.send(b"get " + b"key " * (_MIB // 2))
            client.send(b"x" * 100)
        except OSError:
            pass
        self.assertNotIn(b"END", client.rest())
        self.assert_serves()

    def test_a_multi_get_of_128_kib_is_normal(self):
        client = self.connect()
        client.set(b"k777", b"v")
        keys = b" ".join(b"k%d" % i for i in range(20500))
        self.assertGreater(len(keys), 120 * 1024)
        for _ in range(3):
            self.assertEqual(client.records(b"get " + keys), [(b"k777", b"v", [0])])


class DyingClientTest(ServerCase):
    options = Options(memory_mib=256, value_bytes=64 * _MIB)

    def test_a_client_that_dies_inside_a_value_leaves_nothing(self):
        watcher = self.connect()
        for number in range(scaled(20 if LONG else 8, 5)):
            client = self.connect()
            client.send(b"set dying%d 0 0 %d\r\n" % (number, 33 * _MIB))
            client.send(b"x" * (24 * _MIB))
            (client.reset if number % 2 else client.close)()
        wait_for(lambda: int(watcher.stats()["curr_connections"]) <= 1, "the dead are gone", _PATIENCE_S)
        self.assertEqual(watcher.records(b"get dying0 dying1 dying2"), [])
        self.assertEqual(watcher.set(b"whole", b"y" * (33 * _MIB)), b"STORED")
        self.assert_rss_below(400)

    def test_reset_in_the_middle_of_pipelines(self):
        part = block(b"set", b"k", b"v" * 500) + b"get k k k k\r\n" * 20
        for number in range(scaled(100, 20)):
            client = Connection(self.server.port, receive_buffer=4096)
            client.socket.setblocking(False)
            try:
                client.socket.send(part * 30)
            except BlockingIOError:
                pass
            if number % 3:
                time.sleep(0.001)
            client.reset()
        self.assert_serves()

    def test_half_closed_connections_still_get_their_replies(self):
        value = b"v" * 300000
        stream = block(b"set", b"half", value) + b"get half\r\n" * 10
        one = b"VALUE half 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)
        self.assertTrue(converse(self.server.port, [stream]) == b"STORED\r\n" + one * 10)

    def test_slow_senders_are_served_and_disturb_nobody(self):
        slow = [self.connect() for _ in range(50)]
        other = self.connect()
        for byte in block(b"set", b"slow", b"v"):
            for client in slow:
                client.send(bytes([byte]))
            self.assertEqual(other.set(b"quick", b"v"), b"STORED")
        self.assertEqual({client.line() for client in slow}, {b"STORED"})


@mxkv_only("memcached takes the announced length at once")
class AnnouncedLengthTest(ServerCase):
    options = Options(memory_mib=2048, value_bytes=1 << 30)

    def test_an_announced_gibibyte_takes_no_memory_before_it_arrives(self):
        watcher = self.connect()
        watcher.set(b"warm", b"x" * _MIB)
        before = self.server.rss_bytes() / _MIB
        clients = [self.connect() for _ in range(20)]
        for client in clients:
            client.send(b"set big 0 0 %d\r\n" % (1 << 30) + b"x" * 1000)
        for _ in range(20):
            self.assertEqual(watcher.get(b"warm"), b"x" * _MIB)
        self.assert_rss_below(before + 64)
        for client in clients:
            client.close()
        self.assertIsNone(watcher.get(b"big"))


class CrowdTest(ServerCase):
    options = Options(connections=2000)

    def test_a_thousand_connections_open_at_once(self):
        clients = [self.connect() for _ in range(scaled(1000, 200))]
        for number, client in enumerate(clients):
            client.send(block(b"set", b"crowd%d" % number, b"%d" % number))
        self.assertEqual({client.line() for client in clients}, {b"STORED"})
        for number, client in enumerate(reversed(clients)):
            client.send(b"get crowd%d\r\n" % number)
        for number, client in enumerate(reversed(clients)):
            self.assertEqual(client.records()[0][1], b"%d" % number)
        for client in clients:
            client.close()

    def test_connections_that_come_and_go(self):
        watcher = self.connect()
        rounds = scaled(1500, 200)
        expected = int(watcher.stats()["total_connections"]) + rounds
        for number in range(rounds):
            client = Connection(self.server.port)
            if number % 3 == 0:
                client.ask(b"version")
            elif number % 3 == 1:
                client.send(b"get a")
            client.close()

        def counted() -> bool:
            stats = watcher.stats()
            return int(stats["curr_connections"]) <= 1 and int(stats["total_connections"]) >= expected
        wait_for(counted, f"one is open and {expected} were counted", _PATIENCE_S)


@mxkv_only("memcached has another limit behind this one")
class ConnectionLimitTest(ServerCase):
    options = Options(connections=20)

    def test_over_the_limit_is_told_and_closed_and_under_it_is_served_again(self):
        clients = [self.connect()]
        wait_for(lambda: int(clients[0].stats()["curr_connections"]) == 1, "the one that saw the server ready is gone",
                 _PATIENCE_S)
        clients += [self.connect() for _ in range(19)]
        for client in clients:
            self.assertTrue(client.ask(b"version").startswith(b"VERSION"))
        for _ in range(5):
            late = self.connect()
            self.assertEqual(late.rest(), b"ERROR Too many open connections\r\n")
        for client in clients[:10]:
            client.close()

        def served() -> bool:
            client = self.connect()
            try:
                return client.ask(b"version").startswith(b"VERSION")
            except (Closed, OSError):
                return False
        wait_for(served, "there is room again", _PATIENCE_S)
        self.assertGreaterEqual(int(clients[-1].stats()["rejected_connections"]), 5)


@mxkv_only("the time-out of memcached counts otherwise")
class IdleTimeoutTest(ServerCase):
    # The busy client asks every 10 ms. The server takes it for idle only if it gets no processor for 2 s.
    options = Options(settings=(("limits.idle_timeout", "2s"),))

    def test_a_silent_connection_is_closed_and_a_busy_one_is_not(self):
        busy, silent, half = self.connect(), self.connect(), self.connect()
        silent.ask(b"version")
        half.send(b"get a")
        wait_for(lambda: int(busy.stats()["curr_connections"]) == 1, "the silent ones are closed", _PATIENCE_S)
        self.assertEqual(silent.rest(), b"")
        self.assertTrue(busy.ask(b"version").startswith(b"VERSION"))


class UnreadRepliesTest(ServerCase):
    options = Options(memory_mib=64, settings=(("limits.output_stall", "2s"),))

    def test_clients_that_never_read_disturb_nobody_and_memory_stays_bounded(self):
        writer = self.connect()
        for number in range(8):
            writer.set(b"large%d" % number, b"x" * 1000000)
        request = b"get " + b" ".join(b"large%d" % (number % 8) for number in range(50)) + b"\r\n"
        lazy = [self.connect(receive_buffer=4096) for _ in range(scaled(40, 10))]
        for client in lazy:
            client.socket.setblocking(False)
            try:
                client.socket.send(request * 50)
            except BlockingIOError:
                pass
        for number in range(scaled(2000 if LONG else 500, 200)):
            self.assertEqual(writer.set(b"k", b"%d" % number), b"STORED")
            self.assertEqual(writer.get(b"k"), b"%d" % number)
        self.assert_rss_below(64 + 150)
        self.assert_serves()

    def test_a_slow_reader_gets_everything_in_order(self):
        client = self.connect(timeout=_PATIENCE_S, receive_buffer=4096)
        values = [bytes([97 + i]) * 200000 for i in range(10)]
        writer = self.connect()
        for i, value in enumerate(values):
            writer.set(b"slow%d" % i, value)
        sender = threading.Thread(target=client.send, args=(b"".join(b"get slow%d\r\n" % (i % 10) for i in range(60)),))
        sender.start()
        for i in range(60):
            if i % 20 == 0 and i < 40:  # the last replies may fit into the sockets
                wait_for(lambda: "conn_mwrite" in writer.stats(b"conns").values(), "a reply waits for its reader", _PATIENCE_S)
            self.assertTrue(client.records() == [(b"slow%d" % (i % 10), values[i % 10], [0])])
        sender.join()
        self.assertEqual(client.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)


@mxkv_only("memcached keeps such connections for ever")
class StalledTest(ServerCase):
    options = Options(memory_mib=64, settings=(("limits.output_stall", "2s"),))

    def test_what_is_overwritten_while_unread_is_bounded_and_the_stalled_are_closed(self):
        writer = self.connect()
        lazy = []
        for number in range(300 if LONG else 80):
            client = self.connect(receive_buffer=4096)
            if writer.set(b"turn", bytes([97 + number % 26]) * 1000000) != b"STORED":
                break
            client.send(b"get turn turn turn turn turn turn turn turn\r\n")
            lazy.append(client)
        self.assertGreater(len(lazy), 5)
        self.assert_rss_below(64 + 150)
        wait_for(lambda: int(writer.stats()["curr_connections"]) <= len(lazy) // 2 + 1,
                 "stalled connections are closed while the output share is full", _PATIENCE_S)
        wait_for(lambda: writer.set(b"turn", b"y" * 1000000) == b"STORED", "their memory comes back", _PATIENCE_S)
