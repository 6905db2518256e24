"""Routes that anyone may read: studies, manifests, estimates, tallies, checksums, health, metrics, remedies."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from sottovoce.client.transport import STUDY_STATE
from sottovoce.service import results
from sottovoce.service.collector import Collector
from sottovoce.service.course import Course, stored_tallies
from sottovoce.service.http import openapi
from sottovoce.service.http.reports import Refused
from sottovoce.service.http.streams import Streams
from sottovoce.service.problems import PROBLEMS, page
from sottovoce.service.signs import FAKES, MOST_FAKES

FORMS: dict[str, tuple[str, Callable[[results.StudyOutcome, float], bytes]]] = {
    "json": ("application/json", results.StudyOutcome.to_json),
    "csv": ("text/csv; charset=utf-8", lambda found, _: found.to_csv()),
    "arrow": ("application/vnd.apache.arrow.stream", lambda found, _: found.to_arrow()),
}
STREAM_SECONDS = 1.0  # between looks for new reports
QUIET_SECONDS = 15.0  # after which a stream says that it is alive


def collector_of(request: Request) -> Collector:
    """The collector behind the application."""
    found: Collector = request.app.state.collector
    return found


def tagged(request: Request, body: bytes, kind: str, tag: str | None = None) -> Response:
    """A response with an ETag, or 304 where the reader has it."""
    mark = f'"{tag or hashlib.sha256(body).hexdigest()[:32]}"'
    given = request.headers.get("if-none-match", "")
    if mark in [one.strip().removeprefix("W/") for one in given.split(",")] or given.strip() == "*":
        return Response(status_code=304, headers={"etag": mark})
    return Response(body, headers={"etag": mark}, media_type=kind)


async def studies(request: Request) -> Response:
    """All studies."""
    return JSONResponse({"studies": [_study(one) for one in collector_of(request).courses.values()]})


async def study(request: Request) -> Response:
    """One study."""
    return JSONResponse(_study(collector_of(request).course(request.path_params["study"])))


def _study(course: Course) -> dict[str, Any]:
    return {
        "name": course.manifest.facts.name,
        "id": course.name,
        "state": course.row.state,
        "round": course.manifest.number,
        "manifest": course.manifest.hash,
        "reports": course.row.reports,
    }


async def manifest(request: Request) -> Response:
    """The current manifest, or that of an earlier round by its hash; a header says whether reports are still taken."""
    course = collector_of(request).course(request.path_params["study"])
    wanted = request.query_params.get("hash")
    for one in course.manifests:
        if wanted == one.hash or (wanted is None and one is course.manifests[-1]):
            response = tagged(request, one.content, "application/json", one.hash)
            response.headers[STUDY_STATE] = course.row.state
            return response
    raise Refused("not_found")


def _number(request: Request, name: str, usual: float, low: float, high: float) -> float:
    """A number of the query, within its range."""
    text = request.query_params.get(name, str(usual))
    try:
        found = float(text) if len(text) <= 20 else math.nan
    except ValueError:
        found = math.nan
    if not low <= found <= high:
        raise Refused("invalid_request")
    return found


def _level(request: Request) -> float:
    return _number(request, "level", 0.95, 0.5, 0.9999)


def _fakes(request: Request) -> float:
    return _number(request, "fakes", FAKES, 0.0, MOST_FAKES)


def _form(request: Request) -> str:
    given = request.query_params.get("format")
    if given is not None:
        if given not in FORMS:
            raise Refused("invalid_request")
        return given
    accepted = request.headers.get("accept", "")
    return next((name for name, (kind, _) in FORMS.items() if kind.partition(";")[0] in accepted), "json")


async def estimates(request: Request) -> Response:
    """Estimates with intervals, as JSON, CSV or Arrow."""
    level, form, fakes = _level(request), _form(request), _fakes(request)
    collector, name = collector_of(request), request.path_params["study"]
    found = await run_in_threadpool(collector.outcome, name, level)
    kind, write = FORMS[form]
    counted = (found.manifest.hash, found.row.state, found.row.reports, found.row.checksum.hex(), found.alarms)
    parts = (*counted, level, form, fakes)
    tag = hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:32]
    response = tagged(request, await run_in_threadpool(write, found, fakes), kind, tag)
    response.headers["vary"] = "accept"
    return response


async def stream(request: Request) -> Response:
    """The same as events, whenever reports were counted."""
    level, fakes = _level(request), _fakes(request)
    collector, name = collector_of(request), request.path_params["study"]

    def said() -> bytes:
        return collector.outcome(name, level).to_json(fakes)

    return events(request, lambda: run_in_threadpool(said))


def events(request: Request, say: Callable[[], Awaitable[bytes]]) -> Response:
    """A stream of what there is to say, whenever reports were counted; at most once a second."""
    collector, name = collector_of(request), request.path_params["study"]
    collector.course(name)
    streams: Streams = request.app.state.streams

    async def parts() -> AsyncIterator[bytes]:
        with streams.held(name) as ended:
            seen, quiet = None, 0.0
            while not ended.is_set() and not await request.is_disconnected():
                row = collector.course(name).row
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
    """The counts of all arms and rounds; with round and arm, a tally file that `sottovoce estimate` reads."""
    collector, name = collector_of(request), request.path_params["study"]
    number = collector.course(name).number
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
    course = collector.course(name)
    if not 1 <= number <= len(course.manifests) or arm >= len(course.manifests[number - 1].stage.arms):
        raise Refused("not_found")
    with collector.store.read() as work:
        tally = stored_tallies(work, course.number, course.manifests[number - 1])[arm]
    return bytes(tally.to_bytes())


async def checksum(request: Request) -> Response:
    """The number of counted reports and the XOR of the SHA-256 of their ids."""
    row = collector_of(request).course(request.path_params["study"]).row
    return JSONResponse({"id": row.name, "reports": row.reports, "checksum": row.checksum.hex()})


async def alive(request: Request) -> Response:
    """Whether the process answers."""
    return PlainTextResponse("ok\n")


async def ready(request: Request) -> Response:
    """Whether reports can be taken: the last commit worked, and so did the last look at the store."""
    collector = collector_of(request)
    well = collector.writer.is_well and not any(one.failed for one in collector.courses.values())
    return PlainTextResponse("ready\n" if well else "not ready\n", 200 if well else 503)


async def metrics(request: Request) -> Response:
    """Counters for Prometheus."""
    return Response(collector_of(request).metrics_text(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def description(request: Request) -> Response:
    """The OpenAPI document."""
    return JSONResponse(openapi.document(sealed=request.app.state.sealed))


async def remedy(request: Request) -> Response:
    """What a problem's code means, and what to do."""
    code = request.path_params["code"]
    if code not in PROBLEMS:
        raise Refused("not_found")
    return page(code)


async def preflight(request: Request) -> Response:
    """Pages of others may read what is public."""
    request.app.state.collector.course(request.path_params["study"])
    return Response(status_code=204)


def routes() -> list[Route]:
    """All of them."""
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
