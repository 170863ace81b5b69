#!/usr/bin/env python3
"""What comments cite exists: tags of papers in runtime/PAPERS.md, rules of the protocol, headings of documents. So do links
of documents; the functions, files and folders that the architecture pages and CONTRIBUTING name; and the types in
GLOSSARY.md's last column.

A tag is [Mx 4.2], [LAS 4.1, 4.2], [To 4.2 to 4.5], [MK figs. 3b, 4] and the like; in tables also [Mx] 4.2, figure 1. Text
behind a colon or a quotation mark is not part of it. A rule is "protocol rule 13", inside protocol/ also "rule 13". A heading
is cited as: server/README.md, "The process".
"""

import re
from pathlib import Path

import sources

PAPERS = "runtime/PAPERS.md"
PROTOCOL = "protocol/PROTOCOL.md"
# These name functions, files and folders for readers who are new to the code.
GUIDES = re.compile(r"server/ARCHITECTURE\.md|server/architecture/\w+\.md|\.github/(?:CONTRIBUTING|STYLE)\.md|"
                    r"(?:runtime|index|protocol|config|server)/(?:.*/)?README\.md")
GLOSSARY = "server/GLOSSARY.md"
SUFFIXES = (".hpp", ".cpp", ".py", ".md", ".txt", ".json", ".yaml", ".cmake")
FAMILIES = ("Mx", "MK", "LAS", "To")

TAG = re.compile(r"\[(" + "|".join(FAMILIES) + r")(?: ([^\]]*))?\]((?: \d[\d.]*| fig(?:ure|\.) \d+\w?)"
                 r"(?:, (?:\d[\d.]*|fig(?:ure|\.) \d+\w?))*)?")
PART = re.compile(r"(?P<kind>figures?|figs?\.|rules?|algorithms?)?\s*(?P<first>\d+(?:\.\d+)*)[a-z]?"
                  r"(?:(?:-| to )(?P<last>\d+(?:\.\d+)*)[a-z]?)?")
KINDS = {"f": "fig. ", "r": "rule ", "a": "algorithm "}
PLAN = re.compile(r"\b[Aa]rchitecture,?(?: sections?)? \d|\bprotocol\.md\b")
RULE = re.compile(r"\b(protocol )?rules? (\d+)(?:(?:-|, | to )(\d+))?")
LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)")
FUNCTION = re.compile(r"`(?:([A-Za-z_]\w*)::)?([a-z_]\w*)\(\)`|`([A-Z]\w*)::([a-z_]\w*)`")
PATH = re.compile(r"`((?:[a-z][\w.-]*/)+(?:[\w.-]+)?)(?: [^`]*)?`")
HEADING = re.compile(r"\b([\w/.]+\.md), \"([^\"\n]+)\"")


def parts(text: str) -> set[str]:
    """`4.1, figs. 5-7, 9` -> {4.1, fig. 5, fig. 6, fig. 7, fig. 9}: a kind holds until another one, a section has none."""
    text = re.split(r'[:"]', text)[0]
    found, kind = set(), ""
    for match in PART.finditer(text):
        if match["kind"]:
            kind = KINDS[match["kind"][0]]
        first, last = match["first"], match["last"] or match["first"]
        kind = "" if "." in first else kind
        before, _, low = first.rpartition(".")
        high = last.rpartition(".")[2]
        found |= {f"{kind}{before}{'.' if before else ''}{number}" for number in range(int(low), int(high) + 1)}
    return found


def cited(text: str) -> set[str]:
    """All tags in a text, one part each: {Mx, Mx 4.1, LAS fig. 5}."""
    found = set()
    for family, inside, behind in TAG.findall(text):
        found |= {f"{family} {part}" for part in parts(inside) | parts(behind)} or {family}
    return found


def explained(papers: str) -> set[str]:
    """The tags in the first cells of the tables, which explain them."""
    return {tag for line in papers.splitlines() if line.startswith("| [") for tag in cited(line.split("|")[1])}


def headings(text: str) -> set[str]:
    return {line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")}


def rules(text: str) -> set[int]:
    return {int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)}


def check_line(name: str, line: str, known: set[str], protocol: set[int]) -> list[str]:
    found = [f"cites [{tag}], which {PAPERS} does not explain" for tag in sorted(cited(line) - known)]
    if match := PLAN.search(line):
        found.append(f"cites what is not in the repository: {match.group()}")
    for of_protocol, first, last in RULE.findall(line):
        if of_protocol or name.startswith(("protocol/", "tests/unit/protocol/")):
            numbers = {int(first), int(last or first)}
            found += [f"cites rule {number}, which {PROTOCOL} does not have" for number in sorted(numbers - protocol)]
    return found


def broken_links(root: Path, name: str, text: str) -> list[str]:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return [f"{name}: links to {link}, which does not exist" for link in LINK.findall(text)
            if not (root / name).parent.joinpath(link).exists()]


def broken_paths(name: str, text: str, existing: set[str]) -> list[str]:
    """Files and folders in backquotes; of a command line the first word. Build folders may lack.

    A guide names them from the root. A README may also name them from its own folder, and without their ending.
    """
    readme = name.endswith("README.md")
    bases = ("", f"{Path(name).parent}/", "server/") if readme else ("",)
    endings = ("", ".hpp", ".cpp") if readme else ("",)
    return [f"{name}: names {path}, which does not exist" for path in PATH.findall(text) if not path.startswith("build/")
            and not any(base + path.rstrip("/") + ending in existing for base in bases for ending in endings)]


def broken_names(root: Path, names: list[str]) -> list[str]:
    """Functions, files and types that do not exist and that the guides and the glossary name."""
    texts = [sources.read(root, name) for name in names if name.endswith(sources.CPP) and not name.startswith("tests/")]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    called = {word for text in texts for word in re.findall(r"(\w+)\(", text)}
    existing = set(names) | {str(folder) for name in names for folder in Path(name).parents}
    found = []
    for page in filter(GUIDES.fullmatch, names):
        text = sources.read(root, page)
        found += broken_paths(page, text, existing)
        for around, name, other_around, other in FUNCTION.findall(text):
            if (name or other) not in (called if name else words) or (around or other_around or name or other) not in words:
                found.append(f"{page}: names {around or other_around}::{name or other}(), which no source has")
    if GLOSSARY in names:
        for line in sources.read(root, GLOSSARY).splitlines():
            cells = line.split("|")
            types = re.findall(r"`(\w+)`", cells[-2]) if len(cells) > 3 else []
            found += [f"{GLOSSARY}: names the type {name}, which no source has" for name in types if name not in words]
    return found


def check(root: Path) -> list[str]:
    names = sources.all_files(root)
    known = explained(sources.read(root, PAPERS)) if PAPERS in names else set()
    protocol = rules(sources.read(root, PROTOCOL)) if PROTOCOL in names else set()
    found = broken_names(root, names)
    for name in names:
        if name.endswith(".md"):
            found += broken_links(root, name, sources.read(root, name))
        if not name.endswith(SUFFIXES) or name.startswith("tests/checks/") or name in (PAPERS, PROTOCOL):
            continue
        text = sources.read(root, name)
        for number, line in enumerate(text.splitlines(), 1):
            found += [f"{name}:{number}: {wrong}" for wrong in check_line(name, line, known, protocol)]
        for document, heading in HEADING.findall(text):
            if document not in names or heading not in headings(sources.read(root, document)):
                found.append(f"{name}: cites {document}, \"{heading}\", which does not exist")
    return found


if __name__ == "__main__":
    sources.finish(check(sources.root_from_arguments()), "citations")
