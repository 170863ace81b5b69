"""The daemon's own descriptions: --help, --version, and the man pages, which list the same flags."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import environment, mxkv_only, patience

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = {"mxkv-protocol.7": ("protocol", "protocol/PROTOCOL.md"), "mxkv-stats.7": ("stats", "server/STATS.md"),
           "mxkv.yaml.5": ("config", "config/mxkv.yaml")}
PAGES = [page for page in (ROOT / "server/mxkvd.1", ROOT / "bench/mxkv-ycsb.1") if page.exists()]


def output(*command, **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=patience(60), check=False,
                          stdin=subprocess.DEVNULL, **options)


@mxkv_only("its help")
class HelpTest(unittest.TestCase):
    def test_version_says_how_it_was_built_and_from_what(self):
        done = output(environment.MXKVD, "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^mxkvd \d+\.\d+\.\d+$")
        self.assertRegex(lines[1], r"^commit: +\S+, build id [0-9a-f]+$")
        self.assertRegex(lines[2], r"^build: +(Release|RelWithDebInfo|Debug), (g|clang)\+\+ \d+\.\d+")
        for library in ("Boost", "CLI11", "spdlog", "fmt", "yaml-cpp", "hwloc"):
            self.assertRegex(lines[3], rf"^libraries: .*\b{library} \d+\.\d+")
        self.assertRegex(lines[4], r"^parts: +TLS, .*\bclusters\b")
        self.assertRegex(lines[4], r"\bprobes\b")
        self.assertRegex(lines[5], r"^CPU: +\S.*; keys are compared by (AVX-512|AVX2|words)")
        with open("/proc/cpuinfo", encoding="ascii") as cpus:
            flags = re.search(r"^flags\s*: (.*)$", cpus.read(), re.MULTILINE)
        if flags:
            self.assertEqual(" avx2" in flags[1], " avx2" in lines[5])

    def test_help_has_examples_signals_and_exit_codes(self):
        done = output(environment.MXKVD, "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for text in ("Examples:", "unix:", "SIGHUP", "Exit codes: 0"):
            self.assertIn(text, done.stdout)
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 130, line)


def written(name: str, source: Path) -> str:
    """A man page that is generated from a document."""
    done = output(ROOT / "server/make-manual", WRITTEN[name][0], source, "1.2.3")
    if (done.returncode, done.stderr) != (0, ""):
        raise AssertionError(done.stderr)
    return done.stdout


class ManPageTest(unittest.TestCase):
    def test_the_formatter_has_nothing_to_say(self):
        self.check_format(PAGES)

    @unittest.skipUnless(shutil.which("lowdown"), "lowdown is not installed")
    def test_nor_has_it_of_pages_that_are_written_from_documents(self):
        with tempfile.TemporaryDirectory() as folder:
            pages = []
            for name, (_, source) in WRITTEN.items():
                pages.append(Path(folder, name))
                pages[-1].write_text(written(name, ROOT / source), encoding="utf-8")
            self.check_format(pages)

    @unittest.skipUnless(shutil.which("lowdown"), "lowdown is not installed")
    def test_the_page_of_the_configuration_has_every_key_with_its_default(self):
        page = written("mxkv.yaml.5", ROOT / "config/mxkv.yaml").replace("\\-", "-").replace("\\(dq", '"')
        path, found = {}, 0
        for line in (ROOT / "config/mxkv.yaml").read_text(encoding="utf-8").splitlines():
            if key := re.match(r"( *)([a-z_]+): *(.*)$", line):
                depth, value = len(key[1]) // 2, key[3]
                path[depth] = key[2]
                if value:
                    name = ".".join(path[level] for level in range(depth + 1))
                    self.assertTrue(f"\\fB{name}\\fR ({value})" in page, name)
                    found += 1
        self.assertGreater(found, 60)
        # Markup that the conversion has understood is gone.
        self.assertNotRegex(page, r"(?m)`|^#|^:|\*\*")

    def check_format(self, pages) -> None:
        if shutil.which("groff"):
            checkers = [["groff", "-t", "-man", "-ww", "-z", "-Tutf8"]]
        elif shutil.which("mandoc"):
            checkers = [["mandoc", "-T", "lint", "-W", "warning"]]
        else:
            self.skipTest("neither groff nor mandoc is installed")
        if shutil.which("man"):
            checkers.append(["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l"])
        self.assertNotEqual(pages, [])
        for page in pages:
            for checker in checkers:
                with self.subTest(page=page.name, checker=checker[0]):
                    done = output(*checker, str(page))
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertRegex(page.read_text(), r"(?m)^\.SH NAME\n\S+ \\- \S")

    @mxkv_only("its flags")
    def test_page_and_help_know_the_same_flags(self):
        flags = set(re.findall(r"--[a-z][a-z-]+", output(environment.MXKVD, "--help").stdout))
        page = (ROOT / "server/mxkvd.1").read_text().replace("\\-", "-")
        options = page[page.index(".SH OPTIONS"):page.index(".SH COMMANDS")]
        self.assertEqual(set(re.findall(r"^\.BI? (--[a-z-]+)", options, re.MULTILINE)), flags)


if __name__ == "__main__":
    unittest.main()
