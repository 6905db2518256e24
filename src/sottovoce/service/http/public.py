"""Public routes: studies, manifests, estimates, tallies, checksums, health, metrics, problem pages."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from sottovoce.client.transport import STUDY_STATE
from sottovoce.service import results
from sottovoce.service.collector import Collector
from sottovoce.service.fake_report_signs import FAKES, MOST_FAKES
from sottovoce.service.http import openapi
from sottovoce.service.http.reports import Refused
from sottovoce.service.http.streams import Streams
from sottovoce.service.pages.templating import rendered
from sottovoce.service.problems import PROBLEMS
from sottovoce.service.running_study import RunningStudy, stored_tallies

FORMS: dict[str, tuple[str, Callable[[results.StudyOutcome, float], bytes]]] = {
    "json": ("application/json", results.StudyOutcome.to_json),
    "csv": ("text/csv; charset=utf-8", lambda outcome, _: outcome.to_csv()),
    "arrow": ("application/vnd.apache.arrow.stream", lambda outcome, _: outcome.to_arrow()),
}
STREAM_SECONDS = 1.0  # between looks for new reports
QUIET_SECONDS = 15.0  # after which a stream says that it is alive


def collector_of(request: Request) -> Collector:
    """The collector behind the application."""
    collector: Collector = request.app.state.collector
    return collector


def tagged(request: Request, body: bytes, kind: str, tag: str | None = None) -> Response:
    """A response with an ETag, or 304 if the reader has this version."""
    mark = f'"{tag or hashlib.sha256(body).hexdigest()[:32]}"'
    known_marks = request.headers.get("if-none-match", "")
    if mark in [one.strip().removeprefix("W/") for one in known_marks.split(",")] or known_marks.strip() == "*":
        return Response(status_code=304, headers={"etag": mark})
    return Response(body, headers={"etag": mark}, media_type=kind)


async def studies(request: Request) -> Response:
    """Name, state and counts of all studies."""
    return JSONResponse({"studies": [_study(one) for one in collector_of(request).studies.values()]})


async def study(request: Request) -> Response:
    """Name, state and counts of one study."""
    return JSONResponse(_study(collector_of(request).study(request.path_params["study"])))


def _study(running: RunningStudy) -> dict[str, Any]:
    return {
        "name": running.manifest.facts.name,
        "id": running.name,
        "state": running.row.state,
        "round": running.manifest.number,
        "manifest": running.manifest.hash,
        "reports": running.row.reports,
    }


async def manifest(request: Request) -> Response:
    """The current manifest, or that of an earlier round by its hash. A header gives the state of the study."""
    running = collector_of(request).study(request.path_params["study"])
    wanted = request.query_params.get("hash")
    for one in running.manifests:
        if wanted == one.hash or (wanted is None and one is running.manifests[-1]):
            response = tagged(request, one.content, "application/json", one.hash)
            response.headers[STUDY_STATE] = running.row.state
            return response
    raise Refused("not_found")


def _number(request: Request, name: str, usual: float, low: float, high: float) -> float:
    """A number from the query, checked against its range."""
    text = request.query_params.get(name, str(usual))
    try:
        number = float(text) if len(text) <= 20 else math.nan
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise Refused("invalid_request")
    return number


def _level(request: Request) -> float:
    return _number(request, "level", 0.95, 0.5, 0.9999)


def _fakes(request: Request) -> float:
    return _number(request, "fakes", FAKES, 0.0, MOST_FAKES)


def _form(request: Request) -> str:
    form = request.query_params.get("format")
    if form is not None:
        if form not in FORMS:
            raise Refused("invalid_request")
        return form
    accepted = request.headers.get("accept", "")
    return next((name for name, (kind, _) in FORMS.items() if kind.partition(";")[0] in accepted), "json")


async def estimates(request: Request) -> Response:
    """Estimates with intervals, as JSON, CSV or Arrow."""
    level, form, fakes = _level(request), _form(request), _fakes(request)
    collector, name = collector_of(request), request.path_params["study"]
    outcome = await run_in_threadpool(collector.outcome, name, level)
    kind, write = FORMS[form]
    counted = (
        outcome.manifest.hash,
        outcome.row.state,
        outcome.row.reports,
        outcome.row.checksum.hex(),
        outcome.alarms,
    )
    parts = (*counted, level, form, fakes)
    tag = hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:32]
    response = tagged(request, await run_in_threadpool(write, outcome, fakes), kind, tag)
    response.headers["vary"] = "accept"
    return response


async def stream(request: Request) -> Response:
    """The estimates as server-sent events, one whenever reports were counted."""
    level, fakes = _level(request), _fakes(request)
    collector, name = collector_of(request), request.path_params["study"]

    def said() -> bytes:
        return collector.outcome(name, level).to_json(fakes)

    return events(request, lambda: run_in_threadpool(said))


def events(request: Request, say: Callable[[], Awaitable[bytes]]) -> Response:
    """Server-sent events, one whenever reports were counted, at most once a second."""
    collector, name = collector_of(request), request.path_params["study"]
    collector.study(name)
    streams: Streams = request.app.state.streams

    async def parts() -> AsyncIterator[bytes]:
        with streams.held(name) as ended:
            seen, quiet = None, 0.0
            while not ended.is_set() and not await request.is_disconnected():
                row = collector.study(name).row
                now = (row.state, row.round, row.reports, row.checksum)
                if now != seen:
                    seen, quiet = now, 0.0
                    yield b"event: estimates\ndata: " + await say() + b"\n\n"
                elif quiet >= QUIET_SECONDS:
                    quiet = 0.0
                    yield b": nothing new\n\n"
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), STREAM_SECONDS)
                quiet += STREAM_SECONDS

    return StreamingResponse(parts(), media_type="text/event-stream", headers={"cache-control": "no-store"})


async def tallies(request: Request) -> Response:
    """The counts of all arms and rounds; for one round and arm, a tally file for `sottovoce estimate`."""
    collector, name = collector_of(request), request.path_params["study"]
    number = collector.study(name).number
    place = (request.query_params.get("round"), request.query_params.get("arm"))
    if place == (None, None):
        return JSONResponse(await run_in_threadpool(_all_tallies, collector, number))
    body = await run_in_threadpool(_one_tally, collector, name, place)
    return tagged(request, body, "application/octet-stream")


def _all_tallies(collector: Collector, number: int) -> dict[str, Any]:
    with collector.store.read() as work:
        row = work.study(number)
        return {
            "id": row.name,
            "reports": row.reports,
            "checksum": row.checksum.hex(),
            "tallies": results.tally_rows(work, row),
        }


def _one_tally(collector: Collector, name: str, place: tuple[str | None, str | None]) -> bytes:
    if not all(one is not None and one.isdecimal() and one.isascii() and len(one) < 10 for one in place):
        raise Refused("invalid_request")
    number, arm = (int(one or 0) for one in place)
    running = collector.study(name)
    if not 1 <= number <= len(running.manifests) or arm >= len(running.manifests[number - 1].stage.arms):
        raise Refused("not_found")
    with collector.store.read() as work:
        tally = stored_tallies(work, running.number, running.manifests[number - 1], running.row.epoch)[arm]
    return bytes(tally.to_bytes())


async def checksum(request: Request) -> Response:
    """The number of counted reports and the XOR of the SHA-256 of their ids."""
    row = collector_of(request).study(request.path_params["study"]).row
    return JSONResponse({"id": row.name, "reports": row.reports, "checksum": row.checksum.hex()})


async def alive(request: Request) -> Response:
    """Health check: the process answers."""
    return PlainTextResponse("ok\n")


async def ready(request: Request) -> Response:
    """Readiness check: the last commit and the last read of the store succeeded."""
    collector = collector_of(request)
    well = collector.writer.is_well and not any(one.failed for one in collector.studies.values())
    return PlainTextResponse("ready\n" if well else "not ready\n", 200 if well else 503)


async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    return Response(collector_of(request).metrics_text(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def description(request: Request) -> Response:
    """The OpenAPI document."""
    return JSONResponse(openapi.document(sealed=request.app.state.sealed))


async def remedy(request: Request) -> Response:
    """The page of a problem code: its meaning and its remedy."""
    code = request.path_params["code"]
    if code not in PROBLEMS:
        raise Refused("not_found")
    return HTMLResponse(rendered("problem.html", code=code, described=PROBLEMS[code]))


async def preflight(request: Request) -> Response:
    """Answer a CORS preflight request for public data."""
    request.app.state.collector.study(request.path_params["study"])
    return Response(status_code=204)


def routes() -> list[Route]:
    """The public routes."""
    one = "/v1/studies/{study}"
    return [
        Route("/v1/studies", studies),
        Route(one, study),
        Route(f"{one}/manifest", manifest),
        Route(f"{one}/estimates", estimates),
        Route(f"{one}/estimates/stream", stream),
        Route(f"{one}/tallies", tallies),
        Route(f"{one}/checksum", checksum),
        Route(one + "/{part}", preflight, methods=["OPTIONS"]),
        Route("/healthz", alive),
        Route("/readyz", ready),
        Route("/metrics", metrics),
        Route("/openapi.json", description),
        Route("/problems/{code}", remedy),
    ]
