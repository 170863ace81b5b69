"""Starts on directories that are right, wrong, damaged, of another program or too large: one line explains each refusal, and a
refused start changes nothing.
"""

import hashlib
import os
import re
import signal
import shutil
import unittest

from durable_case import DurableCase
from harness import IS_MEMCACHED, LONG, SANITIZED, wait_for
from harness.connection import padded

_PATIENCE_S = 120
_IN_A_HEADER = 60


def picture(folder) -> dict:
    """Every file by its content, except for the lock, which carries none."""
    return {path.relative_to(folder): hashlib.sha256(path.read_bytes()).digest()
            for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "LOCK"}


@unittest.skipIf(IS_MEMCACHED, "of mxkvd")
class RefusedStartTest(DurableCase):
    more = "  segment: 1MiB\n"

    def refused(self, *arguments) -> str:
        """The error line of a refused start; checks that it changed nothing."""
        before = picture(self.data) if self.data.exists() else None
        code, said = self.run_to_end(*arguments)
        self.assertEqual(code, 2, said)
        lines = [line for line in said.splitlines() if line.startswith("mxkvd: ")]
        self.assertEqual(len(lines), 1, said)
        self.assertEqual(picture(self.data) if self.data.exists() else None, before)
        return lines[0]

    def fill(self, megabytes: int = 4) -> dict:
        """Stores values in order, and kills the server. Returns them by key."""
        port = self.begin()
        client = self.client(port)
        values = {}
        for batch in range(megabytes * 10):
            keys = [b"k%03d-%02d" % (batch, i) for i in range(100)]
            client.store_all(keys, 1000)
            values |= {key: padded(key, 1000) for key in keys}
        client.close()
        self.crash()
        return values

    def flip(self, path, at: int) -> None:
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 0x10]))

    def test_a_second_process_on_the_directory(self):
        self.begin()
        code, said = self.run_to_end()
        self.assertEqual((code, said), (2, f"mxkvd: {self.data}/LOCK: another process uses this directory\n"))
        self.end(signal.SIGTERM)

    def test_a_directory_of_another_program(self):
        self.data.mkdir()
        (self.data / "appendonly.aof").write_text("*2\r\n")
        self.assertIn(str(self.data), self.refused())

    def test_a_directory_that_cannot_be_made_or_written(self):
        self.config.write_text(self.config.read_text().replace(str(self.data), str(self.directory / "none" / "data")))
        self.assertRegex(self.refused(), "none/data")
        self.config.write_text(self.config.read_text().replace(str(self.directory / "none" / "data"), str(self.config)))
        self.assertRegex(self.refused(), "mxkv.yaml")

    def test_a_directory_of_a_newer_version(self):
        self.begin()
        self.end(signal.SIGTERM)
        path = self.data / "MANIFEST"
        text = path.read_text()
        self.assertRegex(text, "format 3\noldest_reader 3\n")
        path.write_text(text.replace("oldest_reader 3\n", "oldest_reader 9\n"))
        self.assertIn("by a newer mxkvd", self.refused())

    def test_damage_in_the_middle_of_the_journal_is_told_by_file_and_byte_and_is_left_out_if_wanted(self):
        values = self.fill()
        segments = self.segments()
        self.assertGreater(len(segments), 3)
        groups = self.groups(segments[1])
        self.flip(segments[1], groups[len(groups) // 2] + _IN_A_HEADER)
        said = self.refused()
        self.assertRegex(said, rf"journal/{segments[1].name}: damaged at byte \d+ \(epoch \d+\), although epoch \d+ is whole")
        self.assertIn("--recover=prefix", said)
        port = self.begin("--recover=prefix")
        client = self.client(port)
        there = [key for key in sorted(values) if client.get(key) == values[key]]
        self.assertEqual(there, sorted(values)[:len(there)])  # all values stored before some moment, and no later one
        self.assertGreater(len(there), 500)
        self.assertLess(len(there), len(values))
        self.assertEqual(client.stats()["curr_items"], str(len(there)))
        self.assertIn("left out", self.log())
        self.end(signal.SIGTERM)

    def test_a_missing_and_a_swapped_segment(self):
        self.fill()
        segments = self.segments()
        kept = self.directory / "kept"
        shutil.copytree(self.data, kept)
        segments[1].unlink()
        self.assertRegex(self.refused(), r"journal/[0-9a-f]{16}\.mxj")
        shutil.rmtree(self.data)
        shutil.copytree(kept, self.data)
        one, other = segments[1].read_bytes(), segments[2].read_bytes()
        segments[1].write_bytes(other)
        segments[2].write_bytes(one)
        self.assertRegex(self.refused(), r"journal/[0-9a-f]{16}\.mxj")

    def test_the_newest_segments_are_missed(self):
        for ends_in_order in (True, False):
            values = self.fill(2)
            if ends_in_order:
                self.begin()
                self.end(signal.SIGTERM)
            kept = self.directory / "kept"
            shutil.copytree(self.data, kept)
            segments = self.segments()
            self.assertGreater(len(segments), 2)
            spoil = {"the last is gone": lambda: segments[-1].unlink(),
                     "the last two are gone": lambda: [path.unlink() for path in segments[-2:]],
                     "all are gone": lambda: [path.unlink() for path in segments],
                     "the last is empty": lambda: segments[-1].write_bytes(b""),
                     "the last is zeros": lambda: segments[-1].write_bytes(bytes(segments[-1].stat().st_size))}
            if ends_in_order:
                spoil["the last has lost its groups"] = lambda: os.truncate(segments[-1], 4096)
            for what, lose in spoil.items():
                with self.subTest(what=what, ends_in_order=ends_in_order):
                    lose()
                    said = self.refused()
                    self.assertIn(f"mxkvd: journal/{segments[-1].name}: ", said)
                    self.assertIn("start with --recover=prefix", said)
                    done = self.verify()
                    self.assertEqual((done.returncode, done.stderr), (1, said + "\n"))
                    self.assertIn("end: damaged", done.stdout)
                    client = self.client(self.begin("--recover=prefix"))
                    there = [key for key in sorted(values) if client.get(key) == values[key]]
                    self.assertEqual(there, sorted(values)[:len(there)])
                    self.assertEqual(client.stats()["curr_items"], str(len(there)))
                    self.assertEqual(client.set(b"z", b"1"), b"STORED")
                    self.crash()
                    client = self.client(self.begin())
                    self.assertEqual(client.get(b"z"), b"1")
                    self.end(signal.SIGTERM)
                shutil.rmtree(self.data)
                shutil.copytree(kept, self.data)
            shutil.rmtree(self.data)
            shutil.rmtree(kept)

    def test_a_journal_above_its_bound_is_served_and_shortened(self):
        self.fill(12)
        client = self.client(self.begin("--set", "durability.journal_most=8MiB", "--set", "durability.checkpoint.journal=4MiB"))
        self.assertEqual(client.get(b"k000-00"), padded(b"k000-00", 1000))
        wait_for(lambda: client.set(b"z", b"1") == b"STORED", "a checkpoint, and writes are served", _PATIENCE_S)
        self.end(signal.SIGTERM)

    def test_a_missing_begin_of_the_journal_has_no_prefix(self):
        self.fill(2)
        self.segments()[0].unlink()
        for arguments in ((), ("--recover=prefix",)):
            said = self.refused(*arguments)
            self.assertIn("restore a backup", said)
            self.assertNotIn("--recover", said)

    def test_listening_is_said_when_nothing_refuses_the_start_any_more(self):
        self.begin()
        self.end(signal.SIGTERM)
        (self.data / "journal/spare-1").mkdir()  # a folder, which the server cannot remove as a file
        code, said = self.run_to_end()
        self.assertEqual(code, 2, said)
        self.assertNotIn("listening on", said)

    def test_a_torn_tail_is_cut_with_one_line(self):
        values = self.fill(1)
        client = self.client(self.begin())
        self.assertEqual(client.stats()["curr_items"], str(len(values)))
        self.assertEqual(client.set(b"last", b"1"), b"STORED")
        self.crash()
        last = max(self.segments(), key=lambda path: path.name)
        self.flip(last, self.groups(last)[-1] + _IN_A_HEADER)
        client = self.client(self.begin())
        self.assertEqual(len(re.findall("that a crash tore is cut", self.log())), 1, self.log())
        self.assertEqual(client.stats()["curr_items"], str(len(values)))
        self.assertIsNone(client.get(b"last"))
        self.end(signal.SIGTERM)

    def test_a_damaged_checkpoint(self):
        self.fill(2)
        code = os.spawnlp(os.P_WAIT, self.command()[0], "mxkvd", "checkpoint", str(self.data))
        self.assertEqual(code, 0)
        part = next((self.data / "checkpoint").rglob("part-*.mxc"))
        self.flip(part, part.stat().st_size // 2)
        self.assertRegex(self.refused(), r"checkpoint/[0-9a-f]{16}/part-\d+\.mxc")


@unittest.skipIf(IS_MEMCACHED, "of mxkvd")
class MemoryTest(DurableCase):
    limit = "64MiB"
    keys = [b"key%06d" % i for i in range(30_000)]

    def test_less_memory_than_data_is_refused_by_a_store_and_a_cache_keeps_the_newest(self):
        client = self.client(self.begin())
        client.store_all(self.keys, 1000)
        self.end(signal.SIGTERM)
        code, said = self.run_to_end("--set", "memory.limit=16MiB")
        self.assertEqual(code, 2, said)
        told = re.search(r"the memory limit of 16 MiB is below the data, which needs about (\d+) MiB: raise memory.limit", said)
        self.assertIsNotNone(told, said)
        self.assertIn(int(told[1]), range(30, 60))  # MB: 30 of values, their keys and headers, and the server's base memory
        client = self.client(self.begin("--set", "memory.limit=16MiB", "--set", "memory.when_full=evict"))
        there = client.present(self.keys)
        self.assertGreater(len(there), 2000)
        self.assertLess(len(there), 16_000)
        # The newest items are there; the sample decides about those in between.
        self.assertGreater(len(there.intersection(self.keys[-1000:])), 900)
        self.assertEqual(there.intersection(self.keys[:1000]), set())
        self.assertIn("do not fit into the memory limit", self.log())
        self.end(signal.SIGTERM)

    @unittest.skipIf(SANITIZED, "too much for too slow a build")
    def test_what_was_evicted_does_not_come_back(self):
        self.config.write_text(self.config.read_text().replace("when_full: error", "when_full: evict"))
        client = self.client(self.begin("--set", "durability.sync=100ms"))
        keys = [b"e%06d" % i for i in range(150_000 if LONG else 100_000)]
        client.store_all(keys, 1000)
        gone = sorted(set(keys) - client.present(keys))
        self.assertGreater(len(gone), len(keys) // 3)
        self.end(signal.SIGTERM)
        client = self.client(self.begin("--set", "durability.sync=100ms"))
        self.assertGreater(int(client.stats()["curr_items"]), 10_000)
        self.assertEqual(client.present(gone), set())
        self.end(signal.SIGTERM)

    def test_what_a_start_left_out_does_not_come_back_where_there_is_room_again(self):
        self.config.write_text(self.config.read_text().replace("when_full: error", "when_full: evict"))
        client = self.client(self.begin())
        client.store_all(self.keys, 1000)
        self.end(signal.SIGTERM)
        client = self.client(self.begin("--set", "memory.limit=16MiB"))
        absent = sorted(set(self.keys) - client.present(self.keys))
        self.assertGreater(len(absent), 10_000)
        self.assertEqual(client.ask(b"delete " + absent[0]), b"NOT_FOUND")
        self.end(signal.SIGTERM)
        for end in (signal.SIGTERM, signal.SIGKILL):
            client = self.client(self.begin())
            self.assertFalse(client.present(absent))
            self.end(end) if end == signal.SIGTERM else self.crash()


@unittest.skipIf(IS_MEMCACHED, "of mxkvd")
class ReloadTest(DurableCase):
    def test_sync_reads_and_checkpoints_change_by_a_reload(self):
        client = self.client(self.begin())
        self.assertEqual(client.set(b"a", b"1"), b"STORED")

        def sync() -> str:
            found = client.stats(b"durability")
            return f"{found['sync']} {found['reads']}"
        self.assertEqual(sync(), "commit durable")
        self.configure("250ms", "  reads: latest\n  checkpoint: {every: 1s}\n")
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: sync() == "250ms latest", "the new mode", _PATIENCE_S)
        self.assertEqual(client.set(b"b", b"2"), b"STORED")
        wait_for(lambda: int(client.stats(b"durability")["checkpoints"]) > 0, "a checkpoint", _PATIENCE_S)
        self.configure("never")
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: sync() == "never durable", "another mode", _PATIENCE_S)
        self.assertEqual(client.set(b"c", b"3"), b"STORED")
        self.configure("commit")
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: sync() == "commit durable", "the first mode", _PATIENCE_S)
        self.assertEqual(client.set(b"d", b"4"), b"STORED")
        self.crash()
        client = self.client(self.begin())
        self.assertEqual([client.get(key) for key in (b"a", b"b", b"c", b"d")], [b"1", b"2", b"3", b"4"])
        self.configure("commit", "  segment: 8MiB\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("durability.segment: cannot change while the daemon runs")
        self.end(signal.SIGTERM)
