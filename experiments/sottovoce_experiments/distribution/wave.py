"""The square wave with EM and EMS on Beta(5, 2): how far the estimated distribution is from the answers'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.core.domain import Interval
from sottovoce.core.registry import mechanism
from sottovoce.estimate.metrics import histogram, kolmogorov_smirnov, wasserstein
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.picture import Picture

PAPER = "Li et al., Estimating numerical distributions under local differential privacy, SIGMOD 2020"
PARTICIPANTS = 100_000
BUCKETS = 256
METHODS = (
    ("square-wave", "ems"),
    ("square-wave", "em"),
    ("square-wave-discrete", "ems"),
    ("square-wave-discrete", "em"),
)
BARS = {0.5: 1.0e-2, 1.0: 5.4e-3, 2.0: 2.5e-3}  # of the square wave with EMS, at the stop of its authors


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """New answers in each run, reported by the shipped sampler; the truth is their own histogram."""
    method = mechanism(point["mechanism"], Interval(0, 1), epsilon=point["epsilon"], buckets=BUCKETS)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        answers = rng.beta(5, 2, PARTICIPANTS)
        reports = method.privatize(answers, seed=int(rng.integers(1 << 62)), threads=1)
        estimate = method.estimate(method.tally(reports), decoder=point["decoder"])
        truth = histogram(estimate, answers)
        iterations = 0 if estimate.fit is None else estimate.fit.iterations
        found.append((wasserstein(estimate, truth), kolmogorov_smirnov(estimate, truth), iterations))
    distance, largest, iterations_ = np.array(found).T
    plain = (point["mechanism"], point["decoder"]) == METHODS[0]
    return [
        {
            "wasserstein": float(distance.mean()),
            "error": float(distance.std() / np.sqrt(runs)),
            "kolmogorov_smirnov": float(largest.mean()),
            "iterations": float(iterations_.mean()),
            "bar": BARS[point["epsilon"]] if plain else None,
            "fingerprint": method.fingerprint,
        }
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """Whether the bars are kept."""
    judged = [row for row in rows if row["bar"] is not None]
    said = [f"{row['wasserstein']:.4f} at epsilon {row['epsilon']:g} (at most {row['bar']:.4f})" for row in judged]
    return [f"Square wave with EMS, Wasserstein distance: {', '.join(said)}."]


EXPERIMENT = Experiment(
    id="sw-beta",
    paper=PAPER,
    title="Square wave with EM and EMS, Beta(5, 2), 100,000 participants, 256 buckets",
    data=("Beta(5, 2)",),
    methods=tuple(f"{name}, {decoder}" for name, decoder in METHODS),
    metric="Wasserstein distance from the answers' histogram on [0, 1]",
    grid=((("mechanism", "decoder"), METHODS), ("epsilon", tuple(BARS))),
    quick=((("mechanism", "decoder"), METHODS[:2]), ("epsilon", (1.0,))),
    runs=200,
    quick_runs=5,
    cell=cell,
    figure=Picture("epsilon", "wasserstein", ("mechanism", "decoder"), crosses="bar", mean=True),
    columns=("mechanism", "decoder", "epsilon", "wasserstein", "error", "bar", "kolmogorov_smirnov", "iterations"),
    summary=summary,
)
