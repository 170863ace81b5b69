"""One run of a measuring program that writes files; the tests check the files."""

import pathlib
import subprocess
import tempfile
import unittest

from .environment import patience


class ProgramRun(unittest.TestCase):
    """Before the first test, runs COMMAND --output FOLDER with FLAGS: `done` is the process, `output` has the files."""

    COMMAND: tuple = ()
    FLAGS: tuple[str, ...] = ("--quick",)

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.output = pathlib.Path(folder.name) / "made by the program"
        cls.done = cls.run_program(*cls.FLAGS)

    @classmethod
    def run_program(cls, *flags: str) -> subprocess.CompletedProcess:
        """Runs the program once more, with these flags alone."""
        return subprocess.run([*cls.COMMAND, "--output", cls.output, *flags], capture_output=True, text=True,
                              timeout=patience(600), check=False)
