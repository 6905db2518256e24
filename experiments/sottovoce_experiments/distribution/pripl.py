"""Ranges half as wide as the domain, in the setting of PriPL-Tree: five laws, one round, and its authors' code.

PriPL-Tree: Wang, Ye, Hu, Meng, "Accurate range query for arbitrary distribution under local differential privacy",
VLDB 2024. Its synthetic laws are given by their means and variances in Table 2 of the paper; ages are those of Adult.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import stats

from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism
from sottovoce.estimate.decoder import decoder
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce_experiments.distribution.range_designs import PAGE
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.page import Row as PageRow
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import ADULT

Floats = NDArray[np.float64]
EPSILON, BINS, PARTICIPANTS, RUNS = 0.8, 1024, 1_000_000, 50
SPAN = 256.0  # of the units in which the paper gives means and variances
YOUNGEST, OLDEST = 17, 90
# Mean squared errors of the authors' code, with standard errors, over runs of these laws outside this command.
THEIRS = {
    "normal": (1.98e-05, 2.3e-06),
    "two normals": (4.14e-05, 5.7e-06),
    "Cauchy": (2.86e-05, 4.7e-06),
    "Zipf": (4.04e-05, 5.6e-06),
    "ages": (0.000368, 8.8e-05),
}
THEIR_RUNS = 20


def law(name: str) -> Floats:
    """The shares of the buckets."""
    edges = np.linspace(0, SPAN, BINS + 1)
    if name == "ages":
        ages = pq.read_table(data_file(ADULT.file), columns=["age"])["age"].to_numpy()
        counts = np.bincount(ages - YOUNGEST, minlength=OLDEST - YOUNGEST + 1)
        return np.asarray(counts / counts.sum(), np.float64)
    if name == "Zipf":
        shares = np.arange(1, BINS + 1) ** -1.1
    elif name == "two normals":
        first, second = (np.diff(stats.norm.cdf(edges, *one)) for one in ((89.3, 15.28), (180.98, 24.448)))
        shares = (first + second) / 2
    else:
        bell = stats.norm(155, 27.84) if name == "normal" else stats.cauchy(160, 5)
        shares = np.diff(bell.cdf(edges))
    return np.asarray(shares / shares.sum(), np.float64)


def error(found: Floats, truth: Floats) -> float:
    """The mean squared error of the shares of all ranges that are half as wide as the domain."""
    heights = np.append(0.0, np.cumsum(found - truth))
    wide = len(truth) // 2
    return float(((heights[wide:] - heights[:-wide]) ** 2).mean())


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The mean over runs, of the crowd that was drawn."""
    truth, bayes, rng = law(point["law"]), decoder("bayes"), np.random.default_rng(seed)
    bins, n = len(truth), 48_842 if point["law"] == "ages" else PARTICIPANTS
    method = mechanism("coded-wave", Integers(0, bins - 1), epsilon=EPSILON, buckets=bins)
    rates = transition_of(method.channel, bins).forward(truth)
    errors = []
    for _ in range(runs):
        evidence = from_cells(method, n, rng.multinomial(n, rates / rates.sum()))
        errors.append([error(bayes.decode(evidence).values, truth), error(evidence.values(), truth)])
    ours, unbiased = np.mean(errors, axis=0)
    spread = float(np.std([one for one, _ in errors]) / max(runs - 1, 1) ** 0.5)
    theirs, their_spread = THEIRS[point["law"]]
    return [
        {
            "ours": float(ours),
            "spread": spread,
            "unbiased": float(unbiased),
            "theirs": theirs,
            "their spread": their_spread,
            "ratio": float(ours / theirs),
        }
    ]


def summary(rows: Sequence[PageRow]) -> list[str]:
    """The ratio of each law."""
    return [f"{row['law']}: {row['ratio']:.2f} of PriPL-Tree (target: below 1)." for row in rows]


EXPERIMENT = Experiment(
    id="range-pripl",
    title="Ranges in the setting of PriPL-Tree",
    metric="mean squared error of the share of a range",
    data=("Adult: ages",),
    methods=("coded-wave with bayes", "unbiased", "PriPL-Tree"),
    grid=(("law", tuple(THEIRS)),),
    quick=(("law", ("normal",)),),
    runs=RUNS,
    quick_runs=2,
    cell=cell,
    figure=Picture("law", ("ours", "theirs"), dots=True),
    columns=("law", "ours", "spread", "unbiased", "theirs", "their spread", "ratio"),
    summary=summary,
    needs=(ADULT.file,),
    section=Section(
        page=PAGE,
        heading="## In the setting of PriPL-Tree",
        text=f"Mean squared error of all ranges half as wide as the domain, epsilon {EPSILON:g}, one round, {RUNS}"
        f" runs: {PARTICIPANTS:,} people and {BINS:,} buckets; ages of 48,842 people in 74. `coded-wave` for"
        " cumulative shares, of which a wide range is a difference, is decoded by `bayes`. The column of PriPL-Tree"
        f" holds {THEIR_RUNS} runs of its authors' code on the same laws, outside this command.",
        lead=("law",),
        columns=(
            PageColumn("bayes", "ours", ".2e"),
            PageColumn("standard error", "spread", ".1e"),
            PageColumn("unbiased", "unbiased", ".2e"),
            PageColumn("PriPL-Tree", "theirs", ".2e"),
            PageColumn("its standard error", "their spread", ".1e"),
            PageColumn("bayes / PriPL-Tree", "ratio", ".2f"),
        ),
    ),
)
