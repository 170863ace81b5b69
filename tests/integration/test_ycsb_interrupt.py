"""The load client is interrupted, or cannot write its results: it loses no measurement, and reports no failure as a success.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile

from harness import environment
from harness.case import ServerCase, mxkv_only
from harness.daemon import wait_for
from harness.environment import patience


class InterruptCase(ServerCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def start(self, *arguments, port=None, stdout=subprocess.PIPE) -> subprocess.Popen:
        process = subprocess.Popen([environment.MXKV_YCSB, *arguments, "--server", f"127.0.0.1:{port or self.server.port}"],
                                   stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(self.kill, process)
        return process

    @staticmethod
    def kill(process) -> None:
        if process.poll() is None:
            process.kill()
        with contextlib.suppress(ValueError):
            process.communicate()

    def end(self, process, code: int):
        out, err = process.communicate(timeout=patience(30))
        self.assertEqual(process.returncode, code, (out or "") + err)
        return out, err

    def stores(self, more_than: int) -> None:
        wait_for(lambda: int(self.connect().stats()["cmd_set"]) > more_than, "that it is at work")


@mxkv_only("the load client is told by mxkvd's statistics")
class YcsbInterruptTest(InterruptCase):
    def check(self, number: int, *arguments) -> None:
        before = int(self.connect().stats()["cmd_set"])
        process = self.start("load", "--recordcount", "1000000000", "--connections", "4", "--depth", "4", "--threads", "2",
                             "--json", "result.json", "--csv", "result.csv", *arguments)
        self.stores(before + 1000)
        process.send_signal(number)
        out, err = self.end(process, 128 + number)
        self.assertIn("interrupted", err)
        self.assertIn("[OVERALL], Interrupted, 1", out)
        with open(self.path("result.json"), encoding="utf-8") as file:
            result = json.load(file)
        self.assertTrue(result["interrupted"])
        insert = result["results"]["INSERT"]
        operations = insert["latency"]["count"]
        self.assertGreater(operations, 1000)
        self.assertEqual(insert["ok"], operations, "the replies of all that were out were waited for")
        self.assertIn(f"[INSERT], Operations, {operations}\n", out)
        self.assertEqual(int(self.connect().stats()["cmd_set"]) - before, operations)
        self.assertGreater(os.path.getsize(self.path("result.csv")), 0)

    def test_a_run_that_is_interrupted_tells_what_was_done(self):
        self.check(signal.SIGINT)

    def test_so_does_one_that_is_terminated(self):
        self.check(signal.SIGTERM)

    def test_so_does_one_with_a_schedule(self):
        self.check(signal.SIGINT, "--target", "5000")

    def test_a_result_that_was_interrupted_can_be_merged(self):
        self.check(signal.SIGINT)
        process = self.start_merge("result.json")
        self.assertIn("[OVERALL], Interrupted, 1", self.end(process, 0)[0])

    def start_merge(self, *files) -> subprocess.Popen:
        process = subprocess.Popen([environment.MXKV_YCSB, "merge", *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=self.folder)
        self.addCleanup(self.kill, process)
        return process


@mxkv_only("no server at all")
class YcsbSilentServerTest(InterruptCase):
    def setUp(self):
        super().setUp()
        listening = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listening.close)
        self.listening = listening

    def begin(self) -> subprocess.Popen:
        process = self.start("load", "--recordcount", "1000", "--json", "result.json", "--no-server-counters",
                             port=self.listening.getsockname()[1])
        self.listening.settimeout(patience(20))
        connection = self.listening.accept()[0]
        self.addCleanup(connection.close)
        connection.settimeout(patience(20))
        connection.recv(1)
        return process

    def test_a_server_that_never_answers_does_not_keep_it(self):
        process = self.begin()
        process.send_signal(signal.SIGINT)
        self.assertIn("no reply for 1000 ms", self.end(process, 128 + signal.SIGINT)[1])
        with open(self.path("result.json"), encoding="utf-8") as file:
            self.assertTrue(json.load(file)["interrupted"])

    def test_a_second_signal_ends_it_at_once(self):
        process = self.begin()
        process.send_signal(signal.SIGINT)
        self.assertIn("interrupted", process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=patience(30))
        self.assertIn(process.returncode, (-signal.SIGTERM, 128 + signal.SIGINT), "the first may have come to its end")


@mxkv_only("the load client's outputs")
class YcsbFullDiskTest(InterruptCase):
    LOAD = ("load", "--recordcount", "200")

    def test_a_report_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            process = self.start(*self.LOAD, "--json", "result.json", stdout=full)
            err = self.end(process, 1)[1]
        self.assertEqual(err, "mxkv-ycsb: standard output: cannot be written: No space left on device\n")
        with open(self.path("result.json"), encoding="utf-8") as file:
            self.assertFalse(json.load(file)["interrupted"])

    def test_so_is_each_file(self):
        for flag in ("--json", "--csv"):
            out, err = self.end(self.start(*self.LOAD, flag, "/dev/full"), 1)
            self.assertEqual(err, "mxkv-ycsb: /dev/full: cannot be written: No space left on device\n")
            self.assertIn("[INSERT], Operations, 200\n", out, "it is told all the same")

    def test_so_is_help(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([environment.MXKV_YCSB, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                                  timeout=patience(30))
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be written", done.stderr)
