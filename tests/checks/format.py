#!/usr/bin/env python3
"""Every C++ file is formatted as clang-format 19 does. `format.py --fix` formats them."""

import shutil
import subprocess
import sys
from pathlib import Path

import sources

if __name__ == "__main__":
    repository = Path(__file__).resolve().parents[2]
    tool = shutil.which("clang-format-19")
    if tool is None:
        sources.finish(["clang-format-19 is not installed"], "format")
    mode = ["-i"] if "--fix" in sys.argv else ["--dry-run", "--Werror"]
    result = subprocess.run([tool, *mode, *sources.cpp_files(repository)], cwd=repository,
                            capture_output=True, text=True, check=False)
    wrong = sorted({line.split(":")[0] for line in result.stderr.splitlines() if "clang-format-violations" in line})
    if result.returncode != 0 and not wrong:
        wrong = result.stderr.splitlines()
    sources.finish([f"{name}: is not formatted (tests/checks/format.py --fix)" for name in wrong], "format")
