"""Coverage of shares, differences and medians within groups, also where a group is small, answers rare or heaped."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.core.question import WithinGroups
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce.estimate.request import IntervalRequest, Target
from sottovoce.estimate.within_groups.evidence import of_table
from sottovoce.estimate.within_groups.table import CellTable, flat
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.picture import Picture

LEVEL = 0.95
GROUPS = sv.Categories(["large", "small"])
RARE = np.array([[0.9, 0.1], [0.98, 0.02]])  # shares of "no" and "yes" in each group
HEAPED = np.array([0.02, 0.03, 0.05, 0.05, 0.05, 0.5, 0.1, 0.05, 0.05, 0.05, 0.05])  # half of the answers at one number


@lru_cache(maxsize=64)
def _mechanism(question: WithinGroups, epsilon: float, participants: int) -> sv.Mechanism:
    return sv.plan(question, epsilon=epsilon, participants=participants, methods=["binned"]).best.mechanism


def _tables(mechanism: sv.Mechanism, truth: Any, n: int, runs: int, seed: int) -> Any:
    """Tables of cells: reports of people drawn from the population have the rates of the law."""
    shadow, question, cells = flat(mechanism), mechanism.question, mechanism.domain
    rates = transition_of(mechanism.channel, len(truth)).forward(truth)
    generator = np.random.default_rng(seed)
    for counts in generator.multinomial(n, rates / rates.sum(), runs):
        yield CellTable(question, cells, ((1.0, from_cells(shadow, n, counts)),))  # type: ignore[arg-type]


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """How often the intervals of the small group, of the difference and of both medians hold the truth."""
    n, epsilon, sizes = point["n"], point["epsilon"], np.array([1 - point["small"], point["small"]])
    shares = WithinGroups(GROUPS, sv.Frequency(sv.Categories(["no", "yes"])))
    mechanism, gap = _mechanism(shares, epsilon, n), RARE[0, 0] - RARE[1, 0]
    held = np.zeros(4)
    shown = compared = 0
    for table in _tables(mechanism, (sizes[:, None] * RARE).ravel(), n, runs, seed):
        evidence: Any = of_table(table)
        low, high = evidence.interval(IntervalRequest(LEVEL, evidence.default))
        held += (low <= RARE.ravel()) & (RARE.ravel() <= high)
        if table.estimable.all():
            pairs = evidence.pairs(LEVEL, "holm", Target.POPULATION)
            shown += 1
            compared += bool(pairs.tests.p_values_at(np.array([gap]))[0] >= 1 - LEVEL)
    numbers = WithinGroups(GROUPS, sv.Quantile(sv.Integers(0, 10), (Decimal("0.5"),)))
    inside = np.array([HEAPED, np.roll(HEAPED, 2)])
    medians = (inside.cumsum(axis=1) >= 0.5 - 1e-12).argmax(axis=1)
    both = np.zeros(2)
    for table in _tables(_mechanism(numbers, epsilon, n), (sizes[:, None] * inside).ravel(), n, runs, seed + 1):
        evidence = of_table(table)
        low, high = evidence.interval(IntervalRequest(LEVEL, evidence.default))
        both += (low <= medians) & (medians <= high)
    return [
        {
            "shown": shown / runs,
            "share in large": held[0] / runs,
            "share in small": held[2] / runs,
            "difference": compared / shown if shown > runs // 20 else float("nan"),
            "median of large": both[0] / runs,
            "median of small": both[1] / runs,
        }
    ]


KINDS = ("share in large", "share in small", "difference", "median of large", "median of small")
GRID = (("epsilon", (1.0, 3.0)), ("n", (1000, 5000)), ("small", (0.5, 0.1, 0.03)))
EXPERIMENT = Experiment(
    id="within-groups",
    title="Coverage of 95 % intervals within groups: rare answers, heaped numbers, a small group",
    methods=("binned",),
    metric="how often an interval holds the truth; how often the small group is shown",
    grid=GRID,
    quick=(("epsilon", (3.0,)), ("n", (1000,)), ("small", (0.1,))),
    runs=2000,
    quick_runs=100,
    cell=cell,
    figure=Picture(("epsilon", "n", "small"), KINDS, dots=True, guide=LEVEL, log=""),
    columns=("epsilon", "n", "small", "shown", *KINDS),
)
