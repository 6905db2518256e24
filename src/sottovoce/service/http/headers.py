"""Security headers of every page, and CORS headers of public data."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import MutableHeaders

from sottovoce.service.http.reports import PREFLIGHT, SHARED, Scope, Send

SECURITY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "content-security-policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none';"
    " frame-ancestors 'none'; form-action 'none'",
}


def guarded(scope: Scope, send: Send) -> Send:
    """Add security headers to responses, and CORS headers to public data."""
    shared = scope["path"].startswith(("/v1/studies", "/static/"))

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-cache")
            if shared:
                for key, said in PREFLIGHT[:-1] if scope["method"] == "OPTIONS" else SHARED:
                    headers[key.decode()] = said.decode()
        await send(message)

    return sending
