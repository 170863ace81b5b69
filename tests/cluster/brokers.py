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

START_S = 600  # limit until all brokers answer
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
        wait_for(self.all_answer, "an answer of all brokers", self.logs, START_S)

    def run(self, *arguments: str, place=None) -> str:
        command = [str(PROGRAM), str(self.directory), *arguments]
        done = subprocess.run(place.command(*command) if place else command, env=self.environment, check=True,
                              stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def start(self, n: int) -> None:
        self.run("start", str(n), place=self.places[n - 1] if self.places else None)

    def pid(self, n: int) -> int:
        return int((self.directory / str(n) / "pid").read_text())

    def all_answer(self) -> bool:
        """Whether each broker answers, and knows all three as alive."""
        ended = [n for n in (1, 2, 3) if not self.runs(n)]
        assert not ended, f"brokers that ended when they had started: {ended}{self.logs()}"
        try:
            return all(metadata(address)[0] == {1, 2, 3} for address in self.each_address())
        except OSError:
            return False

    def each_address(self) -> list:
        return [(host, int(port)) for host, _, port in (address.rpartition(":") for address in self.addresses.split(","))]

    def logs(self) -> str:
        return "".join(f"\n== broker {n}: {(self.directory / str(n) / 'broker.log').read_text(errors='replace')[-2000:]}" for n in (1, 2, 3))

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
        for address in self.each_address():
            try:
                found = metadata(address, topic)[1].get(partition, 0)
            except OSError:
                continue
            if found > 0:
                return found
        return 0


def metadata(address: tuple, *topics: str, timeout: float = 10.0) -> tuple:
    """The numbers of the brokers that are alive, and by partition of the topics the leading broker's number. Sends Kafka's
    request Metadata, version 1."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    request = struct.pack(">hhih", 3, 1, 1, -1) + struct.pack(">i", len(topics)) + names
    with socket.create_connection(address, timeout=timeout) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        reply = io.BytesIO(received(connection, struct.unpack(">i", received(connection, 4))[0]))

    def number(form: str) -> int:
        return struct.unpack(f">{form}", reply.read(struct.calcsize(f">{form}")))[0]

    def text() -> bytes:
        return reply.read(max(number("h"), 0))

    number("i")  # the request's number
    alive = set()
    for _ in range(number("i")):  # brokers: number, host, port, rack
        alive.add(number("i"))
        text(), number("i"), text()
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
    return alive, found


def received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (more := connection.recv(size - len(data))):
            raise ConnectionError("closed by the broker")
        data += more
    return data
