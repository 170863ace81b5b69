#!/usr/bin/env python3
"""The client libraries say what the server says, and mxkv-cli's manual knows its commands.

Commands that a library sends are rows of the table; reply words, lines of watches, error sentences and the longest key are the server's.
"""

import re
from pathlib import Path

import commands
import sources

CODES = "protocol/reply_codes.hpp"
SENTENCES = "protocol/reply.hpp"
PUSHED = ("server/feed/watch_lines.cpp", "server/net/session/watches.cpp")
REFUSALS = "server/store/point/refused_request.cpp"
REQUESTS = "protocol/request.hpp"
LIBRARIES = {"protocol/clients/go/": ".go", "protocol/clients/java/src/main/": ".java",
             "protocol/clients/python/mxkv/": ".py", "protocol/clients/typescript/src/": ".ts"}
CLI_COMMANDS = "protocol/clients/cli/commands/command.cpp"
CLI_MANUAL = "protocol/clients/cli/mxkv-cli.1"

# What every library offers; if one is not found, the patterns below no longer fit.
ALWAYS = {"mg", "ms", "md", "ma", "mb", "mr", "mc", "mx", "mt"}
# A literal that begins a line: a word, then an argument, the end of the line or of the literal.
_LINE = re.compile(r'(["`])([a-z_]+)(?:%| (?=[%\\]|\$\{|\1|[a-z]+ 0 0 )|\\r)')
_WHOLE = re.compile(r'\b(?:of|lineOf|word_line|wordRequest)\(b?"([a-z_]+)[" ]')
_CODE = re.compile(r'"([A-Z]{2})"')
_SENTENCE = re.compile(r'"(?:(?:CLIENT|SERVER)_ERROR:? )([^"\\]*)')
_KNOWN = re.compile(r'"(?:CLIENT|SERVER)_ERROR ([^"]+)"|\btext\.(?:equals|startsWith)\("([^"]+)"\)|^ +b"([a-z][^"]*)": [A-Z]\w+,', re.M)
_LONGEST_KEY = re.compile(r"\b(?:longest_?key|LONGEST)\s*=\s*(\d+)", re.I)


def check_library(folder: str, texts: dict[str, str], words: set[str], codes: set[str], sentences: list[str],
                  longest: str) -> list[str]:
    found = []
    sent, keys = set(), set()
    for name, text in texts.items():
        used = {match.group(2) for match in _LINE.finditer(text)} | set(_WHOLE.findall(text))
        if "errors." not in name:
            sent |= used
            found += [f"{name}: sends {word}, which is no row of {commands.ROWS}" for word in sorted(used - words)]
        found += [f"{name}: expects the reply {code}, which the server never sends" for code in sorted(set(_CODE.findall(text)) - codes)]
        found += [f"{name}: knows the error '{known}', which no sentence of {SENTENCES} begins with"
                  for known in ("".join(groups) for groups in _KNOWN.findall(text))
                  if not any(sentence.startswith(known) for sentence in sentences)]
        keys |= set(_LONGEST_KEY.findall(text))
    if keys != {longest}:
        found.append(f"{folder}: its longest key is {', '.join(sorted(keys)) or 'not found'}, not {longest} bytes")
    return found + [f"{folder}: no line of {word} was found" for word in sorted(ALWAYS - sent)]


def check_manual(root: Path) -> list[str]:
    manual = (root / CLI_MANUAL).read_text().replace("\\-", "-")
    names = re.findall(r'^ +Command\{"([^"]+)"', (root / CLI_COMMANDS).read_text(), re.M)
    if not names:
        return [f"{CLI_COMMANDS}: no commands were found"]
    described = manual[manual.find(".SH COMMANDS"):]
    return [f"{CLI_MANUAL}: does not describe {name}" for name in names
            if not re.search(rf"(?<![\w-]){name}(?![\w-])", described)]


def check(root: Path) -> list[str]:
    words = {row["word"] for row in commands.rows((root / commands.ROWS).read_text())}
    replies = (root / SENTENCES).read_text()
    codes = set(_CODE.findall((root / CODES).read_text())) | set(re.findall(r'"([A-Z]{2})\\r', replies))
    codes |= {code for name in PUSHED for code in re.findall(r'"(W[A-Z])[ "]', (root / name).read_text())}
    sentences = _SENTENCE.findall(replies + (root / REFUSALS).read_text())
    longest = re.search(r"\bkMaxKeyBytes = (\d+);", (root / REQUESTS).read_text())
    if longest is None:
        return [f"{REQUESTS}: kMaxKeyBytes was not found"]
    found = check_manual(root)
    for folder, ending in LIBRARIES.items():
        texts = {name: sources.read(root, name) for name in sources.all_files(root)
                 if name.startswith(folder) and name.endswith(ending) and "test" not in name}
        found += check_library(folder, texts, words, codes, sentences, longest.group(1))
    return found


if __name__ == "__main__":
    sources.finish(check(sources.root_from_arguments()), "client words")
