"""The comparison finds no difference between a daemon and itself, and finds a changed reply, and a line that a watcher missed."""

import contextlib
import socket
import threading
import unittest

from beside import Comparison, Difference, first_difference, masked, start
from common import environment
from generate import Generator

REQUESTS = 3000


class Changing:
    """A proxy in front of a daemon that replaces one word in its answers, the second time that it comes."""

    def __init__(self, port: int, word: bytes, instead: bytes):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.behind = self.listener.getsockname()[1], port
        self.word, self.instead, self.left = word, instead, 2
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)   # accept() returns
        self.listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client) -> None:
        with client, socket.create_connection(("127.0.0.1", self.behind)) as server:
            there = threading.Thread(target=self._pass_on, args=(client, server, False), daemon=True)
            there.start()
            self._pass_on(server, client, True)
            there.join()

    def _pass_on(self, one, other, changes: bool) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 18):
                if changes and self.word in data and self.left > 0:
                    self.left -= 1
                    if self.left == 0:
                        data = data.replace(self.word, self.instead, 1)
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)


class CompareTest(unittest.TestCase):
    def compare(self, seed, changing=None) -> Comparison:
        """Two new daemons, the first one behind a proxy that changes a word of its replies."""
        with contextlib.ExitStack() as cleanup:
            servers = [start(environment.MXKVD, 1) for _ in range(2)]
            for server in servers:
                cleanup.callback(server.kill)
            ports = [server.port for server in servers]
            if changing is not None:
                self.proxy = Changing(ports[0], *changing)
                cleanup.callback(self.proxy.close)
                ports[0] = self.proxy.port
            comparison = Comparison(Generator(seed, 300), *ports)
            cleanup.callback(comparison.close)
            comparison.run(REQUESTS)
            return comparison

    def test_a_daemon_says_what_the_same_daemon_says(self):
        comparison = self.compare(1)
        self.assertGreaterEqual(sum(comparison.requests.values()), REQUESTS)
        for verb in ("get", "cas", "append", "incr", "touch", "mg", "ms", "md", "ma", "mb", "mr", "scan", "bad ms", "nonsense"):
            self.assertGreater(comparison.requests[verb], 0, verb)

    def test_one_word_that_differs_is_found(self):
        for word, instead in ((b"TOUCHED", b"touched"), (b" W", b" w"), (b"status=exists", b"status=stored")):
            with self.subTest(word=word):
                with self.assertRaises(Difference):
                    self.compare(1, (word, instead))
                self.assertEqual(self.proxy.left, 0)


class MaskTest(unittest.TestCase):
    def test_a_minted_unique_is_hidden_and_a_chosen_one_is_not(self):
        self.assertEqual(masked(b"VALUE k 0 1 1795376828095272\r\n"), masked(b"VALUE k 0 1 1795376828095483\r\n"))
        self.assertNotEqual(masked(b"VALUE k 0 1 500\r\n"), masked(b"VALUE k 0 1 1795376828095483\r\n"))

    def test_a_reply_that_ends_early_differs(self):
        self.assertEqual(first_difference(b"HD\r\nEN\r\n", b"HD\r\n"), 4)
        self.assertIsNone(first_difference(b"HD\r\n", b"HD\r\n"))


class GeneratorTest(unittest.TestCase):
    def test_a_seed_gives_the_same_requests(self):
        one, other, third = Generator(1), Generator(1), Generator(2)
        wires = [[request.wire for request in generator.connection(500)] for generator in (one, other, third)]
        self.assertEqual(wires[0], wires[1])
        self.assertNotEqual(wires[0], wires[2])

    def test_pieces_are_the_whole(self):
        generator = Generator(3)
        wire = b"".join(request.wire for request in generator.connection(50))
        for _ in range(20):
            self.assertEqual(b"".join(generator.pieces(wire)), wire)


if __name__ == "__main__":
    unittest.main()
