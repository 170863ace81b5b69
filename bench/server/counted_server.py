"""An mxkvd with one worker under callgrind, which counts only between two commands, and the clients that keep it busy."""
import collections
import pathlib
import re
import selectors
import shlex
import socket
import subprocess
import sys
import threading

import measured_server

READY_TIMEOUT_S = 120
INSTRUCTIONS = "Ir"
MISSES = ("DLmr", "DLmw")  # reads and writes of data that are not in a simulated cache


def simulated_cache(mib):
    """Flags of callgrind: a cache of so many MiB, a power of two, as the last one."""
    return ("--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", f"--LL={mib << 20},16,64")




def epoch_interval(program):
    """The key as `program` calls it: in daemons older than the section `experimental` it stood at the top."""
    key = "experimental.epoch.interval"
    known = subprocess.run([program, "print-config", "--set", f"{key}=10s"], capture_output=True, check=False)
    return key if known.returncode == 0 else "epoch.interval"


class CountedServer:
    """`program` under callgrind. Memory is reclaimed by freed bytes and pages end by their length: neither by time."""

    def __init__(self, program, folder, flags="", connections=1, *, memory="1GiB", caches=()):
        self.folder = pathlib.Path(folder)
        empty = self.folder / "empty"
        empty.mkdir()
        self.port = measured_server.free_port()
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes", "--dump-instr=yes",
                   "--compress-pos=no", "--compress-strings=no", *caches, f"--callgrind-out-file={self.folder}/out", program,
                   "--listen", f"127.0.0.1:{self.port}", "--workers", "1", "--memory", memory, "--set", "stats.sample=off",
                   "--set", "limits.scan_time=10s", "--set", epoch_interval(program) + "=10s",
                   *shlex.split(flags.replace("{folder}", str(empty)))]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        measured_server.wait_ready(self.port, str(program), self.process, READY_TIMEOUT_S)
        self.clients = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(connections)]
        self.binary_client = socket.create_connection(("127.0.0.1", self.port))

    def control(self, *flags):
        done = subprocess.run(["callgrind_control", *flags, str(self.process.pid)], capture_output=True, text=True, check=False)
        if done.returncode != 0 or "error" in (done.stdout + done.stderr).lower():
            sys.exit(f"callgrind_control {' '.join(flags)}: {done.stdout}{done.stderr}")

    def exchange(self, requests, reply_bytes, depth=None, binary=False, clients=None):
        """Sends all requests, whose replies have `reply_bytes` each: from one connection that reads meanwhile, or from the first
        `clients` connections (None: all), `depth` each. Binary requests have a connection of their own."""
        streaming = self.binary_client if binary else self.clients[0]
        if depth is None:
            self.stream(streaming, requests, reply_bytes)
        else:
            self.take_turns(self.clients[:clients], requests, reply_bytes, depth)
        noop, done = (b"\x80\x0a" + bytes(22), b"\x81\x0a" + bytes(22)) if binary else (b"mn\r\n", b"MN\r\n")
        for client in self.clients if depth else [streaming]:
            client.sendall(noop)
            if (last := client.recv(64)) != done:
                sys.exit(f"the replies are not what they should be: {last!r} where {done!r} belongs")

    @staticmethod
    def stream(client, requests, reply_bytes):
        sender = threading.Thread(target=client.sendall, args=(b"".join(requests),))
        sender.start()
        left = len(requests) * reply_bytes
        while left > 0:
            left -= len(received(client, left))
        sender.join()

    @staticmethod
    def take_turns(clients, requests, reply_bytes, depth):
        """Each connection sends its next `depth` requests when the earlier ones are answered."""
        waiting = collections.deque(requests[at:at + depth] for at in range(0, len(requests), depth))
        left = {}
        with selectors.DefaultSelector() as selector:
            def send(client):
                sent = waiting.popleft()
                left[client] = len(sent) * reply_bytes
                client.sendall(b"".join(sent))

            for client in clients[:len(waiting)]:
                selector.register(client, selectors.EVENT_READ)
                send(client)
            while selector.get_map():
                for ready, _ in selector.select():
                    client = ready.fileobj
                    left[client] -= len(received(client, left[client]))
                    if left[client] == 0 and waiting:
                        send(client)
                    elif left[client] == 0:
                        selector.unregister(client)

    def measure(self, requests, reply_bytes, depth=None, binary=False, clients=None):
        """(requests counted, their events by callgrind's names, its file) of the thread with most instructions: the worker."""
        warm = len(requests) // 10
        self.exchange(requests[:warm], reply_bytes, depth, binary, clients)
        self.control("--instr=on")
        self.control("--zero")
        self.exchange(requests[warm:], reply_bytes, depth, binary, clients)
        before = set(self.folder.iterdir())
        self.control("--dump")  # before counting is switched off, which discards the counts
        files = sorted(set(self.folder.iterdir()) - before)
        self.control("--instr=off")
        counted = [(events(file), file) for file in files]
        most, file = max(counted, key=lambda one: one[0].get(INSTRUCTIONS, 0), default=({}, None))
        if INSTRUCTIONS not in most:
            sys.exit("callgrind told no instructions")
        return len(requests) - warm, most, file

    def stop(self):
        for client in (*self.clients, self.binary_client):
            client.close()
        measured_server.stop(self.process, 60)


def events(file):
    """The sums of one of callgrind's files by event; empty: it has none."""
    text = file.read_text()
    names = re.search(r"^events: (.+)", text, re.MULTILINE)
    sums = re.search(r"^(?:totals|summary): (.+)", text, re.MULTILINE)
    return dict(zip(names[1].split(), map(int, sums[1].split()))) if names and sums else {}


def received(client, most):
    part = client.recv(min(most, 1 << 20))
    if not part:
        sys.exit("the server closed the connection")
    return part
