"""Coverage of intervals for shares at several levels, one by one and all at once, computed from the law of the counts.

All at once, k intervals miss at most as often as the sum of their misses; so one less that sum is a lower bound of how
often all of them hold, whatever the joint law of the counts is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import numpy as np

from sottovoce.core.channel import Block, Contrast, Histogram, Rates
from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Integers
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.evidence import Evidence, most_excess
from sottovoce.estimate.frequency.contrasts import ContrastsEvidence
from sottovoce.estimate.frequency.sums import SumsEvidence, bins
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.testing.coverage import coverage
from sottovoce_experiments.coverage.declared.shares import ALL, LEVELS, ONE, SHARES
from sottovoce_experiments.coverage.declared.studies import SHARE_KINDS
from sottovoce_experiments.coverage.study import Coverage


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """The least coverage over the shares, for every kind of interval; None where a warning comes with it."""
    mechanism = build(point["mechanism"], Integers(0, point["k"] - 1), epsilon=point["epsilon"])
    n, size = point["n"], point["k"]

    @cache
    def missed(held: int, method: str, target: str, level: float) -> float:
        return 1 - coverage(mechanism, n, held / n, method, Target(target), level)

    def least(share: float, method: str, target: str, level: float, of: str) -> float:
        held = round(share * n)
        if of == ONE:
            return 1 - missed(held, method, target, level)
        each = 1 - (1 - level) / size
        few, some = divmod(n - held, size - 1)  # the others hold a code as equally often as whole numbers can
        others = (size - 1 - some) * missed(few, method, target, each)
        others += some * missed(few + 1, method, target, each) if some else 0
        return float(max(0.0, 1 - missed(held, method, target, each) - others))

    found = []
    for of in (ONE, ALL):
        for level in LEVELS:
            for method, target in SHARE_KINDS:
                each = level if of == ONE else 1 - (1 - level) / size
                told = [
                    s
                    for s in SHARES
                    if _expected(mechanism, n, s).doubt(IntervalRequest(each, Method(method)), most_excess(level))
                    is None
                ]
                by_share = {s: least(s, method, target, level, of) for s in told}
                worst = min(by_share, key=lambda s: by_share[s], default=None)
                covered = None if worst is None else by_share[worst]
                numbers = {"share": worst}
                kind = {"of": of, "method": method, "target": target, "level": level}
                found.append(Coverage(**kind, coverage=covered, runs=None, numbers=numbers))  # type: ignore[arg-type]
    return found


@lru_cache(maxsize=16)
def _expected(mechanism: Mechanism, n: int, share: float) -> Evidence:
    """Evidence with the expected counts of a code of this share and of another one, for its warnings."""
    rates, channel = rates_of(mechanism.channel), mechanism.channel
    if isinstance(rates, Rates):
        own, other = float(rates.own), float(rates.other)
        return SupportsEvidence(np.array([round(n * other)]), n, own, other)
    if isinstance(rates, Contrast) and isinstance(channel, Block):
        sets = channel.sets
        each = (1 - share) / (sets.codes - 1)
        group = -(-sets.codes // (sets.outputs // (2 * sets.size)))  # codes of a group
        masses = np.array([share + (group - 1) * each, group * each])
        hits = np.rint(n * (float(rates.hit_other) + masses * float(rates.hit_own - rates.hit_other))).astype(np.int64)
        return ContrastsEvidence(hits // 2, hits, n, float(rates.hit_own), float(rates.plus_own))
    if isinstance(channel, Histogram):
        read = bins(channel)
        return SumsEvidence(np.array([round(n * read.start)]), n, read)
    raise TypeError(f"The coverage of {mechanism.name} cannot be computed from its law.")
