"""Servers to be measured side by side: starts each, and measures the CPU time of its process.

Every server has one worker and one CPU. Servers that are not installed are left out.
"""
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import time

import measured_server
import other_programs

KEY_BYTES = 24
VALUE_BYTES = 100
SCAN_RECORDS = 100
MULTI_GET_KEYS = 100
READY_TIMEOUT_S = 20


def item_bytes():
    return len("VALUE ") + KEY_BYTES + len(f" 0 {VALUE_BYTES}\r\n") + VALUE_BYTES + 2


# The bytes of a request to the echo server and of its answer, by kind of operation.
ECHO_BYTES = {
    "get": (len("get \r\n") + KEY_BYTES, item_bytes() + len("END\r\n")),
    "set": (len(f"set  0 0 {VALUE_BYTES}\r\n") + KEY_BYTES + VALUE_BYTES + 2, len("STORED\r\n")),
    "multiget": (len("get\r\n") + MULTI_GET_KEYS * (1 + KEY_BYTES), MULTI_GET_KEYS * item_bytes() + len("END\r\n")),
    "scan": (len(f"scan  {SCAN_RECORDS}\r\n") + KEY_BYTES, SCAN_RECORDS * item_bytes() + len("END\r\n")),
}


@dataclasses.dataclass(frozen=True)
class Programs:
    """The programs' paths and CPUs."""

    mxkvd: pathlib.Path
    echo: pathlib.Path
    ycsb: pathlib.Path
    server_cpu: int = 0
    client_cpu: int = 1
    memory_mib: float = 4096  # memcached's is rounded to whole MiB
    redis: pathlib.Path | None = None  # None: the one on the PATH
    memcached: pathlib.Path | None = None

    def others(self, name):
        """The path of redis or memcached, or None if it is not installed."""
        return getattr(self, name) or shutil.which(other_programs.KINDS[name].program)


class Server:
    """A running server process on CPUs of its own."""

    def __init__(self, name, command, cpus, protocols):
        self.name = name
        self.port = measured_server.free_port()
        self.protocols = protocols  # kind of operation -> protocol of the client
        self.process = subprocess.Popen(
            [str(part).format(port=self.port) for part in command],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        measured_server.wait_ready(self.port, name, self.process, READY_TIMEOUT_S)

    def cpu_ns(self):
        return measured_server.cpu_ns(self.process.pid)

    def resident_bytes(self):
        return measured_server.resident_bytes(self.process.pid)

    def stop(self):
        measured_server.stop(self.process, 10)


def make_certificate(folder):
    certificate, key = folder / "server.pem", folder / "server.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", certificate, "-days", "2", "-subj", "/CN=localhost"], check=True, capture_output=True)
    key.chmod(0o644)  # memcached reads it as nobody
    folder.chmod(0o755)
    return certificate, key


def start_mxkv(programs, *flags):
    return Server("mxkv", [programs.mxkvd, "--listen", "127.0.0.1:{port}", "--workers", "1", "--cpus",
                           programs.server_cpu, "--memory", f"{round(programs.memory_mib * 1024)}KiB", *flags], {programs.server_cpu},
                  dict.fromkeys(("get", "set", "multiget", "scan"), "mxkv"))


def start_redis(programs, *flags):
    return Server("redis", [programs.others("redis"), "--port", "{port}", "--bind", "127.0.0.1", "--save", "",
                            "--appendonly", "no", "--io-threads", "1", *flags], {programs.server_cpu},
                  {"get": "redis", "set": "redis", "multiget": "redis", "scan": "redis-lex"})


def start_memcached(programs, *flags):
    return Server("memcached", [programs.others("memcached"), "-u", "nobody", "-l", "127.0.0.1", "-p", "{port}", "-U", "0",
                                "-t", "1", "-R", "200", "-m", round(programs.memory_mib), *flags], {programs.server_cpu},
                  dict.fromkeys(("get", "set", "multiget"), "memcached"))


def start_echo(programs, kind):
    request, reply = ECHO_BYTES[kind]
    return Server(f"echo ({kind})", [programs.echo, "--listen", "127.0.0.1:{port}", "--request-bytes", request,
                                     "--reply-bytes", reply], {programs.server_cpu}, {kind: "echo"})


def installed(programs, names):
    """The names of servers that can be started here, in the order given."""
    there = {"mxkv": programs.mxkvd.exists(), "redis": programs.others("redis"),
             "memcached": programs.others("memcached"), "echo": programs.echo.exists()}
    for name in names:
        if not there[name]:
            print(f"{name} is not there and left out", file=sys.stderr)
    return [name for name in names if there[name]]


def client_command(programs, server, kind, records, *arguments):
    # redis at its plainest: no index beside the strings
    return [str(part) for part in
            (programs.ycsb, *arguments, "-p", "redis.index=false", "--simple", "--server",
             f"127.0.0.1:{server.port}", "--server-kind", server.protocols[kind], "--recordcount", records,
             "--no-server-counters")]


def figures_of(report):
    """The lines "[SECTION], name, value" of the client's report, by "[SECTION] name"."""
    return {f"{section} {name}": float(value)
            for section, name, value in (line.split(", ") for line in report.splitlines())}


def run_client(programs, server, kind, records, *arguments):
    """Runs the load client on its CPU and returns its figures by name. Every reply is verified; a failure ends the program."""
    command = client_command(programs, server, kind, records, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          preexec_fn=lambda: os.sched_setaffinity(0, {programs.client_cpu}))
    if done.returncode != 0:
        sys.exit(f"{server.name}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return figures_of(done.stdout)


def load(programs, server, kind, records, first=0):
    """Inserts the records from the first on, as operations of this kind find them."""
    run_client(programs, server, kind, records, "load", "--insertstart", first, "--connections", 32, "--depth", 16)
    time.sleep(0.2)  # work after the last reply (a hash table that grows) must not count for the first row
