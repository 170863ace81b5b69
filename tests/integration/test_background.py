"""--daemonize: the command returns when the daemon serves, or with its error; the pid file; the inherited descriptors."""

import os
import signal
import subprocess
import unittest
from pathlib import Path

from harness import LONG, DaemonCase, mxkv_only, wait_for


_PATIENCE_S = 120


def fields_of(process: int) -> list:
    """The fields of /proc/PID/stat from the state on: state, parent, group, session, terminal."""
    with open(f"/proc/{process}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()


@mxkv_only("its background")
class BackgroundTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.write_config("server: {pid_file: mxkvd.pid}\nlog: {file: out.log}\n")
        self.pid_file = self.directory / "mxkvd.pid"

    def daemonize(self, *arguments, **options):
        """Returns (exit code, standard error); the end of the test kills a daemon that runs."""
        result = self.run_to_end("--daemonize", *arguments, **options)
        if result[0] == 0:
            self.daemon = int(self.pid_file.read_text())
            self.addCleanup(self.kill_daemon, self.daemon)
        return result

    @staticmethod
    def kill_daemon(daemon):
        try:
            os.kill(daemon, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end_daemon(self):
        os.kill(self.daemon, signal.SIGTERM)
        self.wait_gone(self.daemon)
        self.assertTrue(self.log().rstrip().endswith("ended"), self.log())
        self.assert_no_report()

    def test_it_serves_when_the_command_returned(self):
        for _ in range(5 if LONG else 3):
            self.log_file.unlink(missing_ok=True)
            self.assertEqual(self.daemonize(), (0, ""))
            client = self.client()  # at once, without waiting
            self.assertEqual(client.set(b"k", b"v"), b"STORED")
            self.assertEqual(int(client.stats()["pid"]), self.daemon)
            client.close()
            self.end_daemon()
            self.assertFalse(self.pid_file.exists(), "the pid file goes at the end")

    def test_it_has_let_go_of_who_started_it(self):
        readable, writable = os.pipe()
        self.addCleanup(os.close, readable)
        os.set_inheritable(writable, True)
        self.assertEqual(self.daemonize(pass_fds=(writable,))[0], 0)
        os.close(writable)
        self.assertEqual(os.read(readable, 1), b"", "an inherited pipe is closed")
        _, _, group, session, terminal = fields_of(self.daemon)[:5]
        self.assertEqual(terminal, "0")
        self.assertNotIn(int(session), (os.getsid(0), self.daemon), "a session of its own, which it does not lead")
        self.assertEqual(group, session)
        self.assertEqual(os.readlink(f"/proc/{self.daemon}/cwd"), "/")
        self.assertEqual([os.readlink(f"/proc/{self.daemon}/fd/{i}") for i in range(3)], ["/dev/null"] * 3)
        with open(f"/proc/{self.daemon}/status", encoding="ascii") as status:
            self.assertIn("Umask:\t0027\n", status.read())
        self.end_daemon()

    def test_a_start_that_fails_returns_the_error_and_the_code(self):
        taken = self.start("--set", "server.pid_file=none", "--set", "log.file=stderr", listen=["unix:taken.sock"])
        code, error = self.daemonize(listen=["unix:taken.sock"])
        self.assertEqual(code, 1)
        self.assertIn("a process answers on this socket", error)
        self.assertFalse(self.pid_file.exists())
        code, error = self.daemonize("--workers", "none")
        self.assertEqual(code, 2)
        self.assertIn("--workers", error)
        code, error = self.daemonize("--set", "cpus=4000")
        self.assertEqual(code, 2, error)
        self.assertIn("4000", error)
        self.assertIsNone(taken.poll())
        self.end()

    def test_a_reload_finds_the_file_though_the_directory_is_another(self):
        self.assertEqual(self.daemonize(), (0, ""))
        self.write_config("server: {pid_file: mxkvd.pid}\nlog: {file: out.log}\nlimits: {pipeline: 77}\n")
        os.kill(self.daemon, signal.SIGHUP)
        self.process = None
        self.wait_log("reload: limits.pipeline is now 77, was 1024")
        self.end_daemon()

    def test_without_a_log_file_it_says_that_nothing_is_logged(self):
        self.write_config("server: {pid_file: mxkvd.pid}\n")
        code, error = self.daemonize()
        self.assertEqual(code, 0)
        self.assertIn("in the background without log.file: nothing more is logged", error)
        os.kill(self.daemon, signal.SIGTERM)
        self.wait_gone(self.daemon)


@mxkv_only("its pid file")
class PidFileTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.pid_file = self.directory / "mxkvd.pid"

    def test_it_holds_the_number_while_the_daemon_runs(self):
        process = self.start("--pid-file", "mxkvd.pid")
        self.assertEqual(self.pid_file.read_text(), f"{process.pid}\n")
        self.assertEqual(self.pid_file.stat().st_mode & 0o777, 0o644)
        self.end()
        self.assertFalse(self.pid_file.exists())

    def test_a_second_daemon_is_refused_and_the_file_stays(self):
        process = self.start("--pid-file", "mxkvd.pid")
        code, error = self.run_to_end("--pid-file", "mxkvd.pid")
        self.assertEqual(code, 1)
        self.assertIn(f"mxkvd.pid: process {process.pid} holds it and is alive", error)
        self.assertEqual(self.pid_file.read_text(), f"{process.pid}\n")
        self.end()

    def test_another_programs_living_process_is_respected(self):
        with subprocess.Popen(["sleep", "100"]) as other:
            try:
                self.pid_file.write_text(f"{other.pid}\n")
                code, error = self.run_to_end("--pid-file", "mxkvd.pid")
                self.assertEqual(code, 1)
                self.assertIn(f"process {other.pid} is alive", error)
                self.assertEqual(self.pid_file.read_text(), f"{other.pid}\n")
            finally:
                other.kill()

    def test_a_stale_one_is_replaced(self):
        process = self.start("--pid-file", "mxkvd.pid")
        process.kill()
        process.wait()
        self.assertTrue(self.pid_file.exists())
        for text in (None, "", "no number\n", "99999999999999999999\n"):
            if text is not None:
                self.pid_file.write_text(text)
            self.log_file.unlink()
            process = self.start("--pid-file", "mxkvd.pid")
            self.assertEqual(self.pid_file.read_text(), f"{process.pid}\n")
            self.end()

    def test_one_whose_process_has_ended_but_is_not_waited_for_is_stale(self):
        with subprocess.Popen(["true"]) as ended:
            wait_for(lambda: ") Z" in Path(f"/proc/{ended.pid}/stat").read_text(), "it ended", _PATIENCE_S)
            self.pid_file.write_text(f"{ended.pid}\n")
            process = self.start("--pid-file", "mxkvd.pid")
            self.assertEqual(self.pid_file.read_text(), f"{process.pid}\n")
            self.end()

    def test_where_it_cannot_be_written_nothing_starts(self):
        code, error = self.run_to_end("--pid-file", "none/mxkvd.pid")
        self.assertEqual(code, 1)
        self.assertIn("pid file none/mxkvd.pid: No such file or directory", error)

    def test_it_goes_when_a_second_signal_ends_the_daemon_at_once(self):
        self.start("--pid-file", "mxkvd.pid", "--set", "server.drain_timeout=1h", listen=["127.0.0.1:0", "unix:mxkv.sock"])
        client = self.client(receive_buffer=4096)
        client.set(b"large", b"x" * 1000000)
        client.send(b"get large\r\n" * 100)
        client.socket.recv(1)
        self.process.send_signal(signal.SIGTERM)
        self.wait_log("SIGTERM: ending")
        wait_for(lambda: not (self.directory / "mxkv.sock").exists(), "the socket's file goes when the drain begins", _PATIENCE_S)
        self.assertTrue(self.pid_file.exists())
        self.assertIsNone(self.process.poll())
        self.end(signal.SIGTERM, code=1)
        self.assertFalse(self.pid_file.exists())


if __name__ == "__main__":
    unittest.main()
