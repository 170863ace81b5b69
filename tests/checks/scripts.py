#!/usr/bin/env python3
"""The shell scripts: they parse, may be executed, stop at the first failure and name no machine's paths."""

import re
import subprocess
from pathlib import Path

import sources

PRIVATE_PATHS = re.compile(r"(?<![\w.$}\"])/(work|home|root|mnt|srv|opt)/")


def check(root: Path) -> list[str]:
    found = []
    for name in sources.all_files(root):
        path = root / name
        if path.suffix not in ("", ".sh") or not path.read_bytes().startswith(b"#!/usr/bin/env bash"):
            continue
        text = path.read_text(encoding="utf-8")
        parsed = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True, check=False)
        if parsed.returncode != 0:
            found.append(f"{name}: does not parse: {parsed.stderr.strip()}")
        if not path.stat().st_mode & 0o100:
            found.append(f"{name}: may not be executed")
        if "\nset -euo pipefail\n" not in text:
            found.append(f"{name}: lacks set -euo pipefail")
        if PRIVATE_PATHS.search(text):
            found.append(f"{name}: names a path of some machine ({PRIVATE_PATHS.search(text).group()})")
    return found


if __name__ == "__main__":
    sources.finish(check(sources.root_from_arguments()), "scripts")
