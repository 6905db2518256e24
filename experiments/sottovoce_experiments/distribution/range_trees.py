"""Hierarchies for ranges: how many children, how many participants for each level, one level or a split budget.

Nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from sottovoce.core.channel.shapes import alternatives_of
from sottovoce.core.domain import Integers
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Distribution
from sottovoce.core.registry import mechanism
from sottovoce.estimate.distribution.queries import queries
from sottovoce.study.workloads import error_of
from sottovoce_experiments.distribution.range_designs import PAGE, sampling
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture

BINS = 256
BRANCHING = (2, 3, 4, 5, 8, 16)
EPSILONS = (0.5, 1.0, 2.0)
METHODS = ("equal", "ranges", "split")


def noise(method: Mechanism) -> float:
    """n times the mean squared error of all ranges that the noise adds, for equally common bins."""
    domain = Integers(0, BINS - 1)
    return error_of(method, Distribution(domain, "ranges", BINS)) ** 2 - sampling(queries("ranges", BINS))


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """One level for each participant, with both kinds of shares; or every level, with a part of the budget each."""
    epsilon = Decimal(str(point["epsilon"]))

    def tree(budget: Decimal, shares: str = "equal") -> Mechanism:
        domain = Integers(0, BINS - 1)
        options = {"buckets": BINS, "branching": point["branching"], "workload": "ranges"}
        return mechanism("hierarchy", domain, epsilon=budget, shares=shares, **options)

    levels = len(alternatives_of(tree(epsilon).channel))
    # Everyone answers about each level: as many reports for each as there are participants, of a part of the budget.
    split = noise(tree((epsilon / levels).quantize(Decimal("1e-9")))) / levels
    return [{"levels": levels, "equal": noise(tree(epsilon)), "ranges": noise(tree(epsilon, "ranges")), "split": split}]


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The best number of children."""
    said = []
    for epsilon in sorted({row["epsilon"] for row in rows}):
        own = [row for row in rows if row["epsilon"] == epsilon]
        best = {name: min(own, key=lambda row: float(row[name])) for name in METHODS}
        equal, ranges, split = (f"{best[name]['branching']} ({best[name][name]:.3g})" for name in METHODS)
        said.append(
            f"Epsilon {epsilon:g}, best number of children and n x MSE: equal shares {equal}, shares for ranges"
            f" {ranges}, split budget {split}."
        )
    return said


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """What is compared."""
    lines = "\n".join(f"- {line}" for line in summary(rows))
    return (
        f"n times the mean squared error of all ranges of {BINS} bins that the noise adds, unbiased, by the number of"
        " children of a node. Participants answer about one level each, all levels equally often or with"
        ' `shares="ranges"`; or they answer about every level with a part of the budget, which is far worse.'
        f"\n\n{lines}"
    )


EXPERIMENT = Experiment(
    id="range-trees",
    title="Hierarchies for ranges: number of children, shares of levels, split budget",
    metric="variance, averaged over all ranges and over equally common bins",
    methods=METHODS,
    grid=(("epsilon", EPSILONS), ("branching", BRANCHING)),
    quick=(("epsilon", (1.0,)), ("branching", (2, 4))),
    runs=1,
    quick_runs=1,
    cell=cell,
    figure=Picture("branching", METHODS, where=(("epsilon", EPSILONS[0]),)),
    columns=("epsilon", "branching", "levels", *METHODS),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Hierarchies",
        text=text,
        lead=("epsilon", PageColumn("children", "branching")),
        columns=(
            PageColumn("levels", "levels"),
            PageColumn("equal shares", "equal", ".4g"),
            PageColumn("shares for ranges", "ranges", ".4g"),
            PageColumn("split budget", "split", ".4g"),
        ),
    ),
)
