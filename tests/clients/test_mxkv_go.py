"""Our Go client: formatted, vetted, and its own tests against servers, under the race detector."""

import re
import subprocess

from common import LibraryCase, machine
import registries

MODULE = machine.REPOSITORY / "protocol" / "clients" / "go"


def too_old() -> str:
    """Why the installed Go cannot be used: iterators came with 1.23. Empty if it can."""
    if reason := machine.missing("go", "gcc"):
        return reason
    said = machine.run("go", "version").stdout
    found = re.search(r"go1\.(\d+)", said)
    return "" if found and int(found[1]) >= 23 else f"needs Go 1.23: {said.strip()}"


@machine.needs(machine.long_only(), too_old())
class MxkvGoTest(LibraryCase):
    def test_it_is_formatted_and_vetted(self):
        self.assertEqual(machine.run("gofmt", "-l", MODULE).stdout, "")
        machine.run("go", "vet", "./...", cwd=MODULE, env=registries.go_environment(GOPROXY="off"), timeout=600)

    def test_all_that_go_tests(self):
        environment = registries.go_environment(GOPROXY="off", **self.ways())
        done = subprocess.run(["go", "test", "-race", "-count=1", "-v", "./..."], cwd=MODULE, env=environment, text=True,
                              capture_output=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreaterEqual(done.stdout.count("--- PASS"), 18, done.stdout)
        self.assertNotIn("--- SKIP", done.stdout)


if __name__ == "__main__":
    machine.main()
