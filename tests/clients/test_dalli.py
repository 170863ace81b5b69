"""Dalli, Ruby's and Rails' client, as Debian has it, by the binary protocol: ruby/ holds its tests."""

import os
import subprocess

from common import LibraryCase, machine


def has_dalli() -> str:
    if reason := machine.missing("ruby"):
        return reason
    found = subprocess.run(["ruby", "-rdalli", "-rminitest", "-e", ""], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return "" if found.returncode == 0 else "not installed: ruby-dalli, ruby-minitest"


@machine.needs(machine.long_only(), has_dalli())
class DalliTest(LibraryCase):
    def test_all_that_ruby_tests(self):
        done = subprocess.run(["ruby", str(machine.Path(__file__).resolve().parent / "ruby" / "dalli_test.rb")],
                              env=os.environ | self.ways(), stdin=subprocess.DEVNULL, text=True, capture_output=True,
                              timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"11 runs, \d+ assertions, 0 failures, 0 errors")


if __name__ == "__main__":
    machine.main()
