"""The client that waits for each reply: pymemcache's, with ranges, batches, keys of any bytes, login, typed errors.

Not for use by two threads at once: PooledClient is.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from . import _commands
from ._address import Server, address_of
from ._hooks import Hook, around
from ._pymemcache import Client as _Base
from ._range_commands import RangeCommands
from ._retries import Retries, named
from ._wire import Codec, Exchange, Key, PlainSerde, Repeat, Request, Serde, T, bytes_of, needs_base64
from .errors import ClientError, ReplyError, error_of

_RECEIVE_BYTES = 1 << 18
_SENT_AT_ONCE = 1000  # commands, before their replies are read


class Client(RangeCommands, _Base):
    """All of pymemcache's Client, and the commands of ranges.

    `server` is "host:port", (host, port), the path of a unix socket, or a URL: mxkv://user:password@host:port, mxkvs:// for TLS.

    Beside pymemcache's arguments (`serde`, `key_prefix`, `tls_context`, ...):

    connect_timeout  seconds for a new connection; None for ever
    timeout          seconds for each send and receive; None for ever
    user, password   log in with these on each new connection
    retries          how often a read is sent again after its connection was lost. Time-outs are not retried.
    retry_wait       seconds before the first retry; each further one waits twice as long, a second at most
    retry_writes     also retry idempotent writes: set, delete, touch, and deleting and touching ranges
    hook             returns a context manager for each request, from its command and the server's name

    Differences from pymemcache: writes wait for their replies (`default_noreply=False`), `str` keys and values are UTF-8,
    a key may have any bytes.
    """

    def __init__(self, server: Server, *, user: str | None = None, password: str = "",
                 tls_context: ssl.SSLContext | None = None, connect_timeout: float | None = 1, timeout: float | None = 3,
                 hook: Hook | None = None, retries: int = 2, retry_wait: float = 0.05, retry_writes: bool = False,
                 serde: Serde | None = None, default_noreply: bool = False, allow_unicode_keys: bool = True,
                 encoding: str = "utf-8", no_delay: bool = True, **arguments: Any) -> None:
        address = address_of(server, user, password, tls_context)
        super().__init__(address.place, connect_timeout=connect_timeout, timeout=timeout, tls_context=address.tls_context,
                         serde=serde or PlainSerde(), default_noreply=default_noreply, encoding=encoding,
                         allow_unicode_keys=allow_unicode_keys, no_delay=no_delay, **arguments)
        self._login = None if address.user is None else _commands.login(address.user, address.password)
        self._name, self._hook = address.name, hook
        self._retries = Retries(retries, retry_wait, retry_writes)
        self._another_with = {"user": user, "password": password, "tls_context": tls_context, "connect_timeout": connect_timeout,
                              "timeout": timeout, "hook": hook, "retries": retries, "retry_wait": retry_wait, "serde": serde,
                              "no_delay": no_delay, **arguments}
        self._server = server
        self._has_sent_silent = False  # on this connection, so an error may belong to a noreply command

    def _another(self) -> Client:
        return Client(self._server, **self._another_with)

    @property
    def _codec(self) -> Codec:
        return Codec(self.serde, self.key_prefix)

    def _ask(self, request: Request[T]) -> T:
        return self._trying(request.command, request.repeat, lambda: self._exchange(request))

    def _trying(self, command: bytes, repeat: Repeat, work: Callable[[], T]) -> T:
        with around(self._hook, command, self._name):
            return self._retrying(repeat, work)

    def _retrying(self, repeat: Repeat, work: Callable[[], T]) -> T:
        """Does the work, and retries it if that is safe. Closes the connection after any error but an answer of the server."""
        attempt = 0
        while True:
            try:
                return work()
            except ReplyError:
                if self._has_sent_silent:
                    self.close()
                raise
            except BaseException as error:
                self.close()
                if (lost := named(error)) is None:
                    raise
                if (pause := self._retries.pause(repeat, attempt, lost)) is None:
                    if lost is error:
                        raise
                    raise lost from error
            time.sleep(pause)
            attempt += 1

    def _exchange(self, request: Request[T]) -> T:
        if self.sock is None:
            self._connect()
        return self._converse(request)

    def _converse(self, request: Request[T]) -> T:
        assert self.sock is not None
        exchange = Exchange(request, self.close)
        self.sock.sendall(request.data)
        while True:
            data = self.sock.recv(_RECEIVE_BYTES)
            if not data:
                raise ConnectionResetError("the server closed the connection in a reply")
            if exchange.feed(data):
                return exchange.result

    def _connect(self) -> None:
        super()._connect()
        self._has_sent_silent = False
        if self._login is not None:
            try:
                self._converse(self._login)
            except BaseException:
                self.close()
                raise

    # The parts that pymemcache's commands are made of.

    def check_key(self, key: Key, key_prefix: bytes | None = None) -> bytes:
        whole = Codec(self.serde, self.key_prefix if key_prefix is None else key_prefix).key(key)
        if needs_base64(whole):  # only arguments of other commands come here; keys have a way of their own
            raise ClientError("an argument must not have blanks or control bytes")
        return whole

    def _raise_errors(self, line: bytes, name: bytes) -> None:
        if error := error_of(line):
            raise error

    def _fetch_cmd(self, name: bytes, keys: Iterable[Any], expect_cas: bool, **more: Any) -> dict[Any, Any]:
        def fetch(some: Iterable[Any]) -> dict[Any, Any]:
            return self._trying(name, Repeat.always, lambda: super(Client, self)._fetch_cmd(name, some, expect_cas, **more))
        if name not in (b"get", b"gets"):
            return fetch(keys)
        keys = list(keys)
        plain = [key for key in keys if not self._is_binary(key)]
        found = fetch(plain) if plain else {}
        for some in _pieces([key for key in keys if self._is_binary(key)]):
            for key, (value, unique) in self._ask(_commands.get_many(self._codec, some)).items():
                found[key] = (value, b"%d" % unique) if expect_cas else value
        return found

    def _store_cmd(self, name: bytes, values: Mapping[Any, Any], expire: int, noreply: bool, flags: int | None = None,
                   cas: bytes | None = None) -> dict[Any, bool | None]:
        repeat = Repeat.if_asked if name == b"set" else Repeat.never
        stored: dict[Any, bool | None] = {}
        for some in _pieces([key for key in values if not self._is_binary(key)]):
            part = {key: values[key] for key in some}
            stored.update(self._trying(name, repeat, lambda part=part: super(Client, self)._store_cmd(  # type: ignore[misc]
                name, part, expire, noreply, flags, cas)))
            self._has_sent_silent |= noreply
        how = "set" if name == b"cas" else name.decode()
        for some in _pieces([key for key in values if self._is_binary(key)]):
            part = {key: values[key] for key in some}
            request = _commands.store_many(self._codec, how, part, expire, flags, int(cas) if cas else None)
            outcome = self._ask(request)
            stored.update(outcome)
        return stored

    def _misc_cmd(self, cmds: list[bytes], cmd_name: bytes, noreply: bool) -> list[bytes]:
        repeat = {b"version": Repeat.always, b"delete": Repeat.if_asked, b"touch": Repeat.if_asked}.get(cmd_name, Repeat.never)
        lines = []
        for some in _pieces(cmds):
            lines += self._trying(cmd_name, repeat, lambda some=some: super(Client, self)._misc_cmd(some, cmd_name, noreply))  # type: ignore[misc]
            self._has_sent_silent |= noreply
        return lines

    def delete(self, key: Key, noreply: bool | None = None) -> bool:
        if self._is_binary(key):
            return self._ask(_commands.delete_many(self._codec, [key]))[0]
        return super().delete(key, noreply)

    def delete_many(self, keys: Iterable[Key], noreply: bool | None = None) -> bool:
        keys = list(keys)
        for some in _pieces([key for key in keys if self._is_binary(key)]):
            self._ask(_commands.delete_many(self._codec, some))
        return super().delete_many([key for key in keys if not self._is_binary(key)], noreply)

    delete_multi = delete_many

    def incr(self, key: Key, value: int, noreply: bool = False) -> int | None:
        if self._is_binary(key):
            return self._ask(_commands.count(self._codec, key, value, down=False))
        return super().incr(key, value, noreply)

    def decr(self, key: Key, value: int, noreply: bool = False) -> int | None:
        if self._is_binary(key):
            return self._ask(_commands.count(self._codec, key, value, down=True))
        return super().decr(key, value, noreply)

    def touch(self, key: Key, expire: int = 0, noreply: bool | None = None) -> bool:
        if self._is_binary(key):
            return self._ask(_commands.touch(self._codec, key, expire))[0]
        return super().touch(key, expire, noreply)

    def _is_binary(self, key: Key) -> bool:
        return needs_base64(self.key_prefix + bytes_of(key))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _pieces(commands: list[Any]) -> Iterable[list[Any]]:
    """Splits commands into pieces so small that client and server do not both block on a full socket."""
    rest = iter(commands)
    return iter(lambda: list(islice(rest, _SENT_AT_ONCE)), [])
