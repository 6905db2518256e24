"""How often an observer of all reports of a person guesses right: by averaging, and by pool inference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from sottovoce.core.channel.facets import Rates, rates_of
from sottovoce.core.domain import Integers
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.registry import mechanism as build
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.over_time.compared import PAGE
from sottovoce_experiments.page import PageColumn, Section, percent
from sottovoce_experiments.picture import Picture

POOLS, OWN = 4, 4  # pools of so many answers each
PREFERS = 0.8  # how often a person's answer lies in the pool that they prefer
AXES = ("epsilon", "waves", "window")
GRID = tuple(
    (epsilon, waves, window)
    for epsilon in (0.5, 1.0)
    for waves, windows in ((12, (1, 4, 12)), (365, (1, 30, 365)))
    for window in windows
)


def averaged(epsilon: float, reports: int) -> float:
    """The chance of the right guess between two equally likely answers that stay, from all reports; exact."""
    own = _rates(2, epsilon)[0]
    counts = np.arange(reports + 1)
    return float(np.sum(np.maximum(binom.pmf(counts, reports, own), binom.pmf(counts, reports, 1 - own))) / 2)


def inferred(epsilon: float, reports: int, people: int, rng: np.random.Generator) -> float:
    """The share of people whose preferred pool is the likeliest one given their reports."""
    k = POOLS * OWN
    own, other = _rates(k, epsilon)
    answers = np.full((POOLS, k), (1 - PREFERS) / (k - OWN))
    for pool in range(POOLS):
        answers[pool, OWN * pool : OWN * (pool + 1)] = PREFERS / OWN
    law = other + (own - other) * answers  # of a report, for each preferred pool
    pools = rng.integers(0, POOLS, people)
    counts = np.array([rng.multinomial(reports, law[pool] / law[pool].sum()) for pool in pools])
    return float(np.mean(np.argmax(counts @ np.log(law).T, axis=1) == pools))


def _rates(k: int, epsilon: float) -> tuple[float, float]:
    rates = rates_of(build("grr", Integers(0, k - 1), epsilon=str(epsilon)).channel)
    if not isinstance(rates, Rates):
        raise TypeError
    return float(rates.own), float(rates.other)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Success of both attacks on one schedule, with `runs` people for pool inference."""
    repeat, epsilon = Repeat(1, int(point["waves"]), int(point["window"])), float(point["epsilon"])
    return [
        {
            **point,
            "reports": repeat.answers,
            "averaged": averaged(epsilon, repeat.answers),
            "bound": 1 / (1 + math.exp(-epsilon * repeat.answers)),
            "inferred": inferred(epsilon, repeat.answers, runs, np.random.default_rng(seed)),
            "people": runs,
        }
    ]


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Text above the table."""
    return (
        "An observer sees all reports of a person (`grr`). *Averaging*: the answer is yes or no and stays; the share of"
        " right guesses (a blind guess: 50 %) is exact, and `bound` is what the sum of the losses allows. *Pool"
        f" inference*: a person prefers one of {POOLS} pools of {OWN} answers and gives one of its answers"
        f" {PREFERS:.0%} of the time; the share of {rows[0]['people']:,} people whose pool is guessed right by"
        " an observer who knows all this (a blind guess: 25 %). With a window of one wave everyone reports each"
        " time; with a window of all waves once."
    )


EXPERIMENT = Experiment(
    id="over-time-attacks",
    title="Guesses from all reports of a person",
    metric="share of right guesses",
    methods=("grr",),
    grid=((AXES, GRID),),
    quick=((AXES, GRID[:2]),),
    runs=20_000,
    quick_runs=500,
    cell=Late("over_time.attacks:cell"),
    figure=Picture(("epsilon", "waves", "window"), ("averaged", "bound", "inferred"), dots=True, guide=0.5, log=""),
    columns=(*AXES, "reports", "averaged", "bound", "inferred"),
    section=Section(
        page=PAGE,
        heading="## Attacks",
        text=text,
        lead=AXES,
        columns=(
            PageColumn("reports", "reports"),
            percent("averaging, %", 1, "averaged"),
            percent("bound, %", 1, "bound"),
            percent("pool inference, %", 1, "inferred"),
        ),
    ),
)
