"""SIGHUP: limits and timeouts take effect at once; the daemon refuses a file that changes anything else, and names it."""

import os
import signal
import threading
import unittest

from harness import Closed, DaemonCase, mxkv_only, patience, scaled, wait_for
from harness.beside import load_tests  # noqa: F401


class ReloadCase(DaemonCase):
    """Configures, starts, and reloads; a line of the log shows each reload."""

    def reload(self, text: str, expected: str) -> None:
        self.write_config(text)
        before = self.log().count(expected)
        self.process.send_signal(signal.SIGHUP)
        self.wait_log(expected, before + 1)

    def start_with(self, text: str = "", *arguments, **options):
        self.write_config(text)
        return self.start(*arguments, **options)


@mxkv_only("reloading")
class ReloadTest(ReloadCase):
    def test_every_limit_takes_effect_on_open_connections(self):
        self.start_with()
        client = self.client()
        self.assertEqual(client.set(b"k", b"x" * 3000), b"STORED")
        for i in range(30):
            client.set(b"s%02d" % i, b"v")
        self.reload("limits: {value_bytes: 2KiB, connections: 9, get_line_bytes: 2KiB, output_high_water: 8KiB, "
                    "output_stall: 2s, idle_timeout: 1h, requests_per_turn: 3, pipeline: 5, scan_items: 7, "
                    "scan_bytes: 1KiB, scan_time: 9ms, batch_lines: 2, batch_bytes: 2KiB}\n", "limits.batch_bytes is now 2KiB, was 4MiB")
        wait_for(lambda: client.set(b"k", b"x" * 3000) == b"SERVER_ERROR object too large for cache", "value_bytes")
        settings = client.stats(b"settings")
        self.assertEqual({name: settings[name] for name in (
            "maxconns", "item_size_max", "get_line_bytes", "output_high_water", "reqs_per_event", "pipeline",
            "scan_items", "scan_bytes", "batch_lines", "batch_bytes", "idle_timeout")},
            {"maxconns": "9", "item_size_max": "2048", "get_line_bytes": "2048", "output_high_water": "8192",
             "reqs_per_event": "3", "pipeline": "5", "scan_items": "7", "scan_bytes": "1024", "batch_lines": "2",
             "batch_bytes": "2048", "idle_timeout": "3600"})
        self.assertEqual(client.set(b"e", b"x" * 1500), b"STORED")
        self.assertEqual(client.store(b"append", b"e", b"x" * 1500), b"SERVER_ERROR object too large for cache",
                         "the store's own limit")
        self.assertEqual(len([item for item in client.records(b"scan s 25") if item[0] != "CURSOR"]), 7)
        client.send(b"get " + b"k" * 10 + b" k" * 2000 + b"\r\n")
        self.assertEqual(client.rest(), b"", "too long a line closes the connection")
        self.end()

    def test_fewer_connections_leave_those_that_are_open(self):
        self.start_with()
        clients = [self.client() for _ in range(6)]
        for client in clients:
            client.ask(b"version")
        self.reload("limits: {connections: 3}\n", "limits.connections is now 3, was 4096")
        refused = self.client()
        self.assertEqual(refused.line(), b"ERROR Too many open connections")
        for client in clients:
            self.assertEqual(client.set(b"k", b"v"), b"STORED")
        self.reload("", "limits.connections is now 4096, was 3")
        self.assertEqual(self.client().set(b"k", b"v"), b"STORED")
        self.end()

    def test_an_idle_time_out_that_comes_later_closes_who_is_idle(self):
        self.start_with()
        client = self.client()
        client.ask(b"version")
        self.reload("limits: {idle_timeout: 100ms}\n", "limits.idle_timeout is now 100ms, was off")
        self.assertEqual(client.rest(), b"")
        self.end()

    def test_what_is_sampled_and_slow_changes(self):
        self.start_with("stats: {sample: off, slow: off}\n")
        client = self.client()
        client.set(b"k", b"v")
        self.assertEqual(client.stats(b"hot"), {})
        self.reload("stats: {sample: 1, slow: 1ms}\n", "stats.slow is now 1ms, was off")
        for _ in range(10):
            client.get(b"k")
        self.assertIn("key:k", client.stats(b"hot"))
        settings = client.stats(b"settings")
        self.assertEqual((settings["stats_sample"], settings["stats_slow_ms"]), ("1", "1"))
        self.end()

    def test_the_drain_time_out_and_the_level_change(self):
        self.start_with()
        self.write_config("server: {drain_timeout: 0ms}\nlog: {level: warning}\n")
        self.process.send_signal(signal.SIGHUP)
        client = self.client(receive_buffer=4096)

        def level() -> bytes:
            client.send(b"config get log.level\r\nmn\r\n")
            lines = []
            while (line := client.line()) != b"MN":
                lines.append(line)
            return b" ".join(lines)
        # Two pending signals may become one, so the first reload must end before the second begins.
        wait_for(lambda: b"warning" in level(), "the first reload")
        self.reload("bogus: 1\n", "bogus: an unknown key")
        client.set(b"large", b"x" * 1000000)
        client.send(b"get large\r\n" * 100)
        client.socket.recv(1)
        self.end()
        self.assertIn("did not read their replies within 0ms are dropped", self.log())
        self.assertNotIn("SIGTERM: ending", self.log(), "the level is warning")

    def test_what_cannot_change_is_refused_whole_and_each_key_named(self):
        self.start_with("limits: {pipeline: 50}\n")
        self.reload("limits: {pipeline: 60}\nexperimental: {prefetch: {mode: off}}\nserver:\n  pid_file: other.pid\n",
                    "server.pid_file: cannot change while the daemon runs, from none to other.pid")
        self.wait_log(f"error reload refused: {self.config}:4:33: experimental.prefetch.mode: cannot change while the daemon runs, "
                      "from at_spawn to off\n")
        self.wait_log(f"error reload refused: {self.config}:6:13: server.pid_file: ")
        self.assertEqual(self.client().stats(b"settings")["pipeline"], "50", "nothing of it was taken")
        self.reload("limits: {pipeline: 60}\n", "limits.pipeline is now 60, was 50")
        self.end()

    def test_a_file_with_mistakes_is_refused_whole(self):
        self.start_with("limits: {pipeline: 50}\n")
        self.reload("limits: {pipeline: 60, scan_items: many}\nbogus: 1\n", "bogus: an unknown key")
        self.assertIn(f"error reload refused: {self.config}:3:36: limits.scan_items: \"many\" is not a number", self.log())
        self.assertEqual(self.client().stats(b"settings")["pipeline"], "50")
        self.config.rename(self.directory / "away")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log(f"reload refused: {self.config}")
        self.assertEqual(self.client().stats(b"settings")["pipeline"], "50")
        self.end()

    def test_flags_still_win_over_the_file(self):
        self.start_with("", "--set", "limits.pipeline=33")
        self.reload("limits: {pipeline: 60, scan_items: 8}\n", "limits.scan_items is now 8, was 1000")
        settings = self.client().stats(b"settings")
        self.assertEqual((settings["pipeline"], settings["scan_items"]), ("33", "8"))
        self.reload("limits: {pipeline: 70, scan_items: 8}\n", "reload: nothing changed")
        self.end()

    def test_reloads_under_load_lose_no_reply(self):
        self.start_with("", "--set", "log.rate=unlimited")
        stop = threading.Event()
        failures = []
        served = [0, 0]

        def load(number):
            try:
                client = self.client()
                while not stop.is_set():
                    client.send(b"".join(b"set l%d-%d 0 0 3\r\nabc\r\n" % (number, i) for i in range(40)))
                    for _ in range(40):
                        self.assertEqual(client.line(), b"STORED")
                    self.assertEqual(client.get(b"l%d-39" % number), b"abc")
                    served[number] += 1
            except (AssertionError, OSError, Closed) as error:
                failures.append(error)

        threads = [threading.Thread(target=load, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for i in range(scaled(60, 10)):
            self.reload(f"limits: {{pipeline: {2 + i}, requests_per_turn: {1 + i}, output_high_water: {4096 + i}, "
                        f"idle_timeout: {60 + i}s, connections: {50 + i}}}\n", f"limits.pipeline is now {2 + i},")
        before = list(served)
        wait_for(lambda: failures or all(now > then for now, then in zip(served, before)), "both clients are served")
        stop.set()
        for thread in threads:
            thread.join(patience(30))
        self.assertEqual(failures, [])
        self.end()


@mxkv_only("its log file")
class LogFileTest(ReloadCase):
    def test_a_renamed_log_file_is_begun_anew(self):
        self.start_with("log: {file: out.log}\n")
        moved = self.directory / "out.log.1"
        self.log_file.rename(moved)
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.log_file.exists() and "reload: nothing changed" in self.log(), "the new file")
        old = moved.read_text()
        self.end()
        self.assertIn("ended", self.log())
        self.assertEqual(moved.read_text(), old, "nothing more in the old one")

    def test_a_file_that_cannot_be_opened_anew_is_kept(self):
        logs = self.directory / "logs"
        logs.mkdir()
        self.write_config(f"log: {{file: {logs}/out.log}}\n")
        self.log_file = logs / "out.log"
        self.log_file.touch()
        self.start()
        descriptor = os.open(self.log_file, os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        moved = self.directory / "moved"
        logs.rename(moved)
        logs.write_text("a file in the place of the directory")
        self.process.send_signal(signal.SIGHUP)
        self.log_file = moved / "out.log"
        self.wait_log("the log file could not be reopened")
        self.end()


if __name__ == "__main__":
    unittest.main()
