"""Another system: builds and packages on Debian 13, and installs into a second Debian 13 without build packages. The compiler's
cache is kept, so that the second run is faster.

MXKV_PACKAGE_JOBS   number of compilers at once (default: one a CPU)
"""

import os
import shutil
import tempfile
import unittest
from pathlib import Path

import debian_tree
import machine

JOBS = os.environ.get("MXKV_PACKAGE_JOBS", str(os.cpu_count()))
NEXT_DEBIAN = "trixie"



@machine.needs(machine.long_only(), machine.root_only(), machine.missing("debootstrap", "unshare", "chroot", "git"))
class NextDebianTest(unittest.TestCase):
    def setUp(self):
        machine.CACHE.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="elsewhere.", dir=machine.CACHE))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def tree(self, name: str) -> Path:
        return debian_tree.unpack(self.folder / name, NEXT_DEBIAN)

    def test_built_there_and_installed_it_serves(self):
        builder = self.tree("builder")
        debian_tree.copy_sources(builder)
        debian_tree.install(builder, "g++", "ccache")
        debian_tree.inside(builder, "cd /source && server/setup-packages package && cmake --preset release && "
                                    f"cmake --build --preset release -j {JOBS} && cd build/release && cpack -B /package",
                           debian_tree.compilers_cache(NEXT_DEBIAN), timeout=3000)
        package, = (builder / "package").glob("*.deb")
        installed = self.tree("installed")
        shutil.copy(package, installed / "mxkv.deb")
        debian_tree.install(installed, "/mxkv.deb")
        debian_tree.serve(self, installed, 0)
        self.assertIn("13", (installed / "etc/debian_version").read_text(encoding="utf-8"))


if __name__ == "__main__":
    machine.main()
