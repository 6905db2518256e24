"""Serving over HTTP/1.1 with uvicorn: without access log or addresses, with limits on slow and idle senders."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 1 << 16  # of a request line with its headers, and of trailers
HEADER_SECONDS = 30.0  # a connection that sent no whole request head by then is closed
IDLE_SECONDS = 75
BACKLOG = 4096
FILES = 65_536


class PatientProtocol(HttpToolsProtocol):
    """HTTP protocol that closes idle connections and those with overlong request heads.

    The parser keeps the header that it reads, and says nothing before its end. So bytes are counted as they come, from
    the last event that shows progress on.
    """

    _head: asyncio.TimerHandle | None = None
    _bytes = 0  # since the last event

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.client = None  # nobody needs to know who sends
        self._head = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        super().data_received(data)
        if self._bytes > HEAD_BYTES:
            self._give_up()

    def on_message_begin(self) -> None:
        self._bytes = 0
        super().on_message_begin()
        if self._head is None:  # a later request of the same connection: its head may be as slow
            self._head = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def on_body(self, body: bytes) -> None:
        self._bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._bytes = 0
        super().on_message_complete()

    def on_headers_complete(self) -> None:
        self._bytes = 0
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES:
            raise ValueError("The head of a request is too long.")  # the parser refuses the request
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
    """Raise the limit of open files, for ten thousand connections."""
    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = FILES if most == resource.RLIM_INFINITY else min(FILES, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket bound to this address, not yet listening. Port 0 takes a free port."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if bound.family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def make_server(
    app: Any, host: str, port: int, bound: socket.socket | None = None
) -> tuple[uvicorn.Server, socket.socket]:
    """A server and its listening socket, which may have been bound before."""
    allow_many_files()
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logging.getLogger(name).disabled = True  # its lines may hold addresses and paths
    listening = bound_socket(host, port) if bound is None else bound
    listening.listen(BACKLOG)
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
