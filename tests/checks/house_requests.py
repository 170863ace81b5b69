"""The functions, files and classes of this repository that one request passes through, by callgrind.

A function counts if it ran at least as often as there were requests, of TIMES requests sent at once. So functions that run once
for a round of requests, now and then, by a timer, or in idle time do not count. Alone: the requests are sent one by one, so
that waking up, reading the socket and writing to it count, too. A function is a file of this repository and a name without
template arguments; all instances of a template are one function, and a lambda belongs to the function around it. The daemon is
built without optimisation and without inlining: each small function that a reader meets counts.
"""

import collections
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

TIMES = 200
RECORDS = 60_000  # a tree of three levels
ALONE = ", alone"
WAIT_S = 60
REFERENCE = re.compile(r"\((\d+)\)(?: (.*))?")
OPERATORS = re.compile(r"operator(?:<=>|<<=|>>=|->\*|->|<<|>>|<=|>=|<|>)")


def key(number: int) -> bytes:
    return b"user%020d" % (number * 61803398874989484821 % 10 ** 20)


def requests() -> dict[str, tuple[bytes, bytes]]:
    """Kind -> one request, and the end of its reply."""
    first, second, third = key(RECORDS // 2), key(RECORDS // 3), key(RECORDS // 4)
    return {
        "get": (b"get %s\r\n" % first, b"END\r\n"),
        "mg": (b"mg %s v\r\n" % first, b"\r\n" + b"v" * 100 + b"\r\n"),
        "set": (b"set %s 0 0 100\r\n%s\r\n" % (first, b"v" * 100), b"STORED\r\n"),
        "scan of 10": (b"scan %s 10\r\n" % first, b"END\r\n"),
        "mb of 2": (b"mb 2\r\nms %s 1\r\na\r\nms %s 1\r\nb\r\n" % (second, third), b"HD\r\nHD\r\nHD\r\n"),
    }


def without_templates(name: str) -> str:
    """`mxkv::a::T<int>::f(char) const` becomes `mxkv::a::T::f`."""
    if "::{lambda" in name:
        name = name[:name.index("::{lambda")]
    name = OPERATORS.sub(lambda found: found[0].replace("<", "lt").replace(">", "gt"), name)
    name = name.replace("(anonymous namespace)", "anonymous").replace("operator()", "operator_call")
    kept, depth = [], 0
    for letter in name:
        depth += letter in "<("
        if depth == 0:
            kept.append(letter)
        depth -= letter in ">)"
    return "".join(kept).strip().removesuffix(" const").rsplit(" ", 1)[-1]


def class_of(name: str) -> str:
    """The class around a function: by the house's style its name begins with a capital letter. Empty for a free function."""
    parts = name.split("::")[:-1]
    last = max((at for at, part in enumerate(parts) if part[:1].isupper()), default=-1)
    return "::".join(parts[:last + 1])


def calls(text: str) -> collections.Counter:
    """(file, function) -> its number of calls, from a callgrind profile."""
    names: dict[tuple[str, str], str] = {}
    counted: collections.Counter = collections.Counter()
    called_file = called = file = ""

    def resolve(kind: str, value: str) -> str:
        found = REFERENCE.match(value)
        if not found:
            return value
        if found[2]:
            names[(kind, found[1])] = found[2]
        return names.get((kind, found[1]), "")

    for line in text.splitlines():
        word, separator, value = line.partition("=")
        if not separator:
            continue
        if word in ("fl", "fi", "fe"):
            file, called_file = resolve("file", value), ""
        elif word in ("cfi", "cfl"):
            called_file = resolve("file", value)
        elif word == "fn":
            resolve("function", value)
        elif word == "cfn":
            called = resolve("function", value)
        elif word == "calls":
            counted[(called_file or file, called)] += int(value.split()[0])
            called_file = ""
    return counted


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    """An mxkvd with one worker under callgrind, which counts only between two commands."""

    def __init__(self, program: Path, folder: Path):
        self.folder, port = folder, free_port()
        self.process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out", str(program),
             "--listen", f"127.0.0.1:{port}", "--workers", "1", "--memory", "1GiB", "--set", "stats.sample=off",
             "--set", "spin_rounds=0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.client = self.connected(port)
        self.client.settimeout(WAIT_S)

    def connected(self, port: int) -> socket.socket:
        while self.process.poll() is None:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=1)
            except OSError:
                try:
                    self.process.wait(timeout=0.2)
                except subprocess.TimeoutExpired:
                    pass
        sys.exit("house: the daemon ended at once")

    def ask(self, request: bytes, end: bytes) -> None:
        self.client.sendall(request)
        reply = b""
        while not reply.endswith(end):
            part = self.client.recv(65536)
            if not part or b"ERROR" in reply:
                sys.exit(f"house: {request[:40]!r} was answered {reply[:80]!r}")
            reply += part

    def control(self, *flags: str) -> None:
        subprocess.run(["callgrind_control", *flags, str(self.process.pid)], capture_output=True, check=True)

    def profile(self, request: bytes, end: bytes, at_once: bool) -> str:
        for _ in range(3):
            self.ask(request, end)
        before = set(self.folder.iterdir())
        self.control("--instr=on")
        self.control("--zero")
        if at_once:
            self.ask(request * TIMES + b"mn\r\n", b"MN\r\n")
        else:
            for _ in range(TIMES):
                self.ask(request, end)
        self.control("--dump")
        self.control("--instr=off")
        return "".join(file.read_text() for file in sorted(set(self.folder.iterdir()) - before))

    def stop(self) -> None:
        self.client.close()
        self.process.terminate()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def built(root: Path) -> Path:
    """A daemon without optimisation, in a build folder of its own."""
    build = root / "build" / "house"
    for command in (["cmake", "-S", str(root), "-B", str(build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                     "-DMXKV_TESTS=OFF", "-DMXKV_BENCHMARKS=OFF", "-DCMAKE_UNITY_BUILD=ON"],
                    ["cmake", "--build", str(build), "--target", "mxkvd"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"house: {' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return build / "server" / "mxkvd"


def through(text: str, root: Path) -> list[tuple[str, str]]:
    """(file, function) of ours that a profile's requests passed through, sorted."""
    often: collections.Counter = collections.Counter()
    for (file, name), count in calls(text).items():
        path = Path(file)
        if not path.is_absolute():
            continue
        path = Path(*(part for part in path.parts if part != "."))
        if path.is_relative_to(root) and not path.is_relative_to(root / "build"):
            often[(str(path.relative_to(root)), without_templates(name))] += count
    often = {(file, name): count for (file, name), count in often.items() if name.startswith("mxkv::")}
    return sorted(found for found, count in often.items() if count >= TIMES)


def measure(root: Path, daemon: Path | None) -> dict[str, list[tuple[str, str]]]:
    """Kind of request -> the functions that it passes through."""
    for program in ("valgrind", "callgrind_control"):
        if not shutil.which(program):
            sys.exit(f"house: {program} is not installed")
    program = daemon or built(root)
    with tempfile.TemporaryDirectory() as folder:
        server = Daemon(program, Path(folder))
        try:
            loads = [b"set %s 0 0 100 noreply\r\n%s\r\n" % (key(number), b"v" * 100) for number in range(RECORDS)]
            for at in range(0, RECORDS, 1000):
                server.ask(b"".join(loads[at:at + 1000]) + b"mn\r\n", b"MN\r\n")
            return {kind + ("" if at_once else ALONE): through(server.profile(*one, at_once), root)
                    for at_once in (True, False) for kind, one in requests().items()}
        finally:
            server.stop()
