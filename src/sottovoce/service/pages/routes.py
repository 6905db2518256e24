"""The routes of the pages."""

from __future__ import annotations

import io
import math
from typing import Any

import segno
from anyio import CapacityLimiter, to_thread
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from sottovoce.client.transport import ENDED
from sottovoce.core.errors import SottovoceError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.service import certificates
from sottovoce.service.collector import PARTICIPANTS
from sottovoce.service.course import Course
from sottovoce.service.http.addresses import Addresses
from sottovoce.service.http.public import collector_of, events, tagged
from sottovoce.service.http.reports import Refused
from sottovoce.service.pages import comparisons, view
from sottovoce.service.pages.live import LEVEL, LiveParts, Rendering, planned_numbers
from sottovoce.service.pages.participant import participant_page
from sottovoce.service.pages.templating import rendered

LEAST, MOST = 10, 10_000_000  # participants of the planner page
SLIDER = {str(round(10 ** (place / 10))) for place in range(20, 61)}  # the numbers at which its slider stops


def shown(template: str, **values: Any) -> HTMLResponse:
    """A page."""
    return HTMLResponse(rendered(template, **values))


async def index(request: Request) -> Response:
    """All studies."""
    return shown("index.html", courses=list(collector_of(request).courses.values()))


def _parts(request: Request) -> LiveParts:
    parts: LiveParts = request.app.state.live_parts
    return parts


def _live(request: Request) -> Rendering:
    return _parts(request).of(collector_of(request), request.path_params["study"])


async def study(request: Request) -> Response:
    """The dashboard of a study."""
    course = collector_of(request).course(request.path_params["study"])
    found = await run_in_threadpool(_live, request)
    # The page does not wait for audits that were not made yet: it asks for them afterwards.
    made: dict[str, object] = {"arms": None}
    if certificates.are_made(course.manifest):
        made = await run_in_threadpool(_certificates, course.manifest)
    return shown("study.html", course=course, live=Markup(found.text), **made)


async def certified(request: Request) -> Response:
    """The table of the exact losses."""
    course = collector_of(request).course(request.path_params["study"])
    return shown("certificates.html", **await run_in_threadpool(_certificates, course.manifest))


def _certificates(manifest: Manifest) -> dict[str, object]:
    return {"arms": certificates.arms(manifest), "shuffled": certificates.behind_shuffler(manifest)}


async def live(request: Request) -> Response:
    """The part of the dashboard that changes."""
    found = await run_in_threadpool(_live, request)
    return tagged(request, found.text.encode(), "text/html; charset=utf-8", found.tag)


async def changes(request: Request) -> Response:
    """A stream of the number of reports. A page asks for the estimates itself, when it has shown the last ones."""
    collector, name = collector_of(request), request.path_params["study"]

    async def said() -> bytes:
        return b"%d" % collector.course(name).row.reports

    return events(request, said)


async def pairs(request: Request) -> Response:
    """Every two groups of a question, compared. A page asks for it when somebody looks."""
    study, question = (request.path_params[key] for key in ("study", "question"))
    text = await run_in_threadpool(_parts(request).compared, collector_of(request), study, question)
    if text is None:
        raise Refused("not_found")
    return tagged(request, text.encode(), "text/html; charset=utf-8")


async def pairs_file(request: Request) -> Response:
    """The same as a file."""
    collector, name = collector_of(request), request.path_params["study"]
    found = await run_in_threadpool(collector.outcome, name, LEVEL)
    for one in found.results.questions:
        if one.asked.name == request.path_params["question"]:
            body = await run_in_threadpool(comparisons.to_csv, one, LEVEL)
            if body is not None:
                return tagged(request, body, "text/csv; charset=utf-8")
    raise Refused("not_found")


async def picture(request: Request) -> Response:
    """The chart of a question."""
    collector, name = collector_of(request), request.path_params["study"]
    found = await run_in_threadpool(collector.outcome, name, LEVEL)
    for one in found.results.questions:
        if one.asked.name == request.path_params["question"]:
            chart = await run_in_threadpool(one.question.chart, one.estimates, LEVEL)
            return tagged(request, chart.encode(), "image/svg+xml")
    raise Refused("not_found")


async def code(request: Request) -> Response:
    """The address of the participant's page as a QR code."""
    course = collector_of(request).course(request.path_params["study"])
    addresses: Addresses = request.app.state.addresses
    address, file = f"{addresses.base(request)}/s/{course.name}", io.BytesIO()
    segno.make(address, error="m").save(file, kind="svg", scale=4, border=2, xmldecl=False)
    return Response(file.getvalue(), media_type="image/svg+xml")


async def participant(request: Request) -> Response:
    """The participant's page. That of a sealed study is at its shuffler, since a collector sees who sends."""
    course = collector_of(request).course(request.path_params["study"])
    sealed = course.manifest.facts.collection.sealed_for is not None
    closed = course.row.state in ENDED
    return participant_page(request, course.name, course.manifest, elsewhere=sealed, closed=closed)


async def planner(request: Request) -> Response:
    """What other numbers of participants, or another epsilon, would find out."""
    collector, name = collector_of(request), request.path_params["study"]
    course = collector.course(name)
    people = min(max(planned_numbers(collector, name).participants or PARTICIPANTS, LEAST), MOST)
    epsilon = max(0.25, round(4 * float(course.manifest.facts.epsilon)) / 4)
    values = await _planned(request, course, people, f"{epsilon:g}")
    return shown("planner.html", **values, place=round(10 * math.log10(people)), quarter=round(4 * epsilon))


async def rows(request: Request) -> Response:
    """The part of the planner that changes."""
    course = collector_of(request).course(request.path_params["study"])
    people, epsilon = (request.query_params.get(key, "") for key in ("participants", "epsilon"))
    if people not in SLIDER or epsilon not in {f"{quarter / 4:g}" for quarter in range(1, 33)}:
        raise Refused("invalid_request")
    return shown("rows.html", **await _planned(request, course, int(people), epsilon))


async def _planned(request: Request, course: Course, people: int, epsilon: str) -> dict[str, Any]:
    """One plan at a time: it may take seconds, anyone may ask, and reports are counted beside it."""
    state = request.app.state
    if not hasattr(state, "planning"):
        state.planning = CapacityLimiter(1)
    return await to_thread.run_sync(_rows, course, people, epsilon, limiter=state.planning)


def _rows(course: Course, people: int, epsilon: str) -> dict[str, Any]:
    try:
        plan = view.planned(course.row.source, people, epsilon)
    except SottovoceError as problem:
        return {"course": course, "people": people, "plan": None, "problem": str(problem)}
    return {"course": course, "people": people, "plan": plan, "problem": ""}


def routes() -> list[Route]:
    """All of them."""
    return [
        Route("/", index),
        Route("/studies/{study}", study),
        Route("/studies/{study}/live", live),
        Route("/studies/{study}/changes", changes),
        Route("/studies/{study}/certificates", certified),
        Route("/studies/{study}/qr.svg", code),
        Route("/studies/{study}/{question}.svg", picture),
        Route("/studies/{study}/{question}/pairs", pairs),
        Route("/studies/{study}/{question}/pairs.csv", pairs_file),
        Route("/s/{study}", participant),
        Route("/plan/{study}", planner),
        Route("/plan/{study}/rows", rows),
    ]
