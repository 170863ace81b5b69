"""Redis Cluster under the same killer as our nodes: how many acknowledged writes it loses, for comparison.

Three masters, three replicas. Round after round the test kills a master and starts it again, stops it for longer than its
replacement takes, or cuts it off from the other nodes, but not from clients; clients set each key once. In the end the test
counts the acknowledged keys that are missing. Redis promises only to try, so the test prints losses and does not fail by
them; it fails if no client can write, or if the nodes do not come back.
MXKV_KILL_ROUNDS sets the number of rounds (6).
"""

import atexit
import itertools
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import network
from clients import RedisCluster
from setting import machine, wait_for

ROUNDS = int(os.environ.get("MXKV_KILL_ROUNDS", "6"))
CLIENTS = 16
NODE_TIMEOUT_MS = 2000


class Nodes:
    """Six Redis nodes, numbered from 0; the last three begin as replicas."""

    def __init__(self, folder: Path, appends: bool, places: list | None = None) -> None:
        """`places`: of network.py; without them all nodes are on loopback."""
        self.folder = folder
        self.appends = appends
        self.places = places
        first_port = random.randrange(15000, 22000, 10)  # the port between nodes is greater by 10000
        self.addresses = [(places[n].address if places else "127.0.0.1", first_port + n) for n in range(6)]
        self.processes = []
        atexit.register(self.end)
        for n in range(6):
            self.processes.append(self.start(n))

    def start(self, n: int) -> subprocess.Popen:
        place = self.folder / str(n)
        place.mkdir(exist_ok=True)
        host, port = self.addresses[n]
        command = ["redis-server", "--port", str(port), "--bind", host, "--protected-mode", "no", "--cluster-enabled", "yes",
                   "--cluster-node-timeout", str(NODE_TIMEOUT_MS), "--appendonly", "yes" if self.appends else "no",
                   "--appendfsync", "everysec", "--save", "", "--maxmemory", "64mb", "--dir", str(place)]
        with open(place / "log", "ab") as log:
            return subprocess.Popen(self.places[n].command(*command) if self.places else command,
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ask(self, n: int, *words: str, seconds: float = 5) -> str:
        """The output of redis-cli; empty if there is no reply."""
        host, port = self.addresses[n]
        try:
            return subprocess.run(["redis-cli", "-h", host, "-p", str(port), *words], stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds, check=False).stdout
        except subprocess.TimeoutExpired:
            return ""

    def make(self) -> None:
        wait_for(lambda: all(self.ask(n, "PING") == "PONG\n" for n in range(6)), "six answers to PING")
        machine.run("redis-cli", "--cluster", "create", *(f"{host}:{port}" for host, port in self.addresses),
                    "--cluster-replicas", "1", "--cluster-yes", timeout=120)

    def whole(self) -> bool:
        """All nodes know each other as alive, and each master has a replica that follows it."""
        for n in range(6):
            lines = self.ask(n, "CLUSTER", "NODES").splitlines()
            masters = sum(" master " in line.replace(",", " ") and "-" in line.split()[-1] for line in lines if "fail" not in line)
            if masters != 3 or any("fail" in line for line in lines) or "cluster_state:ok" not in self.ask(n, "CLUSTER", "INFO"):
                return False
        roles = [self.ask(n, "INFO", "replication") for n in range(6)]
        return sum("role:master" in text for text in roles) == 3 and sum("master_link_status:up" in text for text in roles) == 3

    def masters(self) -> list:
        return [n for n in range(6) if "role:master" in self.ask(n, "INFO", "replication", seconds=1)]

    def kill(self, n: int) -> None:
        self.processes[n].kill()
        self.processes[n].wait()

    def restart(self, n: int) -> None:
        self.processes[n] = self.start(n)

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()


class Setter(threading.Thread):
    """Sets one key after the other, and remembers those that the cluster acknowledged."""

    def __init__(self, addresses: list, number: int) -> None:
        super().__init__(daemon=True)
        # Every other client waits longer than a master is stopped: it receives late replies.
        self.connection = RedisCluster(addresses, timeout=1 if number % 2 else 20, seed=number)
        self.number = number
        self.over = threading.Event()
        self.told = []  # (time, number) of each acknowledged set
        self.unanswered = 0

    def key(self, value: int) -> str:
        return f"c{self.number}.{value}"

    def run(self) -> None:
        for value in itertools.count(1):
            if self.over.is_set():
                break
            if self.connection.set(self.key(value), value).outcome == "ok":
                self.told.append((time.monotonic(), value))
            else:
                self.unanswered += 1
                time.sleep(0.02)
            time.sleep(0.005)
        self.connection.close()

    def lost(self, connection: RedisCluster) -> int:
        lost = 0
        for _, value in self.told:
            for _ in range(600):
                if (answer := connection.get(self.key(value))).outcome == "ok":
                    break
                time.sleep(0.1)
            else:
                raise AssertionError(f"no answer for {self.key(value)}: {answer.text}")
            lost += answer.number != value
        return lost


@machine.needs(machine.long_only(), machine.missing("redis-server", "redis-cli"))
class RedisClusterTest(unittest.TestCase):
    def harm(self, nodes: Nodes, dice: random.Random) -> str:
        victim = dice.choice(wait_for(nodes.masters, "a master"))
        what = dice.choice(["kill", "stop"] if nodes.places is None else ["cut"])
        # At once, as a supervisor does, or after the node has been replaced.
        seconds = dice.choice([dice.uniform(0, 0.5), dice.uniform(1.5, 4) * NODE_TIMEOUT_MS / 1000])
        if what == "kill":
            nodes.kill(victim)
            time.sleep(seconds)
            nodes.restart(victim)
        elif what == "stop":
            nodes.processes[victim].send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            nodes.processes[victim].send_signal(signal.SIGCONT)
        else:
            place = nodes.places[victim]
            others = [other for other in nodes.places if other is not place]
            place.drop_from(*others)
            for other in others:
                other.drop_from(place)
            time.sleep(4 * NODE_TIMEOUT_MS / 1000)
            for one in nodes.places:
                one.heal()
        return f"{what} of master {victim}, {seconds:.1f} s" if what != "cut" else f"master {victim} cut off"

    def run_rounds(self, name: str, appends: bool, places: list | None = None) -> None:
        dice = random.Random(os.environ.get("MXKV_KILL_SEED", "1"))
        with tempfile.TemporaryDirectory() as folder:
            nodes = Nodes(Path(folder), appends, places)
            self.addCleanup(nodes.end)
            nodes.make()
            wait_for(nodes.whole, "a whole cluster")
            setters = [Setter(nodes.addresses, n) for n in range(CLIENTS)]
            for setter in setters:
                setter.start()
            for turn in range(ROUNDS):
                time.sleep(dice.uniform(0.5, 1.5))
                before = time.monotonic()
                what = self.harm(nodes, dice)
                wait_for(nodes.whole, f"a whole cluster behind round {turn}: {what}")
                print(f"round {turn}: {what}, whole again {time.monotonic() - before:.1f} s behind its beginning", flush=True)
            time.sleep(1)
            for setter in setters:
                setter.over.set()
            for setter in setters:
                setter.join()
            reader = RedisCluster(nodes.addresses)
            told = sum(len(setter.told) for setter in setters)
            lost = sum(setter.lost(reader) for setter in setters)
            times = sorted(moment for setter in setters for moment, _ in setter.told)
            gap = max(later - earlier for earlier, later in zip(times, times[1:]))
            print(f"Redis Cluster, {name}, {ROUNDS} rounds: {told} writes acknowledged, "
                  f"{lost} of them gone in the end, {sum(s.unanswered for s in setters)} refused or not answered; nothing at all was "
                  f"acknowledged for {gap:.1f} s at most", flush=True)
            self.assertGreater(told, 100 * ROUNDS)
            reader.close()
            nodes.end()

    def test_without_files(self):
        self.run_rounds("killed and stopped, appendonly no", False)

    def test_with_files(self):
        self.run_rounds("killed and stopped, appendonly yes", True)

    @machine.needs(network.why_not())
    def test_cut_off(self):
        with network.Network() as net:
            self.run_rounds("masters cut off, appendonly yes", True, [net.add(f"redis{n}") for n in range(6)])


if __name__ == "__main__":
    machine.main()
