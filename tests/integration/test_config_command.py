"""`config get` shows each value in force and its origin; `config set` changes options that may change at run time."""

import signal
import threading
import time
import unittest

from harness import DaemonCase, mxkv_only, patience, scaled, wait_for
from harness.beside import load_tests  # noqa: F401


class ConfigCase(DaemonCase):
    def start_with(self, text: str = "", *arguments):
        self.write_config(text)
        self.start(*arguments)
        return self.client()

    def told(self, client, pattern: bytes = b"") -> dict:
        """Path to (now or start, value, origin)."""
        client.send(b"config get " + pattern + b"\r\n")
        found = {}
        while (line := client.line()) != b"END":
            word, path, when, rest = line.decode().split(" ", 3)
            self.assertEqual(word, "CONFIG")
            value, _, origin = rest.rpartition(" # ")
            found[path] = (when, value, origin)
        return found


@mxkv_only("config get")
class ConfigGetTest(ConfigCase):
    def test_every_option_is_told_with_its_value_and_who_set_it(self):
        client = self.start_with("limits: {pipeline: 50}\n", "--set", "stats.sample=8")
        found = self.told(client)
        self.assertEqual(found["limits.pipeline"], ("now", "50", f"{self.config}:3:20"))
        self.assertEqual(found["stats.sample"], ("now", "8", "--set stats.sample"))
        self.assertEqual(found["limits.value_bytes"], ("now", "1MiB", "default"))
        self.assertEqual(found["server.pid_file"][0], "start")
        self.assertGreater(len(found), 70)
        self.end()

    def test_a_pattern_an_option_or_a_section_chooses(self):
        client = self.start_with()
        self.assertEqual(list(self.told(client, b"limits.scan_*")),
                         ["limits.scan_items", "limits.scan_bytes", "limits.scan_time"])
        self.assertEqual(list(self.told(client, b"stats")), ["stats.sample", "stats.slow"])
        self.assertEqual(list(self.told(client, b"stats.slow")), ["stats.slow"])
        self.assertEqual(self.told(client, b"nothing*"), {})
        self.assertEqual(client.ask(b"config get cluster"), b"ERROR", "so clients ask where the nodes of ElastiCache are")
        self.assertIn("cluster.forward", self.told(client, b"cluster.*"))
        self.assertEqual(client.ask(b"config get limits.pipelin"),
                         b"CLIENT_ERROR there is no such option (did you mean limits.pipeline?)")
        self.assertEqual(client.ask(b"config get zzzzzzzzz"), b"CLIENT_ERROR there is no such option")
        self.end()

    def test_a_limit_that_cache_memlimit_set_is_told_as_its_own(self):
        client = self.start_with()
        self.assertEqual(client.ask(b"cache_memlimit 80"), b"OK")
        self.assertEqual(self.told(client, b"memory.limit")["memory.limit"], ("now", "80MiB", "cache_memlimit"))
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("reload: the memory limit is 64MiB again, cache_memlimit had set it to 80MiB")
        self.assertEqual(client.stats()["limit_maxbytes"], str(64 << 20))
        self.end()


@mxkv_only("config set")
class ConfigSetTest(ConfigCase):
    def set(self, client, path: str, value: str) -> None:
        self.assertEqual(client.ask(f"config set {path} {value}".encode()), b"OK", path)

    def test_a_limit_holds_everywhere_when_it_is_answered(self):
        client = self.start_with()
        others = [self.client() for _ in range(8)]
        self.set(client, "limits.value_bytes", "2KiB")
        for other in others:
            self.assertEqual(other.set(b"k", b"x" * 3000), b"SERVER_ERROR object too large for cache")
        self.wait_log("config set from tcp:127.0.0.1:")
        self.assertIn("limits.value_bytes is now 2KiB, was 1MiB", self.log())
        self.assertEqual(self.told(client, b"limits.value_bytes")["limits.value_bytes"], ("now", "2KiB", "config set"))
        self.end()

    def test_it_is_answered_in_the_order_of_its_connections_requests(self):
        client = self.start_with()
        client.send(b"set k 0 0 1\r\na\r\nconfig set limits.scan_items 7\r\nget k\r\nconfig get limits.scan_items\r\nmn\r\n")
        self.assertEqual([client.line() for _ in range(8)],
                         [b"STORED", b"OK", b"VALUE k 0 1", b"a", b"END", b"CONFIG limits.scan_items now 7 # config set", b"END", b"MN"])
        self.end()

    def test_each_option_that_can_change_changes(self):
        client = self.start_with()
        for path, value in (
                ("spin_rounds", "7"), ("memory.limit", "100MiB"), ("memory.when_full", "error"), ("memory.evict_for", "bytes"),
                ("memory.evacuation", "false"),
                ("limits.scan_time", "9ms"), ("stats.slow", "1ms"), ("server.drain_timeout", "1s"),
                ("server.shutdown_command", "true"), ("server.balance", "off"), ("server.accept", "machine"),
                ("log.rate", "1000"), ("log.level", "debug"), ("durability.checkpoint.rate", "1MiB")):
            with self.subTest(path):
                self.set(client, path, value)
                self.assertEqual(self.told(client, path.encode())[path], ("now", value, "config set"))
        settings = client.stats(b"settings")
        self.assertEqual({name: settings[name] for name in ("maxbytes", "evictions", "evict_for", "shutdown_command", "stats_slow_ms")},
                         {"maxbytes": str(100 << 20), "evictions": "off", "evict_for": "bytes", "shutdown_command": "yes", "stats_slow_ms": "1"})
        client.send(b"shutdown\r\n")
        self.assertEqual(client.rest(), b"")
        self.process.wait(patience(30))

    def test_what_is_wrong_changes_nothing_and_is_told_in_one_line(self):
        client = self.start_with()
        before = self.told(client)
        for line, why in (
                ("limits.pipelin 5", b"CLIENT_ERROR config set: limits.pipelin: an unknown key, did you mean pipeline? "),
                ("limits.pipeline many", b"CLIENT_ERROR config set: limits.pipeline: \"many\" is not a number"),
                ("limits.pipeline 0", b"CLIENT_ERROR config set: limits.pipeline: \"0\" is out of range (allowed: 1 to 65536)"),
                ("limits. 5", b"CLIENT_ERROR config set: is not an assignment (allowed: path.to.key and a value)"),
                ("limits.pipeline {a: [", b"CLIENT_ERROR config set:"),
                ("workers 3", b"CLIENT_ERROR config set: workers: cannot change while the daemon runs, from 2 to 3"),
                ("server.debug_time true", b"CLIENT_ERROR config set: server.debug_time: cannot change while the daemon runs"),
                ("memory.evict_for size", b"CLIENT_ERROR config set: memory.evict_for: \"size\" is unknown (allowed: requests, bytes)"),
                ("memory.limit 1GiB", b"CLIENT_ERROR config set: memory.limit: while the daemon runs it can grow to 128MiB: "
                                      b"twice the limit at the start"),
                ("log.file /nowhere/at/all.log", b"CLIENT_ERROR config set: log.file: the folder /nowhere/at does not exist")):
            with self.subTest(line):
                answer = client.ask(b"config set " + line.encode())
                self.assertEqual(answer[:len(why)], why)
        for line in (b"config", b"config set", b"config set a", b"config get a b", b"config drop a"):
            self.assertEqual(client.ask(line),
                             b"CLIENT_ERROR usage: config get [pattern], config set <option> <value>")
        self.assertEqual(self.told(client), before)
        self.end()

    def test_a_reload_undoes_it_and_says_so(self):
        client = self.start_with("limits: {pipeline: 50}\n")
        self.set(client, "limits.pipeline", "60")
        self.process.send_signal(signal.SIGHUP)
        self.wait_log("reload: limits.pipeline is now 50, was 60 by config set")
        self.assertEqual(self.told(client, b"limits.pipeline")["limits.pipeline"][1], "50")
        self.end()

    def test_the_log_goes_to_another_file_in_another_form(self):
        client = self.start_with()
        other = self.directory / "other.log"
        self.set(client, "log.file", str(other))
        self.set(client, "log.format", "json")
        self.set(client, "limits.pipeline", "60")
        wait_for(lambda: other.exists() and '"message":"config set from tcp:127.0.0.1:' in other.read_text(), "lines of JSON")
        self.assertIn("limits.pipeline is now 60, was 1024", other.read_text())
        self.set(client, "log.file", "stderr")
        self.end()

    def test_a_client_that_leaves_before_the_answer_harms_nobody(self):
        client = self.start_with()
        for i in range(scaled(200, 40)):
            gone = self.client()
            gone.send(b"config set limits.pipeline %d\r\nconfig get\r\n" % (10 + i))
            gone.close()
        self.assertLessEqual(10, int(self.told(client, b"limits.pipeline")["limits.pipeline"][1]))
        self.assertEqual(client.set(b"k", b"v"), b"STORED")
        self.end()

    def test_under_load_and_from_many_at_once_no_reply_is_lost(self):
        self.start_with("", "--set", "log.rate=unlimited")
        failures = []

        def work(number):
            try:
                client = self.client()
                for i in range(scaled(60, 12)):
                    client.send(b"set l%d 0 0 1\r\na\r\nconfig set limits.scan_items %d\r\nget l%d\r\n" % (number, 1 + i, number))
                    answers = [client.line() for _ in range(5)]
                    self.assertEqual(answers, [b"STORED", b"OK", b"VALUE l%d 0 1" % number, b"a", b"END"])
            except (AssertionError, OSError) as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(patience(60))
        self.assertEqual(failures, [])
        self.end()

    def test_the_memory_limit_that_shrinks_makes_items_go(self):
        client = self.start_with()
        for i in range(300):
            client.send(b"set k%03d 0 0 100000 noreply\r\n" % i + b"x" * 100000 + b"\r\n")
        client.ask(b"mn")
        self.set(client, "memory.limit", "16MiB")
        wait_for(lambda: int(client.stats()["curr_items"]) < 200 or not time.sleep(0.05), "items go")
        self.end()


if __name__ == "__main__":
    unittest.main()
