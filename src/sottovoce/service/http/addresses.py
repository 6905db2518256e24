"""Addresses that people open: in QR codes and in the output of commands."""

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
    """The address under which others reach this server.

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
        address = _PUBLIC.fullmatch(self.public)
        if address is None:
            raise ParameterError(
                "The public address must be http:// or https://, a host and perhaps a port, without a path, such as"
                " https://collect.example.org."
            )
        object.__setattr__(self, "public", address[1])

    def base(self, request: Request) -> str:
        """Scheme and host of the addresses shown to the sender of a request."""
        if self.public is not None:
            return self.public
        scheme, host = request.url.scheme, request.headers.get("host", "")
        if self.trusts_proxy:
            said = request.headers.get("x-forwarded-proto", "")
            scheme = said if said in ("http", "https") else scheme
            host = _checked(request.headers.get("x-forwarded-host", "")) or host
        return f"{scheme}://{_checked(host) or 'localhost'}"

    def printed(self, host: str, port: int) -> str:
        """Scheme, host and port of the addresses that a command prints."""
        if self.public is not None:
            return self.public
        name = _reachable(host)
        return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def _checked(host: str) -> str:
    """The host if it is valid in a URL, otherwise the empty string."""
    return host if re.fullmatch(_HOST, host) else ""


def _reachable(host: str) -> str:
    """The host for a printed address. For a server on all interfaces, the one that faces the network."""
    if host not in _EVERYWHERE:
        return host
    far, near = _EVERYWHERE[host]
    try:
        with socket.socket(socket.AF_INET6 if ":" in far else socket.AF_INET, socket.SOCK_DGRAM) as tried:
            tried.connect((far, 9))  # sends nothing: the system only chooses its own address
            return str(tried.getsockname()[0])
    except OSError:
        return near
