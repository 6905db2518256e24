"""How often tests find a difference that exists, beside the power that was predicted for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.comparison.chi_square import homogeneity
from sottovoce.estimate.comparison.simple_hypotheses import likelihood_ratio, likelihood_ratio_power
from sottovoce.estimate.comparison.stated_mean import z_test, z_test_power
from sottovoce.study.power.overall import best_sets, overall_power
from sottovoce.tally.counts import simulate_counts
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.hypotheses.null import PAGE
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import DIAGONAL, Picture

LEVEL = 0.95
SEEDS = 1 << 48
OTHER_SETS = 500  # among which the public half-sets of a run are chosen


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Measured and predicted power of one test."""
    rng = np.random.default_rng(seed)
    rejected, predicted = TESTS[point["test"]](point, runs, rng)
    power = float(np.mean(rejected))
    return [{"rows": runs, "power": power, "error": float(np.std(rejected) / runs**0.5), "predicted": predicted}]


def _equal(point: Mapping[str, Any], runs: int, rng: np.random.Generator) -> tuple[list[bool], float]:
    """Shares of 1 / k plus and minus half of the difference, with random signs, in two samples."""
    size, half, n = point["categories"], point["difference"] / 2, point["n"]
    domain, rejected = Integers(1, size), []
    options: dict[str, Any] = {}
    if point["mechanism"] == "half-sets":
        options["count"] = best_sets(size, 0.65 if size < 100 else 0.9, LEVEL)
    for _ in range(runs):
        if options:
            options["seed"] = int(rng.integers(OTHER_SETS))
        mechanism = build(point["mechanism"], domain, epsilon=str(point["epsilon"]), **options)
        signs = rng.permutation(np.repeat([half, -half], size // 2))
        estimates = [
            mechanism.estimate(
                simulate_counts(mechanism, rng.multinomial(n, 1 / size + shift), seed=int(rng.integers(SEEDS)))
            )
            for shift in (signs, -signs)
        ]
        rejected.append(homogeneity(estimates).p_value < 1 - LEVEL)
    return rejected, overall_power(mechanism, point["difference"], n / 2, LEVEL, size - 1)


def _simple(point: Mapping[str, Any], runs: int, rng: np.random.Generator) -> tuple[list[bool], float]:
    """Equal shares against shares that fall evenly: the first is larger by the difference, the last smaller."""
    size, n = point["categories"], point["n"]
    mechanism = build(point["mechanism"], Integers(1, size), epsilon=str(point["epsilon"]))
    even = np.full(size, 1 / size)
    other = even + np.linspace(point["difference"], -point["difference"], size)
    rejected = [
        likelihood_ratio(
            mechanism.estimate(simulate_counts(mechanism, rng.multinomial(n, other), seed=int(rng.integers(SEEDS)))),
            even,
            other,
        ).p_value
        < 1 - LEVEL
        for _ in range(runs)
    ]
    return rejected, likelihood_ratio_power(mechanism, even, other, n, LEVEL)


def _mean(point: Mapping[str, Any], runs: int, rng: np.random.Generator) -> tuple[list[bool], float]:
    """Answers 0 or 10, of which a half plus a part of the difference is 10."""
    mechanism = build(point["mechanism"], Integers(0, 10), epsilon=str(point["epsilon"]))
    n, share = point["n"], 0.5 + point["difference"] / 10
    rejected, error = [], 1.0
    for _ in range(runs):
        answers = 10 * (rng.random(n) < share)
        estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=int(rng.integers(SEEDS)))))
        rejected.append(z_test(estimate, 5).p_value < 1 - LEVEL)
    noise = float(mechanism.variance(10, target="sample"))  # the same for 0, by symmetry
    error = ((noise + 100 * share * (1 - share)) / n) ** 0.5
    return rejected, z_test_power(point["difference"], error, LEVEL)


TESTS: dict[str, Callable[[Mapping[str, Any], int, np.random.Generator], tuple[list[bool], float]]] = {
    "equal shares": _equal,
    "likelihood ratio": _simple,
    "z, stated mean": _mean,
}
AXES = ("test", "mechanism", "categories", "epsilon", "n", "difference")
GRID = (
    *(("equal shares", name, 400, 1.0, 50_000, 0.004) for name in ("half-sets", "oue")),
    *(("equal shares", name, 40, 0.5, 10_000, 0.03) for name in ("half-sets", "oue")),
    ("equal shares", "grr", 4, 1.0, 2_000, 0.08),
    ("likelihood ratio", "grr", 4, 1.0, 1_500, 0.05),
    ("likelihood ratio", "hadamard", 40, 1.0, 5_000, 0.012),
    ("z, stated mean", "bernoulli", 2, 1.0, 1_500, 0.6),
    ("z, stated mean", "piecewise", 2, 4.0, 5_000, 0.2),
)


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The largest distance between measured and predicted power."""
    away = [abs(float(row["power"]) - float(row["predicted"])) for row in rows]
    return [f"Measured and predicted power differ by at most {100 * max(away):.1f} points ({len(rows)} cells)."]


def said(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text above the table."""
    return (
        "Tests at the level 5 %. For equal shares, n people are in each of two samples, and each share of one sample is"
        " larger or smaller than that of the other by the difference, at random; half-sets are drawn anew in each run."
        " For the likelihood ratio the shares fall evenly over the categories. Each cell has"
        f" {int(rows[0]['rows']):,} runs. {' '.join(summary(rows))}"
    )


EXPERIMENT = Experiment(
    id="tests-power",
    title="How often tests find a difference",
    metric="share of runs in which the test rejects",
    grid=((AXES, GRID),),
    quick=((AXES, (GRID[2], GRID[4])),),
    runs=1_000,
    quick_runs=100,
    cell=Late("hypotheses.power:cell"),
    figure=Picture("predicted", "power", "test", dots=True, guide=DIAGONAL, log=""),
    columns=(*AXES, "power", "error", "predicted"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Power",
        text=said,
        lead=AXES,
        columns=(
            PageColumn("power, %", "power", ".1f", (), 100),
            PageColumn("standard error", "error", ".1f", (), 100),
            PageColumn("predicted, %", "predicted", ".1f", (), 100),
        ),
    ),
)
