"""USDT probes: the program has exactly those that the documents and scripts name, and they fire if the kernel allows tracing."""

import re
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from harness import DaemonCase, environment, mxkv_only, patience, wait_for

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "server/probes").glob("*.bt"))
HEADERS = [Path("/usr/include/sys/sdt.h"), *Path("/usr/include").glob("*/sys/sdt.h")]


def of_program() -> set:
    notes = subprocess.run(["readelf", "-n", environment.MXKVD], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"Provider: mxkv\n\s*Name: (\w+)\n", notes))


def documented() -> set:
    text = (ROOT / "server/OPERATING.md").read_text(encoding="utf-8")
    table = text[text.index("| probe | when |"):]
    rows = table[:table.index("\n\n")].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def of_script(script: Path) -> set:
    return set(re.findall(r"usdt:\*:mxkv:(\w+)", script.read_text(encoding="utf-8")))


@mxkv_only("its probes")
@unittest.skipUnless(shutil.which("readelf"), "readelf is not installed")
@unittest.skipUnless(HEADERS, "systemtap-sdt-dev is not installed: there are no probes")
class ProbesTest(DaemonCase):
    def test_the_program_has_what_is_documented(self):
        self.assertEqual(of_program(), documented())

    def test_scripts_use_what_there_is(self):
        self.assertEqual(len(SCRIPTS), 2)
        for script in SCRIPTS:
            with self.subTest(script.name):
                self.assertNotEqual(of_script(script), set())
                self.assertLessEqual(of_script(script), of_program())

    @unittest.skipUnless(shutil.which("bpftrace"), "bpftrace is not installed")
    def test_a_script_sees_requests(self):
        self.write_config("stats: {sample: 1}\n")
        self.start()
        with subprocess.Popen(["bpftrace", "-p", str(self.process.pid), str(ROOT / "server/probes/latency.bt")],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tracer:
            begin = tracer.stdout.readline()
            if "Attaching" not in begin:
                tracer.kill()
                self.skipTest(f"the kernel does not let one look: {begin.strip()}")
            client = self.client()
            for _ in range(50):
                client.get(b"k")
            wait_for(lambda: client.get(b"k") is None, "requests")
            tracer.send_signal(signal.SIGINT)
            told, _ = tracer.communicate(timeout=patience(60))
        if "@us[get]" not in told:
            self.skipTest(f"the kernel does not let one look: {told.strip()[-200:]}")
        self.assertIn("@slowest_us[get]", told)
        self.end()


if __name__ == "__main__":
    unittest.main()
