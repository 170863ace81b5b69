#!/usr/bin/env python3
"""Documents that are written by a command are what the command writes now: the table of the house, within its tolerance,
and the pictures of the architecture pages. The error says which command to run. Where a document tells the order of the
folders, it is the order that include_rules.py checks."""

import importlib.util
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True

import house_document  # noqa: E402
import house_sources  # noqa: E402
import include_rules  # noqa: E402
import sources  # noqa: E402

DRAW = "server/architecture/draw.py"
# How a chain of folders begins -> the ranks that it tells.
ORDERS = {"base": include_rules.RANKS, "reply, commit": include_rules.SERVER_RANKS}


def check_house(root: Path) -> list[str]:
    if not (root / house_document.PAGE).is_file():
        return []
    found = house_document.differences(sources.read(root, house_document.PAGE), house_sources.figures(root))
    return found + [f"{house_document.PAGE}: run tests/checks/house --write"] if found else []


def check_pictures(root: Path) -> list[str]:
    if not (root / DRAW).is_file():
        return []
    spec = importlib.util.spec_from_file_location("draw", root / DRAW)
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    files = {f"server/architecture/{name}.svg": picture().svg() for name, picture in draw.PICTURES.items()}
    return [f"{name}: is not what {DRAW} draws: run that" for name, text in files.items()
            if not (root / name).is_file() or sources.read(root, name) != text]


def check_orders(root: Path) -> list[str]:
    found = []
    for name in sources.all_files(root):
        if not name.endswith((".md", "CMakeLists.txt")):
            continue
        for first, ranks in ORDERS.items():
            true = " < ".join(", ".join(rank) for rank in ranks)
            for told in re.findall(rf"(?<![\w,] )\b{first} < [\w,{{}}]+(?: [\w,{{}}<]+)*", sources.read(root, name)):
                plain = told.replace("{", "").replace("}", "").rstrip(",")
                if not re.fullmatch(re.escape(true) + r"(?:[ ,].*)?", plain):
                    found.append(f"{name}: tells the order of folders as \"{told}\", include_rules.py has \"{true}\"")
    return found


def check(root: Path) -> list[str]:
    return check_house(root) + check_pictures(root) + check_orders(root)


if __name__ == "__main__":
    sources.finish(check(sources.root_from_arguments()), "documents")
