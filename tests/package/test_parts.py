"""The optional parts of a build: options of CMake, what the configure step says of them, and what the program says."""

import re
import tempfile
import unittest

import machine

PARTS = ("CLUSTER", "PROBES", "MANUAL", "SBOM")


@machine.needs(machine.missing("cmake", "ninja"))
class PartsTest(unittest.TestCase):
    def configure(self, *options, check=True):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return machine.run("cmake", "--preset", "release", "-B", folder.name, *options, check=check, cwd=machine.REPOSITORY)

    @staticmethod
    def printed(text: str) -> dict:
        return dict(re.findall(r"(?m)^--   MXKV_(\w+): (on|off)\b", text))

    def test_a_part_that_is_off_is_left_out_and_the_end_says_so(self):
        text = self.configure(*(f"-DMXKV_{part}=OFF" for part in PARTS)).stdout
        self.assertEqual({part: self.printed(text)[part] for part in PARTS}, dict.fromkeys(PARTS, "off"))
        self.assertIn("MXKV_CLUSTER: off: clusters: MXKV_CLUSTER is OFF\n", text)

    def test_without_an_option_what_is_not_installed_is_off_and_named(self):
        text = self.configure("-DMXKV_LOWDOWN=").stdout
        self.assertEqual(self.printed(text)["MANUAL"], "off")
        self.assertIn("install lowdown", text)

    def test_a_part_that_is_required_and_not_installed_is_an_error_that_names_the_package(self):
        done = self.configure("-DMXKV_LOWDOWN=", "-DMXKV_MANUAL=ON", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"MXKV_MANUAL is ON, but lowdown is not installed")


class ProgramTest(unittest.TestCase):
    def test_the_version_names_each_part_and_check_knows_whether_there_are_clusters(self):
        parts, = re.findall(r"(?m)^parts: +(.*)$", machine.run(machine.MXKVD, "--version").stdout)
        self.assertRegex(parts, r"^TLS\b")
        clusters = "no clusters (built without librdkafka)" not in parts
        self.assertRegex(parts, r"\bclusters\b")
        self.assertRegex(parts, r"\bprobes\b")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("memory: {when_full: error}\n"
                       "cluster: {name: shop, node: a, brokers: ['127.0.0.1:9'], peer: '127.0.0.1:11311'}\n")
            file.flush()
            done = machine.run(machine.MXKVD, "check", file.name, check=False)
        if clusters:
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        else:
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r":2:\d+: cluster\.name: this mxkvd was built without librdkafka")


class PackageListTest(unittest.TestCase):
    """README names the packages of a build by hand as setup-packages has them."""

    def test_readme_has_the_packages_of_setup_packages(self):
        script = (machine.REPOSITORY / "server/setup-packages").read_text(encoding="utf-8")
        wanted = " ".join(re.findall(r"(?ms)^readonly (?:build|package)_packages=\((.*?)\)$", script)).replace("'", "").split()
        wanted = {name.split("|")[0] for name in wanted}
        readme = (machine.REPOSITORY / "README.md").read_text(encoding="utf-8")
        line = re.search(r"apt-get install --no-install-recommends (.*)", readme.replace("\\\n", ""))[1]
        named = set(line.split())
        # For tests and for quickstart; not for a build.
        self.assertEqual(wanted - named, {"ccache", "netcat-openbsd"})
        self.assertEqual(named - wanted, set())


if __name__ == "__main__":
    machine.main()
