"""Every name that `stats` and its groups print is in server/STATS.md, and every name there is printed."""

import re
import tempfile
import unittest
from pathlib import Path

from harness import Connection, Options, Server, mxkv_only
from harness.connection import block

DOCUMENT = Path(__file__).resolve().parents[2] / "server" / "STATS.md"
COMMANDS = "get gat set delete arithmetic touch mg ms md ma range batch other".split()
PLACEHOLDERS = {"<n>": r"\d+", "<command>": f"(?:{'|'.join(COMMANDS)})", "<key>": r"\S+"}


def documented() -> dict[str, dict[str, bool]]:
    """Group to names as the document writes them, and whether each is printed at all times."""
    groups, names = {}, {}
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## `stats ?([a-z]*)`$", line):
            names = groups.setdefault(heading[1], {})
        elif row := re.match(r"\| (`.*`) \| (.*) \|$", line):
            for name in row[1].split(", "):
                names[name.strip("`")] = not row[2].startswith("Only")
    return groups


def known_groups() -> set[str]:
    """The groups that PROTOCOL.md lists, without `detail`, which has no names."""
    text = (DOCUMENT.parents[1] / "protocol" / "PROTOCOL.md").read_text(encoding="utf-8")
    row = re.search(r"(?m)^\| `stats <group>` \| groups of memcached: `([^`]*)`; of mxkv: `([^`]*)` \|$", text)
    return set(f"{row[1]} {row[2]}".split()) - {"detail"}


def of_cluster() -> set[str]:
    """The names that a node of a cluster prints, read from the source, because without brokers there is no node."""
    text = (DOCUMENT.parent / "stats" / "cluster_stats.cpp").read_text(encoding="utf-8")
    own = set(re.findall(r'text\.add\("(\w+)"', text))
    return own | {"shard:<n>:" + name for name in re.findall(r'text\.add\(name \+ "(\w+)"', text)}


def pattern(name: str) -> re.Pattern:
    parts = re.split(r"(<[a-z]+>)", name)
    return re.compile("".join(PLACEHOLDERS.get(part) or re.escape(part) for part in parts))


class StatsDocumentTest(unittest.TestCase):
    @mxkv_only("its own groups")
    def test_server_and_document_have_the_same_names(self):
        groups = documented()
        self.assertEqual(set(groups) - {""}, known_groups())
        with tempfile.TemporaryDirectory() as folder:
            for settings in ((), (("durability.directory", f"{folder}/data"),)):
                with self.subTest(settings=settings):
                    self.compare(groups, (("stats.sample", "1"), ("stats.slow", "1ms"), ("prefixes", "[{prefix: key}]"), *settings))

    def compare(self, groups, settings) -> None:
        server = Server(Options(workers=2, settings=settings)).start()
        self.addCleanup(server.kill)
        client = Connection(server.port)
        self.busy(client)
        durable = any(name == "durability.directory" for name, _ in settings)
        for group, names in groups.items():
            printed = client.stats(*([group.encode()] if group else []))
            unknown = [name for name in printed if not any(pattern(one).fullmatch(name) for one in names)]
            self.assertEqual(unknown, [], f"stats {group} prints what server/STATS.md lacks")
            if group == "cluster":
                self.assertEqual(printed, {})
                self.assertEqual(set(names), of_cluster(), "server/STATS.md and the source name the same")
                continue
            if group == "durability" and not durable:
                self.assertEqual(printed, {})
                continue
            absent = [name for name, always in names.items()
                      if always and not any(pattern(name).fullmatch(one) for one in printed)]
            self.assertEqual(absent, [], f"server/STATS.md names what stats {group} does not print")
        client.close()
        server.stop()

    @staticmethod
    def busy(client) -> None:
        """Gives each group something to report."""
        for number in range(20):
            client.set(b"key%d" % number, b"v" * 100)
            client.get(b"key")
        for _ in range(8):
            client.send(block(b"set", b"large", b"x" * 500_000) + b"get large\r\npscan key 100\r\nmb 1\r\nmd key3\r\nversion\r\n")
            while not client.line().startswith(b"VERSION"):
                pass


if __name__ == "__main__":
    unittest.main()
