"""How often intervals for shares of Bloom filters cover: simulated, since a standard error is read from all counts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.evidence import most_excess
from sottovoce.estimate.shares.evidence import from_cells
from sottovoce.experiments.coverage.declared.shares import ALL, COHORT_KINDS, LEVELS, ONE, SHARES
from sottovoce.experiments.coverage.study import Coverage
from sottovoce.tally.counts import simulate_cells

SEVERAL, LARGE = 4, 2  # codes of each share, and of the largest


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """The least coverage over the shares, and how often all intervals hold."""
    size, n = point["k"], point["n"]
    mechanism = build(point["mechanism"], Integers(0, size - 1), epsilon=point["epsilon"])
    shown = np.array([*SHARES[:-1]] * SEVERAL + [SHARES[-1]] * LARGE)
    law = np.concatenate([shown, np.full(size - len(shown), (1 - shown.sum()) / (size - len(shown)))])
    rng = np.random.default_rng(seed)
    kinds = list(product(COHORT_KINDS, LEVELS))
    single = {kind: np.zeros(len(shown)) for kind in kinds}
    whole, warned = dict.fromkeys(kinds, 0), set()
    for run in range(runs):
        held = rng.multinomial(n, law)
        (cells,) = simulate_cells(mechanism, held, runs=1, seed=int(rng.integers(1 << 62)))
        evidence = from_cells(mechanism, n, cells)
        truth = {"population": law, "sample": held / n}
        for (method, target), level in kinds:
            each = 1 - (1 - level) / size
            for of, used in ((ONE, level), (ALL, each)):
                # Whether an interval of counts of Bloom filters is poor depends on their number alone.
                if run == 0 and evidence.doubt(method, used, most_excess(level)) is not None:
                    warned.add((of, method, target, level))
                low, high = evidence.interval(used, method, target)
                inside = (low <= truth[target]) & (truth[target] <= high)
                if of == ONE:
                    single[(method, target), level] += inside[: len(shown)]
                else:
                    whole[(method, target), level] += bool(inside.all())
    found = []
    for ((method, target), level), of in product(kinds, (ONE, ALL)):
        kind: Any = ((method, target), level)
        by_share = [single[kind][shown == share].mean() / runs for share in SHARES]
        covered = min(by_share) if of == ONE else whole[kind] / runs
        silent = (of, method, target, level) not in warned
        found.append(
            Coverage(
                of=of, method=method, target=target, level=level, coverage=float(covered) if silent else None, runs=runs
            )
        )
    return found
