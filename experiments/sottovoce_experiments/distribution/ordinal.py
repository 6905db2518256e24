"""Answers in an order: exact variances of cumulative shares from subset exponential mechanisms and waves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sottovoce.core.domain import Integers
from sottovoce.core.question import Distribution
from sottovoce.core.registry import mechanism
from sottovoce.mechanisms.distribution.subset_exponential import usual_size
from sottovoce.study.workloads import error_of
from sottovoce_experiments.distribution.designs import PAGE
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture

SEM = "subset-exponential"
METHODS = (SEM, "square-wave-discrete", "coded-wave")


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """n times the mean variance of a cumulative share, if all answers are equally common."""
    answers, epsilon = point["answers"], point["epsilon"]
    domain = Integers(1, answers)

    def variance(name: str, **options: Any) -> float:
        return error_of(mechanism(name, domain, epsilon=epsilon, **options), Distribution(domain)) ** 2

    sizes = {size: variance(SEM, w=size) for size in range(1, answers // 2 + 1)}
    method = mechanism(SEM, domain, epsilon=epsilon)
    w = usual_size(answers, method.claimed)
    waves = {name: variance(name) for name in METHODS[1:]}
    return [
        {
            SEM: sizes[w],
            "w": w,
            "least": min(sizes.values()),
            **waves,
            "ratio": sizes[w] / waves["square-wave-discrete"],
            "neighbours": epsilon / (answers - w),
        }
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """How far the mechanism is above a wave, and its default above its best size of sets."""
    ratios, above = [row["ratio"] for row in rows], max(row[SEM] / row["least"] for row in rows)
    return [
        f"The variance of {SEM} is {min(ratios):.1f} to {max(ratios):.1f} times that of a wave.",
        f"Its usual size of sets has a variance of at most {above:.2f} times the least.",
    ]


EXPERIMENT = Experiment(
    id="ordinal-designs",
    title="Cumulative shares of answers in an order",
    metric="n times the variance of a cumulative share, mean over all answers",
    methods=METHODS,
    grid=(("answers", (5, 7, 10)), ("epsilon", (0.5, 1.0, 2.0, 4.0))),
    quick=(("answers", (5,)), ("epsilon", (1.0,))),
    cell=cell,
    figure=Picture("epsilon", METHODS, panels="answers"),
    columns=("answers", "epsilon", "w", *METHODS, "least", "ratio", "neighbours"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Answers in an order",
        text="n times the exact variance of a cumulative share, mean over all answers, which are equally common."
        " `subset-exponential` (SEM) reports sets of w answers; *least* is its variance at the best w. *Ratio* is its"
        " variance over that of `square-wave-discrete`. All mechanisms spend epsilon between some two answers. SEM"
        " spends only *neighbours* between answers next to each other, as it was published for, while a wave spends"
        " epsilon there too. Who needs no more than epsilon between any two answers should take a wave.",
        lead=("answers", "epsilon"),
        columns=(
            PageColumn("w", "w", "d"),
            PageColumn("subset-exponential", SEM, ".3g"),
            PageColumn("least", "least", ".3g"),
            *(PageColumn(name, name, ".3g") for name in METHODS[1:]),
            PageColumn("ratio", "ratio", ".1f"),
            PageColumn("neighbours", "neighbours", ".3f"),
        ),
    ),
)
