"""The power is cut, syncs fail, the disk is full or slow: acknowledged changes survive, and the daemon reports the failure.

A library between the daemon and its files plays the disk (faults/faulty_disk.cpp): after a cut unsynced data are old, new
or garbage.

    MXKV_CUTS=300 python3 -B -m unittest test_power_cuts.PowerCutTest     number of cuts; six without
"""

import os
import random
import signal
import subprocess
import time
import unittest

from durable_case import DurableCase
from durable_ledger import Clients
from harness import LONG, SANITIZED, patience, wait_for
from harness.beside import load_tests  # noqa: F401
from harness.environment import preloaded
from range_watcher import Watcher

_LIBRARY = preloaded("MXKV_FAULTY_DISK")
_CUTS = int(os.environ.get("MXKV_CUTS", "0")) or (60 if LONG else 6)
_MOST_ANSWERS = 1500  # before a cut: about half a second of load
_CUT_CODE = 99


@unittest.skipIf(SANITIZED or not _LIBRARY, "a sanitizer's library must come first")
class FaultyDiskCase(DurableCase):
    def setUp(self):
        super().setUp()
        self.data = self.data.resolve()
        self.side = self.directory / "side"
        self.side.mkdir()
        self.control = self.directory / "control"
        os.mkfifo(self.control)
        self.variables = os.environ | {"LD_PRELOAD": _LIBRARY, "FAULTY_DISK_FOLDER": str(self.data),
                                       "FAULTY_DISK_SIDE": str(self.side), "FAULTY_DISK_CONTROL": str(self.control)}

    def begin(self, *arguments, full: bool = False, **options) -> int:
        """`full`: the disk is full before the daemon starts."""
        return super().begin(*arguments, env=self.variables | ({"FAULTY_DISK_FULL": "1"} if full else {}), **options)

    def tell(self, command: str) -> None:
        """Sends a command to the disk; returns when the disk has obeyed it, except for a cut, which ends the process."""
        obeyed = self.control.with_name(self.control.name + ".obeyed")
        before = obeyed.stat().st_size if obeyed.exists() else 0
        self.control.write_text(command + "\n")
        if not command.startswith("cut"):
            wait_for(lambda: obeyed.exists() and obeyed.stat().st_size > before, "the disk obeys")

    @staticmethod
    def load(clients, port: int, answers: int) -> None:
        """Starts the clients and returns when they have had so many more answers."""
        wanted = clients.answers + answers
        clients.start(port)
        wait_for(lambda: clients.answers >= wanted, f"{answers} answers")

    def cut(self, seed: int) -> float:
        """Cuts the power; returns the time."""
        self.tell(f"cut {seed}")
        self.assertEqual(self.process.wait(timeout=patience(30)), _CUT_CODE, self.log())
        self.assert_no_report()
        return time.monotonic()

    def refused(self, client) -> str:
        """Why the server refuses a write; empty: it accepts writes."""
        reply = client.set(b"probe", b"1")
        if reply == b"STORED":
            return ""
        self.assertTrue(reply.startswith(b"SERVER_ERROR journal: "), reply)
        return reply[22:].decode()


class PowerCutTest(FaultyDiskCase):
    more = "  segment: 1MiB\n  checkpoint: {journal: 1MiB, rate: unlimited}\n"

    def test_cuts_under_load_lose_nothing_that_was_answered_or_read(self):
        chance = random.Random(_CUTS)
        clients = Clients(seed=_CUTS)
        port = self.begin()
        clients.fill(port)
        without_answer = noticed = 0
        for round_number in range(_CUTS):
            self.load(clients, port, chance.randrange(50, _MOST_ANSWERS))
            crashed = self.cut(chance.randrange(1 << 32))
            clients.join()
            noticed += self.check_without_newest(chance.randrange(3))
            while chance.random() < 0.3:  # a daemon that recovers is also cut
                self.begin(wait="")
                time.sleep(chance.uniform(0.05, 0.2))
                self.cut(chance.randrange(1 << 32))
            port = self.begin()
            try:
                without_answer += clients.reconcile(port, crashed)
            except AssertionError as problem:
                raise AssertionError(f"round {round_number}: {problem}\n{self.log()}") from None
        self.assertGreater(clients.answers, 20 * _CUTS)
        self.end(signal.SIGTERM)
        told = [tuple(map(int, line.split())) for line in (self.side / "cuts").read_text().splitlines()]
        spoiled, undone = (sum(column) for column in zip(*told))
        self.assertGreater(spoiled, len(told))  # the library works: cuts spoil sectors
        self.assertGreater(noticed, 0)
        print(f"PowerCutTest: {len(told)} cuts, {noticed} lost segments noticed, {spoiled} sectors and {undone} changes of "
              f"names lost, {clients.answers} answers, {without_answer} commands without one took effect")


class FailedDiskTest(FaultyDiskCase):
    def test_a_failed_sync_is_never_trusted_again(self):
        """The server never sends the waiting replies; a checkpoint makes the data whole, and then it accepts writes again."""
        port = self.begin()
        clients = Clients(seed=5)
        clients.fill(port)
        self.load(clients, port, 900)
        self.tell("fail sync 1")
        self.wait_log("the replies that waited for it are not sent")
        clients.join()
        client = self.client(port)
        wait_for(lambda: not self.refused(client), "writes are served again")
        self.assertEqual(self.client(port).get(b"acct00") is not None, True)
        self.check_after_a_cut(clients)

    def test_a_failed_write_ends_watches_as_old(self):
        port = self.begin()
        watcher, writer = Watcher(self.client(port)), self.client(port)
        watcher.begin(b"mw - Ow")
        writer.set(b"a", b"1")
        watcher.section()
        self.tell("fail write 1")
        writer.send(b"set b 0 0 1\r\n2\r\n")
        self.wait_log("the replies that waited for it are not sent")
        client = self.client(port)
        wait_for(lambda: not self.refused(client), "writes are served again")
        position = watcher.position
        while watcher.over is None:
            watcher.section()
        self.assertRegex(watcher.over, rb"^WO Ow old G[0-9a-f]{16}\.\d+$")
        self.assertNotIn(b"WP kb", watcher.lines)
        self.assertRegex(client.ask(b"mw - O2 G" + position), rb"^EX O2 old G")
        Watcher(client).begin(b"mw - O2 G" + watcher.over.split(b" G")[1])
        self.assertEqual(self.client(port).stats(b"watch")["gaps"], "1")

    def test_a_failed_write_is_told_and_made_good(self):
        port = self.begin()
        clients = Clients(seed=6)
        clients.fill(port)
        self.load(clients, port, 600)
        self.tell("fail write 1")
        self.wait_log("the replies that waited for it are not sent")
        clients.join()
        client = self.client(port)
        wait_for(lambda: not self.refused(client), "writes are served again")
        self.check_after_a_cut(clients)

    def check_after_a_cut(self, clients) -> None:
        """The data in memory after the failure are the data that the next process has."""
        port = self.ports()[0]
        clients.reconcile(port)
        self.load(clients, port, 900)
        crashed = self.cut(11)
        clients.join()
        clients.reconcile(self.begin(), crashed)

    def test_it_ends_where_that_is_wanted(self):
        self.configure(more="  on_failure: exit\n")
        port = self.begin()
        self.assertEqual(self.client(port).set(b"a", b"1"), b"STORED")
        self.tell("fail sync 1")
        self.client(port).send(b"set b 0 0 1\r\n2\r\n")
        self.assertEqual(self.process.wait(timeout=patience(20)), 70, self.log())
        port = self.begin()
        self.assertEqual(self.client(port).get(b"a"), b"1")

    def test_a_full_disk_refuses_writes_and_loses_nothing(self):
        port = self.begin()
        client = self.client(port)
        self.assertEqual(client.set(b"before", b"1"), b"STORED")
        self.tell("full on")
        other = self.client(port, timeout=60)
        other.send(b"set held 0 0 1\r\n2\r\n")  # this reply waits for the disk, and comes in the end
        why = wait_for(lambda: client.stats(b"durability").get("refusal"), "writes are refused")
        self.assertIn("no space left", why)
        self.assertEqual(client.get(b"before"), b"1")
        for command in (b"delete before", b"incr before 1", b"touch before 9", b"flush_all", b"mx - X", b"md before",
                        b"ms before 1\r\n1", b"mb 1\r\nmd before"):
            reply = client.ask(command)
            self.assertTrue(reply.removeprefix(b"EX 1 ").startswith(b"SERVER_ERROR journal: "), (command, reply))
        self.assertEqual(client.get(b"before"), b"1")
        self.tell("full off")
        self.assertEqual(other.line(), b"STORED")
        wait_for(lambda: not self.refused(client), "writes are served again")
        self.assertNotIn("flush_all from", self.log())  # the server refused it
        crashed = self.cut(3)
        self.assertGreater(crashed, 0)
        client = self.client(self.begin())
        self.assertEqual((client.get(b"before"), client.get(b"held")), (b"1", b"2"))

    def test_a_start_on_a_full_disk_serves_reads(self):
        client = self.client(self.begin())
        self.assertEqual(client.set(b"before", b"1"), b"STORED")
        self.end(signal.SIGTERM)
        for _ in range(2):  # a start that refuses writes promises nothing, so the next one misses nothing
            client = self.client(self.begin(full=True))
            self.assertIn("journal: writes are refused: no space left on device", self.log())
            self.assertEqual(client.get(b"before"), b"1")
            for command in (b"delete before", b"set before 0 0 1\r\n2", b"flush_all"):
                self.assertTrue(client.ask(command).startswith(b"SERVER_ERROR journal: no space"), command)
            self.end(signal.SIGTERM)
        client = self.client(self.begin(full=True))
        self.assertEqual(client.get(b"before"), b"1")
        self.tell("full off")
        wait_for(lambda: not self.refused(client), "writes are served")
        self.cut(7)
        client = self.client(self.begin())
        self.assertEqual((client.get(b"before"), client.get(b"probe")), (b"1", b"1"))

    def test_a_start_without_room_for_the_journals_end_is_refused(self):
        """After a kill the last groups may be in the system's memory only: the start copies them before any client reads them."""
        client = self.client(self.begin())
        self.assertEqual(client.set(b"before", b"1"), b"STORED")
        self.crash()
        code, said = self.run_to_end(env=self.variables | {"FAULTY_DISK_FULL": "1"})
        self.assertEqual(code, 2, said)
        self.assertRegex(said, r"mxkvd: .*/journal/[0-9a-f]{16}\.mxj: No space left on device: the journal's end is copied")
        self.assertNotIn("listening on", said)
        self.assertEqual(self.client(self.begin()).get(b"before"), b"1")

    def test_a_checkpoint_without_a_server_says_that_the_disk_is_full(self):
        client = self.client(self.begin())
        self.assertEqual(client.set(b"before", b"1"), b"STORED")
        self.end(signal.SIGTERM)
        for full in ("1", ""):
            done = subprocess.run([self.command()[0], "checkpoint", str(self.data)], capture_output=True, text=True,
                                  timeout=patience(120), check=False, env=self.variables | {"FAULTY_DISK_FULL": full})
            with self.subTest(full=full):
                if full:
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn("mxkvd: checkpoint: no space left on device", done.stderr)
                    self.assertIn("--to BACKUP", done.stderr)
                else:
                    self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.client(self.begin()).get(b"before"), b"1")

    def test_a_slow_disk_is_told(self):
        port = self.begin()
        self.tell("slow 1500")
        self.assertEqual(self.client(port, timeout=60).set(b"a", b"1"), b"STORED")
        self.wait_log("warning journal: ")
        self.tell("slow 0")
        self.end(signal.SIGTERM)
