#!/usr/bin/env python3
"""The rules for includes: dependencies between folders, and one door a target to each big library.

Inside runtime/ the folders are layers; a file includes its own layer or lower ones. Layers of one rank may
use each other in one direction only. The wings of server/store and the rooms of server/net have ranks, too, and the store's
files no circles. Reads the text, not the compiler's view, so it also sees code that is compiled out.
"""

import re
from collections import defaultdict
from pathlib import Path

import sources

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)

RANKS = [("base",), ("topology",), ("memory", "epoch"), ("task", "resource"), ("synchronization",), ("pool",),
         ("scheduler",), ("hierarchy",)]
RANK = {layer: rank for rank, layers in enumerate(RANKS) for layer in layers}

# The same for the folders of server/; the two lowest do not include each other.
SERVER_RANKS = [("reply", "commit"), ("journal",), ("store",), ("durability",), ("feed",), ("cluster",), ("net", "stats"), ("admin",),
                ("daemon",)]
SERVER_RANK = {part: rank for rank, parts in enumerate(SERVER_RANKS) for part in parts}

# The same for what stands directly in a folder of many wings: sub-folders, and files without their ending. Wings of one
# rank do not include each other.
WINGS = {
    "server/store": [("happenings", "item"), ("core", "watch"), ("locks",), ("upkeep",), ("point",), ("batch", "range"),
                     ("session_store",), ("store",)],
    "server/net": [("observe", "tls"), ("users", "sockets"), ("session", "peers"), ("connection",), ("worker",)],
}
# Where no include leads around a corner from file to file either, a header and its source taken as one.
WITHOUT_CIRCLES = "server/store"
WING_RANK = {(folder, wing): rank for folder, ranks in WINGS.items() for rank, wings in enumerate(ranks) for wing in wings}

# Folder -> prefixes of files that it may include besides its own.
MAY_SEE = {
    "runtime": (),
    "index": ("runtime/",),
    "protocol": ("runtime/base/",),
    "config": ("runtime/base/", "runtime/topology/"),
    "server": ("runtime/", "index/", "protocol/", "config/"),
    "bench": ("runtime/", "index/", "protocol/", "config/", "server/"),
    "tests": ("runtime/", "index/", "protocol/", "config/", "server/", "bench/"),
}

# Folders that are targets of their own, with doors of their own.
TARGETS = ("server/admin", "server/daemon")

# Library -> how its includes start, and the folders that may use it (tests may use all).
LIBRARIES = {
    "hwloc": (("hwloc.h", "hwloc/"), ("runtime",)),
    "numa": (("numa.h", "numaif.h"), ("runtime",)),
    "yaml-cpp": (("yaml-cpp/",), ("config",)),
    "boost/asio": (("boost/asio",), ("server", "bench")),
    "boost/beast": (("boost/beast",), ("server",)),
    "spdlog": (("spdlog/",), ("server",)),
    "xxhash": (("xxhash.h",), ("server", "protocol")),
    "libedit": (("histedit.h",), ("protocol",)),
    "openssl": (("openssl/",), ("server", "bench", "protocol")),
}


def layer_rank(path: str) -> float:
    """Rank of a file in runtime/: its folder's. All may include the options; other files at the top may include all."""
    parts = path.split("/")
    if len(parts) == 2:
        return 0.5 if parts[1] == "options.hpp" else len(RANKS)
    return RANK.get(parts[1], -1)


def runtime_violation(name: str, target: str) -> str:
    if name.split("/")[1] == target.split("/")[1]:
        return ""
    own, other = layer_rank(name), layer_rank(target)
    if own < 0 or other < 0:
        return f"a folder of runtime/ that has no layer ({name} includes {target})"
    return "" if other <= own else f"a higher layer of runtime/ ({target})"


def wing_of(folder: str, name: str) -> str:
    """The wing of `folder` that has the file: a sub-folder, or the file without its ending."""
    first = name[len(folder) + 1:].split("/")[0]
    return first.rsplit(".", 1)[0]


def wing_violation(name: str, target: str) -> str:
    """Why a file of a wing must not include `target`, which is in the same folder of wings; empty if it may."""
    folder = next((one for one in WINGS if name.startswith(one + "/") and target.startswith(one + "/")), None)
    if folder is None:
        return ""
    wing, other = wing_of(folder, name), wing_of(folder, target)
    if wing == other:
        return ""
    own_rank, other_rank = WING_RANK.get((folder, wing)), WING_RANK.get((folder, other))
    if own_rank is None or other_rank is None:
        return f"a wing of {folder}/ that has no rank ({name} includes {target})"
    return "" if other_rank < own_rank else f"a higher wing of {folder}/ ({target})"


def circles(includes: dict[str, set[str]]) -> list[list[str]]:
    """The files, headers and sources as one, that include each other around a corner: one list a circle."""
    found: list[list[str]] = []
    beyond = {one: reached_from(one, includes) for one in includes}
    for one in sorted(includes):
        if one in beyond[one] and not any(one in circle for circle in found):
            found.append(sorted(other for other in beyond[one] if one in beyond.get(other, ())))
    return found


def reached_from(start: str, includes: dict[str, set[str]]) -> set[str]:
    """All that some way of includes leads to from `start`."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for end in includes.get(waiting.pop(), ()):
            if end not in seen:
                seen.add(end)
                waiting.append(end)
    return seen


def server_violation(name: str, target: str) -> str:
    if wrong := wing_violation(name, target):
        return wrong
    own, other = (SERVER_RANK.get(path.split("/")[1]) for path in (name, target))
    if own is None or other is None or name.split("/")[1] == target.split("/")[1]:
        return ""
    return f"a higher part of server/ ({target})" if other > own or own == 0 else ""


def protocol_violation(name: str, target: str) -> str:
    """The protocol is pure: it includes no client."""
    clients = "protocol/clients/"
    return f"a client ({target})" if target.startswith(clients) and not name.startswith(clients) else ""


def violation(name: str, target: str) -> str:
    """Why `name` must not include `target`, both relative to the root; empty if it may."""
    folder, other = name.split("/")[0], target.split("/")[0]
    if folder == other:
        rule = {"runtime": runtime_violation, "server": server_violation, "protocol": protocol_violation}.get(folder)
        return rule(name, target) if rule else ""
    if other not in MAY_SEE:
        return f"\"{target}\", which is not a path from the root of the repository"
    if folder == "config" and target.endswith("options.hpp"):
        return ""
    return "" if target.startswith(MAY_SEE[folder]) and MAY_SEE[folder] else f"{other}/ ({target})"


def library_of(header: str) -> str:
    for library, (starts, _) in LIBRARIES.items():
        if header.startswith(starts):
            return library
    return ""


def check(root: Path) -> list[str]:
    found = []
    doors = defaultdict(set)         # (folder, library) -> files without suffix
    layer_uses = defaultdict(set)    # (layer, layer) of one rank -> places
    wing_files = defaultdict(set)    # file of a folder of wings -> files there that it includes, all without their endings
    for name in sources.cpp_files(root):
        text = sources.read(root, name)
        folder = name.split("/")[0]
        for match in INCLUDE.finditer(text):
            quote, target = match.groups()
            place = f"{name}:{text.count(chr(10), 0, match.start(2)) + 1}"
            if quote == '"':
                wrong = violation(name, target)
                if wrong:
                    found.append(f"{place}: includes {wrong}")
                a, b = (name.split("/") + ["", ""])[1], (target.split("/") + ["", ""])[1]
                if folder == "runtime" and a != b and a in RANK and RANK.get(a) == RANK.get(b):
                    layer_uses[(a, b)].add(place)
                if all(path.startswith(WITHOUT_CIRCLES + "/") for path in (name, target)):
                    start, end = (path.rsplit(".", 1)[0] for path in (name, target))
                    wing_files[start] |= {end} - {start}
                continue
            library = library_of(target)
            if library and folder != "tests":
                door = next((target for target in TARGETS if name.startswith(target + "/")), folder)
                doors[(door, library)].add(name.rsplit(".", 1)[0])
                if folder not in LIBRARIES[library][1]:
                    found.append(f"{place}: includes {library}, which {folder}/ must not know")
    for (folder, library), files in sorted(doors.items()):
        if len(files) > 1:
            found.append(f"{folder}/: includes {library} in {len(files)} places, one is allowed: {', '.join(sorted(files))}")
    for (a, b), places in sorted(layer_uses.items()):
        if a < b and (b, a) in layer_uses:
            found.append(f"runtime/{a} and runtime/{b} include each other: {', '.join(sorted(places | layer_uses[(b, a)]))}")
    for circle in circles(wing_files):
        found.append(f"{circle[0]}: includes lead in a circle: {', '.join(circle)}")
    return found


if __name__ == "__main__":
    sources.finish(check(sources.root_from_arguments()), "include rules")
