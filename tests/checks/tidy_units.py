#!/usr/bin/env python3
"""Prints what a compiler is given: usage tidy_units.py BUILD [SOURCE...]

A unity build compiles several sources as one unit. Most of clang-tidy's time goes into their headers, so a unit costs
about as much as one source alone. Prints the units of the build tree BUILD that hold one of the sources, in the sources'
order, or all units but generated sources; a source that no unit holds stands for itself.
"""
import json
import pathlib
import re
import sys

INCLUDED = re.compile(r'^#include "(.+\.cpp)"$', re.MULTILINE)


def sources_of(unit, root):
    """The sources of the repository that a unit compiles."""
    path = pathlib.Path(unit)
    members = INCLUDED.findall(path.read_text()) if path.suffix == ".cxx" else [unit]
    sources = [str(pathlib.Path(member).relative_to(root)) for member in members]
    return [source for source in sources if not source.startswith("build/")]


def main():
    build, *wanted = sys.argv[1:]
    root = pathlib.Path(__file__).resolve().parents[2]
    units = [entry["file"] for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text())]
    unit_of = {source: unit for unit in units for source in sources_of(unit, root)}
    chosen = [unit_of.get(source, source) for source in wanted] if wanted else unit_of.values()
    print("\n".join(dict.fromkeys(chosen)))


if __name__ == "__main__":
    main()
