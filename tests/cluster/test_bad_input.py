"""Nodes with bad input: topics that would lose data, brokers that do not answer, a map without the node, and topics with other
writers' messages. A node reports each as an error, or counts and ignores it; no reply is wrong.
"""

import contextlib
import json
import os
import re
import socket
import tempfile
import unittest
from pathlib import Path

import network
import nodes
import registries
from brokers import Brokers
from nodes import Node
from setting import machine, wait_for

CLUSTER = "ours"
OTHER = "others"
SHARDS = 2
PATIENCE_S = 90
DANGERS = {
    f"{CLUSTER}.shards": {"cleanup.policy": "compact", "retention.ms": "60000", "retention.bytes": "1000000",
                          "unclean.leader.election.enable": "true", "min.insync.replicas": "1", "max.message.bytes": "100000"},
    f"{CLUSTER}.snapshots": {"retention.ms": "60000"},
    f"{CLUSTER}.map": {"cleanup.policy": "delete", "min.insync.replicas": "1"},
}


@machine.needs(machine.long_only(), machine.missing("java", "mvn"), network.why_not())
class BadInputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.kafka = registries.python_module("confluent_kafka", Path(__file__).with_name("kafka.txt"))
        cls.admin_module = registries.python_module("confluent_kafka.admin", Path(__file__).with_name("kafka.txt"))
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.folder = Path(os.environ.get("MXKV_CLUSTER_LOGS", kept.name))
        cls.folder.mkdir(parents=True, exist_ok=True)
        cls.net = network.Network()
        cls.addClassCleanup(cls.net.close)
        cls.brokers = Brokers(Path(os.environ.get("MXKV_BROKERS", kept.name)), [cls.net.add(f"broker{n}") for n in (1, 2, 3)])
        cls.addClassCleanup(cls.brokers.stop)
        cls.a, cls.b = cls.nodes = [Node(name, cls.net.add(name), cls.folder, CLUSTER, cls.brokers.addresses) for name in "ab"]
        cls.addClassCleanup(lambda: [node.end() for node in cls.nodes])
        cls.other = Node("other", cls.net.add("other"), cls.folder, OTHER, cls.brokers.addresses)
        cls.addClassCleanup(cls.other.end)
        for members in (cls.nodes, [cls.other]):
            machine.run(machine.MXKVD, "cluster", "init", "--config", members[0].config, "--replicas", len(members), "--splits", "m",
                        "--nodes", ",".join(node.entry for node in members), timeout=120)
        cls.admin = cls.admin_module.AdminClient({"bootstrap.servers": cls.brokers.addresses})

    def configure(self, topic: str, settings: dict) -> None:
        """Sets a topic's settings; None restores the default. All brokers know of it only after a moment."""
        module = self.admin_module
        operations = module.AlterConfigOpType
        resource = module.ConfigResource(module.ResourceType.TOPIC, topic, incremental_configs=[
            module.ConfigEntry(name, value, incremental_operation=operations.SET) for name, value in settings.items()])
        self.admin.incremental_alter_configs([resource])[resource].result()

    def settings_of(self, topic: str) -> dict:
        module = self.admin_module
        resource = module.ConfigResource(module.ResourceType.TOPIC, topic)
        return {name: entry.value for name, entry in self.admin.describe_configs([resource])[resource].result().items()}

    def refusal(self, node: Node, *words, seconds: float = 60) -> str:
        """The error output of a node that refuses to start."""
        done = machine.run(*node.place.command(machine.MXKVD, "--config", node.config, *words), check=False, timeout=seconds)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stderr

    def start_all(self) -> None:
        for node in (*self.nodes, self.other):
            if not node.alive():
                node.start()
        wait_for(lambda: all(node.stats() for node in self.nodes), "all nodes answer", lambda: nodes.evidence(self.nodes))
        nodes.wait_until_served(self.nodes, SHARDS, PATIENCE_S)
        nodes.wait_until_served([self.other], SHARDS, PATIENCE_S)

    def ask(self, node: Node, request: bytes) -> bytes:
        return node.ask(request + b"mn\r\n", b"MN\r\n", seconds=10).removesuffix(b"MN\r\n")

    def test_a_topic_that_would_lose_data_is_refused_by_name(self):
        before = {topic: self.settings_of(topic) for topic in DANGERS}
        for topic, settings in DANGERS.items():
            self.configure(topic, settings)
        try:
            wait_for(lambda: all(self.settings_of(topic).items() >= settings.items() for topic, settings in DANGERS.items()),
                     "brokers that know of it")
            said = self.refusal(self.a)
        finally:
            for topic, settings in DANGERS.items():
                self.configure(topic, {name: before[topic][name] for name in settings})
        for topic, settings in DANGERS.items():
            for name, value in settings.items():
                self.assertRegex(said, rf"mxkvd: cluster ours: topic {topic}: {name} is {value}, and must be \S.+: \S.+")
        self.assertEqual(len(said.splitlines()), sum(map(len, DANGERS.values())), said)

    def test_who_is_not_of_the_cluster_is_told_so(self):
        self.assertIn("cluster ours: its map has no node z: mxkvd cluster add z=", self.refusal(self.a, "--set", "cluster.node=z"))
        self.assertIn("cluster absent: ", self.refusal(self.a, "--set", "cluster.name=absent"))

    def test_brokers_that_do_not_answer_are_told(self):
        with socket.create_server((self.net.address, 0)) as silent:  # the system accepts connections, which nobody reads
            address = f"{self.net.address}:{silent.getsockname()[1]}"
            said = self.refusal(self.a, "--set", f"cluster.brokers=[\"{address}\"]", seconds=120)
        self.assertRegex(said, r"^mxkvd: cluster ours: .*brokers")
        self.assertEqual(len(said.splitlines()), 1, said)

    def messages(self, topic: str, partition: int = 0) -> list:
        """All messages of a log."""
        reader = self.kafka.Consumer({"bootstrap.servers": self.brokers.addresses, "group.id": "test", "enable.auto.commit": False})
        with contextlib.closing(reader):
            _, end = reader.get_watermark_offsets(self.kafka.TopicPartition(topic, partition), timeout=20)
            reader.assign([self.kafka.TopicPartition(topic, partition, 0)])
            found = []
            while not found or found[-1].offset() + 1 < end:
                message = reader.poll(20)
                self.assertIsNotNone(message, f"{len(found)} of {end} messages")
                self.assertIsNone(message.error())
                found.append(message)
            return found

    def produce(self, topic: str, messages: list, **more) -> None:
        """Writes messages, each (key, value)."""
        producer = self.kafka.Producer({"bootstrap.servers": self.brokers.addresses, **more})
        for key, value in messages:
            producer.produce(topic, value=value, key=key, partition=0, on_delivery=lambda error, _: self.assertIsNone(error))
        self.assertEqual(producer.flush(30), 0)

    def test_what_others_write_into_a_shards_log_is_counted_and_left_out(self):
        self.start_all()
        for number in range(50):
            self.assertEqual(self.ask(self.a, b"set key%d 0 0 3\r\nold\r\n" % number), b"STORED\r\n")
        self.assertEqual(self.ask(self.other, b"set key1 0 0 5\r\nother\r\n"), b"STORED\r\n")
        ours = [message.value() for message in self.messages(f"{CLUSTER}.shards")]
        theirs = [message.value() for message in self.messages(f"{OTHER}.shards")]
        for number in range(50):
            self.assertEqual(self.ask(self.a, b"set key%d 0 0 3\r\nnew\r\n" % number), b"STORED\r\n")
        owner = next(node for node in self.nodes if 0 in node.serves())
        follower, = (node for node in self.nodes if node is not owner)
        before = {node.name: node.stats() for node in self.nodes}
        junk = [b"", b"x", b"MXG1", os.urandom(1000), bytes(100_000)]
        torn = [ours[-1][:-1], ours[-1][:20], ours[-1] + b"x", bytes([*ours[-1][:-1], ours[-1][-1] ^ 1])]
        foreign = theirs[:]
        repeated = ours[:]  # claims, groups and beats, as an ousted owner would write them
        self.produce(f"{CLUSTER}.shards", [(None, value) for value in [*junk, *torn, *foreign, *repeated]])

        def counted(node: Node, name: str) -> int:
            return int(node.stats()[f"shard:0:{name}"]) - int(before[node.name][f"shard:0:{name}"])

        for node in self.nodes:
            # An owner reads its log only where it finds a gap, which its next message shows.
            wait_for(lambda node=node: counted(node, "discarded_messages") == len(junk) + len(torn) + len(foreign)
                     and counted(node, "void_messages") >= len(repeated), "all are counted", lambda: nodes.evidence(self.nodes))
        for number in range(50):
            for node in self.nodes:
                self.assertEqual(self.ask(node, b"get key%d\r\n" % number), b"VALUE key%d 0 3\r\nnew\r\nEND\r\n" % number)
        self.assertEqual(self.ask(follower, b"set key1 0 0 4\r\nlast\r\n"), b"STORED\r\n")
        self.assertEqual(owner.stats()["shard:0:term"], before[owner.name]["shard:0:term"], "nobody took it away")
        # A node that reads the whole log from the beginning comes to the same state.
        self.assertEqual(follower.end(), 0)
        follower.start()
        self.start_all()
        wait_for(lambda: follower.stats().get("shard:0:position") == owner.stats()["shard:0:position"], "it has all",
                 lambda: nodes.evidence(self.nodes), PATIENCE_S)
        self.assertEqual(owner.end(), 0)
        wait_for(lambda: 0 in follower.serves(), "the other one serves", lambda: nodes.evidence(self.nodes), PATIENCE_S)
        self.assertEqual(self.ask(follower, b"get key1 key49\r\n"), b"VALUE key1 0 4\r\nlast\r\nVALUE key49 0 3\r\nnew\r\nEND\r\n")

    def test_what_others_write_on_the_board_and_among_snapshots_is_left_out(self):
        self.start_all()
        self.assertEqual(self.ask(self.a, b"set board 0 0 1\r\n1\r\n"), b"STORED\r\n")
        board = {message.key(): message.value() for message in self.messages(f"{CLUSTER}.map")}
        newest = max((key for key in board if key.startswith(b"map/")), key=lambda key: int(key.split(b"/")[1]))
        version = int(newest.split(b"/")[1])
        strange = json.loads(board[newest])
        strange["version"] = version + 1
        strange["shards"][0]["replicas"] = ["nobody"]
        strangers = [
            (b"map/%d/f" % (version + 1), json.dumps(strange).encode()), (b"map/%d/e" % (version + 1), b"{"), (b"map/0/0", b"{}"),
            (b"map/99999999999999999999/0", b"{}"), (b"node/a", b"junk"), (b"node/nobody", b"[]"), (b"node/", b""),
            (b"snapshot/0", b"junk"), (b"snapshot/77", b"{}"), (b"\xff\xfe", b"\x00"), (b"", b""), (b"x", None)]
        self.produce(f"{CLUSTER}.map", strangers)
        self.produce(f"{CLUSTER}.snapshots", [(None, b"junk"), (None, b"")])
        status = machine.run(machine.MXKVD, "cluster", "status", "--config", self.a.config, timeout=60).stdout
        self.assertIn(f"cluster {CLUSTER}, map {version}: ", status)
        for node in self.nodes:
            wait_for(lambda node=node: node.stats().get("board_left_out") == str(len(strangers)), "all are counted",
                     lambda: nodes.evidence(self.nodes))
            self.assertRegex(node.log.read_text(encoding="utf-8", errors="replace"),
                             r"warning cluster ours: ignored records on the metadata topic: \S.*: \S")
            self.assertEqual(node.stats()["map_version"], str(version))
            self.assertEqual(self.ask(node, b"get board\r\n"), b"VALUE board 0 1\r\n1\r\nEND\r\n")
            self.assertTrue(node.alive())
        # The next change of the map takes the version of the invalid map.
        to, = (node for node in self.nodes if node.name != strange["shards"][0]["prefers"])
        machine.run(machine.MXKVD, "cluster", "move", "--config", self.a.config, 0, to.name, timeout=60)
        wait_for(lambda: 0 in to.serves(), "it has moved", lambda: nodes.evidence(self.nodes), PATIENCE_S)
        self.assertIsNone(re.search(rb"ERROR", self.ask(self.a, b"set board 0 0 1\r\n2\r\n")))

    def test_who_writes_by_transactions_makes_a_hole_that_is_told(self):
        """The end marker of a transaction has a place in the log but cannot be read: to a node it looks like a compacted message."""
        self.start_all()
        self.assertEqual(self.ask(self.other, b"set zebra 0 0 1\r\n1\r\n"), b"STORED\r\n")
        writer = self.kafka.Producer({"bootstrap.servers": self.brokers.addresses, "transactional.id": "stranger"})
        writer.init_transactions(60)
        writer.begin_transaction()
        writer.produce(f"{OTHER}.shards", value=b"x", partition=1)
        # An open transaction blocks no node.
        self.assertEqual(writer.flush(30), 0)
        self.assertEqual(self.ask(self.other, b"set zebra 0 0 1\r\n2\r\nget zebra\r\n"), b"STORED\r\nVALUE zebra 0 1\r\n2\r\nEND\r\n")
        writer.commit_transaction(30)
        wait_for(lambda: self.other.stats()["shard:1:role"] not in ("serves", "owns"), "it is given up", lambda: nodes.evidence([self.other]))
        self.assertIn("or has a hole, as compaction and other programs' transactions leave",
                      self.other.log.read_text(encoding="utf-8", errors="replace"))
        self.assertEqual(self.asked_until_told(b"get zebra\r\n"), b"SERVER_ERROR shard 1 has no owner\r\n")
        self.assertEqual(self.asked_until_told(b"set apple 0 0 1\r\n1\r\n"), b"STORED\r\n", "the other shard is as it was")

    def asked_until_told(self, request: bytes) -> bytes:
        """Asks until there is a reply: the node closes waiting connections each time that it tries the shard again."""
        def told() -> bytes:
            try:
                return self.ask(self.other, request)
            except OSError:
                return b""

        return wait_for(told, "an answer", lambda: nodes.evidence([self.other]))


if __name__ == "__main__":
    machine.main()
