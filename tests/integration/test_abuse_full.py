"""Every command while memory is at its limit: each reply has its form, the stream stays in step, the server serves other
clients, and neither its accounts nor its resident memory exceed the limit."""

import random
import threading

from harness import LONG, SANITIZED, Options, ServerCase, Threads, mxkv_only, scaled, wait_for
from harness.connection import block

_MIB = 1 << 20
_PATIENCE_S = 120
_FULL = b"SERVER_ERROR out of memory storing object"


def any_of(*allowed: bytes):
    """Reads a reply of one line, which must begin with one of these."""
    def read(client) -> None:
        line = client.line()
        assert line.startswith(allowed + (_FULL,)), f"{line!r}, not {allowed}"
    return read


def number_or(*allowed: bytes):
    def read(client) -> None:
        line = client.line()
        assert line.isdigit() or line.startswith(allowed + (_FULL,)), line
    return read


def values(client) -> None:
    """Reads a retrieval: values, then END; or, for one key, the error that there is no room."""
    while (line := client.line()) != b"END":
        if line == _FULL:
            return
        word, _, _, size, *_ = line.split(b" ")
        assert word == b"VALUE", line
        assert client.exactly(int(size) + 2).endswith(b"\r\n")


def meta(client) -> None:
    line = client.line()
    assert line[:2] in (b"HD", b"EN", b"NF", b"NS", b"EX", b"VA") or line.startswith((b"CLIENT_ERROR cannot", b"SERVER_ERROR")), line
    if line.startswith(b"VA "):
        assert client.exactly(int(line.split(b" ")[1]) + 2).endswith(b"\r\n")


def meta_range(client) -> None:
    items = 0
    while not (line := client.line()).startswith(b"EN A"):
        assert line.startswith((b"VA ", b"HD k")), line
        if line.startswith(b"VA "):
            assert client.exactly(int(line.split(b" ")[1]) + 2).endswith(b"\r\n")
        items += 1
    assert int(line.split(b" ")[1][1:]) == items, line


def scanned(client) -> None:
    client.records()


def until(*ends: bytes):
    def read(client) -> None:
        while client.line() not in ends:
            pass
    return read


def commands(chance: random.Random) -> list:
    """(request, reader of its reply) of every command, with random keys and sizes."""
    def key() -> bytes:
        return b"key%d" % chance.randrange(3000)

    def data() -> bytes:
        return b"x" * chance.choice((0, 10, 100, 1000, 5000, 40000, 200000))

    stored = any_of(b"STORED", b"NOT_STORED", b"EXISTS", b"NOT_FOUND", b"SERVER_ERROR object too large")
    requests = [(block(verb, key(), data()), stored) for verb in (b"set", b"set", b"set", b"add", b"replace", b"append", b"prepend")]
    requests += [(block(b"cas", key(), data(), tail=b"%d" % chance.randrange(9)), stored),
                 (block(b"set", b"n%d" % chance.randrange(50), b"7"), stored)]
    for flags in (b"", b"MA N0", b"MP", b"ME T100", b"MR F5", b"I C1 k O77"):
        value = data()
        requests.append((b"ms %s %d %s\r\n%s\r\n" % (key(), len(value), flags, value), meta))
    one, two, number = key(), key(), b"n%d" % chance.randrange(50)
    requests += [
        (b"get %s %s %s\r\n" % (one, two, one), values), (b"gets %s\r\n" % one, values),
        (b"gat 1000 %s\r\n" % one, values), (b"gats 2000 %s %s\r\n" % (two, one), values),
        (b"incr %s 5\r\n" % number, number_or(b"NOT_FOUND", b"CLIENT_ERROR")),
        (b"decr %s 1\r\n" % one, number_or(b"NOT_FOUND", b"CLIENT_ERROR")),
        (b"touch %s 500\r\n" % one, any_of(b"TOUCHED", b"NOT_FOUND")), (b"delete %s\r\n" % one, any_of(b"DELETED", b"NOT_FOUND")),
        (b"mg %s v t c k\r\n" % one, meta), (b"mg new%d N100 v\r\n" % chance.randrange(500), meta), (b"mg %s T50 v R60 s\r\n" % two, meta),
        (b"md %s I T30\r\n" % one, meta), (b"md %s x\r\n" % two, meta), (b"ma %s N0 J5 v\r\n" % number, meta), (b"ma %s MD D3\r\n" % number, meta),
        (b"me %s\r\n" % one, any_of(b"ME ", b"EN")),
        (b"mr %s v A20 s\r\n" % one, meta_range), (b"mr key r A5\r\n", meta_range), (b"mr key p v B100000\r\n", meta_range),
        (b"mc - e\r\n", any_of(b"HD A")), (b"mc key p\r\n", any_of(b"HD A")), (b"mx %s A3\r\n" % one, any_of(b"HD A")),
        (b"scan %s 5\r\n" % one, scanned), (b"scans - + 3 reverse\r\n", scanned), (b"pscan key 10 keys cursor\r\n", scanned),
        (b"stats\r\n", until(b"END")), (b"stats memory\r\n", until(b"END")), (b"stats items\r\n", until(b"END")),
        (b"stats slabs\r\n", until(b"END")), (b"stats sizes\r\n", until(b"END")), (b"stats conns\r\n", until(b"END")),
        (b"stats runtime\r\n", until(b"END")), (b"stats index\r\n", until(b"END")), (b"verbosity 0\r\n", any_of(b"OK")),
        (b"version\r\n", any_of(b"VERSION ")), (b"set %s 0 0 3\r\nlonge" % one, any_of(b"CLIENT_ERROR bad data chunk")),
    ]
    return requests


class EveryCommandCase(ServerCase):
    """Clients send every command, while memory is short all the time."""
    limit_mib = 24 if SANITIZED else 64 if LONG else 32

    def work(self, client, number: int) -> None:
        chance = random.Random(number)
        for _ in range(scaled(400 if LONG else 30, 8)):
            requests = commands(chance)
            chance.shuffle(requests)
            client.send(b"".join(request for request, _ in requests) + b"mn\r\n")
            for request, read in requests:
                try:
                    read(client)
                except AssertionError as error:
                    raise AssertionError(f"to {request[:80]!r}: {error}") from error
            assert client.line() == b"MN", "the stream is in step"

    def sink(self, stop: threading.Event, client) -> None:
        """Watches, and reads as many lines as it can."""
        client.send(b"watch mutations evictions deletions fetchers\r\n")
        while not stop.is_set():
            try:
                client.socket.recv(1 << 20)
            except TimeoutError:
                pass

    def fill(self, client) -> None:
        for at in range(0, self.limit_mib * _MIB * 5 // 4 // 10000, 100):
            client.send(b"".join(block(b"set", b"fill%d" % i, b"f" * 10000) for i in range(at, at + 100)))
            self.assertLessEqual({client.line() for _ in range(100)}, {b"STORED", _FULL})

    def run_all(self) -> None:
        other = self.connect(timeout=_PATIENCE_S)
        self.fill(other)
        watcher, stop = self.connect(timeout=1), threading.Event()
        watching = threading.Thread(target=self.sink, args=(stop, watcher))
        watching.start()
        try:
            clients = Threads(self.server.port, timeout=_PATIENCE_S)
            clients.start(self.work, 4)
            most = 0
            while any(thread.is_alive() for thread in clients.threads):
                self.assertIn(other.set(b"other", b"here"), (b"STORED", _FULL))
                self.assertIn(other.get(b"other"), (b"here", None))
                memory = other.stats(b"memory")
                most = max(most, int(memory["used"]))
                self.assertLessEqual(int(memory["used"]), self.most_used(memory))
            clients.join()
        finally:
            stop.set()
            watching.join()
        print(f"{type(self).__name__}: at most {most / _MIB:.1f} MiB of {self.limit_mib} MiB were used", flush=True)
        wait_for(lambda: int(other.stats(b"memory")["used"]) <= self.limit_mib * _MIB, "the accounts keep the limit", _PATIENCE_S)
        self.assert_rss_below(self.limit_mib + 60)
        for request, end in ((b"lru_crawler metadump all\r\n", b"END"), (b"lru_crawler mgdump all\r\n", b"EN")):
            other.send(request + b"mn\r\n")
            text = b""
            while not text.endswith(end + b"\r\nMN\r\n"):
                text += other.exactly(1)
        self.assertEqual(other.ask(b"flush_all"), b"OK")
        self.assertTrue(other.ask(b"version").startswith(b"VERSION "))

    def most_used(self, memory: dict) -> int:
        # The server always grants memory for tasks and replies, because without them it could neither free memory nor answer.
        # Unsent replies may take 1/32 of the limit, and half as much again, before they wait for room.
        return int(memory["limit"]) * 17 // 16 + _MIB


@mxkv_only("memcached evicts by slab class")
class EvictEveryCommandTest(EveryCommandCase):
    options = Options(memory_mib=EveryCommandCase.limit_mib)

    def test_every_command_while_items_are_evicted(self):
        self.run_all()
        self.assertGreater(int(self.connect().stats()["evictions"]), 100)


@mxkv_only("memcached evicts by slab class")
class RefuseEveryCommandTest(EveryCommandCase):
    options = Options(memory_mib=EveryCommandCase.limit_mib, settings=(("memory.when_full", "error"),))

    def test_every_command_while_there_is_no_room(self):
        self.run_all()
        stats = self.connect().stats()
        self.assertEqual(stats["evictions"], "0")
        self.assertGreater(int(stats["store_no_memory"]), 100)


@mxkv_only("memcached has the limit of its slab pages")
class MovingLimitTest(EveryCommandCase):
    options = Options(memory_mib=EveryCommandCase.limit_mib)

    def most_used(self, memory: dict) -> int:
        return 2 * self.limit_mib * _MIB

    def test_every_command_while_the_limit_goes_up_and_down(self):
        stop = threading.Event()

        def change() -> None:
            admin = self.connect()
            while not stop.wait(0.05):
                for mib in (self.limit_mib // 2 + 8, self.limit_mib):
                    assert admin.ask(b"cache_memlimit %d" % mib) == b"OK"

        changing = threading.Thread(target=change)
        changing.start()
        try:
            self.run_all()
        finally:
            stop.set()
            changing.join()


@mxkv_only("memcached has no values of this length")
class LongestValueTest(ServerCase):
    """A value of the maximum length, when others hold all memory."""
    value_bytes = (16 if SANITIZED else 1024 if LONG else 96) * _MIB
    limit_mib = value_bytes // _MIB * 3 // 2
    options = Options(memory_mib=limit_mib, value_bytes=value_bytes)

    def store(self, client, key: bytes, seed: int) -> bytes:
        client.send(b"set %s 0 0 %d\r\n" % (key, self.value_bytes))
        part = random.Random(seed).randbytes(_MIB)
        for number in range(self.value_bytes // _MIB):
            client.send(b"%08d" % number + part[8:])
        client.send(b"\r\n")
        return client.line()

    def holds(self, client, key: bytes, seed: int) -> bool:
        """Reads the whole value back. False: the server has already evicted it."""
        part = random.Random(seed).randbytes(_MIB)
        client.send(b"get " + key + b"\r\n")
        first = client.line()
        if first == b"END":
            return False
        self.assertEqual(first, b"VALUE %s 0 %d" % (key, self.value_bytes))
        for number in range(self.value_bytes // _MIB):
            self.assertTrue(client.exactly(_MIB) == b"%08d" % number + part[8:], f"MiB {number}")
        self.assertEqual(client.line(), b"")
        self.assertEqual(client.line(), b"END")
        return True

    def test_it_is_stored_and_read_back_and_others_go(self):
        other, client = self.connect(timeout=_PATIENCE_S), self.connect(timeout=_PATIENCE_S)
        count = self.limit_mib * _MIB * 6 // 5 // 10000
        for at in range(0, count, 100):
            other.send(b"".join(block(b"set", b"small%d" % i, b"s" * 10000) for i in range(at, at + 100)))
            self.assertEqual({other.line() for _ in range(100)}, {b"STORED"})
        evicted = int(other.stats()["evictions"])
        for seed, key in enumerate((b"longest", b"next", b"longest")):
            # If the machine stops the client between both requests, eviction may have time to take this value, too.
            for _ in range(20):
                self.assertEqual(self.store(client, key, seed), b"STORED", f"round {seed}")
                if self.holds(client, key, seed):
                    break
            else:
                self.fail(f"round {seed}: the value was evicted 20 times before it was read")
            memory = other.stats(b"memory")
            self.assertLessEqual(int(memory["used"]), int(memory["limit"]))
            self.assertEqual(other.set(b"other", b"served"), b"STORED")
        self.assertGreater(int(other.stats()["evictions"]), evicted + self.value_bytes // 20000)
        self.assert_rss_below(self.limit_mib + 110)
