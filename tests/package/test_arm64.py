"""Builds for arm64 by a cross compiler. An emulator runs the unit tests of code that depends on the processor, and the daemon,
which tests of integration use through sockets. The compiler's cache is kept, so that the second run is faster.

The emulator orders memory as this machine does, so it cannot find memory orders that are too weak.

MXKV_PACKAGE_JOBS   number of compilers, or emulators, at once (default: one a CPU)
"""

import concurrent.futures
import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import debian_tree
import machine

JOBS = int(os.environ.get("MXKV_PACKAGE_JOBS", os.cpu_count()))
# Debian 12's own emulator keeps data for each page that a program reserves, which takes gigabytes.
EMULATOR, EMULATORS_SUITE = "qemu-aarch64", "bookworm-backports"
# Clocks, locks and atomics, words of keys, signs of characters, and text from outside.
UNIT_TESTS = ("unit_runtime", "unit_index", "unit_protocol")
# Each form of request, ranges and batches, and the recovery from disk.
DAEMON_TESTS = ("test_replies", "test_values", "test_scan", "test_dump", "test_meta", "test_meta_ranges", "test_binary",
                "test_batches", "test_locked_ranges", "test_concurrency", "test_durable_start")


def libraries() -> list[str]:
    """The packages that building needs, each by its first name."""
    text = (machine.REPOSITORY / "server" / "setup-packages").read_text(encoding="utf-8")
    names = re.search(r"build_packages=\((.*?)\)", text, re.DOTALL)[1].replace("'", "").split()
    return [name.split("|")[0] for name in names if name.split("|")[0].endswith("-dev")] + ["libgtest-dev", "libgmock-dev"]


@machine.needs(machine.long_only(), machine.root_only(), machine.missing("debootstrap", "unshare", "chroot", "git"),
               "this machine is of arm64 itself: its own tests say it" if os.uname().machine == "aarch64" else "")
class Arm64Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        machine.CACHE.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="arm64.", dir=machine.CACHE))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.root = debian_tree.unpack(folder / "root")
        debian_tree.copy_sources(cls.root)
        cls.install_packages()
        cls.inside("cmake --preset dev -DCMAKE_TOOLCHAIN_FILE=/source/tests/package/arm64.cmake -DMXKV_FIGURES=OFF && "
                   f"cmake --build --preset dev -j {JOBS} --target mxkvd {' '.join(UNIT_TESTS)}",
                   debian_tree.compilers_cache("arm64"), timeout=3000)

    @classmethod
    def inside(cls, command: str, *mounts, **options) -> str:
        return debian_tree.inside(cls.root, f"cd /source && {command}", *mounts, **options)

    @classmethod
    def install_packages(cls) -> None:
        """Installs the libraries for arm64, except those that are the same for all processors."""
        cls.inside(f"dpkg --add-architecture arm64 && cd /etc/apt && "
                   f"sed s/bookworm/{EMULATORS_SUITE}/ sources.list > sources.list.d/emulator.list")
        debian_tree.install(cls.root, "crossbuild-essential-arm64", "cmake", "ninja-build", "pkg-config", "ccache", "python3",
                            "git", f"qemu-user/{EMULATORS_SUITE}", "libc6:arm64")
        of_all = cls.inside("apt-cache show --no-all-versions " + " ".join(libraries()) +
                            " | awk '/^Package:/ { name = $2 } /^Architecture: all/ { print name }'").split()
        debian_tree.install(cls.root, *(name if name in of_all else f"{name}:arm64" for name in libraries()))

    def test_the_daemon_knows_what_it_runs_on(self):
        version = self.inside(f"{EMULATOR} build/dev/server/mxkvd --version")
        self.assertRegex(version, r"^mxkvd \d")
        self.assertIn("arm64", version)

    def test_the_parts_do_what_they_do_elsewhere(self):
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            runs = {f"{name}, part {part} of {JOBS}": pool.submit(self.unit_tests, name, part)
                    for name in UNIT_TESTS for part in range(JOBS)}
            for run, result in runs.items():
                with self.subTest(run):
                    self.assertRegex(result.result(), r"\[  PASSED  \] [1-9]\d* tests")

    def unit_tests(self, name: str, part: int) -> str:
        """Runs a part of a program's tests. Leaves out death tests: they execute their own program again, which the kernel
        cannot do for another processor's programs.
        """
        return self.inside(f"cd build/dev && export GTEST_TOTAL_SHARDS={JOBS} GTEST_SHARD_INDEX={part} && {EMULATOR} "
                           f"$(find tests -name {name} -type f) --gtest_brief=1 --gtest_filter='-*DeathTest*'", timeout=1500)

    def test_the_daemon_serves_as_it_does_elsewhere(self):
        daemon = self.root / "mxkvd"  # on this machine's own tree, except for the libraries
        daemon.write_text(f'#!/bin/sh\nexec "{self.root}/usr/bin/{EMULATOR}" -L "{self.root}" '
                          f'"{self.root}/source/build/dev/server/mxkvd" "$@"\n', encoding="utf-8")
        daemon.chmod(0o755)
        environment = os.environ | {"MXKVD": str(daemon), "MXKV_TEST_LONG": "", "MXKV_TEST_SCALE": "0.1",
                                    "MXKV_TEST_PATIENCE": "10", "MXKV_TEST_SANITIZED": "1"}
        done = machine.run(sys.executable, "-B", "-m", "unittest", *DAEMON_TESTS, env=environment,
                           cwd=machine.REPOSITORY / "tests" / "integration", timeout=1800)
        self.assertRegex(done.stderr, r"Ran [1-9]\d* tests")


if __name__ == "__main__":
    machine.main()
