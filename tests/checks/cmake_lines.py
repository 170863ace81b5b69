#!/usr/bin/env python3
"""Lines of CMake's files fit a screen. `cmake_lines.py --fix` breaks longer lines."""

import re
import sys
from pathlib import Path

import sources

MOST_COLUMNS = 119
WORD = re.compile(r'(?:[^\s"]|"[^"]*")+')
KEYWORD = re.compile(r"[A-Z_]+$")


def is_cmake(name: str) -> bool:
    return name.endswith(("CMakeLists.txt", ".cmake")) or name == "CMakePresets.json"


def units(line: str) -> list[str]:
    """The pieces that stay on one line: a word, or a keyword with its first word."""
    words = WORD.findall(line)
    found = []
    for word in words:
        if found and KEYWORD.match(found[-1]):
            found[-1] += " " + word
        else:
            found.append(word)
    return found


def broken(line: str) -> list[str]:
    """The line as several lines. Further lines are indented by two more if the line began a command or a keyword's list."""
    indent = line[:len(line) - len(line.lstrip())]
    begins = re.match(r"\s*(?:[a-z_]+\(|[A-Z_]+ )", line) is not None
    lines = []
    current = indent
    for unit in units(line):
        if current.strip() and len(current) + 1 + len(unit) > MOST_COLUMNS:
            lines.append(current)
            current = indent + ("  " if begins else "") + unit
        else:
            current += unit if not current.strip() else " " + unit
    return [*lines, current]


def check(root: Path, fix: bool = False) -> list[str]:
    found = []
    for name in filter(is_cmake, sources.all_files(root)):
        lines = sources.read(root, name).splitlines()
        long = [number for number, line in enumerate(lines, 1) if len(line) > MOST_COLUMNS]
        if fix and long and not name.endswith(".json"):
            text = "\n".join("\n".join(broken(line)) if len(line) > MOST_COLUMNS and "#" not in line else line for line in lines)
            (root / name).write_text(text + "\n", encoding="utf-8")
            continue
        found += [f"{name}:{number}: has {len(lines[number - 1])} columns, {MOST_COLUMNS} are allowed" for number in long]
    return found


if __name__ == "__main__":
    fix = "--fix" in sys.argv
    if fix:
        sys.argv.remove("--fix")
    root = sources.root_from_arguments()
    if fix:
        check(root, fix=True)
    sources.finish(check(root), "cmake lines")
