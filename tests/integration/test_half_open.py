"""Connections whose client vanished without closing: TCP's keepalive finds them; and the timeout for idle connections."""

import signal
import socket
import unittest

from harness import DaemonCase, mxkv_only, wait_for
from harness.beside import load_tests  # noqa: F401

_TCP_REPAIR = 19  # a socket in this mode is closed without telling the other side; it needs CAP_NET_ADMIN
_KEEPALIVE_TIMER = "02"


def may_vanish() -> bool:
    with socket.socket() as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
        except OSError:
            return False
    return True


def timer_of(server_port: int, client_port: int) -> tuple:
    """(kind, seconds left) of the timer of the server's socket for a connection."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        for row in table:
            fields = row.split()
            if fields[1].endswith(f":{server_port:04X}") and fields[2].endswith(f":{client_port:04X}"):
                kind, _, ticks = fields[5].partition(":")
                return kind, int(ticks, 16) / 100
    raise AssertionError("no such connection")


@mxkv_only("its keepalive is the system's")
class HalfOpenTest(DaemonCase):
    def timer(self, client) -> tuple:
        return timer_of(self.ports()[0], client.socket.getsockname()[1])

    def expect_asked_within(self, client, seconds: int) -> None:
        """Keepalive will probe the client within that time; before, the wait for acknowledgements has a timer of its own."""
        wait_for(lambda: self.timer(client)[0] == _KEEPALIVE_TIMER, "the timer of keepalive")
        self.assertLessEqual(self.timer(client)[1], seconds + 1)

    def vanish(self, client) -> None:
        client.socket.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
        client.close()

    @unittest.skipUnless(may_vanish(), "needs CAP_NET_ADMIN")
    def test_a_client_that_is_gone_without_a_word_is_found(self):
        self.write_config("limits: {keepalive: 1s}\n")
        self.start()
        watcher, gone = self.client(), self.client()
        gone.ask(b"version")
        self.vanish(gone)
        wait_for(lambda: watcher.stats()["curr_connections"] == "1", "the end of its connection")
        self.assertEqual(watcher.stats()["idle_kicks"], "0")
        self.end()

    def test_each_connection_is_asked_after_five_minutes_unless_told_otherwise(self):
        self.write_config("")
        self.start()
        client = self.client()
        client.ask(b"version")
        self.expect_asked_within(client, 300)
        self.end()

    def test_a_reload_changes_it_for_open_connections_and_for_later_ones(self):
        self.write_config("limits: {keepalive: off}\n")
        self.start()
        before = self.client()
        before.ask(b"version")
        self.assertNotEqual(self.timer(before)[0], _KEEPALIVE_TIMER)
        self.write_config("limits: {keepalive: 1min}\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("limits.keepalive is now 1min, was off")
        after = self.client()
        for client in (before, after):
            client.ask(b"version")
            self.expect_asked_within(client, 60)
        self.assertEqual(after.stats(b"settings")["keepalive"], "60")
        self.end()


@mxkv_only("its time-out counts otherwise")
class IdleKicksTest(DaemonCase):
    def change_timeout(self, timeout: str) -> None:
        self.write_config(f"limits: {{idle_timeout: {timeout}}}\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log(f"limits.idle_timeout is now {timeout}")

    def test_silent_connections_are_closed_and_counted_and_those_that_watch_are_not(self):
        self.write_config("limits: {idle_timeout: off}\n")
        self.start()
        silent, watching = self.client(), self.client()
        silent.ask(b"version")
        self.assertEqual(watching.ask(b"watch mutations"), b"OK")
        self.change_timeout("300ms")
        self.assertEqual(silent.rest(), b"")
        self.change_timeout("off")  # a busy machine may keep the next client silent for as long
        client = self.client()
        self.assertEqual(client.stats()["idle_kicks"], "1")
        client.set(b"k", b"v")
        self.assertRegex(watching.socket.recv(1000), b"key=k ")
        self.end()
