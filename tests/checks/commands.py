#!/usr/bin/env python3
"""PROTOCOL.md and the fuzzers' dictionary know the commands of protocol/command_table.hpp.

    commands.py          tells the differences
    commands.py --fix    writes PROTOCOL.md's table of commands anew
"""

import re
import sys
from pathlib import Path

import sources

ROWS = "protocol/command_table.hpp"
DOCUMENT = "protocol/PROTOCOL.md"
DICTIONARY = "tests/fuzz/words.dict"
BEGIN, END = "<!-- commands: written by tests/checks/commands.py --fix -->", "<!-- end of commands -->"

# op, word, family, terms, grammar, then the optional cells: role, beginning, kind, binary form.
_ROW = re.compile(r'^ +\{verb::\w+, "(?P<word>\w+)", (?P<family>\w+), (?:\{[^}]*\}|\w+(?:\([^)]*\))?), (?P<reads>\w+)'
                  r'(?:, (?P<role>\w+), from::\w+(?:, as::(?P<kind>\w+)(?:, \{opcode::(?P<opcode>\w+)[^}]*\})?)?)?\},$')
_IN_WORDS = {"remove": "delete"}


def rows(text: str) -> list[re.Match]:
    lines = [line for line in text.splitlines() if line.startswith("    {verb::")]
    found = [_ROW.match(line) for line in lines]
    for line, match in zip(lines, found):
        if match is None:
            raise ValueError(f"{ROWS}: not understood: {line.strip()}")
    if not found:
        raise ValueError(f"{ROWS}: no rows were found")
    return found


def table(text: str) -> str:
    lines = ["| command | family | least role | timed as | opcode |", "|---|---|---|---|---|"]
    told = set()
    for row in rows(text):
        if row["word"] in told:
            continue
        told.add(row["word"])
        kind = row["kind"] or "other"
        opcode = row["opcode"] or ""
        lines.append(f"| `{row['word']}` | {row['family'].replace('_', ' ')} | {row['role'] or 'administrator'} | "
                     f"{_IN_WORDS.get(kind, kind)} | {_IN_WORDS.get(opcode, opcode)} |")
    return "\n".join(lines)


def unknown(root: Path, text: str, prose: str) -> list[str]:
    """Commands that the document does not describe beside its table, or that the fuzzers' dictionary lacks."""
    found = []
    dictionary = (root / DICTIONARY).read_text()
    for word in dict.fromkeys(row["word"] for row in rows(text)):
        if not re.search(rf"\b{word}\b", prose):
            found.append(f"{DOCUMENT}: does not say what {word} does")
        if not re.search(rf'^"(?:.* )?{word}\b', dictionary, re.M):
            found.append(f"{DICTIONARY}: lacks {word}")
    return found


def check(root: Path, fixes: bool = False) -> list[str]:
    try:
        text = (root / ROWS).read_text()
        wanted = table(text)
    except ValueError as error:
        return [str(error)]
    document = (root / DOCUMENT).read_text()
    if document.count(BEGIN) != 1 or document.count(END) != 1 or document.index(BEGIN) > document.index(END):
        return [f"{DOCUMENT}: the lines that stand around the table of commands are not there once each"]
    before, rest = document.split(BEGIN)
    now, behind = rest.split(END)
    found = unknown(root, text, before + behind)
    if now.strip() == wanted:
        return found
    if fixes:
        (root / DOCUMENT).write_text(f"{before}{BEGIN}\n{wanted}\n{END}{behind}")
        return found
    return [f"{DOCUMENT}: the table of commands differs from {ROWS}: tests/checks/commands.py --fix writes it anew", *found]


if __name__ == "__main__":
    fix = "--fix" in sys.argv
    if fix:
        sys.argv.remove("--fix")
    sources.finish(check(sources.root_from_arguments(), fix), "commands")
