"""Replies to ranges that are not known to the byte: pages with other clients' keys among the client's own, pages that the server
may end before their limit, and counts that may be estimates. The client's own keys are exact in all of them.
"""

import base64
import re

ITEM_LINE = re.compile(rb"(?:VA (\d+)|HD) k([^ \r\n]+)([^\r\n]*)\r\n")
END_LINE = re.compile(rb"EN A(\d+)(?: G([A-Za-z0-9+/]+=*))?(?: O[^\r\n]*)?\r\n")
_VALUE = re.compile(rb"VALUE ([^ \r\n]+) \d+ (\d+)(?: \d+)?\r\n")
_KEY = re.compile(rb"KEY ([^ \r\n]+)\r\n")
_BINARY = b"SERVER_ERROR binary key, use mr\r\n"
_CURSOR = re.compile(rb"CURSOR ([A-Za-z0-9+/]+=*)\r\n")


class LoosePage:
    """One page: keys in strict order and within bounds, with all of the client's own keys up to the page's last key, unchanged."""

    def __init__(self, store, where, flags=None, classic=False, keys_only=False, encoded=False):
        self.store, self.where, self.flags = store, where, flags
        self.classic, self.keys_only, self.encoded = classic, keys_only, encoded
        self.own = {key: self._state(store.items[key]) for key in where.keys(store)}
        self.why = ""

    def _state(self, item):
        return (len(item.value), item.value if self.flags is not None and b"v" in self.flags else None)

    def __repr__(self):
        keys = list(self.own)
        return f"<page, {len(keys)} own keys from {keys[:3]} to {keys[-1:]}; {self.why}>"

    def match(self, received: bytes, at: int) -> int:
        return self._classic(received, at) if self.classic else self._meta(received, at)

    def _meta(self, received: bytes, at: int) -> int:
        seen = []
        while item := ITEM_LINE.match(received, at):
            at = item.end()
            key = base64.b64decode(item[2]) if item[3].startswith(b" b") else item[2]
            value = None
            if item[1] is not None:
                value = received[at:at + int(item[1])]
                at += int(item[1]) + 2
            seen.append((key, value))
        end = END_LINE.match(received, at)
        if end is None:
            if b"q" not in self.flags:
                self.why = "no EN line"
                return -1
            return at if self._judge(seen, True) else -1
        if int(end[1]) != len(seen):
            self.why = f"EN tells {end[1]} items of {len(seen)}"
            return -1
        return end.end() if self._judge(seen, end[2] is None) else -1

    def _classic(self, received: bytes, at: int) -> int:
        seen, pattern = [], _KEY if self.keys_only else _VALUE
        while item := pattern.match(received, at):
            at = item.end()
            value = None
            if not self.keys_only:
                value = received[at:at + int(item[2])]
                at += int(item[2]) + 2
            seen.append((base64.b64decode(item[1]) if self.encoded else item[1], value))
        if not self.encoded and received.startswith(_BINARY, at):
            return at + len(_BINARY) if self._judge(seen, False) else -1
        if cursor := _CURSOR.match(received, at):
            at = cursor.end()
        # Without a cursor a page does not show whether keys follow its last one.
        return at + 5 if received.startswith(b"END\r\n", at) and self._judge(seen, False) else -1

    def _fail(self, why: str) -> bool:
        self.why = why
        return False

    def _judge(self, seen: list, complete: bool) -> bool:
        keys = [key for key, _ in seen]
        if any((a <= b) if self.where.reverse else (a >= b) for a, b in zip(keys, keys[1:])):
            return self._fail("keys out of order")
        for key, value in seen:
            if not self.where.within(key):
                return self._fail(f"{key!r} is not within bounds")
            if key in self.own:
                if value is not None and len(value) != self.own[key][0] or self.own[key][1] not in (None, value):
                    return self._fail(f"{key!r} has another value")
            elif self.store.owned is None or self.store.owned(key):
                return self._fail(f"{key!r} is not there")
        if not keys and not complete:
            # An empty classic page is complete, or ends before a key that it cannot print.
            return not (self.own and self.encoded) if self.classic else self._fail("an empty page with a cursor")
        shown = set(keys)
        for key in self.own:
            passed = complete or ((key >= keys[-1]) if self.where.reverse else (key <= keys[-1]))
            if passed and key not in shown:
                return self._fail(f"{key!r} is missing")
        return True


class Estimate:
    """The answer to mc without e: exact unless it is marked as an estimate."""
    _LINE = re.compile(rb"HD( A\d+ B\d+)( ~\d+)?( O[^\r\n]*)?\r\n")

    def __init__(self, text: bytes, opaque: bytes):
        self.text, self.opaque = text, opaque

    def match(self, received: bytes, at: int) -> int:
        found = self._LINE.match(received, at)
        if not found or (found[3] or b"") != self.opaque:
            return -1
        return found.end() if found[2] or found[1] == self.text else -1

    def __repr__(self):
        return f"<HD{self.text.decode()}, or an estimate>"
