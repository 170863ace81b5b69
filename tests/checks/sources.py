"""The files of the repository that the checks look at.

Asks git if there is a work tree, so that files outside of the repository are not judged; walks the folders otherwise (an
unpacked archive, the self-test's invented trees).
"""

import os
import subprocess
import sys
from pathlib import Path

FOLDERS = ("runtime", "index", "protocol", "config", "server", "bench", "tests")
CPP = (".hpp", ".cpp")


def all_files(root: Path) -> list[str]:
    """Paths relative to `root`, sorted: tracked ones and new ones that are not ignored."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={root}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, capture_output=True, check=False)
        if listed.returncode == 0:
            names = listed.stdout.decode().split("\0")
            return sorted(name for name in set(names) if name and (root / name).is_file())
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in ("build", ".git", "__pycache__")]
        found += [str((Path(folder) / name).relative_to(root)) for name in names]
    return sorted(found)


def cpp_files(root: Path) -> list[str]:
    return [name for name in all_files(root) if name.endswith(CPP) and name.split("/")[0] in FOLDERS]


def read(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def finish(violations: list[str], what: str) -> None:
    """Prints the violations, or that there are none, and ends the program."""
    for violation in violations:
        print(violation)
    print(f"{what}: {len(violations)} violation(s)" if violations else f"{what}: fine")
    sys.exit(1 if violations else 0)


def root_from_arguments() -> Path:
    """The repository: the only argument, or the one that has this file."""
    return Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
