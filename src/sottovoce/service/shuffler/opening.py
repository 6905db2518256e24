"""The route on which a collector takes sealed reports from a shuffler."""

from __future__ import annotations

import asyncio

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sottovoce.core.errors import ReportError
from sottovoce.core.exchange.manifest import PREFIX_BYTES
from sottovoce.service.http.public import collector_of
from sottovoce.service.http.reports import Refused, read_body
from sottovoce.service.intake import FAILED, INVALID, NOT_OPEN, Submission
from sottovoce.service.problems import problem
from sottovoce.service.shuffler.unsealing import public_key, read_key, unseal_all
from sottovoce.service.writer import BUG, DISK_FULL, QUEUE_FULL, UNAVAILABLE

# Problems of the collector: all seals of a request are sent again. The others are problems of single reports.
WHOLE = (QUEUE_FULL, UNAVAILABLE, DISK_FULL, BUG, FAILED, NOT_OPEN)


def sealed_route_of(path: str) -> Route:
    """The route for sealed reports, with the key in a file."""
    return sealed_route(read_key(path))


def sealed_route(key: X25519PrivateKey) -> Route:
    """The route for studies sealed for this key. Seals that cannot be opened count as invalid."""

    async def take(request: Request) -> Response:
        collector = collector_of(request)
        running = collector.study(request.path_params["study"])
        manifest = running.manifest
        if manifest.facts.collection.sealed_for != public_key(key):
            raise Refused("invalid_request")
        body = await read_body(request.receive)
        if body[:PREFIX_BYTES] != manifest.prefix:
            return problem("outdated_manifest", manifest=manifest.hash)
        try:
            batches = await run_in_threadpool(unseal_all, key, manifest, body)
        except ReportError:
            raise Refused("invalid_batch") from None
        loop = asyncio.get_running_loop()
        taken: list[Submission | None] = []
        for batch in batches:
            taken.append(None if batch is None else collector.submit(running.name, batch, loop.create_future()))
        opened = [one for one in taken if one is not None]
        for one in opened:
            await one.future
        busy = next((one.problem for one in opened if one.problem in WHOLE), None)
        if busy is not None:
            raise Refused(busy)  # all of them come again, and what was counted is a duplicate then
        failed = [{"index": place, "code": code} for place, one in enumerate(taken) for code in _failures(one)]
        return JSONResponse(
            {
                "accepted": sum(one.accepted for one in opened),
                "duplicates": sum(one.duplicates for one in opened),
                "failed": failed,
            }
        )

    return Route("/v1/studies/{study}/sealed", take, methods=["POST"])


def _failures(one: Submission | None) -> list[str]:
    """The code of why a sealed report is not counted. Anyone can seal anything, so it concerns this seal alone."""
    if one is None:
        return [INVALID]
    return [code for _, code in one.failed] if one.problem is None else [one.problem]
