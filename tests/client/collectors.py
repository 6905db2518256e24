"""Collectors for tests of devices: one that is scripted, in this process or behind HTTP, and studies to answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import sottovoce as sv
from sottovoce.client.transport import HttpTransport, Reply
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import Collection, StudyFacts
from sottovoce.core.exchange.wire import Batch
from sottovoce.core.round import Arm, Round
from tests.client.toys import unary

HOURS = sv.Mean(sv.Interval(0, 14))
SMOKER = sv.Frequency(sv.Categories(["yes", "no"]))
URL = "http://collector.test/v1/studies/{}"
COUNTED = json.dumps({"accepted": 1, "duplicates": 0, "failed": []}).encode()


def facts(**changes: Any) -> StudyFacts:
    made = StudyFacts(
        "sleep", "Institute", "privacy@example.org", "How people sleep.", "person", Decimal(1), Decimal(1)
    )
    return replace(made, **changes)


def sleep(*, epsilon: Any = 1, chosen: bool = False, collection: Collection | None = None, **changes: Any) -> Manifest:
    """Two questions, one of which has a reason for giving no answer; three of four are asked about smoking."""
    about = facts(epsilon=Decimal(epsilon), lifetime=Decimal(changes.pop("lifetime", epsilon)), **changes)
    about = replace(about, collection=collection or Collection())
    smoker = sv.Asked("smoker", SMOKER, {"en": "Do you smoke?"}, missing=("refused",))
    return Manifest(
        about,
        (sv.Asked("hours", HOURS, {"en": "How long?"}), smoker),
        Round(
            (
                Arm("hours", sv.mechanism("bernoulli", HOURS.domain, epsilon=epsilon), 1),
                Arm("smoker", sv.mechanism("grr", smoker.full_question.domain, epsilon=epsilon), 3),
            ),
            chosen=chosen,
        ),
    )


def memoised(lifetime: str = "5", **changes: Any) -> Manifest:
    """One question whose mechanism keeps a memo: 1.02 for a report, 2.1972 for ever and value."""
    about = facts(epsilon=Decimal("1.1"), lifetime=Decimal(lifetime), **changes)
    mechanism = unary()
    return Manifest(about, (sv.Asked("toy", mechanism.question),), Round((Arm("toy", mechanism),)))


ANSWERS = {"hours": 7.5, "smoker": "no"}


@dataclass
class Scripted(HttpTransport):
    """Answers requests without a network: `said` are the answers to posts, the last of which stays.

    An answer is a reply, or an error that is raised, or a function of the body.
    """

    manifest: Manifest = field(default_factory=sleep)
    said: list[Any] = field(default_factory=lambda: [Reply(200, COUNTED)])
    bodies: list[tuple[str, bytes, str]] = field(default_factory=list)

    def get(self, url: str) -> Reply:
        return Reply(200, self.manifest.content)

    def post(self, url: str, body: bytes, kind: str) -> Reply:
        self.bodies.append((url, body, kind))
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, Exception):
            raise said
        return said(body) if callable(said) else said

    @property
    def batches(self) -> list[Batch]:
        return [Batch.from_cbor(body) for _, body, _ in self.bodies]


@contextmanager
def served(answer: Callable[[str, str, dict[str, str], bytes], tuple[int, dict[str, str], bytes]]) -> Iterator[str]:
    """A real HTTP server that answers by a function of method, path, headers and body; its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, content = answer(self.command, self.path, dict(self.headers), body)
            if status == 0:  # hang up
                self.close_connection = True
                return
            self.send_response_only(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _do

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
