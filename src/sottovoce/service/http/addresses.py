"""Addresses that people open: what QR codes lead to, and what a command prints."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass

from starlette.requests import Request

from sottovoce.core.errors import ParameterError

_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
_PUBLIC = re.compile(rf"(https?://{_HOST})/?")
_EVERYWHERE = {"0.0.0.0": ("192.0.2.1", "127.0.0.1"), "::": ("2001:db8::1", "::1")}


@dataclass(frozen=True, slots=True)
class Addresses:
    """Under which address others reach this server.

    Attributes:
        public: the address that a proxy has, such as https://collect.example.org; None if requests say it.
        trusts_proxy: whether X-Forwarded-Proto and X-Forwarded-Host are read. A proxy must set both, since
            anyone can send them.
    """

    public: str | None = None
    trusts_proxy: bool = False

    def __post_init__(self) -> None:
        if self.public is None:
            return
        found = _PUBLIC.fullmatch(self.public)
        if found is None:
            raise ParameterError(
                "The public address must be http:// or https://, a host and perhaps a port, without a path, such as"
                " https://collect.example.org."
            )
        object.__setattr__(self, "public", found[1])

    def base(self, request: Request) -> str:
        """The beginning of addresses for whoever sent a request."""
        if self.public is not None:
            return self.public
        scheme, host = request.url.scheme, request.headers.get("host", "")
        if self.trusts_proxy:
            said = request.headers.get("x-forwarded-proto", "")
            scheme = said if said in ("http", "https") else scheme
            host = _checked(request.headers.get("x-forwarded-host", "")) or host
        return f"{scheme}://{_checked(host) or 'localhost'}"

    def printed(self, host: str, port: int) -> str:
        """The beginning of addresses that a command prints, for a server that listens on a host and a port."""
        if self.public is not None:
            return self.public
        name = _reachable(host)
        return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def _checked(host: str) -> str:
    """A host that may stand in an address, or nothing."""
    return host if re.fullmatch(_HOST, host) else ""


def _reachable(host: str) -> str:
    """For a server that listens on all addresses of this machine: the one that faces the network."""
    if host not in _EVERYWHERE:
        return host
    far, near = _EVERYWHERE[host]
    try:
        with socket.socket(socket.AF_INET6 if ":" in far else socket.AF_INET, socket.SOCK_DGRAM) as tried:
            tried.connect((far, 9))  # sends nothing: the system only chooses its own address
            return str(tried.getsockname()[0])
    except OSError:
        return near
