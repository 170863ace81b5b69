"""Our Python client as its users get it: types judged, a wheel made, installed in a fresh environment, and tested there.

tests/integration/test_python_client*.py test its sources with Debian's pymemcache in every run.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from common import TESTS, machine
import registries

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
class MxkvPythonTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="package")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # A copy, because building a wheel leaves files beside the sources.
        self.sources = shutil.copytree(PACKAGE, self.folder / "sources", ignore=shutil.ignore_patterns("__pycache__"))

    def test_types_are_strict(self):
        registries.python_module("mypy")
        (self.folder / "program.py").write_text(PROGRAM, encoding="utf-8")
        for what in (["-p", "mxkv"], [self.folder / "program.py"]):
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", self.folder / "cache", *what],
                                  cwd=self.sources, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_wheel_works_in_a_fresh_environment(self):
        registries.run_installer("PyPI", sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps",
                                 "--disable-pip-version-check", "-w", self.folder, self.sources)
        wheels = list(self.folder.glob("mxkv-*.whl"))
        self.assertEqual(len(wheels), 1)
        machine.run(sys.executable, "-m", "venv", self.folder / "fresh")
        python = self.folder / "fresh" / "bin" / "python"
        registries.run_installer("PyPI", python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheels[0])
        self.assertTrue(list((self.folder / "fresh").glob("lib/*/site-packages/mxkv/py.typed")))
        done = subprocess.run([python, "-B", "-m", "unittest", *TESTED], cwd=TESTS / "integration", text=True, timeout=600,
                              env=os.environ | {"MXKV_PYTHON_CLIENT": "installed"}, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(re.search(r"Ran (\d+) tests", done.stderr)[1]), 30)


if __name__ == "__main__":
    machine.main()
