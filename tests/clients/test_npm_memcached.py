"""The npm package memcached: javascript/ holds its tests."""

import os
import re
import subprocess

from common import ServerCase, machine
import registries


@machine.needs(machine.long_only(), machine.missing("node", "npm"))
class NpmMemcachedTest(ServerCase):
    def test_all_that_javascript_tests(self):
        packages = registries.javascript_folder() / "node_modules"
        environment = os.environ | {"NODE_PATH": str(packages), "MXKV_ADDRESS": f"127.0.0.1:{self.server.port}"}
        done = subprocess.run(["node", "--test", "memcached.test.js"], cwd=registries.HERE / "javascript", env=environment,
                              stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        passed = re.search(r"^(?:#|\S+) pass (\d+)$", done.stdout, re.MULTILINE)
        self.assertGreaterEqual(int(passed[1]), 9, done.stdout)


if __name__ == "__main__":
    machine.main()
