"""Our Go client: formatted, vetted, and its own tests against servers, under the race detector."""

import json
import re
import shutil
import subprocess
import zipfile

from common import LibraryCase, machine
import registries

MODULE = machine.REPOSITORY / "protocol" / "clients" / "go"
VERSION = "v0.1.0"


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
        self.assertGreaterEqual(done.stdout.count("--- PASS"), 58, done.stdout)
        self.assertNotIn("--- SKIP", done.stdout)

    def test_modulo_chooses_the_servers_of_gomemcache(self):
        folder = registries.HERE / "go_hashing"
        registries.go_download(folder)
        said = machine.run("go", "test", "-count=1", "-v", "./...", cwd=folder, timeout=600,
                           env=registries.go_environment(GOPROXY="off")).stdout
        self.assertEqual(said.count("--- PASS"), 1, said)

    def test_the_module_can_be_fetched_by_its_path(self):
        name = (MODULE / "go.mod").read_text(encoding="utf-8").split()[1]
        self.publish(name)
        user = self.directory / "user"
        user.mkdir()
        (user / "go.mod").write_text("module user\n\ngo 1.23\n", encoding="utf-8")
        (user / "main.go").write_text(f'package main\n\nimport mxkv "{name}"\n\nfunc main() {{ mxkv.New("localhost:1", mxkv.Options{{}}) }}\n',
                                      encoding="utf-8")
        environment = registries.go_environment(GOPROXY=f"file://{self.directory / 'proxy'}", GONOSUMDB="*", GOFLAGS="-modcacherw",
                                                GOMODCACHE=str(self.directory / "modules"))
        for words in (["get", f"{name}@{VERSION}"], ["vet", "./...", name], ["run", "."]):
            machine.run("go", *words, cwd=user, env=environment, timeout=600)
        self.assertIn(f"{name} {VERSION}", (user / "go.mod").read_text(encoding="utf-8"))

    def publish(self, name: str) -> None:
        """Fills a folder as a module proxy serves it."""
        folder = self.directory / "proxy" / name / "@v"
        folder.mkdir(parents=True)
        (folder / "list").write_text(VERSION + "\n", encoding="utf-8")
        (folder / f"{VERSION}.info").write_text(json.dumps({"Version": VERSION, "Time": "2026-01-01T00:00:00Z"}), encoding="utf-8")
        shutil.copy(MODULE / "go.mod", folder / f"{VERSION}.mod")
        with zipfile.ZipFile(folder / f"{VERSION}.zip", "w") as archive:
            for path in sorted(MODULE.iterdir()):
                archive.write(path, f"{name}@{VERSION}/{path.name}")


if __name__ == "__main__":
    machine.main()
