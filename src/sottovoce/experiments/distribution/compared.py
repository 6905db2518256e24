"""Square wave against coded wave and designed table, by the distance of decoded distributions from the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Interval
from sottovoce.core.registry import mechanism
from sottovoce.estimate.metrics import histogram, kolmogorov_smirnov, wasserstein
from sottovoce.experiments.distribution.designs import PAGE
from sottovoce.experiments.experiment import Experiment, Row
from sottovoce.experiments.page import PageColumn, Section

PARTICIPANTS = 100_000
BUCKETS = 64
RUNS = 4
Draw = Callable[[np.random.Generator], NDArray[np.float64]]


def _spikes(rng: np.random.Generator) -> NDArray[np.float64]:
    """Round numbers: seven answers in ten are one of five values, the others are spread evenly."""
    round_ = rng.choice([0.1, 0.25, 0.5, 0.52, 0.8], PARTICIPANTS, p=[0.3, 0.1, 0.3, 0.1, 0.2])
    return np.where(rng.random(PARTICIPANTS) < 0.7, round_, rng.random(PARTICIPANTS))


CROWDS: dict[str, Draw] = {
    "Beta(5, 2)": lambda rng: rng.beta(5, 2, PARTICIPANTS),
    "two humps": lambda rng: np.where(
        rng.random(PARTICIPANTS) < 0.5, rng.beta(20, 60, PARTICIPANTS), rng.beta(60, 20, PARTICIPANTS)
    ),
    "even": lambda rng: rng.random(PARTICIPANTS),
    "spikes": _spikes,
}
METHODS = ("square-wave-discrete", "coded-wave", "designed-distribution")
DECODERS = ("ems", "em", "simplex")


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """New answers in each run, reported by the shipped sampler, decoded in each way."""
    method = mechanism(point["mechanism"], Interval(0, 1), epsilon=point["epsilon"], buckets=BUCKETS)
    rng = np.random.default_rng(seed)
    found: dict[str, list[tuple[float, float]]] = {decoder: [] for decoder in DECODERS}
    for _ in range(runs):
        answers = CROWDS[point["answers"]](rng)
        tally = method.tally(method.privatize(answers, seed=int(rng.integers(1 << 62)), threads=1))
        for decoder, distances in found.items():
            estimate = method.estimate(tally, decoder=decoder)
            truth = histogram(estimate, answers)
            distances.append((wasserstein(estimate, truth), kolmogorov_smirnov(estimate, truth)))
    return [
        {
            "decoder": decoder,
            "wasserstein": float(np.mean([distance for distance, _ in distances])),
            "error": float(np.std([distance for distance, _ in distances]) / np.sqrt(runs)),
            "kolmogorov_smirnov": float(np.mean([largest for _, largest in distances])),
        }
        for decoder, distances in found.items()
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """Mean over all answers of the better of the decoders, by mechanism."""
    said = []
    for epsilon in dict.fromkeys(row["epsilon"] for row in rows):
        parts = []
        for name in dict.fromkeys(row["mechanism"] for row in rows):
            crowds: dict[str, float] = {}
            for row in rows:
                if (row["epsilon"], row["mechanism"]) == (epsilon, name):
                    crowds[row["answers"]] = min(crowds.get(row["answers"], np.inf), row["wasserstein"])
            parts.append(f"{name} {1e3 * np.mean(list(crowds.values())):.2f}")
        said.append(f"Epsilon {epsilon:g}, Wasserstein distance x 1000 of the best decoder: {', '.join(parts)}.")
    return said


EXPERIMENT = Experiment(
    id="distribution-waves",
    title="Square wave, coded wave and designed table, 100,000 participants, 64 buckets",
    metric="Wasserstein and Kolmogorov-Smirnov distance from the answers' histogram on [0, 1]",
    data=tuple(CROWDS),
    methods=METHODS,
    grid=(("mechanism", METHODS), ("answers", tuple(CROWDS)), ("epsilon", (0.5, 1.0, 2.0))),
    quick=(("mechanism", METHODS[:2]), ("answers", ("spikes",)), ("epsilon", (1.0,))),
    runs=RUNS,
    quick_runs=2,
    cell=cell,
    figure="experiments.distribution.pictures:distances",
    columns=("mechanism", "answers", "epsilon", "decoder", "wasserstein", "error", "kolmogorov_smirnov"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Square wave or coded wave",
        text=f"{PARTICIPANTS:,} participants, {BUCKETS} buckets, {RUNS} runs each. Wasserstein (W) and"
        " Kolmogorov-Smirnov (KS) distances from the histogram of the answers on [0, 1], x 1000. `simplex` is the"
        " linear, unbiased estimate moved to the nearest distribution.",
        by=("epsilon", "answers", "mechanism"),
        columns=(
            PageColumn("epsilon", "epsilon", "g"),
            PageColumn("answers", "answers"),
            PageColumn("mechanism", "mechanism"),
            *(
                PageColumn(f"{decoder}, {short}", field, ".2f", (("decoder", decoder),), 1e3)
                for decoder in DECODERS
                for short, field in (("W", "wasserstein"), ("KS", "kolmogorov_smirnov"))
            ),
        ),
    ),
)
