"""A backup of a cluster under writes, whose logs are trimmed behind snapshots, restored to a new cluster on new brokers."""

import contextlib
import os
import tempfile
import threading
import unittest
from pathlib import Path

import nodes
from brokers import Brokers
from clients import Line
from network import Loopback
from nodes import Node
from setting import machine, wait_for

SHARDS = 4
PATIENCE_S = 120
SNAPSHOT = "64KiB"  # the minimum: many snapshots of few items


@machine.needs(machine.long_only(), machine.missing("java", "mvn"))
class BackupTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.folder = Path(os.environ.get("MXKV_CLUSTER_LOGS", folder))
        self.kept = Path(os.environ.get("MXKV_BROKERS", folder))
        self.file = Path(folder) / "backup.jsonl"
        self.begin_cluster("source", [f"key:{shard}" for shard in range(1, SHARDS)])

    def begin_cluster(self, name: str, splits: list) -> None:
        """Starts a cluster on empty brokers."""
        self.name = name
        self.brokers = Brokers(self.kept)
        self.addCleanup(self.brokers.stop)
        net = os.getpid() % 200 + 20
        self.nodes = [Node(node, Loopback(f"127.{net}.1.{i + 1}"), self.folder, name, self.brokers.addresses,
                           options={"snapshot": SNAPSHOT}) for i, node in enumerate("ab")]
        self.addCleanup(lambda ended=self.nodes: [node.end() for node in ended])
        self.cluster("init", "--splits", ",".join(splits), "--nodes", ",".join(node.entry for node in self.nodes))
        for node in self.nodes:
            node.start()
        wait_for(lambda: all(node.stats() for node in self.nodes), "all nodes answer", lambda: nodes.evidence(self.nodes), PATIENCE_S)
        nodes.wait_until_served(self.nodes, len(splits) + 1, PATIENCE_S)

    def end_cluster(self) -> None:
        for node in self.nodes:
            node.end()
        self.brokers.stop()

    def cluster(self, command: str, *words, check: bool = True):
        return nodes.cluster(self.name, self.brokers, command, *words, check=check, seconds=2 * PATIENCE_S)

    def store(self, first: int, end: int, flags: int) -> None:
        """Stores keys of all shards, whose values are as long as their numbers say."""
        for begin in range(first, end, 200):
            requests = b"".join(b"ms key:%d:%04d %d F%d\r\n%s\r\n" % (i % SHARDS, i, 500 + i % 100, flags, b"v" * (500 + i % 100))
                                for i in range(begin, min(begin + 200, end)))
            wait_for(lambda: self.stored(requests), "all is stored", lambda: nodes.evidence(self.nodes), PATIENCE_S)

    def stored(self, requests: bytes) -> bool:
        """Whether the whole pipeline was stored. While shards move to their preferred nodes, the caller must repeat it."""
        try:
            return set(self.nodes[0].ask(requests + b"mn\r\n", b"MN\r\n", PATIENCE_S).splitlines()) == {b"HD", b"MN"}
        except OSError:
            return False

    def items(self) -> dict:
        """By key: size, flags, whether it expires, unique."""
        found = {}
        cursor = b""
        while True:
            *lines, end = self.page(b"mr - k s f t c A500" + cursor + b"\r\n")
            for line in lines:
                words = {word[:1]: word[1:] for word in line.split()[1:]}
                found[words[b"k"]] = (words[b"s"], words[b"f"], words[b"t"] != b"-1", int(words[b"c"]))
            if b" G" not in end:
                return found
            cursor = b" G" + end.split(b" G")[1].split()[0]

    def page(self, request: bytes) -> list:
        with contextlib.closing(Line(self.nodes[1].address, PATIENCE_S)) as line:
            line.send(request)
            lines = [line.line()]
            while not lines[-1].startswith(b"EN"):
                lines.append(line.line())
            return lines

    def test_all_keys_come_back_on_new_brokers_after_trims(self):
        self.store(0, 400, 3)
        for rounds in range(100):  # until each shard's log was trimmed, which happens behind its second snapshot
            self.store(400, 800, rounds)
            logs = "".join(node.log.read_text(encoding="utf-8") for node in self.nodes)
            if all(logs.count(f"shard {shard}: snapshot of") >= 3 for shard in range(SHARDS)):
                break
        else:
            self.fail(f"no snapshots: {nodes.evidence(self.nodes)}")
        changes = [b"md key:0:0000", b"mg key:1:0001 T3600", b"ms key:3:0003 1 F9", b"x", b"ms key:3:short 1 T1", b"x",
                   b"mx key:2:0002 Hkey:2:0010 o", b"mn", b""]
        self.assertEqual(self.nodes[0].ask(b"\r\n".join(changes), b"MN\r\n").splitlines(), [b"HD"] * 4 + [b"HD A1", b"MN"])
        wait_for(lambda: self.nodes[1].ask(b"mg key:3:short\r\nmn\r\n", b"MN\r\n") == b"EN\r\nMN\r\n", "an item expires")
        wanted = self.items()
        self.assertNotIn(b"key:0:0000", wanted)
        ends = threading.Event()
        writer = threading.Thread(target=self.write_others, args=(ends,))
        writer.start()
        try:
            done = self.cluster("backup", self.file)
        finally:
            ends.set()
            writer.join()
        for shard in range(SHARDS):
            self.assertRegex(done.stdout, rf"(?m)^shard {shard}: \d+ items, as of \d+-\d+-\d+T\d+:\d+:\d+Z, position \d+ of its log$")
        self.assertIn("already exists", self.cluster("backup", self.file, check=False).stderr)
        self.assertNotIn("key:3:short", self.file.read_text())
        dead = [node.end() for node in self.nodes]
        self.assertEqual(dead, [0, 0])
        one = self.file.with_name("one.jsonl")  # the brokers alone are enough
        self.assertRegex(self.cluster("backup", "--shard", "2", one).stdout, r"^shard 2: \d+ items")
        self.end_cluster()
        self.assertFalse(self.file.with_name(self.file.name + ".part").exists())

        self.begin_cluster("target", ["key:2"])
        host = f"{self.nodes[1].address[0]}:{self.nodes[1].address[1]}"
        machine.run(os.environ["MXKV_CLI"], "--server", host, "import", "--cas", self.file, timeout=PATIENCE_S)
        found = self.items()
        self.assertEqual({key: item for key, item in found.items() if not key.startswith(b"key:2:other")}, wanted)
        others = sorted(key for key in found if key.startswith(b"key:2:other"))
        # One client wrote them one after the other: the backup has all of them up to some moment.
        self.assertEqual(others, [b"key:2:other%06d" % i for i in range(len(others))])
        self.assertLessEqual(len(others), self.written + 1)  # the last set may have been stored without a reply

    def write_others(self, ends: threading.Event) -> None:
        self.written = 0
        while not ends.is_set():
            with contextlib.suppress(OSError), contextlib.closing(Line(self.nodes[1].address, PATIENCE_S)) as line:
                while not ends.is_set():
                    line.send(b"set key:2:other%06d 0 0 1\r\nx\r\n" % self.written)
                    self.written += line.line() == b"STORED"


if __name__ == "__main__":
    machine.main()
