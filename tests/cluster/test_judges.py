"""Both judges of histories agree, and are right, on histories made by hand, of a server that keeps its data, and
of a server that was killed and came back empty.
"""

import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import history
from clients import Memcached
from setting import machine


def told(op: str, invoked: int, returned: int, result: str = "done", **more) -> dict:
    return {"client": 1, "key": "k", "op": op, "invoked": invoked, "returned": returned, "outcome": "ok", "result": result,
            **more}


def never(op: str, invoked: int, outcome: str = "unknown", **more) -> dict:
    return {"client": 2, "key": "k", "op": op, "invoked": invoked, "outcome": outcome, "text": "?", **more}


FIRST = told("set", 1, 2, value=7)

EXPLAINED = {
    "what was written is read": [FIRST, told("get", 3, 4, number=7)],
    "a read beside a write sees what was before": [FIRST, told("set", 3, 8, value=8), told("get", 4, 5, number=7)],
    "a write of unknown outcome shows later": [
        FIRST, never("set", 3, value=8), told("get", 4, 5, number=7), told("get", 6, 7, number=8)],
    "a write of unknown outcome never shows": [FIRST, never("set", 3, value=8), told("get", 4, 5, number=7)],
    "a delete of unknown outcome shows later": [
        FIRST, never("delete", 3), told("get", 4, 5, number=7), told("get", 6, 7, "missing")],
    "an incr of unknown outcome counts": [
        FIRST, never("incr", 3, value=10), told("incr", 4, 5, value=1, number=18), told("get", 6, 7, number=18)],
    "a cas that lost": [
        FIRST, told("get", 3, 4, number=7, unique=20), told("set", 5, 6, value=8, unique=30),
        told("cas", 7, 8, "exists", value=9, compare=20, expect=7), told("get", 9, 10, number=8)],
    "a cas of unknown outcome": [
        FIRST, told("get", 3, 4, number=7, unique=20), never("cas", 5, value=9, compare=20, expect=7),
        told("get", 6, 7, number=9)],
    "what is known not to have been done": [FIRST, never("set", 3, "failed", value=8), told("get", 4, 5, number=7)],
}

WRONG = {
    "a lost write": [FIRST, told("get", 3, 4, "missing")],
    "a lost update": [
        FIRST, told("incr", 3, 4, value=1, number=8), told("incr", 5, 6, value=1, number=8)],
    "two cas of one version": [
        FIRST, told("get", 3, 4, number=7, unique=20), told("cas", 5, 6, value=8, compare=20, expect=7),
        told("cas", 7, 8, value=9, compare=20, expect=7)],
    "a stale read": [FIRST, told("set", 3, 4, value=8), told("get", 5, 6, number=7)],
    "reads that go back": [
        FIRST, told("set", 3, 10, value=8), told("get", 4, 5, number=8), told("get", 6, 7, number=7)],
    "a resurrected delete": [FIRST, told("delete", 3, 4), told("get", 5, 6, number=7)],
    "an unknown write that shows, and then does not": [
        FIRST, never("set", 3, value=8), told("get", 4, 5, number=8), told("get", 6, 7, number=7)],
    "an unknown write that counts twice": [
        FIRST, never("incr", 3, value=10), told("get", 4, 5, number=17), told("get", 6, 7, number=27)],
    "a write that is known not to have been done, and shows": [
        FIRST, never("set", 3, "failed", value=8), told("get", 4, 5, number=8)],
    "an unknown write that shows before it was sent": [
        FIRST, told("get", 3, 4, number=8), never("set", 5, value=8)],
}


@machine.needs(machine.long_only())
class JudgesTest(unittest.TestCase):
    def verdicts(self, *entries: list) -> dict:
        made = history.History()
        made.entries = [entry | {"key": f"k{n}"} for n, one in enumerate(entries) for entry in one]
        with tempfile.TemporaryDirectory() as folder:
            return history.judged(made.save(Path(folder) / "history"))

    def test_what_can_be_explained(self):
        for name, entries in EXPLAINED.items():
            for judge, (explained, text) in self.verdicts(entries).items():
                with self.subTest(name, judge=judge):
                    self.assertTrue(explained, text)

    def test_what_cannot(self):
        for name, entries in WRONG.items():
            for judge, (explained, text) in self.verdicts(entries).items():
                with self.subTest(name, judge=judge):
                    self.assertFalse(explained, text)

    def test_one_wrong_key_among_others(self):
        for judge, (explained, text) in self.verdicts(*EXPLAINED.values(), WRONG["a stale read"]).items():
            with self.subTest(judge=judge):
                self.assertFalse(explained)
                self.assertIn(f"key k{len(EXPLAINED)} ", text)
        for judge, (explained, text) in self.verdicts(*EXPLAINED.values()).items():
            with self.subTest(judge=judge):
                self.assertTrue(explained, text)


@machine.needs(machine.long_only())
class OneServerTest(unittest.TestCase):
    """Real clients of one server without a cluster."""

    def start(self) -> None:
        self.process = subprocess.Popen(
            [machine.MXKVD, "--listen", f"127.0.0.1:{self.port}", "--workers", "1", "--memory", "64MiB"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        machine.wait_for_version(self.port, lambda: self.process.poll() is None)

    def verdicts_of(self, harm) -> tuple:
        """The judges' verdicts, and the lost keys, of a run in which harm() comes in the middle."""
        self.port = machine.free_port()
        self.start()
        self.addCleanup(lambda: (self.process.kill(), self.process.wait()))
        recorded, keys = history.History(), history.Keys()
        to = [("127.0.0.1", self.port)]
        clients = [history.Client(recorded, Memcached(to, seed=n), n, keys) for n in range(1, 17)]
        for client in clients:
            client.start()
        time.sleep(3)
        harm()
        time.sleep(1)
        history.finish(keys, clients)
        lost = history.read_all(recorded, Memcached(to), keys, clients)
        operations = {(entry["op"], entry.get("result")) for entry in recorded.entries}
        self.assertLessEqual({("cas", "done"), ("cas", "exists"), ("incr", "done"), ("incr", "missing"), ("delete", "done"),
                              ("get", "done"), ("get", "missing"), ("set", "done")}, operations)
        with tempfile.TemporaryDirectory() as folder:
            return history.judged(recorded.save(Path(folder) / "history")), lost

    def test_what_is_kept(self):
        verdicts, lost = self.verdicts_of(lambda: None)
        self.assertEqual(lost, [])
        for judge, (explained, text) in verdicts.items():
            self.assertTrue(explained, f"{judge}: {text}")
            print(f"{judge}: {text}", flush=True)

    def test_what_is_lost(self):
        verdicts, lost = self.verdicts_of(lambda: (self.process.kill(), self.process.wait(), self.start()))
        self.assertNotEqual(lost, [])
        for judge, (explained, text) in verdicts.items():
            self.assertFalse(explained, f"{judge}: {text}")


if __name__ == "__main__":
    machine.main()
