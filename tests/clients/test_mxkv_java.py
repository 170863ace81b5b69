"""Our Java client: built without a warning, and its own tests against servers."""

import os
import re
import shutil
import zipfile

from common import LibraryCase, machine
import registries

CLIENTS = machine.REPOSITORY / "protocol" / "clients"
VERSION = "0.1.0"


@machine.needs(machine.long_only(), machine.missing("mvn", "javac", "java"))
class MxkvJavaTest(LibraryCase):
    def test_all_that_java_tests(self):
        # A copy: Maven builds beside the sources.
        sources = shutil.copytree(CLIENTS, self.directory / "clients", ignore=shutil.ignore_patterns("target", "python", "go"))
        said = registries.run_installer("Maven Central", "mvn", "--batch-mode", "--projects", "java", "verify", cwd=sources,
                                        env=os.environ | self.ways())
        found = re.findall(r"Tests run: (\d+), Failures: 0, Errors: 0, Skipped: 0", said)
        self.assertGreaterEqual(int(found[-1]), 59, said)
        built = {path.name: zipfile.ZipFile(path).namelist() for path in (sources / "java" / "target").glob("mxkv-client-*.jar")}
        self.assertEqual(len(built), 3, built)
        for ending, name in ((".jar", "META-INF/LICENSE"), ("-sources.jar", "mxkv/MxkvClient.java"), ("-javadoc.jar", "mxkv/MxkvClient.html")):
            self.assertTrue(any(file.endswith(name) for file in built[f"mxkv-client-{VERSION}{ending}"]), ending)
        pom = (sources / "java" / "pom.xml").read_text(encoding="utf-8")
        for element in ("name", "description", "url", "licenses", "developers", "scm"):  # Maven Central refuses a library without
            self.assertIn(f"\n  <{element}>", pom)

    def test_it_builds_without_a_server(self):
        sources = shutil.copytree(CLIENTS, self.directory / "alone", ignore=shutil.ignore_patterns("target", "python", "go"))
        without = {name: value for name, value in os.environ.items() if not name.startswith("MXKV_")}
        # Like `mvn install`, without the copy into the user's repository.
        said = registries.run_installer("Maven Central", "mvn", "--batch-mode", "-f", "java/pom.xml", "verify", cwd=sources, env=without)
        found = re.findall(r"Tests run: (\d+), Failures: 0, Errors: 0, Skipped: (\d+)", said)
        self.assertGreater(int(found[-1][0]), int(found[-1][1]), said)
        self.assertGreaterEqual(int(found[-1][1]), 1, "those against servers are skipped, not failed")


if __name__ == "__main__":
    machine.main()
