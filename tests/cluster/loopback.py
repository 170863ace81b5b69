"""Three brokers and the nodes a, b and c of one cluster, on loopback: the base of tests that need no namespaces."""

import os
import tempfile
import unittest
from pathlib import Path

import nodes
from brokers import Brokers
from network import Loopback
from nodes import Node
from setting import wait_for

PATIENCE_S = 180
ADMIN_PORT = 8080


class LoopbackTest(unittest.TestCase):
    def begin(self, name: str, splits: str, replicas: int, memory: dict, lease: str = "2s") -> None:
        """Starts a cluster of this name, and waits until all shards are served. `splits`: the first letters of all shards but
        the first one. `memory`: the limit of each node by its name."""
        self.name = name
        kept = self.enterContext(tempfile.TemporaryDirectory())
        folder = Path(os.environ.get("MXKV_CLUSTER_LOGS", kept))
        folder.mkdir(parents=True, exist_ok=True)
        self.brokers = Brokers(Path(os.environ.get("MXKV_BROKERS", kept)))
        self.addCleanup(self.brokers.stop)
        net = os.getpid() % 200 + 20
        self.a, self.b, self.c = self.nodes = [
            Node(node, Loopback(f"127.{net}.1.{i + 1}"), folder, name, self.brokers.addresses,
                 options={"patience": "60s", "deadline": "60s"}, admin_port=ADMIN_PORT, memory=memory[node]) for i, node in enumerate("abc")]
        self.addCleanup(lambda: [node.end() for node in self.nodes])
        self.cluster("init", "--splits", ",".join(splits), "--replicas", replicas, "--lease", lease, "--nodes",
                     ",".join(node.entry for node in self.nodes))
        for node in self.nodes:
            node.start()
        wait_for(lambda: all(node.stats() for node in self.nodes), "all nodes answer", self.evidence, PATIENCE_S)
        nodes.wait_until_served(self.nodes, len(splits) + 1, PATIENCE_S)

    def cluster(self, command: str, *words, check: bool = True):
        return nodes.cluster(self.name, self.brokers, command, *words, check=check, seconds=PATIENCE_S)

    def evidence(self) -> str:
        return f"{nodes.evidence(self.nodes)}\n{self.cluster('status', check=False).stdout}"

    def store(self, node: Node, keys: list, size: int) -> None:
        """Stores items of this size. Brokers of a busy machine may take longer than a request waits: then again."""
        sets = b"".join(b"ms %s %d\r\n%s\r\n" % (key, size, b"v" * size) for key in keys) + b"mn\r\n"

        def is_stored() -> bool:
            try:
                return set(node.ask(sets, b"MN\r\n", PATIENCE_S).splitlines()) == {b"HD", b"MN"}
            except OSError:
                return False

        wait_for(is_stored, f"{len(keys)} items are stored", self.evidence, PATIENCE_S)
