"""Coverage of series: each epoch, bands over all epochs, changes and trends, for each way to ask again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import units
from sottovoce.core.channel.facets import Memoised, need
from sottovoce.core.domain import Integers
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.series.series import Series
from sottovoce.tally.counts import simulate_counts
from sottovoce.tally.tally import Tally
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.over_time.compared import PAGE
from sottovoce_experiments.page import Section, percent
from sottovoce_experiments.picture import Picture

Answers = NDArray[np.int64]  # waves x people, 0 or 1
PEOPLE, WAVES, WINDOW = 6_000, 12, 4
START, SLOPE = 0.3, 0.01  # the share of ones, and how it rises with each wave
MOVES = 0.1  # of the people, who are somebody else from one wave to the next
HIGH = 1 << 60
# What people do, whom intervals are about, and whether it is known how many answers change.
DESIGNS = (
    ("new people", "population", "no"),
    ("one wave each", "population", "no"),
    ("window of 4", "population", "no"),
    ("window of 4", "sample", "no"),
    ("every wave", "population", "no"),
    ("every wave", "sample", "no"),
    ("memo", "sample", "yes"),
)


def answers(rng: np.random.Generator) -> Answers:
    """Answers that stay, unless a person changes or the share rises past them."""
    place = rng.random(PEOPLE)
    found = np.empty((WAVES, PEOPLE), np.int64)
    for wave in range(WAVES):
        moved = rng.random(PEOPLE) < MOVES * (wave > 0)
        place = np.where(moved, rng.random(PEOPLE), place)
        found[wave] = place < START + SLOPE * wave
    return found


def tallies(mechanism: Mechanism, said: list[Answers], rng: np.random.Generator) -> list[Tally]:
    """Tallies of fresh reports, from counts: given the answers, reports of all waves are independent."""
    return [
        simulate_counts(mechanism, [len(one) - int(one.sum()), int(one.sum())], seed=int(rng.integers(HIGH)))
        for one in said
    ]


def from_memos(mechanism: Mechanism, said: Answers, rng: np.random.Generator) -> list[Tally]:
    """Tallies of devices that keep one memo for each of both answers."""
    first, second = need(mechanism.channel, Memoised).stages
    rates = [float(units(one)) for one in (first.p, first.q, second.p, second.q)]  # type: ignore[attr-defined]
    own = np.eye(2, dtype=bool)
    memos = rng.random((PEOPLE, 2, 2)) < np.where(own, rates[0], rates[1])
    found = []
    for wave in said:
        kept = memos[np.arange(PEOPLE), wave]
        bits = rng.random(kept.shape) < np.where(kept, rates[2], rates[3])
        found.append(Tally(mechanism, PEOPLE, bits.sum(axis=0), simulated=True))
    return found


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """How often intervals hold, for one way to ask and one target."""
    rng, design, target = np.random.default_rng(seed), str(point["asked"]), str(point["target"])
    memo = design == "memo"
    mechanism = build("basic-rappor" if memo else "grr", Integers(0, 1), epsilon="1")
    everyone = np.arange(PEOPLE)
    held = np.zeros((WAVES + 3, runs), bool)
    population = np.asarray(START + SLOPE * np.arange(WAVES), np.float64)
    for run in range(runs):
        said = answers(rng)
        window = {"one wave each": WAVES, "window of 4": WINDOW}.get(design, 1)
        turns = rng.integers(0, window, PEOPLE)
        asked = [everyone[turns == wave % window] for wave in range(WAVES)]
        if design == "new people":
            parts = [(rng.random(PEOPLE) < share).astype(np.int64) for share in population]
        else:
            parts = [said[wave, asked[wave]] for wave in range(WAVES)]
        counted = from_memos(mechanism, said, rng) if memo else tallies(mechanism, parts, rng)
        changed = np.mean(said[:, None] != said[None], axis=2) if point["changes"] == "yes" else None
        estimates: dict[object, Estimate] = {wave: mechanism.estimate(one) for wave, one in enumerate(counted, 1)}
        apart = design in ("new people", "one wave each")
        if apart:
            series = Series.of(estimates, people="different")
        else:
            series = Series.of(estimates, people="same", window=window, changed=changed)
        truth = population if target == "population" else np.array([one.mean() for one in parts])
        held[:, run] = holds(series, truth, target)
    each = held[:WAVES].mean(axis=1)
    band, change, trend = held[WAVES:].mean(axis=1)
    return [
        {
            **point,
            "lowest": float(each.min()),
            "highest": float(each.max()),
            "band": float(band),
            "change": float(change),
            "trend": float(trend),
            "runs": runs,
        }
    ]


def holds(series: Series, truth: NDArray[np.float64], target: str) -> list[bool]:
    """Which 95 % intervals of the share of ones hold: one for each epoch, the band, the last change, the trend."""
    low, high = (side[:, 1] for side in series.ci(target=target))
    found = list((low <= truth) & (truth <= high))
    low, high = (side[:, 1] for side in series.ci(target=target, simultaneous=True))
    found.append(bool(np.all((low <= truth) & (truth <= high))))
    last = np.zeros(WAVES)
    last[-2:] = -1, 1
    place = np.arange(WAVES) - (WAVES - 1) / 2
    for row in (last, place / np.sum(place**2)):
        low, high = (side[1] for side in series.contrast(row, "a contrast", target=target).ci())
        found.append(bool(low <= row @ truth <= high))
    return found


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The range of coverage over all ways and epochs."""
    low, high = min(row["lowest"] for row in rows), max(row["highest"] for row in rows)
    return [f"Each epoch: {low:.1%} to {high:.1%} over {len(rows)} lines of {rows[0]['runs']:,} runs"]


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Text above the table."""
    return (
        f"Share of 95 % intervals that hold the truth, over {rows[0]['runs']:,} runs: the epoch that is covered least"
        f" and most, the band over {WAVES} waves, the change of the last wave, the trend. {PEOPLE:,} people answer yes"
        f" or no with epsilon 1; the share of yes rises by one point a wave, and {MOVES:.0%} of the people change in"
        " each wave. *Target* says whether intervals are about the population or the participants. From the same"
        " people, intervals of changes and trends of the *population* are upper bounds: nobody knows how the answers of"
        " a person depend on each other. *Changes known* gives the series the share of answers that differ"
        f" between every two waves; without it intervals from memos are upper bounds too. {summary(rows)[0]}."
    )


AXES = ("asked", "target", "changes")
EXPERIMENT = Experiment(
    id="over-time-coverage",
    title="Coverage of series",
    metric="share of intervals that hold the truth",
    methods=("grr", "basic-rappor"),
    grid=((AXES, DESIGNS),),
    quick=((AXES, DESIGNS[:1]),),
    runs=1_000,
    quick_runs=20,
    cell=Late("over_time.coverage:cell"),
    figure=Picture(
        ("asked", "target", "changes"), ("lowest", "highest", "band", "change", "trend"), dots=True, guide=0.95, log=""
    ),
    columns=(*AXES, "lowest", "highest", "band", "change", "trend"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Coverage",
        text=text,
        lead=AXES,
        columns=tuple(
            percent(head, 1, field)
            for head, field in (
                ("lowest epoch, %", "lowest"),
                ("highest epoch, %", "highest"),
                ("band, %", "band"),
                ("change, %", "change"),
                ("trend, %", "trend"),
            )
        ),
    ),
)
