"""The tests that the Python client's package carries: pipelines, several servers, URLs, hooks, errors of connections, and the shared part of
back-ends for frameworks."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from harness import ServerCase

PACKAGE = Path(__file__).resolve().parents[2] / "protocol" / "clients" / "python"


class OwnTestsTest(ServerCase):
    def test_all_of_them_pass(self):
        done = subprocess.run([sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests"], cwd=PACKAGE, text=True, timeout=600,
                              env=os.environ | {"MXKV_PORT": str(self.server.port)}, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(int(re.search(r"Ran (\d+) tests", done.stderr)[1]), 66)


if __name__ == "__main__":
    unittest.main()
