#!/usr/bin/env python3
"""Finds the same six lines in two files.

Lines are compared without their blanks. Comments, includes, namespaces and lines without a letter do not
count, so that neither headers' openings nor closing braces make copies.
"""

import re
from collections import defaultdict
from pathlib import Path

import sources

WINDOW = 6
IGNORED = re.compile(r"^(//|#|\*|/\*|namespace\b|using\b|import\b|from\b|public:|private:|protected:)")


def code_lines(text: str) -> list[tuple[int, str]]:
    """(line number, line without blanks) of the lines that count."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if IGNORED.match(stripped) or not re.search(r"[A-Za-z]", stripped):
            continue
        lines.append((number, re.sub(r"\s+", "", stripped)))
    return lines


def check(root: Path) -> list[str]:
    seen = defaultdict(list)
    for name in sources.all_files(root):
        if name.split("/")[0] not in sources.FOLDERS or not name.endswith((".hpp", ".cpp", ".py")):
            continue
        lines = code_lines(sources.read(root, name))
        for at in range(len(lines) - WINDOW + 1):
            seen[tuple(text for _, text in lines[at:at + WINDOW])].append((name, lines[at][0]))
    found, told = [], set()
    for places in seen.values():
        pair = tuple(sorted({name for name, _ in places}))
        if len(pair) > 1 and pair not in told:  # one line for each group of files is enough to act on
            told.add(pair)
            found.append("the same lines in " + " and ".join(f"{name}:{number}" for name, number in places))
    return sorted(found)


if __name__ == "__main__":
    sources.finish(check(sources.root_from_arguments()), "duplicates")
