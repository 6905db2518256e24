"""How often experiments that are watched reject a true hypothesis, and when they find a difference.

Both samples grow from 10 to 5,000 people. After each of many looks the e-value of equal shares is computed, and the
experiment ends as soon as it reaches 1 / alpha.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.comparison.watched import log_e_value
from sottovoce.estimate.frequency.supports import two_rates
from sottovoce.estimate.mean.betting import Bets, bets_for_ever, watched_sides
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.hypotheses.null import PAGE, held
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sources import ADULT

Floats = NDArray[np.float64]
LOOKS = np.unique(np.geomspace(10, 5_000, 40).astype(int))  # people in each sample
LIMITS = (0.0, 1.0)
BLOCK = 2_000  # streams at once
FEWER = 200  # times fewer streams, where something differs


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The share of streams whose e-value ever reaches 20 and 100, and of those whose p-value is ever below 5 %."""
    rng = np.random.default_rng(seed)
    if point["difference"]:
        runs //= FEWER
    first = float(held("sex")[0] / held("sex").sum())
    mechanism = build("grr", Integers(0, 1), epsilon=str(point["epsilon"]))
    own, other = two_rates(mechanism.channel)
    rates = [other + (own - other) * share for share in (first, first - point["difference"])]
    numbers = (np.array([0.0, 1.0]) - other) / (own - other)
    ever = {"at_5": 0, "at_1": 0, "naive": 0}
    ends: list[int] = []
    for start in range(0, runs, BLOCK):
        count = min(BLOCK, runs - start)
        sizes = [LOOKS, np.maximum(1, LOOKS // point["ratio"])]
        yes = [
            np.cumsum(rng.binomial(np.diff(size, prepend=0), rate, (count, len(LOOKS))), axis=1)
            for size, rate in zip(sizes, rates, strict=True)
        ]
        largest, ended = _largest(numbers, sizes, yes)
        ever["at_5"] += int((largest >= np.log(20)).sum())
        ever["at_1"] += int((largest >= np.log(100)).sum())
        ever["naive"] += int((_p_values(sizes, yes) < 0.05).any(axis=1).sum())
        ends += ended
    found = float(np.median(ends)) if ends else 0.0
    return [{"rows": runs, "looks": len(LOOKS), "found": found, **{name: one / runs for name, one in ever.items()}}]


def _largest(numbers: Floats, sizes: list[Any], yes: list[Any]) -> tuple[Floats, list[int]]:
    """The largest log e-value of each stream, exact above log 20, and when the streams above it got there."""
    largest, ended = np.full(len(yes[0]), -np.inf), []
    for look in range(len(LOOKS)):
        counts = [
            np.stack([size[look] - one[:, look], one[:, look]], axis=1) for size, one in zip(sizes, yes, strict=True)
        ]
        bounds = _at_pooled_mean(numbers, counts)
        # The e-value is the smallest over all means, so a stream that is below 20 at one of them need not be searched.
        for stream in np.flatnonzero(bounds >= np.log(20)):
            if largest[stream] >= np.log(100):
                continue
            value = log_e_value(*(watched_sides(numbers, one[stream].astype(float), LIMITS) for one in counts))
            if value >= np.log(20) > largest[stream]:
                ended.append(int(sum(size[look] for size in sizes)))
            largest[stream] = max(largest[stream], value)
    return largest, ended


def _at_pooled_mean(numbers: Floats, counts: list[Any]) -> Floats:
    """The product of both capitals at the mean of both samples, averaged over both directions."""
    total = counts[0] + counts[1]
    means = np.clip(total @ numbers / total.sum(axis=1), *LIMITS)
    ups, downs = zip(*(_capitals(numbers, one, means) for one in counts), strict=True)
    return np.asarray(np.logaddexp(ups[0] + downs[1], downs[0] + ups[1]) - np.log(2))


def _capitals(numbers: Floats, counts: Any, means: Floats) -> tuple[Floats, Floats]:
    up, down = bets_for_ever(1 / (1 - numbers.min())), bets_for_ever(1 / numbers.max())
    away = numbers - means[:, None]

    def mixed(bets: Bets, signed: Floats) -> Floats:
        logs = np.log1p(bets.sizes[:, None] * signed[:, None, :]) @ counts[:, :, None].astype(float)
        return np.asarray(logsumexp(logs[:, :, 0], b=bets.weights, axis=1))

    return mixed(up, away), mixed(down, -away)


def _p_values(sizes: list[Any], yes: list[Any]) -> Floats:
    """P-values of the usual test of two proportions of reports, at every look."""
    rates = [one / size for one, size in zip(yes, sizes, strict=True)]
    pooled = (yes[0] + yes[1]) / (sizes[0] + sizes[1])
    error = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12) * (1 / sizes[0] + 1 / sizes[1]))
    return np.asarray(2 * ndtr(-np.abs(rates[0] - rates[1]) / error))


AXES = ("difference", "epsilon", "ratio")
GRID = (
    *((0.0, epsilon, ratio) for epsilon in (0.5, 1.0, 4.0) for ratio in (1, 4)),
    *((0.2, epsilon, 1) for epsilon in (1.0, 4.0)),
)


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The largest rejection rates where nothing differs."""
    null = [row for row in rows if not row["difference"]]
    five, one, naive = (100 * max(float(row[name]) for row in null) for name in ("at_5", "at_1", "naive"))
    return [
        f"Where nothing differs, the e-value ever reached 20 in at most {five:.2f} % of the streams and 100 in at most"
        f" {one:.2f} %; the p-value of the usual test was ever below 5 % in up to {naive:.0f} %."
    ]


def said(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text above the table."""
    return (
        f"Experiments that are looked at {int(rows[0]['looks'])} times, while the first sample grows from"
        f" {LOOKS[0]} to {LOOKS[-1]:,} people and the second to so many divided by the ratio. The answer is the sex of"
        f" people in the Adult data set, reported through grr. Each cell has {int(rows[0]['rows']):,} streams, or"
        f" {FEWER} times fewer where there is a difference. *Ever 20* and *ever 100* are the shares of streams in which"
        " the e-value reached these numbers at some look: at most 5 % and 1 % where nothing differs. *Naive* is the"
        " share in which the p-value of the usual test was below 5 % at"
        " some look. *Found after* is the median number of people at which the e-value reached 20, among the streams"
        f" that did. {' '.join(summary(rows))}"
    )


EXPERIMENT = Experiment(
    id="tests-watched",
    title="E-values of watched experiments",
    metric="share of streams that ever reject",
    grid=((AXES, GRID),),
    quick=((AXES, GRID[:1]),),
    runs=20_000,
    quick_runs=500,
    cell=Late("hypotheses.watched:cell"),
    figure=Picture(("epsilon", "ratio"), ("at_5", "naive"), where=(("difference", 0),), dots=True, guide=0.05, log=""),
    columns=(*AXES, "at_5", "at_1", "naive", "found"),
    summary=summary,
    needs=(ADULT.file,),
    data=("sex",),
    section=Section(
        page=PAGE,
        heading="## Watched experiments",
        text=said,
        lead=AXES,
        columns=(
            PageColumn("ever 20, %", "at_5", ".2f", (), 100),
            PageColumn("ever 100, %", "at_1", ".2f", (), 100),
            PageColumn("naive, %", "naive", ".1f", (), 100),
            PageColumn("found after", "found", ",.0f"),
        ),
    ),
)
