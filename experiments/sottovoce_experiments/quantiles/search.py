"""Errors and coverage of searches for quantiles: each round is drawn from the law of its counts."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from sottovoce.core.channel.facets import rates_of
from sottovoce.core.round import Round, Tallies
from sottovoce.estimate.request import IntervalRequest, Method
from sottovoce.protocols.play import State, play
from sottovoce.protocols.quantile.evidence import ThresholdQuantiles
from sottovoce.protocols.quantile.rounds import QuantileRounds
from sottovoce.protocols.ranges.bits import threshold_of
from sottovoce.tally.tally import Tally
from sottovoce_experiments.experiment import Row
from sottovoce_experiments.quantiles.laws import QuantileLaw

EARLY = 3  # rounds of a search that is closed early
NEARBY = 1  # parts of 1 / 1,024 of the range that an estimate may be beside the quantile, in the second error
SEQUENCES = 4  # one of so many runs has its confidence sequence computed, after every round


def drawn(law: QuantileLaw, stage: Round, people: int, rng: np.random.Generator) -> Tallies:
    """The tallies of a round: arms by coins, and binomial counts of each arm."""
    weights = np.array([arm.weight for arm in stage.arms], float)
    tallies = []
    for arm, asked in zip(stage.arms, rng.multinomial(people, weights / weights.sum()).tolist(), strict=True):
        rates: Any = rates_of(arm.mechanism.channel)
        own, other = float(rates.own), float(rates.other)
        empty = Tally(arm.mechanism, 0, np.zeros(2, np.int64))
        above = 1 - law.below(float(threshold_of(empty)))
        yes = int(rng.binomial(asked, other + (own - other) * above))
        tallies.append(Tally(arm.mechanism, asked, np.array([asked - yes, yes])))
    return tuple(tallies)


def searched(law: QuantileLaw, protocol: QuantileRounds, rng: np.random.Generator) -> State:
    """The last state of a search."""
    sizes = protocol.sizes
    return play(protocol, lambda stage, number: drawn(law, stage, sizes[number - 1], rng))


def floor(epsilon: float, level: float, n: float) -> float:
    """Standard error of the share below the true quantile, if everyone were asked about it."""
    odds = np.exp(epsilon)
    return float(np.sqrt((level * (1 - level) + odds / (odds - 1) ** 2) / n))


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Error over the floor and coverage: at the end, after three rounds, and of the sequence after every round."""
    law = QuantileLaw.of(point["data"], ties=point["answers"] == "ties")
    epsilon, n, level = point["epsilon"], point["n"], point["quantile"]
    protocol = QuantileRounds(law.domain, [Decimal(str(level))], Decimal(str(epsilon)), n)
    least = floor(epsilon, level, n)
    ratios, nearby, likely, ever, early, widths, longest = [], [], [], [], [], [], []
    for run in range(runs):
        state = searched(law, protocol, np.random.default_rng([seed % (1 << 63), run]))
        estimate = state.estimates["quantile"]
        ratios.append(law.error(estimate.value, level) / least)
        nearby.append(law.error(estimate.value, level, NEARBY) / least)
        likely.append(law.holds(estimate.ci(), level))
        answers = protocol.evidence(state.history).rounds
        rounds = [ThresholdQuantiles(answers[: done + 1], protocol.question) for done in range(len(answers))]
        early.append(law.holds(rounds[EARLY - 1].interval(IntervalRequest(0.95, Method.LIKELIHOOD)), level))
        widths.append(law.width(estimate.ci()) / least)
        if run % SEQUENCES == 0:
            sequences = [one.interval(IntervalRequest(0.95, Method.ANYTIME)) for one in rounds]
            ever.append(all(law.holds(bounds, level) for bounds in sequences))
            longest.append(law.width(sequences[-1]) / least)
    squares = np.square(ratios)
    rmse = float(np.sqrt(squares.mean()))
    return [
        {
            "ratio": rmse,
            "nearby": float(np.sqrt(np.square(nearby).mean())),
            "std_error": float(squares.std(ddof=1) / np.sqrt(runs) / 2 / max(rmse, 1e-12)),
            "coverage": float(np.mean(likely)),
            "early": float(np.mean(early)),
            "sequence": float(np.mean(ever)),
            "width": float(np.median(widths)),
            "sequence_width": float(np.median(longest)),
            "runs": runs,
        }
    ]
