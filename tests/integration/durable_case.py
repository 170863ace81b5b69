"""A test with one directory for journal and checkpoints, and daemons on it, one after the other."""

import time

from harness import DaemonCase


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

    def crash(self) -> float:
        """Kills it; returns when that was."""
        self.process.kill()
        self.process.wait()
        self.assert_no_report()
        return time.monotonic()
