"""Shared by the tests of ranges in the meta form: reading their replies, and walking through pages by their cursors."""

import base64
from dataclasses import dataclass, field

from scanning import ScanCase


@dataclass
class Page:
    """The reply to mr, or to mc with a delimiter: lines as (key, value or None, flags by letter), then the last line's flags."""
    items: list = field(default_factory=list)
    end: dict = field(default_factory=dict)

    @property
    def keys(self) -> list:
        return [item[0] for item in self.items]

    @property
    def cursor(self):
        return self.end.get(b"G")


def flags_of(tokens) -> dict:
    """The tokens of a reply by their letters; repeated ones are an error."""
    result = {}
    for token in tokens:
        letter = token[:2] if token[:1] == b"M" else token[:1]
        assert letter not in result, tokens
        result[letter] = token[len(letter):]
    return result


def key_of(flags: dict) -> bytes:
    return base64.b64decode(flags[b"k"], validate=True) if b"b" in flags else flags[b"k"]


def read_page(client) -> Page:
    page = Page()
    while True:
        line = client.line()
        word, *tokens = line.split(b" ")
        if word == b"EN":
            page.end = flags_of(tokens)
            return page
        assert word in (b"VA", b"HD"), line
        value = None
        size = int(tokens.pop(0)) if word == b"VA" else 0
        assert tokens[0][:1] == b"k", f"the key comes first: {line!r}"
        if word == b"VA":
            value = client.exactly(size + 2)
            assert value.endswith(b"\r\n"), line
            value = value[:-2]
        flags = flags_of(tokens)
        page.items.append((key_of(flags), value, flags))


def ask_page(client, command: bytes) -> Page:
    client.send(command + b"\r\n")
    return read_page(client)


def pages(client, command: bytes):
    """All pages; repeats the line with the cursor appended. Each page has an item or is the last."""
    cursor = None
    while True:
        page = ask_page(client, command + (b" G" + cursor if cursor else b""))
        assert int(page.end[b"A"]) == len(page.items), page.end
        assert page.items or not page.cursor, "an empty page that is not the last"
        yield page
        cursor = page.cursor
        if not cursor:
            return


def all_items(client, command: bytes) -> list:
    items = [item for page in pages(client, command) for item in page.items]
    assert len({item[0] for item in items}) == len(items), "a key comes twice"
    return items


def ask_flags(client, command: bytes) -> dict:
    """The flags of a one-line reply HD, by letter."""
    line = client.ask(command)
    word, *tokens = line.split(b" ")
    assert word == b"HD", line
    return flags_of(tokens)


def delete_all(client, command: bytes) -> list:
    """Deletes page by page; returns how many items each page deleted."""
    removed, cursor = [], None
    while True:
        flags = ask_flags(client, command + (b" G" + cursor if cursor else b""))
        removed.append(int(flags[b"A"]))
        cursor = flags.get(b"G")
        if not cursor:
            return removed
        assert removed[-1] > 0, "an empty page that is not the last"


def encoded(key: bytes) -> bytes:
    return base64.b64encode(key)


class MetaCase(ScanCase):
    def setUp(self):
        self.client = self.connect(timeout=60)
        self.client.ask(b"flush_all")

    def store_binary(self, pairs) -> None:
        pairs = list(pairs)
        self.client.send(b"".join(b"ms %s %d b\r\n%s\r\n" % (encoded(key), len(value), value) for key, value in pairs))
        for key, _ in pairs:
            self.assertEqual(self.client.line(), b"HD", key)
