"""Runs mxkv-ycsb, and reads its report."""

import dataclasses
import subprocess

from . import environment
from .environment import patience


@dataclasses.dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str

    def figure(self, section: str, name: str) -> float:
        """The value of a line "[section], name, value"; 0 if the line is missing, as for an operation that did not occur."""
        for line in self.out.splitlines():
            head, _, value = line.rpartition(", ")
            if head == f"[{section}], {name}":
                return float(value)
        return 0

    def ok(self, section: str) -> int:
        return int(self.figure(section, "Return=OK"))


def run_load_client(*arguments: object) -> Run:
    command = [environment.MXKV_YCSB, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience(120), check=False)
    return Run(done.returncode, done.stdout, done.stderr)
