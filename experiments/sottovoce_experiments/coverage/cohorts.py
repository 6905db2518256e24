"""How often intervals for shares of Bloom filters cover: simulated, since a standard error is read from all counts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.evidence import most_excess
from sottovoce.estimate.frequency.evidence import from_cells
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.tally.counts import simulate_cells
from sottovoce_experiments.coverage.declared.shares import (
    ALL,
    COHORT_KINDS,
    FEW_HELD,
    HASHED,
    LEVELS,
    MANY,
    MANY_HELD,
    ONE,
    SHARES,
    named,
)
from sottovoce_experiments.coverage.study import Coverage

KINDS = tuple(product(COHORT_KINDS, LEVELS))
Kind = tuple[tuple[str, str], float]


class Counts(NamedTuple):
    """Over all crowds without a warning: how many there were, and what share of the intervals held."""

    crowds: dict[tuple[str, Kind], int]
    single: dict[tuple[Kind, float], float]
    whole: dict[Kind, int]

    def covered(self, kind: Kind, share: float) -> float | None:
        """Of intervals of values of a share."""
        crowds = self.crowds[ONE, kind]
        return self.single[kind, share] / crowds if crowds else None

    def together(self, kind: Kind) -> float | None:
        """Of crowds in which all intervals held."""
        crowds = self.crowds[ALL, kind]
        return self.whole[kind] / crowds if crowds else None


def shares_of(size: int) -> NDArray[np.float64]:
    """The shares of all values: some of each of `SHARES`, and the rest equally common."""
    several = FEW_HELD if size < MANY else MANY_HELD
    shown = np.repeat(list(several), list(several.values()))
    return np.concatenate([shown, np.full(size - len(shown), (1 - shown.sum()) / (size - len(shown)))])


def counted(point: Mapping[str, Any], runs: int, seed: int) -> Counts:
    """Crowds in which other values have these shares each time, so that no public function is special."""
    size, n = point["k"], point["n"]
    options = {"cohorts": HASHED} if size > MANY else {}
    mechanism = build(point["mechanism"], Integers(0, size - 1), epsilon=point["epsilon"], **options)
    law, rng = shares_of(size), np.random.default_rng(seed)
    found = Counts(
        dict.fromkeys(product((ONE, ALL), KINDS), 0),
        dict.fromkeys(product(KINDS, SHARES), 0.0),
        dict.fromkeys(KINDS, 0),
    )
    for _ in range(runs):
        law = rng.permutation(law)
        held = rng.multinomial(n, law)
        (cells,) = simulate_cells(mechanism, held, runs=1, seed=int(rng.integers(1 << 62)))
        evidence = from_cells(mechanism, n, cells)
        truth = {"population": law, "sample": held / n}
        for kind in KINDS:
            (method, target), level = kind
            for of, used in ((ONE, level), (ALL, 1 - (1 - level) / size)):
                if evidence.doubt(IntervalRequest(used, Method(method)), most_excess(level)) is not None:
                    continue
                found.crowds[of, kind] += 1
                low, high = evidence.interval(IntervalRequest(used, Method(method), Target(target)))
                inside = (low <= truth[target]) & (truth[target] <= high)
                if of == ALL:
                    found.whole[kind] += bool(inside.all())
                    continue
                for share in SHARES:
                    found.single[kind, share] += float(inside[law == share].mean())
    return found


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """The least coverage over the shares, and how often all intervals hold."""
    found = counted(point, runs, seed)
    rows = []
    for kind in KINDS:
        each = [covered for share in SHARES if (covered := found.covered(kind, share)) is not None]
        rows.append(_row(ONE, kind, min(each, default=None), found.crowds[ONE, kind]))
        rows.append(_row(ALL, kind, found.together(kind), found.crowds[ALL, kind]))
    return rows


def by_share(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """The coverage at each share, and how often all intervals hold."""
    found = counted(point, runs, seed)
    rows = []
    for kind in KINDS:
        rows += [_row(named(share), kind, found.covered(kind, share), found.crowds[ONE, kind]) for share in SHARES]
        rows.append(_row(ALL, kind, found.together(kind), found.crowds[ALL, kind]))
    return rows


def _row(of: str, kind: Kind, covered: float | None, crowds: int) -> Coverage:
    (method, target), level = kind
    return Coverage(of=of, method=method, target=target, level=level, coverage=covered, runs=crowds)
