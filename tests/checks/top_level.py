#!/usr/bin/env python3
"""The root of the repository has only the entries listed here, so that it stays a table of contents."""

from pathlib import Path

import sources

FOLDERS = {"runtime", "index", "protocol", "config", "server", "bench", "tests", "docker", ".ci", ".github", ".devcontainer"}
FILES = {"CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", ".clang-format", ".clang-tidy", ".gitignore",
         ".dockerignore", ".editorconfig", ".clangd", ".git-blame-ignore-revs"}
NEEDED = {"CMakeLists.txt", "CMakePresets.json", "LICENSE"}


def check(root: Path) -> list[str]:
    entries = {(name.split("/")[0], "/" in name) for name in sources.all_files(root)}
    found = [f"{entry}: does not belong in the root" for entry, is_folder in sorted(entries)
             if entry not in (FOLDERS if is_folder else FILES)]
    return found + [f"{name}: is missing" for name in sorted(NEEDED - {entry for entry, _ in entries})]


if __name__ == "__main__":
    sources.finish(check(sources.root_from_arguments()), "top level")
