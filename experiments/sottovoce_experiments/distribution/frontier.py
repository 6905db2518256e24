"""How far any choice among the explanations of the decoder `bayes` could go: choices that know the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy  # loads its parts at their first use
from numpy.typing import NDArray

from sottovoce.core.domain import Interval
from sottovoce.core.registry import mechanism
from sottovoce.estimate.distribution.bayes.condense import condensed
from sottovoce.estimate.distribution.bayes.modes import Mode, Posterior, explanations, weighted
from sottovoce.estimate.distribution.bayes.walks import WALKS, waves
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce_experiments.distribution.decoders import BARS, BUCKETS, PAGE, PARTICIPANTS, decoders, simulated
from sottovoce_experiments.distribution.histograms import REPORTED, shares
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.page import Row as PageRow
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sources import HISTOGRAMS

Floats = NDArray[np.float64]
RUNS = 8
FREE = (2, 4, 6, 8)  # numbers of free parameters
SMOOTHNESS = 2  # the order of the walk whose slowest waves they are
CHOICES = ("bayes", "expected", "prior", "single", "mixture")
_SLIGHT_WEIGHT = 0.01


def distance(cumulative: Floats, truth: Floats) -> float:
    """The Wasserstein distance on [0, 1] of two cumulative distributions in equal buckets."""
    return float(np.abs(cumulative - truth).mean())


def best_mixture(cumulative: Floats, truth: Floats) -> float:
    """The least distance of a weighted mean of these cumulative distributions, one column each; a linear program."""
    points, count = cumulative.shape
    both = np.block([[cumulative, -np.eye(points)], [-cumulative, -np.eye(points)]])
    cost = np.concatenate([np.zeros(count), np.full(points, 1 / points)])
    whole = np.concatenate([np.ones(count), np.zeros(points)])[None]
    found = scipy.optimize.linprog(cost, both, np.concatenate([truth, -truth]), whole, [1.0])
    return float(found.fun)


def deviations(posterior: Posterior, mode: Mode) -> Floats:
    """The standard deviation of each cumulative share in the bell around a mode."""
    directions, place = posterior.along(mode.family, mode.size, mode.walk)
    here = posterior.at(mode.family, directions, place)
    _, factor = posterior.bowl(here, directions, place)
    weight = here.shares * here.slope
    change = weight[:, None] * directions - np.outer(here.shares, weight @ directions)
    moves = scipy.linalg.solve_triangular(factor, np.cumsum(change, axis=0).T, lower=True)
    return np.asarray(np.sqrt((moves**2).sum(axis=0)))


def expected(posterior: Posterior, found: Sequence[Mode], weights: Floats, decoded: Floats) -> float:
    """The distance that the priors expect of the decoded cumulative shares: the mean of folded normal laws."""
    total = 0.0
    for mode, weight in zip(found, weights, strict=True):
        if weight < _SLIGHT_WEIGHT:
            continue
        sd, off = np.maximum(deviations(posterior, mode), 1e-12), np.cumsum(mode.shares) - decoded
        ratio = off / sd
        folded = sd * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + off * (1 - 2 * scipy.special.ndtr(-ratio))
        total += weight * float(folded.mean())
    return total / float(weights[weights >= _SLIGHT_WEIGHT].sum())


def efficient(law: Floats, truth: Floats, free: int, n: int = PARTICIPANTS) -> float:
    """The expected distance of an efficient estimate of `free` parameters.

    It knows the distribution up to a factor e**(sum of slow waves), whose parameters it estimates as well as the
    reports allow (Cramer and Rao); its cumulative shares are then normal. For the population, not for the sample.
    """
    slow = waves(len(truth), SMOOTHNESS, False).vectors[:, :free]
    change = truth[:, None] * (slow - truth @ slow)
    rates = law @ truth
    seen = (law @ change)[rates > 0] / np.sqrt(rates[rates > 0])[:, None]
    moved = np.cumsum(change, axis=0) @ np.linalg.pinv(np.sqrt(n) * seen)
    return float(np.sqrt(2 / np.pi) * np.sqrt((moved**2).sum(axis=1)).mean())


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """All choices read the same explanations."""
    method = mechanism("square-wave", Interval(0, 1), epsilon=point["epsilon"], buckets=BUCKETS)
    rng, law_of = np.random.default_rng(seed), shares(point["data"], BUCKETS)
    law = from_cells(method, 0, np.zeros(method.statistic.cells(method.channel), np.int64)).transition.matrix
    plain = {name: decoders()[name] for name in ("em", "ems")}
    found: dict[str, list[float]] = {name: [] for name in (*plain, *CHOICES)}
    by_prior: list[dict[tuple[Any, float], float]] = []
    for _ in range(runs):
        sample, cells = simulated(law, law_of, rng)
        evidence = from_cells(method, PARTICIPANTS, cells)
        truth = np.cumsum(sample)
        for name, one in plain.items():
            found[name].append(distance(np.cumsum(one.decode(evidence).values), truth))
        given = condensed(evidence.likelihood(), np.full(BUCKETS, 1 / BUCKETS))
        modes = [mode for mode in explanations(given, False, WALKS) if np.isfinite(mode.evidence)]
        weights = weighted(modes)
        assert weights is not None  # the first walk has a mode on all of these data
        cumulative = np.cumsum(np.array([mode.shares for mode in modes]), axis=1)
        each = [distance(one, truth) for one in cumulative]
        by_prior.append(dict(zip([(mode.family, mode.size) for mode in modes], each, strict=True)))
        found["bayes"].append(distance(weights @ cumulative, truth))
        found["expected"].append(expected(Posterior(given, False), modes, weights, weights @ cumulative))
        found["single"].append(min(each))
        found["mixture"].append(best_mixture(cumulative.T, truth))
    means = {name: float(np.mean(values)) for name, values in found.items() if values}
    always = set.intersection(*(set(one) for one in by_prior))
    means["prior"] = min((float(np.mean([one[prior] for one in by_prior])) for prior in always), default=means["bayes"])
    free = {f"free_{count}": efficient(law, law_of, count) for count in FREE}
    return [{**means, **free, "better": min(means["em"], means["ems"]), "runs": runs}]


def summary(rows: Sequence[PageRow]) -> list[str]:
    """Means over the data, relative to the better of EM and EMS."""
    said = []
    for epsilon in sorted({row["epsilon"] for row in rows}):
        own = [row for row in rows if row["epsilon"] == epsilon]
        ratio = {
            name: sum(row[name] for row in own) / sum(row["better"] for row in own)
            for name in (*CHOICES, *(f"free_{count}" for count in FREE))
        }
        free = ", ".join(f"{count}: {ratio[f'free_{count}']:.3f}" for count in FREE)
        said.append(
            f"Epsilon {epsilon:g}, bar {BARS[epsilon]:.2f}: bayes {ratio['bayes']:.3f}, as its priors expect"
            f" {ratio['expected']:.3f}; best prior for each data set {ratio['prior']:.3f}, best explanation of each run"
            f" {ratio['single']:.3f}, best mixture of each run {ratio['mixture']:.3f}; free parameters {free}."
        )
    return said


def text(rows: Sequence[PageRow]) -> str:
    """What the choices are, and their means."""
    lines = "\n".join(f"- {line}" for line in summary(rows))
    return (
        f"The half called `report` again, {rows[0]['runs']} other runs; explanations are those of the walks alone,"
        " without the hypotheses about heaps. Three choices know the truth: the one prior"
        " that is best on a data set, over all runs; in each run the explanation that came out closest; and the closest"
        " weighted mean of explanations. The last two also know the noise of the run, so that no rule reaches them."
        " `expected` is the distance that the weighted priors expect of `bayes` given the same counts: no rule expects"
        " a much smaller one on data that are drawn from them. Columns of free parameters are the error of an efficient"
        " estimate that knows the distribution but for that many slow waves of its logarithm (Cramer-Rao): a decoder at"
        " this error knows all the rest. Ratios to the better of EM and EMS, of the means over all"
        f" data:\n\n{lines}\n\nWasserstein distance x 1000."
    )


def _thousandths(head: str, field: str) -> PageColumn:
    return PageColumn(head, field, ".2f", scale=1000)


EXPERIMENT = Experiment(
    id="distribution-frontier",
    title="Choices among explanations that know the truth, 100,000 participants, 256 buckets",
    metric="Wasserstein distance from the sample's histogram on [0, 1]",
    data=REPORTED,
    methods=CHOICES,
    grid=(("data", REPORTED), ("epsilon", tuple(BARS))),
    quick=(("data", ("Beta(5, 2)",)), ("epsilon", (1.0,))),
    runs=RUNS,
    quick_runs=2,
    cell=cell,
    figure=Picture("epsilon", CHOICES, over="better", mean=True, guide=1.0, log="x"),
    columns=("data", "epsilon", "better", *CHOICES, *(f"free_{count}" for count in FREE)),
    summary=summary,
    needs=(HISTOGRAMS.file,),
    section=Section(
        page=PAGE,
        heading="## How far any choice could go",
        text=text,
        columns=(
            _thousandths("better of EM and EMS", "better"),
            _thousandths("bayes", "bayes"),
            _thousandths("expected", "expected"),
            _thousandths("best prior", "prior"),
            _thousandths("best explanation", "single"),
            _thousandths("best mixture", "mixture"),
            *(_thousandths(f"{count} free", f"free_{count}") for count in FREE),
        ),
    ),
)
