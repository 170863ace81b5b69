"""The time that a client waits for its reply, and the times that the server reports: `stats latency`, `stats slow`, metrics, the
page and mxkv-cli. Each sync of the disk takes a second, so that most of the time is the wait for it."""

import json
import select
import subprocess
import time
import unittest

from harness import environment, mxkv_only, patience, wait_for
from harness.connection import block
from harness.http import AdminCase
from harness.tls import TlsCase
from test_power_cuts import FaultyDiskCase

_WAITS_NS = 100_000_000


@mxkv_only("its own instruments")
class ReplyTimesTest(FaultyDiskCase, AdminCase, TlsCase):
    def test_a_write_with_commit(self):
        self.compare("commit")

    def test_a_write_with_an_interval_when_the_disk_is_late(self):
        self.compare("50ms")

    def compare(self, sync: str) -> None:
        self.config.write_text(
            "workers: 1\nmemory: {limit: 256MiB}\nstats: {sample: 1, slow: 1ms}\nadmin: {listeners: [\"127.0.0.1:0\"]}\n"
            f"listeners:\n  - {{port: 0, tls: {{certificate: {self.server}, key: {self.key}}}}}\n  - {{port: 0}}\n"
            f"durability: {{directory: {self.data}, sync: {sync}}}\n")
        self.start(listen=(), wait="listening on 127.0.0.1", env=self.variables)
        secure, plain = wait_for(lambda: len(self.ports()) == 2 and self.ports(), "both listeners")
        self.observer = self.client(plain)
        self.port = plain
        self.tell("slow 1000")
        for name, client in (("plain", self.client(plain)), ("tls", self.client(secure, tls=self.context()))):
            with self.subTest(name):
                wait_for(lambda: self.get_json("/status.json")["series"]["time"], "the page is recorded", 120)
                self.assertEqual(self.observer.ask(b"stats reset"), b"RESET")
                sets, key, waited = self.wait_for_the_disk(client, name)
                for door, longest in self.told(key, sets).items():
                    self.assertGreaterEqual(longest, waited, door)
        self.tell("slow 0")
        self.end()

    def wait_for_the_disk(self, client, name: str) -> tuple:
        """Writes until a reply is held; returns the number of writes, the last key, and the least time it was held, in ns."""
        for sets in range(1, 1000):
            key = f"{name}{sets}"
            client.send(block(b"set", key.encode(), b"1"))
            held = self.is_held(client)
            since = time.monotonic_ns()
            while held and time.monotonic_ns() - since < _WAITS_NS:
                time.sleep(0.01)
            waited = time.monotonic_ns() - since
            held = held and not self.answered(client)
            self.assertEqual(client.line(), b"STORED")
            if held:
                return sets, key, waited
        raise AssertionError("no reply waited for the disk")

    def is_held(self, client) -> bool:
        """Waits until the reply has come or is held for the disk; returns whether it is held."""
        def known():
            return self.answered(client) or int(self.observer.stats(b"durability")["held_connections"]) > 0
        wait_for(known, "the reply comes, or waits for the disk", 120)
        return not self.answered(client)

    @staticmethod
    def answered(client) -> bool:
        return bool(select.select([client.socket], [], [], 0)[0])

    def told(self, key: str, sets: int) -> dict:
        """The longest time of a set by each way of reading it, in ns; the reply has just come."""
        wait_for(lambda: int(self.observer.stats(b"latency").get("set:samples", 0)) >= sets, "all are timed", 120)
        return {"latency": int(self.observer.stats(b"latency")["set:max_ns"]), "slow": self.slow(key),
                "metrics": self.longest_of_metrics(),
                "page": wait_for(lambda: self.page()["samples"] >= sets and self.page()["p99_ns"], "all are on the page", 120),
                "page, slow": max((one["took_ns"] for one in self.get_json("/status.json")["slow"] if one["key"] == key), default=0),
                "cli": json.loads(self.cli("latency"))["commands"]["set"]["max_ns"]}

    def slow(self, key: str) -> int:
        stats = self.observer.stats(b"slow")
        return max((int(stats[name.replace("key", "took_ns")]) for name, value in stats.items()
                    if name.endswith(":key") and value == key), default=0)

    def page(self) -> dict:
        return next(one for one in self.get_json("/status.json")["latency"] if one["command"] == "set")

    def longest_of_metrics(self) -> float:
        """The upper bound of the last non-empty bucket."""
        prefix = 'mxkv_command_duration_seconds_bucket{command="set",form="classic",le="'
        buckets = {float(name[len(prefix):-2]): value for name, value in self.metrics().items() if name.startswith(prefix)}
        return min(bound for bound, value in buckets.items() if value == buckets[float("inf")]) * 1e9

    def cli(self, *arguments: str) -> str:
        done = subprocess.run([environment.MXKV_CLI, "--server", f"127.0.0.1:{self.port}", "--json", *arguments],
                              capture_output=True, text=True, timeout=patience(60), check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


if __name__ == "__main__":
    unittest.main()
