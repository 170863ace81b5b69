"""Figures of the sources' structure: files, lines, classes, arrows, assertions.

An arrow leads, inside one folder, from the including part to the included one. A part is a sub-folder, or a header with its
source file. A part's level is one more than the highest level of the parts that its headers include. An arrow leads up when
its end has a higher level than its start, which only a source file can cause, or when headers of both parts include each other
indirectly. An arrow is in a circle when a way of arrows leads back.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import sources
from include_rules import INCLUDE

PRODUCT = ("runtime", "index", "protocol", "config", "server")
CLASS = re.compile(r"^[ \t]*(?:template\s*<[^;{}]*>\s*)?(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?(?:\[\[\w+\]\]\s*)?"
                   r"[A-Z]\w*(?:<[^;{}]*>)?(?:\s+final)?\s*(?::[^;{}]*)?\{", re.MULTILINE)
ASSERTION = re.compile(r"\b(?:MXKV_ASSERT|MXKV_DCHECK)\(")

Arrows = set[tuple[str, str]]


@dataclass
class Folder:
    """The figures of one folder, with all its sub-folders; arrows lead between the parts directly in it."""
    name: str
    files: int = 0
    lines: int = 0
    classes: int = 0
    assertions: int = 0
    arrows: int = 0
    up: int = 0
    in_circles: int = 0

    def assertions_a_thousand_lines(self) -> float:
        return 1000 * self.assertions / self.lines if self.lines else 0.0


def thing(folder: str, file: str) -> str:
    """The part of `folder` that is or has `file`: a sub-folder, or a file without its ending."""
    first, slash, _ = file[len(folder) + 1:].partition("/")
    return first + slash if slash else first.rsplit(".", 1)[0]


def reached(arrows: Arrows) -> dict[str, set[str]]:
    """Start -> all parts that some way of arrows leads to."""
    next_ones = defaultdict(set)
    for start, end in arrows:
        next_ones[start].add(end)
    found = {}
    for start in list(next_ones):
        seen, waiting = set(), [start]
        while waiting:
            for end in next_ones.get(waiting.pop(), ()):
                if end not in seen:
                    seen.add(end)
                    waiting.append(end)
        found[start] = seen
    return found


def levels(things: set[str], arrows: Arrows) -> dict[str, int]:
    """The level of each part; parts that include each other indirectly share one."""
    beyond = reached(arrows)
    circle = {one: frozenset({one} | {other for other in beyond.get(one, ()) if one in beyond.get(other, ())})
              for one in things}
    known: dict[frozenset, int] = {}

    def level(which: frozenset) -> int:
        if which not in known:
            below = {circle[end] for start, end in arrows if start in which} - {which}
            known[which] = 1 + max((level(one) for one in below), default=-1)
        return known[which]

    return {one: level(circle[one]) for one in things}


def arrows_of(folder: str, includes: dict[str, list[str]]) -> tuple[Arrows, Arrows, Arrows]:
    """The arrows inside a folder: all, the upward ones, the ones in circles. `includes`: file -> included files of ours."""
    every, by_headers = set(), set()
    for file, targets in includes.items():
        if not file.startswith(folder + "/"):
            continue
        for target in targets:
            arrow = (thing(folder, file), thing(folder, target)) if target.startswith(folder + "/") else None
            if arrow and arrow[0] != arrow[1]:
                every.add(arrow)
                if file.endswith(".hpp"):
                    by_headers.add(arrow)
    level = levels({one for arrow in every for one in arrow}, by_headers)
    beyond, beyond_by_headers = reached(every), reached(by_headers)
    up = {(start, end) for start, end in every
          if level[end] > level[start] or start in beyond_by_headers.get(end, ())
          and end in beyond_by_headers.get(start, ())}
    return every, up, {(start, end) for start, end in every if start in beyond.get(end, ())}


def read_all(root: Path) -> tuple[dict[str, str], dict[str, list[str]]]:
    """File -> its text, and file -> the files of ours that it includes."""
    texts = {name: sources.read(root, name) for name in sources.cpp_files(root) if name.split("/")[0] in PRODUCT}
    return texts, {name: [target for quote, target in INCLUDE.findall(text) if quote == '"' and target in texts]
                   for name, text in texts.items()}


def figures(root: Path) -> list[Folder]:
    """Name -> figures of each folder of the product, and of its sub-folders."""
    texts, includes = read_all(root)
    found: dict[str, Folder] = {}
    for name, text in texts.items():
        parts = name.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = found.setdefault("/".join(parts[:depth]), Folder("/".join(parts[:depth])))
            folder.files += 1
            folder.lines += text.count("\n")
            folder.classes += len(CLASS.findall(text))
            folder.assertions += len(ASSERTION.findall(text)) - text.count("#define MXKV_ASSERT(") \
                - text.count("#define MXKV_DCHECK(")
    for name, folder in found.items():
        folder.arrows, folder.up, folder.in_circles = map(len, arrows_of(name, includes))
    return [found[name] for name in sorted(found)]
