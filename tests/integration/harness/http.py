"""Requests to the administration listener: whole requests by the standard library, and raw bytes."""

import base64
import http.client
import json
import re
import socket

from .daemon import DaemonCase, wait_for
from .environment import patience

ADMIN = ("--set", "admin.listeners=[127.0.0.1:0]")


class AdminCase(DaemonCase):
    """A daemon with a listener for administration, and one for clients."""

    def start_admin(self, *arguments, **options):
        process = self.start(*ADMIN, *arguments, **options)
        wait_for(lambda: self.get("/readyz").status == 200, "ready")
        return process

    def admin_ports(self) -> list:
        return [int(port) for port in re.findall(r"administration by HTTP at \S+:(\d+)", self.log())]

    def admin_port(self) -> int:
        return wait_for(self.admin_ports, "a listener for administration")[-1]

    def connect_admin(self, where: int = 0, tls=None) -> http.client.HTTPConnection:
        """A connection that keeps its socket between requests. `where`: a port; 0: the last one. `tls`: a context."""
        kind, options = (http.client.HTTPSConnection, {"context": tls}) if tls else (http.client.HTTPConnection, {})
        connection = kind("127.0.0.1", where or self.admin_port(), timeout=patience(20), **options)
        self.addCleanup(connection.close)
        return connection

    def get(self, path: str, method: str = "GET", where: int = 0, tls=None, user: str = "", **headers):
        """A reply, read to its end; its body is in `.text`. `user`: "name:password"."""
        connection = self.connect_admin(where, tls)
        try:
            return ask(connection, path, method, user, **headers)
        finally:
            connection.close()

    def get_json(self, path: str):
        reply = self.get(path)
        self.assertEqual(reply.status, 200, reply.text)
        return json.loads(reply.text)

    def metrics(self, **options) -> dict:
        """Samples by name and labels, as they are written."""
        lines = [line for line in self.get("/metrics", **options).text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def raw(self, sent: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.admin_port()), timeout=patience(20))
        self.addCleanup(connection.close)
        connection.sendall(sent)
        return connection

    def raw_reply(self, sent: bytes) -> bytes:
        """All bytes up to the server's close."""
        connection = self.raw(sent)
        return read_all(connection)


def ask(connection: http.client.HTTPConnection, path: str, method: str = "GET", user: str = "", **headers):
    """One request on a connection that may have had others; the reply as in AdminCase.get()."""
    if user:
        headers["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
    connection.request(method, path, headers=headers)
    reply = connection.getresponse()
    reply.text = reply.read().decode()
    return reply


def read_all(connection: socket.socket) -> bytes:
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)
