"""libmemcached's command line tools: its test of a server's protocol, its two load generators, its tools for files and keys."""

import re
import tempfile
from pathlib import Path

from common import LARGE, Options, ServerCase, machine

_TOOLS = ("memccapable", "memcslap", "memcaslap", "memccp", "memccat", "memcdump", "memcexist", "memctouch", "memcrm", "memcflush",
          "memcping", "memcstat")


class ToolCase(ServerCase):
    def setUp(self):
        self.connect().ask(b"flush_all")

    def run_tool(self, name: str, *arguments, check=True):
        return machine.run(name, f"--servers=127.0.0.1:{self.server.port}", *arguments, check=check, timeout=300)


@machine.needs(machine.long_only(), machine.missing(*_TOOLS))
class CapableTest(ToolCase):
    def test_all_of_its_tests_of_the_text_protocol_pass(self):
        done = machine.run("memccapable", "-h", "127.0.0.1", "-p", self.server.port, "-a", "-v", timeout=300)
        results = re.findall(r"^(ascii [a-z ]+?) +\[(\w+)\]$", done.stdout, re.MULTILINE)
        self.assertEqual((len(results), {result for _, result in results}), (27, {"pass"}), done.stdout)

    def test_all_of_its_tests_of_the_binary_protocol_pass(self):
        done = machine.run("memccapable", "-h", "127.0.0.1", "-p", self.server.port, "-b", "-v", timeout=300)
        results = re.findall(r"^(binary [a-z ]+?) +\[(\w+)\]$", done.stdout, re.MULTILINE)
        self.assertEqual((len(results), {result for _, result in results}), (27, {"pass"}), done.stdout)


@machine.needs(machine.long_only(), machine.missing(*_TOOLS))
class LoadTest(ToolCase):
    options = Options(memory_mib=512)

    def test_memcslap_sets_and_gets(self):
        for kind in ("set", "get", "mget"):
            with self.subTest(kind):
                before = int(self.connect().stats()["cmd_set"])
                done = self.run_tool("memcslap", f"--test={kind}", "--execute-number=1000", "--concurrency=4", "--flush")
                self.assertIn("Time total", done.stdout + done.stderr)
                self.assertNotIn("ERROR", done.stdout + done.stderr)
                self.assertGreaterEqual(int(self.connect().stats()["cmd_set"]) - before, 1000)

    def load(self, *flags) -> dict:
        """The counts of memcaslap. It compares the values that it reads with the values that it wrote."""
        done = self.run_tool("memcaslap", "--threads=2", "--concurrency=16", "--execute_number=20000", *flags)
        self.assertNotRegex(done.stdout + done.stderr, "ERROR")
        return {name: int(count) for name, count in re.findall(r"^(\w+): (\d+)$", done.stdout, re.MULTILINE)}

    def test_memcaslap_reads_what_it_wrote(self):
        counts = self.load("--verify=1", "--verbose")
        self.assertGreaterEqual(counts["cmd_get"] + counts["cmd_set"], 20000)
        self.assertGreater(counts["cmd_get"], 10000)
        self.assertEqual([counts[name] for name in ("get_misses", "verify_misses", "verify_failed")], [0, 0, 0])

    def test_memcaslap_reads_many_keys_at_once(self):
        counts = self.load("--division=20", "--verify=1")
        self.assertEqual([counts[name] for name in ("get_misses", "verify_misses", "verify_failed")], [0, 0, 0])

    def test_memcaslap_finds_nothing_that_has_expired_and_all_that_has_not(self):
        counts = self.load("--exp_verify=0.1", "--verify=0.1")
        self.assertEqual([counts[name] for name in ("expired_get", "unexpired_unget", "verify_failed")], [0, 0, 0])


@machine.needs(machine.long_only(), machine.missing(*_TOOLS))
class FilesAndKeysTest(ToolCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def store(self, name: str, data: bytes) -> None:
        (self.folder / name).write_bytes(data)
        self.run_tool("memccp", self.folder / name)

    def test_a_file_goes_in_and_comes_out_whole(self):
        self.store("large", LARGE)
        self.run_tool("memccat", f"--file={self.folder / 'back'}", "large")
        self.assertEqual((self.folder / "back").read_bytes(), LARGE)

    def test_keys_are_found_touched_and_removed(self):
        self.store("k", b"v")
        self.run_tool("memcexist", "k")
        self.assertNotEqual(self.run_tool("memcexist", "absent", check=False).returncode, 0)
        self.run_tool("memctouch", "--expire=1000", "k")
        self.assertRegex(self.connect().ask(b"mg k t"), rb"^HD t(1000|9\d\d)$")
        self.run_tool("memcrm", "k")
        self.assertNotEqual(self.run_tool("memcexist", "k", check=False).returncode, 0)

    def test_a_dump_names_every_key_once(self):
        names = sorted(f"key{number:03}" for number in range(100))
        client = self.connect()
        for name in names:
            client.set(name.encode(), b"v")
        self.assertEqual(self.run_tool("memcdump").stdout.split(), names)

    def test_flush_ping_and_statistics(self):
        self.store("k", b"v")
        self.run_tool("memcping")
        self.assertRegex(self.run_tool("memcstat").stdout, r"\n\tcmd_set: [1-9]")
        self.run_tool("memcflush")
        self.assertIsNone(self.connect().get(b"k"))


if __name__ == "__main__":
    machine.main()
