"""Administrative routes with bearer tokens and scopes. Idempotency keys make retries safe."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sottovoce.core.errors import SottovoceError
from sottovoce.service import audit_log, operations
from sottovoce.service.http.public import collector_of
from sottovoce.service.http.reports import Refused, read_body
from sottovoce.service.invitations import Token, find_token, invite
from sottovoce.service.stores.base import CLOSED, OPEN
from sottovoce.study.reading import StudyFileError

MOST_KEY = 200
Act = Callable[[Request, Token, bytes, bytes], tuple[int, Any]]


async def _token(request: Request, scope: str) -> tuple[Token, str]:
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not secret:
        raise Refused("unauthorized")

    def find() -> Token | None:
        with collector_of(request).store.read() as work:
            return find_token(work, secret)

    token = await run_in_threadpool(find)
    if token is None:
        raise Refused("unauthorized")
    if scope not in token.scopes:
        raise Refused("forbidden")
    return token, secret


def changing(scope: str, act: Act) -> Callable[[Request], Awaitable[Response]]:
    """A route that changes something, once for each idempotency key."""

    async def handle(request: Request) -> Response:
        token, secret = await _token(request, scope)
        key = request.headers.get("idempotency-key", "")
        if not key or len(key) > MOST_KEY:
            raise Refused("invalid_request")
        body = await read_body(request.receive)
        return await run_in_threadpool(_once, request, token, secret, key, body, act)

    return handle


def _once(request: Request, token: Token, secret: str, key: str, body: bytes, act: Act) -> Response:
    """Return the stored answer to an idempotency key, or act and store the answer unless it contains a secret.

    The acts themselves do nothing twice, so that a crash between act and note does no harm.
    """
    collector = collector_of(request)
    name = hashlib.sha256(token.hash + key.encode()).digest()
    asked = f"{request.method} {request.url.path}?{request.url.query}".encode()
    digest = hashlib.sha256(asked + b"\n" + body).digest()
    with collector.store.read() as work:
        known = work.execute("SELECT digest, answer FROM requests WHERE hash = ?", (name,))
    if known and bytes(known[0][0]) != digest:
        raise Refused("key_reused")
    if known and (before := json.loads(bytes(known[0][1])))["body"] is not None:
        return JSONResponse(before["body"], before["status"])
    status, answer = act(request, token, body, secret.encode() + key.encode())
    kept = None if "invitations" in answer else answer
    if not known:

        def note() -> None:
            with collector.store.transaction() as work:
                work.execute(
                    "INSERT INTO requests (hash, digest, answer) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (name, digest, json.dumps({"status": status, "body": kept}).encode()),
                )

        collector.writer.call(note)
    return JSONResponse(answer, status)


def _create(request: Request, token: Token, body: bytes, secret: bytes) -> tuple[int, Any]:
    participants = request.query_params.get("participants", "")
    if (
        not (participants.isdecimal() and participants.isascii() and 0 < len(participants) <= 12)
        or int(participants) < 1
    ):
        raise Refused("invalid_request")
    collector = collector_of(request)
    try:
        name = collector.create(
            body, int(participants), by=token.name, draft=request.query_params.get("draft") == "true"
        )
    except StudyFileError as problem:
        rows = [{"line": one.line, "what": one.what, "remedy": one.remedy} for one in problem.mistakes]
        return 400, {"mistakes": rows}
    except SottovoceError:
        raise Refused("invalid_request") from None
    running = collector.study(name)
    others = [other.name for other in collector.open_namesakes(name)]
    return 201, {"id": name, "state": running.row.state, "manifest": running.manifest.hash, "also_open": others}


def _set(state: str) -> Act:
    def change(request: Request, token: Token, body: bytes, secret: bytes) -> tuple[int, Any]:
        collector, name = collector_of(request), request.path_params["study"]
        collector.set_state(name, state, by=token.name)
        return 200, {"id": name, "state": collector.study(name).row.state}

    return change


def _invite(request: Request, token: Token, body: bytes, secret: bytes) -> tuple[int, Any]:
    try:
        count = json.loads(body)["count"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Refused("invalid_request") from None
    collector = collector_of(request)
    running = collector.study(request.path_params["study"])
    if not running.manifest.facts.collection.invitations:
        raise Refused("state_conflict")

    def add() -> list[str]:
        with collector.store.transaction() as work:
            return invite(work, running.number, running.manifest.study, count, by=token.name, secret=secret)

    try:
        return 201, {"id": running.name, "invitations": collector.writer.call(add)}
    except ValueError:
        raise Refused("invalid_request") from None


async def status(request: Request) -> Response:
    """The state and counts of a study, with refused reports by reason."""
    await _token(request, "read")
    collector = collector_of(request)
    number = collector.study(request.path_params["study"]).number

    def read() -> Any:
        with collector.store.read() as work:
            return operations.study_status(work, work.study(number))

    return JSONResponse(await run_in_threadpool(read))


async def log(request: Request) -> Response:
    """The log of administrative acts."""
    await _token(request, "read")

    def read() -> Any:
        with collector_of(request).store.read() as work:
            return {"acts": list(audit_log.entries(work))}

    return JSONResponse(await run_in_threadpool(read))


def routes() -> list[Route]:
    """The administrative routes."""
    study = "/v1/admin/studies/{study}"
    return [
        Route("/v1/admin/studies", changing("manage", _create), methods=["POST"]),
        Route(study, status),
        Route(f"{study}/open", changing("manage", _set(OPEN)), methods=["POST"]),
        Route(f"{study}/close", changing("manage", _set(CLOSED)), methods=["POST"]),
        Route(f"{study}/invitations", changing("invite", _invite), methods=["POST"]),
        Route("/v1/admin/log", log),
    ]
