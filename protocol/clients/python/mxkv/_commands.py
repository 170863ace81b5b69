"""Requests on single keys, in the meta form, which carries any key. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ._wire import Codec, Key, Reading, Repeat, Request, needs_base64, number, unexpected, whole_number
from .errors import ClientError

_MODES = {"set": b"", "add": b" ME", "replace": b" MR", "append": b" MA", "prepend": b" MP"}
_KEEPS_ITEM = ("append", "prepend")


def store_line(codec: Codec, how: str, key: Key, value: Any, expire: int, flags: int | None, unique: int | None = None) -> bytes:
    word, encoded = codec.key_words(key)
    data, client_flags = codec.pack(key, value, flags)
    line = b"ms %s %d%s%s" % (word, len(data), encoded, _MODES[how])
    if how not in _KEEPS_ITEM:
        line += b" F%d" % client_flags if client_flags else b""
        line += b" T%d" % expire if expire else b""
    if unique is not None:
        line += b" C%d" % unique
    return line + b"\r\n" + data + b"\r\n"


def delete_line(codec: Codec, key: Key, unique: int | None = None) -> bytes:
    word, encoded = codec.key_words(key)
    return b"md %s%s%s\r\n" % (word, encoded, b"" if unique is None else b" C%d" % unique)


def count_line(codec: Codec, key: Key, delta: int, down: bool, initial: int | None = None, expire: int = 0) -> bytes:
    word, encoded = codec.key_words(key)
    made = b"" if initial is None else b" N%d J%d" % (expire, initial)
    return b"ma %s%s D%d%s%s v\r\n" % (word, encoded, delta, b" MD" if down else b"", made)


def touch_line(codec: Codec, key: Key, expire: int) -> bytes:
    word, encoded = codec.key_words(key)
    return b"mg %s%s T%d\r\n" % (word, encoded, expire)


def get_line(codec: Codec, key: Key) -> bytes:
    word, encoded = codec.key_words(key)
    return b"mg %s%s v f c\r\n" % (word, encoded)


def get_many(codec: Codec, keys: Sequence[Key]) -> Request[dict[Key, tuple[Any, int]]]:
    """Value and unique of each existing key."""
    def read() -> Reading[dict[Key, tuple[Any, int]]]:
        found, error = {}, None
        for key in keys:
            reply = yield
            if wrong := reply.error():
                error = wrong  # read the replies behind it nevertheless
                continue
            if reply.block is not None:
                flags = reply.flags()
                found[key] = codec.unpack(key, reply.block, flags), number(flags, b"c", None)
            elif reply.words[0] != b"EN":
                raise unexpected(reply)
        if error:
            raise error
        return found
    return Request(b"".join(get_line(codec, key) for key in keys), read, Repeat.always)


class Found(NamedTuple):
    """What a read found: `data` None if there is no item. `is_current` False: the item is stale, or its client is to renew it."""
    data: bytes | None
    flags: int = 0
    unique: int | None = None
    ttl: int | None = None
    is_current: bool = True


def get_current(codec: Codec, key: Key) -> Request[Found]:
    """The bytes of an item, and what a near cache has to know of it."""
    def read() -> Reading[Found]:
        reply = (yield).checked()
        if reply.words[0] == b"EN":
            return Found(None)
        if reply.block is None:
            raise unexpected(reply)
        flags = reply.flags()
        ttl = number(flags, b"t", None)
        return Found(reply.block, number(flags, b"f"), number(flags, b"c", None), None if ttl < 0 else ttl,
                     not flags.keys() & {b"W", b"X", b"Z"})
    word, encoded = codec.key_words(key)
    return Request(b"mg %s%s v f c t\r\n" % (word, encoded), read, Repeat.always)


def store_many(codec: Codec, how: str, values: Mapping[Key, Any], expire: int, flags: int | None,
               unique: int | None = None) -> Request[dict[Key, bool | None]]:
    """For each key: was it stored? None if the key does not exist but had to."""
    outcomes = {b"HD": True, b"NS": False, b"EX": False, b"NF": None}

    def read() -> Reading[dict[Key, bool | None]]:
        stored, error = {}, None
        for key in values:
            reply = yield
            if reply.words[0] in outcomes:
                stored[key] = outcomes[reply.words[0]]
                continue
            error = reply.error()
            if not error:
                raise unexpected(reply)
        if error:
            raise error
        return stored
    data = b"".join(store_line(codec, how, key, value, expire, flags, unique) for key, value in values.items())
    return Request(data, read, Repeat.if_asked if how == "set" and unique is None else Repeat.never)


def delete_many(codec: Codec, keys: Sequence[Key]) -> Request[list[bool]]:
    return Request(b"".join(delete_line(codec, key) for key in keys), lambda: _all_done(len(keys)), Repeat.if_asked)


def touch(codec: Codec, key: Key, expire: int) -> Request[list[bool]]:
    return Request(touch_line(codec, key, expire), lambda: _all_done(1), Repeat.if_asked)


def count(codec: Codec, key: Key, delta: int, down: bool) -> Request[int | None]:
    def read() -> Reading[int | None]:
        reply = (yield).checked()
        return None if reply.block is None else whole_number(reply.block)
    return Request(count_line(codec, key, delta, down), read)


def _all_done(lines: int) -> Reading[list[bool]]:
    done, error = [], None
    for _ in range(lines):
        reply = yield
        if reply.words[0] in (b"HD", b"NF", b"EN"):
            done.append(reply.words[0] == b"HD")
            continue
        error = reply.error()
        if not error:
            raise unexpected(reply)
    if error:
        raise error
    return done


def word_line(line: bytes, wanted: bytes, repeat: Repeat) -> Request[bytes]:
    """A command whose answer is one line that begins with `wanted`. Its result is the rest of that line."""
    def read() -> Reading[bytes]:
        reply = (yield).checked()
        if reply.words[0] != wanted:
            raise unexpected(reply)
        return b" ".join(reply.words[1:])
    return Request(line + b"\r\n", read, repeat)


def stats(group: str) -> Request[dict[str, str]]:
    def read() -> Reading[dict[str, str]]:
        found: dict[str, str] = {}
        while (reply := (yield).checked()).words[0] == b"STAT":
            name, _, value = b" ".join(reply.words[1:]).decode("utf-8", "replace").partition(" ")
            found[name] = value
        if reply.words[0] not in (b"END", b"RESET"):
            raise unexpected(reply)
        return found
    if needs_base64(group.replace(" ", "_").encode()):
        raise ClientError("the group of statistics must not have control bytes")
    return Request(b"stats%s\r\n" % (b" " + group.encode() if group else b""), read, Repeat.always)


def login(user: str, password: str) -> Request[bytes]:
    credentials = f"{user} {password}".encode()
    return word_line(b"set auth 0 0 %d\r\n%s" % (len(credentials), credentials), b"STORED", Repeat.never)
