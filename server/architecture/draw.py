#!/usr/bin/env python3
"""Draws the two pictures of the architecture pages: server.svg and cluster.svg, beside this file.

  server/architecture/draw.py            writes both pictures
  server/architecture/draw.py --dark     writes server-dark.svg and cluster-dark.svg, to look at the dark colours with a
                                         viewer that does not know prefers-color-scheme

A picture has a light and a dark set of colours, and the viewer chooses by prefers-color-scheme. tests/checks/documents.py
compares the pictures with what this script draws.
"""

import sys
from html import escape
from pathlib import Path

LIGHT = {"page": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#818b98", "room": "#f6f8fa", "box": "#ffffff",
         "mark": "#ddf4ff", "edge": "#0969da"}
DARK = {"page": "#0d1117", "ink": "#f0f6fc", "soft": "#9198a1", "line": "#656c76", "room": "#151b23", "box": "#0d1117",
        "mark": "#0c2d4d", "edge": "#4493f8"}
FONT = "font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"


def colours(of: dict[str, str]) -> str:
    return (f".page{{fill:{of['page']}}} .room{{fill:{of['room']};stroke:{of['line']}}} .box{{fill:{of['box']};stroke:{of['line']}}} "
            f".mark{{fill:{of['mark']};stroke:{of['edge']}}} text{{fill:{of['ink']}}} .soft{{fill:{of['soft']}}} "
            f".way{{stroke:{of['edge']};fill:none}} .aside{{stroke:{of['line']};fill:none}} .tip{{fill:{of['edge']}}} "
            f".softtip{{fill:{of['line']}}}")


class Picture:
    """Shapes in the order drawn. Lengths are pixels, from the upper left corner."""

    def __init__(self, width: int, height: int, title: str):
        self.size = (width, height)
        self.title = title
        self.shapes: list[str] = []

    def room(self, x: int, y: int, width: int, height: int, title: str, note: str = "") -> None:
        """A large frame with its name in the upper left corner."""
        self.shapes.append(f'<rect class="room" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>')
        self.text(x + 12, y + 21, title, "name")
        if note:
            self.text(x + 12, y + 38, note, "soft")

    def box(self, x: int, y: int, width: int, height: int, title: str, *notes: str, kind: str = "box") -> None:
        """A frame with centred lines; the first is its name."""
        self.shapes.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="5"/>')
        first = y + height / 2 - 8 * len(notes) + 4.5
        for number, line in enumerate((title, *notes)):
            self.text(x + width / 2, first + 16 * number, line, "soft" if number else "name", middle=True)

    def text(self, x: float, y: float, words: str, kind: str = "", middle: bool = False) -> None:
        anchor = ' text-anchor="middle"' if middle else ""
        self.shapes.append(f'<text{f" class={chr(34)}{kind}{chr(34)}" if kind else ""} x="{x:g}" y="{y:g}"{anchor}>{escape(words)}</text>')

    def arrow(self, *points: tuple[int, int], kind: str = "way", tips: str = "end") -> None:
        """A line through the points. `tips`: where its tips are, "end", "start" or "start end"."""
        tip = "t" if kind == "way" else "s"
        markers = "".join(f' marker-{place}="url(#{tip})"' for place in tips.split())
        path = " ".join(f"{x},{y}" for x, y in points)
        self.shapes.append(f'<polyline class="{kind}" points="{path}"{markers}/>')

    def svg(self, dark_alone: bool = False) -> str:
        width, height = self.size
        style = colours(DARK) if dark_alone else f"{colours(LIGHT)}\n@media (prefers-color-scheme: dark) {{ {colours(DARK)} }}"
        tips = "".join(f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
                       f'orient="auto-start-reverse"><path class="{kind}" d="M0,0 L8,4 L0,8 z"/></marker>'
                       for name, kind in (("t", "tip"), ("s", "softtip")))
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(self.title)}</title>",
            f"<style>\n{style}\ntext {{ {FONT}; font-size: 12px }} .name {{ font-weight: 600; font-size: 13px }} "
            "polyline { stroke-width: 1.5 }\n</style>",
            f"<defs>{tips}</defs>",
            f'<rect class="page" width="{width}" height="{height}"/>', *self.shapes, "</svg>", ""])


def server() -> Picture:
    it = Picture(960, 560, "A request passes through one worker; all workers share one tree")
    it.box(16, 110, 104, 44, "client")
    it.room(150, 16, 470, 408, "Worker 0", "one thread, one CPU; it owns its connections and never blocks")
    for number in (1, 2):
        it.shapes.insert(0, f'<rect class="room" x="{150 + 8 * number}" y="{16 + 8 * number}" width="470" height="408" rx="8"/>')
    stages = (("Connection", "reads and writes the socket"), ("Session and parser", "find requests in the bytes"),
              ("RequestOrder", "starts it, or lets it wait"), ("Store", "makes a task of the request"))
    for number, (name, note) in enumerate(stages):
        it.box(170, 72 + 68 * number, 200, 46, name, note)
        if number:
            it.arrow((270, 50 + 68 * number), (270, 70 + 68 * number))
    it.arrow((120, 124), (145, 124), (145, 88), (168, 88))
    it.box(170, 352, 430, 52, "Window: up to 64 tasks in flight", "while one task waits for memory, the others run", kind="mark")
    it.arrow((270, 322), (270, 350))
    it.box(410, 208, 190, 46, "ReplyQueue", "replies in request order")
    it.arrow((505, 350), (505, 256))
    it.box(410, 72, 190, 46, "Output", "one send a round")
    it.box(410, 140, 190, 46, "OutputGate", "holds replies until commit")
    it.arrow((505, 206), (505, 188))
    it.arrow((505, 138), (505, 120))
    it.arrow((410, 95), (372, 95))
    it.arrow((168, 106), (152, 106), (152, 142), (122, 142))

    it.room(680, 16, 264, 408, "Shared by all workers", "readers write nothing here")
    it.box(762, 72, 100, 36, "root")
    it.box(706, 144, 100, 36, "inner node")
    it.box(818, 144, 100, 36, "inner node")
    for x in (700, 782, 864):
        it.box(x, 216, 60, 36, "leaf")
    for start, end in (((790, 108), (756, 142)), ((834, 108), (868, 142)), ((746, 180), (730, 214)), ((766, 180), (806, 214)),
                       ((868, 180), (892, 214))):
        it.arrow(start, end, kind="aside")
    it.arrow((760, 234), (780, 234), kind="aside")
    it.arrow((842, 234), (862, 234), kind="aside")
    it.box(700, 288, 224, 46, "Items, in key order", "key, value, order: never changed")
    it.arrow((812, 252), (812, 286), kind="aside")
    it.text(812, 374, "hops: one node at a time, its", "soft", middle=True)
    it.text(812, 390, "memory prefetched before", "soft", middle=True)
    it.arrow((600, 378), (690, 378), (690, 90), (760, 90))

    it.room(16, 452, 928, 92, "Threads beside the workers")
    it.box(150, 484, 186, 46, "Main thread", "start, signals, reload")
    it.box(352, 484, 186, 46, "Journal writer", "one group, one flush")
    it.box(554, 484, 186, 46, "Cluster thread", "logs of shards, leases")
    it.box(756, 484, 172, 46, "Administration", "HTTP: page, metrics")
    it.arrow((445, 404), (445, 482), kind="aside")
    it.arrow((585, 404), (585, 440), (647, 440), (647, 482), kind="aside")
    it.text(452, 446, "records of changes", "soft")
    return it


def cluster() -> Picture:
    it = Picture(960, 540, "Three nodes over the logs of three shards")
    it.box(400, 16, 160, 40, "client", "may ask any node")
    columns = ((16, "Node a", "owns shard 0", "follows shard 2"), (336, "Node b", "owns shard 1", "follows shard 0"),
               (656, "Node c", "owns shard 2", "follows shard 1"))
    for x, name, owns, follows in columns:
        it.room(x, 104, 288, 188, name)
        it.box(x + 14, 140, 260, 40, "Session, ClusterStore, Routes", "here, or at which node?")
        it.box(x + 14, 196, 122, 40, "Store", "one tree")
        it.box(x + 152, 196, 122, 40, "Forwarder", "to the owner")
        it.arrow((x + 75, 180), (x + 75, 194))
        it.arrow((x + 213, 180), (x + 213, 194))
        it.box(x + 14, 248, 122, 30, owns, kind="mark")
        it.box(x + 152, 248, 122, 30, follows)
    it.arrow((440, 56), (160, 102))
    it.arrow((480, 56), (480, 102))
    it.arrow((520, 56), (800, 102))
    it.arrow((290, 216), (334, 216), tips="start end")
    it.arrow((610, 216), (654, 216), tips="start end")
    it.text(320, 208, "peer", "soft", middle=True)
    it.text(640, 208, "peer", "soft", middle=True)

    it.room(16, 372, 928, 152, "")
    it.text(32, 478, "Brokers (Apache Kafka)", "name")
    it.text(32, 496, "replicate each log: one order", "soft")
    it.text(32, 510, "of messages for all readers", "soft")
    for shard, (x, *_) in enumerate(columns):
        it.box(x + 14, 392, 260, 44, f"Log of shard {shard}", "claims, groups of changes, beats", kind="mark")
        it.arrow((x + 75, 278), (x + 75, 390))
    it.box(350, 462, 260, 44, "Snapshots of the shards", "each in a log of its own")
    it.box(670, 462, 260, 44, "Board", "map, nodes alive, where snapshots are")
    for start, end in ((213, 780), (533, 140), (853, 460)):
        it.arrow((start, 278), (start, 312), (end, 346), (end, 390), kind="aside", tips="start")
    it.text(99, 334, "the owner appends", "soft")
    it.text(800, 340, "a follower reads", "soft")
    return it


PICTURES = {"server": server, "cluster": cluster}


def main() -> None:
    dark = sys.argv[1:] == ["--dark"]
    if sys.argv[1:] and not dark:
        sys.exit(__doc__)
    for name, draw in PICTURES.items():
        file = Path(__file__).with_name(f"{name}{'-dark' if dark else ''}.svg")
        file.write_text(draw().svg(dark), encoding="utf-8")


if __name__ == "__main__":
    main()
