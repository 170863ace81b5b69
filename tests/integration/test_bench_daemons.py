"""bench/server: the programs that compare two builds of the daemon, on tiny sizes."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness.environment import patience

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "server"
BUILD = os.environ.get("MXKV_FIGURES_BUILD")


def tool(name: str, *arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([TOOLS / name, "--build", BUILD, *map(str, arguments)], capture_output=True, text=True,
                          timeout=patience(300), check=False)


@unittest.skipUnless(BUILD, "the programs are not part of this build")
class DaemonsBesideEachOtherTest(unittest.TestCase):
    def test_leaves_that_go_are_measured_in_two_daemons_beside_each_other(self) -> None:
        daemon = pathlib.Path(BUILD) / "server" / "mxkvd"
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "leaves.json"
            done = tool("leaves", "--beside", daemon, "--rounds", 1, "--seconds", 0.2, "--records", 6000, "--items", 50000,
                        "--memory-mib", 256, "--json", file)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(list(found), ["neighbours", "expiry"])
        for ((one, other),) in found.values():
            self.assertEqual(list(one), list(other))
        for figures in found["neighbours"][0]:
            self.assertTrue(all(value > 0 for value in figures.values()), figures)
        for figures in found["expiry"][0]:
            self.assertGreater(figures["leaves"], 0)
            self.assertGreaterEqual(figures["longest wait ms"], figures["p99 ms"])
        self.assertRegex(done.stdout, r"CPU us/request .* \d\.\d+\n")

    def test_a_daemon_that_does_not_answer_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            silent = pathlib.Path(folder) / "silent"
            silent.write_text("#!/usr/bin/env python3\nimport socket, sys, time\n"
                              "port = int(sys.argv[2].rpartition(':')[2])\n"
                              "listener = socket.create_server(('127.0.0.1', port))\ntime.sleep(600)\n", encoding="ascii")
            silent.chmod(0o755)
            done = tool("leaves", "--daemon", silent, "--only", "expiry", "--rounds", 1, "--patience", 0.5)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no answer for 0.5 s", done.stderr)
        self.assertIn("hung in 1 of 1 rounds", done.stdout)

    @unittest.skipUnless(shutil.which("callgrind_control"), "valgrind is not installed")
    def test_instructions_are_counted_for_every_kind_of_request(self) -> None:
        done = tool("instructions", "--records", 2000, "--requests", 1000, "--rounds", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        for kind in ("GET hit", "SET", "insert", "delete", "delete, in order", "insert, in order"):
            # A request takes hundreds of instructions at least.
            self.assertRegex(done.stdout, rf"\n{kind} +\d{{3,5}}\.\d +0\.00%")

    def test_tools_that_compare_refuse_what_they_cannot_do(self) -> None:
        for name, flags, problem in (("leaves", ("--beside", "/nothing"), "/nothing is no program"),
                                     ("leaves", ("--records", 100), "--records: a connection needs"),
                                     ("instructions", ("--requests", 10), "--requests begins at 1000")):
            done = tool(name, *flags)
            self.assertEqual(done.returncode, 2)
            self.assertIn(problem, done.stderr)


if __name__ == "__main__":
    unittest.main()
