"""The routes of the pages."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import segno
from anyio import CapacityLimiter, to_thread
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from sottovoce.client.transport import ENDED
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.service import certificates
from sottovoce.service.collector import PARTICIPANTS
from sottovoce.service.http.addresses import Addresses
from sottovoce.service.http.public import collector_of, events, tagged
from sottovoce.service.http.reports import Refused
from sottovoce.service.pages import documents, listing, planning
from sottovoce.service.pages.crowd import crowd_text
from sottovoce.service.pages.live import LEVEL, LiveParts, Rendering
from sottovoce.service.pages.participant import participant_page, reader_language
from sottovoce.service.pages.templating import rendered
from sottovoce.service.running_study import RunningStudy
from sottovoce.study.charts import signed
from sottovoce.study.display import comparisons
from sottovoce.study.dossier.consent import consent_parts


def shown(template: str, **values: Any) -> HTMLResponse:
    """The response with a rendered page."""
    return HTMLResponse(rendered(template, **values))


async def index(request: Request) -> Response:
    """The page with all studies, or those of one state."""
    entries = await run_in_threadpool(listing.entries, collector_of(request), _parts(request))
    wanted = request.query_params.get("state", "")
    chosen = [one for one in entries if not wanted or one.group == wanted]
    counts = listing.counts(entries)
    return shown("index.html", here="studies", studies=chosen, counts=counts, wanted=wanted)


async def design(request: Request) -> Response:
    """The page that shows every component of the design system."""
    return shown("design.html", here="design")


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
    return shown("study.html", here="study", running=running, live=Markup(rendering.text), **certificate_table)


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
        if one.key == request.path_params["question"]:
            body = await run_in_threadpool(comparisons.to_csv, one, LEVEL)
            if body is not None:
                return tagged(request, body, "text/csv; charset=utf-8")
    raise Refused("not_found")


async def picture(request: Request) -> Response:
    """The chart of a question as SVG."""
    collector, name = collector_of(request), request.path_params["study"]
    outcome = await run_in_threadpool(collector.outcome, name, LEVEL)
    for one in outcome.results.questions:
        if one.key == request.path_params["question"]:
            chart = await run_in_threadpool(one.question.chart, one.estimates, LEVEL)
            source = documents.figure_source(outcome, one, collector.today())
            return tagged(request, signed(chart, one.asked.text("en"), source).encode(), "image/svg+xml")
    raise Refused("not_found")


async def code(request: Request) -> Response:
    """The address of the participant's page as a QR code."""
    running = collector_of(request).study(request.path_params["study"])
    addresses: Addresses = request.app.state.addresses
    address, file = f"{addresses.base(request)}/s/{running.name}", io.BytesIO()
    segno.make(address, error="m").save(file, kind="svg", scale=4, border=2, xmldecl=False)
    return Response(file.getvalue(), media_type="image/svg+xml")


async def report(request: Request) -> Response:
    """The report of a study as a document."""
    collector, name = collector_of(request), request.path_params["study"]
    running = collector.study(name)

    def written() -> str:
        with collector.store.read() as work:
            document = documents.report_of(work, collector.outcome(name, LEVEL), collector.today())
        return "".join(document.parts())

    return shown("document.html", here="report", running=running, kind="Report", parts=await run_in_threadpool(written))


async def dossier(request: Request) -> Response:
    """The dossier of a study as a document."""
    collector, name = collector_of(request), request.path_params["study"]
    running, plan = collector.study(name), _parts(request).planned(collector, name)
    people = plan.participants or PARTICIPANTS
    parts = await _one_at_a_time(request, documents.dossier_of, running.row.source, people, collector.today())
    return shown("document.html", here="dossier", running=running, kind="Dossier", parts=parts)


async def consent(request: Request) -> Response:
    """The consent text of a study in one of its languages, for paper."""
    running, language = collector_of(request).study(request.path_params["study"]), request.path_params["language"]
    if language not in running.manifest.facts.languages:
        raise Refused("not_found")
    parts = "".join(consent_parts(running.manifests[0], language))
    return shown("document.html", running=running, kind="Consent", parts=parts, language=language)


async def participant(request: Request) -> Response:
    """The participant page. A sealed study has its form at the shuffler, which hides senders from the collector."""
    collector = collector_of(request)
    running = collector.study(request.path_params["study"])
    return participant_page(
        *(request, running.name, running.manifest),
        today=collector.today(),
        elsewhere=running.manifest.facts.collection.sealed_for is not None,
        closed=running.row.state in ENDED,
        results=f"/s/{running.name}/results",
    )


async def crowd(request: Request) -> Response:
    """The results page for participants, in their language."""
    collector = collector_of(request)
    running = collector.study(request.path_params["study"])
    outcome = await run_in_threadpool(collector.outcome, running.name, LEVEL)
    language = reader_language(request, running.manifest.facts.languages)
    text = await run_in_threadpool(crowd_text, running.name, outcome, language)
    return tagged(request, text.encode(), "text/html; charset=utf-8")


async def planner(request: Request) -> Response:
    """The planner page: a goal against other numbers of people or another epsilon."""
    collector, name = collector_of(request), request.path_params["study"]
    running, plan = collector.study(name), _parts(request).planned(collector, name)
    wanted = planning.first_wanted(running, plan.participants or PARTICIPANTS, dict(plan.errors))
    values = await _one_at_a_time(request, planning.page_values, running, wanted)
    return shown("planner.html", here="planner", **values)


async def rows(request: Request) -> Response:
    """The live part of the planner page."""
    running, wanted = _wanted(request)
    return shown("rows.html", **await _one_at_a_time(request, planning.page_values, running, wanted))


async def epsilon_curve(request: Request) -> Response:
    """The margin of a question against epsilon. Slower than the rest of the planner page."""
    running, wanted = _wanted(request)
    goal = await _one_at_a_time(request, planning.goal_plan, running, wanted)
    return HTMLResponse(await _one_at_a_time(request, goal.epsilon_curve))


def _wanted(request: Request) -> tuple[RunningStudy, planning.PlannerRequest]:
    running = collector_of(request).study(request.path_params["study"])
    wanted = planning.read_wanted(running, request.query_params)
    if wanted is None:
        raise Refused("invalid_request")
    return running, wanted


async def _one_at_a_time(request: Request, compute: Callable[..., Any], *values: Any) -> Any:
    """Plan one study at a time. A plan may take seconds, and reports are counted meanwhile."""
    state = request.app.state
    if not hasattr(state, "planning"):
        state.planning = CapacityLimiter(1)
    return await to_thread.run_sync(compute, *values, limiter=state.planning)


def routes() -> list[Route]:
    """The routes of the pages."""
    return [
        Route("/", index),
        Route("/design", design),
        Route("/studies/{study}", study),
        Route("/studies/{study}/live", live),
        Route("/studies/{study}/changes", changes),
        Route("/studies/{study}/certificates", certified),
        Route("/studies/{study}/report", report),
        Route("/studies/{study}/dossier", dossier),
        Route("/studies/{study}/consent-{language}.html", consent),
        Route("/studies/{study}/qr.svg", code),
        Route("/studies/{study}/{question}.svg", picture),
        Route("/studies/{study}/{question}/pairs", pairs),
        Route("/studies/{study}/{question}/pairs.csv", pairs_file),
        Route("/s/{study}", participant),
        Route("/s/{study}/results", crowd),
        Route("/plan/{study}", planner),
        Route("/plan/{study}/rows", rows),
        Route("/plan/{study}/rows/curve", epsilon_curve),
    ]
