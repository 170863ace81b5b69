"""The documentation site: made of all documents, without a warning; a dead link or a page that is left out is an error."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import machine

sys.path[:0] = [str(machine.REPOSITORY / "tests" / folder) for folder in ("clients", "checks")]
import registries  # noqa: E402 - the path comes first
import sources  # noqa: E402

SITE = machine.REPOSITORY / "server" / "site"
MODULES = ("sphinx", "myst_parser", "furo")
# Forms that a code host shows where they are needed.
NO_PAGES = (".github/ISSUE_TEMPLATE/", ".github/pull_request_template.md")


def missing_modules() -> str:
    return "" if all(importlib.util.find_spec(name) for name in MODULES) else "not installed: Sphinx, MyST and Furo"


@machine.needs(machine.long_only() and missing_modules())
class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.environment = os.environ | {"PYTHON": sys.executable}
        if missing_modules():
            registries.python_module("sphinx", SITE / "requirements.txt")
            cls.environment["PYTHONPATH"] = sys.path[0]
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.documents = [name for name in sources.all_files(machine.REPOSITORY)
                         if name.endswith(".md") and not name.startswith(NO_PAGES)]

    def build(self, root: Path, to: Path) -> subprocess.CompletedProcess:
        return machine.run(root / "server/site/build", to, check=False, env=self.environment)

    def test_each_document_is_a_page_and_nothing_is_wrong(self):
        done = self.build(machine.REPOSITORY, self.folder / "site")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in self.documents:
            self.assertTrue((self.folder / "site" / name).with_suffix(".html").is_file(), name)
        first = (self.folder / "site/README.html").read_text(encoding="utf-8")
        self.assertIn('href="server/guides/troubleshooting.html"', first)
        self.assertIn("README.html", (self.folder / "site/index.html").read_text(encoding="utf-8"))
        self.assertTrue((self.folder / "site/searchindex.js").is_file())

    def test_dead_links_and_forgotten_pages_are_errors(self):
        root = self.folder / "wrong"
        for name in sources.all_files(machine.REPOSITORY):
            if name == "CMakeLists.txt" or name.endswith(".md") or name.startswith("server/site/"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(machine.REPOSITORY / name, root / name)
        (root / "server/guides/new.md").write_text("# New\n\n[a](absent.md) [b](sizing.md#absent)\n", encoding="utf-8")
        done = self.build(root, self.folder / "wrong-site")
        self.assertNotEqual(done.returncode, 0)
        of_new = "\n".join(line for line in done.stderr.splitlines() if "guides/new.md" in line)
        self.assertIn("absent.md", of_new)
        self.assertRegex(of_new, "sizing.*absent|absent.*sizing")
        self.assertIn("toctree", of_new)


if __name__ == "__main__":
    machine.main()
