"""bench/server: the programs beside mxkvd, other servers and busy loops: found, refused, and ended surely."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from harness.environment import MEMCACHED, REDIS, patience

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "server"
CPUS = sorted(os.sched_getaffinity(0))

sys.path.insert(0, str(TOOLS))
import busy  # noqa: E402: found by the line above
import other_programs  # noqa: E402


class OtherProgramsTest(unittest.TestCase):
    """Programs of other projects, by their answers; here scripts that answer like them."""

    def version_of(self, name: str, script: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            program.chmod(0o755)
            try:
                return other_programs.version_of(name, program)
            except other_programs.BadProgram as problem:
                return str(problem).replace(str(program), "PATH")

    def test_a_program_says_its_own_name_and_version(self) -> None:
        self.assertEqual(self.version_of("redis", "echo 'Redis server v=7.0.15 sha=00000000:0 malloc=libc'"), "redis 7.0.15")
        self.assertEqual(self.version_of("redis", "echo 'Valkey server v=8.1.0-rc1 sha=0'"), "valkey 8.1.0-rc1")
        self.assertEqual(self.version_of("memcached", 'test "$1" = -V && echo memcached 1.6.38'), "memcached 1.6.38")

    def test_another_answer_is_refused_with_the_answer(self) -> None:
        self.assertEqual(self.version_of("redis", "echo memcached 1.6.38"),
                         "--redis: 'PATH --version' ended with 0 and said 'memcached 1.6.38', not its version: give the path of "
                         "redis-server or valkey-server")
        self.assertEqual(self.version_of("memcached", "echo memcached 1.6.38; exit 3"),
                         "--memcached: 'PATH -V' ended with 3 and said 'memcached 1.6.38', not its version: give the path of "
                         "memcached")

    def test_a_file_that_the_system_cannot_run_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            program.write_bytes(b"\x7fELF no program")
            program.chmod(0o755)
            with self.assertRaisesRegex(other_programs.BadProgram, r"^--memcached: '.*/program -V' failed \(Exec format error\): "
                                                                   r"give the path of memcached$"):
                other_programs.version_of("memcached", program)

    @unittest.skipUnless(REDIS and MEMCACHED, "redis or memcached is not installed")
    def test_without_a_path_the_installed_programs_are_found(self) -> None:
        found = other_programs.find({"redis": None, "memcached": None}, ["redis", "memcached"])
        self.assertEqual({name: str(path) for name, (path, _) in found.items()}, {"redis": REDIS, "memcached": MEMCACHED})
        self.assertEqual(other_programs.find({"redis": None}, []), {})


class BusyLoopsTest(unittest.TestCase):
    """Busy loops end with their program, whatever ends it."""

    PROGRAM = f"""
import sys
sys.path.insert(0, {str(TOOLS)!r})
import busy
with busy.loops({CPUS}) as loops:
    print(*(loop.pid for loop in loops), flush=True)
    sys.stdin.read()
"""

    @staticmethod
    def alive(pid: int) -> bool:
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_they_end_with_the_block_and_with_a_killed_program(self) -> None:
        for number in (None, signal.SIGINT, signal.SIGKILL):
            with self.subTest(number), subprocess.Popen([sys.executable, "-B", "-c", self.PROGRAM], stdin=subprocess.PIPE,
                                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
                pids = list(map(int, program.stdout.readline().split()))
                self.assertEqual(len(pids), len(CPUS))
                self.assertTrue(all(map(self.alive, pids)))
                if number:
                    program.send_signal(number)
                else:
                    program.stdin.close()
                program.wait(timeout=patience(60))
                deadline = time.monotonic() + patience(60)
                while any(map(self.alive, pids)) and time.monotonic() < deadline:
                    time.sleep(0.01)
                self.assertFalse(any(map(self.alive, pids)))

    def test_each_has_a_cpu_and_the_priority_of_its_program(self) -> None:
        with busy.loops(CPUS) as loops:
            self.assertEqual([os.sched_getaffinity(loop.pid) for loop in loops], [{cpu} for cpu in CPUS])
            for loop in loops:
                self.assertEqual(os.getpriority(os.PRIO_PROCESS, loop.pid), os.getpriority(os.PRIO_PROCESS, 0))
        self.assertTrue(all(loop.returncode == -signal.SIGKILL for loop in loops))


if __name__ == "__main__":
    unittest.main()
