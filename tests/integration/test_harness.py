"""The harness itself: it never passes a server that crashes, reports an error or does not stop in order."""

import dataclasses
import sys
import unittest

from harness import Options, Server, ServerFailure

_FAKE = """
import signal, socket, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit({code}))
listener = socket.create_server(("127.0.0.1", {port}))
{at_start}
while True:
    client, _ = listener.accept()
    client.recv(100)
    client.sendall(b"VERSION 0.0.0\\r\\n")
    client.close()
"""


@dataclasses.dataclass(frozen=True)
class FakeOptions(Options):
    """A few lines of Python in place of a server."""
    at_start: str = ""
    code: int = 0

    def command(self, port: int) -> list:
        return [sys.executable, "-c", _FAKE.format(port=port, at_start=self.at_start, code=self.code)]


class HarnessTest(unittest.TestCase):
    def start(self, **arguments) -> Server:
        server = Server(FakeOptions(**arguments))
        self.addCleanup(server.kill)
        return server.start()

    def test_a_good_one_passes(self):
        self.start().stop()

    def test_an_exit_code_fails(self):
        with self.assertRaisesRegex(ServerFailure, "exit 3"):
            self.start(code=3).stop()

    def test_a_report_in_the_log_fails_with_the_log(self):
        for report in ("==1==ERROR: AddressSanitizer: heap-use-after-free", "WARNING: ThreadSanitizer: data race",
                       "x.cpp:3:4: runtime error: signed integer overflow"):
            with self.assertRaisesRegex(ServerFailure, report.split(":")[-1]):
                self.start(at_start=f"print({report!r}, flush=True)").stop()

    def test_a_crash_fails(self):
        server = self.start()
        server.process.kill()
        server.process.wait()
        with self.assertRaisesRegex(ServerFailure, "exit -9"):
            server.stop()

    def test_an_end_at_the_start_fails_with_the_log(self):
        with self.assertRaisesRegex(ServerFailure, "no luck"):
            self.start(at_start="sys.exit('no luck')")

    def test_a_taken_port_is_tried_again_with_another(self):
        with self.assertRaisesRegex(ServerFailure, "five tries"):
            self.start(at_start="sys.exit('Address already in use')")
