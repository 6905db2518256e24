"""Serving over HTTP/1.1 with uvicorn: no access log, no addresses, limits on slow and idle senders."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 30.0  # a connection that sent no whole request head by then is closed
IDLE_SECONDS = 75
BACKLOG = 4096
FILES = 65_536


class PatientProtocol(HttpToolsProtocol):
    """Closes connections on which no request arrives, so that idle senders do not pile up."""

    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.client = None  # nobody needs to know who sends
        self._head = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._head is None:  # a later request of the same connection: its head may be as slow
            self._head = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def on_headers_complete(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head is not None:
            self._head.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()


def allow_many_files() -> None:
    """Ten thousand connections need as many files."""
    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = FILES if most == resource.RLIM_INFINITY else min(FILES, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def make_server(app: Any, host: str, port: int) -> tuple[uvicorn.Server, socket.socket]:
    """A server and the socket that it listens on; port 0 takes a free one."""
    allow_many_files()
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logging.getLogger(name).disabled = True  # its lines may hold addresses and paths
    listening = socket.create_server((host, port), backlog=BACKLOG, family=_family(host))
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        loop="auto",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=10,
        backlog=BACKLOG,
    )
    return uvicorn.Server(config), listening


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
