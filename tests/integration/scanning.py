"""Shared by the tests of ranges: loading many keys at once, and walking through pages by their cursors."""

from harness import Options, ServerCase
from harness.connection import block

# On a busy machine the time limit could end pages early. These tests check exactly where pages end, so the limit is long.
UNHURRIED = ("limits.scan_time", "10s")


def page_through(client, first: bytes, following) -> list:
    """All keys of a paged scan; `following(cursor)` makes the next page's command. Fails if a page makes no progress."""
    keys, seen, command = [], set(), first
    while True:
        records = client.records(command)
        cursors = [record[1] for record in records if record[0] == "CURSOR"]
        page = [record[0] for record in records if record[0] != "CURSOR"]
        assert page or not cursors, f"an empty page that is not the last: {command!r}"
        assert seen.isdisjoint(page) and len(set(page)) == len(page), f"a key comes again in the page of {command!r}"
        keys += page
        seen.update(page)
        if not cursors:
            return keys
        command = following(cursors[0])


class ScanCase(ServerCase):
    options = Options(settings=(UNHURRIED,))

    def load(self, client, pairs) -> None:
        pairs = list(pairs)
        for begin in range(0, len(pairs), 2000):
            part = pairs[begin:begin + 2000]
            client.send(b"".join(block(b"set", key, value) for key, value in part))
            for key, _ in part:
                self.assertEqual(client.line(), b"STORED", key)

    def keys(self, command: bytes) -> list:
        return [record[0] for record in self.client.records(command)]
