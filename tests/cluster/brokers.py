"""Three brokers of one directory, by server/cluster/brokers: on loopback, or each in a namespace of network.py."""

import atexit
import io
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess

from setting import ROOT, wait_for

PROGRAM = ROOT / "server/cluster/brokers"


class Brokers:
    """Three brokers, numbered from 1."""

    def __init__(self, directory: pathlib.Path, places: list | None = None) -> None:
        self.directory = directory
        self.places = places
        self.environment = dict(os.environ, MXKV_BROKER_PORT=str(random.randrange(20000, 29000, 20)))
        if places:
            self.environment["MXKV_BROKER_HOSTS"] = ",".join(place.address for place in places)
        self.run("fetch")
        atexit.register(self.kill_all)
        for n in (1, 2, 3):
            shutil.rmtree(directory / str(n), ignore_errors=True)  # files of an earlier run; the program is kept
            self.start(n)
        self.addresses = self.run("list")

    def run(self, *arguments: str, place=None) -> str:
        command = [str(PROGRAM), str(self.directory), *arguments]
        done = subprocess.run(place.command(*command) if place else command, env=self.environment, check=True,
                              stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def start(self, n: int) -> None:
        self.run("start", str(n), place=self.places[n - 1] if self.places else None)

    def pid(self, n: int) -> int:
        return int((self.directory / str(n) / "pid").read_text())

    def send(self, n: int, what: int) -> None:
        os.kill(self.pid(n), what)

    def runs(self, n: int) -> bool:
        try:
            return bool(pathlib.Path(f"/proc/{self.pid(n)}/cmdline").read_bytes())  # empty once it has ended
        except (FileNotFoundError, ProcessLookupError):
            return False

    def kill(self, n: int) -> None:
        self.send(n, signal.SIGKILL)
        wait_for(lambda: not self.runs(n), "the end of a broker")

    def kill_all(self) -> None:
        for n in (1, 2, 3):
            try:
                self.send(n, signal.SIGKILL)
            except (ProcessLookupError, FileNotFoundError):
                pass

    def stop(self) -> None:
        atexit.unregister(self.kill_all)
        for n in (1, 2, 3):
            try:
                self.send(n, signal.SIGCONT)
            except (ProcessLookupError, FileNotFoundError):
                pass
            self.run("stop", str(n))

    def leader(self, topic: str, partition: int) -> int:
        """The number of the broker that leads a partition, by any broker's account; 0 if none answers."""
        for address in self.addresses.split(","):
            host, _, port = address.rpartition(":")
            try:
                found = leaders((host, int(port)), topic).get(partition, 0)
            except OSError:
                continue
            if found > 0:
                return found
        return 0


def leaders(address: tuple, topic: str, timeout: float = 1.0) -> dict:
    """By partition: the leading broker's number. Sends Kafka's request Metadata, version 1."""
    name = topic.encode()
    request = struct.pack(">hhih", 3, 1, 1, -1) + struct.pack(">ih", 1, len(name)) + name
    with socket.create_connection(address, timeout=timeout) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        reply = io.BytesIO(received(connection, struct.unpack(">i", received(connection, 4))[0]))

    def number(form: str) -> int:
        return struct.unpack(f">{form}", reply.read(struct.calcsize(f">{form}")))[0]

    def text() -> bytes:
        return reply.read(max(number("h"), 0))

    number("i")  # the request's number
    for _ in range(number("i")):  # brokers: number, host, port, rack
        number("i"), text(), number("i"), text()
    number("i")  # the controller's number
    found = {}
    for _ in range(number("i")):  # topics: error, name, internal
        number("h"), text(), number("b")
        for _ in range(number("i")):
            number("h")  # error
            partition, found_leader = number("i"), number("i")
            found[partition] = found_leader
            for _ in range(2):  # replicas, and replicas in sync
                reply.read(4 * number("i"))
    return found


def received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (more := connection.recv(size - len(data))):
            raise ConnectionError("closed by the broker")
        data += more
    return data
