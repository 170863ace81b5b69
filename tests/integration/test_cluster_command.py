"""`mxkvd cluster` and a node's options without any broker: the refused arguments and the exact words; and that the options of the
compose file's nodes fit each other."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import environment, mxkv_only, patience

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "docker" / "compose-cluster.yaml"
HERE = ("--name", "shop", "--brokers", "127.0.0.1:1")


@mxkv_only("its commands")
class ClusterCommandTest(unittest.TestCase):
    def refused(self, *arguments: str) -> str:
        done = subprocess.run([environment.MXKVD, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=patience(60),
                              check=False)
        if "built without librdkafka" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        return done.stderr.removeprefix("mxkvd: ").strip()

    def test_what_is_missing_or_wrong_is_named_before_a_broker_is_asked(self):
        self.assertEqual(self.refused("cluster", "status"),
                         "no cluster is named (allowed: --name, or --config with cluster.name)")
        self.assertEqual(self.refused("cluster", "status", "--name", "shop"),
                         "no broker is named (allowed: --brokers, or --config with cluster.brokers)")
        self.assertEqual(self.refused("cluster", "status", "--name", "a b", "--brokers", "x:1"),
                         '--name: "a b" is not a name (allowed: at most 100 letters, digits, . _ -, or none)')
        self.assertIn('"x" is not a broker (allowed: host:port', self.refused("cluster", "status", "--name", "s", "--brokers", "x"))
        self.assertIn('"a" is not a node (allowed: NAME=PEER or NAME=PEER=ADDRESS',
                      self.refused("cluster", "init", *HERE, "--nodes", "a"))
        self.assertEqual(self.refused("cluster", "init", *HERE, "--nodes", "a=10.0.0.1:1"),
                         "each shard needs 2 replicas, but there are only 1 nodes")
        self.assertIn("shards[2].from: is not greater than the one of shard 1",
                      self.refused("cluster", "init", *HERE, "--replicas", "1", "--nodes", "a=10.0.0.1:1", "--splits", "m,c"))
        for splits in ("a,,c", ",a", "a,"):
            self.assertIn(f'of "{splits}" is empty (allowed: keys with one comma between them)',
                          self.refused("cluster", "init", *HERE, "--replicas", "1", "--nodes", "a=10.0.0.1:1", "--splits", splits))
        self.assertEqual(self.refused("cluster", "changes", *HERE, "--from", "3"),
                         "--from: is a position in the log of one shard (allowed: together with --shard)")
        self.assertIn("is out of range (allowed: 500ms to 1min)", self.refused("cluster", "lease", *HERE, "100ms"))
        self.assertIn(" excludes --", self.refused("cluster", "init", *HERE, "--nodes", "a=b:1", "--splits", "m",
                                                        "--shards", "2"))
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as sample:
            sample.write("one\ntwo\n")
            sample.flush()
            self.assertEqual(self.refused("cluster", "init", *HERE, "--nodes", "a=10.0.0.1:1", "--from-keys", sample.name),
                             f"{sample.name}: has 2 different keys, too few for 24 shards")
        self.assertEqual(self.refused("cluster", "init", *HERE, "--nodes", "a=10.0.0.1:1", "--from-keys", "/none"),
                         "/none: cannot be read")

    def test_properties_that_are_none_are_named(self):
        self.assertIn("cluster.properties: no.such.thing",
                      self.refused("cluster", "status", *HERE, "--set", "cluster.properties.no.such.thing=1"))
        self.assertIn("acks must not be set", self.refused("cluster", "status", *HERE, "--set", "cluster.properties.acks=1"))


@mxkv_only("its options")
class ComposeTest(unittest.TestCase):
    def options(self, node: str) -> dict:
        """The environment of the node's service, from the file's own lines."""
        def block(name: str) -> str:
            return re.search(rf"(?ms)^( *){name}:[^\n]*\n((?:\1 +[^\n]*\n)+)", COMPOSE.read_text(encoding="utf-8")).group(2)
        pairs = re.findall(r"(?m)^ +(MXKVD_\w+): (.*)$", block("x-node") + block(f"mxkvd-{node}"))
        return {name: re.sub(r"\$\{\w+:-(\w+)\}", r"\1", value.strip('"')) for name, value in pairs}

    def test_each_node_has_options_that_a_node_needs(self):
        peers = set()
        for node in "abc":
            options = self.options(node)
            self.assertEqual((options["MXKVD_CLUSTER__NODE"], options["MXKVD_CLUSTER__NAME"]), (node, "shop"))
            peers.add(f"{node}={options['MXKVD_CLUSTER__PEER']}={options['MXKVD_CLUSTER__ADDRESS']}")
            with tempfile.TemporaryDirectory() as folder:
                # The image writes the file so; the daemon checks that all of it fits.
                config = Path(folder, "mxkv.yaml")
                config.write_text('listeners: ["0.0.0.0:11211"]\ndurability: {directory: /var/lib/mxkv, sync: never}\n',
                                  encoding="utf-8")
                stand_in = Path(folder, "mxkvd")
                stand_in.write_text(f'#!/bin/sh\nexec {environment.MXKVD} print-config --effective "$@"\n', encoding="utf-8")
                stand_in.chmod(0o755)
                variables = {"PATH": f"{folder}:{os.environ['PATH']}", "MXKVD_CONFIG": str(config), **options}
                done = subprocess.run([shutil.which("bash"), ROOT / "docker" / "entrypoint"], env=variables, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(f"node: {node} ", done.stdout)
        text = COMPOSE.read_text(encoding="utf-8")
        self.assertEqual(set(re.search(r"--nodes=(\S+)", text).group(1).split(",")), peers)

    def test_brokers_and_addresses_are_the_same_everywhere(self):
        text = COMPOSE.read_text(encoding="utf-8")
        brokers = re.findall(r"ADVERTISED_LISTENERS: PLAINTEXT://(\S+)", text)
        self.assertEqual(len(brokers), 3)
        self.assertIn("--brokers=" + ",".join(brokers), text)
        self.assertEqual(self.options("a")["MXKVD_CLUSTER__BROKERS"], f"[{', '.join(brokers)}]")
        own = re.findall(r"ipv4_address: ([0-9.]+)", text)
        self.assertEqual(len(set(own)), 6)
        self.assertLessEqual({broker.partition(":")[0] for broker in brokers}, set(own))
        for node in "abc":
            self.assertIn(self.options(node)["MXKVD_CLUSTER__PEER"].partition(":")[0], own)


if __name__ == "__main__":
    unittest.main()
