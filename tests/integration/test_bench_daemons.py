"""bench/server: the programs that compare two builds of the daemon, on tiny sizes."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness.environment import patience

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "server"
BUILD = os.environ.get("MXKV_FIGURES_BUILD")

sys.path[:0] = [str(TOOLS), str(TOOLS.parent)]
import against  # noqa: E402: found by the line above
import budgets  # noqa: E402
import parts  # noqa: E402


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

    def test_connections_that_move_are_measured_beside_those_that_stay(self) -> None:
        done = tool("balance", "--rounds", 1, "--connections", 4, "--depth", 16, "--records", 2000, "--settle", 0.2,
                    "--seconds", 0.3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split("  ")[0] for line in done.stdout.splitlines()[1:4]],
                         ["one worker", "two, off", "two, connections"])
        self.assertRegex(done.stdout, r"two, off: \d\.\d\d times")

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
    def test_instructions_are_counted_for_every_kind_of_request_and_every_part_of_it(self) -> None:
        every = [*budgets.GOALS, "GET alone", "insert", "delete", "delete, in order", "insert, in order"]
        done = tool("instructions", "--records", 2000, "--requests", 1000, "--budget", "--only", *every)
        print(done.stdout, file=sys.stderr)  # the report; a count above its budget is no failure here
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for kind in every:
            # A request takes hundreds of instructions at least.
            self.assertRegex(done.stdout, rf"\n{kind} +\d{{3,6}}\.\d +0\.00%")
        for part in parts.PARTS:
            self.assertRegex(done.stdout, rf"\n{part} +\d+")

    @unittest.skipUnless(shutil.which("callgrind_control"), "valgrind is not installed")
    def test_lines_from_memory_are_counted(self) -> None:
        found = []
        for mib in (1, 64):
            done = tool("instructions", "--records", 20_000, "--requests", 10_000, "--rounds", 1, "--lines", mib, "--only", "GET hit")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            line = re.search(r"\nGET hit +(\d+\.\d\d) ", done.stdout)
            self.assertIsNotNone(line, done.stdout)
            found.append(float(line[1]))
        self.assertGreater(found[0], found[1], "all is in the greater cache")
        self.assertGreater(found[0], 0.5, "20,000 items are more than 1 MiB")

    def test_tools_that_compare_refuse_what_they_cannot_do(self) -> None:
        for name, flags, problem in (("leaves", ("--beside", "/nothing"), "/nothing is no program"),
                                     ("leaves", ("--records", 100), "--records: a connection needs"),
                                     ("instructions", ("--requests", 10), "--requests begins at 1000"),
                                     ("instructions", ("--lines", 3), "--lines is a power of two"),
                                     ("instructions", ("--budget", "--lines", 2), "--budget is of instructions"),
                                     ("instructions", ("--only", "nothing"), "--only: there is no such kind")):
            done = tool(name, *flags)
            self.assertEqual(done.returncode, 2)
            self.assertIn(problem, done.stderr)


@unittest.skipUnless(all(map(shutil.which, ("git", "cmake", "ninja"))), "what builds commits is not installed")
class CommitsTest(unittest.TestCase):
    """Builds commits of an invented repository, with presets that copy a file."""

    PRESETS = {"version": 6, "configurePresets": [{"name": "bench", "generator": "Ninja", "binaryDir": "${sourceDir}/build/bench"}],
               "buildPresets": [{"name": "bench", "configurePreset": "bench"}]}
    LISTS = "cmake_minimum_required(VERSION 3.25)\nproject(made_up NONE)\n" \
            "add_custom_target(program COMMAND cp ${CMAKE_SOURCE_DIR}/%s program)\n"

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        cls.git("init", "--quiet")
        for name, presets, source in (("good", cls.PRESETS, "program.txt"), ("broken", cls.PRESETS, "not-there.txt"),
                                      ("old", {"version": 6}, "program.txt")):
            (cls.root / "program.txt").write_text(name, encoding="ascii")
            (cls.root / "CMakePresets.json").write_text(json.dumps(presets), encoding="ascii")
            (cls.root / "CMakeLists.txt").write_text(cls.LISTS % source, encoding="ascii")
            cls.git("add", "-A")
            cls.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", name)
            cls.git("tag", name)

    @classmethod
    def git(cls, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=cls.root, check=True)

    def refusal(self, revision: str, targets: tuple[str, ...] = ("program",)) -> str:
        with self.assertRaises(SystemExit) as ended:
            against.build_commit(self.root, revision, targets)
        return str(ended.exception)

    def test_a_commit_is_built_and_kept_and_built_no_second_time(self) -> None:
        build = against.build_commit(self.root, "good", ["program"])
        self.assertEqual((build.folder / "program").read_text(encoding="ascii"), "good")
        self.assertTrue(build.folder.is_relative_to(self.root / "build" / "against"))
        made = (build.folder / "build.ninja").stat().st_mtime_ns
        self.assertEqual(against.build_commit(self.root, "HEAD~2", ["program"]), build)
        self.assertEqual((build.folder / "build.ninja").stat().st_mtime_ns, made)

    def test_what_cannot_be_built_is_told(self) -> None:
        self.assertIn("nothing is no commit of", self.refusal("nothing"))
        self.assertIn("old has no preset bench", self.refusal("old"))
        self.assertRegex(self.refusal("broken"), r"(?s)broken does not build: cmake --build .*not-there\.txt")
        self.assertRegex(self.refusal("good", ("another",)), r"(?s)good does not build: .*another")


class PartsTest(unittest.TestCase):
    """The part to which an instruction belongs, from invented figures."""

    def test_other_objects_count_where_they_are_called_and_calls_within_the_program_only_once(self) -> None:
        lines = ("events: Ir", "ob=/lib/libc.so", "fn=memcpy", "0x900 0 70", "", "ob=/build/mxkvd", "fn=outer", "0x10 1 5",
                 "cob=/lib/libc.so", "cfn=memcpy", "calls=2 0x900 0", "0x11 1 70", "0x11 1 2", "cfn=inner", "calls=1 0x20 0",
                 "0x12 1 1000", "fn=inner", "0x20 1 9")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "out"
            file.write_text("\n".join(lines) + "\n", encoding="ascii")
            counts, total = parts.counts_of(file, pathlib.Path("/build/mxkvd"))
        self.assertEqual((dict(counts), total), ({0x10: 5, 0x11: 72, 0x20: 9}, 86))

    def test_the_innermost_frame_that_a_rule_knows_names_the_part(self) -> None:
        loop = ("run_stretch<mxkv::server::GetTask>(mxkv::runtime::Worker&)", "/any/runtime/scheduler/worker.hpp")
        found = ("mxkv::server::GetTask::on_found(mxkv::runtime::Worker&)", "/any/server/store/point/get_task.hpp")
        load = ("std::atomic<unsigned long>::load(std::memory_order)", "/usr/include/c++/12/bits/atomic_base.h")
        made = ("mxkv::server::GetTask::GetTask(int)", "/any/server/store/point/get_task.hpp")
        word = ("mxkv::runtime::RelaxedWord::load()", "/any/runtime/base/relaxed_word.hpp")
        for frames, part in (([load, word, loop], "window"), ([load, word, found, loop], "item"), ([word, made, loop], "task"),
                             ([("f", "/any/protocol/words.hpp"), ("g", "/any/protocol/reply.hpp"), found], "reply"),
                             ([("f", "/any/protocol/words.hpp"), ("g", "/any/protocol/fast_lines.cpp")], "parse"),
                             ([("f", "/usr/include/boost/asio/detail/scheduler.ipp")], "sockets"), ([load], "rest")):
            self.assertEqual(parts.part_of(frames), part)

    def test_the_budgets_of_the_parts_add_up_to_the_goal_of_the_request(self) -> None:
        self.assertEqual([*budgets.PARTS, "rest"], list(parts.PARTS))
        for kind, goal in budgets.GOALS.items():
            self.assertEqual(sum(budgets.of(kind, part) for part in budgets.PARTS), goal, kind)


if __name__ == "__main__":
    unittest.main()
