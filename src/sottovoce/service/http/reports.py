"""The busy route, POST /v1/studies/{name}/reports. Plain ASGI halves the cost of a request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache
from typing import Any

import msgspec

from sottovoce.core.errors import SottovoceError
from sottovoce.core.exchange.wire import CBOR_TYPE, JSON_TYPE, MOST_BYTES, Batch
from sottovoce.service.collector import Collector
from sottovoce.service.intake import Submission
from sottovoce.service.problems import PROBLEM_TYPE, PROBLEMS, document

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
BODY_SECONDS = 20.0  # a sender that takes longer is answered with 408
RETRY_SECONDS = 2

# Pages of others may send reports: no cookie and no credential is involved.
SHARED = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"etag, retry-after, study-state"),
    (b"x-content-type-options", b"nosniff"),
]
PREFLIGHT = [
    *SHARED,
    (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
    (b"access-control-allow-headers", b"content-type, if-none-match"),
    (b"access-control-max-age", b"86400"),
    (b"content-length", b"0"),
]


class Refused(Exception):
    """A request refused before it is queued. `code` names its problem."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class ReportsRoute:
    """The ASGI route that takes batches of reports."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    @staticmethod
    def study_of(path: str) -> str | None:
        """The study named in the path of a reports request, or None."""
        parts = path.split("/")
        return parts[3] if len(parts) == 5 and parts[1:3] == ["v1", "studies"] and parts[4] == "reports" else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send, study: str) -> None:
        """Answer one request."""
        if scope["method"] == "OPTIONS":
            await _send(send, 204, PREFLIGHT, b"")
            return
        try:
            if scope["method"] != "POST":
                raise Refused("method_not_allowed")
            one = await self._submitted(scope, receive, study)
        except Refused as refusal:
            self._collector.metrics.problem(refusal.code)
            await self._refuse(send, refusal.code, study)
            return
        if one.problem is not None:
            await self._refuse(send, one.problem, study)
        else:
            await _send(send, 200, _headers(JSON_TYPE), _answer(one))

    async def _submitted(self, scope: Scope, receive: Receive, study: str) -> Submission:
        """Submit the batch of a request, and wait for its commit."""
        if study not in self._collector.studies:
            raise Refused("unknown_study")
        if self._collector.studies[study].manifest.facts.collection.sealed_for is not None:
            raise Refused("sealed_only")
        kind, length = _described(scope)
        if kind not in (CBOR_TYPE, JSON_TYPE):
            raise Refused("unsupported_type")
        if length > MOST_BYTES:
            raise Refused("too_large")
        body = await read_body(receive)
        try:
            batch = Batch.from_cbor(body) if kind == CBOR_TYPE else Batch.from_json(body)
        except (SottovoceError, ValueError, RecursionError):
            raise Refused("invalid_batch") from None
        future = asyncio.get_running_loop().create_future()
        one = self._collector.submit(study, batch, future)
        await future
        return one

    async def _refuse(self, send: Send, code: str, study: str) -> None:
        headers = _headers(PROBLEM_TYPE)
        more: dict[str, Any] = {}
        if code in ("queue_full", "unavailable", "round_failed", "disk_full", "internal_error"):
            headers.append((b"retry-after", str(RETRY_SECONDS).encode()))
        if code == "method_not_allowed":
            headers.append((b"allow", b"POST, OPTIONS"))
        if code == "outdated_manifest":
            more["manifest"] = self._collector.study(study).manifest.hash
        if code in ("too_large", "slow_sender"):
            headers.append((b"connection", b"close"))  # the rest of the body is not read
        await _send(send, PROBLEMS[code].status or 400, headers, document(code, **more))


async def read_body(receive: Receive) -> bytes:
    """The request body. Raises `Refused` if it is too long or too slow."""
    message = await _received(receive, BODY_SECONDS)
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return _checked(body)
    parts, size = [body], len(body)
    loop = asyncio.get_running_loop()
    end = loop.time() + BODY_SECONDS
    while message.get("more_body"):
        message = await _received(receive, end - loop.time())
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BYTES:
            raise Refused("too_large")
    return b"".join(parts)


def _checked(body: bytes) -> bytes:
    if len(body) > MOST_BYTES:
        raise Refused("too_large")
    return body


async def _received(receive: Receive, seconds: float) -> MutableMapping[str, Any]:
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            message = await receive()
    except TimeoutError:
        raise Refused("slow_sender") from None
    if message["type"] == "http.disconnect":
        raise Refused("slow_sender")
    return message


def _described(scope: Scope) -> tuple[str, int]:
    """The content type without parameters, and the content length (0 if unknown)."""
    kind, length = "", 0
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value.decode("latin-1").partition(";")[0].strip().lower()
        elif name == b"content-length":
            length = int(value) if value.isdigit() and len(value) < 19 else 0
    return kind, length


def _headers(kind: str) -> list[tuple[bytes, bytes]]:
    return [*SHARED, (b"content-type", kind.encode()), (b"cache-control", b"no-store")]


@lru_cache(maxsize=4096)
def _plain_answer(accepted: int, duplicates: int) -> bytes:
    return msgspec.json.encode({"accepted": accepted, "duplicates": duplicates, "failed": []})


def _answer(one: Submission) -> bytes:
    if not one.failed:
        return _plain_answer(one.accepted, one.duplicates)
    failed = [{"index": index, "code": code} for index, code in one.failed]
    return msgspec.json.encode({"accepted": one.accepted, "duplicates": one.duplicates, "failed": failed})


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    if status != 204:
        headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
