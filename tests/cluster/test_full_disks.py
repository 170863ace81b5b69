"""The disks of one broker and then of another fill up: writes go on with two of three brokers, wait while there is one, and
go on again when there is room. All acknowledged writes are there, whatever happened to the logs that hold them.
"""

import os
import tempfile
import unittest
from pathlib import Path

import network
import nodes
from brokers import Brokers
from clients import Line
from nodes import Node
from setting import machine, wait_for

SHARDS = 2
DISKS_MIB = {1: 80, 2: 130}  # size of each broker's disk; the third broker has enough
ROOM_MIB = 600
VALUE = 8 << 10
MOST = 25_000  # most writes in all: more than both disks hold
PATIENCE_S = 120
CLUSTER = "full"


def key_of(number: int) -> bytes:
    return b"%s%07d" % ((b"a", b"z")[number % 2], number)  # alternates between both shards


def value_of(number: int) -> bytes:
    return (b"%07d." % number) * (VALUE // 8)


@machine.needs(machine.long_only(), machine.missing("java", "mvn"), network.why_not())
class FullDisksTest(unittest.TestCase):
    def setUp(self) -> None:
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = Path(os.environ.get("MXKV_CLUSTER_LOGS", kept.name))
        self.folder.mkdir(parents=True, exist_ok=True)
        directory = Path(os.environ.get("MXKV_BROKERS", kept.name))
        for n, size in DISKS_MIB.items():
            self.disk(directory, n).mkdir(parents=True, exist_ok=True)
            machine.run("mount", "-t", "tmpfs", "-o", f"size={size}m", "mxkv-test", self.disk(directory, n))
            self.addCleanup(machine.run, "umount", "--lazy", self.disk(directory, n))
        net = network.Network()
        self.addCleanup(net.close)
        self.brokers = Brokers(directory, [net.add(f"broker{n}") for n in (1, 2, 3)])
        self.addCleanup(self.brokers.stop)
        self.nodes = [Node(name, net.add(name), self.folder, CLUSTER, self.brokers.addresses) for name in "ab"]
        self.addCleanup(lambda: [node.end() for node in self.nodes])
        machine.run(machine.MXKVD, "cluster", "init", "--config", self.nodes[0].config, "--replicas", 2, "--splits", "m", "--nodes",
                    ",".join(node.entry for node in self.nodes), timeout=120)
        for node in self.nodes:
            node.start()
        nodes.wait_until_served(self.nodes, SHARDS, PATIENCE_S)
        self.acknowledged = []
        self.refused = set()

    @staticmethod
    def disk(directory: Path, n: int) -> Path:
        return directory / str(n)

    def write(self, number: int, seconds: float = 60) -> bool:
        """Writes one key; returns whether it was acknowledged, and keeps any other reply."""
        line = None
        try:
            line = Line(self.nodes[number // 2 % 2].address, seconds)
            line.send(b"set %s 0 0 %d\r\n%s\r\n" % (key_of(number), VALUE, value_of(number)))
            if (said := line.line()) == b"STORED":
                self.acknowledged.append(number)
                return True
            self.refused.add(said)
        except OSError as error:
            self.refused.add(type(error).__name__.encode())
        finally:
            if line is not None:
                line.close()
        return False

    def write_until_gone(self, number: int, broker: int) -> int:
        """Writes until the broker has ended because its disk is full; returns the next number."""
        while self.brokers.runs(broker):
            self.assertLess(number, MOST, f"broker {broker} goes on without a disk")
            self.write(number)
            number += 1
        return number

    def all_is_there(self) -> None:
        for node in self.nodes:
            line = Line(node.address, PATIENCE_S)
            for number in self.acknowledged:
                line.send(b"get %s\r\n" % key_of(number))
                self.assertEqual(line.line(), b"VALUE %s 0 %d" % (key_of(number), VALUE), node.name)
                self.assertEqual(line.block(VALUE), value_of(number))
                self.assertEqual(line.line(), b"END")
            line.close()

    def evidence(self) -> str:
        return f"{self.refused}{nodes.evidence(self.nodes)}"

    def test_nothing_acknowledged_is_lost(self):
        number = self.write_until_gone(0, 1)
        wait_for(lambda: self.write(number), "a write by two brokers", self.evidence, PATIENCE_S)
        self.all_is_there()
        by_three = len(self.acknowledged)
        number = self.write_until_gone(number + 1, 2)
        self.assertGreater(len(self.acknowledged), by_three)
        by_two = len(self.acknowledged)
        for again in range(4):
            self.assertFalse(self.write(number + again, 3), "one broker of three is not in sync with another")
        self.assertEqual(len(self.acknowledged), by_two)
        for n in DISKS_MIB:
            machine.run("mount", "-o", f"remount,size={ROOM_MIB}m", self.disk(self.brokers.directory, n))
            self.brokers.start(n)
        wait_for(lambda: self.write(number + 10), "a write when there is room again", self.evidence, PATIENCE_S)
        nodes.wait_until_served(self.nodes, SHARDS, PATIENCE_S)
        self.all_is_there()
        print(f"{len(self.acknowledged)} writes were acknowledged, {by_three} before the first disk was full, {by_two} before the second; "
              f"others were told {sorted(self.refused)}", flush=True)
        self.assertEqual([node.end() for node in self.nodes], [0, 0], self.evidence())


if __name__ == "__main__":
    machine.main()
