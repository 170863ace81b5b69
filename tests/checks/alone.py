#!/usr/bin/env python3
"""Compiles sources alone, without code: usage alone.py BUILD SOURCE...

A unity build compiles several sources as one unit, and so hides an include that one of them lacks. Each source is
compiled as its unit is in the build tree BUILD, of clang. Prints what the compiler says; exit code 1 if it complains.
"""
import json
import pathlib
import shlex
import subprocess
import sys

from tidy_units import sources_of


def commands_of(build, root):
    """Source -> the folder in which its unit is compiled, and the command."""
    entries = json.loads((build / "compile_commands.json").read_text())
    return {source: (entry["directory"], entry["command"], entry["file"])
            for entry in entries for source in sources_of(entry["file"], root)}


def alone(command, unit, source):
    """The command that only checks `source`, in place of the one that compiles `unit`."""
    words = shlex.split(command)
    compiler = next(i for i, word in enumerate(words) if pathlib.Path(word).name.startswith("clang"))
    kept = [str(source) if word == unit else word for word in words[compiler:]]
    at = kept.index("-o")
    return kept[:at] + kept[at + 2:] + ["-fsyntax-only", "-w"]


def check(build, sources, root):
    """What the compiler says of those sources that it refuses."""
    commands = commands_of(build, root)
    complaints = []
    for source in sources:
        if source not in commands:  # not of this build
            continue
        folder, command, unit = commands[source]
        done = subprocess.run(alone(command, unit, root / source), cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            complaints.append(done.stderr.strip() or f"{source}: the compiler ended with {done.returncode}")
    return complaints


def main():
    build, *sources = sys.argv[1:]
    complaints = check(pathlib.Path(build), sources, pathlib.Path(__file__).resolve().parents[2])
    for complaint in complaints:
        print(complaint)
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
