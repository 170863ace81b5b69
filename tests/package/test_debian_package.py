"""The Debian package: built, inspected, and installed into a minimal Debian where its daemon serves."""

import json
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import debian_tree
import installed_documents
import machine

EXPECTED = {
    "./usr/bin/mxkvd": "-rwxr-xr-x", "./usr/bin/mxkv-ycsb": "-rwxr-xr-x",
    "./usr/bin/mxkv-cli": "-rwxr-xr-x", "./etc/mxkv/mxkv.yaml": "-rw-r--r--",
    "./lib/systemd/system/mxkvd.service": "-rw-r--r--", "./lib/systemd/system/mxkvd.socket": "-rw-r--r--",
    "./usr/share/doc/mxkv/copyright": "-rw-r--r--", "./usr/share/doc/mxkv/changelog.Debian.gz": "-rw-r--r--",
    "./usr/share/doc/mxkv/mxkv.cdx.json": "-rw-r--r--",
}
MAN_PAGES = {"server/mxkvd.1": "./usr/share/man/man1/mxkvd.1.gz",
             "bench/mxkv-ycsb.1": "./usr/share/man/man1/mxkv-ycsb.1.gz",
             "protocol/clients/cli/mxkv-cli.1": "./usr/share/man/man1/mxkv-cli.1.gz"}
EXPECTED |= {f"./usr/share/{place}": "-rw-r--r--" for program in ("mxkvd", "mxkv-cli", "mxkv-ycsb")
             for place in (f"bash-completion/completions/{program}", f"fish/vendor_completions.d/{program}.fish")}
EXPECTED |= {f"./usr/share/{place}": "-rw-r--r--" for place in ("zsh/vendor-completions/_mxkv", *installed_documents.EXPECTED)}
WRITTEN_PAGES = ("./usr/share/man/man7/mxkv-protocol.7.gz", "./usr/share/man/man7/mxkv-stats.7.gz",
                 "./usr/share/man/man5/mxkv.yaml.5.gz")


@machine.needs(machine.missing("dpkg-deb", "dpkg-shlibdeps", machine.CPACK))
class DebianPackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        machine.run(machine.CPACK, "--config", machine.BUILD / "CPackConfig.cmake", "-B", cls.folder.name,
                    cwd=machine.BUILD)
        cls.package, = Path(cls.folder.name).glob("*.deb")

    def field(self, name: str) -> str:
        return machine.run("dpkg-deb", "-f", self.package, name).stdout.strip()

    def test_it_is_named_after_what_it_holds(self):
        architecture = machine.run("dpkg", "--print-architecture").stdout.strip()
        version = machine.run(machine.MXKVD, "--version").stdout.split()[1]
        self.assertEqual(self.field("Package"), "mxkv")
        self.assertEqual(self.field("Architecture"), architecture)
        self.assertEqual(self.field("Version"), f"{version}-1")
        self.assertEqual(self.package.name, f"mxkv_{version}-1_{architecture}.deb")

    def test_it_asks_for_the_libraries_that_the_programs_are_linked_with(self):
        depends = {part.split()[0] for part in self.field("Depends").split(",")}
        self.assertIn("adduser", depends)
        needed = re.findall(r"NEEDED +(\S+)", machine.run("objdump", "-p", machine.MXKVD).stdout)
        for library in (name for name in needed if not name.startswith("ld-")):
            path = re.search(rf"{re.escape(library)} => (\S+)", machine.run("ldd", machine.MXKVD).stdout).group(1)
            owner = self.owner(path)  # or a name that it provides: libspdlog1.10-fmt9 is libspdlog1.10
            self.assertTrue(any(name.startswith(owner) for name in depends), f"{library}: {owner}")

    @staticmethod
    def owner(path: str) -> str:
        """The package of a file, which dpkg may know by its place before /lib became /usr/lib."""
        for name in (path, path.removeprefix("/usr"), os.path.realpath(path)):
            found = machine.run("dpkg-query", "-S", name, check=False)
            if found.returncode == 0:
                return found.stdout.split(":")[0]
        raise AssertionError(f"no package owns {path}")

    def test_it_holds_the_programs_the_units_and_the_configuration(self):
        found = {}
        for line in machine.run("dpkg-deb", "-c", self.package).stdout.splitlines():
            mode, owner, *_, name = line.split()
            self.assertEqual(owner, "root/root", line)
            self.assertIn(mode, ("drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"), line)
            found[name] = mode
        pages = {place: "-rw-r--r--" for page, place in MAN_PAGES.items() if (machine.REPOSITORY / page).exists()}
        if not machine.missing("lowdown"):
            pages |= {place: "-rw-r--r--" for place in WRITTEN_PAGES}
        for name, mode in (EXPECTED | pages).items():
            self.assertEqual(found.get(name), mode, name)

    def test_its_scripts_parse_and_its_configuration_is_the_operators(self):
        control = Path(self.folder.name, "control")
        machine.run("dpkg-deb", "-e", self.package, control)
        self.assertEqual((control / "conffiles").read_text(), "/etc/mxkv/mxkv.yaml\n")
        for name in ("postinst", "prerm", "postrm"):
            self.assertEqual((control / name).stat().st_mode & 0o777, 0o755)
            machine.run("sh", "-n", control / name)

    def unpacked(self) -> Path:
        folder = Path(self.folder.name, "unpacked")
        if not folder.exists():
            machine.run("dpkg-deb", "-x", self.package, folder)
        return folder

    def test_links_of_its_documents_lead_to_what_it_installs(self):
        installed_documents.check(self, self.unpacked() / "usr/share/doc/mxkv")

    def test_its_configuration_has_every_key_and_names_those_that_are_not_the_defaults(self):
        text = (self.unpacked() / "etc/mxkv/mxkv.yaml").read_text(encoding="utf-8")
        self.assertEqual(text, machine.packaged_configuration())
        file = Path(self.folder.name, "mxkv.yaml")
        # Without the folder, which this machine need not have.
        file.write_text(text.replace(" /var/lib/mxkv\n", f" {self.folder.name}/data\n"), encoding="utf-8")
        packaged = self.options(machine.run(machine.MXKVD, "print-config", "--config", file).stdout)
        defaults = self.options(machine.run(machine.MXKVD, "print-config", "--defaults").stdout)
        self.assertGreater(len(defaults), 80)
        self.assertEqual(list(self.options(text)), list(defaults), "each key is in the file")
        differing = {key for key in defaults if packaged[key] != defaults[key]}
        self.assertEqual(differing, {"durability.directory", "durability.sync"})
        self.assertIn("with its default, but durability.directory and sync.", text.splitlines()[0])

    @staticmethod
    def options(text: str) -> dict:
        """Path of each key -> its value; of `listeners`, a list, there is none in printed text."""
        found, above = {}, []
        for line in text.splitlines():
            if match := re.match(r"( *)([a-z_]+):(?: +([^# ].*?))?(?: +#.*)?$", line):
                above = above[:len(match[1]) // 2] + [match[2]]
                if match[3] and match[2] != "listeners":
                    found[".".join(above)] = match[3]
        return found

    @machine.needs(machine.missing("ninja", "readelf"))
    def test_what_it_is_made_of_is_told_of_each_program_in_it(self):
        packaged = Path(self.folder.name, "told")
        machine.run("dpkg-deb", "-x", self.package, packaged)
        sbom = json.loads((packaged / "usr/share/doc/mxkv/mxkv.cdx.json").read_text(encoding="utf-8"))
        told = {one["name"] for one in sbom["metadata"]["component"]["properties"]}
        self.assertEqual(told, {f"mxkv:build-id:{program.name}" for program in (packaged / "usr/bin").iterdir()})

    @machine.needs(machine.missing("readelf", "nm", "addr2line"))
    def test_the_symbols_beside_it_name_the_places_of_the_packaged_daemon(self):
        symbols, = Path(self.folder.name).glob("*.ddeb")
        self.assertTrue(symbols.name.startswith("mxkv-dbgsym_"), symbols.name)
        packaged, beside = Path(self.folder.name, "packaged"), Path(self.folder.name, "beside")
        machine.run("dpkg-deb", "-x", self.package, packaged)
        machine.run("dpkg-deb", "-x", symbols, beside)
        for program in ("mxkvd", "mxkv-ycsb", "mxkv-cli"):
            stripped = packaged / "usr/bin" / program
            build_id = re.search(r"Build ID: ([0-9a-f]{40})", machine.run("readelf", "-n", stripped).stdout).group(1)
            file = beside / "usr/lib/debug/.build-id" / build_id[:2] / f"{build_id[2:]}.debug"
            self.assertTrue(file.exists(), f"{program}: {build_id}")
            self.assertIn(build_id, machine.run("readelf", "-n", file).stdout)
            self.assertEqual(self.place_of_code(file), self.place_of_code(stripped))
            self.assertEqual(machine.run("nm", stripped).stdout, "", "it is stripped")
            place, = re.findall(r"(?m)^([0-9a-f]+) T main$", machine.run("nm", file).stdout)
            self.assertRegex(machine.run("addr2line", "-fe", file, place).stdout, r"^main\n\S+\.(cpp|cxx):\d+")

    @staticmethod
    def place_of_code(file: Path) -> str:
        """Address and size."""
        found = re.search(r" \.text +\S+ +(\S+) +\S+ +(\S+)", machine.run("readelf", "-WS", file).stdout)
        return found.group(1, 2)

    @machine.needs(machine.missing("lintian"))
    def test_lintian_finds_no_error(self):
        found = machine.run("lintian", "--allow-root", "--fail-on", "error", self.package, check=False)
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)
        self.assertNotIn("\nE:", "\n" + found.stdout)

    @machine.needs(machine.long_only(), machine.root_only(), machine.missing("debootstrap", "unshare", "chroot"))
    def test_installed_into_a_minimal_debian_it_serves(self):
        root = debian_tree.unpack(Path(self.folder.name, "root"))
        self.addCleanup(shutil.rmtree, root)
        shutil.copy(self.package, root / "mxkv.deb")
        debian_tree.install(root, "/mxkv.deb")
        self.check_installed(root)
        debian_tree.serve(self, root, 0)
        debian_tree.inside(root, "dpkg -i /mxkv.deb")
        debian_tree.serve(self, root, 1002)  # the load client's items, and two
        self.upgrade_and_purge(root)

    def check_installed(self, root: Path) -> None:
        user = debian_tree.inside(root, "getent passwd mxkv").strip().split(":")
        self.assertLess(int(user[2]), 1000, "a system user")
        self.assertEqual((user[5], user[6]), ("/nonexistent", "/usr/sbin/nologin"))
        self.assertTrue((root / "etc/systemd/system/multi-user.target.wants/mxkvd.service").is_symlink())
        self.assertEqual((root / "etc/mxkv/mxkv.yaml").read_text(encoding="utf-8"), machine.packaged_configuration())

    def upgrade_and_purge(self, root: Path) -> None:
        """The operator's configuration survives an upgrade and a removal; a purge deletes it. The user stays."""
        file = root / "etc/mxkv/mxkv.yaml"
        file.write_text("workers: 1\n", encoding="utf-8")
        debian_tree.inside(root, "dpkg -i /mxkv.deb")
        self.assertEqual(file.read_text(encoding="utf-8"), "workers: 1\n")
        debian_tree.inside(root, "dpkg -r mxkv")
        self.assertTrue(file.exists())
        self.assertTrue((root / "var/lib/mxkv/MANIFEST").exists())
        self.assertFalse((root / "usr/bin/mxkvd").exists())
        debian_tree.inside(root, "dpkg -P mxkv")
        self.assertFalse(file.exists())
        self.assertFalse((root / "var/lib/mxkv").exists())
        self.assertFalse((root / "etc/systemd/system/multi-user.target.wants/mxkvd.service").is_symlink())
        debian_tree.inside(root, "getent passwd mxkv")


if __name__ == "__main__":
    machine.main()
