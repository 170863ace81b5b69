"""gomemcache: go/ holds its tests."""

import subprocess

from common import LibraryCase, machine
import registries


@machine.needs(machine.long_only(), machine.missing("go"))
class GomemcacheTest(LibraryCase):
    def test_all_that_go_tests(self):
        folder = registries.HERE / "go"
        registries.go_download(folder)
        environment = registries.go_environment(GOPROXY="off", **self.ways())
        done = subprocess.run(["go", "test", "-count=1", "-v", "./..."], cwd=folder, env=environment, text=True,
                              capture_output=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreaterEqual(done.stdout.count("--- PASS"), 8, done.stdout)


if __name__ == "__main__":
    machine.main()
