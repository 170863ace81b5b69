"""server/quickstart, with a stand-in server and a stand-in load client: its behaviour on failures."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

QUICKSTART = Path(__file__).resolve().parents[2] / "server" / "quickstart"

SERVER = """#!/usr/bin/env python3
import os, signal, socket, sys
mode = os.environ.get("STUB_SERVER", "")
if mode == "dies":
    sys.exit("no such option")
open(os.environ["STUB_PID_FILE"], "w").write(str(os.getpid()))
signal.signal(signal.SIGTERM, lambda *_: os._exit(3 if mode == "bad exit" else 0))
host, port = sys.argv[sys.argv.index("--listen") + 1].split(":")
listener = socket.create_server((host, int(port)))
while True:
    connection, _ = listener.accept()
    with connection:
        if connection.recv(100) == b"version\\r\\n":
            connection.sendall(b"VERSION 1.2.3\\r\\n")
"""

CLIENT = """#!/usr/bin/env bash
echo "$*" >>"$STUB_CLIENT_LOG"
echo '10 operations' >&2
case "$STUB_CLIENT:$*" in
  "fails in c:"*"--workload c"*) exit 1 ;;
esac
printf '[OVERALL], Throughput(ops/sec), 12345.6\\n'
for kind in READ UPDATE INSERT SCAN; do
  printf '[%s], 50thPercentileLatency(us), 7\\n[%s], 99thPercentileLatency(us), 9\\n' "$kind" "$kind"
done
"""


class QuickstartTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        root = Path(self.folder.name)
        for name, text in [("server/setup-packages", "#!/bin/sh\n"), ("tools/cmake", "#!/bin/sh\n"),
                           ("build/release/server/mxkvd", SERVER), ("build/release/bench/mxkv-ycsb", CLIENT)]:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        self.script = shutil.copy(QUICKSTART, root / "server" / "quickstart")
        self.pid_file = root / "pid"
        self.client_log = root / "client.log"
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.environment = os.environ | {"PATH": f"{root}/tools:{os.environ['PATH']}", "STUB_CLIENT": "",
                                         "STUB_PID_FILE": str(self.pid_file), "STUB_CLIENT_LOG": str(self.client_log)}

    def start(self, output, *arguments, **environment):
        process = subprocess.Popen(["bash", self.script, "--port", str(self.port), *arguments], stdout=output,
                                   stderr=subprocess.STDOUT, env=self.environment | environment, start_new_session=True)
        self.addCleanup(self.end_group, process)
        return process

    @staticmethod
    def end_group(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def run_it(self, *arguments, **environment):
        """(exit code, whole output)"""
        with tempfile.TemporaryFile("w+") as output:
            code = self.start(output, *arguments, **environment).wait(30)
            output.seek(0)
            return code, output.read()

    def expect_failure(self, result, message):
        code, printed = result
        self.assertNotEqual(code, 0, printed)
        self.assertIn(message, printed)
        self.expect_no_server()

    def expect_no_server(self):
        if self.pid_file.exists():
            self.assertFalse(Path("/proc", self.pid_file.read_text()).exists(), "the server was left behind")

    def stub_cmake(self, build: str) -> None:
        """Makes a cmake that configures successfully, and runs `build` as the build."""
        path = Path(self.folder.name) / "tools" / "cmake"
        path.write_text(f"#!/bin/bash\n[[ \"$1\" == --preset ]] && exit 0\n{build}\n", encoding="utf-8")

    def test_the_build_tells_how_many_steps_are_left(self):
        self.stub_cmake("for i in 1 2 3 4; do echo \"@$i 4 $((i * 10)).5 Building CXX object a$i.o\"; done")
        code, output = self.run_it("--once")
        self.assertEqual(code, 0, output)
        self.assertIn("3 of 4 steps left\n", output)
        self.assertIn("1 of 4 steps left, about 10 s\n", output)
        self.assertNotIn("Building CXX object", output)

    def test_a_build_that_fails_shows_its_first_error_and_the_log(self):
        self.stub_cmake("echo 'FAILED: a.o'; echo 'a.cpp:7:1: error: no such thing'; seq 100; exit 1")
        code, output = self.run_it("--once")
        self.assertEqual(code, 1)
        self.assertIn("FAILED: a.o\na.cpp:7:1: error: no such thing\n", output)
        self.assertRegex(output, r"quickstart: the build failed; all it said is in \S+quickstart-build.log\n$")
        self.assertNotIn("\n100\n", output)

    def test_once_loads_runs_a_c_e_and_leaves_nothing(self):
        code, printed = self.run_it("--once", "--records", "50", "--operations", "100")
        self.assertEqual(code, 0, printed)
        self.assertIn("VERSION 1.2.3", printed)
        self.assertIn("12346 ops/s   scan p50 7 us, p99 9 us", printed)
        self.assertIn(f"nc 127.0.0.1 {self.port}", printed)
        calls = self.client_log.read_text().splitlines()
        self.assertEqual([call.split(" --server")[0] for call in calls],
                         ["load"] + [f"run --workload {w} --operationcount {n}" for w, n in
                                     [("a", 100), ("c", 100), ("e", 10)]])
        self.assertTrue(all("--recordcount 50 " in call for call in calls))
        self.expect_no_server()

    def test_a_failing_workload_stops_the_server(self):
        self.expect_failure(self.run_it("--once", STUB_CLIENT="fails in c"), "workload-c failed (exit code 1)")

    def test_a_server_that_dies_is_reported_with_its_last_words(self):
        result = self.run_it("--once", STUB_SERVER="dies")
        self.expect_failure(result, "mxkvd ended at once")
        self.assertIn("no such option", result[1])

    def test_a_server_that_ends_badly_is_a_failure(self):
        self.expect_failure(self.run_it("--once", STUB_SERVER="bad exit"), "mxkvd ended with exit code 3")

    def test_a_port_that_is_taken_is_told_before_anything_starts(self):
        with socket.create_server(("127.0.0.1", self.port)):
            self.expect_failure(self.run_it("--once"), f"port {self.port} is taken")
        self.assertFalse(self.pid_file.exists())

    def test_a_build_that_fails_is_told(self):
        Path(self.folder.name, "tools", "cmake").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        self.expect_failure(self.run_it("--once"), "the build failed")

    def test_wrong_arguments_are_refused(self):
        for arguments in (["--twice"], ["--records"], ["--records", "many"], ["--port", "65536"]):
            with self.subTest(arguments=arguments):
                self.expect_failure(self.run_it(*arguments), "quickstart: ")

    def test_without_once_it_serves_until_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number), tempfile.TemporaryFile("w+") as output:
                process = self.start(output)
                deadline = time.monotonic() + 30
                while "runs until Ctrl-C" not in (output.seek(0) or output.read()):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.05)
                with socket.create_connection(("127.0.0.1", self.port)) as connection:
                    connection.sendall(b"version\r\n")
                    self.assertEqual(connection.recv(100), b"VERSION 1.2.3\r\n")
                process.send_signal(number)
                self.assertEqual(process.wait(30), 0)
                self.expect_no_server()


if __name__ == "__main__":
    unittest.main()
