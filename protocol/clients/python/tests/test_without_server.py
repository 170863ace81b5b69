"""The parts of the client that need no server: addresses, hashing, errors of connections."""

import asyncio
import socket
import ssl
import threading
import unittest
from unittest.mock import patch

import mxkv
from mxkv._address import address_of
from mxkv.aio import _Room
from pymemcache.client.hash import HashClient as PymemcacheHashClient


class AddressTest(unittest.TestCase):
    def test_an_address_is_a_pair_a_path_or_a_url(self):
        for server, name, user, password, tls in (
                ("localhost", "localhost:11211", None, "", False),
                (("::1", 7), "::1:7", None, "", False),
                ("/run/mxkv.sock", "/run/mxkv.sock", None, "", False),
                ("mxkv://localhost", "localhost:11211", None, "", False),
                ("mxkv://ann:a%40b%2F@h:7/", "h:7", "ann", "a@b/", False),
                ("mxkvs://[::1]:7", "::1:7", None, "", True),
                ("mxkv://ann@/run/a%20b", "/run/a b", "ann", "", False)):
            with self.subTest(server):
                address = address_of(server, None, "", None)
                self.assertEqual((address.name, address.user, address.password), (name, user, password))
                self.assertEqual(isinstance(address.tls_context, ssl.SSLContext), tls)

    def test_arguments_take_precedence_over_the_url(self):
        context = ssl.create_default_context()
        self.assertEqual(address_of("mxkvs://ann:a@h", "bob", "b", context)[1:], ("bob", "b", context))

    def test_no_host_and_no_port_are_refused(self):
        for server in ("a..b", "h:x", "h:0", ("h", 65536), ("h", 1, 2), 7):
            for kind in (mxkv.Client, mxkv.PooledClient, mxkv.AsyncClient, lambda server: mxkv.HashClient([server])):
                with self.subTest(server), self.assertRaises(mxkv.BadAddress):
                    kind(server)

    def test_a_bad_url_is_refused_without_telling_the_password(self):
        for url in ("http://h", "mxkv://", "mxkv://ann:secret@h:99999", "mxkv://ann:secret@h:x", "mxkv://h/path", "mxkvs:///path",
                    "mxkv://ann:secret@h?tls=1", "mxkv://h#x"):
            with self.subTest(url), self.assertRaises(mxkv.BadAddress) as raised:
                mxkv.Client(url)
            self.assertNotIn("secret", str(raised.exception))


class HashTest(unittest.TestCase):
    SERVERS = ["10.0.0.1:11211", "10.0.0.2:11211", "cache.example:7", "/run/mxkv.sock"]

    def test_keys_belong_to_the_servers_that_pymemcache_chooses(self):
        theirs = PymemcacheHashClient(self.SERVERS, allow_unicode_keys=True)
        ours = mxkv.HashClient([*self.SERVERS[:2], "mxkv://ann:a@cache.example:7", self.SERVERS[3]])
        self.assertEqual(list(ours.clients), list(theirs.clients))
        chosen = set()
        for number in range(2000):
            key = f"schlüssel:{number}"
            name = theirs.hasher.get_node(key)
            chosen.add(name)
            self.assertIs(ours.client_of(key), ours.clients[name])
            self.assertIs(ours.client_of(key.encode()), ours.clients[name])
        self.assertEqual(len(chosen), 4)
        ours.client_of(b"\xff\0")

    def test_no_servers_are_refused(self):
        with self.assertRaises(mxkv.BadAddress):
            mxkv.HashClient([])


class RoomTest(unittest.TestCase):
    """The places of an asynchronous client's connections."""

    def test_a_place_is_passed_on_when_its_task_is_cancelled_before_it_runs(self):
        async def check() -> None:
            room, done = _Room(1), []

            async def work(number: int) -> None:
                async with room:
                    done.append(number)

            for others in (2, 0):  # that wait behind the cancelled task
                await room.__aenter__()
                tasks = [asyncio.ensure_future(work(number)) for number in range(2 + others)]
                await asyncio.sleep(0)
                tasks[1].cancel()  # while it waits
                await room.__aexit__(None, None, None)
                tasks[0].cancel()  # it has the place, but did not run yet
                await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
            await asyncio.wait_for(work(7), 60)
            self.assertEqual((done, room.free), ([2, 3, 7], 1))
        asyncio.run(check())

    def test_no_more_tasks_than_places_are_in_it(self):
        async def check() -> None:
            room, inside, most = _Room(3), 0, 0

            async def work() -> None:
                nonlocal inside, most
                async with room:
                    inside += 1
                    most = max(most, inside)
                    await asyncio.sleep(0)
                    inside -= 1

            await asyncio.gather(*(work() for _ in range(20)))
            self.assertEqual((most, room.free), (3, 3))
        asyncio.run(check())


class ErrorsTest(unittest.TestCase):
    """Each error of a connection has a type of mxkv."""

    def errors(self, server, **arguments) -> list:
        """The errors of all kinds of clients for a server."""
        async def ask() -> None:
            async with mxkv.AsyncClient(server, **arguments) as client:
                await client.get("k")
        found = []
        for call in (lambda: mxkv.Client(server, **arguments).get("k"), lambda: mxkv.PooledClient(server, **arguments).count(),
                     lambda: mxkv.HashClient([server], **arguments).get("k"), lambda: asyncio.run(ask())):
            with self.assertRaises(mxkv.MxkvError) as raised:
                call()
            found.append(type(raised.exception))
        return found

    def listener(self) -> socket.socket:
        found = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(found.close)
        return found

    def test_an_unknown_host_a_missing_socket_and_a_closed_port_are_lost_connections(self):
        closed = self.listener()
        port = closed.getsockname()[1]
        closed.close()
        for server in ("/no/such/socket", f"127.0.0.1:{port}"):
            with self.subTest(server):
                self.assertEqual(self.errors(server, retries=0), [mxkv.ConnectionLost] * 4)
        with patch("socket.getaddrinfo", side_effect=socket.gaierror(-2, "Name or service not known")):
            self.assertEqual(self.errors("no-such-host.invalid", retries=0), [mxkv.ConnectionLost] * 4)

    def test_an_empty_prefix_is_not_deleted(self):
        with self.assertRaises(mxkv.ClientError):
            mxkv.Client("127.0.0.1:1").delete_range("")

    def test_a_server_that_never_answers_is_a_time_out(self):
        silent = self.listener()
        self.assertEqual(self.errors(silent.getsockname(), timeout=0.01), [mxkv.RequestTimeout] * 4)

    def test_timeouts_are_set_by_default(self):
        for client in (mxkv.Client("h"), mxkv.PooledClient("h")._create_client()):
            self.assertEqual((client.connect_timeout, client.timeout), (1, 3))
        self.assertEqual((mxkv.AsyncClient("h")._connect_timeout, mxkv.AsyncClient("h")._timeout), (1, 3))

    def test_a_server_without_tls_fails_tls(self):
        plain = self.listener()

        def answer() -> None:
            for _ in range(4):
                connection, _ = plain.accept()
                with connection:
                    connection.recv(1)
                    connection.sendall(b"ERROR\r\n")
                    connection.recv(1 << 16)
        thread = threading.Thread(target=answer)
        thread.start()
        self.assertEqual(self.errors(f"mxkvs://127.0.0.1:{plain.getsockname()[1]}", retries=0), [mxkv.TlsFailed] * 4)
        thread.join()

    def test_input_that_pymemcache_refuses_is_a_client_error(self):
        with self.assertRaises(mxkv.ClientError):
            mxkv.Client("127.0.0.1:1").set("k", "v", expire=1.5)


if __name__ == "__main__":
    unittest.main()
