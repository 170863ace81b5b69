"""twemproxy (Debian: nutcracker), with the configuration that config/ has, in front of three servers."""

import collections
import os
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from common import LARGE, Options, free_port, machine, patience, wait_for
from harness import Connection, Server, pause
from scanning import page_through

CONFIGURATION = machine.REPOSITORY / "config" / "twemproxy.yaml"


@machine.needs(machine.long_only(), machine.missing("nutcracker"))
class TwemproxyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.servers = []
        for _ in range(3):
            cls.servers.append(Server(Options(workers=1, memory_mib=128)).start())
            cls.addClassCleanup(cls.servers[-1].stop)
        folder = tempfile.TemporaryDirectory(prefix="twemproxy")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.start_proxy()

    @classmethod
    def start_proxy(cls):
        """As configured, except for the ports."""
        text = CONFIGURATION.read_text(encoding="utf-8")
        cls.port = free_port()
        ports = {22121: cls.port} | {11211 + number: server.port for number, server in enumerate(cls.servers)}
        for written, real in ports.items():
            text, count = re.subn(rf"127\.0\.0\.1:{written}\b", f"127.0.0.1:{real}", text)
            assert count == 1, f"port {written} is there {count} times"
        file = cls.folder / "twemproxy.yaml"
        file.write_text(text, encoding="utf-8")
        machine.run("nutcracker", "--test-conf", "--conf-file", file)
        with open(cls.folder / "log", "wb") as log:
            cls.proxy = subprocess.Popen(
                ["nutcracker", "--conf-file", file, "--stats-port", str(free_port()), "--stats-addr", "127.0.0.1",
                 "--pid-file", cls.folder / "pid"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        cls.addClassCleanup(cls.stop_proxy)
        wait_for(cls.answers, "twemproxy listens")

    @classmethod
    def answers(cls) -> bool:
        if cls.proxy.poll() is not None:
            raise AssertionError((cls.folder / "log").read_text(encoding="utf-8"))
        try:
            Connection(cls.port).close()
        except ConnectionRefusedError:
            return False
        return True

    @classmethod
    def stop_proxy(cls):
        cls.proxy.terminate()
        cls.proxy.wait(timeout=patience(20))

    def setUp(self):
        for server in self.servers:
            client = Connection(server.port)
            client.ask(b"flush_all")
            client.close()
        self.client = Connection(self.port)
        self.addCleanup(self.client.close)

    def fill(self, count: int) -> dict:
        values = {b"user:%d" % number: b"value of %d" % number for number in range(count)}
        for key, value in values.items():
            self.assertEqual(self.client.set(key, value), b"STORED")
        return values

    def kept(self, server) -> list:
        client = Connection(server.port)
        self.addCleanup(client.close)
        return page_through(client, b"pscan user: 1000 keys", lambda cursor: b"pscan cursor=%s 1000 keys" % cursor)

    def test_each_key_lives_on_one_server_and_each_server_has_its_share(self):
        values = self.fill(600)
        kept = [self.kept(server) for server in self.servers]
        self.assertEqual(sorted(sum(kept, [])), sorted(values))
        for keys in kept:
            self.assertGreater(len(keys), 100, [len(keys) for keys in kept])
        for key, value in values.items():
            self.assertEqual(self.client.get(key), value)

    def test_a_multi_get_collects_from_all_of_them(self):
        values = self.fill(300)
        found = self.client.records(b"get " + b" ".join([*values, b"absent"]))
        self.assertEqual({key: value for key, value, _ in found}, values)
        self.assertEqual(collections.Counter(key for key, _, _ in found).most_common(1)[0][1], 1)

    def test_deletes_reach_the_server_that_has_the_key(self):
        values = self.fill(60)
        for key in values:
            self.assertEqual(self.client.ask(b"delete " + key), b"DELETED")
        self.assertEqual(self.client.ask(b"delete " + next(iter(values))), b"NOT_FOUND")
        self.assertEqual(self.client.records(b"get " + b" ".join(values)), [])
        self.assertEqual([self.kept(server) for server in self.servers], [[], [], []])

    def test_the_other_commands_that_it_knows(self):
        client = self.client
        for command, reply in ((b"add n 5 0 1\r\n1", b"STORED"), (b"add n 0 0 1\r\n2", b"NOT_STORED"), (b"incr n 41", b"42"),
                               (b"append n 0 0 1\r\n0", b"STORED"), (b"decr n 20", b"400"), (b"touch n 1000", b"TOUCHED"),
                               (b"touch absent 1000", b"NOT_FOUND")):
            self.assertEqual(client.ask(command), reply)
        (_, value, (flags, unique)), = client.records(b"gets n")
        self.assertEqual((value, flags), (b"400", 5))
        self.assertEqual(client.ask(b"cas n 0 0 1 %d\r\n7" % unique), b"STORED")
        self.assertEqual(client.ask(b"cas n 0 0 1 %d\r\n8" % unique), b"EXISTS")
        self.assertEqual(client.set(b"large", LARGE), b"STORED")
        self.assertEqual(client.get(b"large"), LARGE)

    def test_a_pipeline_through_it_comes_back_in_order(self):
        values = self.fill(200)
        self.client.send(b"".join(b"get %s\r\n" % key for key in values))
        for key, value in values.items():
            self.assertEqual(self.client.records(), [(key, value, [0])])

    def test_a_server_that_hangs_fails_its_own_keys_alone(self):
        values = self.fill(60)
        kept = [self.kept(server) for server in self.servers]
        hung = self.servers[1].process
        pause(hung)
        try:
            for keys in (kept[0], kept[2]):
                self.assertEqual(self.client.get(keys[0]), values[keys[0]])
            self.client.send(b"get " + kept[1][0] + b"\r\n")
            self.assertRegex(self.client.line(), b"^SERVER_ERROR ")
        finally:
            hung.send_signal(signal.SIGCONT)
        client = Connection(self.port)
        self.addCleanup(client.close)
        self.assertEqual(client.get(kept[1][0]), values[kept[1][0]])


if __name__ == "__main__":
    machine.main()
