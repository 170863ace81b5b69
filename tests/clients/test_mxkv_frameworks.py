"""The back-ends of our Python client for frameworks: each framework's own tests of caches, from its source distribution, and ours."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ServerCase, machine
import registries

SUITES = Path(__file__).resolve().parent / "python" / "suites"
PACKAGE = machine.REPOSITORY / "protocol" / "clients" / "python"


@machine.needs(machine.long_only())
class FrameworksTest(ServerCase):
    def setUp(self):
        registries.python_module("pytest")
        self.connect().ask(b"flush_all")

    def run_in(self, folder: Path, *command, path=()) -> str:
        """Runs Python's module or file with the installed frameworks and our sources, and returns its output."""
        places = [str(PACKAGE), *map(str, path), *sys.path]
        done = subprocess.run([sys.executable, "-B", *command], cwd=folder, stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=900, check=False,
                              env=os.environ | {"PYTHONPATH": os.pathsep.join(places), "MXKV_PORT": str(self.server.port)})
        self.assertEqual(done.returncode, 0, done.stdout[-8000:])
        return done.stdout

    def sources(self, package: str, suite: str, where: str) -> Path:
        """A copy of a framework's sources with our suite among its tests."""
        folder = tempfile.TemporaryDirectory(prefix="sources")
        self.addCleanup(folder.cleanup)
        found = shutil.copytree(registries.python_sources(package), Path(folder.name) / "sources")
        shutil.copy(SUITES / f"{suite}_suite.py", found / where)
        return found

    def passed(self, package: str, suite: str, where: str) -> int:
        told = self.run_in(self.sources(package, suite, where), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{where}/{suite}_suite.py")
        self.assertNotRegex(told, r"\d skipped")
        return int(re.search(r"(\d+) passed", told)[1])

    def test_django(self):
        sources = self.sources("Django", "django", "tests/cache")
        told = self.run_in(sources / "tests", "runtests.py", "--parallel", "1", "cache.django_suite", path=[sources])
        ran, skipped = int(re.search(r"Ran (\d+) tests", told)[1]), int(re.search(r"skipped=(\d+)", told)[1])
        self.assertGreaterEqual(ran - skipped, 51)
        self.assertLessEqual(skipped, 3, "those of culling")

    def test_cachelib(self):
        self.assertGreaterEqual(self.passed("cachelib", "cachelib", "tests"), 15)

    def test_flask_caching(self):
        self.assertGreaterEqual(self.passed("Flask-Caching", "flask_caching", "tests"), 13)

    def test_dogpile(self):
        self.assertGreaterEqual(self.passed("dogpile.cache", "dogpile", "tests/cache"), 100)

    def test_ours(self):
        told = self.run_in(PACKAGE / "tests", "-m", "unittest", "test_caches", "test_frameworks")
        self.assertGreaterEqual(int(re.search(r"Ran (\d+) tests", told)[1]), 27)
        self.assertNotIn("skipped", told)


if __name__ == "__main__":
    machine.main()
