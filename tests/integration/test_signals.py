"""Signals at every stage of a connection: the server answers complete requests, does not wait for incomplete ones,
and no client delays the end beyond the drain timeout."""

import fcntl
import os
import pty
import signal
import socket
import termios
import unittest

from harness import Connection, DaemonCase, mxkv_only, patience, wait_for
from harness.beside import load_tests  # noqa: F401
from harness.connection import block

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
VALUE = b"v" * (20 << 20)
REPLY = b"VALUE large 0 %d\r\n%s\r\nEND\r\n" % (len(VALUE), VALUE)


class StagesBase(DaemonCase):
    def start_one(self, *settings, timeout="60s"):
        flags = [part for setting in ("memory.limit=256MiB", "limits.value_bytes=32MiB", f"server.drain_timeout={timeout}", *settings)
                 for part in ("--set", setting)]
        self.log_file.unlink(missing_ok=True)
        self.start(*flags, listen=["127.0.0.1:0", "unix:mxkv.sock"])


@mxkv_only("it drains")
class StagesTest(StagesBase):
    def clients(self, **options):
        """One client over TCP, one over the unix socket: the stages are the same."""
        return [self.client(**options), self.client(self.directory / "mxkv.sock", **options)]

    def each_signal(self, stage, timeout="60s"):
        """`stage` brings a connection to the stage under test and returns the check to run after the end."""
        for how in ENDING:
            with self.subTest(how.name):
                self.start_one(timeout=timeout)
                checks = [stage(client) for client in self.clients()]
                self.process.send_signal(how)
                for check in checks:
                    check()
                self.assertEqual(self.process.wait(timeout=patience(40)), 0, self.log())
                self.assertIn(f"{how.name}: ending", self.log())
                self.assert_no_report()

    def test_idle(self):
        def stage(client):
            client.ask(b"version")
            return lambda: self.assertEqual(client.rest(), b"")
        self.each_signal(stage)

    def test_never_spoken(self):
        self.each_signal(lambda client: lambda: self.assertEqual(client.rest(), b""))

    def test_mid_line(self):
        def stage(client):
            client.ask(b"version")
            client.send(b"get no-end-of-li")
            return lambda: self.assertEqual(client.rest(), b"")
        self.each_signal(stage)

    def test_mid_value(self):
        def stage(client):
            client.send(b"set whole 0 0 1\r\nw\r\nset half 0 0 1000000\r\n" + b"h" * 300000)
            self.assertEqual(client.line(), b"STORED")
            return lambda: self.assertEqual(client.rest(), b"")
        self.each_signal(stage)

    def test_a_pipeline_that_has_arrived_is_answered(self):
        def stage(client):
            client.send(b"version\r\n" + b"".join(block(b"set", b"p%d" % i, b"v" * 100) for i in range(500)))
            client.line()
            return lambda: self.assertEqual(client.rest(), b"STORED\r\n" * 500)
        self.each_signal(stage)

    def begin_reply(self, client) -> None:
        """Starts a long reply, and does not read it."""
        self.assertEqual(client.set(b"large", VALUE), b"STORED")
        client.send(b"get large\r\n")
        client.socket.recv(1, socket.MSG_PEEK)

    def test_mid_reply_to_a_client_that_reads_on(self):
        def stage(client):
            self.begin_reply(client)

            def check():
                self.wait_log(": ending;")
                self.assertTrue(client.rest() == REPLY, "the reply is whole")
            return check
        self.each_signal(stage)

    def test_mid_reply_to_a_client_that_does_not_read(self):
        def stage(client):
            self.begin_reply(client)
            return lambda: None
        self.each_signal(stage, timeout="100ms")
        self.assertIn("did not read their replies within 100ms are dropped", self.log())

    def test_a_client_that_sends_without_end_is_not_served_without_end(self):
        self.start_one()
        client = self.client()
        client.socket.settimeout(patience(30))
        self.process.send_signal(signal.SIGTERM)
        with self.assertRaises(OSError):
            while True:
                client.send(b"incr missing 1\r\n" * 100)
        self.assertEqual(self.process.wait(timeout=patience(40)), 0, self.log())


@mxkv_only("it drains")
class DrainingTest(StagesBase):
    """The server drains: a client with a large unread reply keeps it running."""

    def setUp(self):
        super().setUp()
        self.start_one("server.pid_file=mxkvd.pid")
        self.slow = self.client(receive_buffer=4096)
        self.assertEqual(self.slow.set(b"large", VALUE), b"STORED")
        self.slow.send(b"get large\r\n")
        self.slow.socket.recv(1, socket.MSG_PEEK)
        self.port = self.ports()[0]
        self.process.send_signal(signal.SIGUSR1)
        wait_for(lambda: not (self.directory / "mxkv.sock").exists(), "the drain began")

    def test_nobody_new_gets_in(self):
        def refused():
            try:
                client = Connection(self.port, timeout=5)
            except OSError:
                return True
            client.close()
            return False
        wait_for(refused, "the listener is closed")
        self.assertIsNone(self.process.poll())
        self.assertTrue(self.slow.rest() == REPLY)
        self.assertEqual(self.process.wait(timeout=patience(30)), 0)

    def test_a_second_signal_ends_at_once(self):
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.process.wait(timeout=patience(30)), 1)
        self.assertIn("second signal: ended at once, without waiting for replies", self.log())
        self.assertLess(len(self.slow.rest()), len(REPLY))

    def test_a_hangup_changes_nothing(self):
        self.process.send_signal(signal.SIGHUP)
        self.assertTrue(self.slow.rest() == REPLY)
        self.assertEqual(self.process.wait(timeout=patience(30)), 0)

    def test_a_client_that_goes_ends_the_drain(self):
        self.slow.reset()
        self.assertEqual(self.process.wait(timeout=patience(30)), 0)


@mxkv_only("its signals")
class TerminalTest(DaemonCase):
    """A daemon in the foreground of a terminal that goes away."""
    ALONE = True  # preexec_fn

    def start_on_terminal(self, prepare=lambda: None):
        master, terminal = pty.openpty()

        def lead_session():
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
            prepare()
        self.start(start_new_session=True, preexec_fn=lead_session, pass_fds=(terminal,))
        os.close(terminal)
        return master

    def test_it_ends_when_its_terminal_is_gone(self):
        master = self.start_on_terminal()
        os.close(master)
        self.assertEqual(self.process.wait(timeout=patience(30)), 0, self.log())
        self.assertIn("SIGHUP (the terminal is gone): ending", self.log())

    def test_under_nohup_it_goes_on(self):
        master = self.start_on_terminal(lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        os.close(master)

        def reloads():  # two pending signals become one
            self.process.send_signal(signal.SIGHUP)
            return "reload: nothing changed" in self.log()
        wait_for(reloads, "one that is sent is still heeded")
        self.assertEqual(self.client().set(b"k", b"v"), b"STORED")
        self.end()


if __name__ == "__main__":
    unittest.main()
