"""Our TypeScript client: compiled as strictly as tsc can, and its own tests against servers."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

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
        tests = sorted(str(path) for path in (folder / "dist" / "test").glob("*.test.js"))
        done = subprocess.run(["node", "--test", *tests], cwd=folder, env=os.environ | self.ways(), stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        passed = re.search(r"^(?:#|\S+) pass (\d+)$", done.stdout, re.MULTILINE)
        self.assertGreaterEqual(int(passed[1]), 55, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^(?:#|\S+) skipped 0$")
        self.check_package(folder)

    def check_package(self, folder: Path) -> None:
        """The archive that npm would publish, used by a program, and the reference."""
        said = machine.run("npm", "pack", "--json", "--offline", cwd=folder, env=os.environ | {"npm_config_cache": str(self.directory / "cache")})
        archive = folder / json.loads(said.stdout[said.stdout.index("[\n"):])[0]["filename"]
        user = self.directory / "user" / "node_modules" / "mxkv"
        user.mkdir(parents=True)
        with tarfile.open(archive) as opened:
            names = {name.partition("/")[2] for name in opened.getnames()}
        machine.run("tar", "xzf", archive, "--strip-components=1", "-C", user)
        self.assertLessEqual({"LICENSE", "README.md", "CHANGELOG.md", "dist/src/index.js", "dist/src/index.d.ts", "src/index.ts"}, names)
        self.assertFalse([name for name in names if "test" in name])
        program = user.parents[1] / "program.mjs"
        program.write_text('import { Client } from "mxkv";\n'
                           f'const client = new Client("mxkv://127.0.0.1:{self.server.port}");\n'
                           'await client.set("k", "packed");\nconsole.log(String(await client.get("k")));\nclient.close();\n', encoding="utf-8")
        self.assertEqual(machine.run("node", program).stdout, "packed\n")
        machine.run("node", "node_modules/typedoc/bin/typedoc", cwd=folder, timeout=600)
        self.assertIn("Servers", (folder / "dist" / "reference" / "index.html").read_text(encoding="utf-8"))


if __name__ == "__main__":
    machine.main()
