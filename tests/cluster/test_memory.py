"""One node of three has too little memory for the shards that it replicates. It says so everywhere, clients notice nothing, other
nodes end and start without leaving a shard to it, and it replicates again by itself when its limit is raised, or items go.
"""

import json
import re

from clients import Writer
from loopback import PATIENCE_S, LoopbackTest
from nodes import Node
from setting import machine, wait_for

SPLITS = "dhlpt"
LETTERS = "aeimq"  # a key of each shard except the last one begins with one of them
SHARDS = len(SPLITS) + 1
OWN = SHARDS - 1  # the shard of node c, with few items
ITEM_BYTES = 8 << 10
ITEMS = 5000  # 8 MB in each of five shards
LIMIT_MIB = 32  # of node c; the other nodes have enough


@machine.needs(machine.long_only(), machine.missing("java", "mvn"))
class MemoryTest(LoopbackTest):
    def setUp(self) -> None:
        self.begin("memory", SPLITS, 3, {"a": "256MiB", "b": "256MiB", "c": f"{LIMIT_MIB}MiB"})
        for shard in range(SHARDS):
            self.cluster("move", shard, "c" if shard == OWN else "ab"[shard % 2])
        self.wait_until_settled()

    def owners(self) -> str:
        """The names of the owners in the order of shards, - for none."""
        return "".join(shard["owner"] or "-" for shard in json.loads(self.cluster("status", "--json", check=False).stdout)["shards"])

    def wait_until_settled(self) -> None:
        wait_for(lambda: self.owners() == "ababac", "each shard at its node", self.evidence, PATIENCE_S)

    def fill(self, first: int, end: int) -> None:
        for first in range(first, end, 100):
            self.store(self.a, [b"%c.fill.%d" % (LETTERS[i % len(LETTERS)].encode(), i) for i in range(first, first + 100)], ITEM_BYTES)

    def roles(self) -> list:
        return [value for name, value in self.c.stats().items() if name.endswith(":role")]

    def lacks(self) -> bool:
        return int(self.c.stats().get("shards_lacking_memory", "0")) > 0

    def await_lack(self) -> None:
        """Waits until node c replicates some shards and not others, and everything that an operator looks at says so."""
        wait_for(self.lacks, "node c lacks memory", self.evidence, PATIENCE_S)
        wait_for(lambda: {"stranded", "follows"} <= set(self.roles()), "node c replicates what fits", self.evidence, PATIENCE_S)
        lack = rf"this node is no replica of \d of {SHARDS} shards: out of memory while applying the log"
        wait_for(lambda: (page := self.c.get("/readyz"))[0] == 503 and re.search(lack, page[1]), "node c is not ready, and says why",
                 lambda: f"{self.c.get('/readyz')}{self.evidence()}", PATIENCE_S)
        wait_for(lambda: re.search(r"(?m)^mxkv_cluster_replica_failed(\{.*\})? 1$", self.c.get("/metrics")[1]), "a metric says so",
                 self.evidence, PATIENCE_S)
        self.assertRegex(self.c.log.read_text(encoding="utf-8"), r"this node is no replica of \d shards?: out of memory while applying the log; ")
        wait_for(lambda: (told := self.cluster("status", check=False)).returncode == 0 and "c stranded" in told.stdout,
                 "each shard has an owner, and node c's lag is told", self.evidence, PATIENCE_S)
        self.assertTrue(self.c.alive())
        wait_for(lambda: all(node.get("/readyz")[0] == 200 for node in (self.a, self.b)), "the other nodes are ready", self.evidence, PATIENCE_S)

    def await_recovery(self) -> None:
        wait_for(lambda: not self.lacks() and self.c.get("/readyz")[0] == 200, "node c replicates all again", self.evidence, PATIENCE_S)
        wait_for(lambda: not re.search(r"\bc (stranded|loads|lacks it|\d{4,} behind)", self.cluster("status").stdout), "node c has no lag",
                 self.evidence, PATIENCE_S)
        self.assertIn("this node replicates all its shards again", self.c.log.read_text(encoding="utf-8"))
        wait_for(lambda: len({node.items() for node in self.nodes}) == 1, "the same items at all nodes",
                 lambda: f"{[node.items() for node in self.nodes]}{self.evidence()}", PATIENCE_S)

    def begin_load(self) -> None:
        """Clients of the other two nodes write to the shards of these."""
        self.writers = [Writer(number, [node.address for node in (self.a, self.b)], LETTERS, PATIENCE_S) for number in range(2)]
        for writer in self.writers:
            writer.start()
            self.addCleanup(writer.over.set)

    def await_load(self) -> None:
        before = [len(writer.acknowledged) for writer in self.writers]
        wait_for(lambda: all(len(writer.acknowledged) >= least + 20 for writer, least in zip(self.writers, before)), "acknowledged writes",
                 self.evidence, PATIENCE_S)

    def end_load(self) -> None:
        for writer in self.writers:
            writer.over.set()
            writer.join()
        # While node b was away, node c owned shards that it replicated, and has no memory for new items in them.
        self.assertEqual([error for error in self.errors() if "SERVER_ERROR out of memory storing object" not in error], [])

    def errors(self) -> list:
        return [error for writer in self.writers for error in writer.errors]

    def all_is_there(self) -> None:
        told = {key: value for writer in self.writers for key, value in writer.acknowledged.items()}
        self.assertGreater(len(told), 100)
        for node in self.nodes:
            asked = list(told)
            reply = node.ask(b"".join(b"mg %s v\r\n" % key.encode() for key in asked) + b"mn\r\n", b"MN\r\n", PATIENCE_S)
            self.assertEqual(reply.split(b"\r\n")[1:-2:2], [b"%d" % told[key] for key in asked], node.name)

    def restart(self, node: Node, owners: str) -> None:
        """The node ends as documented. `owners`: of the shards meanwhile."""
        before = len(node.log.read_text(encoding="utf-8"))
        self.assertEqual(node.end(), 0, node.log_end(40))
        self.assertNotIn("not handed over", node.log.read_text(encoding="utf-8")[before:])
        wait_for(lambda: re.fullmatch(owners, self.owners()), f"owners {owners}", self.evidence, PATIENCE_S)
        self.await_load()
        node.start()
        self.wait_until_settled()

    def test_a_node_without_memory_for_its_shards(self):
        self.fill(0, ITEMS)
        self.begin_load()
        self.await_lack()
        self.await_load()
        self.assertEqual(self.errors(), [], "no request of a client fails")
        self.restart(self.b, "a[ac]a[ac]ac")
        self.await_lack()
        self.restart(self.c, "ababa[ab]")
        self.await_lack()
        self.store(self.c, [b"u.own.%d" % i for i in range(10)], ITEM_BYTES)  # it serves the shard that it owns
        self.await_load()
        self.assertEqual(self.c.ask(b"cache_memlimit %d\r\n" % (2 * LIMIT_MIB), b"\r\n"), b"OK\r\n")
        self.end_load()
        self.await_recovery()
        self.all_is_there()
        self.items_go()
        self.assertEqual([node.end() for node in self.nodes], [0, 0, 0], self.evidence())

    def items_go(self) -> None:
        """The limit is as before and the log goes on, until memory is short again. Then clients delete most items."""
        self.assertEqual(self.c.ask(b"cache_memlimit %d\r\n" % LIMIT_MIB, b"\r\n"), b"OK\r\n")
        self.fill(ITEMS, ITEMS + 500)
        self.await_lack()
        for letter in LETTERS[1:]:
            wait_for(lambda letter=letter: b" G" not in self.a.ask(b"mx %c.fill p\r\n" % letter.encode(), b"\r\n"),
                     "items are deleted", self.evidence, PATIENCE_S)
        self.await_recovery()


if __name__ == "__main__":
    machine.main()
