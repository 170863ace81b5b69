"""Spans of OpenTelemetry for each request: `mxkv.Client(server, hook=mxkv.opentelemetry.tracing())`.

Needs the package opentelemetry-api. Import this module by name: `mxkv` does not import it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace

from ._hooks import Hook


def tracing(provider: Any = None) -> Hook:
    """A hook that makes a span of kind client for each request, of this provider of tracers or the global one."""
    tracer = trace.get_tracer("mxkv", tracer_provider=provider)

    @contextmanager
    def span(command: str, server: str) -> Iterator[None]:
        host, _, port = server.rpartition(":")
        attributes: dict[str, str | int] = {"db.system.name": "mxkv", "db.operation.name": command, "server.address": host or server}
        if host:
            attributes["server.port"] = int(port)
        with tracer.start_as_current_span(command, kind=trace.SpanKind.CLIENT, attributes=attributes) as made:
            try:
                yield
            except Exception as error:
                made.set_attribute("error.type", type(error).__name__)
                raise
    return span
