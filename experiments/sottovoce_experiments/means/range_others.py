"""Means by group and distributions after a search of the range, beside an oracle that knows two quantiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Categories, Interval, Pair
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.core.round import Round, Tallies
from sottovoce.estimate.group_mean.contrasts import mean_covariances
from sottovoce.estimate.group_mean.truth import Crowd
from sottovoce.estimate.prior import Prior
from sottovoce.estimate.request import Target
from sottovoce.protocols.play import play
from sottovoce.protocols.ranges.distribution import RangeSearchDistribution
from sottovoce.protocols.ranges.groups import RangeSearchGroupMean
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.ranges import ORACLE, draw_round
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.means.decision import PAGE
from sottovoce_experiments.means.ranges import POPULATIONS, SIZES
from sottovoce_experiments.page import THOUSANDS, PageColumn, Row, Section
from sottovoce_experiments.picture import Picture

Floats = NDArray[np.float64]
Ends = tuple[int, int]
Search = RangeSearchGroupMean | RangeSearchDistribution
GROUPS = Categories(["a", "b"])
LARGER = 1.3  # times the numbers of the first group: those of the second
DECILES = np.arange(1, 10) / 10


def found_by(
    protocol: RangeSearchGroupMean | RangeSearchDistribution, everyone: Floats, rng: np.random.Generator
) -> tuple[Mechanism, int]:
    """The question after a search that is drawn from its laws, and how many people are left for it."""

    def ask(stage: Round, number: int) -> Tallies | None:
        return None if stage.quota is None else draw_round(stage, everyone, stage.quota, rng)

    state = play(protocol, ask)
    asked = sum(tally.n for tallies in state.history for tally in tallies)
    return state.round.arms[0].mechanism, protocol.participants - asked


def group_error(asked: Mechanism, parts: Sequence[Floats], n: int) -> float:
    """The mean square error of the means of all groups, exactly."""
    domain: Any = asked.domain
    low, high = (float(end) for end in domain.value.numbers.ends)
    clamped = [np.clip(part, low, high) for part in parts]
    crowd = Crowd.of(domain, None, [Prior.of(part) for part in clamped])
    totals, every = crowd.totals(asked, n), np.arange(len(parts))
    variances = mean_covariances(totals, totals.covariance(Target.POPULATION), every, every)
    biases = [own.mean() - part.mean() for own, part in zip(clamped, parts, strict=True)]
    return float(np.mean(np.square(biases) + variances))


def groups_ratios(point: Mapping[str, Any], people: Floats, ends: Ends, runs: int, seed: int) -> Floats:
    """Mean square errors of two groups, of which one has larger numbers, over those of the oracle."""
    rng, parts = np.random.default_rng(seed), [people, np.clip(LARGER * people, *ends)]
    everyone = np.sort(np.concatenate(parts))
    protocol = RangeSearchGroupMean(GROUPS, Interval(*ends), point["epsilon"], point["n"])
    oracle = mechanism(protocol.method, Pair(GROUPS, Interval(*_known(everyone))), epsilon=point["epsilon"])
    found = [found_by(protocol, everyone, rng) for _ in range(runs)]
    errors = [group_error(asked, parts, left) for asked, left in found]
    return np.array(errors) / group_error(oracle, parts, point["n"])


def distribution_ratios(point: Mapping[str, Any], people: Floats, ends: Ends, runs: int, seed: int) -> Floats:
    """Mean square errors of the shares below the true deciles, over those of the oracle."""
    rng, everyone = np.random.default_rng(seed), np.sort(people)
    protocol = RangeSearchDistribution(Interval(*ends), point["epsilon"], point["n"])
    oracle, places = protocol.bucketed(*_known(everyone)), np.quantile(everyone, DECILES)
    errors = np.empty((2, runs))
    for run in range(runs):
        for place, (asked, n) in enumerate((found_by(protocol, everyone, rng), (oracle, point["n"]))):
            errors[place, run] = np.mean(np.square(_below(asked, everyone, n, places, rng) - DECILES))
    return np.asarray(errors[0] / errors[1].mean())


def _known(everyone: Floats) -> tuple[Decimal, Decimal]:
    """What the oracle knows: two quantiles."""
    low, high = (Decimal(str(round(float(end), 3))) for end in np.quantile(everyone, ORACLE))
    return low, high


def _below(asked: Mechanism, everyone: Floats, n: int, places: Floats, rng: np.random.Generator) -> Floats:
    """The estimated shares below places, of n people drawn from the population."""
    view: Any = asked.domain
    edges = np.array([float(edge) for edge in view.edges])
    counts = np.bincount(np.searchsorted(edges, everyone, side="right"), minlength=len(edges) + 1)
    law = counts / counts.sum() @ np.array([law_row(asked.channel, code) for code in range(len(counts))])
    found = asked.estimate(Tally(asked, n, rng.multinomial(n, law / law.sum())))
    return np.array([found.cdf(place).values[0] for place in places.tolist()])


RATIOS = {"means of two groups": groups_ratios, "distribution": distribution_ratios}


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[dict[str, Any]]:
    """Searches for one law of the answers, each with the error of the question that follows."""
    ends, draw = POPULATIONS[point["answers"]]
    people = np.clip(draw(np.random.default_rng(7)), *ends)
    ratios = RATIOS[point["of"]](point, people, ends, runs, seed)
    root = math.sqrt(ratios.mean())
    return [
        {
            **point,
            "runs": runs,
            "ratio": root,
            "std_error": float(ratios.std()) / math.sqrt(runs) / (2 * root),
            "median": math.sqrt(float(np.median(ratios))),
        }
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """The range of the ratios of each target."""
    return [
        f"{of}: ratio {min(own):.2f} to {max(own):.2f}, on average {sum(own) / len(own):.2f}"
        for of in RATIOS
        if (own := [row["ratio"] for row in rows if row["of"] == of])
    ]


def text(rows: Sequence[Row]) -> str:
    """What was measured, and the summary."""
    lines = "\n".join(f"- {line}." for line in summary(rows))
    return (
        "`RangeSearchGroupMean` for two equally large groups, of which one has numbers 1.3 times as large, and"
        " `RangeSearchDistribution`. Root mean square errors of both means, exact after each search, and of the shares"
        " below the nine deciles of the population, over those of an oracle that knows the 0.5 and 99.5 % quantiles and"
        f" asks everyone. {rows[0]['runs']} searches a line, so one search that ends with a far too wide range moves a"
        f" ratio far above its median.\n\n{lines}"
    )


EXPERIMENT = Experiment(
    id="range-search-others",
    title="Means by group and distributions after a search of the range, beside an oracle",
    metric="root mean square error over that of the oracle",
    methods=("RangeSearchGroupMean", "RangeSearchDistribution"),
    grid=(("of", tuple(RATIOS)), (("epsilon", "n"), SIZES[:2]), ("answers", tuple(POPULATIONS)[:4])),
    quick=(("of", tuple(RATIOS)), (("epsilon", "n"), SIZES[1:2]), ("answers", ("lognormal",))),
    runs=10,
    quick_runs=2,
    cell=Late("means.range_others:cell"),
    figure=Picture("epsilon", "ratio", "answers", panels="of", guide=1.0, log=""),
    columns=("of", "epsilon", "n", "answers", "ratio", "std_error", "median"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Groups and distributions without a known range",
        text=text,
        lead=("of", "epsilon", THOUSANDS, "answers"),
        columns=(
            PageColumn("ratio", "ratio", ".2f"),
            PageColumn("+-", "std_error", ".2f"),
            PageColumn("median", "median", ".2f"),
        ),
    ),
)
