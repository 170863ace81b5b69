"""The systemd units: systemd verifies them and rates their exposure as low, and they allow all of the daemon's system calls."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import machine

UNITS = machine.REPOSITORY / "server" / "systemd"
MOST_EXPOSED = 20  # tenths; 10.0 is the worst, an empty unit has 9.6


class UnitsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # As installed, except for the daemon's path.
        self.service = self.write("mxkvd.service", self.text().replace("/usr/bin/mxkvd", machine.MXKVD))
        self.socket = Path(shutil.copy(UNITS / "mxkvd.socket", self.folder))

    @staticmethod
    def text() -> str:
        return (UNITS / "mxkvd.service").read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def analyze(self, *arguments) -> subprocess.CompletedProcess:
        return machine.run("systemd-analyze", *arguments, check=False)

    def verify(self, *units) -> subprocess.CompletedProcess:
        return self.analyze("verify", "--recursive-errors=one", "--man=no", *units)

    @machine.needs(machine.missing("systemd-analyze"))
    def test_systemd_finds_nothing_wrong(self):
        found = self.verify(self.service, self.socket)
        self.assertEqual((found.returncode, found.stderr), (0, ""))

    @machine.needs(machine.missing("systemd-analyze"))
    def test_systemd_would_find_a_wrong_key_or_a_daemon_that_is_not_there(self):
        for before, after in [("LimitNOFILE=", "LimitFILES="), (machine.MXKVD, "/nowhere/mxkvd")]:
            with self.subTest(after=after):
                wrong = self.service.read_text(encoding="utf-8").replace(before, after)
                self.assertNotEqual(self.verify(self.write("mxkvd.service", wrong)).stderr, "")

    @machine.needs(machine.missing("systemd-analyze"))
    def test_little_is_exposed(self):
        arguments = ("security", "--offline=yes", f"--threshold={MOST_EXPOSED}")
        found = self.analyze(*arguments, self.service)
        self.assertEqual(found.returncode, 0, found.stdout)
        bare = self.write("bare.service", f"[Service]\nExecStart={machine.MXKVD}\n")
        self.assertNotEqual(self.analyze(*arguments, bare).returncode, 0)

    def allowed_calls(self) -> set:
        """System calls that the unit's filter allows, as systemd expands it."""
        allowed = set()
        for line in re.findall(r"^SystemCallFilter=(.*)$", self.text(), re.MULTILINE):
            calls = self.expand(line.removeprefix("~").split())
            allowed = allowed - calls if line.startswith("~") else allowed | calls
        return allowed | self.expand(["@default"])  # systemd never takes these away

    def expand(self, names) -> set:
        calls = set()
        for name in names:
            if name.startswith("@"):
                lines = machine.run("systemd-analyze", "syscall-filter", name).stdout.splitlines()[1:]
                calls |= self.expand(line.strip() for line in lines if line.strip() and "#" not in line)
            else:
                calls.add(name)
        return calls

    @machine.needs(machine.missing("systemd-analyze", "strace"))
    def test_every_system_call_of_the_daemon_passes_the_filter(self):
        port, trace = machine.free_port(), self.folder / "trace"
        log = self.folder / "log"
        tracer = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", trace, machine.MXKVD, "--listen", f"127.0.0.1:{port}",
             "--set", f"log.file={log}"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            machine.wait_for_version(port, lambda: tracer.poll() is None)
            machine.exercise(self, port)
            self.end(tracer, trace)
        finally:
            tracer.kill()
            tracer.wait()
        made = set(re.findall(r"^\d+ +([a-z_0-9]+)\(", trace.read_text(encoding="utf-8"), re.MULTILINE))
        self.assertLessEqual({"sched_setaffinity", "membarrier", "epoll_wait"}, made)
        self.assertEqual(made - self.allowed_calls(), set())

    def end(self, tracer, trace) -> None:
        """Ends the daemon, which is the first process in the trace: strace does not forward signals."""
        os.kill(int(trace.read_text(encoding="utf-8").split(None, 1)[0]), signal.SIGTERM)
        self.assertEqual(tracer.wait(60), 0)

    def test_the_package_makes_the_user_that_the_unit_names(self):
        user = re.search(r"^User=(.*)$", self.text(), re.MULTILINE).group(1)
        postinst = (machine.REPOSITORY / "server" / "debian" / "postinst").read_text(encoding="utf-8")
        self.assertRegex(postinst, rf"adduser --system .* {user}\n")


if __name__ == "__main__":
    machine.main()
