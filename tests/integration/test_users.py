"""Users in a YAML file: hashes, roles, prefixes, the effects of a reload, and the consequences of wrong passwords."""

import signal
import subprocess
import time

from harness import DaemonCase, environment, mxkv_only, wait_for
from harness.beside import load_tests  # noqa: F401
from harness.connection import Closed, block

_FORBIDDEN = b"CLIENT_ERROR forbidden"
_FAILURE = b"CLIENT_ERROR authentication failure"


def hash_of(password: str) -> str:
    done = subprocess.run([environment.MXKVD, "hash-password"], input=password + "\n", capture_output=True, text=True,
                          check=True)
    return done.stdout.strip()


class UsersCase(DaemonCase):
    def write(self, *users: str, mode: int = 0o600) -> None:
        self.users = self.directory / "users.yaml"
        self.users.write_text("users:\n" + "".join(f"  - {{{user}}}\n" for user in users))
        self.users.chmod(mode)

    def serve(self, *users: str, options=(), listen=("127.0.0.1:0",)) -> None:
        self.write(*users)
        self.start("--set", f"server.auth_file={self.users}", *options, listen=listen)

    def reload(self, *users: str) -> None:
        self.write(*users)
        self.process.send_signal(signal.SIGHUP)

    def as_user(self, name: str, password: str = "x", where=None):
        client = self.client(where) if where is not None else self.client()
        self.assertEqual(self.log_in(client, name, password), b"STORED")
        return client

    @staticmethod
    def log_in(client, name: str, password: str = "x") -> bytes:
        return client.store(b"set", b"any", f"{name} {password}".encode())


@mxkv_only("users")
class HashedUsersTest(UsersCase):
    def test_a_hash_lets_in_who_knows_the_password_and_nobody_else(self):
        made = hash_of("secret")
        self.assertTrue(made.startswith("$y$"), made)
        self.serve(f'name: ann, password: "{made}", role: administrator')
        client = self.client()
        self.assertEqual(self.log_in(client, "ann", "Secret"), _FAILURE)
        self.assertEqual(self.log_in(client, "nobody", "secret"), _FAILURE)
        self.assertEqual(self.log_in(client, "ann", made), _FAILURE, "the hash is no password")
        self.assertEqual(self.log_in(client, "ann", "secret"), b"STORED")
        self.assertEqual(client.set(b"k", b"v"), b"STORED")
        self.assertNotIn("clear text", self.log())
        self.assertIn("clients authenticate: 1 user of", self.log())

    def test_many_clients_log_in_at_once_while_others_are_served(self):
        self.serve(f'name: ann, password: "{hash_of("secret")}", role: writer')
        clients = [self.client() for _ in range(200)]
        for client in clients:
            client.send(block(b"set", b"a", b"ann secret") + b"set k 0 0 1\r\nv\r\nget k\r\n")
        for client in clients:
            self.assertEqual([client.line(), client.line()], [b"STORED", b"STORED"])
            self.assertEqual(client.records(), [(b"k", b"v", [0])])

    def test_a_client_that_leaves_before_the_verdict_leaves_nothing(self):
        self.serve(f'name: ann, password: "{hash_of("secret")}"')
        for i in range(20):
            client = self.client()
            client.send(block(b"set", b"a", b"ann secret" if i % 2 else b"ann wrong"))
            client.close()
        client = self.as_user("ann", "secret")
        wait_for(lambda: client.stats()["curr_connections"] == "1", "the others are gone")

    def test_the_daemon_ends_at_once_while_logins_wait(self):
        self.serve('name: ann, password: x')
        clients = [self.client() for _ in range(10)]
        for client in clients:
            for _ in range(9):
                client.send(block(b"set", b"a", b"ann wrong"))
        self.end()
        self.assertNotIn("are dropped", self.log())

    def test_hash_password_refuses_what_is_no_password(self):
        for text in ("", "\n", "x" * 300 + "\n", "a\0b\n"):
            done = subprocess.run([environment.MXKVD, "hash-password"], input=text, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), text)
            self.assertRegex(done.stderr, "^mxkvd: (no password|the password is not valid)")

    def test_a_wrong_file_is_told_with_place_and_starts_nothing(self):
        self.write("name: a, password: x, rol: reader", "name: b")
        code, errors = self.run_to_end("--set", f"server.auth_file={self.users}")
        self.assertEqual(code, 2, errors)
        self.assertIn(f"mxkvd: {self.users}:2:28: users[0].rol: an unknown key, did you mean role?", errors)
        self.assertIn(f"mxkvd: {self.users}:3:5: users[1]: has no password", errors)
        for mode in (0o666, 0o620):
            self.write("name: a, password: x", mode=mode)
            code, errors = self.run_to_end("--set", f"server.auth_file={self.users}")
            self.assertEqual(code, 2)
            self.assertIn(f"{self.users}: other users of this machine may write to it (allowed: chmod go-w)", errors)


@mxkv_only("users")
class RolesTest(UsersCase):
    def test_each_role_may_what_it_may(self):
        self.serve("name: r, password: x", "name: w, password: x, role: writer", "name: a, password: x, role: administrator")
        reader, writer, administrator = (self.as_user(name) for name in "rwa")
        self.assertEqual(administrator.set(b"k", b"1"), b"STORED")
        for command in (b"get k", b"mg k v", b"pscan k 5", b"mr -", b"mc -", b"version", b"stats", b"me k"):
            for client in (reader, writer):
                client.send(command + b"\r\nmn\r\n")
                lines = [client.line()]
                while lines[-1] != b"MN":
                    lines.append(client.line())
                self.assertNotIn(_FORBIDDEN, lines, command)
        for command in (b"delete k", b"incr k 1", b"touch k 5", b"gat 5 k", b"md k", b"ma k", b"mx -", b"mg k T5", b"mt - T5"):
            self.assertEqual(reader.ask(command), _FORBIDDEN, command)
        self.assertEqual(reader.set(b"k", b"2"), _FORBIDDEN)
        self.assertEqual(writer.set(b"k", b"2"), b"STORED")
        for command in (b"flush_all", b"verbosity 1", b"cache_memlimit 64", b"watch mutations", b"lru_crawler metadump all",
                        b"lru_crawler mgdump all", b"stats conns", b"stats hot", b"stats cachedump 1 0", b"stats reset",
                        b"shutdown", b"debugtime p"):
            for client in (reader, writer):
                self.assertEqual(client.ask(command), _FORBIDDEN, command)
        self.assertEqual(reader.get(b"k"), b"2")
        self.assertGreater(int(administrator.stats()["auth_forbidden"]), 30)

    def test_what_was_forbidden_is_told_by_the_log_once_a_second_without_keys(self):
        begun = time.monotonic()
        self.serve("name: r, password: x", 'name: w, password: x, role: writer, prefixes: ["own:"]')
        reader, writer = self.as_user("r"), self.as_user("w")
        name = {client: "tcp:127.0.0.1:%d" % client.socket.getsockname()[1] for client in (reader, writer)}
        self.assertEqual(reader.ask(b"delete secret-key"), _FORBIDDEN)
        self.wait_log(f'warning forbidden to {name[reader]} as "r": delete\n')
        self.assertEqual(writer.ask(b"get other:key"), _FORBIDDEN)
        self.wait_log(f'warning forbidden to {name[writer]} as "w": get\n')
        writer.send(b"mb 1\r\nmd other:key\r\nmn\r\n")
        self.wait_log(f'warning forbidden to {name[writer]} as "w": md\n')
        for _ in range(200):
            reader.send(b"flush_all\r\n" * 100)
            for _ in range(100):
                self.assertEqual(reader.line(), _FORBIDDEN)
        wait_for(lambda: self.log().count(": flush_all (and ") > 0, "a line for many")
        self.end()
        self.assertLess(self.log().count("forbidden to"), 5 + time.monotonic() - begun, "a line a second")
        self.assertNotIn("secret-key", self.log())
        self.assertNotIn("other:", self.log())

    def test_the_stream_stays_in_step_and_silence_is_broken(self):
        self.serve("name: r, password: x", "name: a, password: x, role: administrator")
        reader = self.as_user("r")
        for command in (b"set k 0 0 5 noreply\r\nget k", b"ms k 5 q\r\nget k", b"delete k noreply", b"md k q",
                        b"flush_all noreply", b"verbosity 1 noreply", b"append k 0 0 3\r\nabc"):
            reader.send(command + b"\r\nmn\r\n")
            self.assertEqual([reader.line(), reader.line()], [_FORBIDDEN, b"MN"], command)
        big = b"x" * 300_000
        reader.send(b"set k 0 0 300000\r\n" + big + b"\r\nmn\r\n")
        self.assertEqual([reader.line(), reader.line()], [_FORBIDDEN, b"MN"])
        for byte in b"set k 0 0 3\r\nabc\r\nmn\r\n":
            reader.send(bytes([byte]))
        self.assertEqual([reader.line(), reader.line()], [_FORBIDDEN, b"MN"])
        administrator = self.as_user("a")
        administrator.set(b"k", b"kept")
        reader.send(b"set k 0 0 2000000\r\n" + b"x" * 2_000_000 + b"\r\nmn\r\n")
        self.assertIn(b"ERROR", reader.line())
        self.assertEqual(reader.line(), b"MN")
        self.assertEqual(administrator.get(b"k"), b"kept", "nor does a value that is too large take the old one away")

    def test_keys_and_ranges_out_of_the_prefixes_are_refused_whole(self):
        self.serve('name: s, password: x, role: writer, prefixes: ["s:", "t:"]', "name: a, password: x, role: administrator")
        administrator = self.as_user("a")
        for key in (b"s:1", b"s:2", b"t:1", b"u:1", b"a"):
            administrator.set(key, key)
        user = self.as_user("s")
        self.assertEqual(user.get(b"s:1"), b"s:1")
        user.send(b"get s:1 t:1 s:9\r\n")
        self.assertEqual(sorted(record[0] for record in user.records()), [b"s:1", b"t:1"])
        for command in (b"get u:1", b"get s:1 u:1", b"get u:1 s:1", b"mg a v", b"pscan s 5", b"scan - + 5", b"mr s:1",
                        b"mr s:1 Ht:1", b"mc -", b"mx u: p", b"mt - T5", b"gat 5 s:1 a"):
            self.assertEqual(user.ask(command), _FORBIDDEN, command)
        user.send(b"pscan s: 5\r\n")
        self.assertEqual([record[0] for record in user.records()], [b"s:1", b"s:2"])
        user.send(b"mb 3\r\nms s:5 1\r\nv\r\nms u:5 1\r\nv\r\nmd s:1\r\nmn\r\n")
        lines = [user.line()]
        while lines[-1] != b"MN":
            lines.append(user.line())
        self.assertIn("forbidden", " ".join(line.decode() for line in lines))
        self.assertIsNone(user.get(b"s:5"), "nothing of the batch was done")
        self.assertEqual(user.get(b"s:1"), b"s:1")
        user.send(b"mb 2\r\nms s:5 1\r\nv\r\nmd s:1\r\nmn\r\n")
        while user.line() != b"MN":
            pass
        self.assertEqual((user.get(b"s:5"), user.get(b"s:1")), (b"v", None))

    def test_a_user_with_prefixes_sees_memory_of_its_own_ones(self):
        configured = "[{prefix: 's:'}, {prefix: 's:a:'}, {prefix: 't:'}, {prefix: 't:in:'}]"
        self.serve('name: s, password: x, prefixes: ["s:", "t:in:deep"]', "name: a, password: x, role: administrator", "name: r, password: x",
                   options=("--set", f"prefixes={configured}"))
        self.wait_log("user s: of its keys with the prefix \"s:\", only those with \"s:a:\" count in prefixes[1]")
        for name, expected in (("s", ["s:", "s:a:", "t:in:"]), ("a", ["s:", "s:a:", "t:", "t:in:"]), ("r", ["s:", "s:a:", "t:", "t:in:"])):
            stats = self.as_user(name).stats(b"prefixes")
            self.assertEqual([value for key, value in stats.items() if key.endswith(":prefix")], expected, name)
        self.assertEqual(self.as_user("s").ask(b"config set prefixes []"), _FORBIDDEN)

    def test_a_cursor_leads_nobody_out_of_the_prefix(self):
        self.serve('name: s, password: x, prefixes: ["s:"]', "name: a, password: x, role: administrator")
        administrator = self.as_user("a")
        for i in range(5):
            administrator.set(b"s:%d" % i, b"v")
            administrator.set(b"t:%d" % i, b"v")
        administrator.send(b"pscan t: 1 cursor\r\n")
        (foreign,) = [record[1] for record in administrator.records() if record[0] == "CURSOR"]
        user = self.as_user("s")
        self.assertEqual(user.ask(b"pscan cursor=" + foreign + b" 5"), _FORBIDDEN)


@mxkv_only("users")
class RevocationTest(UsersCase):
    def test_a_reload_closes_who_is_gone_or_may_something_else_and_keeps_the_others(self):
        self.serve("name: a, password: x, role: administrator", "name: b, password: x", "name: c, password: x, role: writer",
                   "name: d, password: x", "name: e, password: x, requests: 1000000")
        clients = {name: self.as_user(name) for name in "abcde"}
        waiting = self.client()
        self.reload("name: a, password: x, role: administrator", "name: b, password: new", "name: c, password: x, role: reader",
                    "name: e, password: x, requests: 2000000")
        self.wait_log("reload: 4 users may authenticate; closed 3 connections of users who were removed or changed")
        for name in "bcd":
            with self.assertRaises((Closed, ConnectionError)):
                clients[name].ask(b"version")
        for name in "ae":
            self.assertRegex(clients[name].ask(b"version"), b"^VERSION ")
        self.assertEqual(self.log_in(waiting, "d"), _FAILURE)
        self.assertNotIn("nothing changed", self.log())

    def test_a_wrong_file_keeps_the_users_that_were(self):
        self.serve("name: a, password: x")
        client = self.as_user("a")
        self.reload("name: a, passwort: x")
        self.wait_log("reload refused: ")
        self.assertRegex(client.ask(b"version"), b"^VERSION ")
        self.assertRegex(self.as_user("a").ask(b"version"), b"^VERSION ")

    def test_users_reload_while_clients_work(self):
        self.serve("name: a, password: x, role: writer", "name: b, password: x, role: writer")
        stays = self.as_user("a")
        for round_ in range(10):
            leaves = self.as_user("b")
            leaves.send(b"set k 0 0 1\r\nv\r\n" * 2000)
            self.reload("name: a, password: x, role: writer",
                        f"name: b, password: x, role: {'reader' if round_ % 2 == 0 else 'writer'}")
            self.assertEqual(stays.set(b"s", b"v"), b"STORED")
            wait_for(lambda: self.log().count("closed 1 connection of users") == round_ + 1, "it is closed")


@mxkv_only("users")
class WrongLoginsTest(UsersCase):
    def test_a_connection_is_closed_after_ten_and_the_log_names_the_user(self):
        self.serve("name: a, password: x")
        client = self.client()
        client.send(block(b"set", b"k", b"mal\x07lory wrong") * 20 + b"version\r\n")
        lines = []
        with self.assertRaises((Closed, ConnectionError)):
            while True:
                lines.append(client.line())
        self.assertEqual(lines, [_FAILURE] * 10)
        self.wait_log('wrong user or password from tcp:127.0.0.1:')
        self.assertIn('as "mal\\x07lory"', self.log().replace("\\\\", "\\"))
        other = self.as_user("a")
        self.assertEqual(other.stats()["auth_errors"], "10")

    def test_who_connects_again_and_again_has_to_wait_and_others_do_not(self):
        self.serve("name: a, password: x", listen=("127.0.0.1:0",))
        inside = self.as_user("a")
        for _ in range(20):
            self.assertEqual(self.log_in(self.client(), "a", "wrong"), _FAILURE)
        begun = time.monotonic()
        for _ in range(3):
            self.assertEqual(self.log_in(self.client(), "a", "wrong"), _FAILURE)
        self.assertGreater(time.monotonic() - begun, 0.5, "100, 200 and 400 ms: no machine is too slow to wait for so long")
        self.assertRegex(inside.ask(b"version"), b"^VERSION ", "who is in is served meanwhile")
        self.assertEqual(self.log_in(self.client(), "a"), b"STORED", "it is held up, not locked out")


@mxkv_only("users")
class UserLimitsTest(UsersCase):
    def test_a_user_has_so_many_connections_and_gets_them_back(self):
        self.serve("name: a, password: x, connections: 2", "name: b, password: x")
        first, _ = self.as_user("a"), self.as_user("a")
        third = self.client()
        self.assertEqual(self.log_in(third, "a"), b"SERVER_ERROR too many connections of this user")
        with self.assertRaises((Closed, ConnectionError)):
            third.line()
        other = self.as_user("b")
        self.assertEqual(other.stats()["rejected_per_user"], "1")
        first.close()
        wait_for(lambda: self.log_in(self.client(), "a") == b"STORED", "one is free again")
