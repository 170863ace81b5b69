"""Our own caches for PHP: their tests, with the interpreter that is installed."""

import os
import subprocess

from common import ServerCase, machine

PACKAGE = machine.REPOSITORY / "protocol" / "clients" / "php"


@machine.needs(machine.long_only(), machine.missing("php"))
class MxkvPhpTest(ServerCase):
    def test_all_of_them_pass(self):
        done = subprocess.run(["php", "tests/run.php"], cwd=PACKAGE, env=os.environ | {"MXKV_PORT": str(self.server.port)}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout.count("passed: "), 10, done.stdout)


if __name__ == "__main__":
    machine.main()
