"""Small studies, collectors and devices for the tests of the service."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.core.asked import Asked
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import Collection, StudyFacts
from sottovoce.core.exchange.wire import MOST_REPORTS, Batch
from sottovoce.core.round import Arm, Protocol
from sottovoce.protocols.ask import AskEveryone, AskOneOf
from sottovoce.protocols.nested.parallel import Branch, Parallel
from sottovoce.service.collector import Collector, add_study
from sottovoce.service.intake import Submission
from sottovoce.service.logs import make_log
from sottovoce.service.running_study import written_protocol
from sottovoce.service.stores.base import Store
from tests.patience import PATIENCE

TODAY = date(2027, 3, 1)
SOURCE = b"""
[study]
name = "sleep"
owner = "A sleep laboratory"
contact = "privacy@example.org"
purpose = "To learn when people sleep."
unit = "person"
epsilon = "20"

[questions.type]
ask = "frequency"
text = "What are you?"
categories = ["lark", "owl", "neither"]
"""
FACTS = StudyFacts(
    "sleep",
    "A sleep laboratory",
    "privacy@example.org",
    "To learn when people sleep.",
    "person",
    Decimal(20),
    Decimal(20),
)
TYPE = sv.Categories(["lark", "owl", "neither"])
EPOCH = Collection().epoch(TODAY)


def grr(k: int = 3) -> sv.Mechanism:
    return sv.mechanism("grr", TYPE if k == 3 else sv.Integers(0, k - 1), epsilon=1)


def side(protocol: Protocol, name: str = "type") -> Parallel:
    """A protocol as a study asks it."""
    return Parallel((Branch(name, protocol),))


def everyone(*mechanisms: sv.Mechanism) -> Parallel:
    """One round in which the mechanisms are the arms."""
    arms = tuple(Arm(f"arm {place}", one) for place, one in enumerate(mechanisms))
    return side(AskOneOf(arms) if len(arms) > 1 else AskEveryone(mechanisms[0], "type"))


def first_manifest(protocol: Protocol, collection: Collection | None = None, **facts: Any) -> Manifest:
    about = replace(FACTS, collection=collection or Collection(), **facts)
    return Manifest(about, (Asked("type", sv.Frequency(TYPE)),), protocol.start())


def add(store: Store, protocol: Protocol, collection: Collection | None = None, **facts: Any) -> str:
    """Write a study into a store; returns its name."""
    manifest = first_manifest(protocol, collection, **facts)
    with store.transaction() as work:
        return add_study(work, SOURCE, written_protocol(protocol, {"type": "type"}), manifest, by="test").name


@contextmanager
def collecting(store: Store, *, days: list[date] | None = None, log: Any = None, **limits: int) -> Iterator[Collector]:
    """A collector at work. The day is the last of `days`, which a test may change."""
    today = days if days is not None else [TODAY]
    made = Collector(store, log=make_log(log or io.StringIO()), today=lambda: today[-1], **limits)
    made.start()
    try:
        yield made
    finally:
        made.writer.stop()


def send(collector: Collector, name: str, batch: Batch) -> Submission:
    """A batch, and what became of it."""
    return wait(collector.submit(name, batch, Future()))


def wait(one: Submission) -> Submission:
    one.future.result(PATIENCE)
    return one


def told(one: Submission) -> tuple[int, int, list[tuple[int, str]], str | None]:
    return one.accepted, one.duplicates, one.failed, one.problem


def batch_of(manifest: Manifest, arm: int, ids: Sequence[bytes], payloads: Sequence[bytes], **changes: Any) -> Batch:
    return replace(Batch(manifest.prefix, EPOCH, manifest.number, arm, b"".join(ids), b"".join(payloads)), **changes)


def drawn(manifest: Manifest, values: Any, seed: int) -> Iterator[Batch]:
    """Batches as devices send them: everyone answers in the arm that follows from their id."""
    generator = np.random.default_rng(seed)
    for arm, one in enumerate(manifest.stage.arms):
        reports = one.mechanism.privatize(values, seed=seed + arm)
        if reports.public is None:
            ids = [row.tobytes() for row in generator.integers(0, 256, (len(reports), 16), np.uint8)]
        else:
            ids = [row.astype("<u8").tobytes() for row in reports.public]
        pairs = [
            (report, payload.tobytes())
            for report, payload in zip(ids, reports.payloads(), strict=True)
            if manifest.stage.chosen or manifest.arm_of(report) == arm
        ]
        for start in range(0, len(pairs), MOST_REPORTS):
            part = pairs[start : start + MOST_REPORTS]
            yield batch_of(manifest, arm, [a for a, _ in part], [b for _, b in part])
