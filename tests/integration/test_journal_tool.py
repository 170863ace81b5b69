"""The commands of mxkvd that describe or copy a data directory without serving it."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import environment, mxkv_only, patience

GOLDEN = Path(__file__).resolve().parents[1] / "data/journal_format_1"
FIRST, SECOND = "0000000000000011.mxj", "0000000000000012.mxj"
PAGE = 4096


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([environment.MXKVD, *map(str, arguments)], capture_output=True, text=True,
                          timeout=patience(60), check=False, stdin=subprocess.DEVNULL)


def contents(folder: Path) -> dict:
    """Every file, with its contents and times, which show whether a command touched it."""
    return {path.relative_to(folder): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in sorted(folder.rglob("*")) if path.is_file()}


class DirectoryCase(unittest.TestCase):
    """Has a data directory of its own: two segments, epochs 3 to 5, and a manifest."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mxkv-journal-")
        self.addCleanup(folder.cleanup)
        self.above = Path(folder.name)
        self.data = self.above / "data"
        (self.data / "journal").mkdir(parents=True)
        for name in (FIRST, SECOND):
            shutil.copy(GOLDEN / name, self.data / "journal" / name)
        shutil.copy(GOLDEN / "MANIFEST", self.data / "MANIFEST")

    def flip(self, segment: str, at: int):
        path = self.data / "journal" / segment
        changed = bytearray(path.read_bytes())
        changed[at] ^= 1
        path.write_bytes(changed)

    def told(self, *arguments) -> str:
        """The output of a command that finds nothing wrong and changes nothing."""
        before = contents(self.data)
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertEqual(contents(self.data), before)
        return done.stdout

    def complaint(self, code: int, *arguments) -> str:
        """The error line of a command that ends with `code` and changes nothing."""
        before = contents(self.above)
        done = run(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(contents(self.above), before)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("mxkvd: "), lines[0])
        return lines[0]


@mxkv_only("its data directory")
class JournalToolTest(DirectoryCase):
    def test_verify_tells_of_segments_records_and_the_end(self):
        told = self.told("journal", "verify", self.data)
        self.assertIn(f"journal/{FIRST}: epochs 3 to 4, 2 groups, 10 records", told)
        self.assertIn(f"journal/{SECOND}: epochs 5 to 5, 1 group, 2 records", told)
        self.assertIn("records: 12 (put 4, gone 3, touch 1, range_gone 1, range_touch 1, flush 1, flush_at 1)", told)
        self.assertTrue(told.endswith("end: clean\n"), told)

    def test_a_torn_tail_is_no_damage(self):
        self.flip(SECOND, PAGE + 200)
        self.assertIn("end: torn", self.told("journal", "verify", self.data))
        self.assertIn("last epoch: 4 of", self.told("journal", "end", self.data))

    def test_a_tail_that_is_cut_anywhere_is_no_damage(self):
        path = self.data / "journal" / SECOND
        whole = path.read_bytes()
        for size in (PAGE, PAGE + 1, PAGE + 100, len(whole) - PAGE // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            with self.subTest(size=size):
                self.assertIn("last epoch: 4 of", self.told("journal", "verify", self.data))

    def test_damage_is_told_with_file_byte_and_epoch(self):
        self.flip(FIRST, PAGE + 200)
        for tool in ("verify", "dump", "end"):
            with self.subTest(tool=tool):
                self.assertRegex(self.complaint(1, "journal", tool, self.data),
                                 rf"^mxkvd: journal/{FIRST}: damaged at byte \d+ \(epoch 3\)")

    def test_a_missing_segment_is_damage(self):
        (self.data / "journal" / FIRST).unlink()
        self.assertIn(f"journal/{SECOND}: begins with epoch 5", self.complaint(1, "journal", "verify", self.data))

    def test_a_damaged_manifest_is_told(self):
        text = (self.data / "MANIFEST").read_text()
        (self.data / "MANIFEST").write_text(text.replace("incarnation 2", "incarnation 3"))
        self.assertIn(f"{self.data}/MANIFEST: ", self.complaint(1, "journal", "verify", self.data))

    def test_a_missing_manifest_is_told_as_a_start_tells_it(self):
        (self.data / "MANIFEST").unlink()
        self.assertIn("it has journal and no MANIFEST", self.complaint(1, "journal", "verify", self.data))
        (self.data / "MANIFEST.1").write_text("mxkv manifest\n")
        self.assertIn("MANIFEST is missing, although MANIFEST.1 is there", self.complaint(1, "journal", "end", self.data))

    def test_a_segment_with_a_huge_hole_behind_it_is_read(self):
        os.truncate(self.data / "journal" / SECOND, 1 << 40)
        done = run("journal", "verify", self.data)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("last epoch: 5 of", done.stdout)

    def test_dump_is_a_line_a_record(self):
        lines = self.told("journal", "dump", self.data).splitlines()
        self.assertEqual(len(lines), 12)
        self.assertEqual(lines[0], '3 w0 put order=1763000000000001 key="key" bytes=5 value="value"')
        self.assertEqual(lines[1], '3 w0 put order=1763000000000002 key="all" bytes=6 value="fields" flags=305419896 '
                                   'expiry=2030-03-17T17:46:40Z cas=77 stale won binary')
        self.assertEqual(lines[6], '3 w0 range_gone order=1763000000000007 from=["a" to="b") items=12')
        self.assertEqual(lines[10:], ['5 w0 put order=11 key="large" bytes=12 flags=1',
                                      '5 w0 gone order=12 key="gone" deleted'])
        self.assertEqual(self.told("journal", "dump", self.data, "--from", 5).splitlines(), lines[10:])

    def test_a_dump_that_nobody_reads_ends_quietly(self):
        for restore in (True, False):  # with the signal's default action, and with the signal ignored
            with self.subTest(restore=restore):
                reading, writing = os.pipe()
                os.close(reading)
                with os.fdopen(writing, "wb") as closed:
                    done = subprocess.run([environment.MXKVD, "journal", "dump", str(self.data)], stdout=closed,
                                          stderr=subprocess.PIPE, timeout=patience(60), check=False,
                                          restore_signals=restore)
                self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_output_that_cannot_be_written_is_told(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([environment.MXKVD, "journal", "dump", str(self.data)], stdout=full,
                                  stderr=subprocess.PIPE, timeout=patience(60), check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output: No space left", done.stderr)

    def test_wrong_arguments_are_one_line(self):
        for arguments in (("journal",), ("journal", "verify"), ("journal", "look", self.data),
                          ("journal", "verify", self.data, "more"), ("journal", "end", self.data, "--from", 3),
                          ("journal", "dump", self.data, "--from", "soon"), ("journal", "dump", self.data, "--from", -1),
                          ("journal", "verify", self.above / "nothing"), ("journal", "verify", self.above),
                          ("journal", "verify", self.data / "MANIFEST"), ("checkpoint",)):
            with self.subTest(arguments=arguments):
                self.complaint(2, *arguments)


@mxkv_only("its data directory")
class BackupTest(DirectoryCase):
    def setUp(self):
        super().setUp()
        self.backup = self.above / "backup"

    def test_a_backup_says_the_same(self):
        told = self.told("checkpoint", self.data, "--to", self.backup)
        self.assertIn("journal up to epoch 5", told)
        self.assertIn("end: clean", self.told("journal", "verify", self.backup))
        self.assertEqual(self.told("journal", "dump", self.backup), self.told("journal", "dump", self.data))

    def test_an_empty_folder_will_do(self):
        self.backup.mkdir()
        self.told("checkpoint", self.data, "--to", self.backup)

    def test_what_is_there_is_left_alone(self):
        self.backup.mkdir()
        (self.backup / "mine").write_text("mine")
        self.assertIn("is not empty", self.complaint(2, "checkpoint", self.data, "--to", self.backup))
        self.complaint(2, "checkpoint", self.data, "--to", self.data / "MANIFEST")
        self.complaint(2, "checkpoint", self.data, "--to", self.data / "backup")

    def test_a_backup_of_damage_is_refused(self):
        self.flip(FIRST, PAGE + 200)
        self.assertIn("(epoch 3)", self.complaint(1, "checkpoint", self.data, "--to", self.backup))
        self.assertFalse(self.backup.exists())

    def test_a_place_that_cannot_be_made_is_told(self):
        self.assertIn("No such file", self.complaint(1, "checkpoint", self.data, "--to", self.above / "no/such/place"))


if __name__ == "__main__":
    unittest.main()
