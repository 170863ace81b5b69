"""`client list`, `client name`, `client kill`: connected clients, as administrators see and end them; and the connections that
`watch` names."""

import re
import signal
import unittest

from harness import Connection, DaemonCase, mxkv_only, wait_for
from harness.connection import block
from test_listeners import HAS_IPV6


def listed(client) -> list:
    """The lines of `client list`, a dictionary each."""
    client.send(b"client list\r\n")
    found = []
    while (line := client.line()) != b"END":
        word, *fields = line.decode().split(" ")
        assert word == "CLIENT", line
        found.append(dict(field.split("=", 1) for field in fields))
    return found


def event(client) -> str:
    """The next line of a watcher, which ends with LF alone."""
    text = b""
    while not text.endswith(b"\n"):
        text += client.exactly(1)
    return text.decode().rstrip("\n")


@mxkv_only("client commands")
class ClientsTest(DaemonCase):
    def serve(self, *options) -> None:
        path = str(self.directory / "so cket")
        self.start(*options, listen=("127.0.0.1:0", f"unix:{path}"))
        self.path = path

    def test_the_list_tells_who_is_there_and_what_it_did(self):
        self.serve()
        web, local = self.client(), self.client(self.path)
        self.assertEqual(web.ask(b"client name web-1"), b"OK")
        self.assertEqual(web.set(b"k", b"v" * 1000), b"STORED")
        for _ in range(10):
            web.get(b"k")
        local.ask(b"version")
        first, second = listed(web)
        port = web.socket.getsockname()[1]
        self.assertEqual((first["addr"], first["listen"], first["name"], first["user"]),
                         (f"tcp:127.0.0.1:{port}", f"tcp:127.0.0.1:{self.ports()[0]}", "web-1", ""))
        self.assertLess(int(first["id"]), int(second["id"]))
        self.assertGreaterEqual(int(first["requests"]), 11)
        self.assertGreater(int(first["read"]), 1000)
        self.assertGreater(int(first["written"]), 10_000)
        self.assertLess(int(first["idle"]), 60)
        self.assertEqual((second["addr"], second["name"]), ("unix:", ""))
        self.assertTrue(second["listen"].endswith("so%20cket"), second)
        self.assertEqual(web.ask(b"client name"), b"OK")
        self.assertEqual(listed(local)[0]["name"], "")

    def test_lists_of_many_connections_are_complete(self):
        self.serve()
        local, others = self.client(self.path), [self.client() for _ in range(200)]
        for other in others:
            other.ask(b"version")
        found = listed(local)
        self.assertEqual(len(found), 201)
        self.assertEqual(found, sorted(found, key=lambda entry: int(entry["id"])), "each once, in one order over all pages")
        ports = {f"tcp:127.0.0.1:{other.socket.getsockname()[1]}" for other in others}
        self.assertEqual({entry["addr"] for entry in found} - ports, {"unix:"})
        addresses = [value for name, value in local.stats(b"conns").items() if name.endswith(":addr")]
        self.assertEqual(len(addresses), 203, "two listeners, too")
        self.assertLessEqual(ports, set(addresses))
        packets = self.client()
        packets.send(b"\x80\x10\x00\x05" + bytes(4) + b"\x00\x00\x00\x05" + bytes(12) + b"conns" + b"\x80\x0a" + bytes(22))
        names = []
        while True:
            header = packets.exactly(24)
            body = packets.exactly(int.from_bytes(header[8:12], "big"))
            if header[1] != 0x10:
                break
            names.append(body[:int.from_bytes(header[2:4], "big")])
        self.assertEqual((names[-1], sum(name.endswith(b":addr") for name in names)), (b"", 204))
        self.assertEqual(local.ask(b"client kill 127.0.0.1"), b"OK 201")
        for other in others:
            self.assertEqual(other.rest(), b"")
        self.assertEqual(local.ask(b"client kill 127.0.0.1"), b"NOT_FOUND")

    def test_commands_that_walk_all_connections_let_others_have_their_turn(self):
        self.serve()
        others = [self.client() for _ in range(300)]
        walker = self.client()
        walker.send(b"stats conns\r\n" * 256 + b"version\r\n")
        for other in others:
            self.assertRegex(other.ask(b"version"), b"^VERSION ")
        ends = 0
        while not (line := walker.line()).startswith(b"VERSION"):
            ends += line == b"END"
        self.assertEqual(ends, 256)
        self.assertGreater(int(others[0].stats()["conn_yields"]), 100, "its turn ended many times")

    def test_the_list_tells_the_last_command_of_each(self):
        self.serve()
        client, other = self.client(), self.client()
        other.ask(b"mn")

        def last() -> str:
            return next(entry["cmd"] for entry in listed(other) if entry["addr"] == name)
        name = "tcp:127.0.0.1:%d" % client.socket.getsockname()[1]
        wait_for(lambda: any(entry["addr"] == name for entry in listed(other)), "both are there")
        self.assertEqual(last(), "", "nothing was sent")
        for sent, command in ((b"get k\r\n", "get"), (b"mg k v\r\n", "mg"), (b"gets k\r\n", "gets"), (b"get k\r\ndelete k\r\n", "delete"),
                              (block(b"set", b"k", b"v"), "set"), (b"ms k 1\r\nv\r\n", "ms"), (b"ms k 1 F5\r\nv\r\n", "ms"),
                              (block(b"add", b"k", b"v"), "add"), (b"get k\r\n" * 100 + b"mr -\r\n", "mr"), (b"stats\r\n", "stats"),
                              (b"mb 1\r\nmg k v\r\n", "mb"), (b"lru tune 10 25 0.1 2.0\r\n", "lru"), (b"version\r\n", "version")):
            client.send(sent)
            wait_for(lambda: last() == command, command)
        client.send(b"set quiet 0 0 1 noreply\r\nv\r\n")
        wait_for(lambda: last() == "set", "what is not answered, too")
        self.assertEqual([entry["cmd"] for entry in listed(other) if entry["addr"] != name], ["client"])
        packets = self.client()
        packets.send(b"\x80\x0a" + bytes(22))
        self.assertEqual(packets.exactly(24)[:2], b"\x81\x0a")
        self.assertEqual(listed(other)[-1]["cmd"], "mn", "of the binary protocol by the text protocol's name")

    def test_what_is_no_name_is_refused(self):
        self.serve()
        client = self.client()
        for name in (b"x" * 65, b"a\x01b", b"\xff"):
            self.assertEqual(client.ask(b"client name " + name),
                             b"CLIENT_ERROR a client name has at most 64 letters, digits and signs")
        for line in (b"client", b"client nonsense", b"client list all", b"client kill", b"client kill 1 2", b"client name a b"):
            self.assertEqual(client.ask(line), b"CLIENT_ERROR bad command line format", line)

    def test_kill_ends_one_by_number_or_address_and_all_of_an_address(self):
        self.serve()
        client, one, two = self.client(), self.client(), self.client()
        for each in (one, two):
            each.ask(b"version")
        numbers = {entry["addr"]: entry["id"] for entry in listed(client)}
        address = "127.0.0.1:%d" % one.socket.getsockname()[1]
        self.assertEqual(client.ask(b"client kill " + numbers["tcp:" + address].encode()), b"OK 1")
        self.assertEqual(one.rest(), b"")
        self.assertEqual(client.ask(b"client kill 127.0.0.1:%d" % two.socket.getsockname()[1]), b"OK 1")
        self.assertEqual(two.rest(), b"")
        self.assertEqual(client.ask(b"client kill 999999"), b"NOT_FOUND")
        self.assertEqual(client.ask(b"client kill 10.1.2.3"), b"NOT_FOUND")
        self.wait_log(f'client kill "{address[:-1]}'.rsplit(":", 1)[0])
        wait_for(lambda: len(listed(client)) == 1, "they are gone")
        local = self.client(self.path)
        self.assertEqual(local.ask(b"client kill 127.0.0.1"), b"OK 1")
        self.assertEqual(client.rest(), b"")
        wait_for(lambda: len(listed(local)) == 1, "it is gone")

    @unittest.skipUnless(HAS_IPV6, "no IPv6 here")
    def test_kill_knows_addresses_of_version_6_in_every_spelling(self):
        self.start(listen=("127.0.0.1:0", "[::1]:0"))
        client = self.client()

        def killed(spelling: str) -> None:
            victim, other = self.client(("::1", self.ports()[1])), self.client()
            for each in (victim, other):
                each.ask(b"mn")
            port = victim.socket.getsockname()[1]
            self.assertEqual(client.ask(b"client kill " + spelling.format(port=port).encode()), b"OK 1", spelling)
            self.assertEqual(victim.rest(), b"")
            self.assertEqual(other.ask(b"mn"), b"MN", "it is of another address")
            wait_for(lambda: all(not entry["addr"].startswith("tcp6") for entry in listed(client)), "it is gone")
        for spelling in ("::1", "[::1]", "[::1]:{port}", "tcp6:[::1]:{port}", "tcp6:[::1]", "0:0:0:0:0:0:0:1", "[0::1]:{port}", "::/64"):
            with self.subTest(spelling):
                killed(spelling)
        for spelling in ("::2", "[::1]:1", "[::1]:0", "[::1]:99999", "[::1", "::1]", "[::1]x", "fe80::/64", "::1:11211x"):
            self.assertEqual(client.ask(b"client kill " + spelling.encode()), b"NOT_FOUND", spelling)
        self.end()

    def test_requests_without_an_operation_and_refused_ones_count(self):
        self.serve()
        client, other = self.client(), self.client()
        name = "tcp:127.0.0.1:%d" % client.socket.getsockname()[1]
        client.send(b"mn\r\n" * 20 + b"version\r\n" * 20 + b"nonsense\r\n" * 20 + b"get\r\n" * 20 + b"get k\r\n" * 20)
        for _ in range(100):
            client.line()
        wait_for(lambda: [entry["requests"] for entry in listed(other) if entry["addr"] == name] == ["100"], "all are counted")

    def test_kill_ends_one_that_watches_reads_nothing_or_sends_without_end(self):
        self.serve()
        client = self.client()
        watcher, stuck, busy = self.client(), self.client(receive_buffer=4096), self.client()
        watcher.ask(b"watch mutations")
        client.set(b"k", b"v" * 500_000)
        stuck.send(b"get k\r\n" * 200)
        busy.send(block(b"set", b"b", b"x" * 100)[:-20])
        ids = [entry["id"] for entry in listed(client)]
        self.assertEqual(len(ids), 4)
        for number in ids[1:]:
            self.assertEqual(client.ask(b"client kill " + number.encode()), b"OK 1")
        wait_for(lambda: len(listed(client)) == 1, "they are gone")
        self.assertIsNone(client.get(b"b"))

    def test_only_administrators_list_and_kill_and_everybody_has_a_name(self):
        users = self.directory / "users.yaml"
        users.write_text("users:\n  - {name: r, password: x}\n  - {name: 'ad%min', password: x, role: administrator}\n")
        users.chmod(0o600)
        self.serve("--set", f"server.auth_file={users}")
        reader, admin = self.client(), self.client()
        self.assertEqual(reader.store(b"set", b"a", b"r x"), b"STORED")
        self.assertEqual(admin.store(b"set", b"a", b"ad%min x"), b"STORED")
        for line in (b"client list", b"client kill 1", b"client kill 127.0.0.1"):
            self.assertEqual(reader.ask(line), b"CLIENT_ERROR forbidden")
        self.assertEqual(reader.ask(b"client name batch"), b"OK")
        self.assertEqual([(entry["user"], entry["name"]) for entry in listed(admin)], [("r", "batch"), ("ad%25min", "")])

    def test_many_come_and_go_while_others_list_and_kill(self):
        self.serve()
        client = self.client()
        for round_ in range(50):
            others = [self.client() for _ in range(10)]
            for other in others:
                other.send(b"get k\r\n" * 20)
            victims = [entry["id"] for entry in listed(client)][1:6]
            for number in victims:
                self.assertIn(client.ask(b"client kill " + number.encode()), (b"OK 1", b"NOT_FOUND"))
            for other in others[::2]:
                other.close()
            if round_ % 10 == 0:
                self.process.send_signal(signal.SIGHUP)
        self.assertRegex(client.ask(b"version"), b"^VERSION ")


@mxkv_only("whose it was")
class WatchClientsTest(DaemonCase):
    def test_connections_that_come_and_go_are_told_with_their_address(self):
        self.start()
        watcher = self.client()
        self.assertEqual(watcher.ask(b"watch connevents"), b"OK")
        other = self.client()
        port = other.socket.getsockname()[1]
        other.ask(b"version")
        pattern = r"^ts=\d+\.\d+ gid=\d+ type=%s rip=127\.0\.0\.1 rport=%d transport=tcp %scfd=(\d+)$"
        came = re.match(pattern % ("conn_new", port, ""), event(watcher))
        self.assertIsNotNone(came)
        other.close()
        went = re.match(pattern % ("conn_close", port, "reason=normal "), event(watcher))
        self.assertIsNotNone(went)
        self.assertEqual(came[1], went[1])

    def test_why_a_connection_went_is_told(self):
        self.start("--set", "limits.idle_timeout=200ms", listen=("127.0.0.1:0", f"unix:{self.directory / 'socket'}"))
        watcher = self.client()
        self.assertEqual(watcher.ask(b"watch connevents"), b"OK")
        for sent, reason in ((b"quit\r\n", "normal"), (b"GET / HTTP/1.1\r\n", "error"), (b"x" * 3000, "error"), (b"mb x\r\n", "error"),
                             (b"\x80\x0a" + bytes(22) + b"get k\r\n", "error"), (b"\x16\x03\x01", "error"), (b"", "idle_timeout")):
            other = self.client()
            self.assertIn("type=conn_new ", event(watcher))
            other.send(sent)
            other.rest()
            self.assertIn(f" reason={reason} ", event(watcher), sent)
        local = Connection(str(self.directory / "socket"))
        self.addCleanup(local.close)
        self.assertRegex(event(watcher), r" type=conn_new rip=unix rport=0 transport=local cfd=\d+$")

    def test_lines_of_items_tell_the_client(self):
        self.start()
        watcher, other = self.client(), self.client()
        other.set(b"k", b"v")
        (cfd,) = [entry["cfd"] for entry in listed(other) if entry["addr"].endswith(f":{other.socket.getsockname()[1]}")]
        self.assertEqual(watcher.ask(b"watch fetchers mutations deletions"), b"OK")
        for send, kind in ((b"get k\r\n", ""), (b"mg k v\r\n", ""), (b"get none\r\n", ""),
                           (b"set k 0 0 1\r\nx\r\n", "item_store"), (b"ms k 1\r\nx\r\n", "item_store"),
                           (b"delete k\r\n", "deleted")):
            other.send(send)
            for each in ("item_get", kind) if kind else ("item_get",):
                line = event(watcher)
                self.assertIn(f"type={each} ", line)
                self.assertIn(f" cfd={cfd} ", line + " ")
