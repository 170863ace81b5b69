"""Five thousand connections come and go, in every state of a connection, and leave nothing behind: no descriptor,
no memory, no count."""

import os
import resource
import signal
import unittest

from harness import Connection, DaemonCase, SANITIZED, mxkv_only, scaled, wait_for
from harness.connection import block

TOTAL = 5000
BATCH = 250


def at_rest(client):
    client.ask(b"version")
    client.close()


def untouched(client):
    client.close()


def mid_line(client):
    client.send(b"get " + b"k" * 100)
    client.close()


def mid_value(client):
    client.send(b"set half 0 0 100000\r\n" + b"x" * 20000)
    client.reset()


def unread(client):
    client.send(b"get large\r\n" * 5)
    client.socket.recv(1)
    client.reset()


def pipelined(client):
    client.send(b"".join(block(b"set", b"p%d" % i, b"v") for i in range(20)) + b"quit\r\n")
    client.rest()
    client.close()


WAYS = (at_rest, untouched, mid_line, mid_value, unread, pipelined)


@mxkv_only("its accounts of memory")
class ManyConnectionsTest(DaemonCase):
    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def batch(self, address, count: int) -> None:
        clients = [Connection(address, timeout=60) for _ in range(count)]
        for i, client in enumerate(clients):
            WAYS[i % len(WAYS)](client)

    def settled(self, watcher) -> dict:
        """The memory in use once only the watcher is connected."""
        wait_for(lambda: watcher.stats()["curr_connections"] == "1", "all others are gone", 60)
        wait_for(lambda: int(watcher.stats(b"memory")["retired"]) == 0, "what was retired is freed", 60)
        return watcher.stats(b"memory")

    def test_nothing_is_left(self):
        self.start("--set", "limits.connections=1000", listen=["127.0.0.1:0", "unix:mxkv.sock"])
        addresses = [self.ports()[0], self.directory / "mxkv.sock"]
        watcher = self.client()
        self.assertEqual(watcher.set(b"large", b"x" * 500000), b"STORED")
        for address in addresses * 2:  # fills the pools that the server keeps for later connections
            self.batch(address, BATCH)
        before = self.settled(watcher)
        descriptors = self.descriptors()
        resident = self.resident_kib()
        accepted = int(watcher.stats()["total_connections"])
        batches = scaled(TOTAL // BATCH, 4)
        for i in range(batches):
            self.batch(addresses[i % 2], BATCH)
        after = self.settled(watcher)
        self.assertEqual(int(watcher.stats()["total_connections"]) - accepted, batches * BATCH)
        self.assertEqual(self.descriptors(), descriptors)
        for name in ("items", "index", "tasks", "output", "buffers"):  # room for a few spans, not for bytes per connection
            self.assertLessEqual(int(after[name]), int(before[name]) + (512 << 10), name)
        if not SANITIZED:
            self.assertLess(self.resident_kib() - resident, 8 << 10, "KiB of resident memory")
        self.assertEqual(watcher.stats()["rejected_connections"], "0")
        watcher.close()
        self.end()

    def test_a_low_soft_limit_of_descriptors_is_raised(self):
        self.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 400)))
        clients = [self.client() for _ in range(200)]
        for client in clients:
            self.assertTrue(client.ask(b"version").startswith(b"VERSION "))
        self.end()

    def test_a_reload_raises_it_too_and_says_where_that_ends(self):
        self.write_config("limits: {connections: 10}\n")
        self.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 400)))
        self.assertEqual(self.descriptor_limit(), 40)
        self.write_config("limits: {connections: 200}\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("limits.connections is now 200, was 10")
        wait_for(lambda: self.descriptor_limit() > 200, "the raised limit")
        self.assertNotIn("descriptors may be open", self.log())
        self.write_config("limits: {connections: 5000}\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("warning reload: limits.connections is 5000, but only 400 file descriptors may be open")
        self.end()

    def descriptor_limit(self) -> int:
        return resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)[0]

    @unittest.skipIf(SANITIZED, "a sanitizer needs descriptors of its own (pipes) to look at memory")
    def test_without_descriptors_who_is_connected_is_served_and_who_comes_is_told(self):
        self.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)))
        clients = [self.client() for _ in range(80)]
        first = clients[0]
        self.assertEqual(first.set(b"k", b"v"), b"STORED")
        self.assertEqual(clients[-1].line(), b"ERROR Too many open connections")
        self.assertEqual(first.get(b"k"), b"v")
        for client in clients[1:]:
            client.close()
        wait_for(lambda: first.stats()["accepting_conns"] == "1", "that there are descriptors again")
        self.assertEqual(self.client().get(b"k"), b"v")
        self.end()

    def resident_kib(self) -> int:
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


if __name__ == "__main__":
    unittest.main()
