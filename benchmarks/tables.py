"""Cross tables of twelve attributes from a million reports: all pairs with intervals, and the joint fit."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

import sottovoce as sv
from benchmarks.timing import Row, clock, median
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.joint.evidence import from_tallies
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream

SIZES = {f"attribute {place}": size for place, size in enumerate((2, 2, 3, 3, 4, 5, 6, 7, 9, 12, 15, 16))}


def counted(protocol: sv.TableViews, participants: int) -> list[sv.Tally]:
    """The tallies of all views; a hidden group of each participant makes the attributes depend on each other."""
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 3, participants)
    codes = {name: rng.integers(0, size, participants) * (1 + hidden) // 3 for name, size in SIZES.items()}
    weights = np.array(protocol.weights, float)
    arms, tallies = rng.choice(len(weights), participants, p=weights / weights.sum()), []
    for place, (arm, names) in enumerate(zip(protocol.start().arms, protocol.views, strict=True)):
        columns = tuple(codes[name][arms == place] for name in names)
        cells = np.ravel_multi_index(columns, [SIZES[name] for name in names]).astype(np.uint32)
        tallies.append(arm.mechanism.tally(draw(arm.mechanism, cells, WordStream.seeded(arm.mechanism.words, place))))
    return tallies


def tables(quick: bool) -> list[Row]:
    """66 tables of two attributes; the quick form has a tenth of the reports and one fit."""
    participants, repeats = (100_000, 1) if quick else (1_000_000, 3)
    record = sv.Record({name: sv.Integers(0, size - 1) for name, size in SIZES.items()})
    pairs = list(combinations(SIZES, 2))
    protocol = sv.TableViews(record, pairs, 1)
    tallies = counted(protocol, participants)

    def estimated() -> Any:
        estimate = Estimate.of(protocol.question, from_tallies(protocol.question, tallies), ())
        return estimate, estimate.ci()

    estimate, _ = estimated()
    times = {
        "design of 66 views": (lambda: sv.TableViews(record, pairs, 1), None),
        f"66 tables with intervals, {participants:,} reports": (estimated, 5.0),
        f"joint fit of 12 attributes, {participants:,} reports": (estimate.consistent, 20.0),
    }
    return [
        Row(name, median(clock(work) for _ in range(repeats)), "s", target, "max")
        for name, (work, target) in times.items()
    ]
