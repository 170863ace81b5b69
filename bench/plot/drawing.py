"""For the programs that measure: has `plot` draw their results."""

import pathlib
import subprocess
import sys

_NO_LIBRARY = 3
_TRIAL = "A trial run by --quick, of few operations: it shows that all of it runs, and measures nothing."


def draw(what, files, page, *flags, trial=False):
    """Draws, says on the page if it is of a trial run, prints where the page is, and returns what went wrong, or "". The data are there without matplotlib too."""
    done = subprocess.run([pathlib.Path(__file__).with_name("plot"), what, *files, "-o", page, *flags,
                           *(("--note", _TRIAL) if trial else ())],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        print(page)
        return ""
    print(done.stderr, end="", file=sys.stderr)
    return "" if done.returncode == _NO_LIBRARY else "the page could not be drawn"
