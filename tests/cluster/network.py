"""Small machines: network namespaces on a bridge, in which processes run and which a test can cut off. Needs root.

    with Network() as network:
        one, two = network.add("one"), network.add("two")
        process = subprocess.Popen(one.command("mxkvd", ...))   # the process itself, not a child of it
        one.link(False)             # unplugs its cable
        one.blackhole(two)          # packets from one to two go nowhere, and one gets an error
        one.drop_from(two)          # packets from two do not arrive at one; the other direction works
        one.heal()

The bridge has an address in the caller's own namespace, `network.address`, from which it reaches all of them. A later
process removes whatever a process that died left behind.
"""

import atexit
import os
import shutil
import subprocess
from pathlib import Path

NAMESPACES = Path("/run/netns")
PREFIX = "mxkv"  # names are mxkvPID-NAME; links have short names, mxPIDxN


def why_not() -> str:
    """Why namespaces cannot be used here; empty: they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    absent = [program for program in ("ip", "nft", "nsenter") if shutil.which(program) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (iproute2, nftables, util-linux)"
    probe = f"{PREFIX}{os.getpid()}-probe"
    done = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"no network namespaces here: {done.stderr.strip()}"
    done = subprocess.run(["ip", "-n", probe, "link", "add", "veth0", "type", "veth", "peer", "name", "veth1"], capture_output=True,
                          text=True, check=False)
    subprocess.run(["ip", "netns", "delete", probe], check=False)
    return "" if done.returncode == 0 else f"no veth here: {done.stderr.strip()}"


def ip(*words: str, check: bool = True) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Place:
    """One namespace with one address."""

    def __init__(self, name: str, address: str, link: str, bridge: str) -> None:
        self.name = name
        self.address = address
        self.outer = link
        ip("netns", "add", name)
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", link, "master", bridge, "up")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")

    def command(self, *words) -> list:
        return ["nsenter", f"--net={NAMESPACES / self.name}", *(str(word) for word in words)]

    def link(self, up: bool) -> None:
        ip("link", "set", self.outer, "up" if up else "down")

    def blackhole(self, other: "Place") -> None:
        ip("-n", self.name, "route", "add", "blackhole", f"{other.address}/32")

    def drop_from(self, *others: "Place") -> None:
        rules = "".join(f"ip saddr {other.address} drop\n" for other in others)
        done = subprocess.run(self.command("nft", "-f", "-"), text=True, capture_output=True, check=False,
                              input=f"table inet cut {{\nchain in {{\ntype filter hook input priority 0;\n{rules}}}\n}}\n")
        if done.returncode != 0:
            raise AssertionError(f"nft: {done.stderr.strip()}")

    def heal(self) -> None:
        self.link(True)
        ip("-n", self.name, "route", "flush", "type", "blackhole", check=False)  # there may be no such route
        subprocess.run(self.command("nft", "flush", "ruleset"), check=True)

    def delete(self) -> None:
        ip("link", "delete", self.outer, check=False)
        ip("netns", "delete", self.name, check=False)


class Loopback:
    """A place without a namespace: an address of this machine alone."""

    def __init__(self, address: str) -> None:
        self.address = address

    @staticmethod
    def command(*words) -> list:
        return [str(word) for word in words]


class Network:
    def __init__(self) -> None:
        remove_left_over()
        self.places = []
        self.bridge = f"mx{os.getpid()}x0"
        self.net = next(f"10.213.{n}" for n in range(256) if not self.is_taken(n))
        self.address = f"{self.net}.254"
        atexit.register(self.close)
        ip("link", "add", self.bridge, "type", "bridge")
        ip("address", "add", f"{self.address}/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")

    @staticmethod
    def is_taken(n: int) -> bool:
        shown = subprocess.run(["ip", "-4", "route", "show", f"10.213.{n}.0/24"], capture_output=True, text=True, check=True)
        return shown.stdout.strip() != ""

    def add(self, name: str) -> Place:
        number = len(self.places) + 1
        # close() must remove a place even if its setup fails.
        place = Place.__new__(Place)
        place.name, place.outer = f"{PREFIX}{os.getpid()}-{name}", f"mx{os.getpid()}x{number}"
        self.places.append(place)
        place.__init__(place.name, f"{self.net}.{number}", place.outer, self.bridge)
        return place

    def heal(self) -> None:
        for place in self.places:
            place.heal()

    def close(self) -> None:
        for place in self.places:
            place.delete()
        self.places = []
        ip("link", "delete", self.bridge, check=False)
        atexit.unregister(self.close)

    def __enter__(self) -> "Network":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def remove_left_over() -> None:
    """Removes namespaces of processes that are gone. A program that still runs in one goes on, cut off."""
    links = [line.split(": ")[1].partition("@")[0] for line in
             subprocess.run(["ip", "-o", "link", "show"], capture_output=True, text=True, check=True).stdout.splitlines()]
    for link in links:
        pid = link[2:].partition("x")[0]
        if link.startswith("mx") and pid.isdigit() and not Path(f"/proc/{pid}").exists():
            ip("link", "delete", link, check=False)
    for name in (path.name for path in NAMESPACES.glob(f"{PREFIX}*-*")):
        pid = name[len(PREFIX):].partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            ip("netns", "delete", name, check=False)
