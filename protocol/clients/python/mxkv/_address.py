"""Addresses of servers: host and port, the path of a unix socket, or a URL. No I/O.

    mxkv://user:password@host:port     TCP; port 11211 if left out
    mxkvs://user:password@host:port    TLS, which checks the certificate against the system's authorities
    mxkv:///run/mxkv.sock              a unix socket
"""

from __future__ import annotations

import ssl
from typing import Any, NamedTuple, Optional, Union
from urllib.parse import unquote, urlsplit

from ._pymemcache import normalize_server_spec
from .errors import BadAddress

PORT = 11211

Server = Union[str, tuple[str, int], list[Any]]


class Address(NamedTuple):
    """Where a server is, and how to get in."""
    place: Union[tuple[str, int], str]  # host and port, or the path of a unix socket
    user: Optional[str]
    password: str
    tls_context: Optional[ssl.SSLContext]

    @property
    def name(self) -> str:
        """host:port, or the path."""
        return self.place if isinstance(self.place, str) else "%s:%d" % self.place


def address_of(server: Server, user: str | None, password: str, tls_context: ssl.SSLContext | None) -> Address:
    """The address of a server. Arguments that are given take precedence over the URL. BadAddress if it is none."""
    if not isinstance(server, str) or "://" not in server:
        try:
            place = normalize_server_spec(server)
        except (TypeError, ValueError) as error:
            raise BadAddress(f"{server!r} is not the address of a server: {error}") from error
        return Address(_checked(place), user, password, tls_context)
    try:
        url = urlsplit(server)
        port = url.port or PORT
    except ValueError as error:
        raise _bad(server, str(error)) from None
    if url.scheme not in ("mxkv", "mxkvs"):
        raise _bad(server, "the scheme must be mxkv or mxkvs")
    if url.query or url.fragment:
        raise _bad(server, "a URL has no '?' or '#'")
    is_path = url.path not in ("", "/")
    if is_path == bool(url.hostname) or (is_path and url.scheme == "mxkvs"):
        raise _bad(server, "it needs a host, or the path of a unix socket without TLS")
    if user is None and url.username:
        user, password = unquote(url.username), unquote(url.password or "")
    if url.scheme == "mxkvs" and tls_context is None:
        tls_context = ssl.create_default_context()
    return Address(unquote(url.path) if is_path else _checked((url.hostname or "", port)), user, password, tls_context)


def _checked(place: Union[tuple[str, int], str]) -> Union[tuple[str, int], str]:
    if isinstance(place, str):
        return place
    if len(place) != 2 or not isinstance(place[1], int):
        raise BadAddress(f"{place!r} is not a host and its port")
    host, port = place
    try:
        host.encode("idna")
    except UnicodeError:
        raise BadAddress(f"{host!r} is not the name of a host") from None
    if not 0 < port < 65536:
        raise BadAddress(f"the port of {host} must be 1 to 65535, not {port}")
    return place


def _bad(server: str, why: str) -> BadAddress:
    hidden = server.rpartition("@")[2]  # without the password
    return BadAddress(f"'{hidden}' is not the URL of a server: {why}")
