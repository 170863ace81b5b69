"""The documents that packages install: which files must be there, and whether their links work."""

import re
import unittest
import urllib.parse
from pathlib import Path

import machine

NAMES = ("README.md", "config/mxkv.yaml", "config/examples/two-nodes.yaml", "protocol/PROTOCOL.md", "server/CHANGELOG.md",
         "server/OPERATING.md", "server/STATS.md", "server/admin/alerts.yaml", "server/admin/grafana.json",
         "server/probes/latency.bt", "server/probes/lock_waits.bt",
         *(str(guide.relative_to(machine.REPOSITORY)) for guide in sorted(machine.REPOSITORY.glob("server/guides/*.md"))))
EXPECTED = tuple(f"doc/mxkv/{name}" for name in NAMES)


def without_code(text: str) -> str:
    return re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", text)


def anchors(text: str) -> set:
    """The anchors of headings, made as code hosts make them."""
    found = set()
    for heading in re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", text)):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-"))
    return found


def dead_links(root: Path) -> list:
    found = []
    for document in sorted(root.rglob("*.md")):
        text = document.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = document.parent / urllib.parse.unquote(name) if name else document
            if not target.exists():
                found.append(f"{document.relative_to(root)}: {link}")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
                found.append(f"{document.relative_to(root)}: {link}: no such heading")
    return found


def links(root: Path) -> int:
    return sum(len(re.findall(r"\]\((?!https?:)", without_code(path.read_text(encoding="utf-8")))) for path in root.rglob("*.md"))


def check(test: unittest.TestCase, root: Path) -> None:
    test.assertEqual(dead_links(root), [])
    test.assertGreater(links(root), 80, "the links between documents are kept")
    # Files that the documents tell to use are there under the names that they use.
    for document in ("server/OPERATING.md", *(name for name in NAMES if "/guides/" in name)):
        text = (root / document).read_text(encoding="utf-8")
        for name in re.findall(r"\bserver/(?:probes|admin)/\w+\.(?:bt|json|yaml)", text):
            test.assertTrue((root / name).is_file(), f"{document}: {name}")
