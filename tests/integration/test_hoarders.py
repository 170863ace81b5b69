"""Clients that do not read their replies, or do not finish their requests, do not harm others: the server keeps within its
memory limit, the cache keeps its items, other clients get no errors, and afterwards the memory comes back."""

import os
import select
import unittest

from harness import LONG, SANITIZED, DaemonCase, Options, OwnServerCase, ServerCase, mxkv_only, patience, scaled, wait_for
from harness.connection import Connection, block
from hoarding import Hoarders, Regular, Watch, resident_bytes
from test_eviction import store_all

_MIB = 1 << 20
_PATIENCE_S = 120


def memory_of(client: Connection) -> dict:
    return {name: int(value) for name, value in client.stats(b"memory").items() if not name.startswith("verdict:")}


def settle(client: Connection) -> int:
    """Waits until the server has evicted and freed enough for its reserve. Returns the number of items."""
    looks = []

    def settled() -> bool:
        looks.append(client.stats()["evictions"])
        return len(looks) > 10 and len(set(looks[-10:])) == 1 and memory_of(client)["retired"] == 0
    wait_for(settled, "evictions end", _PATIENCE_S)
    return int(client.stats()["curr_items"])


class HoarderCase(OwnServerCase):
    """Each test has a full server."""
    limit_mib = 64
    count = 30 if SANITIZED else 300

    def setUp(self):
        self.options = Options(memory_mib=self.limit_mib, settings=(("limits.connections", self.count + 100),))
        super().setUp()
        # More keys than fit: the cache is full, and one item less is an item lost.
        self.keys = self.limit_mib * (200 if SANITIZED else 1000)
        client = self.guest()
        store_all(client, (b"k%06d" % i for i in range(self.keys)), 1000)
        client.set(b"large", b"L" * 1_000_000)
        client.set(b"middle", b"M" * 8000)

    def guest(self) -> Connection:
        return self.connect(timeout=_PATIENCE_S)

    def memory(self) -> dict:
        return memory_of(self.client)

    def hoard(self, kind: str, count: int = 0) -> None:
        """Each bound below holds once the hoarders are at rest, however long that takes. The peak depends on how fast the server
        frees memory, so it is printed, and asserted only to be no multiple of the limit."""
        count = count or self.count
        before = settle(self.client)
        watch = Watch(self.server.process.pid)
        watch.start()
        regular = Regular(self.server.port, self.keys, self.guest())
        regular.start()
        hoarders = Hoarders(self.server.port, kind, count)
        self.addCleanup(hoarders.leave)
        hoarders.send()
        with self.subTest(kind=kind, what="held"):
            # Replies and values that left the cache may take 1/32 each, input 1/64, and arriving values 1/16.
            self.await_held(self.limit_mib * _MIB * 5 // 32, "the shares hold while hoarders stay")
            self.await_resident()
        served = regular.requests + 200
        wait_for(lambda: regular.requests > served or regular.errors, "others are served", _PATIENCE_S)
        regular.stop()
        after = int(self.client.stats()["curr_items"])
        with self.subTest(kind=kind):
            self.assertEqual(regular.errors, [])
            # The server closes connections at once if unsent replies exceed 8/32 of the memory, however busy the machine is.
            # Input takes at most 3/64, or 1/16 for values, and values that left the cache take 1/32. Items keep the rest.
            self.assertGreaterEqual(after, 0.6 * before, "items that stayed")
        hoarders.leave()
        with self.subTest(kind=kind, what="memory"):
            self.await_memory()
            self.await_resident()
            most = watch.stop()
            print(f"{type(self).__name__}, {kind}: {after / before:.3f} of the items stayed, at most {most / _MIB:.0f} MiB of "
                  f"{self.limit_mib} MiB were resident", flush=True)
            if not SANITIZED:
                self.assertLessEqual(most / _MIB, 3 * self.limit_mib, "most resident MiB")

    def await_held(self, most: int, what: str) -> None:
        """Waits until connections hold at most so many bytes."""
        wait_for(lambda: sum(self.memory()[name] for name in ("output", "buffers", "referenced")) <= most, what, _PATIENCE_S)

    def await_memory(self) -> None:
        """Waits until the memory of the gone connections is back, except for the little that each worker keeps at hand."""
        self.await_held(max(2, self.limit_mib // 32) * _MIB, "memory comes back")

    def await_resident(self) -> None:
        if not SANITIZED:
            wait_for(lambda: resident_bytes(self.server.process.pid) <= 1.25 * self.limit_mib * _MIB, "resident memory",
                     _PATIENCE_S)


@mxkv_only("of memory shares")
class UnreadRepliesTest(HoarderCase):
    def test_of_pipelined_large_values(self):
        self.hoard("gets")

    def test_of_pipelined_values_that_are_copied(self):
        # One reply per hoarder already exceeds the share; further replies take the place of items.
        self.hoard("middle")

    def test_of_batches(self):
        self.hoard("batch")

    def test_of_scans(self):
        self.hoard("scan")

    def test_of_dumps(self):
        self.hoard("mgdump")
        self.hoard("metadump")

    def test_of_values_that_have_left_the_cache(self):
        hoarders = Hoarders(self.server.port, "gets", 40)
        self.addCleanup(hoarders.leave)
        hoarders.send()
        client = self.guest()
        for number in range(200):  # each set leaves another old value to the hoarders, which read nothing
            # If the sets outrun the closing of stalled hoarders, there may be no room for a moment.
            self.assertIn(client.set(b"large", b"%d" % (number % 10) * 1_000_000),
                          (b"STORED", b"SERVER_ERROR out of memory storing object"))
        wait_for(lambda: client.set(b"large", b"l" * 1_000_000) == b"STORED", "room for a large value", _PATIENCE_S)
        wait_for(lambda: self.memory()["referenced"] < self.limit_mib * _MIB // 2, "stalled clients are closed", _PATIENCE_S)
        hoarders.leave()
        self.await_memory()


@mxkv_only("of memory shares")
class UnfinishedInputTest(HoarderCase):
    def test_of_long_lines(self):
        self.hoard("line", 20 if SANITIZED else 60)
        wait_for(lambda: int(self.client.stats()["input_full_connections"]) > 0, "idle lines are closed", _PATIENCE_S)

    def test_of_batches(self):
        self.hoard("unfinished batch")

    def test_of_large_values(self):
        # Arriving values may take up to 1/16, and the server gives it back in spans.
        self.hoard("value", 10 if SANITIZED else 60)

    def test_a_line_as_long_as_the_limit_is_served_beside_nobody(self):
        client = self.guest()
        keys = [b"k%06d" % i + b"-" * 200 for i in range(4900)]
        client.send(b"get " + b" ".join(keys) + b"\r\n")
        self.assertEqual(client.records(), [])

    def test_a_long_batch_is_served_beside_nobody(self):
        client = self.guest()
        client.send(b"mb 1000\r\n" + b"ms batch 2\r\nok\r\n" * 1000)
        self.assertEqual({client.line() for _ in range(1001)}, {b"HD"})


@mxkv_only("of memory shares")
class StrangersTest(DaemonCase):
    """Before login a connection may hold a few KiB."""

    def setUp(self):
        super().setUp()
        users = self.directory / "users"
        users.write_text("name:password\n")
        self.start("--memory", "64MiB", "--set", f"server.auth_file={users}")

    def guest(self) -> Connection:
        client = self.client(timeout=_PATIENCE_S)
        self.assertEqual(client.set(b"login", b"name password"), b"STORED")
        return client

    def test_that_never_log_in_take_no_items(self):
        guest = self.guest()
        store_all(guest, (b"k%06d" % i for i in range(scaled(60_000, 10_000))), 1000)
        before = settle(guest)
        hoarders = Hoarders(self.ports()[0], "line", 20 if SANITIZED else 70)
        self.addCleanup(hoarders.leave)
        hoarders.send()
        self.assertLess(int(guest.stats(b"memory")["buffers"]), _MIB)
        self.assertGreaterEqual(int(guest.stats()["curr_items"]), 0.98 * before)

    def test_are_told_why_they_are_closed(self):
        stranger = self.client()
        stranger.send(b"get " + b"k" * 8000)
        self.assertEqual(stranger.rest(), b"SERVER_ERROR out of memory reading request\r\n")
        self.wait_log("did not finish their requests")


@mxkv_only("a limit on all memory")
class ExpiredAtOnceTest(ServerCase):
    """The tasks that remove very many items take little memory, and give it back."""
    # No two workers write to a leaf, so the test sees expiry under pressure alone. A turn's items exceed the memory.
    limit_mib = 64 if LONG else 24
    options = Options(workers=1, memory_mib=limit_mib, settings=(("server.debug_time", "true"),))

    def test_tasks_take_a_small_part_of_the_memory(self):
        client = self.connect(timeout=_PATIENCE_S)
        count = scaled(600_000 if LONG else 200_000, 50_000)
        for turn in range(2):
            for at in range(0, count, 2000):
                client.send(b"".join(block(b"set", b"t%d-%d" % (turn, i * 7919 % count), b"v" * 100, exptime=2, tail=b"noreply")
                                     for i in range(at, at + 2000)))
                if at % 20_000 == 0:
                    self.assertLess(int(client.stats(b"memory")["tasks"]), 8 * _MIB)
            self.assertEqual(client.ask(b"mn"), b"MN")
            self.assertEqual(client.ask(b"debugtime 3"), b"OK")
        wait_for(lambda: int(client.stats(b"memory")["tasks"]) <= 4 * _MIB, "the tasks' memory comes back", _PATIENCE_S)
        self.assertEqual(client.set(b"after", b"v"), b"STORED")
        self.assertEqual(client.get(b"after"), b"v")


def memory_group() -> str:
    """The folder of a new control group for a process's memory; empty if none can be made."""
    for parent, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        folder = os.path.join(parent, f"mxkv-test-{os.getpid()}")
        try:
            os.mkdir(folder)
            with open(os.path.join(folder, limit), "w", encoding="ascii") as file:
                file.write(str(128 * _MIB))
            return folder
        except OSError:
            if os.path.isdir(folder):
                os.rmdir(folder)
    return ""


@unittest.skipIf(SANITIZED, "a sanitizer's shadow is memory of the group, too")
@mxkv_only("of memory shares")
class ControlGroupTest(DaemonCase):
    """With the default limit, in a group of 128 MiB: the kernel never kills the server."""

    def setUp(self):
        self.group = memory_group()
        if not self.group:
            self.skipTest("no control group can be made here")
        self.addCleanup(os.rmdir, self.group)
        super().setUp()
        self.config.write_text("workers: 2\n")  # the default limit is a part of the group's
        self.start(prefix=("/bin/sh", "-c", f'echo $$ > {self.group}/cgroup.procs; exec "$0" "$@"'))

    def test_clients_that_read_nothing_do_not_get_it_killed(self):
        client = self.client(timeout=_PATIENCE_S)
        store_all(client, (b"k%06d" % i for i in range(100_000)), 1000)
        client.set(b"large", b"L" * 1_000_000)
        client.set(b"middle", b"M" * 8000)
        for kind in ("gets", "middle", "batch", "line", "scan"):
            hoarders = Hoarders(self.ports()[0], kind, 30)
            hoarders.send()
            self.assertEqual(client.set(b"after", kind.encode()), b"STORED")
            self.assertEqual(client.get(b"after"), kind.encode())
            hoarders.leave()


@unittest.skipUnless(LONG, "a minute each")
@mxkv_only("of memory shares")
class ManyHoardersTest(HoarderCase):
    limit_mib = 1024
    count = 1000

    def test_of_pipelined_large_values(self):
        self.hoard("gets")

    def test_of_pipelined_values_that_are_copied(self):
        self.hoard("middle")

    def test_of_batches_and_scans(self):
        self.hoard("batch")
        self.hoard("scan")

    def test_of_long_lines(self):
        self.hoard("line")


@mxkv_only("shares of memory")
class SuddenlyLargeTest(ServerCase):
    """Replies much longer than those before them wait for room; the server closes no client that reads."""
    options = Options(memory_mib=32, workers=2)

    def test_pipelines_of_small_and_then_of_large_values_are_all_answered(self):
        small, large = b"s" * 10, b"l" * 6000
        client = self.connect()
        client.set(b"small", small)
        client.set(b"large", large)
        clients = [self.connect() for _ in range(scaled(24, 6))]
        for _ in range(6 if LONG else 2):
            for key, value in ((b"small", small), (b"large", large)):
                for each in clients:
                    each.send(b"get %s\r\n" % key * 250 + b"mg %s v\r\n" % key * 250)
                of_get, of_mg = b"VALUE %s 0 %d\r\n\r\nEND\r\n" % (key, len(value)), b"VA %d\r\n\r\n" % len(value)
                self.take(clients, 250 * (len(of_get) + len(of_mg) + 2 * len(value)))
                for each in clients:
                    for _ in range(250):
                        self.assertEqual(each.records(), [(key, value, [0])])
                    for _ in range(250):
                        self.assertEqual(each.line(), b"VA %d" % len(value))
                        self.assertEqual(each.exactly(len(value) + 2), value + b"\r\n")
        self.assertEqual(client.stats()["output_full_connections"], "0")

    def take(self, clients: list, count: int) -> None:
        """Reads `count` bytes for each client, from whichever socket has some. Reading the clients one after the other would take
        too long on a busy machine, and the server would close them."""
        wanting = {each.socket: each for each in clients}
        while wanting:
            ready = select.select(list(wanting), [], [], patience(_PATIENCE_S))[0]
            self.assertTrue(ready, "replies that were announced come")
            for one in ready:
                wanting[one]._fill()
                if len(wanting[one]._buffer) >= count:
                    del wanting[one]
