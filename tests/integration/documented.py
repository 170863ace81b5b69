"""The shell commands of the documents, taken out of their code blocks, and those that cannot run in a test, with the reason.

A block is of the shell if it is fenced as ```sh, or if a line of it begins with "$ ": then these lines are commands, and the
others are their output. Indented lines that begin with a program of ours or of PROGRAMS are commands, too.
"""

import dataclasses
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NOT_OURS = ("build", "node_modules", ".git")

# Words that begin a command, besides paths of the repository and "mxkv..".
PROGRAMS = ("apt", "apt-get", "bash", "cd", "cmake", "cpack", "ctest", "curl", "docker", "git", "go", "helm", "java", "kubectl", "make",
            "mvn", "nc", "ninja", "npm", "nutcracker", "pip", "pip3", "podman", "printf", "python3", "sudo", "systemctl")

# Tests do not run commands that begin so. Each entry is in some document.
LEFT_OUT = {
    "./server/quickstart": "installs packages and builds; tests/checks/test_quickstart.py reads it",
    "./tests/run": "is the tests",
    "apt-get install": "installs a package; tests/package does so",
    "bench/figures/run": "measures for an hour; test_figures runs it with --quick",
    "bench/index/run": "measures for minutes; test_index_bench runs it with --quick",
    "bench/server/": "measures for minutes; test_bench_server and test_bench_daemons run these",
    "cd tests/differential": "is the tests",
    "cd tests/integration": "is the tests",
    "cmake --preset release": "is the build",
    "ctest ": "is the tests",
    "docker ": "needs Docker; tests/package builds and runs the image",
    "go mod edit": "needs Go and a module of one's own; tests/clients/test_mxkv_go.py has one",
    "helm ": "needs Kubernetes; tests/package renders the chart",
    "java ": "needs what Maven builds; tests/clients/test_mxkv_ycsb.py runs it",
    "mvn ": "needs Maven and its registry; tests/clients/test_mxkv_java.py and test_mxkv_ycsb.py run these",
    "server/setup-packages": "installs packages",
    "tests/corpus/compare": "needs an older build",
    "cd protocol/clients/ycsb/target": "needs what Maven builds",
    "e=\"-p workload=": "is for java, behind it",
    "for port in 11211 11212 11213": "needs twemproxy; tests/clients/test_twemproxy.py runs all three",
    "mxkv-cli --server NODE import": "needs a backup of a cluster; tests/cluster/test_backup.py imports one",
    "mxkvd cluster backup": "needs brokers; tests/cluster/test_backup.py runs it",
    "mxkvd cluster init": "needs brokers; tests/cluster has them",
    "nutcracker": "needs twemproxy",
    "printf 'set a 0 0 1\\r\\nA\\r\\nset b 0 0 1\\r\\nB\\r\\nget a b": "needs twemproxy",
}


@dataclasses.dataclass
class Command:
    document: str
    number: int           # line number in the document
    text: str             # with its continuation lines, without "$ "
    output: list

    def place(self) -> str:
        return f"{self.document}:{self.number}: {self.text.splitlines()[0]}"

    def left_out(self) -> str:
        """The entry of LEFT_OUT with which the command begins; empty: tests run it."""
        return next((start for start in LEFT_OUT if self.text.startswith(start)), "")


def documents() -> list:
    found = [path for path in ROOT.rglob("README.md") if not set(path.relative_to(ROOT).parts) & set(_NOT_OURS)]
    guides = (ROOT / "server" / "guides").glob("*.md")
    return sorted({*found, *guides}) + [ROOT / "server" / "OPERATING.md"]


def is_command(line: str) -> bool:
    """Whether a line outside of shell blocks looks like a command."""
    words = line.split()
    if not words or words[0].endswith(":"):
        return False
    first = words[0].removeprefix("./")
    is_ours = "/" in words[0] and not first.startswith("/") and (ROOT / first).is_file()
    return is_ours or first in PROGRAMS and len(words) > 1 or bool(re.fullmatch(r"mxkvd|mxkv-cli|mxkv-ycsb", first))


def is_whole(text: str) -> bool:
    return not text.endswith("\\") and subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False).returncode == 0


def _of_shell(document: str, lines: list, first: int) -> list:
    prompts = any(line.startswith("$ ") for line in lines)
    found, at = [], 0
    while at < len(lines):
        line = lines[at]
        number, at = first + at, at + 1
        if prompts and not line.startswith("$ "):
            if found:
                found[-1].output.append(line)
            continue
        text = line.removeprefix("$ ") if prompts else line
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        while not is_whole(text) and at < len(lines):
            text, at = text + "\n" + lines[at], at + 1
        found.append(Command(document, number, text, []))
    return found


def blocks(path: Path) -> list:
    """Lists of commands, one a block. Raises AssertionError if a block that is not marked as the shell's holds a command."""
    document = str(path.relative_to(ROOT))
    found, fenced, language, first = [], None, "", 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            if fenced is None:
                fenced, language, first = [], line[3:].strip(), number + 1
                continue
            if language == "sh" or language == "" and any(each.startswith("$ ") for each in fenced):
                found.append(_of_shell(document, fenced, first))
            elif language == "":
                for at, each in enumerate(fenced):
                    if is_command(each):
                        raise AssertionError(f"{document}:{first + at}: {each!r} looks like a command: mark its block with ```sh")
            fenced = None
        elif fenced is not None:
            fenced.append(line)
        elif line.startswith("    ") and is_command(line):
            found.append([Command(document, number, line.strip(), [])])
    return [block for block in found if block]
