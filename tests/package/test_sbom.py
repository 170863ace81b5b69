"""The package's list of its parts: it is complete, and in the form that scanners read."""

import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

import machine

sys.path.insert(0, str(machine.REPOSITORY / "tests" / "clients"))
import registries  # noqa: E402 - the path comes first

PROGRAMS = [machine.BUILD / name for name in ("server/mxkvd", "bench/mxkv-ycsb", "protocol/clients/cli/mxkv-cli")]


@machine.needs(machine.missing("dpkg-query", "ninja", "readelf"))
class SbomTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = cls.made()
        cls.sbom = json.loads(cls.text)
        cls.components = {one["name"]: one for one in cls.sbom["components"]}

    @staticmethod
    def made(*programs) -> str:
        return machine.run(machine.REPOSITORY / "server" / "make-sbom", "1.2.3", machine.BUILD, *(programs or PROGRAMS)).stdout

    def use(self, name: str) -> str:
        return next(one["value"] for one in self.components[name]["properties"] if one["name"] == "mxkv:use")

    def test_each_library_is_there_in_the_version_that_is_installed(self):
        for line in machine.run("ldd", *PROGRAMS).stdout.splitlines():
            if not (path := re.search(r"=> (/\S+)", line)):
                continue
            owners = machine.run("dpkg-query", "-S", Path(path[1]).resolve(), check=False).stdout or \
                machine.run("dpkg-query", "-S", path[1]).stdout
            name = owners.split(":")[0]
            version = machine.run("dpkg-query", "-W", "-f", "${Version}", name).stdout
            self.assertEqual((self.components[name]["version"], self.use(name)), (version, "linked"), line)

    def test_what_is_only_compiled_in_is_there_too(self):
        for part in ("boost", "cli11", "nlohmann-json", "spdlog", "xxhash", "libstdc"):
            with self.subTest(part):
                self.assertIn("headers", [self.use(name) for name in self.components if part in name])
        self.assertFalse([name for name in self.components if "gtest" in name or "gmock" in name], "of tests nothing is")

    def test_it_names_the_builds_that_it_is_of(self):
        ids = {one["name"]: one["value"] for one in self.sbom["metadata"]["component"]["properties"]}
        for program in PROGRAMS:
            notes = machine.run("readelf", "-n", program).stdout
            self.assertIn(f"Build ID: {ids[f'mxkv:build-id:{program.name}']}\n", notes)

    def test_the_same_build_gives_the_same_text(self):
        self.assertEqual(self.made(), self.text)

    def test_it_hangs_together(self):
        references = [one["bom-ref"] for one in self.sbom["components"]]
        self.assertEqual(len(references), len(set(references)))
        self.assertEqual(self.sbom["dependencies"], [{"ref": "mxkv", "dependsOn": references}])

    def test_what_is_no_build_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            done = machine.run(machine.REPOSITORY / "server" / "make-sbom", "1.2.3", folder, PROGRAMS[0], check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^make-sbom: \S+: Ninja builds nothing there\n$")

    @machine.needs(machine.long_only())
    def test_it_is_cyclonedx(self):
        requirements = machine.REPOSITORY / "tests" / "package" / "cyclonedx.txt"
        validation = registries.python_module("cyclonedx.validation.json", requirements)
        schema = registries.python_module("cyclonedx.schema", requirements)
        validator = validation.JsonStrictValidator(schema.SchemaVersion.V1_5)
        self.assertIsNone(validator.validate_str(self.text))
        self.assertIsNotNone(validator.validate_str(self.text.replace('"library"', '"libary"')))


if __name__ == "__main__":
    machine.main()
