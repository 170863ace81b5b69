"""Our TypeScript client: compiled as strictly as tsc can, and its own tests against servers."""

import os
import re
import shutil
import subprocess

from common import LibraryCase, machine
import registries

PACKAGE = machine.REPOSITORY / "protocol" / "clients" / "typescript"


@machine.needs(machine.long_only(), machine.missing("node", "npm"))
class MxkvTypescriptTest(LibraryCase):
    def test_all_that_typescript_tests(self):
        packages = registries.javascript_folder(PACKAGE / "package.json", "typescript") / "node_modules"
        # A copy, because the compiler writes beside the sources.
        folder = shutil.copytree(PACKAGE, self.directory / "package", ignore=shutil.ignore_patterns("node_modules", "dist"))
        (folder / "node_modules").symlink_to(packages)
        machine.run("node", packages / "typescript" / "bin" / "tsc", cwd=folder, timeout=600)
        done = subprocess.run(["node", "--test", "dist/test/wire.test.js", "dist/test/client.test.js"], cwd=folder,
                              env=os.environ | self.ways(), stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        passed = re.search(r"^(?:#|\S+) pass (\d+)$", done.stdout, re.MULTILINE)
        self.assertGreaterEqual(int(passed[1]), 15, done.stdout)


if __name__ == "__main__":
    machine.main()
