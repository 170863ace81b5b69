"""The RPM package: built, inspected, and installed into a tree of its own."""

import re
import shutil
import tempfile
import unittest
from pathlib import Path

import installed_documents
import machine

EXPECTED = {
    "/usr/bin/mxkvd": "-rwxr-xr-x", "/usr/bin/mxkv-ycsb": "-rwxr-xr-x",
    "/usr/bin/mxkv-cli": "-rwxr-xr-x", "/etc/mxkv/mxkv.yaml": "-rw-r--r--",
    "/usr/lib/systemd/system/mxkvd.service": "-rw-r--r--", "/usr/lib/systemd/system/mxkvd.socket": "-rw-r--r--",
    "/usr/lib/sysusers.d/mxkv.conf": "-rw-r--r--", "/usr/share/doc/mxkv/copyright": "-rw-r--r--",
    "/usr/share/man/man1/mxkvd.1.gz": "-rw-r--r--",
}
EXPECTED |= {f"/usr/share/{place}": "-rw-r--r--" for place in installed_documents.EXPECTED}
EXPECTED |= {f"/usr/share/{place}": "-rw-r--r--" for program in ("mxkvd", "mxkv-cli", "mxkv-ycsb")
             for place in (f"bash-completion/completions/{program}", f"fish/vendor_completions.d/{program}.fish",
                           f"man/man1/{program}.1.gz")}
EXPECTED["/usr/share/zsh/site-functions/_mxkv"] = "-rw-r--r--"
if not machine.missing("lowdown"):
    EXPECTED |= {f"/usr/share/man/{place}.gz": "-rw-r--r--"
                 for place in ("man7/mxkv-protocol.7", "man7/mxkv-stats.7", "man5/mxkv.yaml.5")}
SCRIPTS = {"preinstall": "pre", "postinstall": "post", "preuninstall": "preun", "postuninstall": "postun"}


@machine.needs(machine.missing("rpmbuild", "rpm", machine.CPACK))
class RpmPackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        machine.run(machine.CPACK, "-G", "RPM", "--config", machine.BUILD / "CPackConfig.cmake", "-B", cls.folder,
                    cwd=machine.BUILD)
        cls.package, = cls.folder.glob("*.rpm")

    def query(self, *what: str) -> str:
        return machine.run("rpm", "--dbpath", self.folder / "db", "-qp", *what, self.package).stdout

    def test_it_is_named_after_what_it_holds(self):
        version = machine.run(machine.MXKVD, "--version").stdout.split()[1]
        self.assertEqual(self.query("--qf", "%{NAME} %{VERSION} %{RELEASE} %{LICENSE}"), f"mxkv {version} 1 MIT")

    def test_it_asks_for_the_libraries_that_the_programs_are_linked_with(self):
        required = self.query("--requires")
        for library in re.findall(r"NEEDED +(\S+)", machine.run("objdump", "-p", machine.MXKVD).stdout):
            self.assertIn(library, required)

    def test_it_holds_the_programs_the_units_and_the_configuration(self):
        found = {}
        for line in self.query("-lv").splitlines():
            mode, _, owner, group, *_, name = line.split()
            self.assertEqual((owner, group), ("root", "root"), line)
            found[name] = mode
        for name, mode in EXPECTED.items():
            self.assertEqual(found.get(name), mode, name)
        # rpmbuild itself makes links from build ids to programs, for debuggers.
        foreign = [name for name, mode in found.items()
                   if mode.startswith("d") and "mxkv" not in name and not name.startswith("/usr/lib/.build-id")]
        self.assertEqual(foreign, [], "folders that belong to others")
        self.assertFalse([name for name in found if name.startswith("/lib/")], "there is no /lib but as a link")
        self.assertEqual(self.query("-c"), "/etc/mxkv/mxkv.yaml\n")
        flags = dict(line.rsplit(" ", 1) for line in self.query("--qf", "[%{FILENAMES} %{FILEFLAGS:fflags}\\n]").splitlines())
        self.assertEqual(flags["/etc/mxkv/mxkv.yaml"], "cn", "what the operator changed is kept")

    def test_its_scripts_are_ours_and_parse(self):
        scripts = self.query("--scripts").replace("(using /bin/sh):\n\n", "(using /bin/sh):\n")
        for kind, name in SCRIPTS.items():
            file = machine.REPOSITORY / "server" / "rpm" / name
            self.assertIn(f"{kind} scriptlet (using /bin/sh):\n{file.read_text(encoding='utf-8').strip()}", scripts)
            machine.run("sh", "-n", file)

    def test_the_user_is_the_one_that_the_unit_names(self):
        unit = (machine.REPOSITORY / "server/systemd/mxkvd.service").read_text(encoding="utf-8")
        user = re.search(r"^User=(.*)$", unit, re.MULTILINE).group(1)
        line, = re.findall(r"^u .*$", (machine.REPOSITORY / "server/rpm/sysusers.conf").read_text(), re.MULTILINE)
        self.assertEqual(line.split()[1], user)
        self.assertIn(f"'{line}'", (machine.REPOSITORY / "server/rpm/pre").read_text(encoding="utf-8"))

    @machine.needs(machine.long_only(), machine.root_only(), machine.missing("debootstrap"))
    def test_installed_replaced_and_removed(self):
        root = self.folder / "root"
        root.mkdir()
        self.addCleanup(shutil.rmtree, root)
        machine.run("tar", "-C", root, "-xpf", machine.debian_base())
        # The tree is a Debian without RPM packages, so the requirements cannot be met: --nodeps.
        rpm = ("rpm", "--root", root, "--nodeps")
        machine.run(*rpm, "-i", self.package)
        self.assertRegex((root / "etc/passwd").read_text(encoding="utf-8"), r"(?m)^mxkv:.*:/usr/sbin/nologin$")
        self.assertEqual((root / "var/lib/mxkv").stat().st_mode & 0o777, 0o700)
        file = root / "etc/mxkv/mxkv.yaml"
        self.assertEqual(file.read_text(encoding="utf-8"), machine.packaged_configuration())
        file.write_text("workers: 1\n", encoding="utf-8")
        machine.run(*rpm, "-U", "--force", self.package)
        self.assertEqual(file.read_text(encoding="utf-8"), "workers: 1\n")
        machine.run(*rpm, "-e", "mxkv")
        self.assertFalse((root / "usr/bin/mxkvd").exists())
        self.assertEqual((root / "etc/mxkv/mxkv.yaml.rpmsave").read_text(encoding="utf-8"), "workers: 1\n")
        self.assertTrue((root / "var/lib/mxkv").is_dir())


if __name__ == "__main__":
    machine.main()
