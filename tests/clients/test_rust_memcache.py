"""The Rust crate memcache, whose default is the binary protocol: rust/ holds its tests."""

import os

from common import LibraryCase, machine
import registries


@machine.needs(machine.long_only(), machine.missing("cargo"))
class RustMemcacheTest(LibraryCase):
    def test_all_that_rust_tests(self):
        folder = registries.rust_folder()
        told = machine.run("cargo", "test", "--offline", "--quiet", cwd=folder, timeout=900,
                           env=os.environ | self.ways())
        self.assertRegex(told.stdout, r"test result: ok. 4 passed")


if __name__ == "__main__":
    machine.main()
