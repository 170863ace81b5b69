"""A test with one directory for journal and checkpoints, and daemons on it, one after the other."""

import subprocess
import time

from harness import DaemonCase, environment, patience

_PAGE = 4096


class DurableCase(DaemonCase):
    """Daemons on one directory, one after the other."""

    sync = "commit"
    more = ""
    limit = "256MiB"

    def setUp(self):
        super().setUp()
        self.data = self.directory / "data"
        self.configure()

    def configure(self, sync: str = "", more: str = "") -> None:
        self.config.write_text(
            f"workers: 2\nmemory: {{limit: {self.limit}, when_full: error}}\n"
            f"durability:\n  directory: {self.data}\n  sync: {sync or self.sync}\n" + (more or self.more))

    def begin(self, *arguments, wait: str = "listening on", **options) -> int:
        """Starts a daemon with a log of its own; returns its port."""
        self.log_file.unlink(missing_ok=True)
        self.start(*arguments, wait=wait, **options)
        return self.ports()[0] if wait else 0

    def segments(self) -> list:
        return sorted((self.data / "journal").glob("*.mxj"))

    @staticmethod
    def groups(segment) -> list:
        """The offsets of groups. The padding behind a group, up to the end of its page, may change without harm."""
        data = segment.read_bytes()
        return [at for at in range(_PAGE, len(data), _PAGE) if data[at:at + 4] == b"MXB1"]

    def verify(self) -> subprocess.CompletedProcess:
        return subprocess.run([environment.MXKVD, "journal", "verify", str(self.data)], capture_output=True, text=True,
                              timeout=patience(120), check=False, stdin=subprocess.DEVNULL)

    def check_without_newest(self, how: int) -> bool:
        """Removes, truncates or zeroes the newest segment while no daemon runs: that must count as damage, unless a
        crash left the segment without groups. Returns whether it counted as damage."""
        newest = self.segments()[-1]
        kept = self.directory / "kept.mxj"
        newest.rename(kept)
        if how != 0:
            newest.write_bytes(b"" if how == 1 else bytes(kept.stat().st_size))
        done = self.verify()
        kept.rename(newest)
        if done.returncode == 0:
            # `verify` finds groups by their hashes: a recycled file's old contents also look like groups.
            self.assertIn(f"journal/{newest.name}: no epochs, 0 groups", self.verify().stdout)
            return False
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"journal/{newest.name}: ", done.stderr)
        return True

    def crash(self) -> float:
        """Kills the daemon; returns the time."""
        self.process.kill()
        self.process.wait()
        self.assert_no_report()
        return time.monotonic()
