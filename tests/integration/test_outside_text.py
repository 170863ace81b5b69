"""Text from outside has no effect where it is printed: peers' names, keys and certificates, in line protocols, in the
log, on the page and on a terminal."""

import json
import os
import pty
import re
import select
import socket
import subprocess
import time

from harness import DaemonCase, environment, mxkv_only, wait_for
from harness.connection import Connection, block
from harness.environment import patience
from test_clients import event, listed

NAMES = ("peer \r\nSTAT forged 1\r\nEND\r\n", "peer a b", "peer:x\ny", "peer%41\x1b]0;t\x07", "peer\u009b31m")
# Keys that the text protocol accepts and a terminal obeys: ESC, OSC, C1 as UTF-8 and raw, reversed direction of writing.
KEYS = (b"esc\x1b[31m", b"osc\x1b]0;title\x07", b"c1\xc2\x9b31m", b"raw\x9b31m", b"rlo\xe2\x80\xaegpj.exe")
OBEYED = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|(?<![\xc2-\xf4])(?<![\x80-\xbf])[\x80-\xbf]")


def lines_of(client, command: bytes) -> list:
    client.send(command + b"\r\n")
    found = []
    while (line := client.line()) != b"END":
        found.append(line)
    return found


@mxkv_only("its escapes")
class OutsideTextTest(DaemonCase):
    def serve(self, *options) -> None:
        self.start("--set", "stats.sample=1", *options, listen=("127.0.0.1:0", "unix:server.sock"))

    def named_client(self, name: str) -> Connection:
        """A client of a unix socket whose own end is bound to a path."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(connection.close)
        before = os.getcwd()
        os.chdir(self.directory)
        try:
            connection.bind(name)
            connection.connect("server.sock")
        finally:
            os.chdir(before)
        connection.settimeout(patience(20))
        client = Connection.__new__(Connection)
        client.socket, client._local, client._buffer = connection, True, bytearray()
        return client

    def test_the_name_of_a_unix_peer_is_one_word_wherever_it_is_told(self):
        self.serve("--set", "stats.slow=1ms", "--set", "log.level=debug")
        watcher, client = self.client(), self.client()
        self.assertEqual(watcher.ask(b"watch connevents"), b"OK")
        peers = [self.named_client(name) for name in NAMES]
        for peer in peers:
            self.assertTrue(peer.ask(b"version").startswith(b"VERSION"))
        conns = lines_of(client, b"stats conns")
        for line in conns:
            self.assertRegex(line, rb"^STAT \d+:[a-z_]+ [!-~]+$")
        self.assertEqual(sum(b":addr unix:peer" in line for line in conns), len(NAMES), conns)
        self.assertEqual(sum(entry["addr"].startswith("unix:peer") for entry in listed(client)), len(NAMES))
        told = []
        while len(told) < len(NAMES):
            told += [line for line in [event(watcher)] if "transport=tcp" not in line]
        for line in told:
            self.assertRegex(line, r"^ts=[\d.]+ gid=\d+ type=conn_new rip=unix rport=0 transport=local cfd=\d+$")
        wait_for(lambda: self.log().count("opened unix:peer") == len(NAMES), "lines of the log")
        addresses = [entry["addr"] for entry in listed(client) if "peer" in entry["addr"]]
        self.assertEqual(client.ask(b"client kill " + addresses[0].encode()), b"OK 1")
        self.assertEqual(peers[0].rest(), b"")
        self.end()

    def test_a_slow_request_of_such_a_peer_is_told_in_words(self):
        self.serve("--set", "stats.slow=1ms")
        peer, client = self.named_client(NAMES[0]), self.client()
        value = b"v" * 1_000_000
        self.assertEqual(peer.set(b"k", value), b"STORED")
        for number in range(50):
            peer.send(block(b"set", b"k%d" % number, value))
            self.assertEqual(peer.line(), b"STORED")
            peer.send(b"get" + b" k" * 100 + b"\r\n")
            for _ in range(100):
                peer.line()
                peer.exactly(len(value) + 2)
            self.assertEqual(peer.line(), b"END")
            slow = lines_of(client, b"stats slow")
            if any(b":client unix:peer" in line for line in slow):
                break
        else:
            self.fail("no request took a millisecond")
        for line in slow:
            self.assertRegex(line, rb"^STAT \d+:[a-z_]+ [!-~]+$")
        self.end()

    def test_keys_that_a_terminal_would_obey_are_escaped_in_stats_and_on_the_page(self):
        self.serve("--set", "admin.listeners=[\"127.0.0.1:0\"]")
        client = self.client()
        for key in KEYS:
            self.assertEqual(client.set(key, b"v"), b"STORED")
            for _ in range(50):
                self.assertEqual(client.get(key), b"v")
        hot = lines_of(client, b"stats hot")
        self.assertGreaterEqual(len(hot), len(KEYS), hot)
        for line in hot:
            self.assertIsNone(OBEYED.search(line), line)
        self.end()

    def on_terminal(self, *arguments) -> bytes:
        """The output of mxkv-cli on a terminal."""
        process, master = pty.fork()
        if process == 0:
            os.execve(environment.MXKV_CLI, [environment.MXKV_CLI, "--server", f"127.0.0.1:{self.ports()[0]}", *arguments],
                      {"PATH": os.environ["PATH"], "TERM": "xterm"})
        seen, deadline = b"", time.monotonic() + patience(20)
        while time.monotonic() < deadline:
            if select.select([master], [], [], 1)[0]:
                try:
                    data = os.read(master, 65536)
                except OSError:
                    break
                if not data:
                    break
                seen += data
        os.close(master)
        os.waitpid(process, 0)
        return seen.replace(b"\r\n", b"\n")

    def test_no_command_of_the_shell_sends_a_terminal_what_it_obeys(self):
        self.serve()
        client = self.client()
        for key in KEYS:
            self.assertEqual(client.set(key, b"value" + key + b"\tend"), b"STORED")
            for _ in range(50):
                client.get(key)
        first = KEYS[0].decode()
        for arguments in (["scan", "--values"], ["tree", "--delimiter", "\x1b"], ["big"], ["hot"], ["stats", "hot"], ["slow"],
                          ["get", first], ["--json", "get", first], ["info", first], ["raw", f"get {first}"], ["--json", "scan"],
                          ["stats", "conns"], ["clients", "list"], ["export"], ["delete-prefix", "--dry-run", "esc"],
                          ["delete", "missing\x1b[31m"], ["no\x1b[31mcommand"], ["import", "no\x1b[31mfile"]):
            with self.subTest(arguments=arguments):
                seen = self.on_terminal(*arguments)
                self.assertNotEqual(seen, b"")
                self.assertIsNone(OBEYED.search(seen), seen)
        for line in self.on_terminal("--json", "scan", "--values").splitlines():
            json.loads(line)

    def test_a_value_goes_to_a_pipe_as_it_is(self):
        self.serve()
        value = b"\x1b[31m\x9b\x00\r\n"
        self.client().set(b"k", value)
        done = subprocess.run([environment.MXKV_CLI, "--server", f"127.0.0.1:{self.ports()[0]}", "get", "k"], capture_output=True,
                              timeout=patience(20), check=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.stdout, value + b"\n")
