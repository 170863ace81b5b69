"""The log of a running daemon: JSON that any parser reads, rotation by size, a limit on lines a second."""

import json
import os
import re
import signal
import time
import unittest

from harness import DaemonCase, mxkv_only, wait_for
from harness.beside import load_tests  # noqa: F401


@mxkv_only("its log")
class LogTest(DaemonCase):
    def test_json_lines_are_json_whatever_a_name_holds(self):
        odd = b'we"ird\\ \t\n\x01\x7f \xc3\xa4 \xff\xfe.sock'
        self.start("--set", "log.format=json", listen=[b"unix:" + odd], wait="")
        wait_for(lambda: b"listening on" in self.log_file.read_bytes(), "it listens")
        self.end()
        lines = [json.loads(line) for line in self.log_file.read_bytes().decode("utf-8", "strict").splitlines()]
        self.assertGreater(len(lines), 4)
        for line in lines:
            self.assertEqual(sorted(line), ["level", "message", "process", "time"])
            self.assertEqual(line["process"], self.process.pid)
            self.assertIn(line["level"], ("info", "warning"))
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$")
        self.assertIn('listening on unix:we"ird\\ \t\n\x01\x7f ä \ufffd\ufffd.sock', [line["message"] for line in lines])

    def test_the_file_is_rotated_by_its_size(self):
        self.write_config("log: {file: out.log, rotate_bytes: 4KiB, rotate_files: 2, rate: unlimited}\n")
        self.start()
        for i in range(60):
            self.write_config(f"log: {{file: out.log, rotate_bytes: 4KiB, rotate_files: 2, rate: unlimited}}\n"
                              f"limits: {{pipeline: {100 + i}, scan_items: {100 + i}}}\n")
            self.process.send_signal(signal.SIGHUP)
            wait_for(lambda: f"scan_items is now {100 + i}," in self.all_logs(), "the reload")
        self.end()
        names = sorted(name for name in os.listdir(self.directory) if name.startswith("out"))
        self.assertEqual(names, ["out.1.log", "out.2.log", "out.log"])
        for name in names:
            self.assertLessEqual(os.path.getsize(self.directory / name), 4096)
        self.assertIn("ended", self.log())

    def all_logs(self) -> str:
        return "".join(path.read_text() for path in self.directory.glob("out*.log"))

    def test_lines_beyond_the_rate_are_counted(self):
        """Many lines come at once, so that they exceed the rate however slow the machine is."""
        self.write_config("log: {rate: 10}\n" + self.limits(100))
        self.start()

        def reloads() -> bool:
            reloads.number += 1
            self.write_config("log: {rate: 10}\n" + self.limits(100 + reloads.number))
            self.process.send_signal(signal.SIGHUP)
            wait_for(lambda: self.settings_hold(100 + reloads.number), "the reload")
            return "lines were left out (log.rate: 10 a second)" in self.log()
        reloads.number = 0
        wait_for(reloads, "lines that were left out")
        self.end()

    @staticmethod
    def limits(number: int) -> str:
        """A dozen settings, each of which a reload logs in a line."""
        names = ("pipeline", "scan_items", "connections", "requests_per_turn", "batch_lines", "locked_items")
        sizes = ("scan_bytes", "batch_bytes", "get_line_bytes", "output_high_water", "value_bytes")
        return "limits: {" + ", ".join([f"{name}: {number}" for name in names] +
                                       [f"{name}: {10_000 + number}" for name in sizes] + [f"idle_timeout: {number}min"]) + "}\n"

    def test_it_tells_what_happens_to_clients(self):
        (self.directory / "users").write_text("ann:secret\n")
        self.write_config("server: {auth_file: users}\nlimits: {connections: 3}\n")
        self.start()
        client = self.client()
        for _ in range(3):  # after three the connection has to wait
            client.send(b"set a 0 0 9\r\nann wrong\r\n")
            self.assertTrue(client.line().startswith(b"CLIENT_ERROR"))
        self.wait_log("warning wrong user or password from tcp:127.0.0.1:")
        for bytes_, name in ((b"\x16\x03\x01\x02\0\x01", "TLS"), (b"GET / HTTP/1.1\r\n", "HTTP")):
            stranger = self.client()
            stranger.send(bytes_)
            self.assertEqual(stranger.rest(), b"")
            self.wait_log(f": it speaks {name}")
        self.change_timeout("300ms")
        self.wait_log(": no request for limits.idle_timeout\n")
        self.change_timeout("off")  # a busy machine may keep the next client silent for as long
        client = self.client()
        self.assertEqual(client.store(b"set", b"a", b"ann secret"), b"STORED")
        self.assertEqual(client.ask(b"flush_all"), b"OK")
        self.wait_log("info flush_all from tcp:127.0.0.1:")
        others = [self.client() for _ in range(4)]
        self.wait_log("(limits.connections is 3)")
        for other in others:
            other.close()
        self.end()

    def change_timeout(self, timeout: str) -> None:
        self.write_config(f"server: {{auth_file: users}}\nlimits: {{connections: 3, idle_timeout: {timeout}}}\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log(f"limits.idle_timeout is now {timeout}")

    def test_verbosity_tells_of_connections_and_then_of_requests_but_of_no_value(self):
        self.start("--set", "log.level=trace")
        client = self.client()
        name = "tcp:127.0.0.1:%d" % client.socket.getsockname()[1]
        client.send(b"set k 0 0 6\r\nsecret\r\n")
        self.assertEqual(client.line(), b"STORED")
        self.wait_log(f"trace {name} sent 21 bytes: set k 0 0 6\n")
        client.close()
        self.wait_log(f"debug closed {name}: ")
        self.end()
        self.assertIn(f"debug opened {name}\n", self.log())
        self.assertNotIn("secret", self.log())

    def test_it_tells_when_memory_is_full_and_of_slow_requests(self):
        self.start("--memory", "64MiB", "--set", "stats.sample=1", "--set", "stats.slow=1ms")
        client = self.client()
        for number in range(100):
            client.send(b"".join(b"set k%d 0 0 10000 noreply\r\n%s\r\n" % (100 * number + i, b"x" * 10000)
                                 for i in range(100)))
        self.wait_log("memory is full (")
        client.send(b"mn\r\n")
        self.assertEqual(client.line(), b"MN")

        def is_told() -> bool:
            client.send(b"get k9999\r\n" * 500)
            for _ in range(500):
                client.records()
            return "info slow request: get k9999 from tcp:127.0.0.1:" in self.log()
        wait_for(is_told, "a slow request")
        self.end()
        self.assertEqual(self.log().count("memory is full ("), 1 + self.log().count("eviction has ended"))

    def test_debug_tells_of_checkpoints_and_of_evictions_each_second(self):
        self.write_config("durability: {directory: data, checkpoint: {journal: 1MiB, rate: unlimited}}\nlog: {level: debug}\n")
        begun = time.monotonic()
        self.start("--memory", "64MiB")
        client = self.client()
        def fill() -> bool:
            client.send(b"".join(b"set k%d 0 0 10000 noreply\r\n%s\r\n" % (fill.next + i, b"x" * 10000) for i in range(500)))
            fill.next += 500
            self.assertEqual(client.ask(b"mn"), b"MN")
            return re.search(r"debug evicted \d+ items \(", self.log()) is not None
        fill.next = 0
        wait_for(fill, "evictions", 60)
        wait_for(lambda: re.search(r"debug checkpoint: ended after \d+\.\d+ s, [1-9]\d* items in \d", self.log()), "a checkpoint")
        self.end()
        log = self.log()
        self.assertLess(log.index("debug checkpoint: begins"), log.index("debug checkpoint: ended"))
        self.assertLess(log.count("debug evicted"), 5 + time.monotonic() - begun, "a line a second")

    def settings_hold(self, i: int) -> bool:
        client = self.client()
        try:
            return client.stats(b"settings")["pipeline"] == str(i)
        finally:
            client.close()

    def test_the_default_rate_lets_a_start_through(self):
        self.start()
        self.end()
        self.assertNotIn("left out", self.log())


if __name__ == "__main__":
    unittest.main()
