"""The guide troubleshooting.md: each error text that it names is one that the server sends, and a server that is brought into
each situation answers with that text."""

import errno
import os
import re
import subprocess
import unittest
from pathlib import Path

import documented
from harness import environment, mxkv_only
from harness.connection import Connection, block
from harness.tls import TlsCase

GUIDE = documented.ROOT / "server" / "guides" / "troubleshooting.md"
# Errors that need a cluster, a full disk or many clients at the same moment: other tests provoke them. Text -> their file.
ELSEWHERE = {
    "SERVER_ERROR out of memory reading request": "tests/integration/test_hoarders.py",
    "SERVER_ERROR journal: no space left on device": "tests/unit/server/net/connection/disk_answers_test.cpp",
    "SERVER_ERROR shard 3 has no owner": "tests/unit/server/net/peers/forwarder_faults_test.cpp",
    "SERVER_ERROR not here: 10.0.1.2:11211": "tests/unit/server/net/peers/forwarder_faults_test.cpp",
    "SERVER_ERROR outcome unknown": "tests/cluster/test_outages.py",
}
USERS = """users:
  - {name: ann, password: "clear", role: administrator}
  - {name: shop, password: "clear", role: writer, prefixes: ["shop:"], connections: 1}
"""


def errors() -> list:
    """The error texts of the guide's first table."""
    table = GUIDE.read_text(encoding="utf-8").split("## By error text")[1].split("\n## ")[0]
    return re.findall(r"(?m)^\| `([^`]+)` \|", table)


def sources() -> str:
    paths = [path for folder in ("protocol", "server") for path in (documented.ROOT / folder).rglob("*.[ch]pp")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths if "clients" not in path.parts)


class ErrorTextsTest(unittest.TestCase):
    def test_each_text_is_one_that_the_sources_have(self):
        text = sources()
        literals = {literal.replace("\\r\\n", "") for literal in re.findall(r'"((?:SERVER_|CLIENT_)?ERROR[^"]*)"', text)}
        self.assertGreater(len(errors()), 18)
        for error in errors():
            begin = max((literal for literal in literals if error.startswith(literal)), key=len, default="")
            # What follows is a number, an address, the system's word for a full disk, or another literal.
            rest = re.sub(r"^[\d.:]+", "", error[len(begin):])
            known = (not rest or rest == os.strerror(errno.ENOSPC).lower() or f'"{rest}\\r\\n"' in text)
            self.assertTrue(begin and known, error)

    def test_each_text_is_provoked_by_a_test(self):
        here = set(re.findall(r'self\.note\(.*, "([^"]+)"\)', Path(__file__).read_text(encoding="utf-8")))
        self.assertEqual(here | set(ELSEWHERE), set(errors()))
        for error, file in ELSEWHERE.items():
            begin = re.split(r"\d|: ", error)[0].split("_ERROR ")[1].strip()
            self.assertIn(begin, (documented.ROOT / file).read_text(encoding="utf-8"), file)

    def test_counters_and_commands_that_rows_name_exist(self):
        names = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", GUIDE.read_text(encoding="utf-8")))
        documents = "".join((documented.ROOT / name).read_text(encoding="utf-8") for name in (
            "server/STATS.md", "server/OPERATING.md"))
        self.assertGreater(len(names), 8)
        for name in names:
            self.assertIn(f"`{name}`", documents, name)


@mxkv_only("its errors")
class ProvokedErrorsTest(TlsCase):
    def note(self, reply: bytes, error: str) -> None:
        self.assertEqual(reply, error.encode())

    def test_errors_of_requests(self) -> None:
        self.start("--set", "limits.locked_items=10", "--set", "limits.batch_lines=2", "--set", "limits.value_bytes=1KiB")
        client = self.client()
        for key in range(20):
            client.set(b"user:%02d" % key, b"v")
        self.note(client.ask(b"nosuch"), "ERROR")
        self.note(client.ask(b"mx user: p X"), "CLIENT_ERROR too many keys in the range")
        self.note(client.ask(b"scan cursor=nonsense 10"), "CLIENT_ERROR bad cursor")
        self.note(client.ask(b"get " + b"k" * 251), "CLIENT_ERROR bad command line format")
        self.note(client.store(b"set", b"k", b"v" * 2000), "SERVER_ERROR object too large for cache")
        client.send(b"set k 0 0 1\r\ntwo\r\n")
        self.note(client.line(), "CLIENT_ERROR bad data chunk")
        client.close()
        client = self.client()
        client.send(b"mb 3\r\n" + b"mg user:00\r\n" * 3)
        self.note(client.line().removeprefix(b"EX 3 "), "CLIENT_ERROR too many lines in a batch")
        client.close()
        self.end()

    def test_errors_of_a_full_memory(self) -> None:
        self.start("--memory", "16MiB", "--set", "memory.when_full=error")
        client = self.client()
        value, reply = b"v" * 100_000, b"STORED"
        for key in range(400):
            reply = client.store(b"set", b"k%d" % key, value)
            if reply != b"STORED":
                break
        self.note(reply, "SERVER_ERROR out of memory storing object")
        client.close()
        self.end()

    def test_errors_of_users_and_listeners(self) -> None:
        users = self.directory / "users.yaml"
        users.write_text(USERS, encoding="utf-8")
        users.chmod(0o600)
        self.serve(f"limits: {{connections: 4}}\nserver: {{auth_file: {users}}}\n")
        encrypted, plain = self.ports()[:2]
        unencrypted = Connection(encrypted)
        self.note(unencrypted.ask(b"version"), "ERROR this listener speaks TLS only")
        stranger = Connection(plain)
        self.note(stranger.ask(b"get k"), "CLIENT_ERROR unauthenticated")
        stranger.send(block(b"set", b"auth", b"shop wrong"))
        self.note(stranger.line(), "CLIENT_ERROR authentication failure")
        shop = Connection(plain)
        shop.send(block(b"set", b"auth", b"shop clear"))
        self.assertEqual(shop.line(), b"STORED")
        self.note(shop.ask(b"get other"), "CLIENT_ERROR forbidden")
        second = Connection(plain)
        second.send(block(b"set", b"auth", b"shop clear"))
        self.note(second.line(), "SERVER_ERROR too many connections of this user")
        others = [Connection(plain) for _ in range(4)]
        self.note(others[-1].line(), "ERROR Too many open connections")
        for connection in (unencrypted, stranger, shop, second, *others):
            connection.close()
        self.end()

    def test_the_error_of_many_logins(self) -> None:
        hashed = subprocess.run([environment.MXKVD, "hash-password"], input="clear\n", capture_output=True, text=True, check=True)
        users = self.directory / "users.yaml"
        users.write_text(f'users:\n  - {{name: shop, password: "{hashed.stdout.strip()}"}}\n', encoding="utf-8")
        self.start("--set", f"server.auth_file={users}")
        guessers = [self.client() for _ in range(10)]
        for _ in range(2):
            for guesser in guessers:
                guesser.send(block(b"set", b"auth", b"shop guess"))
            for guesser in guessers:
                guesser.line()
        # The address has given 20 wrong passwords: 64 of its logins may wait.
        many = [self.client() for _ in range(200)]
        for number, connection in enumerate(many):
            connection.send(block(b"set", b"auth", b"shop guess%d" % number))
        # Which of them are refused is the server's choice; mostly the latest.
        replies = (connection.line() for connection in reversed(many))
        self.note(next(reply for reply in replies if reply.startswith(b"SERVER_ERROR")), "SERVER_ERROR too many logins are waiting")
        for connection in guessers + many:
            connection.close()
        self.end()


if __name__ == "__main__":
    unittest.main()
