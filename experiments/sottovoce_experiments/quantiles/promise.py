"""Noisy binary search for a target error, and for a minimum: how often the promise is kept, computed over all turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy  # loads its parts at their first use

import sottovoce as sv
from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Above
from sottovoce.protocols.quantile.answers import ThresholdAnswers, line_of
from sottovoce.protocols.quantile.binary_search import QuantileBinarySearch
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.page import PageColumn, Row, Section, percent
from sottovoce_experiments.picture import DIAGONAL, Picture
from sottovoce_experiments.quantiles.declared import PAGE
from sottovoce_experiments.quantiles.laws import PARTS, QuantileLaw

Turns = tuple[ThresholdAnswers, ...]
LAWS = ("Beta(5, 2)", "uniform", "two humps", "exponential", "three spikes")
STEPS = 64  # parts of the range that a search tells apart
ROUNDS = 6
AXES = ("quantile", "epsilon", "error", "people")
TARGETS = ((1.0, 0.1), (1.0, 0.02), (2.0, 0.02))
CASES = (
    *((share, epsilon, error, 0) for share in ("0.5", "0.9") for epsilon, error in TARGETS),
    *(("minimum", epsilon, 0.0, people) for epsilon in (1.0, 2.0) for people in (10_000, 100_000, 1_000_000)),
)


def ends(search: QuantileBinarySearch, law: QuantileLaw, turns: Turns = ()) -> Iterator[tuple[float, float]]:
    """Where a search may end, with the probability of all turns that lead there."""
    threshold = None if len(turns) == search.rounds else search.next_threshold(turns)
    if threshold is None:
        yield search.place(turns), 1.0
        return
    asked = np.array([float(search.people(len(turns)))])
    rates: Any = rates_of(sv.mechanism("rr", Above(search.domain, threshold), epsilon=search.epsilon).channel)
    answers = ThresholdAnswers(
        np.array([float(threshold)]), asked, asked, float(rates.own), float(rates.other), *line_of(search.domain)
    )
    # The search goes down if the estimated share below the threshold is at least the one asked for: if yes is rare.
    most = np.floor(asked * answers.yes_rate(float(search.share)) + 1e-9)
    down = float(scipy.stats.binom.cdf(most, asked, answers.yes_rate(law.below(float(threshold))))[0])
    for yes, chance in ((0 * asked, down), (asked, 1 - down)):
        if chance > 0:
            decided = ThresholdAnswers(
                answers.thresholds, asked, yes, answers.own, answers.other, answers.ends, answers.spacing
            )
            for place, following in ends(search, law, (*turns, decided)):
                yield place, chance * following


def searched_for(point: Mapping[str, Any], law: QuantileLaw) -> tuple[QuantileBinarySearch, float]:
    """The search, and the error of the share that it promises."""
    if point["quantile"] == "minimum":
        search = QuantileBinarySearch.minimum(law.domain, point["epsilon"], point["people"], ROUNDS)
        return search, float(search.share)  # somewhere between a share of nothing and twice the visible one
    error = point["error"]
    return QuantileBinarySearch.for_error(law.domain, point["quantile"], point["epsilon"], error, parts=STEPS), error


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """How often the error is as promised, and its root mean square: exact, without runs."""
    del runs, seed
    law = QuantileLaw.of(point["data"])
    search, promised = searched_for(point, law)
    level, kept, square = float(search.share), 0.0, 0.0
    for place, chance in ends(search, law):
        kept += chance * (law.error(place, level, PARTS // STEPS) <= promised)
        square += chance * law.error(place, level) ** 2
    return [
        {
            "rounds": search.rounds,
            "asked": search.participants,
            "share": level,
            "promised": promised,
            "kept": min(kept, 1.0),
            "rmse": square**0.5,
        }
    ]


def text(rows: Sequence[Row]) -> str:
    """What was computed."""
    del rows
    return (
        "`QuantileBinarySearch.for_error` takes the share asked for, the error of the share that is allowed and the"
        f" parts of the range, here {STEPS}. It says how many people and rounds keep the promise in 95 of 100"
        " searches. `kept` is how often they do: the error of the share is at most the one promised, up to one part of"
        " the range."
        " `error` is the root mean square error of the share. Both are computed over all turns that a search can take,"
        " from binomial probabilities. The published number of people comes from Hoeffding's inequality for every"
        " round, and is far larger than needed: all promises are kept nearly always. Where answers are dense, one part"
        " of the range holds more of them than the error that is promised."
        "\n\n`minimum` is the search for a minimum (Fukuchi, Yu and Sakuma 2022). No private method finds a minimum"
        f" that few people hold. With so many people, {ROUNDS} rounds can tell only the share `share` from nothing, and"
        " the search promises a place below which at most twice that share lies."
    )


EXPERIMENT = Experiment(
    id="quantile-promises",
    title="Noisy binary search for a target error, and for a minimum",
    metric="probability that the error of the share is at most the one promised",
    data=LAWS,
    methods=("QuantileBinarySearch",),
    grid=((AXES, CASES), ("data", LAWS)),
    quick=((AXES, CASES[:1]), ("data", ("uniform",))),
    runs=1,
    quick_runs=1,
    cell=Late("quantiles.promise:cell"),
    figure=Picture("promised", "rmse", "data", dots=True, guide=DIAGONAL, log="xy"),
    columns=("quantile", "epsilon", "share", "promised", "asked", "rounds", "data", "kept", "rmse"),
    section=Section(
        page=PAGE,
        heading="## People for a target error",
        text=text,
        lead=(
            *("quantile", "epsilon", PageColumn("promised error", "promised", ".3f")),
            *(PageColumn("share", "share", ".3f"), "data"),
        ),
        columns=(
            PageColumn("people", "asked", ","),
            PageColumn("rounds", "rounds", "d"),
            percent("kept", 2, "kept"),
            PageColumn("error", "rmse", ".4f"),
        ),
    ),
)
