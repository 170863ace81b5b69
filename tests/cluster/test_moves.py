"""A cluster of three mxkvd, and a fourth that joins, whose shards move while mxkv-ycsb runs workloads A and E. The nodes speak
TLS to each other.

The test moves shards by `mxkvd cluster move`, restarts the nodes one after the other, adds a fourth node, which takes shards,
and drains one. No request to a node that stays may fail. The test prints the p99 of all requests meanwhile, but asserts no bound
on it.
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import network
import nodes
from brokers import Brokers
from clients import Line
from nodes import Node
from setting import Authority, machine, wait_for

YCSB = os.environ.get("MXKV_YCSB", "")
RECORDS = 20_000
SPLITS = ["user2", "user4", "user6", "user8"]
SHARDS = len(SPLITS) + 1
PATIENCE_S = 180
LOAD_BYTES = 60_000  # requests are 150 bytes at most; the load sends so much before and after the event under test
CLUSTER = "moves"


@machine.needs(machine.long_only(), machine.missing("java", "mvn"), network.why_not())
class MovesTest(unittest.TestCase):
    def setUp(self) -> None:
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = Path(os.environ.get("MXKV_CLUSTER_LOGS", kept.name))
        self.folder.mkdir(parents=True, exist_ok=True)
        net = network.Network()
        self.addCleanup(net.close)
        broker_places = [net.add(f"broker{n}") for n in (1, 2, 3)]
        places = {name: net.add(name) for name in "abcd"}
        brokers = Brokers(Path(os.environ.get("MXKV_BROKERS", kept.name)), broker_places)
        self.addCleanup(brokers.stop)
        authority = Authority(self.folder)
        self.a, self.b, self.c, self.d = self.all = [
            Node(name, place, self.folder, CLUSTER, brokers.addresses, authority=authority) for name, place in places.items()]
        self.addCleanup(lambda: [node.end() for node in self.all])
        self.cluster("init", "--replicas", 2, "--splits", ",".join(SPLITS), "--nodes",
                     ",".join(node.entry for node in self.all[:3]))
        for node in self.all[:3]:
            node.start()
        self.wait_until_settled()

    def cluster(self, *words) -> str:
        return machine.run(machine.MXKVD, "cluster", words[0], "--config", self.a.config, *words[1:], timeout=120).stdout

    def running(self) -> list:
        return [node for node in self.all if node.alive()]

    def wait_until_settled(self) -> None:
        """Waits until each shard has an owner, and all copies follow."""
        def roles() -> list:
            return [value for node in self.running() for name, value in node.stats().items() if name.endswith(":role")]

        nodes.wait_until_served(self.running(), SHARDS, PATIENCE_S)
        wait_for(lambda: sorted(roles()) == ["follows"] * SHARDS + ["serves"] * SHARDS, "all copies follow", lambda: nodes.evidence(self.running()), PATIENCE_S)

    def ycsb(self, command: str, via: Node, *words) -> list:
        return [str(word) for word in (YCSB, command, "--server", f"{via.address[0]}:{via.address[1]}", "--recordcount", RECORDS,
                                       "--fieldcount", 1, "--status-interval", 0, *words)]

    @staticmethod
    def bytes_read(node: Node) -> int:
        """Bytes of requests that the node has received; 0 if it does not answer."""
        try:
            line = Line(node.address, 5)
        except OSError:
            return 0
        read = 0
        try:
            line.send(b"stats\r\n")
            while (text := line.line()).startswith(b"STAT "):
                if text.startswith(b"STAT bytes_read "):
                    read = int(text.split(b" ")[2])
        except (OSError, ValueError):
            pass
        line.close()
        return read

    def await_load(self, via: Node, started: subprocess.Popen, what: str) -> None:
        """Waits until the load has sent LOAD_BYTES more."""
        before = wait_for(lambda: self.bytes_read(via), f"an answer of {via.name}", seconds=PATIENCE_S)
        wait_for(lambda: started.poll() is not None or self.bytes_read(via) >= before + LOAD_BYTES, f"{what}: load",
                 lambda: nodes.evidence(self.running()), PATIENCE_S)

    @contextlib.contextmanager
    def load_on(self, via: Node, workload: str, what: str):
        """Runs the block under load; no request of the load may fail."""
        result = self.folder / f"{workload}.json"
        result.unlink(missing_ok=True)
        started = subprocess.Popen(
            self.ycsb("run", via, "--workload", workload, "--operationcount", 0, "--maxexecutiontime", 600, "--connections", 8,
                      "--depth", 4, "--target", 2000 if workload == "a" else 500, "--json", result),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(started.communicate)
        self.addCleanup(started.kill)
        self.await_load(via, started, what)
        begin = time.monotonic()
        yield
        seconds = time.monotonic() - begin
        self.await_load(via, started, what)
        self.assertIsNone(started.poll(), f"{what}: the load ended by itself")
        started.send_signal(signal.SIGINT)
        said = started.communicate(timeout=PATIENCE_S)[0]
        told = json.loads(result.read_text(encoding="utf-8"))
        done = told["operations"]
        print(f"{what}, workload {workload}: {seconds:.1f} s, {done} operations, "
              + ", ".join(f"{name.lower()} p99 {one['latency']['p99_us'] / 1000:.0f} ms, most {one['latency']['max_ns'] / 1e6:.0f} ms"
                          for name, one in told["results"].items() if one["ok"] > 0), flush=True)
        self.assertGreater(done, 500, said)
        self.assertEqual(told["failures"], 0, said[-2000:] + nodes.evidence(self.running()))
        self.assertEqual(started.returncode, 128 + signal.SIGINT, said)

    def owner_of(self, shard: int) -> Node:
        return wait_for(lambda: next((node for node in self.running() if shard in node.serves()), None), f"an owner of shard {shard}",
                        seconds=PATIENCE_S)

    def move_all(self) -> None:
        """Moves each shard to the next node."""
        for shard in range(SHARDS):
            owner = self.owner_of(shard)
            to = self.all[(self.all.index(owner) + 1) % 3]
            self.cluster("move", shard, to.name)
            wait_for(lambda: shard in to.serves(), f"shard {shard} at {to.name}", lambda: nodes.evidence(self.running()), PATIENCE_S)

    def start_anew(self, *which: Node) -> None:
        for node in which:
            self.assertEqual(node.end(), 0, node.log_end(40))
            node.start()
            self.wait_until_settled()

    def test_no_request_fails(self):
        machine.run(*self.ycsb("load", self.b, "--connections", 8, "--depth", 16), timeout=300)
        for workload in "ae":
            with self.load_on(self.a, workload, "each shard moves"):
                self.move_all()
            with self.load_on(self.a, workload, "two nodes start anew"):
                self.start_anew(self.b, self.c)
            with self.load_on(self.b, workload, "the third node starts anew"):
                self.start_anew(self.a)
        with self.load_on(self.a, "a", "a fourth node joins and takes two shards"):
            self.cluster("add", self.d.entry)
            self.d.start()
            for shard in (0, 3):
                self.cluster("move", shard, "d")
            wait_for(lambda: self.d.serves() >= {0, 3}, "two shards at d", lambda: nodes.evidence(self.running()), PATIENCE_S)
        with self.load_on(self.d, "e", "a node is drained and ends"):
            self.cluster("drain", "c")
            wait_for(lambda: not self.c.serves(), "c has nothing left", lambda: nodes.evidence(self.running()), PATIENCE_S)
            self.assertEqual(self.c.end(), 0, self.c.log_end(40))
            self.cluster("remove", "c")
        self.wait_until_settled()


if __name__ == "__main__":
    machine.main()
