"""The protocol between systemd and a service: readiness, reloads and the watchdog in datagrams, and sockets that are passed in.

The tests speak it as sd_notify(3) and sd_listen_fds(3) document it; no systemd is needed.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from harness import Closed, Connection, DaemonCase, NotifySocket, free_port, mxkv_only, patience, wait_for

ACTIVATE = shutil.which("systemd-socket-activate")


def passed_in(process: str, *names) -> str:
    """A program for `python3 -c` that passes its own sockets 3, 4, .. to the program in its arguments."""
    return (f"import os, sys; os.environ.update(LISTEN_PID={process}, LISTEN_FDS='{len(names)}', "
            f"LISTEN_FDNAMES='{':'.join(names)}'); os.execv(sys.argv[1], sys.argv[1:])")


class NotifyCase(DaemonCase):
    def notified(self, *arguments, abstract=False, environment=(), **options):
        """Starts with a NOTIFY_SOCKET; nothing has been received from it yet."""
        notify = NotifySocket(abstract)
        self.addCleanup(notify.close)
        variables = {**os.environ, "NOTIFY_SOCKET": notify.name, **dict(environment)}
        self.start(*arguments, env=variables, wait="", **options)
        return notify


@mxkv_only("its datagrams")
class NotifyTest(NotifyCase):
    def test_ready_comes_when_the_listeners_are_up_and_stopping_at_the_end(self):
        for abstract in (False, True):
            port = free_port()
            notify = self.notified(abstract=abstract, listen=[f"127.0.0.1:{port}"])
            self.assertEqual(notify.next(), {"READY": "1", "MAINPID": str(self.process.pid)})
            client = Connection(port)  # at once
            self.assertEqual(client.set(b"k", b"v"), b"STORED")
            client.close()
            self.end()
            self.assertEqual(notify.next(), {"STOPPING": "1"})
            self.assertTrue(notify.silent_for(0.1))

    def test_nothing_is_ready_when_the_start_fails(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            notify = self.notified(listen=[f"127.0.0.1:{taken.getsockname()[1]}"])
            self.assertEqual(self.process.wait(timeout=patience(30)), 1)
            self.assertTrue(notify.silent_for(0.1))

    def test_a_reload_is_bracketed_and_the_new_limits_hold_when_it_is_over(self):
        self.write_config()
        notify = self.notified()
        notify.next()
        client = self.client()
        for limit in (11, 12, 13):
            self.write_config(f"limits: {{pipeline: {limit}}}\n")
            before = time.monotonic_ns() // 1000
            self.process.send_signal(signal.SIGHUP)
            message = notify.next()
            self.assertEqual(message["RELOADING"], "1")
            self.assertTrue(before <= int(message["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000)
            self.assertEqual(notify.next()["READY"], "1")
            self.assertEqual(client.stats(b"settings")["pipeline"], str(limit))
        self.write_config("bogus: 1\n")
        self.process.send_signal(signal.SIGHUP)
        self.assertEqual([sorted(notify.next()), sorted(notify.next())],
                         [["MONOTONIC_USEC", "RELOADING"], ["MAINPID", "READY"]], "after a refused one, too")
        self.end()

    def test_in_the_background_the_daemon_says_who_it_is(self):
        notify = self.notified("--daemonize", "--pid-file", "mxkvd.pid")
        message = notify.next()
        self.assertEqual(self.process.wait(timeout=patience(30)), 0)
        daemon = int((self.directory / "mxkvd.pid").read_text())
        self.assertEqual(message, {"READY": "1", "MAINPID": str(daemon)})
        os.kill(daemon, signal.SIGTERM)
        self.wait_gone(daemon)
        self.assertEqual(notify.next(), {"STOPPING": "1"})

    def test_a_socket_that_nobody_reads_does_not_hold_up_the_daemon(self):
        self.start(env={**os.environ, "NOTIFY_SOCKET": str(self.directory / "nobody")})
        self.wait_log("NOTIFY_SOCKET takes no message")
        self.assertEqual(self.client().set(b"k", b"v"), b"STORED")
        self.end()


class OneThreadStopped:
    """Stops one thread of another process by ptrace; the others run on."""
    SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17

    def __init__(self, thread: int):
        self.thread = thread
        self._ptrace = ctypes.CDLL(None, use_errno=True).ptrace
        self._ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self._call(self.SEIZE)
        self._call(self.INTERRUPT)
        os.waitpid(thread, 0x40000000)  # __WALL

    def _call(self, request: int) -> None:
        if self._ptrace(request, self.thread, None, None) != 0:
            raise PermissionError(ctypes.get_errno(), "ptrace")

    def go_on(self) -> None:
        self._call(self.DETACH)


@mxkv_only("its watchdog")
class WatchdogTest(NotifyCase):
    PERIOD_S = 0.4

    def watched(self, **options) -> NotifySocket:
        notify = self.notified(environment={"WATCHDOG_USEC": str(int(self.PERIOD_S * 1e6))}, **options)
        self.assertEqual(notify.next()["READY"], "1")
        return notify

    def test_parked_workers_are_fine(self):
        notify = self.watched()
        for _ in range(6):
            self.assertEqual(notify.next(), {"WATCHDOG": "1"})
        self.end()

    def test_working_ones_too(self):
        notify = self.watched()
        client = self.client()
        for _ in range(4):
            notify.forget()
            client.send(b"incr missing 1\r\n" * 3000)
            self.assertEqual({client.line() for _ in range(3000)}, {b"NOT_FOUND"})
            self.assertEqual(notify.next(), {"WATCHDOG": "1"})
        self.end()

    def test_pings_are_for_the_process_that_is_named(self):
        notify = self.notified(environment={"WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"})
        self.assertEqual(notify.next()["READY"], "1")
        self.assertTrue(notify.silent_for(0.5))
        self.end()

    def test_a_worker_that_hangs_stops_the_pings_until_it_goes_on(self):
        notify = self.watched(listen=["127.0.0.1:0"])
        self.wait_log("listening on")
        stop = threading.Event()
        load = threading.Thread(target=self.keep_busy, args=(self.ports()[0], stop))
        load.start()
        self.addCleanup(load.join)
        self.addCleanup(stop.set)
        stopped = self.stop_until_it_is_seen()
        try:
            notify.forget()
            self.assertTrue(notify.silent_for(3 * self.PERIOD_S), "no ping")
        finally:
            stop.set()
            stopped.go_on()
        self.assertEqual(notify.next(), {"WATCHDOG": "1"}, "it goes on")
        load.join(patience(30))
        self.end()

    @staticmethod
    def keep_busy(port, stop) -> None:
        client = Connection(port, timeout=30)
        try:
            while not stop.is_set():
                client.send(b"incr missing 1\r\n" * 2000)
                for _ in range(2000):
                    client.line()
        except (OSError, Closed):
            pass
        client.close()

    def stop_until_it_is_seen(self) -> OneThreadStopped:
        """If a worker stops in the moment before it waits in the kernel, it counts as parked: then the test tries again."""
        for _ in range(20):
            stopped = self.stop_at_work()
            deadline = time.monotonic() + patience(5 * self.PERIOD_S)
            while time.monotonic() < deadline:
                if "hangs in a task; the daemon stops sending watchdog pings" in self.log():
                    return stopped
                time.sleep(0.02)
            stopped.go_on()
        raise AssertionError("no worker that was stopped was found hanging")

    def stop_at_work(self) -> OneThreadStopped:
        """Stops a thread that is neither the main one nor waiting in the kernel."""
        main = self.process.pid

        def try_one():
            for thread in (int(name) for name in os.listdir(f"/proc/{main}/task")):
                if thread == main:
                    continue
                try:
                    stopped = OneThreadStopped(thread)
                except PermissionError as error:
                    self.skipTest(f"one thread cannot be stopped here: {error}")
                with open(f"/proc/{main}/task/{thread}/syscall", encoding="ascii") as call:
                    at_work = call.read().startswith(("running", "-1 "))
                if at_work:
                    return stopped
                stopped.go_on()
            return None
        return wait_for(try_one, "a worker outside of the kernel", 60)


@mxkv_only("socket activation")
class ActivationTest(DaemonCase):
    """A shell's exec puts sockets on descriptors 3, 4, ..; the program that becomes the daemon sets LISTEN_PID."""

    def pass_in(self, sockets, *arguments, names=None, process="str(os.getpid())", **options):
        numbers = {3 + i: passed for i, passed in enumerate(sockets)}
        move = "import os, sys\n" + "".join(f"os.dup2({passed.fileno()}, {200 + number})\n" for number, passed in numbers.items())
        move += "".join(f"os.dup2({200 + number}, {number}, True)\nos.close({200 + number})\n" for number in numbers)
        program = move + passed_in(process, *(names or [""] * len(sockets)))
        return self.start(*arguments, prefix=(sys.executable, "-c", program),
                          pass_fds=[passed.fileno() for passed in sockets], **options)

    def listener(self, family=socket.AF_INET, address=("127.0.0.1", 0)):
        made = socket.socket(family)
        self.addCleanup(made.close)
        made.bind(address)
        made.listen()
        return made

    def test_passed_sockets_are_served_in_place_of_the_listeners(self):
        path = self.directory / "passed.sock"
        sockets = [self.listener(), self.listener(socket.AF_UNIX, str(path))]
        self.pass_in(sockets, names=["cache", "local"], listen=["unix:own.sock"], wait="")
        self.wait_log(f"listening on unix:{path} (passed in as local)")
        port = sockets[0].getsockname()[1]
        self.wait_log(f"listening on 127.0.0.1:{port} (passed in as cache)")
        self.assertFalse((self.directory / "own.sock").exists())
        self.assertEqual(self.client(port).set(b"k", b"v"), b"STORED")
        self.assertEqual(self.client(path).get(b"k"), b"v")
        settings = self.client(path).stats(b"settings")
        self.assertEqual((settings["tcpport"], settings["inter"], settings["domain_socket"]), (str(port), "127.0.0.1", str(path)))
        with open(f"/proc/{self.process.pid}/environ", "rb") as variables:
            self.assertIn(b"LISTEN_FDS=2", variables.read())
        self.end()
        self.assertTrue(path.exists(), "it is not ours to remove")

    def test_one_with_the_address_of_a_listener_has_its_settings(self):
        path = self.directory / "open.sock"
        sockets = [self.listener(), self.listener(), self.listener(socket.AF_UNIX, str(path))]
        ports = [made.getsockname()[1] for made in sockets[:2]]
        users = self.directory / "users"
        users.write_text("ann:secret\n")
        self.write_config(f"listeners: [{{address: 127.0.0.1, port: {ports[1]}, auth: none}}, {{path: {path}, auth: none}}]\n"
                          f"server: {{auth_file: {users}}}\n")
        self.pass_in(sockets, listen=(), wait=f"listening on unix:{path} (passed in)")
        self.assertEqual(self.client(ports[0]).ask(b"version"), b"CLIENT_ERROR unauthenticated")
        for where in (ports[1], path):
            self.assertRegex(self.client(where).ask(b"version"), b"^VERSION ")
        self.end()

    def test_who_connects_while_no_daemon_runs_is_served_by_the_next(self):
        listener = self.listener()
        port = listener.getsockname()[1]
        self.pass_in([listener], wait="passed in")
        self.end()
        early = self.client(port)
        early.send(b"set k 0 0 1\r\nv\r\n")
        self.log_file.unlink()
        self.pass_in([listener], wait="passed in")
        self.assertEqual(early.line(), b"STORED")
        self.end()

    def test_they_survive_the_way_into_the_background(self):
        listener = self.listener()
        self.pass_in([listener], "--daemonize", "--pid-file", "mxkvd.pid", wait="")
        self.assertEqual(self.process.wait(timeout=patience(30)), 0, self.log())
        self.assertEqual(self.client(listener.getsockname()[1]).set(b"k", b"v"), b"STORED")
        daemon = int((self.directory / "mxkvd.pid").read_text())
        os.kill(daemon, signal.SIGTERM)
        self.wait_gone(daemon)

    def test_those_of_another_process_are_left_alone(self):
        listener = self.listener()
        self.pass_in([listener], process="'1'")
        self.assertNotIn("passed in", self.log())
        self.assertNotEqual(self.ports(), [listener.getsockname()[1]])
        self.end()

    def test_what_is_no_listening_socket_is_refused(self):
        plain = socket.socket()
        self.addCleanup(plain.close)
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(datagrams.close)
        for wrong in (plain, datagrams):
            self.pass_in([self.listener(), wrong], wait="")
            self.assertEqual(self.process.wait(timeout=patience(30)), 2)
            self.assertIn("descriptor 4: is not a listening stream socket", self.log())
        self.start(prefix=(sys.executable, "-c", passed_in("str(os.getpid())", "a", "b")), wait="")
        self.assertEqual(self.process.wait(timeout=patience(30)), 2)
        self.assertIn("descriptor 3: was announced as passed in, but is not open", self.log())

    @unittest.skipUnless(ACTIVATE, "systemd-socket-activate is not installed")
    def test_systemd_socket_activate_starts_it_at_the_first_connection(self):
        port = free_port()
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen([ACTIVATE, "--fdname=cache", "-l", f"127.0.0.1:{port}", *self.command()],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory)
        self.addCleanup(self.kill, self.process)
        self.wait_log("Listening on")
        self.assertNotIn("mxkvd 0", self.log())
        client = self.client(port)
        self.assertEqual(client.set(b"k", b"v"), b"STORED")
        self.wait_log(f"listening on 127.0.0.1:{port} (passed in as cache)")
        self.end()


if __name__ == "__main__":
    unittest.main()
