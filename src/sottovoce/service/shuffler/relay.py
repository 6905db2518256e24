"""The shuffler over HTTP: devices send it sealed reports; it passes them on to one collector, mixed."""

from __future__ import annotations

import http.client
import sqlite3
import threading
from contextlib import suppress

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sottovoce.client.sealing import sealed_bytes
from sottovoce.client.transport import STUDY_STATE, HttpTransport, Reply, fetch_study, plain
from sottovoce.core.errors import CollectorError, SottovoceError
from sottovoce.core.exchange.manifest import PREFIX_BYTES, Manifest
from sottovoce.core.params import check_integer
from sottovoce.service.http import static
from sottovoce.service.http.headers import guarded
from sottovoce.service.http.reports import Receive, Refused, Scope, Send, read_body
from sottovoce.service.pages.participant import participant_page
from sottovoce.service.problems import problem
from sottovoce.service.shuffler.mixer import Mixer, pass_on_due

SEALED_TYPE = "application/octet-stream"
LATER = (408, 425, 429)  # refusals after which the same bytes may be sent again
MOST_ROUNDS = 100  # between two looks at a study
LEAST = 100  # reports of a batch, where the shuffler's operator says nothing else
PAUSE = 1.0  # seconds between looks at what waits
COUNTED = {"accepted": 1, "duplicates": 0, "failed": []}


class Relay:
    """A mixer, and the collector that it passes on to.

    The shuffler protects devices from the collector, so it does not take its word: `least` is the shuffler's own bound
    of a batch, a study says the same about itself in every manifest, and one manifest is open at a time, which names
    the one before it. A collector that gave each device a manifest of its own could tell their reports apart.
    """

    def __init__(
        self, mixer: Mixer, collector: str, transport: HttpTransport | None = None, *, least: int = LEAST
    ) -> None:
        self.mixer, self.collector = mixer, collector.rstrip("/")
        self.least = check_integer("least", "a shuffler", least, 2, 1 << 40)
        self._transport = HttpTransport() if transport is None else transport
        self._open: dict[str, Manifest] = {}
        self._taking: dict[str, bool] = {}  # whether the collector takes reports, as it said last
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
        found, url, is_open = fetch_study(f"{self.collector}/v1/studies/{study}", self._transport)
        if found.facts.collection.sealed_for is None:
            raise CollectorError("This study does not go through a shuffler.")
        if (found.facts.collection.batch or 0) < self.least:
            raise CollectorError(f"This study asks for batches of fewer than the {self.least} of this shuffler.")
        with self._reading:
            known = self._known(study)
            if known is None or known.hash != found.hash:
                if known is not None:
                    self._check_descent(found, known, url)
                before = None if known is None else known.content
                if not self.mixer.open_manifest(study, found.content, instead_of=before):
                    raise CollectorError("Another process with the same file has opened a manifest.")
                self._open[study] = found
            self._taking[study] = is_open
        return found

    def _known(self, study: str) -> Manifest | None:
        """The manifest that is open, also after a restart."""
        if study not in self._open:
            content = self.mixer.manifest(study)
            if content is None:
                return None
            self._open[study] = Manifest.from_spec(content, device=True)
        return self._open[study]

    def _check_descent(self, found: Manifest, known: Manifest, url: str) -> None:
        """Refuse a manifest unless its parents lead back to the open one, round by round."""
        one = found
        for _ in range(min(found.number - known.number, MOST_ROUNDS)):
            if one.facts != known.facts or one.study != known.study or one.parent is None:
                break
            if one.parent == known.hash and one.number == known.number + 1:
                return
            reply = self._transport.get(f"{url}/manifest", f"hash={one.parent}")
            if reply.status != http.client.OK:
                break
            parent = Manifest.from_spec(reply.body, device=True)
            if parent.hash != one.parent or parent.number != one.number - 1:
                break
            one = parent
        raise CollectorError("The collector gives two manifests of one round, or changes what a study says.")

    def _least(self, study: str, prefix: bytes) -> int | None:
        with self._reading:
            known = self._known(study)
        return None if known is None else known.facts.collection.batch

    def _send(self, study: str, body: bytes) -> None:
        if not settled(self._transport.post(f"{self.collector}/v1/studies/{study}/sealed", body, SEALED_TYPE)):
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
        said = {STUDY_STATE: "open" if self._taking[name] else "closed"}
        return Response(found.content, headers=said, media_type="application/json")

    async def _page(self, request: Request) -> Response:
        name = request.path_params["study"]
        found = await run_in_threadpool(self.manifest, name)
        return participant_page(request, name, found, closed=not self._taking[name])

    async def _take(self, request: Request) -> Response:
        study, body = request.path_params["study"], await read_body(request.receive)
        known = self._open.get(study)
        if known is None or body[:PREFIX_BYTES] != known.prefix:
            known = await run_in_threadpool(self.manifest, study)
        if body[:PREFIX_BYTES] != known.prefix:
            return problem("outdated_manifest", manifest=known.hash)
        if len(body) != sealed_bytes(known):
            raise Refused("invalid_batch")
        await run_in_threadpool(self.mixer.take, study, known.prefix, body)
        return JSONResponse(COUNTED)


def settled(reply: Reply) -> bool:
    """Whether the collector has taken a batch, or never will. The error page of a proxy does not say so."""
    if reply.status == http.client.OK:
        return True
    said = plain(reply.body)
    refused = 400 <= reply.status < 500 and reply.status not in LATER and isinstance(said, dict)
    return refused and said.get("code") != "not_open"


async def _preflight(request: Request) -> Response:
    """Pages of others may send seals."""
    return Response(status_code=204)


async def _healthy(request: Request) -> Response:
    return PlainTextResponse("ok")


async def _refused(request: Request, found: Exception) -> Response:
    return problem(found.code if isinstance(found, Refused) else "invalid_request")


async def _away(request: Request, found: Exception) -> Response:
    return problem("unavailable")
