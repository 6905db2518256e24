"""How often intervals of decoded shares cover: the moved interval of the unbiased shares, and the decoder's own."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.estimate import PoorIntervalWarning
from sottovoce.experiments.coverage.declared.shares import DECODED, DECODED_KINDS
from sottovoce.experiments.coverage.study import Coverage
from sottovoce.tally.counts import simulate_counts


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Crowds are drawn from a population, whose shares the intervals should hold."""
    mechanism = build(point["mechanism"], Integers(0, point["k"] - 1), epsilon=point["epsilon"])
    law = np.array([*DECODED, *[(1 - sum(DECODED)) / (point["k"] - len(DECODED))] * (point["k"] - len(DECODED))])
    rng = np.random.default_rng(seed)
    covered = {kind: np.zeros(len(DECODED)) for kind in DECODED_KINDS}
    widths = dict.fromkeys(DECODED_KINDS, 0.0)
    warned = dict.fromkeys(DECODED_KINDS, False)
    for _ in range(runs):
        tally = simulate_counts(mechanism, rng.multinomial(point["n"], law), seed=int(rng.integers(1 << 62)))
        for decoder, method in DECODED_KINDS:
            estimate = mechanism.estimate(tally, decoder=decoder)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", PoorIntervalWarning)
                low, high = estimate.ci(method=method)
            warned[decoder, method] |= bool(caught)
            kept = slice(len(DECODED))
            covered[decoder, method] += (low[kept] <= law[kept]) & (law[kept] <= high[kept])
            widths[decoder, method] += float((high - low).mean()) / runs
    return [
        Coverage(
            of=f"share {share:g}",
            method=f"{decoder}, {method}",
            coverage=None if warned[decoder, method] else float(covered[decoder, method][place] / runs),
            runs=runs,
            numbers={"width": widths[decoder, method]},
        )
        for decoder, method in DECODED_KINDS
        for place, share in enumerate(DECODED)
    ]
