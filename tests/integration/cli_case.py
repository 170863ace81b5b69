"""mxkv-cli against a daemon: runs of one command, scripts, and shells on a pseudo-terminal."""

import json
import os
import pty
import re
import select
import subprocess
import time

from harness import ServerCase, environment
from harness.environment import patience


class CliCase(ServerCase):
    """`cli` runs a command; `shell` starts a shell on a terminal."""

    def setUp(self):
        self.client = self.connect()
        self.assertEqual(self.client.ask(b"flush_all"), b"OK")

    def variables(self, **more) -> dict:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("MXKV_")}
        return {**variables, "LC_ALL": "C.UTF-8", "TERM": "xterm", **more}

    def cli(self, *arguments, code: int = 0, stdin: bytes = b"", where: str = "", **more) -> subprocess.CompletedProcess:
        done = subprocess.run([environment.MXKV_CLI, "--server", where or f"127.0.0.1:{self.server.port}", *arguments],
                              input=stdin, capture_output=True, timeout=patience(120), check=False,
                              env=self.variables(**more))
        self.assertEqual(done.returncode, code, (arguments, done.stdout[-2000:], done.stderr[-2000:]))
        self.assertNotRegex(done.stderr, b"Sanitizer|runtime error")
        return done

    def out(self, *arguments, **options) -> str:
        return self.cli(*arguments, **options).stdout.decode()

    def documents(self, *arguments, **options) -> list:
        return [json.loads(line) for line in self.out("--json", *arguments, **options).splitlines()]


class Terminal:
    """A shell of mxkv-cli on a pseudo-terminal."""

    def __init__(self, case: CliCase, **variables):
        self.seen = ""
        self.process, self.master = pty.fork()
        if self.process == 0:
            # libedit never frees the function names that it is given.
            os.execve(environment.MXKV_CLI, [environment.MXKV_CLI, "--server", f"127.0.0.1:{case.server.port}"],
                      case.variables(ASAN_OPTIONS="detect_leaks=0", **variables))
        case.addCleanup(self.close)
        self.expect("> ")

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def expect(self, text: str) -> str:
        """The output up to and including `text`."""
        deadline = time.monotonic() + patience(20)
        while text not in self.seen:
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError(f"{text!r} did not come: {self.seen[-2000:]!r}")
            if select.select([self.master], [], [], left)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode(errors="replace")
                except OSError as error:
                    raise AssertionError(f"the shell ended before {text!r}: {self.seen[-2000:]!r}") from error
        before, found, self.seen = self.seen.partition(text)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", before + found)

    def run(self, line: str) -> str:
        """The output of a command, up to the next prompt."""
        self.type(line + "\r")
        self.expect("\n")
        return self.expect("> ")

    def wait(self) -> int:
        """Waits for the end; returns the exit code."""
        while True:
            try:
                if not os.read(self.master, 65536):
                    break
            except OSError:
                break
        _, status = os.waitpid(self.process, 0)
        self.process = 0
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        if self.process:
            os.kill(self.process, 9)
            os.waitpid(self.process, 0)
            self.process = 0
        if self.master >= 0:
            os.close(self.master)
            self.master = -1
