"""Installing from registries: an unreachable registry skips a test with a message, any other error fails it."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from common import free_port, machine
import registries


class InstalledTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        replaced = mock.patch.object(registries, "CACHE", Path(folder.name))
        replaced.start()
        self.addCleanup(replaced.stop)
        self.made = []

    def make(self, folder: Path) -> None:
        self.made.append(folder)
        (folder / "package").write_text("here", encoding="utf-8")

    def test_a_manifest_is_installed_once(self):
        first = registries.installed("kind", "one", self.make)
        self.assertEqual(registries.installed("kind", "one", self.make), first)
        self.assertEqual((len(self.made), (first / "package").read_text(encoding="utf-8")), (1, "here"))

    def test_a_changed_manifest_replaces_what_was_there(self):
        first = registries.installed("kind", "one", self.make)
        second = registries.installed("kind", "two", self.make)
        self.assertTrue(second.exists())
        self.assertFalse(first.exists())

    def test_what_broke_off_is_not_taken_for_installed(self):
        def break_off(folder):
            self.make(folder)
            raise unittest.SkipTest("gone")

        with self.assertRaises(unittest.SkipTest):
            registries.installed("kind", "one", break_off)
        self.assertTrue((registries.installed("kind", "one", self.make) / "package").exists())
        self.assertEqual(len(self.made), 2)


class RunInstallerTest(unittest.TestCase):
    @staticmethod
    def run_printing(text: str, code: int, **options) -> str:
        return registries.run_installer("R", sys.executable, "-c", f"print({text!r}); exit({code})", "package", **options)

    def test_what_worked_is_no_matter_of_words(self):
        self.assertEqual(self.run_printing("retried: Connection refused", 0), "retried: Connection refused\n")

    def test_any_other_failure_fails(self):
        for text in ("no matching version", "403 Forbidden", "404 Not Found", ""):
            with self.assertRaises(AssertionError):
                self.run_printing(text, 1)

    def test_what_may_be_withheld_skips(self):
        with self.assertRaisesRegex(unittest.SkipTest, "^R does not hand out package: 404 Not Found$"):
            self.run_printing("reading: 404 Not Found", 1, may_withhold=True)


@machine.needs(machine.long_only())
class UnreachableTest(unittest.TestCase):
    """The real installers, directed to a port without a listener."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(lambda: subprocess.run(["chmod", "-R", "u+w", folder.name], check=False) and folder.cleanup())
        self.folder = Path(folder.name)
        self.nobody = f"http://127.0.0.1:{free_port()}"

    def expect_skip(self, *command, **more: str) -> None:
        with self.assertRaisesRegex(unittest.SkipTest, r"^R cannot be reached: [^\n]+$"):
            registries.run_installer("R", *command, cwd=self.folder, env=os.environ | more)

    def test_pip(self):
        self.expect_skip(sys.executable, "-m", "pip", "install", "--quiet", "--retries", "1", "--no-cache-dir", "--index-url", self.nobody,
                         "--target", self.folder / "target", "a-package-that-is-nowhere")

    @machine.needs(machine.missing("npm"))
    def test_npm(self):
        self.expect_skip("npm", "install", "--no-audit", "--fetch-retries=0", "--cache", self.folder / "cache", "memcached",
                         npm_config_registry=self.nobody)

    @machine.needs(machine.missing("go"))
    def test_go(self):
        (self.folder / "go.mod").write_text("module x\n\ngo 1.18\n\nrequire github.com/bradfitz/gomemcache v0.1.0\n",
                                            encoding="utf-8")
        self.expect_skip("go", "mod", "download", GOPROXY=self.nobody, GOMODCACHE=str(self.folder / "cache"), GOTOOLCHAIN="local",
                         GOFLAGS="-mod=mod")

    @machine.needs(machine.missing("mvn"))
    def test_maven(self):
        settings = self.folder / "settings.xml"
        settings.write_text(f"<settings><mirrors><mirror><id>nobody</id><url>{self.nobody}</url><mirrorOf>*</mirrorOf></mirror>"
                            "</mirrors></settings>", encoding="utf-8")
        self.expect_skip("mvn", "--batch-mode", "--quiet", "--settings", settings, f"-Dmaven.repo.local={self.folder / 'repository'}",
                         "--file", registries.HERE / "java" / "pom.xml", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:help")


if __name__ == "__main__":
    machine.main()
