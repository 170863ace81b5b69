#!/usr/bin/env python3
"""Comments and documents name their nouns: counts clauses that leave the noun to the reader, and allows so many of each kind.

  what is     "what is", "what was", "what has" and the like: name the thing
  who         "who" behind no noun ("who waits", "by who asks"), and "whoever"
  that of     "that of", "those of": repeat the noun
  is told     "is told", "are told": say who says what to whom
  somebody    "somebody", "someone": a client, an operator, another node

The ceilings below may only be lowered: together they are below thirty, which leaves a little room above the present counts.

  tests/checks/words.py                  the counts and the ceilings
  tests/checks/words.py --list           also each place, by folder
  tests/checks/words.py --list server/net    the places of one folder
"""

import argparse
import re
from collections import Counter
from pathlib import Path

import sources

CEILINGS = {"what is": 9, "who": 5, "that of": 6, "is told": 5, "somebody": 4}

KINDS = {
    "what is": re.compile(r"\bwhat (?:is|was|are|were|has|had|have)\b", re.IGNORECASE),
    # At the beginning of a sentence or part of one, or behind a word that is no noun.
    "who": re.compile(r"(?:^|[.;:(]|\b(?:by|of|to|for|from|with|than|and|or|but|is|as|at|on|in|before|while|where)\b)\s*who\b|"
                      r"\bwhoever\b", re.IGNORECASE),
    "that of": re.compile(r"\b(?:that|those) of\b", re.IGNORECASE),
    "is told": re.compile(r"\b(?:is|are|was|were|be|been) told\b", re.IGNORECASE),
    "somebody": re.compile(r"\b(?:somebody|someone)\b", re.IGNORECASE),
}
SLASHES = (".cpp", ".hpp", ".js", ".ts", ".go", ".java", ".proto")
HASHES = (".py", ".sh", ".cmake", ".txt", ".yaml", ".yml", ".toml", ".rb", ".bt")
DOCUMENTS = (".md", ".1")
NOT_OURS = ("tests/checks/words.py", "tests/checks/test_words.py")  # these name the words
SLASH_COMMENT = re.compile(r"(?:^|\s)//[/!]?<?\s?(.*)")
HASH_COMMENT = re.compile(r"(?:^|\s)#+\s(.*)")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def prose(name: str, text: str) -> list[tuple[int, str]]:
    """The lines of a file that are prose, with their numbers: comments of sources, documents without their code."""
    found = []
    in_code = in_docstring = False
    for number, line in enumerate(text.splitlines(), 1):
        if name.endswith(DOCUMENTS):
            in_code ^= line.startswith("```")
            if not in_code and not line.startswith("    "):
                found.append((number, re.sub(r"`[^`]*`", "", line)))
        elif name.endswith(SLASHES):
            if match := SLASH_COMMENT.search(QUOTED.sub('""', line)):
                found.append((number, match[1]))
        else:
            if match := HASH_COMMENT.search(QUOTED.sub('""', line)):
                found.append((number, match[1]))
            elif name.endswith(".py"):
                quotes = line.count('"""')
                if quotes or in_docstring:
                    found.append((number, line.strip().replace('"""', "")))
                in_docstring ^= quotes % 2 == 1
    return found


def places(root: Path) -> list[tuple[str, int, str, str]]:
    """File, line number, kind and line of each clause that leaves out its noun."""
    found = []
    for name in sources.all_files(root):
        path = root / name
        script = "." not in path.name and path.name[:1].islower() and path.read_bytes()[:2] == b"#!"
        if name in NOT_OURS or not (script or name.endswith(SLASHES + HASHES + DOCUMENTS)):
            continue
        for number, line in prose(name, sources.read(root, name)):
            found += [(name, number, kind, line.strip()) for kind, pattern in KINDS.items() for _ in pattern.findall(line)]
    return found


def folder_of(name: str) -> str:
    """server/net/session.hpp -> server/net: two levels are enough to deal the work."""
    parts = name.split("/")[:-1]
    return "/".join(parts[:2]) or "."


def check(root: Path, ceilings: dict[str, int]) -> list[str]:
    counts = Counter(kind for _, _, kind, _ in places(root))
    return [f"{counts[kind]} clauses with a bare \"{kind}\", {most} are allowed: name the noun (tests/checks/words.py --list)"
            for kind, most in ceilings.items() if counts[kind] > most]


def table(found: list[tuple[str, int, str, str]]) -> str:
    lines = [f"{'folder':28}" + "".join(f"{kind:>10}" for kind in KINDS) + f"{'all':>8}"]
    by_folder = Counter((folder_of(name), kind) for name, _, kind, _ in found)
    for folder in sorted({folder for folder, _ in by_folder}):
        counts = [by_folder[folder, kind] for kind in KINDS]
        lines.append(f"{folder:28}" + "".join(f"{count:10}" for count in counts) + f"{sum(counts):8}")
    totals = [sum(by_folder[folder, kind] for folder, kind in by_folder if kind == wanted) for wanted in KINDS]
    lines.append(f"{'all':28}" + "".join(f"{count:10}" for count in totals) + f"{sum(totals):8}")
    lines.append(f"{'ceiling':28}" + "".join(f"{CEILINGS[kind]:10}" for kind in KINDS) + f"{sum(CEILINGS.values()):8}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--list", nargs="?", const="", metavar="FOLDER", help="also print each place, or those of one folder")
    options = parser.parse_args()
    found = places(options.root.resolve())
    if options.list is not None:
        for name, number, kind, line in found:
            if name.startswith(options.list):
                print(f"{name}:{number}: {kind}: {line}")
    print(table(found))
    sources.finish(check(options.root.resolve(), CEILINGS), "words")


if __name__ == "__main__":
    main()
