#!/usr/bin/env python3
"""Documents that are written by a command are what the command writes now: the table of the house, within its tolerance,
and the pictures of the architecture pages. The error says which command to run."""

import importlib.util
import sys
from pathlib import Path

sys.dont_write_bytecode = True

import house_document  # noqa: E402
import house_sources  # noqa: E402
import sources  # noqa: E402

DRAW = "server/architecture/draw.py"


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


def check(root: Path) -> list[str]:
    return check_house(root) + check_pictures(root)


if __name__ == "__main__":
    sources.finish(check(sources.root_from_arguments()), "documents")
