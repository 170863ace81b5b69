"""The tools for data directories run beside a daemon that writes there: they report no damage, and a copy can be served."""

import subprocess
import threading

from durable_case import DurableCase
from harness import environment, mxkv_only, patience
from harness.daemon import wait_for


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([environment.MXKVD, *map(str, arguments)], capture_output=True, text=True,
                          timeout=patience(60), check=False, stdin=subprocess.DEVNULL)


class Writer(threading.Thread):
    """Sets keys n0, n1, .. one after the other; the first `answered` keys are stored."""

    def __init__(self, client):
        super().__init__()
        self.client = client
        self.answered = 0
        self.ended = threading.Event()

    def run(self):
        while not self.ended.is_set():
            if self.client.set(b"n%d" % self.answered, b"v" * (self.answered * 397 % 20000)) != b"STORED":
                return
            self.answered += 1


@mxkv_only("its data directory")
class ToolsBesideADaemonTest(DurableCase):
    # Checkpoints follow each other, so that segments come and go while the tools read them.
    more = "  segment: 1MiB\n  checkpoint: {journal: 1MiB}\n"

    def test_tools_find_no_damage_and_copies_hold_what_was_answered(self):
        port = self.begin()
        writer = Writer(self.client(port))
        writer.start()
        self.addCleanup(writer.join)
        self.addCleanup(writer.ended.set)
        watcher = self.client(port)
        for round_ in range(5):
            wait_for(lambda: int(watcher.stats(b"durability")["checkpoints"]) > round_, "another checkpoint")
            for tool in ("verify", "dump", "end"):
                done = run("journal", tool, self.data)
                while "start this command again" in done.stderr:  # a checkpoint removed the segment that the tool was reading
                    done = run("journal", tool, self.data)
                self.assertEqual((done.returncode, done.stderr), (0, ""), tool)
            answered = writer.answered
            backup = self.directory / f"backup{round_}"
            done = run("checkpoint", self.data, "--to", backup)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("checkpoint of epoch", done.stdout)
            done = run("journal", "verify", backup)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("end: clean", done.stdout)
        writer.ended.set()
        writer.join()
        self.end()
        self.data = backup
        self.configure()
        client = self.client(self.begin())
        for number in range(answered):
            self.assertEqual(client.get(b"n%d" % number), b"v" * (number * 397 % 20000), number)
        self.end()
