"""Clients end in every possible way, one after another and at once, and leave nothing behind: each slot is free, and the server
has the counters and descriptors that it had at the start. `MXKV_TEST_LONG=1` runs a million connections."""

import contextlib
import os
import socket
import struct
import threading

from harness import LONG, SANITIZED, Connection, DaemonCase, campaign, mxkv_only, patience, scaled, wait_for
from harness.connection import block
from harness.tls import Records, TlsCase
from hoarding import resident_bytes

_PATIENCE_S = 120
_TURN = 256  # limits.requests_per_turn: its last request pauses the connection
_MILLION = 1_000_000
_MIB = 1 << 20
_KEPT_MIB = 10  # the threads' caches in the system's heap, and pools that the first clients fill
_THREADS = 4
_GETS = b"get absent\r\n" * _TURN
_NOOP = b"\x80\x0a" + bytes(22)
_QUIET_QUIT = b"\x80\x17" + bytes(22)
_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(300)  # the beginning of a TLS handshake


def closed_behind(sent: bytes):
    """After these bytes the server closes the connection."""
    def way(client):
        client.send(sent)
        client.rest()
        client.close()
    return way


def gone_behind(sent: bytes):
    """After these bytes the client leaves, and reads nothing."""
    def way(client):
        client.send(sent)
        client.close()
    return way


def reset_behind(sent: bytes):
    def way(client):
        client.send(sent)
        client.reset()
    return way


def half_closed_behind(sent: bytes):
    def way(client):
        client.send(sent)
        client.finish_sending()
        client.rest()
        client.close()
    return way


WAYS = (
    closed_behind(b"quit\r\n"), closed_behind(_GETS + b"quit\r\n"), closed_behind(_GETS * 4 + b"quit\r\n"),
    closed_behind(b"set k 0 0 1 noreply\r\nv\r\n" * _TURN + b"quit\r\n"),
    closed_behind(_GETS + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), closed_behind(_GETS + _HELLO * 20),
    closed_behind(_GETS + b"x" * 5000), closed_behind(_NOOP * _TURN + _QUIET_QUIT),
    half_closed_behind(b""), half_closed_behind(_GETS), half_closed_behind(b"set half 0 0 1000\r\nhalf"),
    gone_behind(b""), gone_behind(b"get a"), gone_behind(_GETS), gone_behind(b"watch mutations\r\n"),
    reset_behind(b""), reset_behind(_GETS), reset_behind(b"get large\r\n" * 5), reset_behind(b"set half 0 0 100000\r\n" + b"x" * 20000),
    reset_behind(b"mb 2\r\nms a 1\r\n1\r\n"), reset_behind(b"lru_crawler metadump all\r\n"),
)


def in_threads(work, count: int) -> list:
    """Calls work(number) in each thread; returns the errors."""
    wrong = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except Exception as error:  # the test's thread reports it
            wrong.append(repr(error))
    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


class EndsCase(DaemonCase):
    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def expect_nothing_left(self, watcher, descriptors: int) -> None:
        wait_for(lambda: watcher.stats()["curr_connections"] == "1", "all others are gone", _PATIENCE_S)
        wait_for(lambda: self.descriptors() == descriptors, f"{descriptors} descriptors", _PATIENCE_S)
        stats = watcher.stats()
        self.assertEqual((stats["rejected_connections"], stats["tls_connections"], stats["accepting_conns"]), ("0", "0", "1"))
        watcher.send(b"client list\r\n")
        self.assertTrue(watcher.line().startswith(b"CLIENT "))
        self.assertEqual(watcher.line(), b"END")
        self.assertEqual(sum(name.endswith(":worker") for name in watcher.stats(b"conns")), 1)


@mxkv_only("its own ways to pause and to end")
class ManyEndsTest(EndsCase):
    def test_each_way_leaves_its_slot_free(self):
        self.start("--set", "limits.connections=20", listen=["127.0.0.1:0"])
        watcher = self.client()
        self.assertEqual(watcher.set(b"large", b"x" * 500_000), b"STORED")
        descriptors = self.descriptors()
        for number, way in enumerate(WAYS):
            for _ in range(16):  # with the next way's connections more than limits.connections
                client = Connection(self.ports()[0], timeout=_PATIENCE_S)
                way(client)
            wait_for(lambda: watcher.stats()["curr_connections"] == "1", f"those that ended in way {number} are gone", _PATIENCE_S)
        self.expect_nothing_left(watcher, descriptors)
        self.end()

    def test_a_client_that_is_killed_is_gone_whatever_it_waits_for(self):
        self.start()
        watcher = self.client()
        self.assertTrue(watcher.ask(b"version").startswith(b"VERSION"), "it was accepted")
        descriptors = self.descriptors()
        for sent in (b"", b"get a", _GETS, _GETS + b"quit\r\n", b"set half 0 0 1000\r\nhalf", b"watch mutations\r\n"):
            client = self.client()
            client.send(b"client name victim\r\n")
            self.assertEqual(client.line(), b"OK")
            client.send(sent)
            watcher.send(b"client list\r\n")
            numbers = []
            while (line := watcher.line()) != b"END":
                if b" name=victim " in line:
                    numbers.append(line.split(b" ")[1][len("id="):])
            for number in numbers:  # no number if the client has quit
                self.assertIn(watcher.ask(b"client kill " + number), (b"OK 1", b"NOT_FOUND"))
            client.rest()
            self.expect_nothing_left(watcher, descriptors)
        self.end()

    def test_a_soak_of_short_connections_ends_as_it_began(self):
        self.start("--set", "limits.connections=64", listen=["127.0.0.1:0", "unix:mxkv.sock"])
        addresses = [self.ports()[0], self.directory / "mxkv.sock"]
        watcher = self.client()
        self.assertEqual(watcher.set(b"large", b"x" * 200_000), b"STORED")
        descriptors = self.descriptors()
        each = (_MILLION if LONG else scaled(3000, 500)) // _THREADS
        before = int(watcher.stats()["total_connections"])

        def connect_many(number: int) -> None:
            for turn in range(each):
                client = Connection(addresses[turn % 8 == 7], timeout=_PATIENCE_S)
                with contextlib.suppress(ConnectionError):  # the server may have closed it before the client sent everything
                    WAYS[(turn + number) % len(WAYS)](client)
                client.close()
        self.assertEqual(in_threads(connect_many, _THREADS), [])
        self.expect_nothing_left(watcher, descriptors)
        self.assertEqual(int(watcher.stats()["total_connections"]), before + _THREADS * each, "each was let in")
        self.end()


def say_end(client: Records) -> None:
    client.say_end()
    client.wire.close()


def answers_unread(client: Records) -> None:
    client.send(b"get large\r\n" * 20)
    client.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.wire.close()


def junk_behind_a_record(client: Records) -> None:
    client.tls.write(b"mn\r\nget large\r\n")
    client.drip(client.take() + b"\x17\x03\x03\x00\x20" + bytes(32), 1 << 20)
    client.wire.close()


def idle(_client: Records) -> None:
    pass


@mxkv_only("TLS")
class TlsChurnTest(EndsCase, TlsCase):
    def cut_handshake(self, number: int) -> Records:
        client = Records(self.ports()[0], self.context())
        hello = client.hello()
        client.wire.sendall(hello[:number * 37 % (len(hello) + 1)])
        if number % 2:
            client.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.wire.close()
        return client

    def test_clients_of_five_kinds_come_and_go_while_an_honest_one_is_served(self):
        self.serve(more="limits: {handshake: 1h, connections: 100}\n")
        watcher = self.plain()
        self.assertEqual(watcher.set(b"large", b"x" * 100_000), b"STORED")
        descriptors = self.descriptors()
        honest = self.secure(timeout=_PATIENCE_S)
        idling = []
        resident = resident_bytes(self.process.pid)
        each = 50_000 if LONG else campaign(4000, 20, part=40)
        over = threading.Event()

        def churn(number: int) -> None:
            context = self.context()
            for turn in range(each):
                kind = (turn + number) % 5
                if kind == 4:
                    self.cut_handshake(turn)
                    continue
                client = Records(self.ports()[0], context)
                client.wire.settimeout(patience(_PATIENCE_S))
                client.shake_hands()
                (say_end, answers_unread, junk_behind_a_record, idle)[kind](client)
                if kind == 3:
                    idling.append(client)
                    if len(idling) > 20:
                        idling.pop(0).wire.close()

        def serve_honestly(_number: int) -> None:
            turn = 0
            while not over.is_set() or turn < 10:
                turn += 1
                self.assertEqual(honest.set(b"own", b"%d" % turn), b"STORED")
                self.assertEqual(honest.get(b"own"), b"%d" % turn)

        def one(number: int) -> None:
            if number == 0:
                serve_honestly(number)
                return
            try:
                churn(number)
            finally:
                if number == 1:
                    over.set()
        self.assertEqual(in_threads(one, 3), [])
        self.assertEqual(honest.get(b"large"), b"x" * 100_000)
        for client in idling:
            client.wire.close()
        honest.close()
        self.expect_nothing_left(watcher, descriptors)
        if not SANITIZED:
            wait_for(lambda: resident_bytes(self.process.pid) <= resident + _KEPT_MIB * _MIB, "memory is the system's again",
                     _PATIENCE_S)
        stats = watcher.stats()
        print(f"{2 * each} clients by TLS came and went: {stats['tls_handshakes']} handshakes, {stats['ssl_handshake_errors']} that "
              f"failed, {self.descriptors()} descriptors as before, resident MiB {resident / _MIB:.1f} before, "
              f"{resident_bytes(self.process.pid) / _MIB:.1f} behind them", flush=True)
        self.end()

    def test_the_server_outlives_bytes_that_are_no_record_behind_a_request(self):
        self.serve()
        for request in (b"mn\r\n", b"get k\r\n" * 300, b"quit\r\n", block(b"set", b"k", b"v" * 20_000), b"stats\r\n"):
            for junk in (b"\x17\x03\x03\x00\x20" + bytes(32), b"GET / HTTP/1.1\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28"):
                client = self.records()
                client.shake_hands()
                client.tls.write(request)
                client.drip(client.take() + junk, 1 << 20)
                with contextlib.suppress(ConnectionResetError):
                    while client.wire.recv(1 << 16):
                        pass
        self.assertEqual(self.secure().set(b"k", b"v"), b"STORED")
        self.end()
