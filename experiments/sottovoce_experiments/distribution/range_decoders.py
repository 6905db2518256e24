"""Ranges from decoded waves beside AHEAD, on smooth and on spiky data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Integers, Record
from sottovoce.core.registry import mechanism
from sottovoce.estimate.decoder import decoder
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce.protocols.boxes.ahead import AHEAD
from sottovoce_experiments.boxes.played import played
from sottovoce_experiments.distribution.histograms import REPORTED, shares
from sottovoce_experiments.distribution.range_designs import PAGE
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.page import Row as PageRow
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sources import HISTOGRAMS

Floats = NDArray[np.float64]
RUNS = 20
SIZES = ((256, 100_000), (1024, 1_000_000))
EPSILONS = (0.5, 1.0, 2.0)
TARGETS = {256: (0.80, 0.65, 0.65), 1024: (1.05, 0.70, 0.62)}  # of `bayes` over AHEAD, by epsilon
# Of the half that nothing was chosen on, one of each collection; even shares, where AHEAD is far behind, are left out.
DATA = tuple(name for name in REPORTED if name != "uniform" and not name.endswith(("-F1", "-F2", "-FA")))
METHODS = ("AHEAD", "unbiased", "bayes")


def squared_error(found: Floats, truth: Floats) -> float:
    """The mean squared error of the shares of all ranges of adjacent buckets."""
    heights = np.append(0.0, np.cumsum(found - truth))
    bins = len(truth)
    return float(((bins + 1) * (heights @ heights) - heights.sum() ** 2) / (bins * (bins + 1) / 2))


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """All methods ask the same number of participants, drawn from the same shares."""
    bins, n, epsilon = point["buckets"], point["participants"], point["epsilon"]
    method = mechanism("coded-wave", Integers(0, bins - 1), epsilon=epsilon, buckets=bins, workload="ranges")
    rng, truth, bayes = np.random.default_rng(seed), shares(point["data"], bins), decoder("bayes")
    rates = transition_of(method.channel, bins).forward(truth)
    tree = AHEAD(Record({"value": Integers(0, bins - 1)}), epsilon, n, bins)
    table = []
    for _ in range(runs):
        evidence = from_cells(method, n, rng.multinomial(n, rates / rates.sum()))
        found = (
            played(tree, truth, n, rng).decoded("fitted").values,
            evidence.values(),
            bayes.decode(evidence).values,
        )
        table.append([n * squared_error(one, truth) for one in found])
    own = np.array(table)
    means = own.mean(axis=0)
    # The error of the logarithm of the ratio of means.
    parts = own[:, 2] / means[2] - own[:, 0] / means[0]
    error = float(parts.std() / np.sqrt(max(runs - 1, 1)))
    return [{**dict(zip(METHODS, means.tolist(), strict=True)), "ratio": float(means[2] / means[0]), "error": error}]


def mean_ratio(own: Sequence[PageRow]) -> tuple[float, float]:
    """The geometric mean over all data of the ratio of `bayes` to AHEAD, and its standard error."""
    ratio = float(np.exp(np.mean([np.log(row["ratio"]) for row in own])))
    return ratio, ratio * float(np.sqrt(np.sum([row["error"] ** 2 for row in own]))) / len(own)


def summary(rows: Sequence[PageRow]) -> list[str]:
    """Geometric means beside the targets."""
    said = []
    for bins, n in SIZES:
        for epsilon, target in zip(EPSILONS, TARGETS[bins], strict=True):
            own = [row for row in rows if (row["buckets"], row["epsilon"]) == (bins, epsilon)]
            if own:
                ratio, error = mean_ratio(own)
                said.append(
                    f"{bins:,} buckets, {n:,} participants, epsilon {epsilon:g}: bayes over AHEAD {ratio:.3f} +-"
                    f" {error:.3f} (target {target:g})."
                )
    return said


def text(rows: Sequence[PageRow]) -> str:
    """What is compared, and its means."""
    lines = "\n".join(f"- {line}" for line in summary(rows))
    return (
        "n times the mean squared error of all ranges: AHEAD as published (adaptive tree, two children), the unbiased"
        f" shares of `coded-wave` for ranges, and its reports decoded by `bayes`. Means of {RUNS} runs, in which all"
        " methods have as many participants, on data that nothing was chosen on. The last column is the relative"
        f" standard error of the ratio. Geometric means over all data, with standard errors:\n\n{lines}"
    )


EXPERIMENT = Experiment(
    id="range-decoders",
    title="Ranges from coded waves, decoded by bayes, beside AHEAD",
    metric="n times the mean squared error of the shares of all ranges",
    data=DATA,
    methods=METHODS,
    grid=((("buckets", "participants"), SIZES), ("epsilon", EPSILONS), ("data", DATA)),
    quick=((("buckets", "participants"), SIZES[:1]), ("epsilon", (1.0,)), ("data", ("Beta(5, 2)",))),
    runs=RUNS,
    quick_runs=2,
    cell=cell,
    figure=Picture("epsilon", "ratio", "buckets", dots=True, guide=1.0, log="xy"),
    columns=("buckets", "participants", "epsilon", "data", *METHODS, "ratio", "error"),
    summary=summary,
    needs=(HISTOGRAMS.file,),
    section=Section(
        page=PAGE,
        heading="## Decoded ranges beside AHEAD",
        text=text,
        lead=("buckets", PageColumn("n", "participants", ","), "epsilon", "data"),
        columns=(
            *(PageColumn(name, name, ".3g") for name in METHODS),
            PageColumn("bayes / AHEAD", "ratio", ".2f"),
            PageColumn("error", "error", ".2f"),
        ),
    ),
)
