"""The most shards that `mxkvd cluster init` makes: 256, of three nodes with one worker each. All of them get owners, and keep
them while clients write to all nodes: no owner is ousted again and again, which would drop memory and close connections. A node that is
killed loses its shards to replicas, gets them back when it has started again, and no acknowledged write is lost.
"""

import json

from clients import Writer
from loopback import PATIENCE_S, LoopbackTest
from nodes import Node
from setting import machine, wait_for

STARTS = [f"{shard:02x}" for shard in range(256)]  # keys of shard n begin with its number
SHARDS = len(STARTS)
REPLICAS = 2
LEASE = "10s"  # each shard sends three messages a lease: 77 a second. With a lease of 2 s these alone would keep brokers busy
WRITERS = 4
ROUNDS = 4  # writes of each writer to each shard, while no node ends


@machine.needs(machine.long_only(), machine.missing("java", "mvn"))
class ManyShardsTest(LoopbackTest):
    def setUp(self) -> None:
        self.begin("many", STARTS[1:], REPLICAS, dict.fromkeys("abc", "256MiB"), LEASE)
        self.writers = [Writer(number, [node.address for node in self.nodes], STARTS, PATIENCE_S) for number in range(WRITERS)]
        for writer in self.writers:
            self.addCleanup(writer.over.set)

    def owners(self) -> list:
        return [shard["owner"] for shard in json.loads(self.cluster("status", "--json", check=False).stdout)["shards"]]

    def sums(self) -> dict:
        """Of all shards of the nodes that run, by the name of the figure."""
        sums = {}
        for node in self.nodes:
            for name, value in node.stats(PATIENCE_S).items():
                if name.startswith("shard:") and name.endswith((":ousted", ":terms_owned", ":thrown_away", ":spared")):
                    figure = name.rpartition(":")[2]
                    sums[figure] = sums.get(figure, 0) + int(value)
        return sums

    def await_writes(self, rounds: int) -> None:
        """Waits until each writer has written so often to each shard, from now on."""
        before = [len(writer.acknowledged) for writer in self.writers]
        wait_for(lambda: all(len(writer.acknowledged) >= least + rounds * SHARDS for writer, least in zip(self.writers, before)),
                 "acknowledged writes", self.evidence, PATIENCE_S,
                 progress=lambda: sum(len(writer.acknowledged) for writer in self.writers))

    def await_owners(self, owners: list, what: str) -> None:
        wait_for(lambda: self.owners() == owners, what, self.evidence, PATIENCE_S,
                 progress=lambda: sum(is_now == was for is_now, was in zip(self.owners(), owners)))

    def without_an_owner(self) -> int:
        """Shards that nobody owns, or the killed node."""
        return sum(owner in ("", None, self.c.name) for owner in self.owners())

    def all_is_there(self, node: Node) -> None:
        told = {key: value for writer in self.writers for key, value in writer.acknowledged.items()}
        asked = list(told)
        for first in range(0, len(asked), 500):
            some = asked[first:first + 500]
            reply = node.ask(b"".join(b"mg %s v\r\n" % key.encode() for key in some) + b"mn\r\n", b"MN\r\n", PATIENCE_S)
            self.assertEqual(reply.split(b"\r\n")[1:-2:2], [b"%d" % told[key] for key in some], node.name)

    def test_they_settle_and_stay(self):
        wait_for(lambda: self.cluster("status", check=False).returncode == 0, "each shard has its copies", self.evidence, PATIENCE_S)
        before, settled = self.owners(), self.sums()
        for writer in self.writers:
            writer.start()
        self.await_writes(ROUNDS)
        after = self.sums()
        print(f"settled with {settled}; under load {after}", flush=True)
        self.assertLess(after["ousted"] - settled["ousted"], SHARDS, f"owners are not ousted again and again: {settled} {after}")
        self.await_owners(before, "each shard is where it was")

        self.c.kill()
        wait_for(lambda: self.without_an_owner() == 0, "owners of the shards of the killed node", self.evidence, PATIENCE_S,
                 progress=lambda: -self.without_an_owner())
        self.await_writes(1)
        self.c.start()
        self.await_owners(before, "the shards of the killed node are back")
        self.await_writes(1)
        print(f"after a kill {self.sums()}", flush=True)
        for writer in self.writers:
            writer.over.set()
        for writer in self.writers:
            writer.join()
        for node in self.nodes:
            self.all_is_there(node)


if __name__ == "__main__":
    machine.main()
