"""Coverage of intervals of survey designs: weights, strata without replacement, clusters, and raked weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.estimate.survey.design import Survey
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.picture import Picture

LEVEL = 0.95
Ints = NDArray[np.int64]
KINDS = ("share", "mean", "group mean", "cumulative share")
STRATA = (10_000, 6_000, 4_000)
GROUPS = sv.Categories(["left", "right"])
MECHANISMS = {
    "share": ("grr", sv.Integers(0, 3)),
    "mean": ("piecewise", sv.Interval(0, 100)),
    "group mean": ("group-piecewise", sv.Pair(GROUPS, sv.Interval(0, 100))),
    "cumulative share": ("square-wave-discrete", sv.Integers(0, 20)),
}


class People:
    """A finite population: minutes, heaped at round numbers and at zero, that differ by stratum and by cluster."""

    def __init__(self) -> None:
        rng = np.random.default_rng(20)
        n = sum(STRATA)
        self.stratum = np.repeat(np.arange(3), STRATA)
        self.cluster = np.arange(n) // 100
        self.trait = (rng.random(n) < 0.5).astype(int)
        away = rng.normal(0, 8, self.cluster.max() + 1)[self.cluster] + 15 * self.stratum + 20 * self.trait
        exact = np.clip(rng.normal(30, 15, n) + away, 0, 100)
        self.minutes = np.where(rng.random(n) < 0.6, 10 * np.rint(exact / 10), np.rint(exact))
        self.group = np.where(rng.random(n) < 0.4 + 0.1 * self.trait, "left", "right")

    def answers(self, kind: str, who: Ints) -> Any:
        """The answers of some people to the question of a kind."""
        minutes = self.minutes[who]
        if kind == "share":
            return np.minimum(minutes // 25, 3).astype(int)
        if kind == "cumulative share":
            return (minutes // 5).astype(int)
        if kind == "mean":
            return minutes
        return list(zip(self.group[who].tolist(), minutes.tolist(), strict=True))

    def truth(self, kind: str) -> float:
        """The number of the whole population."""
        everyone = np.arange(len(self.minutes))
        if kind == "group mean":
            return float(self.minutes[self.group == "left"].mean())
        answers = self.answers(kind, everyone)
        return float({"share": answers == 2, "cumulative share": answers <= 8}.get(kind, answers).mean())


@lru_cache(maxsize=1)
def _people() -> People:
    return People()


def _weights(people: People, n: int, rng: np.random.Generator) -> tuple[Ints, Survey]:
    """Drawn with chances that fall with the minutes, as people who are often out are seldom reached."""
    chances = 1 / (20 + people.minutes)
    who = rng.choice(len(chances), n, p=chances / chances.sum())
    return who, Survey(weights=1 / chances[who])


def _strata(people: People, n: int, rng: np.random.Generator) -> tuple[Ints, Survey]:
    """As many from each stratum, without replacement: from the smallest one a good part of all."""
    each = [rng.choice(np.flatnonzero(people.stratum == h), n // 3, replace=False) for h in range(3)]
    who, names = np.concatenate(each), np.repeat(np.arange(3), n // 3)
    sizes = dict(enumerate(STRATA))
    return who, Survey([sizes[int(h)] for h in names], strata=names.tolist(), people=sizes)


def _clusters(people: People, n: int, rng: np.random.Generator) -> tuple[Ints, Survey]:
    """Clusters of 100 people, of whom 40 take part."""
    chosen = rng.integers(0, people.cluster.max() + 1, n // 40)
    who = np.concatenate([rng.choice(100, 40, replace=False) + 100 * c for c in chosen])
    return who, Survey(clusters=np.repeat(np.arange(len(chosen)), 40).tolist())


def _raked(people: People, n: int, rng: np.random.Generator) -> tuple[Ints, Survey]:
    """People of one trait and of small strata answer more often; margins of both are known."""
    chances = (1.0 + people.stratum) * (1.0 + 2 * people.trait)
    who = rng.choice(len(chances), n, p=chances / chances.sum())
    margins = {
        name: (column[who].tolist(), dict(enumerate(np.bincount(column).tolist())))
        for name, column in (("stratum", people.stratum), ("trait", people.trait))
    }
    return who, Survey().raked(margins)


DESIGNS: dict[str, Callable[[People, int, np.random.Generator], tuple[Ints, Survey]]] = {
    "weights": _weights,
    "strata": _strata,
    "clusters": _clusters,
    "raked": _raked,
}


def _interval(kind: str, estimate: Any) -> tuple[float, float, float]:
    """The estimate of a kind with its interval."""
    if kind == "cumulative share":
        estimate = estimate.cdf(8)
    place = 2 if kind == "share" else 0
    low, high = estimate.quiet_ci(LEVEL)
    return float(estimate.values[place]), float(low[place]), float(high[place])


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """How often intervals hold the number of the population, and what those of unweighted reports would do."""
    people, rng, n, design = _people(), np.random.default_rng(seed), point["n"], DESIGNS[point["design"]]
    rows = []
    for kind in KINDS:
        name, domain = MECHANISMS[kind]
        mechanism, truth = sv.mechanism(name, domain, epsilon=point["epsilon"]), people.truth(kind)
        held, errors, widths, naive, doubts = 0, [], [], 0, 0
        for _ in range(runs):
            who, survey = design(people, n, rng)
            reports = mechanism.privatize(people.answers(kind, who), seed=int(rng.integers(1 << 62)))
            estimate = survey.estimate(mechanism, reports)
            value, low, high = _interval(kind, estimate)
            held += low <= truth <= high
            doubts += estimate.doubt(LEVEL) is not None
            errors.append(value - truth)
            widths.append((high - low) / 2)
            _, low, high = _interval(kind, mechanism.estimate(mechanism.tally(reports)))
            naive += low <= truth <= high
        spread = float(np.sqrt(np.mean(np.square(errors))))
        half = float(np.mean(widths)) / spread
        rows.append({"of": kind, "coverage": held / runs, "half width / rmse": half, "doubted": doubts / runs})
        rows[-1] |= {"without the design": naive / runs, "runs": runs}
    return rows


EXPERIMENT = Experiment(
    id="survey-coverage",
    title="Coverage of 95 % intervals of survey designs: weights, strata, clusters, raked weights",
    methods=tuple(name for name, _ in MECHANISMS.values()),
    metric="how often an interval holds the number of the population",
    grid=(("design", tuple(DESIGNS)), ("epsilon", (1.0, 4.0)), ("n", (3000,))),
    quick=(("design", tuple(DESIGNS)), ("epsilon", (4.0,)), ("n", (3000,))),
    runs=400,
    quick_runs=20,
    cell=cell,
    figure=Picture(("design", "epsilon"), "coverage", "of", dots=True, guide=LEVEL, log=""),
    columns=("design", "epsilon", "n", "of", "coverage", "half width / rmse", "doubted", "without the design", "runs"),
)
