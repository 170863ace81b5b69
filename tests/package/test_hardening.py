"""A released program is hardened as Debian's servers are; its sections and symbols show it."""

import re
import unittest
from pathlib import Path

import machine


def build_type() -> str:
    cache = machine.BUILD / "CMakeCache.txt"
    found = re.search(r"^CMAKE_BUILD_TYPE:[A-Z]+=(.*)$", cache.read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1) if found else ""


def released_only() -> str:
    kind = build_type()
    return "" if kind.startswith("Rel") else f"the build is {kind}: only an optimised one is hardened"


@machine.needs(released_only(), machine.missing("readelf"))
class HardeningTest(unittest.TestCase):
    def read(self, *what: str) -> str:
        return machine.run("readelf", "-W", *what, Path(machine.MXKVD)).stdout

    def test_it_lies_at_another_place_each_time(self):
        self.assertRegex(self.read("-h"), r"Type: +DYN \(Position-Independent Executable file\)")
        self.assertRegex(self.read("-d"), r"\(FLAGS_1\) +Flags:.*\bPIE\b")

    def test_addresses_of_libraries_are_bound_at_the_start_and_read_only_then(self):
        self.assertRegex(self.read("-l"), r"(?m)^ +GNU_RELRO ")
        self.assertRegex(self.read("-d"), r"\(FLAGS_1\) +Flags:.*\bNOW\b")

    def test_no_stack_can_be_executed(self):
        self.assertRegex(self.read("-l"), r"(?m)^ +GNU_STACK .* RW +(0x)?[0-9a-f]+$")

    def test_stacks_are_guarded_and_copies_bounded(self):
        called = set(re.findall(r" UND ([a-z_0-9]+)", self.read("--dyn-syms")))
        self.assertIn("__stack_chk_fail", called)
        bounded = {name for name in called if name.startswith("__") and name.endswith("_chk")}
        self.assertNotEqual(bounded, set(), "no function of _FORTIFY_SOURCE is called")


if __name__ == "__main__":
    machine.main()
