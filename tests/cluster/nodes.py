"""mxkvd as a node of a cluster, each in a namespace of network.py, with its own configuration, log and clock."""

import atexit
import contextlib
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from clients import Line
from network import Place
from setting import Authority, machine

PORT = 11211
STALE_PORT = 11212  # listener for reads that a replica may answer
PEER_PORT = 11311
STALENESS_S = 0.5
FAKETIME = next(iter(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)
FAKED_WAITS = os.environ.get("MXKV_FAKED_WAITS", "")

# JSON is YAML.
SETTINGS = {
    "workers": 1,
    "memory": {"limit": "256MiB", "when_full": "error", "huge_pages": "off"},
    "log": {"level": "info"},
}


class Node:
    def __init__(self, name: str, place: Place, folder: Path, cluster: str, brokers: str, clock: str = "", authority: Authority = None,
                 options: dict = None, admin_port: int = 0, memory: str = "256MiB") -> None:
        """`clock`: for libfaketime, such as `+0 x1.05`; without a rate it sets the date alone. Empty: the machine's clock.
        `authority`: nodes speak TLS to each other, with certificates that it signs for `localhost`.
        `options`: more options of `cluster`. `admin_port`: for the administration listener; 0: none. `memory`: its limit."""
        self.name = name
        self.place = place
        self.address = (place.address, PORT)
        self.stale_address = (place.address, STALE_PORT)
        self.admin = f"http://{place.address}:{admin_port}"
        self.peer = f"{place.address}:{PEER_PORT}"
        self.entry = f"{name}={self.peer}={place.address}:{PORT}"  # the map's entry, in the form that `mxkvd cluster` takes
        self.folder = folder
        self.clock = folder / f"{name}.clock"
        self.faked = []
        self.log = folder / f"{name}.log"
        self.process = None
        atexit.register(lambda: self.alive() and self.kill())
        self.config = folder / f"{name}.yaml"
        self.config.write_text(json.dumps(SETTINGS | {
            "memory": SETTINGS["memory"] | {"limit": memory},
            "listeners": [f"{place.address}:{PORT}", {"address": place.address, "port": STALE_PORT, "reads": "replica"}],
            "cluster": {"name": cluster, "brokers": brokers.split(","), "node": name, "peer": self.peer,
                        "staleness": f"{int(STALENESS_S * 1000)}ms"} | self.certificate(authority) | (options or {})}
            | ({"admin": {"listeners": [f"{place.address}:{admin_port}"]}} if admin_port else {})), encoding="ascii")
        if clock:
            self.set_clock(clock)
            self.faked = ["env", f"LD_PRELOAD={FAKED_WAITS} {FAKETIME}", f"FAKETIME_TIMESTAMP_FILE={self.clock}", "FAKETIME_CACHE_DURATION=1",
                          f"FAKETIME_DONT_FAKE_MONOTONIC={0 if 'x' in clock else 1}"]

    def certificate(self, authority: Authority) -> dict:
        if authority is None:
            return {}
        certificate, key = authority.sign(self.name, purpose="serverAuth,clientAuth")
        return {"tls": {"certificate": str(certificate), "key": str(key), "ca": str(authority.file), "name": "localhost"}}

    def set_clock(self, clock: str) -> None:
        """Sets the clock; libfaketime looks at the file once a second of its time."""
        fresh = self.clock.with_suffix(".next")
        fresh.write_text(clock + "\n", encoding="ascii")
        fresh.rename(self.clock)

    def start(self) -> None:
        with open(self.log, "ab") as log:
            log.write(b"---- started by the test\n")
            log.flush()
            self.process = subprocess.Popen(self.place.command(*self.faked, machine.MXKVD, "--config", self.config),
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> int:
        """Ends the node in order and returns its exit code; kills it if it does not end."""
        if self.process is None:
            return 0
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            return self.process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.kill()
            return -1

    def stats(self, seconds: float = 10.0) -> dict:
        """The figures of `stats cluster`; empty if the node does not answer."""
        try:
            line = Line(self.address, seconds)
        except OSError:
            return {}
        stats = {}
        try:
            line.send(b"stats cluster\r\n")
            while (text := line.line()).startswith(b"STAT "):
                _, name, value = text.decode().split(" ", 2)
                stats[name] = value
        except (OSError, ValueError):
            pass
        line.close()
        return stats

    def ask(self, request: bytes, last: bytes, seconds: float = 30.0) -> bytes:
        """The reply, up to and with its last line."""
        with contextlib.closing(Line(self.address, seconds)) as line:
            line.send(request)
            reply = b""
            while not reply.endswith(last):
                reply += line.line() + b"\r\n"
            return reply

    def items(self) -> int:
        """The number of items in the node's memory, of all its shards."""
        stats = dict(line.split(b" ", 2)[1:] for line in self.ask(b"stats\r\n", b"END\r\n").splitlines() if line.startswith(b"STAT "))
        return int(stats[b"curr_items"])

    def get(self, path: str) -> tuple:
        """The status and the text of a page of the administration listener; 0 and the error if it does not answer."""
        try:
            with urllib.request.urlopen(self.admin + path, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def serves(self) -> set:
        """The shards that the node serves now, by its own account."""
        roles = {match[1]: value for name, value in self.stats().items() if (match := re.search(r"shard:(\d+):role$", name))}
        return {int(shard) for shard, role in roles.items() if role == "serves"}

    def log_end(self, lines: int = 12) -> str:
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


def cluster(name: str, brokers, command: str, *words, check: bool = True, seconds: float = 120.0):
    """What `mxkvd cluster COMMAND` did, for the cluster of this name."""
    return machine.run(machine.MXKVD, "cluster", command, "--name", name, "--brokers", brokers.addresses, *words, check=check,
                       timeout=seconds)


def evidence(nodes: list) -> str:
    """Each node's own figures, and the end of its log."""
    text = ""
    for node in nodes:
        wanted = {name: value for name, value in node.stats().items()
                  if re.search(r"role|term$|position|owner|given_up|void_groups|last_|epoch|map_version|alive", name)}
        state = "runs" if node.alive() else f"ended with {node.process.poll() if node.process else '-'}"
        text += f"\n== {node.name} ({state}): {wanted}\n{node.log_end()}"
    return text


def wait_until_served(nodes: list, shards: int, seconds: float) -> None:
    """Waits until each shard is served by exactly one node. Fails when for `seconds` no more shards are than before."""
    most, deadline = -1, 0.0
    while True:
        served = [shard for node in nodes for shard in node.serves()]
        if sorted(served) == list(range(shards)):
            return
        if len(set(served)) > most:
            most, deadline = len(set(served)), time.monotonic() + seconds
        if time.monotonic() > deadline:
            raise AssertionError(f"for {seconds:.0f} s the shards with an owner are {sorted(served)}, of {shards}{evidence(nodes)}")
        time.sleep(0.1)
