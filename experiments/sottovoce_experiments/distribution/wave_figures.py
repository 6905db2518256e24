"""Figures 2 to 7 of the square-wave paper: its methods by its metrics, shapes of waves, their width, and buckets.

The paper's three real data sets, its taxi trips of 2018, incomes and retirement plans, are replaced by others of the
same kind, drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.papers import WAVE
from sottovoce_experiments.picture import Picture

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
QUICK_METHODS = tuple(name for name in (*METHODS, *MEANS) if name not in ("HH-ADMM, weighted", "CFO binning, 32"))
GRANULARITIES = (256, 512, 1024, 2048)
RUNS = 20
EMS = EmsDecoder()


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


PEOPLE = (
    f"100,000 participants, {RUNS} runs of each cell; the paper has 100,000 for Beta(5, 2), up to 2,308,374 for the"
    " others, and 100 runs. Numbers of the table are multiplied by 1,000. The trips and all public histograms stand for"
    " data sets of the paper that are not at hand: its taxi trips of 2018, its incomes and its retirement plans."
)


def _figure(number: int, title: str, said: str, *, data: Sequence[str] = DATA, **given: Any) -> Experiment:
    """A figure over the data sets; quick runs have Beta(5, 2) alone."""
    text = given.pop("summary", best)
    return WAVE.figure(
        f"figure-{number}",
        title,
        grid={"data": data, **given.pop("grid")},
        quick={"data": (BETA,), **given.pop("quick")},
        runs=RUNS,
        quick_runs=1,
        claims=CLAIMS[number],
        needs=NEEDS,
        data=DATA,
        form=".2f",
        scale=1000,
        summary=text,
        text=lambda rows: "\n".join([f"{said} {PEOPLE}", "", *(f"- {line}" for line in text(rows))]),
        **given,
    )


def _of_methods(number: int) -> Experiment:
    title, metrics, labels = FIGURES[number]
    return _figure(
        number,
        title,
        "Errors by epsilon; public histograms have 1024 buckets, Beta(5, 2) has 256.",
        cell="distribution.wave_figures:methods_cell",
        rows="methods",
        where={"method": labels},
        grid={"method": (*METHODS, *MEANS), "epsilon": EPSILONS},
        quick={"method": QUICK_METHODS, "epsilon": (0.5, 2.5)},
        picture=Picture("epsilon", metrics, "method", "data", rows=True),
        metric="mean absolute errors against the answers' histogram",
        methods=labels,
        lead=("data", "method"),
        summary=partial(best, metric=metrics[0]),
    )


DISTANCE = "Wasserstein distance"
EXPERIMENTS = (
    *map(_of_methods, FIGURES),
    _figure(
        5,
        "Shapes of waves at epsilon 1, decoded by EMS, 256 buckets",
        "Wasserstein distances by the half-width of the wave; a trapezoid is named by the share of its width that is"
        " flat.",
        cell="distribution.wave_figures:wave_cell",
        grid={"shape": tuple(SHAPES), "epsilon": (1.0,), "width": WIDTHS},
        quick={"shape": ("square", "triangle"), "width": (0.1, 0.25)},
        picture=Picture("width", "wasserstein", "shape", "data"),
        metric=DISTANCE,
        methods=tuple(SHAPES),
    ),
    _figure(
        6,
        "Widths of the square wave, decoded by EMS, 256 buckets",
        "Wasserstein distances by the half-width of the wave.",
        cell="distribution.wave_figures:wave_cell",
        grid={"epsilon": (1.0, 2.0, 3.0, 4.0), "width": WIDTHS},
        quick={"epsilon": (1.0, 4.0), "width": (0.05, 0.1, 0.25)},
        picture=Picture("width", "wasserstein", "epsilon", "data"),
        metric=DISTANCE,
        methods=("square wave",),
        summary=widths_said,
    ),
    _figure(
        7,
        "Numbers of buckets, the square wave decoded by EMS",
        "Wasserstein distances by epsilon, from the histogram in 2048 parts.",
        cell="distribution.wave_figures:granularity_cell",
        grid={"buckets": GRANULARITIES, "epsilon": EPSILONS},
        quick={"buckets": (256, 512), "epsilon": (1.0,)},
        picture=Picture("epsilon", "wasserstein", "buckets", "data"),
        metric=DISTANCE,
        methods=("square wave with EMS",),
    ),
)
