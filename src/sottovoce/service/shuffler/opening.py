"""The route on which a collector takes sealed reports from a shuffler."""

from __future__ import annotations

import asyncio
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sottovoce.core.errors import ReportError
from sottovoce.core.exchange.manifest import PREFIX_BYTES
from sottovoce.service.http.problems import problem
from sottovoce.service.http.public import collector_of
from sottovoce.service.http.reports import Refused, read_body
from sottovoce.service.shuffler.sealing import public_key, read_key, unseal_all


def sealed_route_of(path: str) -> Route:
    """The route with the key in a file."""
    return sealed_route(read_key(path))


def sealed_route(key: X25519PrivateKey) -> Route:
    """For the studies that name this key's public part. A seal that cannot be opened is counted as invalid."""

    async def take(request: Request) -> Response:
        collector = collector_of(request)
        course = collector.course(request.path_params["study"])
        manifest = course.manifest
        if manifest.facts.collection.sealed_for != public_key(key):
            raise Refused("invalid_request")
        body = await read_body(request.receive)
        if body[:PREFIX_BYTES] != manifest.prefix:
            return problem("outdated_manifest", manifest=manifest.hash)
        try:
            batches, invalid = await run_in_threadpool(unseal_all, key, manifest, body)
        except ReportError:
            raise Refused("invalid_batch") from None
        loop = asyncio.get_running_loop()
        waiting: list[tuple[Any, Any]] = []
        for batch in batches:
            future = loop.create_future()
            waiting.append((collector.submit(course.name, batch, future), future))
        for _, future in waiting:
            await future
        found = [one for one, _ in waiting]
        busy = next((one.problem for one in found if one.problem is not None), None)
        if busy is not None:
            raise Refused(busy)  # all of them come again, and what was counted is a duplicate then
        failed = [{"index": place, "code": code} for place, one in enumerate(found) for _, code in one.failed]
        failed += [{"index": len(found) + place, "code": "invalid_payload"} for place in range(invalid)]
        return JSONResponse(
            {
                "accepted": sum(one.accepted for one in found),
                "duplicates": sum(one.duplicates for one in found),
                "failed": failed,
            }
        )

    return Route("/v1/studies/{study}/sealed", take, methods=["POST"])
