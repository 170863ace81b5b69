"""mxkv-ycsb's operations on many keys: the requests that reach the server, the report, and the refused arguments."""

import json
import pathlib
import tempfile
import unittest

from harness import Options, mxkv_only
from harness.case import ServerCase
from harness.environment import scaled
from harness.load_client import Run, run_load_client

RECORDS = 3000
OPERATIONS = scaled(2000, 500)
KINDS = ("LOCKED-SCAN", "LOCKED-TOUCH", "BATCH")
SHARES = ("-p", "lockedscanproportion=0.5", "-p", "lockedtouchproportion=0.25", "-p", "batchproportion=0.25")


@mxkv_only("mr, mt and mb")
class YcsbManyKeysTest(ServerCase):
    options = Options(workers=2)

    def run_client(self, command: str, *arguments) -> Run:
        return run_load_client(command, "--simple", "--recordcount", RECORDS, "--server", f"127.0.0.1:{self.server.port}",
                               *arguments)

    def setUp(self):
        super().setUp()
        self.assertEqual(self.connect().ask(b"flush_all"), b"OK")
        self.assertEqual(self.run_client("load", "--connections", 4, "--depth", 16).ok("INSERT"), RECORDS)

    def test_they_run_beside_points_and_every_reply_is_right(self):
        for more in ((), ("-p", "requestdistribution=zipfian"),
                     ("-p", "insertproportion=0.2", "--batchlength", 9, "--lockedprefixbytes", 7)):
            with self.subTest(more), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "result.json"
                run = self.run_client("run", "--workload", "a", *SHARES, "--operationcount", OPERATIONS, "-threads", 2,
                                      "--connections", 4, "--depth", 4, "--json", file, *more)
                self.assertEqual(run.code, 0, run.err + run.out)
                self.assertEqual(sum(map(run.ok, ("READ", "UPDATE", "INSERT", *KINDS))), OPERATIONS)
                results = json.loads(file.read_text(encoding="utf-8"))["results"]
                for kind in KINDS:
                    self.assertEqual(results[kind]["ok"], run.ok(kind))
                    self.assertGreater(run.ok(kind), OPERATIONS / 20, kind)
                    self.assertGreaterEqual(run.figure(kind, "99thPercentileLatency(us)"),
                                            run.figure(kind, "50thPercentileLatency(us)"))

    def test_the_server_does_what_is_counted(self):
        before = self.connect().stats()
        run = self.run_client("run", "--readproportion", 0, "--updateproportion", 0, "--batchproportion", 1,
                              "--operationcount", 100, "--batchlength", 7)
        self.assertEqual(run.ok("BATCH"), 100, run.err)
        self.assertEqual(int(self.connect().stats()["cmd_set"]) - int(before["cmd_set"]), 700)
        run = self.run_client("run", "--readproportion", 0, "--updateproportion", 0, "--lockedtouchproportion", 1,
                              "--operationcount", 1, "--lockedprefixbytes", 4, "--lockedtouchseconds", 1000)
        self.assertEqual(run.ok("LOCKED-TOUCH"), 1, run.err)
        self.assertRegex(self.connect().ask(b"mg user06284781860667377211 t"), rb"^HD t(1000|[89]\d\d)$")

    def test_what_is_not_there_or_not_done_is_a_failure(self):
        self.connect().ask(b"md user06284781860667377211")  # the key of record 0
        one = ("run", "--readproportion", 0, "--updateproportion", 0, "--operationcount", 1, "-p",
               "requestdistribution=sequential")
        scan = self.run_client(*one, "--lockedscanproportion", 1, "--minscanlength", 5, "--maxscanlength", 5)
        self.assertEqual((scan.code, scan.figure("LOCKED-SCAN", "Return=UNEXPECTED_STATE")), (1, 1))
        touch = self.run_client(*one, "--lockedtouchproportion", 1)
        self.assertEqual((touch.code, touch.figure("LOCKED-TOUCH", "Return=NOT_FOUND")), (1, 1))
        batch = self.run_client(*one, "--batchproportion", 1, "--batchlength", 1001)  # limits.batch_lines is 1000
        self.assertEqual((batch.code, batch.figure("BATCH", "Return=ERROR")), (1, 1))


class YcsbManyKeysElsewhereTest(unittest.TestCase):
    def test_other_servers_are_refused_before_anything_is_sent(self):
        for kind in ("memcached", "redis", "redis-lex", "echo"):
            for share in ("lockedscanproportion", "lockedtouchproportion", "batchproportion"):
                run = run_load_client("run", "--server-kind", kind, "-p", f"{share}=0.5", "--server", "unix:/nowhere")
                self.assertEqual((run.code, run.out, run.err), (2, "", f"mxkv-ycsb: -p: {share}: only mxkv has it\n"))


if __name__ == "__main__":
    unittest.main()
