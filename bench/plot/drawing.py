"""For the programs that measure: has `plot` draw what they wrote."""

import pathlib
import subprocess
import sys

_NO_LIBRARY = 3


def draw(what, files, page, *flags):
    """Draws, prints where the page is, and returns what went wrong, or "". The data are there without matplotlib too."""
    done = subprocess.run([pathlib.Path(__file__).with_name("plot"), what, *files, "-o", page, *flags],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        print(page)
        return ""
    print(done.stderr, end="", file=sys.stderr)
    return "" if done.returncode == _NO_LIBRARY else "the page could not be drawn"
