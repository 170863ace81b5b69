"""Our Python client as its users get it: types judged, distributions made, installed in a fresh environment, and tested there.

tests/integration/test_python_client*.py test its sources with Debian's pymemcache in every run.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from common import LibraryCase, TESTS, machine
import registries

TOOLS = Path(__file__).resolve().parent / "python" / "publishing.txt"
PACKAGE = machine.REPOSITORY / "protocol" / "clients" / "python"
TESTED = ("test_python_client", "test_python_client_connections", "test_python_client_replies",
          "test_python_client_asyncio")


# A user's program, as strict as the package.
PROGRAM = """
import mxkv
async def asynchronous(client: mxkv.AsyncClient) -> list[bytes]:
    async with client.batch() as batch:
        made: mxkv.Outcome[int] = batch.incr("n")
    total: int = made.value + await client.count(mxkv.Range("a", "b"))
    return [key async for key in client.scan("user:", values=False, limit=total)]
def synchronous(client: mxkv.Client | mxkv.PooledClient) -> int | None:
    for key, value in client.range("a", reverse=True):
        print(key.decode(), value)
    names: list[bytes] = list(client.scan(values=False))
    print(names, client.size().bytes, client.get_many(["a", "b"])["a"])
    return client.incr("n", 1)
"""


@machine.needs(machine.long_only())
class MxkvPythonTest(LibraryCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="package")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # A copy, because building a wheel leaves files beside the sources.
        self.sources = shutil.copytree(PACKAGE, self.folder / "sources", ignore=shutil.ignore_patterns("__pycache__"))

    def test_types_are_strict(self):
        registries.python_module("mypy")
        (self.folder / "program.py").write_text(PROGRAM, encoding="utf-8")
        for what in (["-p", "mxkv"], ["-p", "mxkv", "--python-version", "3.9"], [self.folder / "program.py"]):
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", self.folder / "cache", *what],
                                  cwd=self.sources, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_distributions_work_in_a_fresh_environment(self):
        machine.run(sys.executable, "-m", "venv", self.folder / "fresh")
        python = self.folder / "fresh" / "bin" / "python"
        self.install(python, "-r", TOOLS)
        registries.run_installer("PyPI", python, "-m", "build", "--outdir", self.folder / "dist", self.sources)
        wheel, archive = sorted((self.folder / "dist").iterdir(), key=lambda path: path.suffix, reverse=True)
        self.assertEqual((wheel.suffix, archive.suffix), (".whl", ".gz"))
        machine.run(python, "-m", "twine", "check", "--strict", wheel, archive)
        with tarfile.open(archive) as opened:
            names = {name.partition("/")[2] for name in opened.getnames()}
        self.assertLessEqual({"LICENSE", "CHANGELOG.md", "README.md", "mxkv/py.typed", "tests/test_with_server.py"}, names)

        self.install(python, f"{wheel}[cachelib,django,dogpile,flask]")
        self.assertTrue(list((self.folder / "fresh").glob("lib/*/site-packages/mxkv/py.typed")))
        self.run_tests(python, TESTS / "integration", 30, *TESTED)
        machine.run(python, "-m", "pdoc", "-o", self.folder / "reference", "mxkv", "mxkv.opentelemetry", "mxkv.django")
        self.assertIn("AsyncHashClient", (self.folder / "reference" / "mxkv.html").read_text(encoding="utf-8"))
        shutil.rmtree(self.sources / "mxkv")  # so that the tests find the installed package
        self.run_tests(python, self.sources, 79, "discover", "-s", "tests", MXKV_PORT=str(self.server.port))

    def install(self, python: Path, *what) -> None:
        registries.run_installer("PyPI", python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)

    def run_tests(self, python: Path, folder: Path, least: int, *what: str, **more: str) -> None:
        done = subprocess.run([python, "-B", "-m", "unittest", *what], cwd=folder, text=True, timeout=600, capture_output=True,
                              env=os.environ | {"MXKV_PYTHON_CLIENT": "installed"} | more, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(int(re.search(r"Ran (\d+) tests", done.stderr)[1]), least)
        self.assertNotIn("skipped", done.stderr)


if __name__ == "__main__":
    machine.main()
