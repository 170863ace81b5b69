"""An mxkvd that a measurement starts, loads, looks at and ends."""
import contextlib
import pathlib
import socket
import subprocess
import sys
import time

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build" / "bench"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_ready(port, name, process, timeout_s=20):
    """Waits until the process takes connections, and ends this program if it does not in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"{name} ended at once: {' '.join(map(str, process.args))}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    process.kill()
    sys.exit(f"{name} does not listen")


def stop(process, timeout_s):
    """Ends the process, by force if SIGTERM does not end it in time."""
    process.terminate()
    try:
        process.wait(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def resident_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no VmRSS")


def stats(port, group=""):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"stats {group}".strip().encode() + b"\r\nquit\r\n")
        text = b""
        while part := client.recv(65536):
            text += part
    return dict(line.split(" ", 2)[1:] for line in text.decode().splitlines() if line.startswith("STAT "))


def cpu_ns(pid):
    """Time on a CPU of all threads of a process; the scheduler counts in nanoseconds."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def running(build, *flags):
    """Yields (process, port) of a fresh server of this build."""
    return running_program(build / "server" / "mxkvd", *flags)


@contextlib.contextmanager
def running_program(program, *flags):
    """Yields (process, port) of a fresh server. Kills it in the end if SIGTERM does not end it in time."""
    port = free_port()
    server = subprocess.Popen([program, "--listen", f"127.0.0.1:{port}", *flags], stderr=subprocess.DEVNULL)
    try:
        wait_ready(port, "mxkvd", server)
        yield server, port
    finally:
        stop(server, 20)


def load(build, port, records, connections=32, depth=64):
    """Records of 24-byte keys and 100-byte values."""
    subprocess.run([build / "bench" / "mxkv-ycsb", "load", "--simple", "--server", f"127.0.0.1:{port}", "--recordcount",
                    str(records), "--connections", str(connections), "--depth", str(depth)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
