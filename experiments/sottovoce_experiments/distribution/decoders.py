"""Decoders of a distribution on smooth and on spiky data: EM, EMS, and walks as priors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Interval
from sottovoce.core.registry import mechanism
from sottovoce.estimate.decoder import Decoder, decoder
from sottovoce.estimate.distribution.bayes.condense import condensed
from sottovoce.estimate.distribution.bayes.heaps import heaps
from sottovoce.estimate.distribution.bayes.modes import averaged, explanations
from sottovoce.estimate.distribution.bayes.walks import WALKS
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce.fast.threads import small_matrices
from sottovoce_experiments.distribution.histograms import REPORTED, TUNED, shares
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import Page, PageColumn, Section
from sottovoce_experiments.page import Row as PageRow
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sources import ADULT, HISTOGRAMS, TAXI

Floats = NDArray[np.float64]
PARTICIPANTS = 100_000
BUCKETS = 256
BARS = {0.5: 0.85, 1.0: 0.80, 2.0: 0.77}  # of the mean distance, relative to the better of EM and EMS
WORST = 1.10  # of one data set
METHODS = ("em", "ems", "bayes", "fast", "walks")
HALVES = {"report": REPORTED, "choice": TUNED}


def decoders() -> dict[str, Decoder]:
    """The decoders that are compared."""
    return {**{name: decoder(name) for name in METHODS[:3]}, "fast": decoder("bayes", fast=True)}


def with_and_without_heaps(evidence: OutputsEvidence) -> tuple[Floats, Floats]:
    """The shares of `bayes`, and those of its walks alone, from one search."""
    mixture, widths = evidence.likelihood(), evidence.buckets.widths
    with small_matrices():
        given = condensed(mixture, widths)
        found = explanations(given, evidence.circular, WALKS)
        alone = averaged(found)
        for heap in heaps(given, mixture, evidence.buckets):
            found += heap.explanations(found)
        both = averaged(found)
    assert alone.shares is not None and both.shares is not None  # the first walk has a mode on all of these data
    return given.spread(both.shares, widths) + both.points, given.spread(alone.shares, widths)


def simulated(law: Floats, truth: Floats, rng: np.random.Generator, n: int = PARTICIPANTS) -> tuple[Floats, Any]:
    """The shares of a sample of answers, and the counts of their reports.

    `law` has a column for each bucket; answers are spread evenly inside their buckets.
    """
    held = rng.multinomial(n, truth)
    cells = np.zeros(len(law), np.int64)
    for bucket in np.flatnonzero(held):
        cells += rng.multinomial(held[bucket], law[:, bucket] / law[:, bucket].sum())
    return held / n, cells


def distances(evidence: OutputsEvidence, truth: Floats) -> list[float]:
    """The Wasserstein distance of each decoder from the shares of the sample."""
    plain, fast = (decoder(name) for name in METHODS[:2]), decoder("bayes", fast=True)
    both, alone = with_and_without_heaps(evidence)
    found = (*(one.decode(evidence).values for one in plain), both, fast.decode(evidence).values, alone)
    return [float(np.abs(np.cumsum(values - truth)).mean()) for values in found]


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """All decoders read the same counts. The half on which priors were chosen gets a quarter of the runs."""
    method = mechanism("square-wave", Interval(0, 1), epsilon=point["epsilon"], buckets=BUCKETS)
    rng, truth = np.random.default_rng(seed), shares(point["data"], BUCKETS)
    law = from_cells(method, 0, np.zeros(method.statistic.cells(method.channel), np.int64)).transition.matrix
    used = runs if point["half"] == "report" else -(-runs // 4)
    found = []
    for _ in range(used):
        sample, cells = simulated(law, truth, rng)
        found.append(distances(from_cells(method, PARTICIPANTS, cells), sample))
    table = np.array(found)
    means = dict(zip(METHODS, table.mean(axis=0).tolist(), strict=True))
    better = min(means["em"], means["ems"])
    against = table[:, 0 if means["em"] <= means["ems"] else 1]
    # Runs are paired, so the error of the ratio is that of the differences.
    error = float((table[:, 2] - means["bayes"] / better * against).std() / better / np.sqrt(max(used - 1, 1)))
    return [{**means, "better": better, "ratio": means["bayes"] / better, "error": error, "used": used}]


def ratios(rows: Sequence[PageRow], half: str, epsilon: float) -> dict[str, float]:
    """Mean distances of one half, and their ratios to that of the better of EM and EMS."""
    chosen = [row for row in rows if (row["half"], row["epsilon"]) == (half, epsilon)]
    better = float(np.mean([row["better"] for row in chosen]))
    means = {name: float(np.mean([row[name] for row in chosen])) for name in ("bayes", "fast", "walks")}
    return {
        "better": better,
        **means,
        "ratio": means["bayes"] / better,
        "fast_ratio": means["fast"] / better,
        "walks_ratio": means["walks"] / better,
        "error": float(np.sqrt(np.sum([(row["error"] * row["better"]) ** 2 for row in chosen])) / len(chosen) / better),
        "worst": max(row["ratio"] for row in chosen),
    }


def summary(rows: Sequence[PageRow]) -> list[str]:
    """The means of both halves beside the bars."""
    said = []
    for half in HALVES:
        for epsilon in sorted({row["epsilon"] for row in rows if row["half"] == half}):
            found = ratios(rows, half, epsilon)
            said.append(
                f"Half of {half}, epsilon {epsilon:g}: better of EM and EMS {1e3 * found['better']:.2f}e-3, bayes"
                f" {1e3 * found['bayes']:.2f}e-3, ratio {found['ratio']:.3f} +- {found['error']:.3f} (bar"
                f" {BARS[epsilon]:.2f}), fast {found['fast_ratio']:.3f}, walks alone {found['walks_ratio']:.3f}, worst"
                f" data set {found['worst']:.3f} (bar {WORST:.2f})."
            )
    return said


def text(rows: Sequence[PageRow]) -> str:
    """What the table is, and its means."""
    lines = "\n".join(f"- {line}" for line in summary(rows))
    reported = {epsilon: ratios(rows, "report", epsilon) for epsilon in BARS}
    means = [f"{epsilon:g}" for epsilon, found in reported.items() if found["ratio"] > BARS[epsilon]]
    worst = [f"{epsilon:g}" for epsilon, found in reported.items() if found["worst"] > WORST]
    return (
        "Wasserstein distance x 1000 from the sample's own histogram, means of paired runs. `ratio` is that of `bayes`"
        " to the better of EM and EMS on this data set, with its standard error. The half called `choice`, and other"
        " columns of the same public files, were used to choose the list of priors and their penalties, with other"
        " seeds; the half called `report` was not. `walks alone` is `bayes` without the hypotheses about heaps."
        f"\n\n{lines}\n\nOn the half called `report` the bar of the mean is"
        f" missed at epsilon {', '.join(means) or 'none'}, and the bar of the worst data set at epsilon"
        f" {', '.join(worst) or 'none'}."
    )


PAGE = Page(
    "methods/decoders.md",
    """\
# Decoders of distributions

EM is rough on smooth distributions, EMS flattens spiky ones. The decoder `bayes` needs no choice: it averages smooth,
rough and heaped explanations of the counts, each by the evidence for it.

```python
import numpy as np

import sottovoce as sv

m = sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=1, buckets=64)
tally = m.tally(m.privatize(np.random.default_rng(1).beta(5, 2, 50_000), seed=1))
plain, found = m.estimate(tally), m.estimate(tally, decoder=sv.decoder("bayes", fast=True))
print(f"unbiased: {(plain.values < 0).sum()} of 64 shares are negative")
print(f"bayes: {(found.values < 0).sum()}; they are {found.quality}")
```

```text
unbiased: 24 of 64 shares are negative
bayes: 0; they are those of a likelihood with smooth priors (bayes)
```

An explanation is the most likely distribution under a prior: the logarithm of the density is a random walk of order one
to three along the buckets, around a circle too, with a little noise, bent so that peaks or valleys are flat
(`sottovoce.estimate.distribution.bayes`). No random numbers are drawn: the same tally gives the same shares. The fast
form tries five kinds of walks instead of eight. More than 256 buckets are put together to 256 parts: to
equal ones, and to parts that are small where a first fit has many answers, so that spikes keep their bucket. Both are
averaged by their evidence. If no explanation is found, the decoder warns and gives the shares of EM.

People round. For numbers on a line, other explanations join the average: all answers are multiples of a round step of
the domain's unit, such as 5 minutes or 100 dollars, where multiples of rounder steps may stand out; or an atom lies at
each end of the range. So ask in the unit in which people answer, `sv.Interval(0, 240)` minutes rather than a part of a
day. If all answers are multiples of a known step, state it: `sv.Interval(0, 240, step=5)`.

Unbiased shares stay the default of `estimate`. `estimate.curve()` gives those of `bayes`; pictures show them.
Intervals are those of the unbiased shares; what the posterior says about its own error is not shown.

The first two sections ask different questions. On smooth and spiky histograms, whose answers are spread evenly inside
their buckets, explanations by heaps should cost nothing. On heaped answers they should gain.

The walks and their penalties were chosen on the half called `choice` and on other columns of public files and invented
shapes, 54 distributions in all, out of 19 kinds of walks. On these the following were no better: draws from the
posteriors (Hamiltonian Monte Carlo) and the median of their cumulative shares, the median of the modes, tempered
evidence, a step of EM from the averaged shares, a Dirichlet prior around them whose size the evidence chooses, and
mixing in EM or EMS ([decision 029](../why/decisions/029-the-default-decoder-and-its-wave.md)).

The sections are written by `sottovoce reproduce distribution-decoders --seed 1 --pages docs`, and the same with
`distribution-heaped`, `distribution-frontier` and `distribution-reports`.
""",
)


def _thousandths(head: str, field: str) -> PageColumn:
    return PageColumn(head, field, ".2f", scale=1000)


EXPERIMENT = Experiment(
    id="distribution-decoders",
    title="Decoders of the square wave on 23 distributions, 100,000 participants, 256 buckets",
    data=(*REPORTED, *TUNED),
    methods=METHODS,
    metric="Wasserstein distance from the sample's histogram on [0, 1]",
    grid=(
        (("half", "data"), tuple((half, name) for half, names in HALVES.items() for name in names)),
        ("epsilon", tuple(BARS)),
    ),
    quick=((("half", "data"), (("report", "Beta(5, 2)"), ("choice", "bimodal"))), ("epsilon", (1.0,))),
    runs=12,
    quick_runs=2,
    cell=cell,
    figure=Picture("epsilon", "ratio", "half", dots=True, guide=1.0, log="x"),
    columns=("half", "data", "epsilon", "em", "ems", "bayes", "fast", "walks", "ratio", "error", "used"),
    summary=summary,
    needs=(HISTOGRAMS.file, TAXI.file, ADULT.file),
    section=Section(
        page=PAGE,
        heading="## Measured",
        text=text,
        columns=(
            _thousandths("EM", "em"),
            _thousandths("EMS", "ems"),
            _thousandths("bayes", "bayes"),
            _thousandths("fast", "fast"),
            _thousandths("walks alone", "walks"),
            PageColumn("ratio", "ratio", ".3f"),
            PageColumn("its error", "error", ".3f"),
            PageColumn("runs", "used"),
        ),
    ),
)
