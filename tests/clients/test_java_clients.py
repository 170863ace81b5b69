"""spymemcached and Xmemcached: java/ holds their tests, one class a client."""

import os
import subprocess
import tempfile

from common import ServerCase, machine
import registries


@machine.needs(machine.long_only(), machine.missing("mvn", "javac", "java"))
class JavaClientsTest(ServerCase):
    @classmethod
    def setUpClass(cls):
        cls.libraries = f"{registries.java_folder()}/*"
        classes = tempfile.TemporaryDirectory(prefix="classes")
        cls.addClassCleanup(classes.cleanup)
        cls.classes = classes.name
        sources = sorted((registries.HERE / "java").glob("*.java"))
        machine.run("javac", "--release", "11", "-cp", cls.libraries, "-d", cls.classes, *sources, timeout=600)
        super().setUpClass()

    def run_class(self, name: str) -> None:
        done = subprocess.run(
            ["java", "-Dnet.spy.log.LoggerImpl=net.spy.memcached.compat.log.SLF4JLogger",
             "-cp", f"{self.libraries}:{self.classes}", "org.junit.platform.console.ConsoleLauncher",
             "execute", "--disable-banner", "--disable-ansi-colors", "--fail-if-no-tests", "--select-class", name],
            env=os.environ | {"MXKV_PORT": str(self.server.port)}, stdin=subprocess.DEVNULL, text=True,
            capture_output=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_spymemcached(self):
        self.run_class("SpymemcachedTest")

    def test_xmemcached(self):
        self.run_class("XmemcachedTest")

    def test_spymemcached_by_the_binary_protocol(self):
        self.run_class("SpymemcachedBinaryTest")

    def test_xmemcached_by_the_binary_protocol(self):
        self.run_class("XmemcachedBinaryTest")


if __name__ == "__main__":
    machine.main()
