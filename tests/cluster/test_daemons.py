"""A cluster of three mxkvd over three brokers, each in a network namespace of its own, that are killed, stopped and cut off.

Meanwhile sixteen clients, spread over the nodes, get, set, cas, incr and delete. In the end every acknowledged write of a
key that is set once is there, and the replies for all other keys are linearizable, by both judges.
MXKV_KILL_ROUNDS and MXKV_PARTITION_ROUNDS set the number of rounds (3 and 2), MXKV_KILL_SEED their order, MXKV_BROKERS the
directory for the brokers' files, MXKV_CLUSTER_LOGS the directory for the nodes' logs and the histories.
"""

import bisect
import json
import os
import random
import signal
import tempfile
import time
import unittest
from pathlib import Path

import history
import network
import nodes
from brokers import Brokers
from clients import Memcached
from nodes import Node
from setting import machine, wait_for

KILL_ROUNDS = int(os.environ.get("MXKV_KILL_ROUNDS", "3"))
PARTITION_ROUNDS = int(os.environ.get("MXKV_PARTITION_ROUNDS", "2"))
SEED = os.environ.get("MXKV_KILL_SEED", "1")
CLIENTS = 16
SPLITS = ["k01", "k02", "k05", "k06", "n"]  # so that each shard has some of the keys of history.Keys
SHARDS = len(SPLITS) + 1
RECOVERY_S = 90  # limit until all shards are served again after a round; far more than that takes, less than a hang

KILLS = ["kill owner", "stop owner", "kill leading broker", "kill two brokers", "kill follower", "stop follower",
         "stop leading broker"]
CUTS = ["owner from brokers", "owner from all", "owner's sending to brokers", "brokers' sending to owner",
        "a broker from brokers", "follower from brokers", "owner from nodes", "all brokers from each other"]


def shard_of(key: str) -> int:
    return bisect.bisect_right(SPLITS, key)


@machine.needs(machine.long_only(), machine.missing("java", "mvn"), network.why_not())
class DaemonsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.folder = Path(os.environ.get("MXKV_CLUSTER_LOGS", kept.name))
        cls.folder.mkdir(parents=True, exist_ok=True)
        cls.network = network.Network()
        cls.addClassCleanup(cls.network.close)
        cls.broker_places = [cls.network.add(f"broker{n}") for n in (1, 2, 3)]
        cls.node_places = {name: cls.network.add(name) for name in "abc"}
        cls.brokers = Brokers(Path(os.environ.get("MXKV_BROKERS", kept.name)), cls.broker_places)
        cls.addClassCleanup(cls.brokers.stop)

    def set_up_cluster(self, name: str, clocks: dict | None = None) -> None:
        self.name = name
        self.dice = random.Random(f"{SEED} {name}")
        self.nodes = [Node(node, place, self.folder, name, self.brokers.addresses, (clocks or {}).get(node, ""))
                      for node, place in self.node_places.items()]
        self.addCleanup(lambda: [node.end() for node in self.nodes])
        # The brokers need some seconds to start; the command waits for them.
        machine.run(machine.MXKVD, "cluster", "init", "--config", self.nodes[0].config, "--replicas", 3,
                    "--splits", ",".join(SPLITS), "--nodes", ",".join(node.entry for node in self.nodes), timeout=120)
        for node in self.nodes:
            node.start()
        nodes.wait_until_served(self.nodes, SHARDS, RECOVERY_S)

    def set_up_clients(self) -> None:
        self.history, self.keys = history.History(), history.Keys()
        addresses = [node.address for node in self.nodes]
        # Every other client waits longer than an owner is stopped: it receives late replies.
        self.clients = [
            history.Client(self.history, Memcached(addresses, first=n, timeout=3 if n % 2 else 25, seed=n), n, self.keys,
                           pause=0.015) for n in range(1, CLIENTS + 1)]
        prefixes = {shard_of(prefix): prefix for prefix in self.keys.prefixes}
        self.probers = [history.Prober(self.history, Memcached(addresses, first=shard, timeout=0.5, seed=shard), 100 + shard,
                                       prefixes[shard]) for shard in range(SHARDS)]
        self.clients += self.probers
        self.clients += [history.Reader(self.history, Memcached([node.stale_address], timeout=3, seed=number), 200 + number, self.keys,
                                        nodes.STALENESS_S) for number, node in enumerate(self.nodes)]
        self.addCleanup(lambda: [client.over.set() for client in self.clients])
        for client in self.clients:
            client.start()

    def owner_of(self, shard: int) -> Node:
        """The shard's current owner; waits while the owner changes."""
        return wait_for(lambda: next((node for node in self.nodes if node.alive() and shard in node.serves()), None),
                        f"an owner of shard {shard}", lambda: nodes.evidence(self.nodes), RECOVERY_S)

    def kill(self, what: str) -> str:
        """One round; returns a description."""
        shard = self.dice.randrange(SHARDS)
        owner = self.owner_of(shard)
        node = owner if "owner" in what else self.dice.choice([one for one in self.nodes if one is not owner])
        if "broker" in what:
            leader = self.brokers.leader(f"{self.name}.shards", shard)
            self.assertIn(leader, (1, 2, 3))
            chosen = [leader] if "two" not in what else [leader, self.dice.choice([n for n in (1, 2, 3) if n != leader])]
            for n in chosen:
                self.brokers.kill(n) if "kill" in what else self.brokers.send(n, signal.SIGSTOP)
            time.sleep(self.dice.uniform(1, 10))
            for n in chosen:
                self.brokers.start(n) if "kill" in what else self.brokers.send(n, signal.SIGCONT)
            return f"{what} {' and '.join(map(str, chosen))}"
        served = f"{node.name}, which serves {sorted(node.serves())}"
        if "kill" in what:
            node.kill()
            time.sleep(self.dice.uniform(0, 6))
            node.start()
        else:
            node.stop()
            time.sleep(self.dice.uniform(1, 20))
            node.go_on()
        return f"{what}: {served}"

    def cut(self, what: str) -> str:
        shard = self.dice.randrange(SHARDS)
        owner = self.owner_of(shard)
        others = [node.place for node in self.nodes if node is not owner]
        node = owner.place if "owner" in what else self.dice.choice(others)
        brokers = self.broker_places
        text = f"{what}: {owner.name} serves {sorted(owner.serves())}"
        if what in ("owner from brokers", "follower from brokers", "brokers' sending to owner"):
            node.drop_from(*brokers)
        if what in ("owner from brokers", "follower from brokers", "owner's sending to brokers"):
            for broker in brokers:
                broker.drop_from(node)
        if what == "owner from all":
            node.link(False)
        if what == "owner from nodes":
            for other in others:
                node.blackhole(other)
                other.drop_from(node)
        if what == "a broker from brokers":
            alone = brokers[self.brokers.leader(f"{self.name}.shards", shard) - 1]
            for other in brokers:
                if other is not alone:
                    alone.drop_from(other)
                    other.drop_from(alone)
        if what == "all brokers from each other":
            for broker in brokers:
                broker.drop_from(*(other for other in brokers if other is not broker))
        time.sleep(self.dice.uniform(2, 15))
        self.network.heal()
        return text

    def run_rounds(self, harm, kinds: list, rounds: int) -> None:
        self.set_up_clients()
        slowest = {}
        turn = 0
        while turn < rounds:
            for what in (kinds if turn == 0 else self.dice.sample(kinds, len(kinds)))[:rounds - turn]:
                time.sleep(self.dice.uniform(1, 2))
                begin_ns = time.monotonic_ns()
                said = harm(what)
                healed_ns = time.monotonic_ns()
                nodes.wait_until_served(self.nodes, SHARDS, RECOVERY_S)
                wait_for(lambda: all(prober.moments and prober.moments[-1] > healed_ns for prober in self.probers),
                         f"a write of each shard behind round {turn}: {said}", lambda: nodes.evidence(self.nodes), RECOVERY_S)
                end_ns = time.monotonic_ns()
                outages = [prober.longest_gap(begin_ns, end_ns) for prober in self.probers]
                slowest[what] = max(slowest.get(what, 0), *outages)
                print(f"{self.name} {turn}: {said}; for {(healed_ns - begin_ns) / 1e9:.1f} s; no write was acknowledged for "
                      + " ".join(f"{seconds:.1f}" for seconds in outages) + " s, by shard", flush=True)
                turn += 1
        by_replicas = sum(int(node.stats().get("replica_reads", 0)) for node in self.nodes)
        print(f"{self.name}: reads that replicas answered, since their nodes began: {by_replicas}", flush=True)
        self.assertGreater(by_replicas, 0)
        self.judge()
        print(f"{self.name}: longest time without a write: "
              + ", ".join(f"{what} {seconds:.1f} s" for what, seconds in slowest.items()), flush=True)

    def missing_in_feed(self) -> list:
        """Keys with an acknowledged set for which `mxkvd cluster changes` shows no put, or another value."""
        lines = machine.run(machine.MXKVD, "cluster", "changes", "--config", self.nodes[0].config, "--idle", 3, timeout=120).stdout
        fed = {change["key"]: change["value"] for change in map(json.loads, lines.splitlines()) if change["change"] == "put"}
        told = {key: number for client in self.clients for key, number in client.told.items()}
        return [key for key, number in told.items() if fed.get(key) != str(number)]

    def judge(self) -> None:
        time.sleep(2)
        history.finish(self.keys, self.clients)
        lost = history.read_all(self.history, Memcached([node.address for node in self.nodes], timeout=10), self.keys,
                                self.clients)
        path = self.history.save(self.folder / f"{self.name}.history")
        told = sum(len(client.told) for client in self.clients)
        print(f"{self.name}: writes: {self.history.count('ok', True)} acknowledged, {self.history.count('failed', True)} refused, "
              f"{self.history.count('unknown', True)} of unknown outcome; of {told} keys that were set once {len(lost)} are lost",
              flush=True)
        for text, count in sorted(self.history.texts().items(), key=lambda pair: -pair[1])[:12]:
            print(f"    {count} times {text}", flush=True)
        self.assertEqual(lost, [], nodes.evidence(self.nodes))
        self.assertEqual(self.missing_in_feed(), [], "the change feed tells of what is there")
        for judge, (explained, text) in history.judged(path).items():
            print(f"{self.name}: {judge}: {text.splitlines()[-1]}", flush=True)
            self.assertTrue(explained, f"{judge}: {text}{nodes.evidence(self.nodes)}")
        self.assertGreater(self.history.count("ok", True), 500)
        for node in self.nodes:
            self.assertEqual(node.end(), 0, node.log_end(40))

    def test_killed_and_stopped(self):
        self.set_up_cluster("kills")
        self.run_rounds(self.kill, KILLS, KILL_ROUNDS)

    def test_cut_off(self):
        self.set_up_cluster("cuts")
        self.run_rounds(self.cut, CUTS, PARTITION_ROUNDS)

    @machine.needs("" if nodes.FAKETIME else "not installed: faketime")
    def test_clocks_that_differ(self):
        """One clock is slow, one is fast, by more than real clocks are; the third one's date jumps."""
        self.set_up_cluster("clocks", {"a": "+0 x0.95", "b": "+0 x1.05", "c": "+0"})

        def harm(what: str) -> str:
            self.nodes[2].set_clock(f"{self.dice.choice('+-')}{self.dice.randrange(1, 100_000)}")
            return self.kill(what)

        self.run_rounds(harm, ["stop owner", "kill owner"], (KILL_ROUNDS + 1) // 2)


if __name__ == "__main__":
    machine.main()
