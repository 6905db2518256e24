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
from sottovoce.service.http.addresses import Addresses
from sottovoce.service.http.public import collector_of, events, tagged
from sottovoce.service.http.reports import Refused
from sottovoce.service.pages import comparisons, view
from sottovoce.service.pages.live import LEVEL, LiveParts, Rendering, planned_numbers
from sottovoce.service.pages.participant import participant_page
from sottovoce.service.pages.templating import rendered
from sottovoce.service.running_study import RunningStudy

LEAST, MOST = 10, 10_000_000  # participants of the planner page
SLIDER = {str(round(10 ** (place / 10))) for place in range(20, 61)}  # the numbers at which its slider stops


def shown(template: str, **values: Any) -> HTMLResponse:
    """The response with a rendered page."""
    return HTMLResponse(rendered(template, **values))


async def index(request: Request) -> Response:
    """The page with all studies."""
    return shown("index.html", studies=list(collector_of(request).studies.values()))


def _parts(request: Request) -> LiveParts:
    parts: LiveParts = request.app.state.live_parts
    return parts


def _live(request: Request) -> Rendering:
    return _parts(request).of(collector_of(request), request.path_params["study"])


async def study(request: Request) -> Response:
    """The dashboard of a study."""
    running = collector_of(request).study(request.path_params["study"])
    rendering = await run_in_threadpool(_live, request)
    # The page does not wait for audits that were not made yet: it asks for them afterwards.
    certificate_table: dict[str, object] = {"arms": None}
    if certificates.are_made(running.manifest):
        certificate_table = await run_in_threadpool(_certificates, running.manifest)
    return shown("study.html", running=running, live=Markup(rendering.text), **certificate_table)


async def certified(request: Request) -> Response:
    """The table of exact privacy losses."""
    running = collector_of(request).study(request.path_params["study"])
    return shown("certificates.html", **await run_in_threadpool(_certificates, running.manifest))


def _certificates(manifest: Manifest) -> dict[str, object]:
    return {"arms": certificates.arms(manifest), "shuffled": certificates.behind_shuffler(manifest)}


async def live(request: Request) -> Response:
    """The live part of the dashboard."""
    rendering = await run_in_threadpool(_live, request)
    return tagged(request, rendering.text.encode(), "text/html; charset=utf-8", rendering.tag)


async def changes(request: Request) -> Response:
    """A stream of the number of reports. The page then asks for the estimates itself."""
    collector, name = collector_of(request), request.path_params["study"]

    async def said() -> bytes:
        return b"%d" % collector.study(name).row.reports

    return events(request, said)


async def pairs(request: Request) -> Response:
    """All pairs of groups of a question, compared. Pages load this on demand."""
    study, question = (request.path_params[key] for key in ("study", "question"))
    text = await run_in_threadpool(_parts(request).compared, collector_of(request), study, question)
    if text is None:
        raise Refused("not_found")
    return tagged(request, text.encode(), "text/html; charset=utf-8")


async def pairs_file(request: Request) -> Response:
    """All pairs of groups of a question, as a CSV file."""
    collector, name = collector_of(request), request.path_params["study"]
    outcome = await run_in_threadpool(collector.outcome, name, LEVEL)
    for one in outcome.results.questions:
        if one.asked.name == request.path_params["question"]:
            body = await run_in_threadpool(comparisons.to_csv, one, LEVEL)
            if body is not None:
                return tagged(request, body, "text/csv; charset=utf-8")
    raise Refused("not_found")


async def picture(request: Request) -> Response:
    """The chart of a question as SVG."""
    collector, name = collector_of(request), request.path_params["study"]
    outcome = await run_in_threadpool(collector.outcome, name, LEVEL)
    for one in outcome.results.questions:
        if one.asked.name == request.path_params["question"]:
            chart = await run_in_threadpool(one.question.chart, one.estimates, LEVEL)
            return tagged(request, chart.encode(), "image/svg+xml")
    raise Refused("not_found")


async def code(request: Request) -> Response:
    """The address of the participant's page as a QR code."""
    running = collector_of(request).study(request.path_params["study"])
    addresses: Addresses = request.app.state.addresses
    address, file = f"{addresses.base(request)}/s/{running.name}", io.BytesIO()
    segno.make(address, error="m").save(file, kind="svg", scale=4, border=2, xmldecl=False)
    return Response(file.getvalue(), media_type="image/svg+xml")


async def participant(request: Request) -> Response:
    """The participant page. A sealed study has its form at the shuffler, which hides senders from the collector."""
    running = collector_of(request).study(request.path_params["study"])
    sealed = running.manifest.facts.collection.sealed_for is not None
    closed = running.row.state in ENDED
    return participant_page(request, running.name, running.manifest, elsewhere=sealed, closed=closed)


async def planner(request: Request) -> Response:
    """The planner page: margins for other numbers of participants or another epsilon."""
    collector, name = collector_of(request), request.path_params["study"]
    running = collector.study(name)
    people = min(max(planned_numbers(collector, name).participants or PARTICIPANTS, LEAST), MOST)
    epsilon = max(0.25, round(4 * float(running.manifest.facts.epsilon)) / 4)
    values = await _planned(request, running, people, f"{epsilon:g}")
    return shown("planner.html", **values, place=round(10 * math.log10(people)), quarter=round(4 * epsilon))


async def rows(request: Request) -> Response:
    """The live part of the planner page."""
    running = collector_of(request).study(request.path_params["study"])
    people, epsilon = (request.query_params.get(key, "") for key in ("participants", "epsilon"))
    if people not in SLIDER or epsilon not in {f"{quarter / 4:g}" for quarter in range(1, 33)}:
        raise Refused("invalid_request")
    return shown("rows.html", **await _planned(request, running, int(people), epsilon))


async def _planned(request: Request, running: RunningStudy, people: int, epsilon: str) -> dict[str, Any]:
    """Plan one study at a time. A plan may take seconds, and reports are counted meanwhile."""
    state = request.app.state
    if not hasattr(state, "planning"):
        state.planning = CapacityLimiter(1)
    return await to_thread.run_sync(_rows, running, people, epsilon, limiter=state.planning)


def _rows(running: RunningStudy, people: int, epsilon: str) -> dict[str, Any]:
    try:
        plan = view.planned(running.row.source, people, epsilon)
    except SottovoceError as problem:
        return {"running": running, "people": people, "plan": None, "problem": str(problem)}
    return {"running": running, "people": people, "plan": plan, "problem": ""}


def routes() -> list[Route]:
    """The routes of the pages."""
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
