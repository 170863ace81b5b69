"""A cluster on loopback: its brokers go away and come back, its lease changes while it serves, and clients count, delete
and export keys over all shards. Status, readiness and replies show the true owners, ready nodes and outcomes of requests.
"""

import contextlib
import os
import signal
import tempfile
import unittest
from pathlib import Path

import nodes
from brokers import Brokers
from clients import Line
from network import Loopback
from nodes import Node
from setting import machine, wait_for

CLUSTER = "outages"
SHARDS = 6
PATIENCE_S = 120
ADMIN_PORT = 8080


@machine.needs(machine.long_only(), machine.missing("java", "mvn"))
class OutagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.folder = Path(os.environ.get("MXKV_CLUSTER_LOGS", folder))
        cls.brokers = Brokers(Path(os.environ.get("MXKV_BROKERS", folder)))
        cls.addClassCleanup(cls.brokers.stop)
        net = os.getpid() % 200 + 20
        cls.nodes = [Node(name, Loopback(f"127.{net}.0.{i + 1}"), cls.folder, CLUSTER, cls.brokers.addresses,
                          options={"deadline": "2s", "lease": "20s" if name == "a" else "1s"}, admin_port=ADMIN_PORT)
                     for i, name in enumerate("abc")]
        cls.addClassCleanup(lambda: [node.end() for node in cls.nodes])
        made = cls.cluster("init", "--shards", SHARDS, "--lease", "2s", "--nodes", ",".join(node.entry for node in cls.nodes))
        assert "all of user:* lies in shard" in made.stderr, made.stderr
        for node in cls.nodes:
            node.start()
        wait_for(lambda: all(node.stats() for node in cls.nodes), "all nodes answer", lambda: nodes.evidence(cls.nodes))
        nodes.wait_until_served(cls.nodes, SHARDS, PATIENCE_S)

    @classmethod
    def cluster(cls, command: str, *words, check: bool = True):
        return nodes.cluster(CLUSTER, cls.brokers, command, *words, check=check, seconds=PATIENCE_S)

    def wait_until_ready(self) -> None:
        nodes.wait_until_served(self.nodes, SHARDS, PATIENCE_S)
        wait_for(lambda: all(node.get("/readyz")[0] == 200 for node in self.nodes), "all are ready",
                 lambda: str([node.get("/readyz") for node in self.nodes]), PATIENCE_S)

    def test_a_lease_is_of_all_nodes_and_changes_while_they_serve(self):
        self.wait_until_ready()
        for node in self.nodes:
            self.assertIn("but is ignored: the cluster's map says 2s", node.log.read_text(encoding="utf-8"))
        self.assertIn("lease: 2000 ms -> 3000 ms", self.cluster("lease", "3s").stdout)
        self.assertIn("lease 3000 ms", self.cluster("status").stdout)
        self.store([b"kept"])
        self.assertEqual(self.nodes[2].ask(b"get kept\r\n", b"END\r\n"), b"VALUE kept 0 4\r\nitem\r\nEND\r\n")

    def test_a_line_for_several_shards_does_not_depend_on_their_owners(self):
        self.wait_until_ready()
        self.store([b"%s%d" % (first, i) for first in (b"a:", b"@-", b"@Z", b"z:") for i in range(30)])  # a shard begins at @@
        answered = [b"mc - e", b"mc - D@ e", b"mc - D@ k", b"mc @ p D@ e", b"mc @-5 H@Z5 D@ e", b"mx no-such-key p"]
        refused = [b"mx - X", b"mc - X", b"mt - T60", b"mb 2\r\nmg @-1\r\nmg @Z1"]
        wanted = wait_for(lambda: self.replies(self.nodes[0], *answered, *refused), "replies",
                          lambda: str([self.nodes[0].ask(line + b"\r\nmn\r\n", b"MN\r\n") for line in answered]), PATIENCE_S)
        self.assertEqual(wanted[1], b"HD k@ A60 B460\r\nEN A1 K%d" % (self.count() - 60) + wanted[1][wanted[1].rindex(b" B"):])
        self.assertEqual(wanted[3], b"EN A0 K60 B460\r\nMN\r\n")
        self.assertEqual(wanted[4], b"HD k@ A30 B230\r\nEN A1 K0 B0\r\nMN\r\n")
        for line, reply in zip(refused, wanted[len(answered):]):
            self.assertRegex(reply, rb"^SERVER_ERROR (range|batch) spans shards \d and \d: .*send one for the keys of each shard", line)
        for owners in ("aaaaaa", "bcabca", "abcabc"):
            self.move_to(owners)
            for node in self.nodes:
                wait_for(lambda node=node: self.replies(node, *answered, *refused) == wanted, f"{owners}: the same replies at {node.name}",
                         lambda node=node: f" {wanted}, not {self.replies(node, *answered, *refused)}", PATIENCE_S)

    def replies(self, node: Node, *lines: bytes) -> list:
        """The replies to lines that are answered or refused by shard; empty while one fails otherwise, as with busy brokers."""
        try:
            found = [node.ask(line + b"\r\nmn\r\n", b"MN\r\n") for line in lines]
        except OSError:
            return []
        return [] if any(b"ERROR" in reply and b" spans shards " not in reply for reply in found) else found

    def move_to(self, owners: str) -> None:
        """Moves each shard to the node with the name in its place."""
        for shard, name in enumerate(owners):
            self.cluster("move", shard, name)
        by_name = {node.name: node for node in self.nodes}
        wait_for(lambda: all(shard in by_name[name].serves() for shard, name in enumerate(owners)), f"shards at {owners}",
                 lambda: nodes.evidence(self.nodes), PATIENCE_S)

    def test_counts_deletes_and_exports_go_over_all_shards(self):
        self.wait_until_ready()
        a, b, _ = self.nodes
        keys = [b"%c:%03d" % (first, i) for first in b"09AZbmxz" for i in range(50)]
        self.store(keys)
        self.assertEqual(b.ask(b"mc - e\r\n", b"\r\n").split()[:2], [b"HD", b"A%d" % self.count()])
        self.assertGreaterEqual(self.count(), len(keys))
        cli = os.environ["MXKV_CLI"]
        dump = self.folder / "outages.dump"
        host = f"{b.address[0]}:{b.address[1]}"
        machine.run(cli, "--server", host, "export", "--output", dump, "--overwrite", timeout=PATIENCE_S)
        before = self.count()
        reply = a.ask(b"mx - A150\r\n", b"\r\n")
        self.assertTrue(reply.startswith(b"HD A150 G"), reply)
        while b" G" in reply:
            reply = a.ask(b"mx - A150 G" + reply.split(b" G")[1], b"\r\n")
        self.assertEqual(self.count(), 0)
        machine.run(cli, "--server", host, "import", dump, timeout=PATIENCE_S)
        self.assertEqual(self.count(), before)
        self.assertIn(b"spans shards", a.ask(b"mx - X\r\n", b"\r\n"))

    def store(self, keys: list) -> None:
        """Stores an item for each key. Brokers of a busy machine may take longer than the deadline: then again."""
        stored = b"".join(b"ms %s 4\r\nitem\r\n" % key for key in keys) + b"mn\r\n"

        def is_stored() -> bool:
            with contextlib.suppress(OSError):
                return set(self.nodes[0].ask(stored, b"MN\r\n").splitlines()) == {b"HD", b"MN"}

        wait_for(is_stored, "all is stored", lambda: nodes.evidence(self.nodes), PATIENCE_S)

    def count(self) -> int:
        return int(self.nodes[1].ask(b"mc - e\r\n", b"\r\n").split()[1][1:])

    def test_expired_items_leave_the_memory_of_replicas(self):
        self.wait_until_ready()
        before = [node.items() for node in self.nodes]
        stored = b"".join(b"ms %c:short%d 1 T1\r\nx\r\n" % (first, i) for first in b"09AZbmxz" for i in range(20))
        self.assertEqual(set(self.nodes[0].ask(stored + b"mn\r\n", b"MN\r\n").splitlines()), {b"HD", b"MN"})
        self.assertIn(b"HD", self.nodes[1].ask(b"mg 0:short0 T3600\r\nms 0:short1 1\r\nx\r\nmd 0:short0\r\nmd 0:short1\r\nmn\r\n", b"MN\r\n"))
        wait_for(lambda: [node.items() for node in self.nodes] == before, "all that has expired is gone",
                 lambda: f"{before} {[node.items() for node in self.nodes]}", PATIENCE_S)

    def test_where_all_brokers_are_away_everything_says_so(self):
        self.wait_until_ready()
        owner = next(node for node in self.nodes if node.serves())
        with contextlib.closing(Line(owner.address, 60)) as waits:
            for n in (1, 2, 3):
                self.brokers.send(n, signal.SIGSTOP)  # after SIGSTOP the brokers answer nothing, and close no connection
            waits.send(b"".join(b"set key%d 0 0 1\r\nx\r\n" % i for i in range(50)))
            first = waits.line()
            while first == b"STORED":
                first = waits.line()
            self.assertTrue(first.startswith((b"SERVER_ERROR outcome unknown", b"SERVER_ERROR shard ")), first)
        wait_for(lambda: not any(node.serves() for node in self.nodes), "nobody says that it serves", lambda: nodes.evidence(self.nodes))
        for node in self.nodes:
            status, text = wait_for(lambda node=node: (found := node.get("/readyz")) and found[0] == 503 and found, "not ready")
            self.assertRegex(text, "the brokers")
            wait_for(lambda node=node: "the brokers are silent" in node.log.read_text(encoding="utf-8"), "a line of it")
        self.assertIn("cluster: librdkafka: ", wait_for(lambda: "librdkafka" in owner.log.read_text(encoding="utf-8") and
                                                        owner.log.read_text(encoding="utf-8"), "what the library says"))
        for n in (1, 2, 3):
            self.brokers.send(n, signal.SIGCONT)
        self.wait_until_ready()
        wait_for(lambda: self.cluster("status", check=False).returncode == 0, "all shards have owners",
                 lambda: self.cluster("status", check=False).stdout, PATIENCE_S)

    def test_a_shard_without_an_owner_is_told_by_the_exit_code(self):
        self.wait_until_ready()
        for node in self.nodes:
            self.assertEqual(node.end(), 0)
        done = self.cluster("status", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{SHARDS} shards of {SHARDS} have no owner: 0, 1, 2", done.stderr)
        self.assertIn("not handed over to another node", "".join(node.log.read_text(encoding="utf-8") for node in self.nodes))
        for node in self.nodes:
            node.start()
        wait_for(lambda: all(node.stats() for node in self.nodes), "all nodes answer", lambda: nodes.evidence(self.nodes))
        self.wait_until_ready()


if __name__ == "__main__":
    machine.main()
