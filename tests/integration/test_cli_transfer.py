"""mxkv-cli export and import: equal in both forms, complete or refused, and resumed where they stopped."""

import pathlib
import random
import subprocess
import tempfile
import time

from cli_case import CliCase
from harness import OwnServerCase, environment
from harness.beside import load_tests  # noqa: F401
from harness.daemon import wait_for
from harness.environment import campaign
from harness.server import Server

_FORMS = ("jsonl", "binary")


class TransferCase(CliCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="mxkvcli")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "dump"

    def fill(self, count: int, value: bytes = b"value") -> None:
        self.client.send(b"".join(b"set key:%07d %d %d %d noreply\r\n%s\r\n"
                                  % (number, number % 3, 0 if number % 4 else 5000, len(value), value)
                                  for number in range(count)))
        self.assertEqual(self.client.ask(b"mn"), b"MN")

    def items(self) -> list:
        return [{name: value for name, value in item.items() if name not in ("ttl", "cas")}
                for item in self.documents("scan", "--values")]

    def clear(self) -> None:
        self.assertEqual(self.client.ask(b"flush_all"), b"OK")


class CliTransferTest(TransferCase):
    def test_what_goes_out_comes_in_again_equal(self):
        self.fill(campaign(20_000))
        self.cli("--escaped", "set", "\\x00\\xff bin", "\\x00\\xfe\\r\\n", "--flags", "4294967295")
        self.cli("--escaped", "set", "\\x00" * 250, "the longest key that no text can carry")
        self.cli("set", "empty", "")
        self.cli("set", "large", "-", stdin=random.Random(1).randbytes(1_000_000))
        before = self.items()
        for form in _FORMS:
            for more in ((), ("--uncompressed",)) if form == "binary" else ((),):
                done = self.cli("export", "--format", form, *more, "-o", str(self.file), "--overwrite")
                self.assertIn(b"exported %d items, " % len(before), done.stderr)
                self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["dump"])
                self.clear()
                self.assertIn(b"imported %d items, " % len(before), self.cli("import", str(self.file)).stderr)
                self.assertEqual(self.items(), before)
                self.assertIn(self.documents("get", "key:0000004")[0]["ttl"], range(4000, 5001))
                self.assertEqual(self.documents("get", "key:0000001")[0]["ttl"], -1)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["dump"])

    def test_prefixes_bounds_uniques_and_pipes(self):
        self.fill(100)
        self.client.set(b"other", b"x")
        cas = self.documents("get", "other")[0]["cas"]
        out = self.cli("export", "oth", "--cas").stdout
        self.assertEqual(out.count(b"\n"), 3, out)
        self.clear()
        self.cli("import", "-", "--cas", stdin=out)
        self.assertEqual(self.documents("get", "other")[0]["cas"], cas)
        self.fill(100)
        out = self.cli("export", "--from", "key:0000010", "--to", "key:0000012", "--format", "binary").stdout
        self.clear()
        self.cli("import", "-", stdin=out)
        self.assertEqual(self.out("scan"), "key:0000010\nkey:0000011\n")

    def test_a_file_of_another_kind_is_named_so(self):
        for text in (b"hello\n", b"set a 1\nset b 2\nset c 3\n", b"MXKVdump of something else"):
            self.file.write_bytes(text)
            done = self.cli("import", str(self.file), code=6)
            self.assertIn(b"dump: is not an export of mxkv-cli", done.stderr)
        self.file.write_bytes(b"MXKVDUM")
        self.assertIn(b"it was truncated", self.cli("import", str(self.file), code=6).stderr)

    def test_modes_keep_or_replace_what_is_there(self):
        self.fill(3, b"old")
        self.cli("export", "-o", str(self.file))
        self.fill(1, b"new")
        self.client.ask(b"delete key:0000002")
        done = self.cli("import", str(self.file))
        self.assertRegex(done.stderr, rb"^imported 1 of 3 items, [^;]*; 2 not stored because of --mode add\n$")
        self.assertEqual(self.out("scan", "--values"), "key:0000000 new\nkey:0000001 old\nkey:0000002 old\n")
        self.client.ask(b"delete key:0000002")
        self.assertIn(b"1 not stored", self.cli("import", str(self.file), "--mode", "replace").stderr)
        self.assertEqual(self.out("scan", "--values"), "key:0000000 old\nkey:0000001 old\n")
        self.cli("import", str(self.file), "--mode", "set")
        self.assertEqual(len(self.items()), 3)

    def test_what_has_expired_meanwhile_is_left_out(self):
        lines = b'{"key":"over","value":"x","expires":1000}\n{"key":"there","value":"x"}\n'
        self.assertIn(b"1 expired meanwhile", self.cli("import", "-", stdin=lines).stderr)
        self.assertEqual(self.out("scan"), "there\n")

    def test_a_broken_file_stores_nothing_and_is_named(self):
        self.fill(3, b"there")
        before = self.items()
        for form in _FORMS:
            self.cli("export", "--format", form, "-o", str(self.file), "--overwrite")
            whole = self.file.read_bytes()
            self.assertIn(b"the file is complete: 3 items", self.cli("import", str(self.file), "--dry-run").stderr)
            broken = self.folder / "broken"
            for at in range(0, len(whole), max(1, len(whole) // campaign(40, 10))):
                for bad in (whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:], whole[:at] if at else b"{"):
                    broken.write_bytes(bad)
                    done = self.cli("import", str(broken), "--mode", "set", code=6)
                    self.assertTrue(done.stderr.startswith(b"mxkv-cli: %s:" % str(broken).encode()), done.stderr)
                    self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertEqual(self.items(), before)
        self.assertIn(b"No such file", self.cli("import", "/nowhere", code=6).stderr)

    def test_a_file_that_is_there_is_not_overwritten_by_chance(self):
        self.file.write_text("mine")
        self.assertIn(b"already exists", self.cli("export", "-o", str(self.file), code=6).stderr)
        self.assertEqual(self.file.read_text(), "mine")

    def test_a_value_that_the_server_would_not_take_loses_nothing(self):
        self.client.set(b"big", b"old")
        self.file.write_text('{"key":"first","value":"x"}\n{"key":"big","value":"' + "x" * 2_000_000 + '"}\n')
        done = self.cli("import", str(self.file), "--mode", "set", code=4)
        self.assertIn(b"dump:2: the value has 2000000 bytes, the server takes 1048576", done.stderr)
        self.assertEqual(self.client.get(b"big"), b"old")
        self.assertIn(b"; the first 1 items are stored; --resume continues after them", done.stderr)
        self.assertEqual(self.client.get(b"first"), b"x")

    def test_items_before_a_wrong_line_are_stored_and_counted(self):
        lines = [b'{"key":"k%d","value":"v"}\n' % number for number in range(20)]
        self.file.write_bytes(b"".join(lines[:9] + [b"{nonsense\n"] + lines[10:]))
        done = self.cli("import", str(self.file), "--unverified", code=6)
        self.assertIn(b"; the first 9 items are stored; --resume continues after them", done.stderr)
        self.assertEqual(self.out("count", "--exact").split()[0], "9")
        self.file.write_bytes(b"".join(lines))
        self.assertIn(b"belongs to another file", self.cli("import", str(self.file), "--resume", code=6).stderr)
        self.cli("import", str(self.file), "--unverified", "--skip", "9")
        self.assertEqual(self.out("count", "--exact").split()[0], "20")

    def test_rates_hold_it_back_and_progress_is_shown(self):
        self.fill(3000)
        begin = time.monotonic()
        done = self.cli("export", "-o", str(self.file), "--rate", "2000", "--progress")
        self.assertGreaterEqual(time.monotonic() - begin, 1.0, "a lower bound: it sleeps")
        self.assertIn(b" items/s", done.stderr)


class CliResumeTest(TransferCase, OwnServerCase):
    """The server is killed during a transfer."""

    def setUp(self):
        OwnServerCase.setUp(self)
        folder = tempfile.TemporaryDirectory(prefix="mxkvcli")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "dump"

    def start_cli(self, *arguments) -> subprocess.Popen:
        process = subprocess.Popen([environment.MXKV_CLI, "--server", f"127.0.0.1:{self.server.port}", *arguments],
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.variables())
        self.addCleanup(process.stderr.close)
        return process

    def test_an_export_goes_on_where_its_connection_was_lost(self):
        count = 6000
        self.fill(count)
        for form in _FORMS:
            whole = self.folder / f"whole.{form}"
            self.cli("export", "--format", form, "-o", str(whole))
            process = self.start_cli("export", "--format", form, "-o", str(self.file), "--rate", "2500")
            part = self.folder / "dump.part"
            wait_for(lambda: part.exists() and part.stat().st_size > 100, "a part of the export")
            process.send_signal(2)
            self.assertEqual(process.wait(), 130)
            self.assertIn(b"--resume continues", process.stderr.read())
            self.assertFalse(self.file.exists())
            self.assertIn(b"--resume continues it",
                          self.cli("export", "--format", form, "-o", str(self.file), code=6).stderr)
            self.assertIn(b"holds another export", self.cli("export", "key:", "--format", form, "-o", str(self.file),
                                                            "--resume", code=6).stderr)
            done = self.cli("export", "--format", form, "-o", str(self.file), "--resume")
            self.assertIn(b"exported %d items" % count, done.stderr)
            self.assertIn(b"were done by earlier runs", done.stderr)
            self.clear()
            self.cli("import", str(self.file))
            self.assertEqual(self.out("count", "--exact").split()[0], str(count))
            self.file.unlink()

    def test_a_server_that_is_killed_ends_an_export_in_order(self):
        self.fill(6000)
        process = self.start_cli("export", "-o", str(self.file), "--rate", "2500")
        part = self.folder / "dump.part"
        wait_for(lambda: part.exists() and part.stat().st_size > 100, "a part of the export")
        self.server.kill()
        self.assertEqual(process.wait(), 3)
        self.assertIn(b"--resume continues", process.stderr.read())
        self.assertFalse(self.file.exists())
        self.assertTrue(part.read_bytes().endswith(b"\n"))
        self.server = Server(self.options).start()
        self.addCleanup(self.server.kill)
        self.client = self.connect()
        self.fill(6000)
        done = self.cli("export", "-o", str(self.file), "--resume")
        self.assertIn(b"exported 6000 items", done.stderr)
        self.assertIn(b"were done by earlier runs", done.stderr)
        self.cli("import", str(self.file), "--dry-run")

    def test_an_import_goes_on_where_it_stopped(self):
        self.fill(6000)
        self.cli("export", "-o", str(self.file))
        self.clear()
        process = self.start_cli("import", str(self.file), "--rate", "2500")
        wait_for(lambda: self.client.get(b"key:0002500"), "thousands of items")
        process.send_signal(2)
        self.assertEqual(process.wait(), 130)
        self.assertIn(b"--resume continues", process.stderr.read())
        self.assertTrue((self.folder / "dump.resume").exists())
        self.assertIn(b"were done by earlier runs", self.cli("import", str(self.file), "--resume").stderr)
        self.assertEqual(self.out("count", "--exact").split()[0], "6000")
        self.assertFalse((self.folder / "dump.resume").exists())
        self.assertIn(b"there is nothing to resume", self.cli("import", str(self.file), "--resume", code=6).stderr)
