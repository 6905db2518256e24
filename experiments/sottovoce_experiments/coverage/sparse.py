"""How often intervals for one place of sparse vectors cover, drawn from the exact law of their signs.

Of n reports some have + at the place, some - and the others neither. For the population the counts are multinomial with
the mean rates of the crowd; for the sample holders of the place and others are drawn separately.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.vector.signs import score
from sottovoce.core.domain import Sparse
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.core.statistic.sums import Sums
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.vector_mean.sparse import SparseEvidence
from sottovoce_experiments.coverage.declared.rounds import SPARSE_CROWDS, SPARSE_DIMENSIONS, SPARSE_METHODS
from sottovoce_experiments.coverage.declared.studies import TARGETS
from sottovoce_experiments.coverage.study import LEVEL, Coverage

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def rates(mechanism: Mechanism, held: bool, number: float) -> Floats:
    """How often a report has +, - or neither at a place that its sender holds with this number, or does not.

    All other entries of the sender are in other groups, and its slots are full.
    """
    known, domain = score(mechanism.channel), mechanism.domain
    if not isinstance(domain, Sparse):
        raise TypeError("This study needs sparse vectors.")
    slots = 1 if isinstance(mechanism.statistic, Sums) else domain.most
    share = 1 / slots if held else 0.0  # of reports that are about this place
    hit = float(known.hit_other) + float(known.hit_own - known.hit_other) * share
    score_mean = number / float(known.scale) if held else 0.0
    return np.array([(hit + score_mean) / 2, (hit - score_mean) / 2, 1 - hit])


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """One place, for one oracle and crowd."""
    oracle, entries, n = point["oracle"], point["entries"], point["n"]
    mechanism = build("sparse", Sparse(SPARSE_DIMENSIONS, entries), epsilon=point["epsilon"], oracle=oracle)
    share, number = SPARSE_CROWDS[point["crowd"]]
    rng, found = np.random.default_rng(seed), []
    for target in TARGETS:
        plus, minus = _counts(mechanism, n, share, number, target, runs, rng)
        places = SparseEvidence(plus, minus, n, float(score(mechanism.channel).scale), 1.0)
        truth = round(share * n) * number / n if target == "sample" else share * number
        for method in SPARSE_METHODS:
            low, high = places.interval(IntervalRequest(LEVEL, Method(method), Target(target)))
            covered = float(((low <= truth) & (truth <= high)).mean())
            named = {"mechanism": f"sparse, {oracle}, {entries}"}
            found.append(Coverage(method=method, target=target, coverage=covered, runs=runs, numbers=named))
    return found


def _counts(
    mechanism: Mechanism, n: int, share: float, number: float, target: str, runs: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    own, other = rates(mechanism, True, number), rates(mechanism, False, 0.0)
    if target == "population":
        drawn = rng.multinomial(n, share * own + (1 - share) * other, runs)
    else:
        holders = round(share * n)
        drawn = rng.multinomial(holders, own, runs) + rng.multinomial(n - holders, other, runs)
    return drawn[:, 0], drawn[:, 1]
