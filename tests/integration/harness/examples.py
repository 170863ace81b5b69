"""Examples in a document: blocks that open with ```mxkv, of requests and replies. Reads them and compares them with a server.

    > text     a request line; CR LF is added; adjacent lines are sent at once     2> text, 2< text   on a second connection
    < text     a reply line; <name> matches any word, which a later request sends in place of <name>
    < ...      any number of lines       ! closed     the server closes the connection
"""

import dataclasses
import re
from pathlib import Path

from .connection import Closed, Connection

_FENCE = re.compile(r"^```mxkv(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"(2?[<>]|!)(?: (.*))?$")
_NAME = re.compile(r"<([a-z][a-z-]*)>")
SKIP = "..."


@dataclasses.dataclass(frozen=True)
class Line:
    number: int   # line number in the document
    sign: str     # > < 2> 2< !
    text: str


@dataclasses.dataclass(frozen=True)
class Example:
    kind: str     # the word behind ```mxkv: the option that the server needs; empty: none
    lines: tuple

    def commands(self) -> set:
        """First words of all lines, sent and replied, including lines of data blocks."""
        return {line.text.split(" ")[0] for line in self.lines if line.sign.endswith(">")}


def read(document: Path) -> list:
    text = document.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        first = text.count("\n", 0, match.start(2)) + 1
        lines = []
        for number, line in enumerate(match[2].splitlines(), first):
            parts = _LINE.match(line)
            if not parts:
                raise AssertionError(f"{document.name}:{number}: neither sent nor answered: {line!r}")
            lines.append(Line(number, parts[1], parts[2] or ""))
        found.append(Example(match[1] or "", tuple(lines)))
    return found


class Run:
    """One example against one server; `connect` gives a new connection."""

    def __init__(self, connect):
        self._connect = connect
        self._connections: dict[str, Connection] = {}
        self._names: dict[str, str] = {}

    def play(self, example: Example) -> None:
        """Raises AssertionError if a reply differs from the document."""
        skipping = False
        lines = list(example.lines)
        for at, line in enumerate(lines):
            who = line.sign[:-1]
            if line.sign.endswith(">"):
                if at == 0 or lines[at - 1].sign != line.sign:
                    self._send(who, lines[at:])
            elif line.sign == "!":
                self._expect_end(line)
            elif line.text == SKIP:
                skipping = True
            else:
                self._expect(who, line, skipping)
                skipping = False
        self._expect_no_more(lines[-1])

    def _to(self, who: str) -> Connection:
        if who not in self._connections:
            self._connections[who] = self._connect()
        return self._connections[who]

    def _send(self, who: str, lines: list) -> None:
        text = ""
        for line in lines:
            if line.sign != who + ">":
                break
            text += _NAME.sub(lambda name: self._names.get(name[1], name[0]), line.text) + "\r\n"
        self._to(who).send(text.encode("latin-1"))

    def _line(self, who: str) -> str:
        line = b""
        while not line.endswith(b"\n"):
            line += self._to(who).exactly(1)
        return line.rstrip(b"\r\n").decode("latin-1")

    def _expect(self, who: str, line: Line, skipping: bool) -> None:
        pattern, names, end = "", [], 0
        for name in _NAME.finditer(line.text):
            pattern += re.escape(line.text[end:name.start()]) + r"(\S+)"
            names.append(name[1])
            end = name.end()
        pattern += re.escape(line.text[end:])
        while True:
            try:
                answer = self._line(who)
            except (Closed, TimeoutError) as error:
                raise AssertionError(f"line {line.number}: {line.text!r} does not come: {error}") from None
            if found := re.fullmatch(pattern, answer):
                self._names.update(zip(names, found.groups()))
                return
            if not skipping:
                raise AssertionError(f"line {line.number}: {answer!r} is answered where {line.text!r} stands")

    def _expect_end(self, line: Line) -> None:
        left = self._to("").rest()
        if line.text != "closed" or left:
            raise AssertionError(f"line {line.number}: {left[:200]!r} is answered where the end stands")

    def _expect_no_more(self, last: Line) -> None:
        if last.sign == "!" or any(sign for sign in self._connections):
            return  # a watcher's stream has no end
        connection = self._to("")
        connection.send(b"mn\r\n")
        if (answer := connection.line()) != b"MN":
            raise AssertionError(f"behind line {last.number}: {answer!r} is answered, too")
