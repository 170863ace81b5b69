"""gomemcache: go/ holds its tests."""

import subprocess

from common import ServerCase, machine
import registries


@machine.needs(machine.long_only(), machine.missing("go"))
class GomemcacheTest(ServerCase):
    def test_all_that_go_tests(self):
        folder = registries.HERE / "go"
        registries.go_download(folder)
        environment = registries.go_environment(GOPROXY="off", MXKV_ADDRESS=f"127.0.0.1:{self.server.port}")
        done = subprocess.run(["go", "test", "-count=1", "-v", "./..."], cwd=folder, env=environment, text=True,
                              capture_output=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreaterEqual(done.stdout.count("--- PASS"), 8, done.stdout)


if __name__ == "__main__":
    machine.main()
