"""How often intervals of decoded shares cover: the moved interval of the unbiased shares, and the decoder's own."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.request import PoorIntervalWarning
from sottovoce.tally.counts import simulate_counts
from sottovoce_experiments.coverage.declared.shares import ALL, DECODED, DECODED_KINDS, LEVELS, ONE, named
from sottovoce_experiments.coverage.study import Coverage


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Crowds are drawn from a population, whose shares the intervals should hold."""
    mechanism = build(point["mechanism"], Integers(0, point["k"] - 1), epsilon=point["epsilon"])
    law = np.array([*DECODED, *[(1 - sum(DECODED)) / (point["k"] - len(DECODED))] * (point["k"] - len(DECODED))])
    rng = np.random.default_rng(seed)
    kinds = list(product(DECODED_KINDS, LEVELS, (ONE, ALL)))
    covered = {kind: np.zeros(point["k"]) if kind[-1] == ONE else np.zeros(1) for kind in kinds}
    widths, warned = dict.fromkeys(kinds, 0.0), set()
    for _ in range(runs):
        tally = simulate_counts(mechanism, rng.multinomial(point["n"], law), seed=int(rng.integers(1 << 62)))
        estimates = {decoder: mechanism.estimate(tally, decoder=decoder) for decoder, _ in DECODED_KINDS}
        for kind in kinds:
            (decoder, method), level, of = kind
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", PoorIntervalWarning)
                low, high = estimates[decoder].ci(level, method=method, simultaneous=of == ALL)
            if caught:
                warned.add(kind)
            inside = (low <= law) & (law <= high)
            covered[kind] += inside if of == ONE else inside.all()
            widths[kind] += float((high - low).mean()) / runs
    return [
        Coverage(
            of=named(DECODED[place]) if kind[-1] == ONE else ALL,
            method=", ".join(kind[0]),
            level=kind[1],
            coverage=None if kind in warned else float(covered[kind][place] / runs),
            runs=runs,
            numbers={"width": widths[kind]},
        )
        for kind in kinds
        for place in range(len(DECODED) if kind[-1] == ONE else 1)
    ]
