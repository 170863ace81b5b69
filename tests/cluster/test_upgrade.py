"""An upgrade as server/OPERATING.md documents it: the nodes of a cluster end by SIGTERM and start again, one after the other,
while clients write to all of them and count over all shards. No request of a client fails, the shards come back to their nodes,
and no acknowledged write is lost.
"""

import contextlib
import json
import re
import threading

from clients import Line, Writer
from loopback import PATIENCE_S, LoopbackTest
from nodes import Node
from setting import machine, wait_for

SPLITS = "dhlpt"
LETTERS = "aeimqu"  # a key of each shard begins with one of them
SHARDS = len(LETTERS)
REPLICAS = 2
ITEM_BYTES = 8 << 10


class Counter(threading.Thread):
    """Counts all items by one node after the other, in total and by prefix. Keys are only added, so a count has at least the
    items that were acknowledged before."""

    def __init__(self, addresses: list, acknowledged) -> None:
        super().__init__(daemon=True)
        self.addresses = addresses
        self.acknowledged = acknowledged
        self.over = threading.Event()
        self.counts = 0
        self.errors = []  # replies of servers
        self.too_few = []

    def run(self) -> None:
        turn = 0
        while not self.over.wait(0.1):
            turn += 1
            least = self.acknowledged()
            with contextlib.suppress(OSError):  # the node ends, or has ended
                line = Line(self.addresses[turn % len(self.addresses)], PATIENCE_S)
                with contextlib.closing(line):
                    line.send(b"mc - e\r\nmc - D. e\r\n")
                    self.note(least, [line.line()])
                    replies = [line.line()]
                    while replies[-1].startswith(b"HD"):
                        replies.append(line.line())
                    self.note(least, replies[:-1] if replies[-1].startswith(b"EN ") else replies)

    def note(self, least: int, replies: list) -> None:
        if not all(reply.startswith(b"HD ") for reply in replies):
            self.errors.append(replies[-1].decode())
            return
        found = sum(int(word[1:]) for reply in replies for word in reply.split() if word[:1] == b"A")
        self.counts += 1
        if found < least:
            self.too_few.append((found, least, replies))


@machine.needs(machine.long_only(), machine.missing("java", "mvn"))
class UpgradeTest(LoopbackTest):
    def setUp(self) -> None:
        self.begin("upgrade", SPLITS, REPLICAS, dict.fromkeys("abc", "256MiB"))
        self.filled = 0
        self.fill(300)
        self.writers = [Writer(number, [node.address for node in self.nodes], LETTERS, PATIENCE_S) for number in range(4)]
        self.counter = Counter([node.address for node in self.nodes], self.acknowledged)
        for thread in (*self.writers, self.counter):
            thread.start()
            self.addCleanup(thread.over.set)

    def fill(self, items: int) -> None:
        """Stores large items of all shards, until there are so many."""
        for first in range(self.filled, items, 100):
            self.store(self.c, [b"%c.fill.%d" % (LETTERS[i % SHARDS].encode(), i) for i in range(first, first + 100)], ITEM_BYTES)
            self.filled = first + 100

    def acknowledged(self) -> int:
        return self.filled + sum(len(writer.acknowledged) for writer in self.writers)

    def await_load(self) -> None:
        """Waits until each writer has further acknowledged writes, and the counter a further count."""
        before = [len(writer.acknowledged) for writer in self.writers]
        counts = self.counter.counts
        wait_for(lambda: self.counter.counts >= counts + 2 and
                 all(len(writer.acknowledged) >= least + 20 for writer, least in zip(self.writers, before)),
                 "acknowledged writes and counts", lambda: f"{self.errors()}{self.evidence()}", PATIENCE_S)

    def errors(self) -> list:
        return [error for thread in (*self.writers, self.counter) for error in thread.errors]

    def lag_of(self, node: Node) -> str:
        """The node's entries in the column `lag` of `mxkvd cluster status`, except replicas that are a few messages behind, as
        all are while clients write. Empty: the node has the data of its replicas."""
        done = self.cluster("status", check=False)
        _, head, shards = done.stdout.partition("\nshard ")
        rows = (head + shards).splitlines()[1:]
        self.assertEqual(len(rows), 1 + SHARDS, done.stdout + done.stderr)
        lags = [lag for row in rows[1:] for lag in row[rows[0].index("lag"):].split(", ")]
        return ", ".join(lag for lag in lags if lag.startswith(f"{node.name} ") and not re.search(r" \d{1,3} behind\s*$", lag))

    def owners(self) -> list:
        return [shard["owner"] for shard in json.loads(self.cluster("status", "--json", check=False).stdout)["shards"]]

    def upgrade(self, node: Node) -> None:
        """As documented: SIGTERM, the new version, start, wait for readiness and for status."""
        before = self.owners()
        mine = [shard for shard, owner in enumerate(before) if owner == node.name]
        self.assertTrue(mine, before)
        self.assertEqual(node.end(), 0, node.log_end(40))
        wait_for(lambda: self.cluster("status", check=False).returncode == 0, f"owners of the shards that {node.name} left",
                 lambda: node.log_end(40) + self.evidence(), PATIENCE_S)
        self.await_load()
        node.start()
        wait_for(lambda: node.get("/readyz")[0] == 200, f"{node.name} is ready",
                 lambda: f"{node.get('/readyz')}{self.evidence()}", PATIENCE_S)
        wait_for(lambda: self.lag_of(node) == "", f"{node.name} has no lag", self.evidence, PATIENCE_S)
        self.await_load()
        wait_for(lambda: self.owners() == before, f"the shards of {node.name} are back", self.evidence, PATIENCE_S)

    def end_load(self) -> None:
        for thread in (*self.writers, self.counter):
            thread.over.set()
        for thread in (*self.writers, self.counter):
            thread.join()

    def all_is_there(self) -> None:
        told = {key: value for writer in self.writers for key, value in writer.acknowledged.items()}
        for node in self.nodes:
            self.assertEqual(node.ask(b"mc - e\r\n", b"\r\n", PATIENCE_S).split()[0], b"HD")
            asked = list(told)
            for first in range(0, len(asked), 500):
                some = asked[first:first + 500]
                reply = node.ask(b"".join(b"mg %s v\r\n" % key.encode() for key in some) + b"mn\r\n", b"MN\r\n", PATIENCE_S)
                self.assertEqual(reply.split(b"\r\n")[1:-2:2], [b"%d" % told[key] for key in some], node.name)
            for i in range(0, self.filled, 17):
                key = f"{LETTERS[i % SHARDS]}.fill.{i}".encode()
                self.assertTrue(node.ask(b"mg %s s\r\nmn\r\n" % key, b"MN\r\n", PATIENCE_S).startswith(b"HD s%d" % ITEM_BYTES), key)

    def test_one_node_after_the_other(self):
        for node in self.nodes:
            self.upgrade(node)
        self.assertEqual(self.errors(), [], "no request of a client fails")
        self.assertEqual(self.counter.too_few, [])
        self.end_load()
        self.all_is_there()


if __name__ == "__main__":
    machine.main()
