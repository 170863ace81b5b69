"""YCSB itself against mxkvd: all workloads of its core without an error, every record that it reads or scans as it was written."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from common import LibraryCase, machine
import registries

CLIENTS = machine.REPOSITORY / "protocol" / "clients"
RECORDS, OPERATIONS = 2000, 4000
WORKLOADS = {
    "a": {"read": 0.5, "update": 0.5},
    "b": {"read": 0.95, "update": 0.05},
    "c": {"read": 1},
    "d": {"read": 0.95, "insert": 0.05, "requestdistribution": "latest"},
    "e": {"scan": 0.95, "insert": 0.05},
    "f": {"read": 0.5, "readmodifywrite": 0.5},
}


@machine.needs(machine.long_only(), machine.missing("mvn", "javac", "java"))
class MxkvYcsbTest(LibraryCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix="binding")
        cls.addClassCleanup(folder.cleanup)
        sources = shutil.copytree(CLIENTS, Path(folder.name) / "clients", ignore=shutil.ignore_patterns("target", "python", "go"))
        # As the README says. The Java client's tests against servers are another entry's.
        registries.run_installer("Maven Central", "mvn", "--batch-mode", "--quiet", "-f", "pom.xml", "package", cwd=sources,
                                 env={name: value for name, value in os.environ.items() if not name.startswith("MXKV_")})
        target = sources / "ycsb" / "target"
        cls.classes = f"{target}/lib/*:{target}/*"

    def ycsb(self, phase: str, port: int, **properties) -> str:
        wanted = {"workload": "site.ycsb.workloads.CoreWorkload", "recordcount": RECORDS, "operationcount": OPERATIONS,
                  "dataintegrity": "true", "mxkv.port": port, **properties}
        done = subprocess.run(["java", "-cp", self.classes, "site.ycsb.Client", phase, "-db", "mxkv.ycsb.MxkvBinding", "-threads", "4",
                               *(part for name, value in wanted.items() for part in ("-p", f"{name}={value}"))],
                              stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=300, check=False)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said)
        self.assertNotIn("mxkv: ", done.stderr)
        self.assertEqual(set(re.findall(r"Return=(\w+)", done.stdout)), {"OK"}, said)
        return done.stdout

    def count(self, said: str, operation: str) -> int:
        found = re.search(rf"^\[{operation}\], Return=OK, (\d+)$", said, re.MULTILINE)
        return int(found[1]) if found else 0

    def test_all_workloads_run_without_an_error_and_verify_what_they_read(self):
        self.connect().ask(b"flush_all")
        self.assertEqual(self.count(self.ycsb("-load", self.server.port), "INSERT"), RECORDS)
        inserted = RECORDS
        for name, mix in WORKLOADS.items():
            with self.subTest(workload=name):
                proportions = {f"{kind}proportion": mix.get(kind, 0) for kind in ("read", "update", "scan", "insert", "readmodifywrite")}
                said = self.ycsb("-t", self.server.port, **proportions, recordcount=inserted,
                                 requestdistribution=mix.get("requestdistribution", "zipfian"))
                for kind in mix:
                    if kind in ("update", "read", "scan", "insert"):
                        self.assertGreater(self.count(said, kind.upper()), 50, said)
                if "read" in mix:
                    self.assertGreater(self.count(said, "VERIFY"), OPERATIONS / 3, said)
                inserted += self.count(said, "INSERT")
        self.assertEqual(int(self.connect().stats()["curr_items"]), inserted)

    def test_what_a_scan_brings_is_checked(self):
        self.ycsb("-load", self.server.port, recordcount=10)
        client = self.connect()
        (key, value, _), = client.records(b"scan user 1")
        client.set(key, value.replace(b":", b";"))
        with self.assertRaisesRegex(AssertionError, "UNEXPECTED_STATE"):
            self.ycsb("-t", self.server.port, recordcount=10, operationcount=200, readproportion=0, updateproportion=0, scanproportion=1,
                      insertproportion=0)
        client.ask(b"flush_all")

    def test_it_logs_in(self):
        port = self.guard()["login"]
        said = self.ycsb("-load", port, recordcount=10, **{"mxkv.user": "ann", "mxkv.password": "secret word"})
        self.assertEqual(self.count(said, "INSERT"), 10)


if __name__ == "__main__":
    machine.main()
