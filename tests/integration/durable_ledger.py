"""The knowledge of clients about a server that may be killed at any time: acknowledged commands, and commands sent since.

Each connection changes keys of its own, by one command after the other. So after a crash the keys must be as they
were after some number of its commands: at least after all that were acknowledged. Besides, all connections move money
between accounts, whose sum stays the same; a watcher reads the others' counters, which may not go back; uniques never repeat.
"""

import random
import threading
import time
from dataclasses import dataclass, field

from harness import Closed, Connection, patience
from meta_ranges import all_items, flags_of

ACCOUNTS = 16
BALANCE = 1_000_000
_SINGLES = 24
_GROUPS = 4
_GROUP_KEYS = 6
_TTL_S = (5_000, 20_000)  # none of them expires in a test
_TTL_SLACK_S = 4


@dataclass
class Entry:
    value: bytes
    flags: int = 0
    expires: float = 0       # unix time; 0: never
    unique: int | None = None  # None: the answer with the unique never came

    def differs(self, found) -> str:
        if found is None:
            return "is gone"
        if (found.value, found.flags) != (self.value, self.flags):
            return f"is {found.value[:60]!r}, flags {found.flags}, in place of {self.value[:60]!r}, flags {self.flags}"
        if bool(self.expires) != bool(found.expires) or abs(self.expires - found.expires) > patience(_TTL_SLACK_S):
            return f"expires at {found.expires} in place of {self.expires}"
        if self.unique is not None and found.unique != self.unique:
            return f"has the unique {found.unique} in place of {self.unique}"
        return ""


class Refused(Exception):
    """The journal cannot be written. The server may refuse later commands as well, or may accept them again."""


@dataclass
class Step:
    """One command: its changes, and how to check its answer."""
    request: bytes
    expected: bytes
    changes: dict = field(default_factory=dict)  # key: the new Entry, or None if deleted
    stores: bytes = b""  # the key whose unique the answer contains
    lines: int = 1


def account(number: int) -> bytes:
    return b"acct%02d" % number


class Ledger:
    """The ledger of one connection. One thread at a time."""

    def __init__(self, number: int, seed: int, large: bool = True, behind_s: float = 0):
        """`behind_s`: how far the disk may lag behind the answers."""
        self.number = number
        self._behind_s = behind_s
        self.prefix = b"c%d-" % number
        self._chance = random.Random(f"{seed}/{number}")
        self._large = large
        self._entries: dict = {}       # state after all steps
        self._answered: dict = {}      # state after the answered steps that must be on disk
        self._recent: list = []        # (when, step) of answered steps that may not be on disk yet
        self._unsure: set = set()      # keys whose state is unknown
        self._open: list = []          # steps sent and not answered
        self._greatest: dict = {}      # key: the greatest unique that the server ever returned for it
        self.answers = 0

    # Requests.

    def _key(self) -> bytes:
        return self.prefix + b"k%02d" % self._chance.randrange(_SINGLES)

    def _value(self) -> bytes:
        size = self._chance.choice((0, 3, 24, 100, 100, 100, 700, 5000))
        if self._large and self._chance.random() < 0.02:
            size = self._chance.randrange(8_193, 60_000)
        return (b"%d:%d:" % (self.number, self._chance.randrange(1 << 40))).ljust(size, b"x")[:max(size, 1)]

    def _ttl(self):
        if self._chance.random() < 0.7:
            return b"", 0.0
        seconds = self._chance.randrange(*_TTL_S)
        return b" T%d" % seconds, time.time() + seconds

    def _set(self) -> Step:
        key, value, flags = self._key(), self._value(), self._chance.choice((0, 0, 0, 7, 1 << 31))
        ttl, expires = self._ttl()
        return Step(b"ms %s %d F%d%s c\r\n%s\r\n" % (key, len(value), flags, ttl, value), b"HD",
                    {key: Entry(value, flags, expires)}, stores=key)

    def _delete(self) -> Step:
        key = self._key()
        return Step(b"md %s\r\n" % key, b"HD" if self._entries.get(key) else b"NF", {key: None})

    def _append(self) -> Step:
        key = self._key()
        old = self._entries.get(key)
        if old is None or len(old.value) > 100_000:
            return self._set()
        return Step(b"ms %s 5 MA c\r\n+more\r\n" % key, b"HD", {key: Entry(old.value + b"+more", old.flags, old.expires)},
                    stores=key)

    def _count(self) -> Step:
        key = self.prefix + b"n"
        old = self._entries.get(key)
        value = b"%d" % (int(old.value) + 1) if old else b"0"
        return Step(b"ma %s N0 J0 D1 v c\r\n" % key, b"VA", {key: Entry(value)}, stores=key, lines=2)

    def _touch(self) -> Step:
        key = self._key()
        old = self._entries.get(key)
        ttl, expires = self._ttl()
        if old is None or not ttl:
            return self._set()
        # mg with T would also touch, but it is no write: it has no place in the order of the connection's writes.
        return Step(b"touch %s %s\r\n" % (key, ttl[2:]), b"TOUCHED", {key: Entry(old.value, old.flags, expires, old.unique)})

    def _group(self) -> bytes:
        return self.prefix + b"g%d-" % self._chance.randrange(_GROUPS)

    def _members(self, group: bytes) -> list:
        return [group + b"%d" % i for i in range(_GROUP_KEYS)]

    def _batch(self) -> Step:
        """Writes all keys of a group, or all but one, which it deletes: so half a batch would show."""
        changes, lines = {}, []
        members = self._members(self._group())
        gone = self._chance.choice(members + [None] * _GROUP_KEYS)
        for key in members:
            if key == gone:
                changes[key] = None
                lines.append(b"ms %s 1 q\r\nx\r\nmd %s q\r\n" % (key, key))  # so that there is an item to delete
            else:
                value = self._value()
                changes[key] = Entry(value)
                lines.append(b"ms %s %d q\r\n%s\r\n" % (key, len(value), value))
        return Step(b"mb %d\r\n" % (len(lines) + (gone is not None)) + b"".join(lines), b"HD", changes)

    def _range_delete(self) -> Step:
        group = self._group()
        there = [key for key in self._members(group) if self._entries.get(key)]
        return Step(b"mx %s p X\r\n" % group, b"HD A%d" % len(there), {key: None for key in there})

    def _range_touch(self) -> Step:
        group = self._group()
        there = [key for key in self._members(group) if self._entries.get(key)]
        seconds = self._chance.randrange(*_TTL_S)
        changes = {}
        for key in there:
            old = self._entries[key]
            changes[key] = Entry(old.value, old.flags, time.time() + seconds, old.unique)
        return Step(b"mt %s p T%d\r\n" % (group, seconds), b"HD A%d" % len(there), changes)

    def _transfer(self) -> Step:
        one, other = self._chance.sample(range(ACCOUNTS), 2)
        amount = self._chance.randrange(1, 50)
        return Step(b"mb 2\r\nma %s MD D%d q\r\nma %s D%d q\r\n" % (account(one), amount, account(other), amount), b"HD")

    def _step(self) -> Step:
        kinds = ((self._set, 10), (self._count, 4), (self._delete, 3), (self._append, 3), (self._touch, 3), (self._batch, 2),
                 (self._range_delete, 1), (self._range_touch, 1), (self._transfer, 2))
        makers, weights = zip(*kinds)
        return self._chance.choices(makers, weights)[0]()

    # Answers.

    def _read_answer(self, client, step: Step) -> None:
        line = client.line()
        if line.removeprefix(b"EX 1 ").startswith(b"SERVER_ERROR journal: "):
            raise Refused
        assert line == step.expected or line.startswith(step.expected + b" "), \
            f"{line!r} in place of {step.expected!r} to {step.request[:100]!r}"
        for _ in range(step.lines - 1):
            client.line()
        if step.stores:
            unique = int(flags_of(line.split(b" ")[2 if step.expected == b"VA" else 1:])[b"c"])
            before = self._greatest.get(step.stores, 0)
            assert unique > before, f"the unique {unique} of {step.stores!r} comes after {before}"
            self._greatest[step.stores] = unique
            step.changes[step.stores].unique = unique

    def run(self, client, stop: threading.Event) -> None:
        """Runs until `stop` is set or the server is gone, which is no failure."""
        try:
            while not stop.is_set():
                for _ in range(self._chance.choice((1, 1, 2, 8, 30))):
                    step = self._step()
                    self._entries.update(step.changes)
                    self._open.append(step)
                    client.send(step.request)
                while self._open:
                    self._read_answer(client, self._open[0])
                    self._recent.append((time.monotonic(), self._open.pop(0)))
                    self.answers += 1
                self._settle(time.monotonic() - self._behind_s)
        except Refused:
            self._read_on(client)
        except (Closed, OSError):
            pass

    def _read_on(self, client) -> None:
        """After a refused command the state of the later commands' keys is unknown."""
        for step in self._open:
            self._unsure.update(step.changes)
        self._open = []
        try:
            client.send(b"mn\r\n")
            while client.line() != b"MN":
                pass
        except (Closed, OSError):
            pass

    def _settle(self, until: float) -> None:
        done = 0
        while done < len(self._recent) and self._recent[done][0] <= until:
            self._answered.update(self._recent[done][1].changes)
            done += 1
        del self._recent[:done]

    # The state that must be there after a crash.

    def reconcile(self, found: dict, crashed: float) -> int:
        """Compares, and goes on from the state found. Returns how many unanswered commands took effect."""
        self._settle(crashed - self._behind_s)
        self._open = [step for _, step in self._recent] + self._open
        self._recent = []
        state = dict(self._answered)
        keys = set(state) | set(found) | {key for step in self._open for key in step.changes}
        keys -= self._unsure
        wrong = {key: problem for key in keys if (problem := self._problem(state.get(key), found.get(key)))}
        closest = (len(wrong), 0, dict(wrong))
        for done in range(len(self._open) + 1):
            closest = min(closest, (len(wrong), done, dict(wrong)), key=lambda each: each[0])
            if not wrong:
                break
            if done == len(self._open):
                told = [f"{key!r} {problem}" for key, problem in sorted(closest[2].items())][:5]
                raise AssertionError(f"connection {self.number}: after {self.answers} answers and {closest[1]} of {done} commands "
                                     f"without one: " + "; ".join(told) + "; sent without an answer: "
                                     + b" | ".join(step.request[:60] for step in self._open).decode(errors="replace"))
            for key, entry in self._open[done].changes.items():
                state[key] = entry
                if key in self._unsure:
                    continue
                if problem := self._problem(entry, found.get(key)):
                    wrong[key] = problem
                else:
                    wrong.pop(key, None)
        taken = done
        for key, entry in found.items():
            before = self._greatest.get(key, 0)
            assert entry.unique is not None
            self._greatest[key] = max(before, entry.unique)
        self._entries = dict(found)
        self._answered = dict(found)
        self._open = []
        self._unsure = set()
        return taken

    @staticmethod
    def _problem(wanted, found) -> str:
        if wanted is None:
            return "" if found is None else f"came back as {found.value[:60]!r}"
        return wanted.differs(found)


class Watcher:
    """Reads the other clients' counters: a value that it saw may not be lost."""

    def __init__(self, ledgers: list):
        self._keys = [ledger.prefix + b"n" for ledger in ledgers]
        self._seen: dict = {}

    def run(self, client, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                for key, value, _ in client.records(b"get " + b" ".join(self._keys)):
                    assert int(value) >= self._seen.get(key, -1), f"{key!r} went back"
                    self._seen[key] = int(value)
        except (Closed, OSError):
            pass

    def reconcile(self, found: dict, all_is_kept: bool) -> None:
        if not all_is_kept:
            self._seen = {}
        for key, value in self._seen.items():
            assert key in found and int(found[key].value) >= value, f"{key!r} was seen as {value}, and is {found.get(key)}"


class Clients:
    """All clients, against one server after the other on the same directory."""

    def __init__(self, count: int = 8, seed: int = 1, large: bool = True, behind_s: float = 0):
        self.ledgers = [Ledger(number, seed, large, behind_s) for number in range(count)]
        self._behind_s = behind_s
        self.watcher = Watcher(self.ledgers)
        self._threads: list = []
        self._stop = threading.Event()
        self._failures: list = []

    def fill(self, port: int) -> None:
        client = Connection(port)
        for number in range(ACCOUNTS):
            assert client.set(account(number), b"%d" % BALANCE) == b"STORED"
        client.close()

    def start(self, port: int) -> None:
        self._stop.clear()

        def work(run):
            try:
                client = Connection(port)
            except OSError:
                return  # the server is gone by now
            try:
                run(client, self._stop)
            except BaseException as failure:  # any failure: the test's thread raises it
                self._failures.append(failure)
            finally:
                client.close()

        self._threads = [threading.Thread(target=work, args=(each.run,)) for each in [*self.ledgers, self.watcher]]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Stops the clients and waits for them; the server may be gone already."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads = []
        if self._failures:
            raise self._failures[0]

    @property
    def answers(self) -> int:
        return sum(ledger.answers for ledger in self.ledgers)

    def reconcile(self, port: int, crashed: float | None = None) -> int:
        """Compares a restarted server with the answers before its end. Returns how many unanswered commands took effect."""
        crashed = time.monotonic() if crashed is None else crashed
        client = Connection(port)
        try:
            line = client.ask(b"mc acct p X Ms")
            flags = flags_of(line.split(b" ")[1:])
            assert (flags[b"N"], flags[b"Ms"]) == (b"%d" % ACCOUNTS, b"%d" % (ACCOUNTS * BALANCE)), line
            found = {}
            taken = 0
            for ledger in self.ledgers:
                own = read_all(client, ledger.prefix)
                taken += ledger.reconcile(own, crashed)
                found |= own
            self.watcher.reconcile(found, self._behind_s == 0)
            return taken
        finally:
            client.close()


def read_all(client, prefix: bytes) -> dict:
    """All items of a prefix, as entries by key."""
    now = time.time()
    found = {}
    for key, value, flags in all_items(client, b"mr %s p k v f t c" % prefix):
        left = int(flags[b"t"])
        found[key] = Entry(value, int(flags[b"f"]), now + left if left >= 0 else 0, int(flags[b"c"]))
    return found
