"""Runs inside the emulated machine: mxkvd with a file for it, compared with the kernel's view of its threads and pages.

MXKVD           path of the daemon
MXKV_RUNTIME_ON_NODES   path of the tests of the runtime by itself
MXKV_TOPOLOGY   "two-nodes" or "four-nodes": which machine this is
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "config" / "examples"
TOPOLOGY = os.environ["MXKV_TOPOLOGY"]
CPUS_OF_NODE = {"two-nodes": {0: {0, 1, 2, 3}, 1: {4, 5, 6, 7}},
                "four-nodes": {node: {2 * node, 2 * node + 1} for node in range(4)}}[TOPOLOGY]
# File -> CPUs that have a worker each. Fewer workers than CPUs are spread: no two share a core.
OWN_FILES = {"two-nodes": {0, 2, 4, 6, 7}, "four-nodes": {0, 4, 5, 7}}
VALUE = b"v" * 4096
ITEMS_PER_CONNECTION = 150
CONNECTIONS_PER_WORKER = 2
PAGE_KB = 4
# Every worker keeps some of its clients' items near itself: far less than they stored, far more than its own state.
LEAST_PAGES = 512 // PAGE_KB
SECONDS = 120


class Daemon:
    """One daemon on a free port of the machine, which nothing else uses."""
    port = 11311

    def __init__(self, *arguments):
        self.log = tempfile.TemporaryFile()
        where = () if any(argument.startswith("listeners=") for argument in arguments) else ("--listen", f"127.0.0.1:{self.port}")
        self.process = subprocess.Popen([os.environ["MXKVD"], *where, *arguments],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                self.connect().close()
                return
            except OSError:
                time.sleep(0.05)
        self.process.kill()
        self.process.wait()
        raise AssertionError("did not start: " + self.text())

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def text(self) -> str:
        return os.pread(self.log.fileno(), 1 << 20, 0).decode()

    def proc(self, name: str) -> Path:
        return Path("/proc", str(self.process.pid), name)

    def pinned_to(self) -> Counter:
        """CPU -> threads that may run on it alone."""
        found = Counter()
        for task in self.proc("task").iterdir():
            allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)$", (task / "status").read_text(), re.MULTILINE).group(1)
            if allowed.isdigit():
                found[int(allowed)] += 1
        return found

    def pages(self) -> dict:
        """Node that pages were asked for -> node that they are on -> how many, from the kernel's numa_maps."""
        found = {}
        for line in self.proc("numa_maps").read_text().splitlines():
            policy = re.search(r" (?:prefer|bind):(\d+) ", line)
            if policy:
                size = int(re.search(r"kernelpagesize_kB=(\d+)", line + " kernelpagesize_kB=4").group(1))
                on = found.setdefault(int(policy.group(1)), Counter())
                for node, count in re.findall(r" N(\d+)=(\d+)", line):
                    on[int(node)] += int(count) * size // PAGE_KB
        return found

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()


def talk(connection, request: bytes, end: bytes) -> bytes:
    connection.sendall(request)
    reply = b""
    while not reply.endswith(end):
        data = connection.recv(1 << 16)
        assert data, reply[-200:]
        reply += data
    return reply


@contextlib.contextmanager
def client_on(cpus):
    """The clients of this process run on these CPUs, and so their packets arrive there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class MachineTest(unittest.TestCase):
    def start(self, *arguments) -> Daemon:
        daemon = Daemon(*arguments)
        self.addCleanup(daemon.end)
        return daemon

    def serve(self, daemon: Daemon, clients: list) -> None:
        """Enough connections for every worker; each stores, reads back and scans its own items.

        clients: for each worker the CPUs of clients that are to come to it, or to another one of its node."""
        workers = len(clients)
        connections = []
        for number in range(CONNECTIONS_PER_WORKER * workers):  # of clients all over the machine, as many everywhere
            with client_on(clients[number % len(clients)]):
                connections.append(daemon.connect())
        for number, connection in enumerate(connections):
            keys = [b"k%02d-%04d" % (number, item) for item in range(ITEMS_PER_CONNECTION)]
            sets = b"".join(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(VALUE), VALUE) for key in keys)
            stored = talk(connection, sets + b"mark\r\n", b"ERROR\r\n")
            self.assertEqual(stored.count(b"STORED\r\n"), len(keys))
            got = talk(connection, b"get " + keys[7] + b"\r\n", b"END\r\n")
            self.assertEqual(got, b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (keys[7], len(VALUE), VALUE))
            page = talk(connection, b"pscan k%02d- 5 keys\r\n" % number, b"END\r\n")
            found = re.findall(rb"KEY (\S+)\r\n", page)
            self.assertEqual(found, keys[:len(found)])
            if b"CURSOR" not in page:  # a page that takes long ends early, and here all does
                self.assertEqual(len(found), 5)
        tasks = self.tasks(daemon)
        self.assertEqual(sorted(tasks), list(range(workers)))
        self.assertTrue(all(count >= ITEMS_PER_CONNECTION for count in tasks.values()), tasks)
        for connection in connections:
            connection.close()

    def check(self, daemon: Daemon, cpus: set) -> None:
        self.serve(daemon, [its for its in CPUS_OF_NODE.values() for _ in its & cpus])
        self.assertEqual(daemon.pinned_to(), Counter(cpus), "one worker on each CPU of the file, and no other")
        pages = daemon.pages()
        with_workers = {node for node, its in CPUS_OF_NODE.items() if its & cpus}
        for node in with_workers:
            self.assertGreaterEqual(pages.get(node, {}).get(node, 0), LEAST_PAGES, f"node {node}: {pages}")
        for asked, on in pages.items():
            self.assertEqual(set(on) - {asked}, set(), f"pages on another node than asked for: {pages}")
            self.assertIn(asked, with_workers, f"memory of a node without workers: {pages}")
        print(f"pages by node asked for: { {node: dict(on) for node, on in sorted(pages.items())} }", flush=True)
        self.assertEqual(daemon.stop(), 0, daemon.text())

    def test_a_file_for_this_machine(self):
        self.check(self.start("--config", str(HERE / f"{TOPOLOGY}.yaml")), OWN_FILES[TOPOLOGY])

    def test_the_example_for_such_machines(self):
        daemon = self.start("--config", str(EXAMPLES / f"{TOPOLOGY}.yaml"))
        self.assertIn(f"topology {TOPOLOGY} fits", daemon.text())
        self.assertIn("automatic NUMA balancing is on", daemon.text())  # as it is in Debian's kernel
        self.check(daemon, set().union(*CPUS_OF_NODE.values()))

    def test_a_file_written_by_the_daemon_for_this_machine(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(subprocess.run([os.environ["MXKVD"], "topology", "--yaml"], capture_output=True, text=True,
                                      check=True).stdout)
            file.flush()
            self.check(self.start("--config", file.name), set().union(*CPUS_OF_NODE.values()))

    def test_without_a_file_every_cpu_has_a_worker(self):
        self.check(self.start("--memory", "256MiB"), set().union(*CPUS_OF_NODE.values()))

    def test_without_placement_no_memory_is_bound(self):
        daemon = self.start("--memory", "256MiB", "--set", "memory.numa_placement=false", "--workers", "2")
        self.serve(daemon, [CPUS_OF_NODE[0], CPUS_OF_NODE[max(CPUS_OF_NODE)]])
        self.assertEqual(daemon.pages(), {})
        self.assertEqual(daemon.stop(), 0, daemon.text())

    def test_the_runtime_by_itself(self):
        done = subprocess.run([os.environ["MXKV_RUNTIME_ON_NODES"]], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("SKIPPED", done.stdout)

    def test_items_of_one_node_that_clients_of_another_delete_come_home(self):
        first, last = Daemon.port, Daemon.port + 1
        daemon = self.start("--memory", "256MiB", "--set",
                            f'listeners=[{{address: 127.0.0.1, port: {first}, node: 0}}, '
                            f'{{address: 127.0.0.1, port: {last}, node: {max(CPUS_OF_NODE)}}}]')
        keys = [b"home%04d" % number for number in range(3000)]

        def store() -> None:
            with socket.create_connection(("127.0.0.1", first), timeout=SECONDS) as connection:
                sets = b"".join(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(VALUE), VALUE) for key in keys)
                talk(connection, sets + b"mark\r\n", b"ERROR\r\n")

        store()
        stored = self.memory(daemon)
        self.assertGreaterEqual(stored["node:0:items:live"], len(keys) * len(VALUE))
        with socket.create_connection(("127.0.0.1", last), timeout=SECONDS) as connection:
            deleted = talk(connection, b"".join(b"delete %s\r\n" % key for key in keys) + b"mark\r\n", b"ERROR\r\n")
        self.assertEqual(deleted.count(b"DELETED\r\n"), len(keys))
        deadline = time.monotonic() + SECONDS
        while self.memory(daemon)["node:0:items:live"] > stored["node:0:items:live"] // 10:
            self.assertLess(time.monotonic(), deadline, self.memory(daemon))
            time.sleep(0.05)
        store()
        again = self.memory(daemon)
        self.assertLessEqual(again["node:0:items:spans"], stored["node:0:items:spans"] * 5 // 4)
        self.assertEqual(daemon.stop(), 0, daemon.text())

    def memory(self, daemon: Daemon) -> dict:
        with daemon.connect() as connection:
            text = talk(connection, b"stats memory\r\n", b"END\r\n").decode()
        return {name: int(value) for name, value in re.findall(r"STAT (\S+) (\d+)\r", text)}

    def test_a_listener_of_a_node_is_served_by_its_workers(self):
        node = max(CPUS_OF_NODE)
        port = Daemon.port + 1
        daemon = self.start("--memory", "256MiB", "--set",
                            f'listeners=["127.0.0.1:{Daemon.port}", {{address: 127.0.0.1, port: {port}, node: {node}}}]')
        before = self.tasks(daemon)
        for _ in range(3 * len(CPUS_OF_NODE[node])):
            with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
                talk(connection, b"set near 0 0 1\r\nx\r\n" * 50 + b"mark\r\n", b"ERROR\r\n")
        busy = {worker for worker, count in self.tasks(daemon).items() if count - before[worker] >= 50}
        # Workers are counted in the order of their nodes.
        self.assertLessEqual(busy, set(range(len(before) - len(CPUS_OF_NODE[node]), len(before))))
        self.assertGreater(len(busy), 0)
        self.assertEqual(daemon.stop(), 0, daemon.text())

    def test_who_comes_is_served_where_its_packets_arrive(self):
        daemon = self.start("--memory", "256MiB", "--set", "server.balance=off")
        for cpus in CPUS_OF_NODE.values():
            self.wait_for_connections(daemon, 1)  # which asks
            with client_on(cpus):
                connections = [daemon.connect() for _ in range(2 * len(cpus))]
                for connection in connections:
                    talk(connection, b"mn\r\n", b"MN\r\n")
                came = self.by_worker(daemon, "connections")
            # Workers are counted in the order of their nodes, as are CPUs; they share new connections.
            self.assertEqual({worker for worker, count in came.items() if count > 0}, cpus, came)
            for connection in connections:
                connection.close()

    def test_without_regard_to_packets_all_workers_get_as_many(self):
        daemon = self.start("--memory", "256MiB", "--set", "server.accept=machine", "--set", "server.balance=off")
        with client_on(CPUS_OF_NODE[0]):
            connections = [daemon.connect() for _ in range(16)]
            for connection in connections:
                talk(connection, b"mn\r\n", b"MN\r\n")
            self.assertTrue(all(count >= 2 for count in self.by_worker(daemon, "connections").values()))
        for connection in connections:
            connection.close()

    def test_where_all_packets_arrive_on_one_node_the_others_are_given_of_its_work(self):
        daemon = self.start("--memory", "256MiB")
        near = CPUS_OF_NODE[0]
        requests = 2000
        gets = b"".join(b"get some%05d\r\n" % number for number in range(requests))
        with client_on(near):
            connections = [daemon.connect() for _ in range(4 * len(near))]
            deadline = time.monotonic() + SECONDS
            elsewhere = 0
            while elsewhere == 0:
                self.assertLess(time.monotonic(), deadline, self.by_worker(daemon, "connections"))
                with client_on(CPUS_OF_NODE[max(CPUS_OF_NODE)]):  # the node's CPUs are its workers'
                    for connection in connections:
                        connection.sendall(gets)
                    for connection in connections:
                        left = requests * len(b"END\r\n")
                        while left > 0:
                            left -= len(connection.recv(1 << 16))
                counts = self.by_worker(daemon, "connections")
                elsewhere = sum(count for worker, count in counts.items() if worker not in near)
        for connection in connections:
            connection.close()

    def look_up_everywhere(self, *arguments) -> dict:
        """Clients of the first node fill the store, clients of all nodes read it. Returns how the access counters grew."""
        daemon = self.start("--memory", "256MiB", "--set", "server.balance=off", "--set", "stats.sample=4", *arguments)
        keys = [b"deep%06d" % (number * 7919 % 20000) for number in range(20000)]
        with client_on(CPUS_OF_NODE[0]), daemon.connect() as connection:
            for first in range(0, len(keys), 1000):
                sets = b"".join(b"set %s 0 0 1 noreply\r\nx\r\n" % key for key in keys[first:first + 1000])
                talk(connection, sets + b"mn\r\n", b"MN\r\n")
        before = self.runtime(daemon)
        for cpus in CPUS_OF_NODE.values():
            with client_on(cpus), daemon.connect() as connection:
                gets = b"".join(b"get %s\r\n" % key for key in keys[:1000])
                self.assertEqual(talk(connection, gets + b"mn\r\n", b"MN\r\n").count(b"VALUE "), 1000)
        after = self.runtime(daemon)
        memory = self.memory(daemon)
        self.assertEqual(daemon.stop(), 0, daemon.text())
        grown = {name: after[name] - before[name] for name in after if "_accesses" in name}
        print(f"{arguments}: {grown}, index memory { {n: memory[f'node:{n}:index:live'] for n in CPUS_OF_NODE} }",
              flush=True)
        return grown

    def test_what_one_node_stored_is_remote_to_clients_of_the_others(self):
        grown = self.look_up_everywhere()
        nodes = len(CPUS_OF_NODE)
        for what in ("inner", "leaf", "item"):
            every = grown[f"sampled_accesses:{what}"]
            self.assertGreaterEqual(every, nodes * 1000 // 8)  # a random sample of one in four
            # All that were not of the first node's clients.
            self.assertAlmostEqual(grown[f"remote_accesses:{what}"], every * (nodes - 1) / nodes, delta=every / 50 + 2)
        self.assertEqual(grown["remote_accesses"], grown["node:0:remote_accesses"])

    def test_workers_of_other_nodes_take_part_in_taking_a_tree_apart(self):
        daemon = self.start("--memory", "256MiB")
        deadline = time.monotonic() + SECONDS
        far = {}
        while not any(far.values()):
            self.assertLess(time.monotonic(), deadline)
            with client_on(CPUS_OF_NODE[0]), daemon.connect() as connection:
                for first in range(0, 20000, 1000):
                    sets = b"".join(b"set gone%06d 0 0 1 noreply\r\nx\r\n" % number for number in range(first, first + 1000))
                    talk(connection, sets + b"mn\r\n", b"MN\r\n")
                self.assertEqual(talk(connection, b"flush_all\r\n", b"\r\n"), b"OK\r\n")
            time.sleep(0.5)
            far = {worker: count for worker, count in self.by_worker(daemon, "deferred_far").items()
                   if worker not in CPUS_OF_NODE[0]}
        print(f"tasks of the first node's deferred queue, by workers of others: {far}", flush=True)
        self.assertEqual(daemon.stop(), 0, daemon.text())

    def runtime(self, daemon: Daemon) -> dict:
        with daemon.connect() as connection:
            text = talk(connection, b"stats runtime\r\n", b"END\r\n").decode()
        return {name: int(value) for name, value in re.findall(r"STAT (\S+) (\d+)\r", text)}

    def wait_for_connections(self, daemon: Daemon, most: int) -> None:
        deadline = time.monotonic() + SECONDS
        while sum(self.by_worker(daemon, "connections").values()) > most:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def tasks(self, daemon: Daemon) -> dict:
        """Tasks that each worker has run."""
        return self.by_worker(daemon, "tasks")

    def by_worker(self, daemon: Daemon, name: str) -> dict:
        """One figure of `stats runtime`, by worker."""
        with daemon.connect() as connection:
            counters = talk(connection, b"stats runtime\r\n", b"END\r\n").decode()
        return {int(worker): int(count)
                for worker, count in re.findall(r"STAT worker:(\d+):%s (\d+)" % name, counters)}

    def test_an_absent_node_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("nodes:\n  - {node: 0}\n  - {node: 9}\n")
            file.flush()
            done = subprocess.run([os.environ["MXKVD"], "--config", file.name], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("9", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
