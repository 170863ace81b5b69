#!/usr/bin/env python3
"""The subjects of this branch's own commits: `folder: text`, at most 72 characters, no semicolon, no full stop at the end.

Own are the commits since the branch left its upstream, or else main. Merges are not looked at. Where that cannot be known
(no git, an unpacked archive, a shallow clone that does not reach so far) nothing is: history is judged when it is made.
"""

import re
import subprocess
from pathlib import Path

import sources

MOST_CHARACTERS = 72
SUBJECT = re.compile(r"[\w.-]+(?:/[\w.-]+)*: \S.*")
BASES = ("@{upstream}", "origin/HEAD", "origin/main", "main")


def git(root: Path, *arguments: str) -> str | None:
    """What git answers; nothing, if it fails or is not installed."""
    try:
        done = subprocess.run(["git", "-c", f"safe.directory={root}", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def own_commits(root: Path) -> list[tuple[str, str]]:
    """Hash and subject of each commit that the branch has and its base has not, newest first."""
    if not (root / ".git").exists():
        return []
    head = git(root, "rev-parse", "HEAD")
    for branch in BASES:
        base = git(root, "merge-base", "HEAD", branch)
        if base and base != head:
            listed = git(root, "log", "--no-merges", "--format=%h %s", f"{base}..HEAD") or ""
            return [tuple((line + " ").split(" ", 1)) for line in listed.splitlines()]
    return []


def flaws(subject: str) -> list[str]:
    subject = subject.rstrip(" ")
    found = [] if SUBJECT.fullmatch(subject) else ["does not begin with the folder that it changes, as \"server/net: ...\""]
    if len(subject) > MOST_CHARACTERS:
        found.append(f"has {len(subject)} characters, {MOST_CHARACTERS} are allowed")
    if ";" in subject:
        found.append("has a semicolon: one thing a commit")
    if subject.endswith("."):
        found.append("ends in a full stop")
    return found


def check(root: Path) -> list[str]:
    return [f"{commit}: {flaw}: {subject.strip()}" for commit, subject in own_commits(root) for flaw in flaws(subject)]


if __name__ == "__main__":
    sources.finish(check(sources.root_from_arguments()), "commits")
