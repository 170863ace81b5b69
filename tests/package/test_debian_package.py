"""The Debian package: built, looked at, and installed into a minimal Debian where its daemon serves."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import machine

EXPECTED = {
    "./usr/bin/mxkvd": "-rwxr-xr-x", "./usr/bin/mxkv-ycsb": "-rwxr-xr-x", "./etc/mxkv/mxkv.yaml": "-rw-r--r--",
    "./lib/systemd/system/mxkvd.service": "-rw-r--r--", "./lib/systemd/system/mxkvd.socket": "-rw-r--r--",
    "./usr/share/doc/mxkv/copyright": "-rw-r--r--", "./usr/share/doc/mxkv/changelog.Debian.gz": "-rw-r--r--",
}
MAN_PAGES = {"server/mxkvd.1": "./usr/share/man/man1/mxkvd.1.gz",
             "bench/mxkv-ycsb.1": "./usr/share/man/man1/mxkv-ycsb.1.gz"}


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
            owner = self.owner(path)  # or what it provides: libspdlog1.10-fmt9 is libspdlog1.10
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
        for name, mode in (EXPECTED | pages).items():
            self.assertEqual(found.get(name), mode, name)

    def test_its_scripts_parse_and_its_configuration_is_the_operators(self):
        control = Path(self.folder.name, "control")
        machine.run("dpkg-deb", "-e", self.package, control)
        self.assertEqual((control / "conffiles").read_text(), "/etc/mxkv/mxkv.yaml\n")
        for name in ("postinst", "prerm", "postrm"):
            self.assertEqual((control / name).stat().st_mode & 0o777, 0o755)
            machine.run("sh", "-n", control / name)

    @machine.needs(machine.missing("lintian"))
    def test_lintian_finds_no_error(self):
        found = machine.run("lintian", "--allow-root", "--fail-on", "error", self.package, check=False)
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)
        self.assertNotIn("\nE:", "\n" + found.stdout)

    @machine.needs(machine.long_only(), machine.root_only(), machine.missing("debootstrap", "unshare", "chroot"))
    def test_installed_into_a_minimal_debian_it_serves(self):
        root = Path(self.folder.name, "root")
        root.mkdir()
        self.addCleanup(shutil.rmtree, root)
        machine.run("tar", "-C", root, "-xpf", machine.debian_base())
        for name in ("etc/resolv.conf", "etc/hosts"):
            shutil.copy(Path("/", name), root / name)
        shutil.copy(self.package, root / "mxkv.deb")
        self.inside(root, "apt-get -qq update && DEBIAN_FRONTEND=noninteractive "
                          "apt-get -qq install -y --no-install-recommends /mxkv.deb", timeout=900)
        self.check_installed(root)
        self.serve(root, 0)
        self.inside(root, "dpkg -i /mxkv.deb")
        self.serve(root, 1002)  # those of the load client, and two
        self.upgrade_and_purge(root)

    def inside(self, root: Path, command: str, **options) -> str:
        return machine.run(*self.entry(root, command), **options).stdout

    @staticmethod
    def entry(root: Path, command: str) -> list:
        """A shell command in the tree, with /proc and /sys in a mount namespace that ends with it."""
        mounts = 'mount --rbind /proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev"'
        return ["unshare", "--mount", "sh", "-c", f'{mounts} && exec chroot "$0" sh -c "$1"', str(root), command]

    def check_installed(self, root: Path) -> None:
        user = self.inside(root, "getent passwd mxkv").strip().split(":")
        self.assertLess(int(user[2]), 1000, "a system user")
        self.assertEqual((user[5], user[6]), ("/nonexistent", "/usr/sbin/nologin"))
        self.assertTrue((root / "etc/systemd/system/multi-user.target.wants/mxkvd.service").is_symlink())
        self.assertEqual((root / "etc/mxkv/mxkv.yaml").read_text(encoding="utf-8"), machine.packaged_configuration())

    def serve(self, root: Path, items: int) -> None:
        """The unit's command line as the unit's user, but for the port; and the load client beside it. So many items are
        there from before."""
        unit = (root / "lib/systemd/system/mxkvd.service").read_text(encoding="utf-8")
        command = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE).group(1)
        port = machine.free_port()
        log = Path(self.folder.name, "log")
        with log.open("w") as output:
            daemon = subprocess.Popen(
                self.entry(root, f"exec setpriv --reuid mxkv --regid mxkv --clear-groups --no-new-privs "
                                 f"{command} --listen 127.0.0.1:{port} --memory 256MiB"),
                stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            machine.wait_for_version(port, lambda: daemon.poll() is None)
            self.assertIn(b"STAT curr_items %d\r\n" % items, machine.ask(port, b"stats\r\n"))
            machine.exercise(self, port)
            report = self.inside(root, f"mxkv-ycsb load --server 127.0.0.1:{port} --recordcount 1000")
            self.assertRegex(report, r"\[INSERT\], Return=OK, 1000|\[INSERT\], Operations, 1000")
            status = Path(f"/proc/{daemon.pid}/status").read_text(encoding="utf-8")
            self.assertNotIn("Uid:\t0", status)
            daemon.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.wait(60), 0, log.read_text())
        finally:
            daemon.kill()
            daemon.wait()

    def upgrade_and_purge(self, root: Path) -> None:
        """What the operator wrote survives an upgrade and a removal, and goes with a purge; the user stays."""
        file = root / "etc/mxkv/mxkv.yaml"
        file.write_text("workers: 1\n", encoding="utf-8")
        self.inside(root, "dpkg -i /mxkv.deb")
        self.assertEqual(file.read_text(encoding="utf-8"), "workers: 1\n")
        self.inside(root, "dpkg -r mxkv")
        self.assertTrue(file.exists())
        self.assertTrue((root / "var/lib/mxkv/MANIFEST").exists())
        self.assertFalse((root / "usr/bin/mxkvd").exists())
        self.inside(root, "dpkg -P mxkv")
        self.assertFalse(file.exists())
        self.assertFalse((root / "var/lib/mxkv").exists())
        self.assertFalse((root / "etc/systemd/system/multi-user.target.wants/mxkvd.service").is_symlink())
        self.inside(root, "getent passwd mxkv")


if __name__ == "__main__":
    machine.main()
