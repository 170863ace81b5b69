"""Start and stop: one line reports a mistake in flags or file, signals drain, an idle server uses no CPU."""

import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from harness import Connection, LONG, Options, Server, environment, mxkv_only, patience, wait_for
from harness.beside import load_tests  # noqa: F401
from harness.connection import block


def is_refused(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


class SignalsTest(unittest.TestCase):
    def start(self, **options) -> Server:
        server = Server(Options(**options)).start()
        self.addCleanup(server.kill)
        return server

    def test_sigterm_and_sigint_end_an_idle_server_with_0(self):
        for how in (signal.SIGTERM, signal.SIGINT):
            server = self.start()
            server.stop(how)
            # Another test's server may have taken the free port meanwhile, and will end soon.
            wait_for(lambda: is_refused(server.port), "the listener is closed")

    def test_open_idle_connections_do_not_hold_up_the_end(self):
        server = self.start()
        clients = [Connection(server.port) for _ in range(50)]
        clients[0].send(b"set half 0 0 1000\r\nxxx")
        server.stop()
        for client in clients:
            self.assertEqual(client.rest(), b"")
            client.close()

    @mxkv_only("memcached drops what is in flight")
    def test_sigterm_cuts_no_reply_that_has_begun(self):
        for workers in (1, 2):
            server = self.start(workers=workers, value_bytes=32 << 20)
            client = Connection(server.port, timeout=30, receive_buffer=1 << 16)
            value = b"v" * (20 << 20)
            self.assertEqual(client.set(b"drained", value), b"STORED")
            client.send(b"get drained\r\n" * 3)
            client.socket.recv(1, socket.MSG_PEEK)
            # The reply exceeds the sockets' buffers, so the server is in the middle of it.
            server.process.send_signal(signal.SIGTERM)
            wait_for(lambda: ": ending" in server.log(), "the drain begins")
            received = client.rest()
            one = b"VALUE drained 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)
            self.assertGreater(len(received), 0)
            self.assertEqual(len(received) % len(one), 0, "no reply is cut")
            self.assertTrue(received == one * (len(received) // len(one)))
            server.wait_exit()
            client.close()

    @mxkv_only("memcached drops what is in flight")
    def test_sigterm_loses_no_reply_of_a_small_pipeline(self):
        for round_number in range(10):
            server = self.start()
            client = Connection(server.port)
            client.ask(b"version")
            client.send(b"".join(block(b"set", b"k%d" % i, b"v" * 300) for i in range(10)))
            self.assertEqual({client.line() for _ in range(10)}, {b"STORED"})
            # 12 KB of requests in one write and 190 KB of replies, below any high-water mark.
            get = b"get " + b" ".join(b"k%d" % i for i in range(10)) + b"\r\n"
            client.send(b"version\r\n" + b"incr k0 1\r\n" * 500 + get * 60)
            client.line()
            server.process.send_signal(signal.SIGTERM)
            expected = (b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n" * 500
                        + (b"".join(b"VALUE k%d 0 300\r\n%s\r\n" % (i, b"v" * 300) for i in range(10)) + b"END\r\n") * 60)
            self.assertTrue(client.rest() == expected, f"round {round_number}")
            server.wait_exit()
            client.close()

    @mxkv_only("memcached does not drain")
    def test_a_client_that_never_reads_does_not_hold_up_the_end_for_ever(self):
        server = self.start(settings=(("server.drain_timeout", "500ms"),))
        client = Connection(server.port, receive_buffer=4096)
        client.set(b"large", b"x" * 1000000)
        client.send(b"get large\r\n" * 100)
        server.stop()
        client.close()

    def test_connections_during_the_stop_are_refused_or_closed(self):
        server = self.start()
        server.process.send_signal(signal.SIGTERM)
        for _ in range(50):
            try:
                client = Connection(server.port)
            except OSError:
                continue
            try:
                client.send(b"version\r\n")
                client.rest()
            except OSError:
                pass
            client.close()
        server.wait_exit()


@mxkv_only("flags and file")
class WrongStartTest(unittest.TestCase):
    def run_wrong(self, *arguments):
        """Runs a daemon to its end; returns (exit code, stderr). A daemon that serves would exceed the timeout."""
        command = [environment.MXKVD, "--listen", "127.0.0.1:0", *arguments]
        done = subprocess.run(command, capture_output=True, timeout=patience(30), check=False, stdin=subprocess.DEVNULL)
        return done.returncode, done.stderr.decode()

    def expect_one_line(self, error: str, *words: str) -> None:
        self.assertEqual(len(error.strip().splitlines()), 1, error)
        for word in words:
            self.assertIn(word, error)

    def test_wrong_flags(self):
        for arguments in (["--bogus"], ["--workers", "x"], ["--workers", "0"], ["--memory", "12parsecs"],
                          ["--cpus", "4000"], ["--cpus", "3-1"], ["--listen", "nowhere"], ["--listen", "127.0.0.1:70000"]):
            with self.subTest(arguments):
                code, error = self.run_wrong(*arguments)
                self.assertEqual(code, 2, error)
                self.expect_one_line(error, arguments[0].lstrip("-"))

    def test_wrong_settings_name_their_path(self):
        for setting in ("limits.bogus=1", "limits.value_bytes=much", "experimental.prefetch.distance=1000", "nonsense"):
            with self.subTest(setting):
                code, error = self.run_wrong("--set", setting)
                self.assertEqual(code, 2, error)
                self.expect_one_line(error, "--set", setting.partition("=")[0])

    def test_wrong_file_names_line_and_column(self):
        cases = {
            "limits:\n  value_bytes: 1MiB\n  bogus: 1\n": ":3:3:",
            "limits:\n  value_bytes: much\n": ":2:16:",
            "experimental: {prefetch: {mode: sometimes}}\n": ":1:33:",
            "log:\n  level: [1\n": ":",
            "workers: -1\n": ":1:10:",
        }
        for text, place in cases.items():
            with self.subTest(text), tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(text)
                file.flush()
                code, error = self.run_wrong("--config", file.name)
                self.assertEqual(code, 2, error)
                self.expect_one_line(error, file.name + place)

    def test_missing_file(self):
        with tempfile.TemporaryDirectory(prefix="mxkv-lifecycle-") as folder:
            code, error = self.run_wrong("--config", f"{folder}/mxkv.yaml")
            self.assertEqual(code, 2, error)
            self.expect_one_line(error, f"{folder}/mxkv.yaml")

    def test_port_in_use(self):
        server = Server().start()
        self.addCleanup(server.kill)
        command = [environment.MXKVD, "--listen", f"127.0.0.1:{server.port}"]
        done = subprocess.run(command, capture_output=True, timeout=patience(30), check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(str(server.port), done.stderr.decode())
        self.assertRegex(done.stderr.decode().lower(), "in use")
        client = Connection(server.port)
        self.assertEqual(client.set(b"k", b"v"), b"STORED", "the first one serves on")
        client.close()
        server.stop()

    def test_version_and_help_exit_with_0(self):
        for flag, word in (("--version", "0"), ("--help", "--listen")):
            done = subprocess.run([environment.MXKVD, flag], capture_output=True, timeout=patience(30), check=False)
            self.assertEqual(done.returncode, 0)
            self.assertIn(word, done.stdout.decode())

    def test_a_file_is_used_and_flags_win_over_it(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("memory: {limit: 64MiB}\nlimits: {value_bytes: 2KiB, connections: 7}\n")
            file.flush()
            server = Server(Options(memory_mib=128, extra=("--config", file.name))).start()
            self.addCleanup(server.kill)
            client = Connection(server.port)
            self.assertEqual(client.set(b"k", b"x" * 2049), b"SERVER_ERROR object too large for cache")
            self.assertEqual(int(client.stats()["limit_maxbytes"]), 128 << 20)
            client.close()
            server.stop()


def is_parked(process: int) -> bool:
    """Whether no thread of the process runs or is runnable."""
    states = []
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/stat", encoding="ascii") as stat:
            states.append(stat.read().rpartition(") ")[2][0])
    return set(states) == {"S"}


class IdleTest(unittest.TestCase):
    @mxkv_only("memcached's clock ticks")
    def test_idle_uses_no_cpu_and_answers_at_once_afterwards(self):
        server = Server(Options(workers=2)).start()
        self.addCleanup(server.kill)
        idle = [Connection(server.port) for _ in range(20)]
        for client in idle:
            client.ask(b"version")
        self.assertEqual(idle[0].set(b"k", b"v" * 100000), b"STORED")
        seconds = 30 if LONG else 3
        most = 1 if not environment.SANITIZED else 5 * seconds

        def is_idle() -> bool:
            before = server.cpu_ticks()
            time.sleep(seconds)
            used = server.cpu_ticks() - before
            if used > most:
                print(f"{used} ticks of 10 ms in {seconds} s of idleness: measured again")
            return used <= most
        # On a busy machine the work of the start may end late. A server that never becomes idle uses ticks in every window.
        wait_for(is_idle, f"at most {most} ticks of 10 ms in {seconds} s")
        self.assertEqual(len(idle[7].get(b"k")), 100000)
        for client in idle:
            client.close()
        server.stop()

    def test_stop_wakes_an_idle_server(self):
        server = Server().start()
        self.addCleanup(server.kill)
        wait_for(lambda: is_parked(server.process.pid), "all threads wait in the kernel")
        os.kill(server.process.pid, signal.SIGTERM)
        server.wait_exit()
