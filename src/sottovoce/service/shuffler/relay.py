"""The shuffler over HTTP: it takes sealed reports from devices and passes them on, mixed, to one collector."""

from __future__ import annotations

import http.client
import sqlite3
import threading
from contextlib import suppress
from datetime import UTC, datetime

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sottovoce.client.sealing import open_bytes, sealed_bytes, wave_of
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
    """A mixer with an HTTP interface, and the collector it passes reports on to.

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
        """Start passing on batches."""
        self._thread.start()

    def stop(self) -> None:
        """Stop passing on. Waiting seals stay in the file."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ending.wait(PAUSE):
            with suppress(sqlite3.Error):  # a full disk, a file that is locked: tried again the next time
                self.pass_on()

    def pass_on(self) -> int:
        """Pass on all full batches, and forget reports of waves that are over; returns the number passed on."""
        for study, before in self.mixer.waiting():
            with self._reading:
                known = self._known(study)
            if known is not None and _is_over(known, before):
                self.mixer.drop(study, before)
        return pass_on_due(self.mixer, self._least, self._send)

    def manifest(self, study: str) -> Manifest:
        """The current manifest of a study. Raises `CollectorError` if the study is not sealed."""
        manifest, url, is_open = fetch_study(f"{self.collector}/v1/studies/{study}", self._transport)
        if manifest.facts.collection.sealed_for is None:
            raise CollectorError("This study is not sealed: it does not use a shuffler.")
        if (manifest.facts.collection.batch or 0) < self.least:
            raise CollectorError(
                f"This study's batches are too small: this shuffler needs at least {self.least} reports."
            )
        with self._reading:
            known = self._known(study)
            if known is None or known.hash != manifest.hash:
                if known is not None:
                    self._check_descent(manifest, known, url)
                before = None if known is None else known.content
                if not self.mixer.open_manifest(study, manifest.content, instead_of=before):
                    raise CollectorError("Another shuffler that uses the same file has opened a manifest.")
                self._open[study] = manifest
            self._taking[study] = is_open
        return manifest

    def _known(self, study: str) -> Manifest | None:
        """The open manifest of a study, also after a restart."""
        if study not in self._open:
            content = self.mixer.manifest(study)
            if content is None:
                return None
            self._open[study] = Manifest.from_spec(content, device=True)
        return self._open[study]

    def _check_descent(self, manifest: Manifest, known: Manifest, url: str) -> None:
        """Refuse a manifest unless its parents lead back to the open one, round by round."""
        current = manifest
        for _ in range(min(manifest.number - known.number, MOST_ROUNDS)):
            if current.facts != known.facts or current.study != known.study or current.parent is None:
                break
            if current.parent == known.hash and current.number == known.number + 1:
                return
            reply = self._transport.get(f"{url}/manifest", f"hash={current.parent}")
            if reply.status != http.client.OK:
                break
            parent = Manifest.from_spec(reply.body, device=True)
            if parent.hash != current.parent or parent.number != current.number - 1:
                break
            current = parent
        raise CollectorError(
            "The collector sent a manifest that does not follow the open one: two for one round, or changed facts."
        )

    def _least(self, study: str, prefix: bytes) -> int | None:
        with self._reading:
            known = self._known(study)
        return None if known is None else known.facts.collection.batch

    def _send(self, study: str, body: bytes) -> None:
        if not settled(self._transport.post(f"{self.collector}/v1/studies/{study}/sealed", body, SEALED_TYPE)):
            raise CollectorError("The collector takes this batch later.")

    # --- HTTP ------------------------------------------------------------------------------------
    def application(self) -> ASGIApp:
        """The ASGI application for devices and participants. It logs nothing, and keeps only seals."""
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
        manifest = await run_in_threadpool(self.manifest, name)
        said = {STUDY_STATE: "open" if self._taking[name] else "closed"}
        return Response(manifest.content, headers=said, media_type="application/json")

    async def _page(self, request: Request) -> Response:
        name = request.path_params["study"]
        manifest = await run_in_threadpool(self.manifest, name)
        today = datetime.now(UTC).date()
        return participant_page(request, name, manifest, today=today, closed=not self._taking[name])

    async def _take(self, request: Request) -> Response:
        study, body = request.path_params["study"], await read_body(request.receive)
        known = self._open.get(study)
        if known is None or body[:PREFIX_BYTES] != known.prefix:
            known = await run_in_threadpool(self.manifest, study)
        if body[:PREFIX_BYTES] != known.prefix:
            return problem("outdated_manifest", manifest=known.hash)
        if len(body) != sealed_bytes(known) or not _is_due(known, body):
            raise Refused("invalid_batch")
        await run_in_threadpool(self.mixer.take, study, body[: open_bytes(known)], body)
        return JSONResponse(COUNTED)


def _is_due(manifest: Manifest, sealed: bytes) -> bool:
    """Whether the wave of a seal is counted today: made-up waves would fill the file."""
    today = datetime.now(UTC).date()
    return manifest.facts.repeat is None or wave_of(manifest, sealed) in manifest.facts.counted(today)


def _is_over(manifest: Manifest, sealed: bytes) -> bool:
    """Whether the wave of a seal is not counted any more."""
    today = datetime.now(UTC).date()
    return manifest.facts.repeat is not None and wave_of(manifest, sealed) < manifest.facts.counted(today).start


def settled(reply: Reply) -> bool:
    """True if the collector has taken a batch or never will. Error pages of proxies do not count."""
    if reply.status == http.client.OK:
        return True
    said = plain(reply.body)
    refused = 400 <= reply.status < 500 and reply.status not in LATER and isinstance(said, dict)
    return refused and said.get("code") != "not_open"


async def _preflight(request: Request) -> Response:
    """Answer a CORS preflight request: pages of other sites may send seals."""
    return Response(status_code=204)


async def _healthy(request: Request) -> Response:
    return PlainTextResponse("ok")


async def _refused(request: Request, error: Exception) -> Response:
    return problem(error.code if isinstance(error, Refused) else "invalid_request")


async def _away(request: Request, error: Exception) -> Response:
    return problem("unavailable")
