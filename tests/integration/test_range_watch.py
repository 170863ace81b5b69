"""mw and mu: watchers hear of every change of their range, and what they fold equals what a scan shows."""

import dataclasses
import random
import signal
import tempfile
import threading
from pathlib import Path

from harness import DaemonCase, LONG, Options, OwnServerCase, ServerCase, Threads, mxkv_only, scaled, wait_for
from harness.connection import block
from range_watcher import Watcher, change, drain_to, mark


class InDirectory:
    """Before a case among the bases of a class: its server has a data directory, and `more` settings."""
    more: tuple = ()

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="mxkvd")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.options = dataclasses.replace(
            cls.options, settings=(*cls.options.settings, *cls.more, ("durability.directory", folder.name)))
        super().setUpClass()


class WatchCase(ServerCase):
    def setUp(self):
        self.writer = self.connect()
        self.writer.ask(b"flush_all")

    def watcher(self, line: bytes) -> Watcher:
        watcher = Watcher(self.connect())
        watcher.begin(line)
        return watcher

    def heard(self, watcher: Watcher, name: bytes = b"w") -> list:
        """All lines up to a mark."""
        watcher.lines = []
        mark(watcher.client, name, b"x")
        answered = False
        while True:
            line = watcher.client.line()
            if line == b"HD O" + name:
                answered = True
            elif line.startswith(b"WE O") and line.endswith(b" mx"):
                assert answered
                return watcher.lines
            elif not line.startswith((b"WS ", b"WE ")):
                watcher.apply(line)


@mxkv_only("watches of ranges")
class LinesTest(WatchCase):
    def test_each_kind_of_change_is_a_line(self):
        watcher = self.watcher(b"mw - Ow f s t v")
        self.writer.ask(b"ms a 3 F7 T1000\r\nxyz")
        self.writer.ask(b"touch a 0")
        self.writer.ask(b"ma n N0")
        self.writer.ask(b"incr n 5")
        self.writer.ask(b"append a 0 0 1\r\n!")
        self.writer.ask(b"md a")
        self.writer.ask(b"mt n p T0")
        self.writer.ask(b"mx n Ho i X")
        self.writer.ask(b"flush_all")
        lines = self.heard(watcher)
        of_a = [line for line in lines if b" ka " in line + b" "]  # between marks, keys have no order among each other
        self.assertEqual(of_a, [b"WV 3 ka f7 s3 t1000", b"WT ka t-1", b"WV 4 ka f7 s4 t-1", b"WG ka Rd"])
        self.assertEqual([line for line in lines if line not in of_a],
                         [b"WV 1 kn f0 s1 t-1", b"WV 1 kn f0 s1 t-1", b"WY kn Ho t-1", b"WX kn Ho i Rd", b"WX k Rf"])

    def test_only_the_range_and_the_kinds_are_told(self):
        prefix = self.watcher(b"mw user: p Ow Mp")
        bounds = self.watcher(b"mw b Hd o Ow")
        for key in (b"a", b"b", b"c", b"d", b"user:1", b"user;"):
            self.writer.set(key, b"v")
        self.writer.ask(b"delete user:1")
        self.writer.ask(b"delete c")
        self.assertEqual(self.heard(prefix), [b"WP kuser:1"])
        self.assertEqual(self.heard(bounds), [b"WP kc", b"WG kc Rd"])

    def test_a_batch_is_told_as_one(self):
        watcher = self.watcher(b"mw - Ow")
        self.writer.send(b"mb 3\r\nms a 1\r\n1\r\nms b 1\r\n2\r\nmd a\r\n")
        self.assertEqual([self.writer.line() for _ in range(4)], [b"HD"] * 4)
        self.assertEqual(self.heard(watcher), [b"WB 2", b"WG ka Rd", b"WP kb"])

    def test_a_binary_key_comes_in_base64(self):
        watcher = self.watcher(b"mw - Ow")
        self.writer.ask(b"ms AAE= 1 b\r\n1")
        self.assertEqual(self.heard(watcher), [b"WP kAAE= b"])

    def test_a_large_value_is_not_told(self):
        watcher = self.watcher(b"mw - Ow v")
        self.writer.set(b"large", b"x" * 70_000)
        self.writer.set(b"middle", b"y" * 60_000)
        self.assertEqual(self.heard(watcher), [b"WP klarge s70000", b"WV 60000 kmiddle"])
        self.assertEqual(watcher.items[b"middle"], b"y" * 60_000)

    def test_requests_go_on_beside_a_watch(self):
        watcher = self.watcher(b"mw - Ow v")
        client = watcher.client
        client.send(b"set k 0 0 1\r\nx\r\nget k\r\nget none\r\n")
        self.assertEqual([client.line() for _ in range(5)], [b"STORED", b"VALUE k 0 1", b"x", b"END", b"END"])
        self.assertEqual(self.heard(watcher), [b"WV 1 kk"])

    def test_long_replies_behind_mw_do_not_hold_up_its_answer(self):
        long = b"v" * 60_000
        self.assertEqual(self.writer.set(b"long", long), b"STORED")
        client = self.connect()
        client.send(b"mw l p Oa\r\n" + b"get long\r\n" * 40)
        self.assertTrue(client.line().startswith(b"HD Oa G"))
        for _ in range(40):
            self.assertEqual(client.records(), [(b"long", long, [0])])

    def test_who_leaves_amid_its_replies_leaves_no_watch(self):
        request = block(b"set", b"long", b"v" * 60_000) + b"get long\r\n"
        for turn in range(scaled(20, 6)):
            client = self.connect()
            client.socket.setblocking(False)
            client.socket.send(b"mw l p Oa v\r\nmw l p Ob v\r\n" + request * 20)  # as much as the kernel takes
            client.reset() if turn % 2 else client.close()
        wait_for(lambda: self.writer.stats(b"watch")["watches"] == "0", "the watches of those who left go")

    def test_a_mark_has_what_its_connection_did_before(self):
        watcher = self.watcher(b"mw - Ow")
        for number in range(100):
            watcher.lines = []
            watcher.client.send(b"set k%d 0 0 1\r\nx\r\nmu Ow mm\r\n" % number)
            drain_to(watcher, b"STORED")
            drain_to(watcher, b"HD Ow")
            watcher.until_mark(b"m")
            self.assertIn(b"WP kk%d" % number, watcher.lines)

    def test_several_watches_share_a_connection(self):
        client = self.connect()
        for name in (b"1", b"2"):
            Watcher(client).begin(b"mw %s p O%s" % (name, name))

        def told() -> list:
            """The beginning of the next section with a change; others are marks alone."""
            while (first := client.line()) and (line := client.line()).startswith(b"WE "):
                pass
            return [first, line]
        self.writer.set(b"2x", b"v")
        self.assertEqual(told(), [b"WS O2", b"WP k2x"])
        self.assertTrue(client.line().startswith(b"WE O2 G"))
        self.assertEqual(client.ask(b"mu O2"), b"HD O2")
        self.assertEqual(client.ask(b"mu O2"), b"NF")
        self.writer.set(b"2y", b"v")
        self.writer.set(b"1x", b"v")
        self.assertEqual(told(), [b"WS O1", b"WP k1x"])

    def test_errors(self):
        client = self.connect()
        for line, error in ((b"mw -", b"CLIENT_ERROR mw needs O"), (b"mw - O1 Gx", b"CLIENT_ERROR bad position"),
                            (b"mw - O1 G0123456789abcdef.1.YQ==", b"CLIENT_ERROR bad position"),
                            (b"mw - O1 Mpx", b"CLIENT_ERROR mw does not tell of expiry yet: leave x out of M"), (b"mw - O1 G0123456789abcdef.1", b"EX O1 lost"),
                            (b"mw - O1 S", b"CLIENT_ERROR mw does not send the state yet: begin the watch without S, then read the "
                                           b"range by mr"), (b"mu", b"CLIENT_ERROR mu needs O"), (b"mu O1", b"NF")):
            self.assertEqual(client.ask(line), error, line)
        position = Watcher(client).begin(b"mw - O1").split(b" G")[1]
        self.assertEqual(client.ask(b"mw - O1"), b"CLIENT_ERROR this name watches already")
        tag, epoch = position.split(b".")
        self.assertEqual(client.ask(b"mw - O2 G%s.%d" % (tag, int(epoch) + 1000)), b"EX O2 lost")

    def test_a_position_before_the_log_is_old(self):
        tag = Watcher(self.connect()).begin(b"mw - O1").split(b" G")[1].split(b".")[0]
        self.assertRegex(self.connect().ask(b"mw - O2 G%s.0" % tag), rb"^EX O2 old G%s\.[1-9]\d*$" % tag)

    def test_a_connection_has_64_watches(self):
        client = self.connect()
        for number in range(64):
            Watcher(client).begin(b"mw k p O%d" % number)
        self.assertEqual(client.ask(b"mw k p O64"), b"SERVER_ERROR too many watches")
        self.assertEqual(client.ask(b"mu O7"), b"HD O7")
        Watcher(client).begin(b"mw k p O64")

    def test_a_watch_goes_on_from_its_position(self):
        watcher = self.watcher(b"mw - Ow v")
        self.writer.set(b"a", b"1")
        self.assertEqual(self.heard(watcher), [b"WV 1 ka"])
        position = watcher.client.ask(b"mu Ow") and watcher.position
        watcher.client.close()
        self.writer.set(b"b", b"2")
        self.writer.set(b"c", b"3")
        other = self.watcher(b"mw - Ow v G" + position)
        lines = self.heard(other)
        self.assertEqual(lines[-2:], [b"WV 1 kb", b"WV 1 kc"])
        self.assertIn(lines, ([b"WV 1 kb", b"WV 1 kc"], [b"WV 1 ka", b"WV 1 kb", b"WV 1 kc"]))

    def test_statistics(self):
        before = self.writer.stats(b"watch")
        watcher = self.watcher(b"mw stat p Ow")
        self.writer.set(b"stat1", b"v")
        self.heard(watcher)
        stats = self.writer.stats(b"watch")
        self.assertEqual(int(stats["told"]), int(before["told"]) + 1)
        watcher.client.close()
        wait_for(lambda: self.writer.stats(b"watch")["watches"] == "0", "the watch has left", 20)


@mxkv_only("watches of ranges")
class DurableLinesTest(InDirectory, LinesTest):
    def test_a_position_before_the_log_is_old(self):
        """The directory began with this server, so that its log has all changes."""
        watcher = Watcher(self.connect())
        tag = watcher.begin(b"mw - O1").split(b" G")[1].split(b".")[0]
        self.writer.set(b"k", b"v")
        other = Watcher(self.connect())
        self.assertEqual(other.begin(b"mw - O2 G%s.0" % tag), b"HD O2 G%s.0" % tag)
        mark(other.client, b"2", b"now")
        drain_to(other, b"HD O2")
        other.until_mark(b"now")
        self.assertIn(b"WX k Rf", other.lines)
        self.assertEqual(other.lines[-1], b"WP kk")


@mxkv_only("watches of ranges")
class DelayedLinesTest(InDirectory, LinesTest):
    """Replies do not wait for the disk; lines and marks do."""
    more = (("durability.sync", "1s"),)
    test_a_position_before_the_log_is_old = DurableLinesTest.test_a_position_before_the_log_is_old


@mxkv_only("watches of ranges")
class FoldTest(OwnServerCase):
    """Writers change keys at random, watchers come, fold and return; at the end each map equals a scan."""
    options = Options(workers=2, settings=(("watch.memory", "1MiB"), ("watch.ring", "64MiB")))
    keys = [b"key:%02d" % number for number in range(40)]

    def write(self, client, number: int) -> None:
        chance = random.Random(number)
        for turn in range(scaled(6000 if LONG else 1500)):
            change(client, chance, self.keys, b"%d-%d" % (number, turn))

    def watch(self, client, number: int) -> None:
        chance = random.Random(100 + number)
        watcher = Watcher(client)
        watcher.begin(b"mw key: p Ow v")
        ends = False
        while not ends:
            ends = self.done.wait(chance.random() / 20)
            mark(client, b"w", b"now")
            drain_to(watcher, b"HD Ow")
            watcher.until_mark(b"now")
            if chance.randrange(4) == 0:  # leaves, and returns to its last position
                client.send(b"mu Ow\r\n")
                drain_to(watcher, b"HD Ow")
                watcher.begin(b"mw key: p Ow v G" + watcher.position)
                ends = False
        self.maps.append(watcher.items)

    def test_every_map_equals_the_last_scan(self):
        self.done, self.maps = threading.Event(), []
        watchers, writers = Threads(self.server.port, timeout=120), Threads(self.server.port, timeout=120)
        watchers.start(self.watch, 3)
        wait_for(lambda: self.client.stats(b"watch")["live"] == "3", "all watch", 30)
        writers.start(self.write, 3)
        writers.join()
        self.done.set()
        watchers.join()
        self.assertEqual(len(self.maps), 3)
        held = {key: value for key, value, _ in self.client.records(b"scan - 1000")}
        for folded in self.maps:
            self.assertEqual(folded, held)


@mxkv_only("watches of ranges")
class DurableFoldTest(InDirectory, FoldTest):
    """Checkpoints come all the time, and make the journal before them history."""
    more = (("durability.segment", "1MiB"), ("durability.checkpoint.journal", "1MiB"), ("durability.checkpoint.rate", "unlimited"))


@mxkv_only("watches of ranges")
class SlowTest(OwnServerCase):
    options = Options(workers=2, settings=(("watch.memory", "1MiB"), ("watch.ring", "1MiB"), ("limits.output_stall", "10min")))

    def wait_forgotten(self):
        """Until the server has forgotten the first changes."""

    def test_a_watch_that_never_reads_ends_as_old(self):
        slow, fast = self.connect(receive_buffer=4096), self.connect()
        for client in (slow, fast):
            Watcher(client).begin(b"mw - Ow v")
        watcher = Watcher(fast)
        for turn in range(scaled(400)):
            self.client.send(b"".join(block(b"set", b"k%d" % i, b"x" * 1000) for i in range(40)))
            for _ in range(40):
                self.client.line()
            mark(fast, b"w", b"%d" % turn)
            drain_to(watcher, b"HD Ow")
            watcher.until_mark(b"%d" % turn)
        stats = self.client.stats(b"watch")
        self.assertGreaterEqual(int(stats["falls_behind"]), 1)
        self.wait_forgotten()
        line = b""
        reader = Watcher(slow)
        while not line.startswith(b"WO "):
            line = reader.section()
        self.assertTrue(line.startswith(b"WO Ow old G"), line)
        self.assertEqual(slow.ask(b"mn"), b"MN")
        self.assertEqual(self.client.stats(b"watch")["watches"], "1")


@mxkv_only("watches of ranges")
class DurableSlowTest(InDirectory, SlowTest):
    more = (*DurableFoldTest.more, ("watch.history", "0"))

    def wait_forgotten(self):
        first = self.folder / "journal" / "0000000000000001.mxj"
        wait_for(lambda: not first.exists(), "the first segment is gone", 60)


@mxkv_only("watches of ranges")
class UnreadTest(OwnServerCase):
    """Clients that read nothing cost `watch.memory`, however many watches they have."""
    options = Options(workers=2, settings=(("watch.memory", "1MiB"), ("watch.ring", "16MiB"), ("limits.output_stall", "10min")))
    most = (1 << 20) + (128 << 10)  # and a frame, and the answers to mw

    def idle_clients(self, count: int) -> list:
        self.client.set(b"big", b"x" * 1_000_000)
        clients = [self.connect(receive_buffer=4096) for _ in range(count)]
        for client in clients:
            for number in range(64):
                Watcher(client).begin(b"mw k p O%d v" % number)
            client.send(b"get big\r\n" * 6)  # more than the server writes before the client reads
        return clients

    def unread(self) -> int:
        return int(self.client.stats(b"watch")["unread_bytes"])

    def test_places_in_queues_are_counted(self):
        clients = self.idle_clients(4)

        def behind() -> bool:  # changes of one epoch, of which there are few on a busy machine, take one place
            for number in range(20):
                self.client.set(b"k%d" % number, b"v")
            self.assertLess(self.unread(), self.most)
            return int(self.client.stats(b"watch")["behind"]) > 200
        wait_for(behind, "the watches are behind", 60)
        del clients

    def test_an_epoch_larger_than_the_memory_is_told_in_parts(self):
        clients = self.idle_clients(2)
        reader = Watcher(self.connect())
        reader.begin(b"mw k p Or v")
        for turn in range(10):
            values = [b"%d-%d" % (turn, number) * 10_000 for number in range(40)]
            self.client.send(b"mb 40\r\n" + b"".join(b"ms k%d %d\r\n%s\r\n" % (number, len(value), value)
                                                      for number, value in enumerate(values)))
            self.assertEqual([self.client.line() for _ in range(41)][0], b"HD")
            mark(reader.client, b"r", b"%d" % turn)
            drain_to(reader, b"HD Or")
            reader.until_mark(b"%d" % turn)
            self.assertEqual([reader.items[b"k%d" % number] for number in range(40)], values)
            self.assertLess(self.unread(), self.most)
        self.assertEqual(reader.batches, [40] * 10)
        del clients


@mxkv_only("watches of ranges")
class RingTest(DaemonCase):
    def test_the_ring_takes_a_part_of_the_memory_limit(self):
        self.start("--memory", "32MiB")
        writer, watcher = self.client(), self.client()
        for number in range(100):
            writer.set(b"data%d" % number, b"x" * 100_000)
        before = writer.stats()["curr_items"]
        Watcher(watcher).begin(b"mw nothing p Ow")

        def fills_the_ring() -> bool:  # an epoch that is larger empties it
            for number in range(200):
                self.assertEqual(writer.store(b"set", b"churn%d" % (number % 5), b"y" * 20_000), b"STORED")
            ring = int(writer.stats(b"watch")["ring_bytes"])
            self.assertLessEqual(ring, 4 << 20)
            return ring > 1 << 20
        for _ in range(10):
            wait_for(fills_the_ring, "the ring is in use", 60)
        self.assertEqual(int(writer.stats()["curr_items"]), int(before) + 5)


@mxkv_only("watches of ranges")
class EndsTest(DaemonCase):
    def test_the_end_of_the_server_is_told(self):
        self.start()
        client = self.client()
        watcher = Watcher(client)
        watcher.begin(b"mw - Ow")
        self.client().set(b"k", b"v")
        watcher.section()
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(client.line(), b"WO Ow ends G" + watcher.position)
        self.assertEqual(client.rest(), b"")

    def test_a_reader_watches_its_prefix_alone(self):
        users = self.directory / "users"
        users.write_text("users:\n  - {name: ann, password: secret, role: reader, prefixes: ['a:']}\n")
        self.start("--set", f"server.auth_file={users}")
        client = self.client()
        self.assertEqual(client.store(b"set", b"any", b"ann secret"), b"STORED")
        self.assertEqual(client.ask(b"mw - O1"), b"CLIENT_ERROR forbidden")
        self.assertEqual(client.ask(b"mw a p O1"), b"CLIENT_ERROR forbidden")
        self.assertTrue(client.ask(b"mw a: p O1").startswith(b"HD O1 G"))
        self.assertEqual(client.ask(b"mu O1"), b"HD O1")

    def test_no_watch_is_allowed_where_the_limit_is_0(self):
        self.start("--set", "watch.most=0")
        self.assertEqual(self.client().ask(b"mw - O1"), b"SERVER_ERROR too many watches")


if __name__ == "__main__":
    import unittest
    unittest.main()
