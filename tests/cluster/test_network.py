"""Namespaces that are cut off: which packets pass and which do not, and that the namespaces leave nothing behind."""

import os
import subprocess
import sys
import unittest

import network
from setting import machine

# Prints each datagram that arrives at port 9000.
LISTENER = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 9000))
print("ready", flush=True)
while True:
    print(s.recv(100).decode(), flush=True)
"""
SENDER = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(sys.argv[2].encode(), (sys.argv[1], 9000))
"""
CONNECT = """
import socket, sys
socket.create_connection((sys.argv[1], 9001), timeout=float(sys.argv[2])).close()
"""
ACCEPT = """
import socket
s = socket.create_server(("0.0.0.0", 9001))
print("ready", flush=True)
while True:
    s.accept()[0].close()
"""


@machine.needs(machine.long_only(), network.why_not())
class NetworkTest(unittest.TestCase):
    def setUp(self) -> None:
        self.network = network.Network()
        self.addCleanup(self.network.close)
        self.one, self.two = self.network.add("one"), self.network.add("two")

    def run_in(self, place, program: str) -> subprocess.Popen:
        process = subprocess.Popen(place.command(sys.executable, "-c", program), stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close()))
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def sends(self, sender, receiver, text: str) -> bool:
        """Sends a datagram; False: the sender's own system has no route."""
        done = subprocess.run(sender.command(sys.executable, "-c", SENDER, receiver.address, text), stderr=subprocess.DEVNULL,
                              check=False)
        return done.returncode == 0

    def connects(self, sender, receiver, seconds: float) -> bool:
        return subprocess.run(sender.command(sys.executable, "-c", CONNECT, receiver.address, seconds),
                              stderr=subprocess.DEVNULL, check=False).returncode == 0

    def test_what_is_cut_does_not_arrive(self):
        listeners = {place: self.run_in(place, LISTENER) for place in (self.one, self.two)}

        def arrives(sender, receiver, text: str) -> bool:
            """The receiver also sends itself a datagram, which tells when to stop waiting."""
            self.sends(sender, receiver, text)
            self.assertTrue(self.sends(receiver, receiver, f"behind {text}"))
            first = listeners[receiver].stdout.readline().strip()
            if first == text:
                self.assertEqual(listeners[receiver].stdout.readline().strip(), f"behind {text}")
            return first == text

        both = lambda text: (arrives(self.one, self.two, text), arrives(self.two, self.one, text))
        self.assertEqual(both("a"), (True, True))
        self.one.drop_from(self.two)
        self.assertEqual(both("b"), (True, False))
        self.one.heal()
        self.one.blackhole(self.two)
        self.assertFalse(self.sends(self.one, self.two, "c"))
        self.assertEqual(both("d"), (False, True))
        self.one.heal()
        self.assertEqual(both("e"), (True, True))

    def test_a_cable_that_is_out(self):
        self.run_in(self.two, ACCEPT)
        self.assertTrue(self.connects(self.one, self.two, 20))
        self.one.link(False)
        self.assertFalse(self.connects(self.one, self.two, 1))
        self.network.heal()
        self.assertTrue(self.connects(self.one, self.two, 20))

    def test_the_process_is_the_one_that_was_started(self):
        process = self.run_in(self.one, ACCEPT)
        self.assertEqual(os.readlink(f"/proc/{process.pid}/ns/net"),
                         f"net:[{os.stat(network.NAMESPACES / self.one.name).st_ino}]")

    def test_nothing_is_left(self):
        names = [place.name for place in self.network.places]
        links = [self.network.bridge, *(place.outer for place in self.network.places)]
        self.assertTrue(all((network.NAMESPACES / name).exists() for name in names))
        self.network.close()
        self.assertFalse(any((network.NAMESPACES / name).exists() for name in names))
        self.assertFalse(any(os.path.exists(f"/sys/class/net/{link}") for link in links))

    def test_what_the_dead_left_is_removed(self):
        program = ("import os, network; n = network.Network(); p = n.add('one'); print(p.name, p.outer, n.bridge, flush=True); "
                   "os._exit(1)")
        left = subprocess.run([sys.executable, "-c", program], cwd=os.path.dirname(os.path.abspath(__file__)),
                              capture_output=True, text=True, check=False).stdout.split()
        self.assertEqual(len(left), 3)
        self.assertTrue((network.NAMESPACES / left[0]).exists())
        network.remove_left_over()
        self.assertFalse((network.NAMESPACES / left[0]).exists())
        self.assertFalse(any(os.path.exists(f"/sys/class/net/{link}") for link in left[1:]))


if __name__ == "__main__":
    machine.main()
