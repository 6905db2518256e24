"""The shuffler over HTTP: devices send it sealed reports; it passes them on to one collector, mixed."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import suppress

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sottovoce.client.transport import STUDY_STATE, HttpTransport, fetch_study
from sottovoce.core.errors import CollectorError, SottovoceError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.params import check_integer
from sottovoce.service.http import static
from sottovoce.service.http.headers import guarded
from sottovoce.service.http.problems import problem
from sottovoce.service.http.reports import Receive, Refused, Scope, Send, read_body
from sottovoce.service.pages.participant import participant_page
from sottovoce.service.shuffler.mixer import Mixer, pass_on_due
from sottovoce.service.shuffler.sealing import sealed_bytes

SEALED_TYPE = "application/octet-stream"
# The collector has taken the batch, or never will: the round is over, the study closed, the seals are not its own.
SETTLED = (200, 400, 409, 410, 413)
LEAST = 100  # reports of a batch, where the shuffler's operator says nothing else
PAUSE = 1.0  # seconds between looks at what waits
COUNTED = {"accepted": 1, "duplicates": 0, "failed": []}


class Relay:
    """A mixer, and the collector that it passes on to.

    The shuffler protects devices from the collector, so it does not take its word: `least` is the shuffler's own bound
    of a batch, a study says the same about itself in every manifest, and a round has one manifest. A collector that
    gave each device a manifest of its own could tell their reports apart.
    """

    def __init__(
        self, mixer: Mixer, collector: str, transport: HttpTransport | None = None, *, least: int = LEAST
    ) -> None:
        self.mixer, self.collector = mixer, collector.rstrip("/")
        self.least = check_integer("least", "a shuffler", least, 2, 1 << 40)
        self._transport = HttpTransport() if transport is None else transport
        self._manifests: dict[tuple[str, bytes], Manifest] = {}
        self._open: dict[str, bool] = {}  # whether the collector takes reports, as it said last
        self._reading = threading.Lock()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mixer", daemon=True)

    def start(self) -> None:
        """Begin to pass on."""
        self._thread.start()

    def stop(self) -> None:
        """End; what waits stays in the file."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ending.wait(PAUSE):
            with suppress(sqlite3.Error):  # a full disk, a file that is locked: tried again the next time
                self.pass_on()

    def pass_on(self) -> int:
        """Pass on what is due; how many reports."""
        return pass_on_due(self.mixer, self._least, self._send)

    def manifest(self, study: str) -> Manifest:
        """The current manifest of a study; of a study that is not sealed none is given."""
        found, _, is_open = fetch_study(f"{self.collector}/v1/studies/{study}", self._transport)
        if found.facts.collection.sealed_for is None:
            raise CollectorError("This study does not go through a shuffler.")
        if (found.facts.collection.batch or 0) < self.least:
            raise CollectorError(f"This study asks for batches of fewer than the {self.least} of this shuffler.")
        with self._reading:
            others = [one for (name, _), one in self._manifests.items() if name == study and one.hash != found.hash]
            if any(one.facts != found.facts or one.number == found.number for one in others):
                raise CollectorError("The collector gives two manifests of one round, or changes what a study says.")
            self._manifests[study, found.prefix] = found
            self._open[study] = is_open
        return found

    def _least(self, study: str, prefix: bytes) -> int | None:
        if (study, prefix) not in self._manifests:
            with suppress(SottovoceError):
                self.manifest(study)
        known = self._manifests.get((study, prefix))
        return None if known is None else known.facts.collection.batch

    def _send(self, study: str, body: bytes) -> None:
        reply = self._transport.post(f"{self.collector}/v1/studies/{study}/sealed", body, SEALED_TYPE)
        if reply.status not in SETTLED:
            raise CollectorError("The collector takes this batch later.")

    # --- HTTP ------------------------------------------------------------------------------------
    def application(self) -> ASGIApp:
        """What devices reach, and the participant's page. It logs nothing, and keeps seals only."""
        study = "/v1/studies/{study}"
        answers = Starlette(
            routes=[
                Route(f"{study}/manifest", self._manifest),
                Route(f"{study}/sealed", self._take, methods=["POST"]),
                Route(study + "/{part}", _preflight, methods=["OPTIONS"]),
                Route("/s/{study}", self._page),
                Route("/healthz", _healthy),
                *static.routes(),
            ],
            exception_handlers={Refused: _refused, SottovoceError: _away},
        )

        async def shared(scope: Scope, receive: Receive, send: Send) -> None:
            await answers(scope, receive, guarded(scope, send) if scope["type"] == "http" else send)

        return shared

    async def _manifest(self, request: Request) -> Response:
        name = request.path_params["study"]
        found = await run_in_threadpool(self.manifest, name)
        said = {STUDY_STATE: "open" if self._open[name] else "closed"}
        return Response(found.content, headers=said, media_type="application/json")

    async def _page(self, request: Request) -> Response:
        name = request.path_params["study"]
        found = await run_in_threadpool(self.manifest, name)
        return participant_page(request, name, found, closed=not self._open[name])

    async def _take(self, request: Request) -> Response:
        study, body = request.path_params["study"], await read_body(request.receive)
        known = self._manifests.get((study, body[:8]))
        if known is None:
            known = await run_in_threadpool(self.manifest, study)
        if body[:8] != known.prefix:
            return problem("outdated_manifest", manifest=known.hash)
        if len(body) != sealed_bytes(known):
            raise Refused("invalid_batch")
        await run_in_threadpool(self.mixer.take, study, known.prefix, body)
        return JSONResponse(COUNTED)


async def _preflight(request: Request) -> Response:
    """Pages of others may send seals."""
    return Response(status_code=204)


async def _healthy(request: Request) -> Response:
    return PlainTextResponse("ok")


async def _refused(request: Request, found: Exception) -> Response:
    return problem(found.code if isinstance(found, Refused) else "invalid_request")


async def _away(request: Request, found: Exception) -> Response:
    return problem("unavailable")
