#!/usr/bin/env python3
"""Rules for the text of each file: its length, its first comment, and forbidden words."""

import re
from pathlib import Path

import sources

MOST_LINES = 450
# A page of the architecture is read in one go.
MOST_PAGE_LINES = 170
PAGE = re.compile(r"server/ARCHITECTURE\.md|server/architecture/\w+\.md")
# Joined here, so that this file does not contain them.
FORBIDDEN = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "DIS" + "ABLED_"]))
PARSES = re.compile(r"\bapp(?:\.|->)parse\(|CLI11_PARSE")
OPTIONS = "runtime/base/command_line.hpp"
PROGRAMS = ("bench/", "protocol/", "server/")
# mxkv-cli escapes its output in Session and complain(); other files print no text from outside.
CLI = "protocol/clients/cli/"
CLI_PRINTS = re.compile(r"std::(?:v?f?printf|f?puts|f?putc|putchar|fwrite|cout|cerr)\b")
CLI_DOORS = {CLI + name for name in ("session.cpp", "text/complain.cpp", "program.cpp", "shell/shell.cpp", "transfer/progress.cpp")}
# An enumerator that is added in the middle would change such a comparison, and no compiler says so.
ORDER = re.compile(r"[<>]=? (?:\w+::)*(\w+)::\w+\b(?!::|[(<{])|\b(?:\w+::)*(\w+)::\w+ [<>]=? ")
ENUMERATION = re.compile(r"\benum class (\w+)")
PRODUCT = ("runtime/", "index/", "protocol/", "config/", "server/")
CHECKED = (".hpp", ".cpp", ".py", ".sh", ".txt", ".cmake", ".md")


def check_cpp(name: str, lines: list[str], headers: set[str]) -> list[str]:
    found = []
    explained = name.endswith(".cpp") and name[:-4] + ".hpp" in headers  # its header has the description
    if not explained and (not lines or not lines[0].startswith(("//", "/*"))):
        found.append(f"{name}:1: does not open with a comment that says what it is")
    if name.endswith(".hpp") and not any(line.strip() == "#pragma once" for line in lines):
        found.append(f"{name}:1: has no #pragma once")
    found += [f"{name}:{number}: parses by CLI11 itself, which takes [x,y] for a list: use {OPTIONS}"
              for number, line in enumerate(lines, 1) if PARSES.search(line) and name != OPTIONS]
    includes = [number for number, line in enumerate(lines, 1) if line.startswith("#include <CLI/")]
    if includes and name != OPTIONS and f'#include "{OPTIONS}"' not in lines:
        found.append(f"{name}:{includes[0]}: includes CLI11 alone, which takes -1 for the largest number: include {OPTIONS}")
    found += [f"{name}:{number}: prints by itself: Session::print() and complain() escape what a terminal would obey"
              for number, line in enumerate(lines, 1)
              if name.startswith(CLI) and name not in CLI_DOORS and CLI_PRINTS.search(line)]
    found += [f"{name}:{number}: main() does not begin with open_standard_streams(): its first socket may be its output"
              for number, line in enumerate(lines, 1)
              if line.startswith("int main(") and name.startswith(PROGRAMS)
              and "open_standard_streams();" not in "".join(lines[number:number + 1])
              and not any("Figure figure{" in other for other in lines)]  # whose constructor does
    return found


def check_orders(name: str, lines: list[str], enumerations: set[str]) -> list[str]:
    return [f"{name}:{number}: leans on the order of {match.group(1) or match.group(2)}'s enumerators: use a predicate"
            for number, line in enumerate(lines, 1)
            for match in ORDER.finditer(line.split("//")[0])
            if {match.group(1), match.group(2)} & enumerations]


def check(root: Path) -> list[str]:
    found = []
    cpp = set(sources.cpp_files(root))
    enumerations = {found for name in cpp for found in ENUMERATION.findall(sources.read(root, name))}
    for name in sources.all_files(root):
        if not name.endswith(CHECKED) and name not in ("server/quickstart", "tests/run"):
            continue
        lines = sources.read(root, name).splitlines()
        if name.endswith((".hpp", ".cpp", ".py")) and len(lines) > MOST_LINES:
            found.append(f"{name}: has {len(lines)} lines, {MOST_LINES} are allowed: split it by concept")
        if PAGE.fullmatch(name) and len(lines) > MOST_PAGE_LINES:
            found.append(f"{name}: has {len(lines)} lines, {MOST_PAGE_LINES} are allowed: a page has one subject")
        found += [f"{name}:{number}: contains {match.group()}"
                  for number, line in enumerate(lines, 1) if (match := FORBIDDEN.search(line))]
        if name in cpp:
            found += check_cpp(name, lines, cpp)
            if name.startswith(PRODUCT):
                found += check_orders(name, lines, enumerations)
    return found


if __name__ == "__main__":
    sources.finish(check(sources.root_from_arguments()), "text rules")
