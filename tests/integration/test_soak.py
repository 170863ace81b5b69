"""Every way that empties leaves, at once and for long: no client waits in vain for an answer, and only live data remain.

    MXKV_TEST_LONG=1 python3 -B -m unittest test_soak              a minute and a half with each number of workers
    MXKV_SOAK_S=1200 python3 -B -m unittest test_soak              an hour
    MXKV_SOAK_S=3600 python3 -B -m unittest test_soak.SoakTwoWorkersTest

Without either, one class runs: two workers, one part of about ten seconds. In each part the clients store
several times the memory limit. Then everything is deleted or expires, and the memory of nodes, items, tasks and retired
objects, and of the process, must come back.
"""

import sys
import time
import unittest

import soak
from harness import LONG, SANITIZED, Options, OwnServerCase, Threads, environment, mxkv_only, patience, wait_for

_KIB = 1 << 10
_MIB = 1 << 20
_SECONDS = environment.SOAK_S or (90 if LONG else 10)
_IN_FULL = bool(LONG or environment.SOAK_S)
_LIMIT_MIB = 32 if SANITIZED else 64  # at 32 MiB a client that a busy machine stops loses its share of memory
_FILLERS = 3
_PROBES = 2
_PART_S = 30
_TIMES_THE_LIMIT = 3


class Soak:
    def setUp(self):
        super().setUp()
        self.client = self.connect(timeout=soak.LOST_S)

    def figures(self) -> dict:
        found = {}
        for group in (b"", b"runtime", b"memory"):
            found |= {name: int(value) for name, value in self.client.stats(group).items() if value.isdigit()}
        for kind in ("index", "items"):  # of all NUMA nodes
            found[f"live_{kind}"] = sum(value for name, value in found.items() if name.endswith(f":{kind}:live"))
        found["rss"] = self.server.rss_bytes()
        return found | {"uncharged": found["rss"] - found["used"]}

    def load(self, seconds: float) -> soak.Tally:
        """Runs at least so long, and until three times the limit was stored, in all ways. Raises the first client's failure."""
        tally = soak.Tally(self.server)
        load = Threads(self.server.port, timeout=soak.LOST_S)
        readers = Threads(self.server.port, timeout=soak.LOST_S, receive_buffer=4096)
        readers.stop, readers.failures = load.stop, load.failures
        fillers = [soak.Filler(number, _LIMIT_MIB * _MIB // (2 * _FILLERS), tally, load.stop) for number in range(_FILLERS)]
        probes = [soak.Probe(number, _FILLERS, tally, load.stop) for number in range(_PROBES)]
        load.start(lambda client, number: fillers[number].run(client), _FILLERS)
        load.start(lambda client, number: probes[number].run(client), _PROBES)
        readers.start(lambda client, _: soak.read_slowly(client, load.stop), 2)
        readers.start(lambda _, __: soak.read_nothing(self.server.port, load.stop), 4)
        readers.start(lambda _, __: tally.watch_the_clients(load.stop), 1)
        try:
            end, late = time.monotonic() + seconds, time.monotonic() + seconds + patience(600)
            while not load.stop.wait(0.5):
                begun = time.monotonic()
                self.assertEqual(self.client.ask(b"debugtime %d" % soak.SWEEP_S), b"OK")
                tally.waited(begun)
                now = time.monotonic()
                enough = tally.stored_bytes >= _TIMES_THE_LIMIT * _LIMIT_MIB * _MIB and tally.ways.keys() >= {way.__name__ for way in fillers[0].ways}
                if now >= end and enough:
                    break
                self.assertLess(now, late, f"{tally.stored_bytes} bytes were stored: {tally.ways}")
        finally:
            load.stop.set()
            for group in (readers, load):
                for thread in group.threads:
                    thread.join()
        load.join()
        return tally

    def empty(self) -> None:
        """Items with a time to live expire; deletes the rest, page by page."""
        # Sweeps run after all other work, and eviction may come first: so the test adds expiring items until a sweep runs.
        swept = int(self.client.stats()["crawler_reclaimed"])

        def a_sweep_came() -> bool:
            self.client.send(b"".join(b"set last%d 0 2 1 noreply\r\n1\r\n" % i for i in range(1000)) + b"mn\r\n")
            self.assertEqual(self.client.line(), b"MN")
            self.client.ask(b"debugtime %d" % soak.SWEEP_S)
            return int(self.client.stats()["crawler_reclaimed"]) > swept

        self.client.ask(b"debugtime %d" % (1000 * soak.SWEEP_S))
        wait_for(a_sweep_came, "a sweep for expired items", 60)
        cursor = b""
        while True:
            line = self.client.ask(b"mx -" + cursor)
            self.assertTrue(line.startswith(b"HD A"), line)
            cursor = b" " + line.split()[-1]
            if not cursor.startswith(b" G"):
                return

    def bounds(self, fresh: dict) -> dict:
        """The most that may remain when nothing is stored."""
        workers = self.options.workers
        return {
            "curr_items": 0,
            "retired": 0,
            # On each level the first node stays, and a few that could not be folded: 70 nodes of 896 bytes, of tens of thousands.
            "live_index": 64 * _KIB,
            "live_items": 0,
            # Spans of 64 KiB: each worker keeps one span of each of the some ten sizes that it used.
            "index": (workers + 1) * _MIB,
            "items": (workers + 1) * _MIB,
            # Arenas of 2 MiB, for five sizes of blocks, which are never given back: the peak of tasks in flight.
            # A cache must not lose more than half of its limit to its tasks.
            "tasks": max(_LIMIT_MIB, 64) * _MIB // 2,
            # Items keep four free superblocks of 2 MiB and 1/32 of the limit, nodes as much; the C library's heap keeps 8 MiB.
            "uncharged": fresh["uncharged"] + (2 * 4 * 2 + 2 * _LIMIT_MIB // 32 + 8) * _MIB,
        }

    def expect_only_what_lives(self, fresh: dict) -> dict:
        """Memory comes back within epochs; sweeps and unlinking run after the operations that emptied the tree."""
        bounds = self.bounds(fresh)
        if SANITIZED:
            del bounds["uncharged"]
        deadline = time.monotonic() + patience(60)
        while True:
            now = self.figures()
            beyond = {name: (now[name], bound) for name, bound in bounds.items() if now[name] > bound}
            if not beyond:
                return now
            self.assertLess(time.monotonic(), deadline, f"more than there may be: {beyond}")
            self.client.ask(b"debugtime %d" % soak.SWEEP_S)
            self.wake_workers()
            time.sleep(0.5)

    def wake_workers(self) -> None:
        """A sleeping worker does not look at its blocks that other workers freed, unless they are many."""
        clients = [self.connect(timeout=soak.LOST_S) for _ in range(2 * self.options.workers)]
        for client in clients:
            self.assertEqual(client.ask(b"mn"), b"MN")
        for client in clients:
            client.close()

    def test_answers_go_on_and_memory_comes_back(self):
        try:
            self.go_through_all_parts()
        except BaseException:
            print(self.state(), file=sys.stderr, flush=True)
            raise

    def state(self) -> str:
        """The state of a server that did not answer: whether it works, for which client, and at what."""
        ticks = self.server.cpu_ticks()
        time.sleep(1)
        lines = [f"{self.server.cpu_ticks() - ticks} ticks of CPU in a second", self.server.log()[-2000:]]
        for number in range(2 * self.options.workers):
            try:
                found = self.connect(timeout=soak.LOST_S).stats(b"runtime")
                lines.append(", ".join(f"{name} {value}" for name, value in found.items() if value not in ("0", "off")))
            except OSError as error:
                lines.append(f"client {number}: {error!r}")
        return "\n".join(lines)

    def go_through_all_parts(self) -> None:
        fresh = before = self.figures()
        parts = max(2 if _IN_FULL else 1, round(_SECONDS / _PART_S))
        for part in range(parts):
            tally = self.load(_SECONDS / parts)
            self.empty()
            now = self.expect_only_what_lives(fresh)
            for name in ("leaves_unlinked", "inner_nodes_folded", "evictions", "crawler_reclaimed", "range_deleted_items"):
                self.assertGreater(now[name], before[name], f"{name}: the load did not do what it is for")
            before = now
            if environment.SOAK_S:
                print(f"part {part + 1} of {parts}: {tally.stored_bytes // _MIB} MiB stored, longest wait {tally.longest_s:.3f} s, "
                      f"clients' pause {tally.pause_s:.3f} s; then RSS {now['rss'] // _MIB} MiB, tasks {now['tasks'] // _MIB} MiB, "
                      f"nodes {now['live_index'] // _KIB} KiB, leaves unlinked {now['leaves_unlinked']}, waits "
                      f"{now['unlink_waits']}, expired {now['crawler_reclaimed']}, evicted {now['evictions']}", file=sys.stderr, flush=True)


_CLOCK = (("server.debug_time", "true"),)


@mxkv_only("ranges, batches, and a clock that can be moved")
@unittest.skipUnless(_IN_FULL, "MXKV_TEST_LONG, or MXKV_SOAK_S")
class SoakOneWorkerTest(Soak, OwnServerCase):
    options = Options(workers=1, memory_mib=_LIMIT_MIB, settings=_CLOCK)


@mxkv_only("ranges, batches, and a clock that can be moved")
class SoakTwoWorkersTest(Soak, OwnServerCase):
    options = Options(workers=2, memory_mib=_LIMIT_MIB, settings=_CLOCK)


@mxkv_only("ranges, batches, and a clock that can be moved")
@unittest.skipUnless(_IN_FULL, "MXKV_TEST_LONG, or MXKV_SOAK_S")
class SoakFourWorkersTest(Soak, OwnServerCase):
    options = Options(workers=4, memory_mib=_LIMIT_MIB, settings=_CLOCK)
