#!/usr/bin/env python3
"""One shard on three nodes over three real brokers, which are killed and stopped round after round: no acknowledged
write is lost, and a chain of sets explains all replies.

Each set returns the number that it found, and no number is written twice. So the valid sets form one chain per key: a fork, or
an end that differs from the nodes' value, is a lost or doubled write. With MXKV_TEST_LONG=1; MXKV_KILL_ROUNDS sets the number of
rounds (20), MXKV_BROKERS the directory for the brokers' files. A second test cuts nodes and brokers off from each other, each in
a network namespace of its own: MXKV_PARTITION_ROUNDS (10) sets the number of rounds; that needs root.
"""
import itertools
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import network
from brokers import Brokers
from setting import wait_for

NODE = os.environ.get("MXKV_SHARD_NODE", "")
ROUNDS = int(os.environ.get("MXKV_KILL_ROUNDS", "20"))
PARTITION_ROUNDS = int(os.environ.get("MXKV_PARTITION_ROUNDS", "10"))
KEYS = 20
CLIENTS = 8
TOPIC = "mxkv.shards"


def last_of(number: int, found_by: dict) -> int:
    """The end of the chain that begins with a set."""
    while number in found_by:
        number = found_by[number]
    return number


class Node:
    """A process with one shard; it has another number after each start."""
    numbers = itertools.count(1)

    def __init__(self, cluster: Brokers, place=None) -> None:
        self.number = next(Node.numbers)
        self.place = place
        command = [NODE, "serve", cluster.addresses, TOPIC, str(self.number)]
        self.process = subprocess.Popen(place.command(*command) if place else command, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.lock = threading.Lock()
        self.serves = False
        self.answers = {}
        self.items = None
        self.state = ""
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self) -> None:
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "*":
                self.serves = words[2] == "serves"
            elif words[0] == "!":
                self.state = line[2:].strip()
            elif words[0] == "=":
                self.items = dict(zip(map(int, words[1::2]), map(int, words[2::2])))
            else:
                self.answers[words[0]] = words[1:]
        self.serves = False

    def say(self, line: str) -> bool:
        try:
            with self.lock:
                self.process.stdin.write(line + "\n")
                self.process.stdin.flush()
            return True
        except (BrokenPipeError, ValueError):
            return False

    def end(self, how: int = signal.SIGKILL) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(how)
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass


class Client(threading.Thread):
    """Sets and gets one after the other, at the node that serves; remembers the replies."""

    def __init__(self, test: "ShardsTest", number: int) -> None:
        super().__init__(daemon=True)
        self.test = test
        self.number = number
        self.told = []  # (key, number, number found)
        self.void = []
        self.unknown = []
        self.reads = 0

    def run(self) -> None:
        dice = random.Random(self.number)
        for turn in itertools.count():
            if self.test.over.is_set():
                return
            nodes = self.test.nodes
            node = next((one for one in nodes if one.serves), None) or dice.choice(nodes)
            name = f"{self.number}.{turn}"
            key = dice.randrange(KEYS)
            writes = dice.random() < 0.7
            written = self.number + CLIENTS * (turn + 1)
            said = node.say(f"set {name} {key} {written}" if writes else f"get {name} {key}")
            end = time.monotonic() + 10
            while said and name not in node.answers and time.monotonic() < end and node.process.poll() is None:
                time.sleep(0.001)
            answer = node.answers.pop(name, None)
            if answer is None:
                if writes:
                    self.unknown.append((key, written))
            elif answer[0] == "ok":
                if writes:
                    self.told.append((key, written, None if answer[1] == "-" else int(answer[1])))
                else:
                    self.reads += 1
            else:
                if writes:
                    self.void.append((key, written))
                time.sleep(0.05)


@unittest.skipUnless(os.environ.get("MXKV_TEST_LONG"), "takes minutes: MXKV_TEST_LONG=1")
class ShardsTest(unittest.TestCase):
    def setUp(self) -> None:
        kept = os.environ.get("MXKV_BROKERS")
        if not kept:
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            kept = folder.name
        places = [None] * 6
        if self._testMethodName == "test_nothing_is_lost_where_they_are_cut_off":
            if why_not := network.why_not():
                self.skipTest(why_not)
            self.network = network.Network()
            self.addCleanup(self.network.close)
            places = [self.network.add(f"shards{n}") for n in range(6)]
        self.cluster = Brokers(pathlib.Path(kept), places[:3] if places[0] else None)
        self.addCleanup(self.cluster.stop)
        self.call("create")
        self.nodes = [Node(self.cluster, place) for place in places[3:]]
        self.addCleanup(lambda: [node.end() for node in self.nodes if node.process.poll() is None])
        self.over = threading.Event()
        self.dice = random.Random(os.environ.get("MXKV_KILL_SEED", "1"))

    def call(self, what: str) -> None:
        done = subprocess.run([NODE, what, self.cluster.addresses, TOPIC], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def owner(self):
        return next((node for node in self.nodes if node.serves), None)

    def harm(self) -> str:
        """One round of kills and stops. Returns its description."""
        what = self.dice.choice(["kill owner", "kill follower", "stop owner", "stop follower", "kill broker", "stop broker",
                                 "kill two brokers", "leave"])
        owner = self.owner() or self.nodes[0]
        others = [node for node in self.nodes if node is not owner]
        node = owner if "owner" in what else self.dice.choice(others)
        seconds = self.dice.uniform(1, 6)
        if what == "leave":
            owner.say(f"leave {node.number}")
        elif "broker" in what:
            chosen = self.dice.sample([1, 2, 3], 2 if "two" in what else 1)
            for n in chosen:
                self.cluster.kill(n) if "kill" in what else self.cluster.send(n, signal.SIGSTOP)
            time.sleep(seconds)
            for n in chosen:
                self.cluster.start(n) if "kill" in what else self.cluster.send(n, signal.SIGCONT)
        elif "kill" in what:
            node.end()
            time.sleep(seconds / 6)
            self.nodes[self.nodes.index(node)] = Node(self.cluster, node.place)
        else:
            node.process.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            node.process.send_signal(signal.SIGCONT)
        return what

    def cut(self) -> str:
        """One round of cuts. Returns its description."""
        what = self.dice.choice(["owner", "owner's cable", "owner's sending", "owner's hearing", "follower", "a broker", "brokers"])
        owner = self.owner() or self.nodes[0]
        place = owner.place if "owner" in what else self.dice.choice([node.place for node in self.nodes if node is not owner])
        brokers = self.cluster.places
        if what == "owner's cable":
            place.link(False)
        elif "broker" in what:
            alone = self.dice.sample(brokers, 1) if what == "a broker" else brokers
            for one in brokers:
                one.drop_from(*(other for other in brokers if other is not one and (one in alone or other in alone)))
        else:
            if what != "owner's sending":
                place.drop_from(*brokers)
            if what != "owner's hearing":
                for broker in brokers:
                    broker.drop_from(place)
        time.sleep(self.dice.uniform(1, 10))
        self.network.heal()
        return f"{what} cut off"

    def test_nothing_acknowledged_is_lost(self) -> None:
        self.run_rounds(self.harm, ROUNDS)

    def test_nothing_is_lost_where_they_are_cut_off(self) -> None:
        self.run_rounds(self.cut, PARTITION_ROUNDS)

    def run_rounds(self, harm, rounds: int) -> None:
        self.call("check")
        wait_for(self.owner, "an owner")
        clients = [Client(self, n) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        slowest = 0.0
        for turn in range(rounds):
            time.sleep(self.dice.uniform(0.5, 2))
            begin = time.monotonic()
            what = harm()
            wait_for(lambda: self.owner() is not None, f"an owner behind round {turn}: {what}")
            took = time.monotonic() - begin
            if what == "kill owner":
                slowest = max(slowest, took)
            print(f"round {turn}: {what}, served again {took:.1f} s behind its beginning", flush=True)
        time.sleep(2)
        self.over.set()
        for client in clients:
            client.join()
        self.judge(clients, rounds)
        print(f"{sum(len(c.told) for c in clients)} sets and {sum(c.reads for c in clients)} gets acknowledged, "
              f"{sum(len(c.void) for c in clients)} refused or void, {sum(len(c.unknown) for c in clients)} unknown; 0 lost"
              + (f"; slowest fail-over {slowest:.1f} s" if slowest else ""))

    def final_items(self):
        """The items that all nodes hold once nothing is under way."""
        def agree():
            for node in self.nodes:
                node.items = None
                node.say("items")
            time.sleep(0.5)
            return self.nodes[0].items is not None and all(node.items == self.nodes[0].items for node in self.nodes)
        wait_for(agree, "nodes that hold the same",
                 lambda: "".join(f"\n{node.number}: {node.state}; {node.items}" for node in self.nodes))
        return self.nodes[0].items

    def judge(self, clients, rounds: int) -> None:
        items = self.final_items()
        told = [entry for client in clients for entry in client.told]
        void = {entry for client in clients for entry in client.void}
        unknown = {entry for client in clients for entry in client.unknown}
        self.assertGreater(len(told), 20 * rounds)
        for key in range(KEYS):
            found_by = {}
            for _, number, found in (entry for entry in told if entry[0] == key):
                self.assertNotIn(found, found_by, f"key {key}: two sets found {found}")
                found_by[found] = number
            # Follows the chain from the empty key by the number that each set found. A set without a reply may bridge a gap.
            chain = []
            at = None
            left = dict(found_by)
            while left or at != items.get(key):
                if at in left:
                    at = left.pop(at)
                else:
                    bridges = [number for of, number in unknown
                               if of == key and number not in chain and (number in left or number == items.get(key))]
                    self.assertTrue(bridges, f"key {key}: nothing follows {at}; {len(left)} sets were acknowledged and are "
                                             f"lost, or the end {items.get(key)} is")
                    # A bridge that leads to the final value comes last.
                    at = min(bridges, key=lambda number: last_of(number, left) == items.get(key))
                chain.append(at)
            self.assertFalse({number for of, number in void if of == key} & set(chain), f"key {key}: a void set counts")


if __name__ == "__main__":
    if not os.environ.get("MXKV_TEST_LONG"):
        print("SKIPPED: takes minutes, and needs brokers: MXKV_TEST_LONG=1")
        sys.exit(77)
    for program in ("java", "mvn"):
        if subprocess.run(["sh", "-c", f"command -v {program}"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
            print(f"SKIPPED: there is no {program}, which runs and fetches the brokers")
            sys.exit(77)
    unittest.main()
