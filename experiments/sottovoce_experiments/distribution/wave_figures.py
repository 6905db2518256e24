"""Figures 2 to 7 of the square-wave paper: its methods by its metrics, shapes of waves, their width, and buckets.

Two of the paper's data sets, its taxi trips of 2018 and the retirement plans, are replaced by others of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import floor
from typing import Any

import numpy as np

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Distribution
from sottovoce.core.registry import mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.decoders.ems import EmsDecoder
from sottovoce.estimate.distribution.iterate import iterate
from sottovoce.estimate.distribution.readings.transition import BucketMixture, transition_of
from sottovoce.estimate.frequency.laws import output_law
from sottovoce.estimate.metrics import wasserstein
from sottovoce.mechanisms.distribution.common import bandwidth, coded
from sottovoce.mechanisms.distribution.general_wave import trapezoids
from sottovoce.tally.tally import Tally
from sottovoce_experiments.distribution.claims import CLAIMS
from sottovoce_experiments.distribution.crowds import (
    BETA,
    NEEDS,
    PUBLIC,
    TAXI_TIMES,
    answers_of,
    buckets_of,
)
from sottovoce_experiments.distribution.methods import MEANS, METHODS, run
from sottovoce_experiments.distribution.table_2 import PAGE
from sottovoce_experiments.distribution.wave import PAPER
from sottovoce_experiments.experiment import Axes, Experiment, Row
from sottovoce_experiments.page import PageColumn, Section

DATA = (BETA, TAXI_TIMES, *PUBLIC)
EPSILONS = (0.5, 1.0, 1.5, 2.0, 2.5)
DISTRIBUTIONS = tuple(label for label in METHODS if label not in ("HH", "HaarHRR"))
FIGURES: dict[int, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    2: ("Distances from the distribution", ("wasserstein", "ks"), DISTRIBUTIONS),
    3: ("Errors of the shares of ranges", ("range_0.1", "range_0.4"), tuple(METHODS)),
    4: ("Errors of mean, variance and quantiles", ("mean", "variance", "quantile"), (*DISTRIBUTIONS, *MEANS)),
}
SHAPES = {"square": "1", "0.8": "0.8", "0.6": "0.6", "0.4": "0.4", "0.2": "0.2", "triangle": "0"}
WIDTHS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
GRANULARITIES = (256, 512, 1024, 2048)
RUNS = 20
EMS = EmsDecoder()
HEADS = {
    "wasserstein": "W",
    "ks": "KS",
    "range_0.1": "0.1",
    "range_0.4": "0.4",
    "mean": "mean",
    "variance": "variance",
    "quantile": "deciles",
}


def methods_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """All errors of a method on one data set."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(runs):
        answers = answers_of(point["data"], rng)
        found.append(
            run(point["method"], answers, point["epsilon"], buckets_of(point["data"]), int(rng.integers(1 << 62)))
        )
    known = [name for name, value in found[0].items() if value is not None]
    return [{name: float(np.mean([one[name] for one in found])) if name in known else None for name in found[0]}]


def wave_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """A wave of some shape and width on discrete buckets, decoded by EMS; counts are drawn from the exact law."""
    rng, size = np.random.default_rng(seed), 256
    method = waves(point.get("shape", "square"), point["width"], point["epsilon"], size)
    law = output_law(method.channel)
    errors = []
    for _ in range(runs):
        held = np.histogram(answers_of(point["data"], rng), size, (0, 1))[0]
        cells = rng.multinomial(held, law).sum(axis=0)
        found = method.estimate(Tally(method, int(held.sum()), cells), decoder="ems")
        errors.append(wasserstein(found, held / held.sum()))
    return [{"wasserstein": float(np.mean(errors)), "error": float(np.std(errors) / np.sqrt(runs))}]


@lru_cache(maxsize=16)
def waves(shape: str, width: float, epsilon: float, size: int) -> Mechanism:
    """A wave whose half-width is this part of the domain."""
    budget = check_epsilon("a wave", epsilon)
    domain = Interval(0, 1)
    table = trapezoids(size, max(1, floor(width * size)), Fraction(SHAPES[shape]), odds(budget), around=False)
    question = Distribution(domain, "cdf", size)
    return Mechanism(
        "general-wave", question, table, budget, CountOutputs(), domain=coded("general-wave", domain, size)
    )


def granularity_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The square wave with EMS for a number of buckets; distances are those of the finest truth."""
    rng, errors = np.random.default_rng(seed), []
    size, finest = point["buckets"], max(GRANULARITIES)
    method = mechanism("square-wave", Interval(0, 1), epsilon=point["epsilon"], buckets=size)
    for _ in range(runs):
        answers = answers_of(point["data"], rng)
        tally = method.tally(method.privatize(answers, seed=int(rng.integers(1 << 62)), threads=1))
        # Without the unbiased shares of so many buckets, which the reports of a number do not determine.
        mixture = BucketMixture(transition_of(method.channel, size), tally.cells.astype(np.float64))
        found, _ = iterate(mixture, stop=EMS.stop, smooth=True, max_iterations=EMS.max_iterations)
        shares = np.repeat(found, finest // size) * size / finest
        errors.append(wasserstein(shares, np.histogram(answers, finest, (0, 1))[0] / len(answers)))
    return [{"wasserstein": float(np.mean(errors)), "error": float(np.std(errors) / np.sqrt(runs))}]


def best(rows: Sequence[Row], metric: str = "wasserstein") -> list[str]:
    """The method with the least error, by data and epsilon."""
    axis = next(name for name in ("method", "shape", "width", "buckets") if name in rows[0])
    lines = []
    for data in dict.fromkeys(row["data"] for row in rows):
        said = []
        for epsilon in sorted({row["epsilon"] for row in rows}):
            chosen = [row for row in rows if row["data"] == data and row["epsilon"] == epsilon]
            known = [row for row in chosen if row[metric] is not None]
            said.append(f"{min(known, key=lambda row: row[metric])[axis]} at {epsilon:g}")
        lines.append(f"Least {metric.replace('_', ' ')} on {data}: {', '.join(said)}.")
    return lines


def widths_said(rows: Sequence[Row]) -> list[str]:
    """The best widths, and those that the mechanism takes."""
    own = [
        f"{float(bandwidth(check_epsilon('a wave', epsilon))):.3f} at epsilon {epsilon:g}"
        for epsilon in sorted({row["epsilon"] for row in rows})
    ]
    return [*best(rows), f"The mechanism's own half-width, from mutual information: {', '.join(own)}."]


def _section(
    number: int, title: str, text: str, by: tuple[str, ...], columns: Sequence[PageColumn],
    said: Callable[[Sequence[Row]], list[str]] = best,
) -> Section:  # fmt: skip
    """A table of the page of errors, with one line for each pair `by`, below what it shows in words."""
    data = (
        f"100,000 participants, {RUNS} runs of each cell, mean errors x 1000. The trips and the public histograms stand"
        " for data sets of the paper that are not at hand."
    )
    return Section(
        page=PAGE,
        heading=f"## Figure {number}: {title[0].lower() + title[1:]}",
        text=lambda rows: "\n".join(
            [
                *(f"{text} {data}", ""),
                *(f"- {claim.said([dict(row) for row in rows])}" for claim in CLAIMS[number]),
                *(f"- {line}" for line in said([dict(row) for row in rows])),
            ]
        ),
        lead=by,
        columns=tuple(columns),
    )


def _across(axis: str, values: Sequence[float], field: str, head: str = "") -> list[PageColumn]:
    """A column for each value of an axis."""
    return [PageColumn(f"{head}{value:g}", field, ".2f", ((axis, value),), 1000, missing="-") for value in values]


def _figure(number: int) -> Experiment:
    title, metrics, labels = FIGURES[number]
    grid: Axes = (("data", DATA), ("method", labels), ("epsilon", EPSILONS))
    return Experiment(
        id=f"sw-figure-{number}",
        paper=f"{PAPER}, Figure {number}",
        title=title,
        data=DATA,
        methods=labels,
        metric="mean absolute errors against the answers' histogram",
        grid=grid,
        quick=(("data", (BETA,)), ("method", labels[:2]), ("epsilon", (1.0,))),
        runs=RUNS,
        quick_runs=1,
        cell=methods_cell,
        figure="distribution.pictures:by_data",
        columns=("data", "method", "epsilon", *metrics),
        summary=partial(best, metric=metrics[0]),
        needs=NEEDS,
        section=_section(
            number,
            title,
            "Each column is an error at an epsilon; data sets have 1024 buckets, Beta(5, 2) has 256.",
            ("data", "method"),
            [one for name in metrics for one in _across("epsilon", EPSILONS, name, f"{HEADS[name]} at ")],
            partial(best, metric=metrics[0]),
        ),
    )


SHAPED = Experiment(
    id="sw-figure-5",
    paper=f"{PAPER}, Figure 5",
    title="Shapes of waves at epsilon 1, decoded by EMS, 256 buckets",
    data=DATA,
    methods=tuple(SHAPES),
    metric="Wasserstein distance",
    grid=(("data", DATA), ("shape", tuple(SHAPES)), ("width", WIDTHS), ("epsilon", (1.0,))),
    quick=(("data", (BETA,)), ("shape", ("square", "triangle")), ("width", (0.25,)), ("epsilon", (1.0,))),
    runs=RUNS,
    quick_runs=1,
    cell=wave_cell,
    figure="distribution.pictures:by_width",
    columns=("data", "shape", "width", "wasserstein", "error"),
    summary=best,
    needs=NEEDS,
    section=_section(
        5,
        "Shapes of waves",
        "Wasserstein distances by the half-width of the wave, at epsilon 1, 256 buckets, decoded by EMS; a trapezoid is"
        " named by the share of its width that is flat.",
        ("data", "shape"),
        _across("width", WIDTHS, "wasserstein"),
    ),
)
WIDE = Experiment(
    id="sw-figure-6",
    paper=f"{PAPER}, Figure 6",
    title="Widths of the square wave, decoded by EMS, 256 buckets",
    data=DATA,
    methods=("square wave",),
    metric="Wasserstein distance",
    grid=(("data", DATA), ("epsilon", (1.0, 2.0, 3.0, 4.0)), ("width", WIDTHS)),
    quick=(("data", (BETA,)), ("epsilon", (1.0,)), ("width", (0.1, 0.25))),
    runs=RUNS,
    quick_runs=1,
    cell=wave_cell,
    figure="distribution.pictures:by_width",
    columns=("data", "epsilon", "width", "wasserstein", "error"),
    summary=widths_said,
    needs=NEEDS,
    section=_section(
        6,
        "Widths of the square wave",
        "Wasserstein distances by the half-width of the wave, 256 buckets, decoded by EMS.",
        ("data", "epsilon"),
        _across("width", WIDTHS, "wasserstein"),
        widths_said,
    ),
)
FINE = Experiment(
    id="sw-figure-7",
    paper=f"{PAPER}, Figure 7",
    title="Numbers of buckets, the square wave decoded by EMS",
    data=DATA,
    methods=("square wave with EMS",),
    metric="Wasserstein distance from the finest histogram",
    grid=(("data", DATA), ("buckets", GRANULARITIES), ("epsilon", EPSILONS)),
    quick=(("data", (BETA,)), ("buckets", (256, 512)), ("epsilon", (1.0,))),
    runs=RUNS,
    quick_runs=1,
    cell=granularity_cell,
    figure="distribution.pictures:by_data",
    columns=("data", "buckets", "epsilon", "wasserstein", "error"),
    summary=best,
    needs=NEEDS,
    section=_section(
        7,
        "Numbers of buckets",
        "Wasserstein distances by epsilon, from the histogram in 2048 parts, the square wave decoded by EMS.",
        ("data", "buckets"),
        _across("epsilon", EPSILONS, "wasserstein"),
    ),
)


EXPERIMENTS = (*map(_figure, FIGURES), SHAPED, WIDE, FINE)
