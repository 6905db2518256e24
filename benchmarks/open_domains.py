"""Many codes and open domains: a million categories, and a list of candidate words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import sottovoce as sv
from benchmarks.timing import Row, clock, median
from sottovoce.tally.counts import simulate_held

SIZE = 10**6
DECODED = ("rappor", "one-time-rappor", "o-rr", "o-rappor")


def decoding(name: str) -> Callable[[], object]:
    """The decoding of 1,000 candidates, with intervals."""
    words, listed = sv.mechanism(name, sv.Text(), epsilon=4), [f"word {place}" for place in range(1000)]
    tally = simulate_held(words, holders(listed, 200_000), seed=1)
    return lambda: words.estimate(tally, decoder="lasso", candidates=listed).ci()


def holders(listed: list[str], n: int) -> dict[str, int]:
    """How many hold each word: every fifth candidate, like 1 / rank, and a tenth of all one of 500 other words."""
    weights = 1 / np.arange(1, len(listed) // 5 + 1)
    counts = np.floor(0.9 * n * weights / weights.sum()).astype(int)
    held = dict(zip(listed[::5], counts.tolist(), strict=True))
    rest = n - sum(held.values())
    return held | {f"other {place}": rest // 500 + (place < rest % 500) for place in range(500)}


def open_domains(quick: bool) -> list[Row]:
    """A million reports about a million categories, and 200,000 about any text."""
    times = 1 if quick else 3
    values = np.minimum(np.random.default_rng(1).zipf(1.3, SIZE), SIZE) - 1
    m = sv.mechanism("hadamard", sv.Integers(0, SIZE - 1), epsilon=1)
    reports = m.privatize(values, seed=1)

    def whole() -> object:
        return m.estimate(m.tally(reports)).ci()

    hashed = sv.mechanism("olh", sv.Integers(0, SIZE - 1), epsilon=1)
    some = hashed.privatize(values[: SIZE // 10], seed=1)

    def few() -> object:
        return hashed.estimate(some, candidates=range(20)).ci()

    rows = []
    for name, work, target in (
        ("tally, estimate and intervals of 10^6 categories, 10^6 reports, hadamard", whole, 8.0),
        ("estimate 20 of 10^6 categories from 10^5 reports, olh", few, None),
        *((f"decode 1,000 words from 200,000 reports, {name}", decoding(name), 10.0) for name in DECODED),
    ):
        work()
        rows.append(Row(name, median(clock(work) for _ in range(times)), "s", target, "max"))
    return rows
