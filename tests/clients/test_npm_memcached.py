"""The npm packages memcached, which speaks text, and memjs, which speaks the binary protocol: javascript/ holds their tests."""

import os
import re
import subprocess

from common import DaemonCase, ServerCase, machine
import registries


def run_javascript(case, name: str, passing: int, **addresses: str) -> None:
    packages = registries.javascript_folder() / "node_modules"
    done = subprocess.run(["node", "--test", name], cwd=registries.HERE / "javascript", env=os.environ | {"NODE_PATH": str(packages)} | addresses,
                          stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=600, check=False)
    case.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    passed = re.search(r"^(?:#|\S+) pass (\d+)$", done.stdout, re.MULTILINE)
    case.assertGreaterEqual(int(passed[1]), passing, done.stdout)


@machine.needs(machine.long_only(), machine.missing("node", "npm"))
class NpmMemcachedTest(ServerCase):
    def test_all_that_javascript_tests(self):
        run_javascript(self, "memcached.test.js", 9, MXKV_ADDRESS=f"127.0.0.1:{self.server.port}")


@machine.needs(machine.long_only(), machine.missing("node", "npm"))
class MemjsTest(ServerCase):
    def test_all_that_javascript_tests(self):
        run_javascript(self, "memjs.test.js", 6, MXKV_ADDRESS=f"127.0.0.1:{self.server.port}")


@machine.needs(machine.long_only(), machine.missing("node", "npm"))
class MemjsLoginTest(DaemonCase):
    def test_a_user_comes_in_and_others_do_not(self):
        (self.directory / "users").write_text("ann:secret\n")
        self.start("--set", "server.auth_file=users")
        run_javascript(self, "memjs_login.test.js", 1, MXKV_ADDRESS=f"127.0.0.1:{self.ports()[0]}")


if __name__ == "__main__":
    machine.main()
