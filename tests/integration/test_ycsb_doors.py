"""The load client if the server requires TLS, a certificate or a login; and its messages about refusals."""

import json
import re

from harness import mxkv_only
from harness.beside import load_tests  # noqa: F401
from harness.load_client import run_load_client
from harness.tls import TlsCase


@mxkv_only("TLS and a login")
class DoorTest(TlsCase):
    def run_on(self, port: int, *arguments):
        return run_load_client("run", "--workload", "a", "--recordcount", 200, "--operationcount", 2000, "--connections", 4,
                               "--depth", 8, "--server", f"127.0.0.1:{port}", *arguments)

    def load(self, port: int, *arguments):
        return run_load_client("load", "--recordcount", 200, "--server", f"127.0.0.1:{port}", *arguments)

    def test_tls_goes_both_ways_for_all_of_its_connections(self):
        self.serve()
        tls = ("--tls", "--ca", self.root.file)
        loaded = self.load(self.ports()[0], *tls)
        self.assertEqual((loaded.code, loaded.ok("INSERT")), (0, 200), loaded.err)
        ran = self.run_on(self.ports()[0], *tls, "--json", self.directory / "a.json")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertEqual(ran.ok("READ") + ran.ok("UPDATE"), 2000)
        result = json.loads((self.directory / "a.json").read_text())
        self.assertEqual(len(result["servers"]), 1, "it asked for the counters, too")
        large = run_load_client("load", "--recordcount", 30, "--depth", 4, "-p", "fieldcount=1", "-p", "fieldlength=300000", "--server",
                                f"127.0.0.1:{self.ports()[0]}", *tls)
        self.assertEqual((large.code, large.ok("INSERT")), (0, 30), large.err)
        read = run_load_client("run", "--workload", "get", "--recordcount", 30, "--operationcount", 300, "--depth", 4, "-p",
                               "fieldcount=1", "-p", "fieldlength=300000", "--server", f"127.0.0.1:{self.ports()[0]}", *tls)
        self.assertEqual((read.code, read.ok("READ")), (0, 300), read.err)
        self.end()

    def test_it_says_why_tls_failed(self):
        self.serve()
        self.assertIn("certificate verify failed", self.run_on(self.ports()[0], "--tls").err)
        self.assertEqual(self.load(self.ports()[0], "--tls", "--insecure").code, 0)
        plain = self.run_on(self.ports()[0])
        self.assertEqual(plain.code, 1)
        self.assertIn("failed; the server said: ERROR this listener speaks TLS only", plain.err)
        self.assertIn(f"{self.directory}/none: cannot be read", self.run_on(self.ports()[0], "--tls", "--ca", self.directory / "none").err)
        self.assertIn("--tls: is missing", self.run_on(self.ports()[0], "--insecure").err)
        self.end()

    def test_a_certificate_of_its_own_and_a_login(self):
        users = self.directory / "users"
        users.write_text("ann:secret word\n")
        password = self.directory / "password"
        password.write_text("secret word\n")
        self.serve(tls=f", client_ca: {self.root.file}", more=f"server: {{auth_file: {users}}}\n")
        certificate, key = self.root.sign("loader", purpose="clientAuth")
        tls = ("--tls", "--ca", self.root.file, "--cert", certificate, "--key", key)
        login = ("--user", "ann", "--password-file", password)
        loaded = self.load(self.ports()[0], *tls, *login)
        self.assertEqual((loaded.code, loaded.ok("INSERT")), (0, 200), loaded.err)
        refused = self.load(self.ports()[1])
        self.assertEqual(refused.code, 1)
        self.assertRegex(refused.err, r"200 operations failed; the server said: CLIENT_ERROR (unauthenticated|auth token too long)")
        password.write_text("wrong\n")
        self.assertIn("as ann: CLIENT_ERROR authentication failure", self.load(self.ports()[1], *login).err)
        self.assertEqual(self.load(self.ports()[1], "--user", "ann").code, 2)
        self.end()

    def test_help_names_the_program_and_all_it_does(self):
        told = run_load_client("--help").out
        self.assertIn("Usage: mxkv-ycsb ", told)
        for word in ("load ", "run ", "merge ", "plot "):
            self.assertIn(f"\n  {word}", told)
        self.assertIn("Usage: mxkv-ycsb load", run_load_client("load", "--help").out)
        self.assertIn("Usage: mxkv-ycsb merge", run_load_client("merge", "--help").out)

    def test_help_has_examples_and_unknown_words_are_answered(self):
        for words in (("--help",), ("load", "--help"), ("run", "--help")):
            self.assertIn("mxkv-ycsb run --workload a --recordcount 1000000", run_load_client(*words).out)
        self.assertRegex(run_load_client("--version").out, r"^mxkv-ycsb \d+\.\d+\.\d+\n$")
        for words, told in ((("run", "--recordcuont", "5"), "there is no option --recordcuont, did you mean --recordcount?"),
                            (("run", "--port", "1"), "--port: here --server HOST:PORT"),
                            (("run", "--ratio", "1:10"), "--ratio: here --readproportion P and --updateproportion P"),
                            (("lod",), "there is no command lod, did you mean load?")):
            done = run_load_client(*words)
            self.assertEqual((done.code, done.err.splitlines()[0]), (2, told))

    def test_a_failure_names_its_operation_key_and_reason(self):
        self.serve()
        port = self.ports()[1]
        self.assertEqual(self.load(port, "--recordcount", 500).code, 0)
        where = ("--server", f"127.0.0.1:{port}", "--operationcount", 5000)
        missing = run_load_client("run", "--workload", "c", "--recordcount", 2000, *where)
        self.assertEqual(missing.code, 1)
        self.assertRegex(missing.err, r"\d+ operations failed; the first: READ user\d+: the record is missing \(were the records loaded")
        self.assertEqual(run_load_client("run", "--workload", "c", "--recordcount", 2000, "--allow-misses", *where).code, 0)
        client = self.client(port)
        client.send(b"mr user p k A1000\r\nmn\r\n")
        keys = []
        while (line := client.line()) != b"MN":
            keys += re.findall(rb" k(user\d+)", line)
        self.assertEqual(len(keys), 500)
        self.assertEqual(client.ask(b"delete " + keys[7]), b"DELETED")
        skipped = run_load_client("run", "--workload", "e", "--recordcount", 500, "-p", "insertproportion=0", *where)
        self.assertEqual(skipped.code, 1)
        self.assertIn("the first with a wrong reply: SCAN user", skipped.err)
        self.assertIn(keys[7].decode(), skipped.err)
        self.assertEqual(client.set(keys[7], b"another program's"), b"STORED")
        changed = run_load_client("run", "--workload", "c", "--recordcount", 500, *where)
        self.assertIn(f"the first with a wrong reply: READ {keys[7].decode()}: the value is not one that mxkv-ycsb writes for this key",
                      changed.err)
        self.end()

    def test_merging_tells_what_does_not_go_together(self):
        self.serve()
        port = self.ports()[1]
        self.assertEqual(self.load(port).code, 0)
        first, second, paced = (self.directory / name for name in ("first.json", "second.json", "paced.json"))
        self.assertEqual(self.run_on(port, "--json", first, "-l", "morning").code, 0)
        self.assertEqual(self.run_on(port, "--json", paced, "-target", 10000).code, 0)
        result = json.loads(first.read_text())
        result["start_unix_ms"] += 3_600_000
        second.write_text(json.dumps(result))
        apart = run_load_client("merge", first, second)
        self.assertEqual(apart.code, 0)
        self.assertRegex(apart.err, r"warning: they did not run at the same time: result 1 \(morning\) ended 3600 s before result 2")
        mixed = run_load_client("merge", first, paced)
        self.assertIn("warning: some were paced by --target and some were not: result 1 (morning) and result 2", mixed.err)
        self.assertEqual(run_load_client("merge", first, first).err, "")
        self.end()
