"""A daemon that dies of a fault reports where, and leaves a core without stored data unless allowed."""

import ctypes
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import Connection, Options, Server, environment, mxkv_only

PATTERN = Path("/proc/sys/kernel/core_pattern").read_text(encoding="utf-8").strip()
SYS_TGKILL = {"x86_64": 234, "aarch64": 131}.get(os.uname().machine)
# What every worker's thread runs in. One that was just started may wait there for the others, not yet in Worker::run.
ENTRY = "mxkv::runtime::Runtime::start()"
MARK = b"stored and nobody else's business" * 20


def threads_of(process: int) -> dict[str, int]:
    """Thread names to numbers."""
    return {(task / "comm").read_text(encoding="utf-8").strip(): int(task.name)
            for task in Path(f"/proc/{process}/task").iterdir()}


@mxkv_only("about its own reports")
@unittest.skipIf(environment.SANITIZED, "a sanitizer reports faults itself")
class CrashTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, *settings: tuple[str, str]) -> Server:
        server = Server(Options(workers=2, settings=(("log.file", f"{self.folder}/log"), *settings))).start()
        self.addCleanup(server.kill)
        return server

    def crash(self, server: Server, thread: str) -> str:
        """Sends a fault's signal to the thread. Returns the log afterwards."""
        number = threads_of(server.process.pid)[thread]
        self.assertEqual(ctypes.CDLL(None).syscall(SYS_TGKILL, server.process.pid, number, signal.SIGSEGV), 0)
        self.assertEqual(server.process.wait(120), -signal.SIGSEGV)
        return (self.folder / "log").read_text(encoding="utf-8")

    def test_the_report_names_signal_thread_build_and_the_places_that_a_debugger_finds(self):
        server = self.start()
        report = self.crash(server, "worker-1")
        self.assertRegex(report, r"(?m)^mxkvd: died of SIGSEGV, sent by process \d+, thread worker-1$")
        version = subprocess.run([environment.MXKVD, "--version"], capture_output=True, text=True, check=True).stdout
        build_id = re.search(r"build id ([0-9a-f]{40})", version).group(1)
        self.assertIn(f"build id {build_id}\n", report)
        notes = subprocess.run(["readelf", "-n", environment.MXKVD], capture_output=True, text=True, check=True).stdout
        self.assertIn(build_id, notes)
        places = re.findall(r"(?m)^mxkvd:   mxkvd\+(0x[0-9a-f]+)$", report)
        self.assertGreaterEqual(len(places), 2, report)
        names = subprocess.run(["addr2line", "-Cfipe", environment.MXKVD, *places], capture_output=True, text=True,
                               check=True).stdout
        self.assertIn(ENTRY, names)

    def test_one_that_is_told_to_end_reports_nothing(self):
        server = self.start()
        server.stop()
        self.assertNotIn("died of", (self.folder / "log").read_text(encoding="utf-8"))

    @unittest.skipIf(PATTERN.startswith("|") or "/" in PATTERN, "the system takes cores elsewhere")
    def test_a_core_holds_what_is_stored_only_where_it_is_to(self):
        before = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_CORE, before)
        if before[1] == 0:
            self.skipTest("no process here may leave a core")
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)
        for settings, holds in (((), False), ((("memory.in_core", "true"),), True)):
            with self.subTest(settings):
                server = self.start(*settings)
                with_values = Connection(server.port)
                for i in range(2000):
                    self.assertEqual(with_values.set(b"key%d" % i, MARK), b"STORED")
                with_values.close()
                self.crash(server, "worker-0")
                core, = self.folder.glob("core*")
                # A worker's buffers may hold a copy of the last bytes received; stored data must not be there.
                found = core.read_bytes().count(MARK)
                (self.assertGreater if holds else self.assertLess)(found, 1000)
                if shutil.which("gdb"):
                    stack = subprocess.run(["gdb", "-batch", "-ex", "bt", environment.MXKVD, core], capture_output=True,
                                           text=True, check=False).stdout
                    self.assertIn(ENTRY, stack)
                core.unlink()


if __name__ == "__main__":
    unittest.main()
