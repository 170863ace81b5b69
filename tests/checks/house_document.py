"""The tables of the house as text, in the page that shows them, and whether that page is still true.

Each commit moves some figure a little. So the page may be off by a tenth, or by five where a tenth is less, and need not
be written again for each commit.
"""

import re

import house_requests
import house_sources

PAGE = "server/architecture/house.md"
JUDGED = ("runtime", "index", "server/store")  # these have invariants of tasks and trees
MOST_OFF = 0.1
ALWAYS_ALLOWED = 5
TABLE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COLUMNS = ("files", "lines", "classes", "arrows", "up", "circles", "asserts")


def folders_table(folders: list[house_sources.Folder]) -> str:
    lines = [f"{'folder':24}{'files':>7}{'lines':>8}{'classes':>9}{'arrows':>8}{'up':>5}{'circles':>9}{'asserts':>9}{'/1000':>7}"]
    for one in folders:
        lines.append(f"{'  ' * one.name.count('/') + one.name.split('/')[-1] + '/':24}{one.files:7}{one.lines:8}{one.classes:9}"
                     f"{one.arrows:8}{one.up:5}{one.in_circles:9}{one.assertions:9}{one.assertions_a_thousand_lines():7.1f}")
    product = [one for one in folders if "/" not in one.name]
    judged = [one for one in folders if one.name in JUDGED]
    asserts_per_thousand = 1000 * sum(one.assertions for one in judged) / max(sum(one.lines for one in judged), 1)
    return "\n".join(lines) + (f"\n\nthe product: {sum(one.files for one in product)} files, {sum(one.lines for one in product)} lines"
                               f"\nassertions a thousand lines of {', '.join(JUDGED)}: {asserts_per_thousand:.1f}\n")


def requests_table(measured: dict[str, list[tuple[str, str]]]) -> str:
    lines = [f"{'a request':24}{'files':>7}{'classes':>9}{'functions':>11}"]
    for kind, found in measured.items():
        classes = {house_requests.class_of(name) for _, name in found} - {""}
        lines.append(f"{kind:24}{len({file for file, _ in found}):7}{len(classes):9}{len(found):11}")
    return "\n".join(lines) + "\n"


def with_tables(page: str, tables: list[str]) -> str:
    """The page with its first tables replaced; those without a new one stay."""
    waiting = list(tables)
    return TABLE.sub(lambda found: f"```\n{waiting.pop(0)}```" if waiting else found[0], page)


def rows(table: str) -> dict[str, list[int]]:
    """Folder -> its figures, in the order of COLUMNS. A folder is named by its path."""
    found: dict[str, list[int]] = {}
    path: list[str] = []
    for line in table.splitlines():
        match = re.match(r"( *)(\w+)/ +([\d ]+?)(?: +[\d.]+)?$", line)
        if match:
            path[len(match[1]) // 2:] = [match[2]]
            found["/".join(path)] = [int(word) for word in match[3].split()][:len(COLUMNS)]
    return found


def differences(page: str, folders: list[house_sources.Folder]) -> list[str]:
    """What the page says of the folders and is not so, beyond the tolerance."""
    table = TABLE.search(page)
    told, true = rows(table[1] if table else ""), rows(folders_table(folders))
    found = [f"{PAGE}: has no row for {name}/" for name in true if name not in told]
    found += [f"{PAGE}: has a row for {name}/, which does not exist" for name in told if name not in true]
    for name in sorted(told.keys() & true.keys()):
        for column, before, now in zip(COLUMNS, told[name], true[name]):
            if abs(before - now) > max(ALWAYS_ALLOWED, MOST_OFF * now):
                found.append(f"{PAGE}: says that {name}/ has {before} {column}, it has {now}")
    return found
