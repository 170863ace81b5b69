"""Every shell command of the READMEs, of the guides and of OPERATING.md runs, or is named in documented.LEFT_OUT with a reason."""

import os
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import documented
from harness import DaemonCase, environment, free_port, mxkv_only, wait_for
from harness.environment import patience

# Amounts of work and live views, made smaller for a test: the document's words -> the words that run.
SMALLER = (("recordcount=100000", "recordcount=1000"), ("operationcount=200000", "operationcount=1000"),
           ("mxkv-cli top;", "mxkv-cli top --once --interval 0.1;"), ("--memory 2GiB", "--memory 256MiB"))
# Commands that fail in the document, too.
FAILS = ("mxkvd check mxkv.yaml --topology",)
# Blocks whose whole output is known.
EXACT = ("printf 'set b 0 0 1",)
FUNCTIONS = """
mxkvd() { if [[ " $* " == *" --daemonize "* ]]; then command "$MXKVD" "$@" --listen 127.0.0.1:$PORT; else command "$MXKVD" "$@"; fi; }
mxkv-cli() { command "$MXKV_CLI" "$@"; }
mxkv-ycsb() { local what=$1; shift; command "$MXKV_YCSB" "$what" --server 127.0.0.1:$PORT "$@"; }
set -o pipefail
"""


class ExtractionTest(unittest.TestCase):
    """Without a server: which lines are commands, and that each command runs or is left out for a reason."""

    def read(self, text: str) -> list:
        with tempfile.TemporaryDirectory(dir=documented.ROOT / "tests" / "integration") as folder:
            path = Path(folder) / "document.md"
            path.write_text(text, encoding="utf-8")
            return documented.blocks(path)

    def test_commands_are_taken_with_what_follows_them(self):
        (block,) = self.read("```\n$ one \\\n    more\nprinted\n$ two\n```\n")
        self.assertEqual([(command.text, command.output) for command in block], [("one \\\n    more", ["printed"]), ("two", [])])
        (block,) = self.read("```sh\ne=\"a\n  b\"\n# a remark\nthree $e\n```\n")
        self.assertEqual([command.text for command in block], ['e="a\n  b"', "three $e"])
        self.assertEqual([block[0].text for block in self.read("text\n\n    docker run x\n    a drawing\n")], ["docker run x"])
        self.assertEqual(self.read("```python\nimport mxkv\n```\n```\nscan a 10\n```\n"), [])

    def test_a_command_in_an_unmarked_block_is_found(self):
        for line in ("mvn package", "./tests/run", "mxkv-cli get k", "tests/run dev"):
            with self.assertRaisesRegex(AssertionError, "looks like a command", msg=line):
                self.read(f"```\n{line}\n```\n")

    def test_every_exception_has_a_reason_and_a_command(self):
        commands = [command for path in documented.documents() for block in documented.blocks(path) for command in block]
        self.assertGreater(len(commands), 40)
        for start, reason in documented.LEFT_OUT.items():
            self.assertGreater(len(reason), 10, start)
            self.assertTrue(any(command.text.startswith(start) for command in commands), f"no document has {start!r} any more")

    def test_every_file_that_a_command_begins_with_is_there(self):
        for path in documented.documents():
            for block in documented.blocks(path):
                for command in block:
                    first = command.text.split()[0]
                    if first.startswith("./"):
                        self.assertTrue((documented.ROOT / first).is_file(), command.place())


@mxkv_only("its documents")
class DocumentedCommandsTest(DaemonCase):
    def test_all_that_are_not_left_out_run(self):
        ran = 0
        for path in documented.documents():
            for block in documented.blocks(path):
                block = [command for command in block if not command.left_out()]
                if block:
                    with self.subTest(block[0].place()):
                        self.play(block)
                        ran += len(block)
        self.assertGreaterEqual(ran, 20, "the commands were not found")

    def play(self, block: list) -> None:
        """All commands of a block in one shell, in a folder of its own."""
        folder = Path(tempfile.mkdtemp(dir=self.directory))
        own = any("--daemonize" in command.text for command in block)
        port = free_port()
        if not own:
            self.log_file.unlink(missing_ok=True)
            self.start("--memory", "256MiB")
            port = self.ports()[0]
        with open(folder / "mxkv.yaml", "wb") as config:
            subprocess.run([environment.MXKVD, "topology", "--yaml"], stdout=config, check=True)
        script = FUNCTIONS
        for number, command in enumerate(block):
            text = command.text.replace("11211", str(port))
            for written, smaller in SMALLER:
                text = text.replace(written, smaller)
            script += f"{{ {text}\n}} </dev/null; echo \"@{number} ended with $?\"\n"
        variables = {**os.environ, "PORT": str(port), "MXKV_SERVER": f"127.0.0.1:{port}", "MXKVD": environment.MXKVD,
                     "MXKV_CLI": environment.MXKV_CLI, "MXKV_YCSB": environment.MXKV_YCSB}
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=patience(300), check=False, text=True, errors="replace")
        said = re.split(r"@\d+ ended with (\d+)\n", done.stdout)
        if own:
            self.stop_own(folder / "pid")
        else:
            self.end()
        for number, command in enumerate(block):
            self.assertLess(2 * number + 1, len(said), done.stdout)
            printed, code = said[2 * number], int(said[2 * number + 1])
            self.assertEqual(code != 0, command.text.startswith(FAILS), f"{command.place()}\nended with {code}:\n{printed}")
            if command.text.startswith(EXACT):
                self.assertEqual(printed.replace("\r", "").splitlines(), command.output, command.place())

    def stop_own(self, pid_file: Path) -> None:
        """Usually the block has ended the process already, or it is about to end."""
        try:
            process = int(pid_file.read_text(encoding="ascii"))
            os.kill(process, signal.SIGTERM)
        except (FileNotFoundError, ProcessLookupError):
            return
        wait_for(lambda: not Path(f"/proc/{process}").exists(), "the end of a documented daemon")


if __name__ == "__main__":
    unittest.main()
