"""The ASGI application: the busy reports route, then all other routes, with common headers and problem documents."""

from __future__ import annotations

import secrets
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from sottovoce.service.collector import Collector, StudyStateError, UnknownStudyError
from sottovoce.service.http import admin, public, static
from sottovoce.service.http.addresses import Addresses
from sottovoce.service.http.headers import guarded
from sottovoce.service.http.reports import Receive, Refused, ReportsRoute, Scope, Send
from sottovoce.service.http.streams import Streams
from sottovoce.service.pages import routes as pages
from sottovoce.service.pages.live import LiveParts, WarmUp
from sottovoce.service.problems import problem
from sottovoce.service.stores.base import StoreDownError, StoreError, StoreFullError

_STATUS = {404: "not_found", 405: "method_not_allowed"}


class Application:
    """An ASGI application over a running collector. `sealed` holds the route for sealed reports, if there is one."""

    def __init__(
        self, collector: Collector, sealed: Sequence[BaseRoute] = (), addresses: Addresses | None = None
    ) -> None:
        self.collector = collector
        self._reports = ReportsRoute(collector)
        self._rest = Starlette(
            routes=[*public.routes(), *admin.routes(), *static.routes(), *pages.routes(), *sealed],
            exception_handlers={HTTPException: _http_problem, Exception: _bug, **_handlers()},
            lifespan=_lifespan,
        )
        self._rest.state.collector, self._rest.state.sealed = collector, bool(sealed)
        self._rest.state.live_parts, self._rest.state.streams = LiveParts(), Streams()
        self._rest.state.addresses = addresses or Addresses()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            study = ReportsRoute.study_of(scope["path"])
            if study is not None:
                await self._reports(scope, receive, send, study)
                return
            await self._rest(scope, receive, guarded(scope, send))
        elif scope["type"] == "lifespan":
            await self._rest(scope, receive, send)


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    warm_up = WarmUp(app.state.live_parts, app.state.collector)
    await run_in_threadpool(warm_up.start)
    yield
    await run_in_threadpool(warm_up.stop)


async def _http_problem(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 400
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return problem(_STATUS.get(status, "invalid_request"), headers=headers)


async def _bug(request: Request, error: Exception) -> Response:
    """Log the kind and the place of an unexpected error. Its message may contain what was sent, so it is not logged."""
    bug = secrets.token_hex(8)
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    request.app.state.collector.log.error("bug", id=bug, kind=type(error).__name__, place=place)
    return problem("internal_error", id=bug)


def _handlers() -> dict[type[Exception], Any]:
    codes: dict[type[Exception], str] = {
        UnknownStudyError: "unknown_study",
        StudyStateError: "state_conflict",
        StoreDownError: "unavailable",
        StoreError: "unavailable",
        StoreFullError: "disk_full",
    }

    def handler(code: str) -> Any:
        async def handle(request: Request, error: Exception) -> Response:
            request.app.state.collector.metrics.problem(code)
            return problem(code)

        return handle

    async def refused(request: Request, error: Exception) -> Response:
        code = error.code if isinstance(error, Refused) else "invalid_request"
        request.app.state.collector.metrics.problem(code)
        headers = {"www-authenticate": "Bearer"} if code == "unauthorized" else None
        return problem(code, headers=headers)

    return {kind: handler(code) for kind, code in codes.items()} | {Refused: refused}
