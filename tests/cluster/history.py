"""Histories of real clients: their requests, the times, and the outcomes; and two judges of the histories.

Each line of a history is a mapping: client, key, op (get, set, cas, incr, delete), value (written or added),
compare and expect (for a cas: the unique, and the number that it stood for), invoked and returned (nanoseconds of one clock),
and outcome (ok, failed: known not to have been done, unknown). If the outcome is ok, it also has result (done, missing, exists),
and number and unique if the reply had them. A number is never written twice, except to keys with an `n`, which are counters.

Clients write a key for a while and then leave it: so few outcomes of one key are unknown, and the search is short. They read
the keys that they have left now and then, and all of them in the end.
"""

import itertools
import json
import os
import random
import shutil
import subprocess
import threading
import time
import unittest
from pathlib import Path

import setting
import registries

JUDGE = os.environ.get("MXKV_JUDGE", "")
KEYS = 8  # at a time; every fourth key is a counter
PORCUPINE = Path(__file__).resolve().parent / "porcupine"


class History:
    """The operations of all clients; any thread adds to it."""

    def __init__(self) -> None:
        self.entries = []

    def add(self, client: int, key: str, op: str, call, **asked) -> dict:
        """Runs one operation, and records its outcome."""
        invoked = time.monotonic_ns()
        answer = call()
        entry = {"client": client, "key": key, "op": op, **asked, "invoked": invoked, "outcome": answer.outcome}
        if answer.outcome == "ok":
            entry |= {"returned": time.monotonic_ns(), "result": answer.result}
            entry |= {"number": answer.number} if answer.number is not None else {}
            entry |= {"unique": answer.unique} if answer.unique else {}
        else:
            entry["text"] = answer.text
        self.entries.append(entry)
        return entry

    def count(self, outcome: str, writes: bool | None = None) -> int:
        return sum(entry["outcome"] == outcome and writes in (None, entry["op"] != "get") for entry in list(self.entries))

    def texts(self) -> dict:
        """The errors of operations that are not ok, with their counts."""
        texts = {}
        for entry in list(self.entries):
            if entry["outcome"] != "ok":
                said = f"{entry['outcome']}: {entry['text']}"
                texts[said] = texts.get(said, 0) + 1
        return texts

    def save(self, path: Path) -> Path:
        with open(path, "w", encoding="ascii") as file:
            for entry in self.entries:
                file.write(json.dumps(entry) + "\n")
        return path


class Client(threading.Thread):
    """Runs one operation after the other: gets, sets, and if the connection has them, cas, incr and delete."""

    numbers = itertools.count(1)  # next() is one step under the interpreter's lock

    def __init__(self, history: History, connection, number: int, keys: "Keys", pause: float = 0.005) -> None:
        super().__init__(daemon=True)
        self.history = history
        self.connection = connection
        self.number = number
        self.keys = keys
        self.pause = pause
        self.dice = random.Random(number)
        self.over = threading.Event()
        self.seen = {}  # by key: number and unique of the last get
        self.told = {}  # by key: the acknowledged number of keys that are set once
        self.broke = None  # the error that ended the client: the history lacks part of its operations

    def run(self) -> None:
        try:
            while not self.over.is_set():
                if self.step()["outcome"] != "ok":
                    time.sleep(0.05)
                time.sleep(self.dice.uniform(0, 2 * self.pause))
        except Exception as error:  # such as a malformed reply
            self.broke = error
            raise
        finally:
            self.connection.close()

    def step(self) -> dict:
        key = self.keys.draw(self.dice)
        to, add = self.connection, self.history.add
        number = next(Client.numbers)
        luck = self.dice.random()
        if luck < 0.05:
            key = self.dice.choice(self.keys.used)
        if luck < 0.35:
            entry = add(self.number, key, "get", lambda: to.get(key))
            self.seen[key] = (entry.get("number"), entry.get("unique", 0))
            return entry
        if luck < 0.40:
            return add(self.number, key, "delete", lambda: to.delete(key))
        if luck > 0.95:
            key = f"{self.dice.choice(self.keys.prefixes)}.once.{number}"
            entry = add(self.number, key, "set", lambda: to.set(key, number), value=number)
            if entry["outcome"] == "ok":
                self.told[key] = number
            return entry
        if key.startswith("n"):
            if luck < 0.45:
                return add(self.number, key, "set", lambda: to.set(key, number * 1_000_000), value=number * 1_000_000)
            by = self.dice.choice((1, 10, 100))
            return add(self.number, key, "incr", lambda: to.incr(key, by), value=by)
        expect, unique = self.seen.get(key, (None, 0))
        if luck < 0.70 and unique != 0:
            return add(self.number, key, "cas", lambda: to.cas(key, number, unique), value=number, compare=unique,
                       expect=expect)
        return add(self.number, key, "set", lambda: to.set(key, number), value=number)


class Reader(Client):
    """Gets by a connection whose answers may be `staleness_s` old: each answer was right at some moment since then."""

    def __init__(self, history: History, connection, number: int, keys: "Keys", staleness_s: float, pause: float = 0.1) -> None:
        super().__init__(history, connection, number, keys, pause)
        # Some tests fake clocks: a node's own second may be longer than a second here.
        self.staleness_ns = int(staleness_s * 1e9 / 0.94)

    def step(self) -> dict:
        key = self.keys.draw(self.dice)
        entry = self.history.add(self.number, key, "get", lambda: self.connection.get(key))
        entry["invoked"] -= self.staleness_ns
        return entry


class Prober(Client):
    """Sets one key after the other under one prefix, each once: the gaps between acknowledgements show how long no client
    could write.
    """

    def __init__(self, history: History, connection, number: int, prefix: str, pause: float = 0.05) -> None:
        super().__init__(history, connection, number, None, pause)
        self.prefix = prefix
        self.moments = []  # of acknowledged sets, by the clock of the history

    def step(self) -> dict:
        number = next(Client.numbers)
        key = f"{self.prefix}.probe.{number}"
        entry = self.history.add(self.number, key, "set", lambda: self.connection.set(key, number), value=number)
        if entry["outcome"] == "ok":
            self.told[key] = number
            self.moments.append(entry["returned"])
        return entry

    def longest_gap(self, begin_ns: int, end_ns: int) -> float:
        """The longest time without an acknowledged set between both moments, in seconds."""
        moments = [begin_ns, *(moment for moment in list(self.moments) if begin_ns < moment < end_ns), end_ns]
        return max(later - earlier for earlier, later in zip(moments, moments[1:])) / 1e9


class Keys:
    """The keys in use now, one for each of KEYS prefixes, which sort apart; `life` seconds later each prefix has a new key."""

    def __init__(self, life: float = 8.0) -> None:
        self.prefixes = [f"{'n' if n % 4 == 3 else 'k'}{n:02d}" for n in range(KEYS)]
        self.now = [f"{prefix}.0" for prefix in self.prefixes]
        self.used = list(self.now)
        self.pause = life / KEYS
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.renew, daemon=True)
        self.thread.start()

    def renew(self) -> None:
        for turn in itertools.count(KEYS):
            if self.over.wait(self.pause):
                return
            fresh = f"{self.prefixes[turn % KEYS]}.{turn // KEYS}"
            self.used.append(fresh)
            self.now[turn % KEYS] = fresh

    def close(self) -> None:
        self.over.set()
        self.thread.join()

    def draw(self, dice: random.Random) -> str:
        return dice.choice(self.now)


def finish(keys: Keys, clients: list) -> None:
    keys.close()
    for client in clients:
        client.over.set()
    for client in clients:
        client.join()
    if broken := [client.broke for client in clients if client.broke]:
        raise AssertionError("a client ended by itself") from broken[0]


def read_all(history: History, connection, keys: Keys, clients: list, seconds: float = 120) -> list:
    """Reads each key once more, until there is an answer. Returns the keys with an acknowledged set that are lost."""
    deadline = time.monotonic() + seconds
    told = {key: number for client in clients for key, number in client.told.items()}
    lost = []
    for key in [*keys.used, *told]:
        while (entry := history.add(0, key, "get", lambda: connection.get(key)))["outcome"] != "ok":
            if time.monotonic() > deadline:
                raise AssertionError(f"{key} is not answered: {entry['text']}")
            time.sleep(0.1)
        if key in told and entry.get("number") != told[key]:
            lost.append(key)
    connection.close()
    return lost


def porcupine() -> Path:
    """The judge, built from its module; SkipTest if Go is missing or its proxy cannot be reached."""
    if shutil.which("go") is None:
        raise unittest.SkipTest("not installed: go, which builds Porcupine")
    registries.go_download(PORCUPINE)
    sources = "".join((PORCUPINE / name).read_text(encoding="utf-8") for name in ("main.go", "go.mod", "go.sum"))

    def install(folder: Path) -> None:
        setting.machine.run("go", "build", "-o", folder / "porcupine", ".", cwd=PORCUPINE,
                            env=registries.go_environment(GOPROXY="off"))

    return registries.installed("porcupine", sources, install) / "porcupine"


def judged(path: Path) -> dict:
    """Each judge's verdict on a history, by its name: whether it can explain all of it, and its output."""
    verdicts = {}
    for name, program in (("own search", JUDGE), ("Porcupine", porcupine())):
        done = subprocess.run([str(program), str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=900)
        if done.returncode not in (0, 1):
            raise AssertionError(f"{name} has no verdict ({done.returncode}): {done.stdout[-4000:]}")
        verdicts[name] = (done.returncode == 0, done.stdout.strip())
    return verdicts
