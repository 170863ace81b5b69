"""The programs of other projects: named by an option or found on the PATH, and asked for their version.

Not done: starting them as servers (peers.py).
"""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

ANSWER_TIMEOUT_S = 20


@dataclasses.dataclass(frozen=True)
class Kind:
    """How a program of this kind is found, and how it answers when it is asked for its version."""

    program: str  # its name on the PATH
    question: str
    answer: re.Pattern  # its first group is the program's own name, the second its version
    example: str


# Valkey and other servers of redis's protocol answer as redis does, each by its own name.
KINDS = {
    "redis": Kind("redis-server", "--version", re.compile(r"(\w+) server v=(\d[\w.-]*)", re.IGNORECASE),
                  "redis-server or valkey-server"),
    "memcached": Kind("memcached", "-V", re.compile(r"(memcached) (\d[\w.-]*)"), "memcached"),
}


class BadProgram(Exception):
    """A path that a user gave is no such program; the text says so in one line, and what to do."""


def add_arguments(parser):
    """--redis and --memcached."""
    for name, kind in KINDS.items():
        parser.add_argument(f"--{name}", type=pathlib.Path, metavar="PATH",
                            help=f"this {kind.example} instead of the one on the PATH, such as one built from its sources")


def version_of(name, path):
    """The program's own name and its version, such as "valkey 8.0.1". Raises BadProgram."""
    kind = KINDS[name]
    if not path.is_file() or not os.access(path, os.X_OK):
        raise BadProgram(f"--{name}: '{path}' is not a program that can be run: give the path of {kind.example}")
    try:
        done = subprocess.run([path, kind.question], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=ANSWER_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        why = "no answer in time" if isinstance(error, subprocess.TimeoutExpired) else error.strerror
        raise BadProgram(f"--{name}: '{path} {kind.question}' failed ({why}): give the path of {kind.example}") from error
    found = kind.answer.search(done.stdout)
    if done.returncode != 0 or not found:
        first = next(iter(done.stdout.splitlines()), "")
        raise BadProgram(f"--{name}: '{path} {kind.question}' ended with {done.returncode} and said '{first[:80]}', not its "
                         f"version: give the path of {kind.example}")
    return f"{found[1].lower()} {found[2]}"


def find(given, names):
    """`given`: name -> path or None. Returns name -> (path, version) of these; a program that is not installed is left out."""
    found = {}
    for name in names:
        if path := given[name] or shutil.which(KINDS[name].program):
            path = pathlib.Path(path).absolute()
            found[name] = (path, version_of(name, path))
    return found
