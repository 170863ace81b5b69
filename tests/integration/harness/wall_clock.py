"""A wall clock that a test sets while the server runs, by libfaketime (Debian: faketime). The monotonic clock runs on, as it
does when the system clock is set.
"""

import glob
import os
import tempfile
import time

LIBRARY = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)


class WallClock:
    """The wall clock of one server. close() removes its file."""

    def __init__(self):
        handle, self._path = tempfile.mkstemp(prefix="wall-clock")
        os.close(handle)
        os.chmod(self._path, 0o644)  # memcached drops root's rights
        self._ahead = 0
        self.set_ahead(0)

    def variables(self) -> tuple:
        """The environment variables that the server needs."""
        return (("LD_PRELOAD", LIBRARY), ("FAKETIME_TIMESTAMP_FILE", self._path), ("FAKETIME_NO_CACHE", "1"),
                ("DONT_FAKE_MONOTONIC", "1"), ("FAKETIME_DONT_FAKE_MONOTONIC", "1"))

    def set_ahead(self, seconds: int) -> None:
        """From now on the clock is so much ahead of the real one."""
        new = self._path + ".new"
        with open(new, "w", encoding="ascii") as file:
            file.write(f"{seconds:+d}\n")
        os.chmod(new, 0o644)
        os.replace(new, self._path)
        self._ahead = seconds

    def now(self) -> int:
        return int(time.time()) + self._ahead

    def close(self) -> None:
        os.unlink(self._path)
