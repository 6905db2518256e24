"""`python -m scripts.fuzz.routes --minutes 10`: Schemathesis sends what the OpenAPI document allows, and other things.

Every answer must have a status, a content type and a body that the document names, and none may be a server error.
"""

from __future__ import annotations

import argparse
import io
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.client.sealing import seal
from sottovoce.core.asked import Asked
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import Collection, StudyFacts
from sottovoce.core.exchange.wire import VERSION, Batch
from sottovoce.protocols.ask import AskEveryone
from sottovoce.protocols.nested.parallel import Branch, Parallel
from sottovoce.service.app import Application
from sottovoce.service.collector import Collector, add_study
from sottovoce.service.logs import make_log
from sottovoce.service.running_study import RunningStudy, written_protocol
from sottovoce.service.shuffler.opening import sealed_route_of
from sottovoce.service.shuffler.unsealing import new_key
from sottovoce.service.stores.sqlite import SQLiteStore

PATIENCE = 120.0  # seconds for an answer: the machine may be busy
SOURCE = b"""
[study]
name = "fuzz"
owner = "A fuzzer"
contact = "fuzz@example.org"
purpose = "To find mistakes."
unit = "event"
epsilon = "1"

[questions.answer]
ask = "frequency"
text = "Which?"
categories = ["a", "b", "c"]
"""


@contextmanager
def target(folder: Path) -> Iterator[Application]:
    """A collector with a study of plain reports, and one of sealed ones."""
    domain = sv.Categories(["a", "b", "c"])
    protocol = Parallel((Branch("answer", AskEveryone(sv.mechanism("grr", domain, epsilon=1), "answer")),))
    facts = StudyFacts("fuzz", "A fuzzer", "fuzz@example.org", "To find mistakes.", "event", Decimal(1), Decimal(1))
    private, public = new_key()
    (folder / "key").write_text(private, encoding="utf-8")
    with SQLiteStore(folder / "fuzz.sqlite") as store:
        for about in (facts, replace(facts, name="sealed", collection=Collection(sealed_for=public, batch=2))):
            manifest = Manifest(about, (Asked("answer", sv.Frequency(domain)),), protocol.start())
            with store.transaction() as work:
                add_study(work, SOURCE, written_protocol(protocol, {"answer": "answer"}), manifest, by="fuzz")
        collector = Collector(store, log=make_log(io.StringIO()))
        collector.start()
        try:
            yield Application(collector, [sealed_route_of(str(folder / "key"))])
        finally:
            collector.writer.stop()


def sealed_body(running: RunningStudy, kind: int, given: bytes) -> bytes:
    """A seal that a device made, one that cannot be opened, or anything behind the right prefix."""
    manifest = running.manifest
    if kind == 1:
        return manifest.prefix + given
    made = seal(manifest, Batch(manifest.prefix, 0, 1, 0, secrets.token_bytes(16), b"\x01"))
    return made if kind == 2 else made + made[:-1] + bytes([made[-1] ^ 1])


def run(app: Application, examples: int, *, seconds: float | None = None) -> int:
    """Check every operation with this many cases, again and again until the time is over; returns how many."""
    end = time.monotonic() + (seconds or 0)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    operations = [found.ok() for found in schema.get_all_operations()]
    operations = [one for one in operations if not one.path.endswith("/stream")]  # which does not end
    plain, sealed = app.collector.studies.values()
    done = 0
    while True:
        for operation in operations:
            cases = operation.as_strategy() | operation.as_strategy(
                generation_mode=schemathesis.GenerationMode.NEGATIVE
            )

            @given(case=cases, real=st.integers(0, 3))
            @settings(
                max_examples=examples,
                deadline=None,
                database=None,
                derandomize=seconds is None,
                suppress_health_check=list(HealthCheck),
            )
            def check(case: Any, real: int) -> None:
                nonlocal done
                done += 1
                # Most cases name the study that there is; a batch also its manifest, so that it reaches the store.
                running = sealed if case.operation.path.endswith("/sealed") else plain
                epoch = running.manifest.facts.collection.epoch(app.collector.today())
                if real and "study" in (case.path_parameters or {}):
                    case.path_parameters["study"] = running.name
                if real and running is sealed:
                    case.body = sealed_body(running, real, str(case.body).encode())
                elif real > 1 and isinstance(case.body, dict) and "manifest" in case.body:
                    body = {**case.body, "manifest": running.manifest.prefix.hex(), "round": 1, "arm": 0}
                    case.body = {**body, "epoch": epoch}
                    if real == 3:  # one report that is counted
                        case.body |= {"version": VERSION, "ids": secrets.token_hex(16), "payloads": "01"}
                        case.body.pop("tokens", None)
                case.call_and_validate(excluded_checks=_excluded(), timeout=PATIENCE)

            check()
        if seconds is None or time.monotonic() > end:
            return done


def _excluded() -> list[Any]:
    """Unknown query parameters and headers are ignored, as everywhere on the web; the rest is checked."""
    from schemathesis.specs.openapi import checks

    return [checks.negative_data_rejection, checks.positive_data_acceptance]


def main() -> int:
    """Until the time is over, or something is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, target(Path(folder)) as app:
        done = run(app, 100, seconds=60 * options.minutes)
    print(f"{done:,} requests, and nothing was found.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
