"""Shared by the tests of meta commands: two clients, and replies without the parts that a clock changes."""

import re

from harness import IS_MEMCACHED, Options, ServerCase

STEERED = ("server.debug_time", "true")  # the items' clock stands still, so that a busy machine changes no time to live


def _rounded(reply: bytes) -> bytes:
    """Rounds times to live to ten seconds, because a clock may have ticked."""
    return re.sub(rb"\bt(\d+)", lambda match: b"t%d" % ((int(match[1]) + 9) // 10 * 10), reply)


class MetaCase(ServerCase):
    options = Options(settings=(STEERED,))

    def setUp(self):
        self.one, self.two = self.connect(), self.connect()
        self.assertEqual(self.one.ask(b"flush_all"), b"OK")
        if STEERED in self.options.settings and not IS_MEMCACHED:
            self.assertEqual(self.one.ask(b"debugtime p"), b"OK")

    def store(self, line: bytes, value: bytes) -> bytes:
        return self.one.ask(line + b"\r\n" + value)

    def value(self, client, line: bytes) -> tuple:
        """(flags, value) of a reply with a value, else (whole line, None)."""
        reply = _rounded(client.ask(line))
        match = re.fullmatch(rb"VA (\d+)((?: \S+)*)", reply)
        return (match[2].strip(), client.exactly(int(match[1]) + 2)[:-2]) if match else (reply, None)

    def unique(self, key: bytes) -> int:
        return int(self.one.ask(b"mg %s c" % key).split(b" ")[1][1:])

    def check(self, *rows) -> None:
        """Rows of (command, reply line), over one connection, in order."""
        for command, reply in rows:
            self.assertEqual(_rounded(self.one.ask(command)), reply, command)
