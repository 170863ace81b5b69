"""The log of a running daemon: JSON that any parser reads, rotation by size, a limit on lines a second."""

import json
import os
import signal
import unittest

from harness import DaemonCase, mxkv_only, wait_for


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
        text = "log: {rate: 10}\nlimits: {pipeline: %d, scan_items: %d, connections: %d, requests_per_turn: %d}\n"
        self.write_config(text % (1, 1, 1, 1))
        self.start()
        rounds = 40
        for i in range(2, rounds):
            self.write_config(text % (i, i, i, i))
            os.sched_yield()
            self.process.send_signal(signal.SIGHUP)
            wait_for(lambda: self.settings_hold(i), "the reload")
        self.wait_log("lines were left out (log.rate: 10 a second)")
        self.end()

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
