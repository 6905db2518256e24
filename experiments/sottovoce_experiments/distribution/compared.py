"""Square wave against coded wave and designed table, by the distance of decoded distributions from the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Distribution
from sottovoce.core.registry import mechanism
from sottovoce.estimate.decoder import Decoder, decoder
from sottovoce.estimate.metrics import kolmogorov_smirnov, wasserstein
from sottovoce.study.workloads import error_of
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally
from sottovoce_experiments.distribution.designs import PAGE
from sottovoce_experiments.distribution.histograms import shares
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sources import HISTOGRAMS

PARTICIPANTS = 100_000
BUCKETS = 64
RUNS = 20
# Of those with which no decoder was chosen.
DATA = ("Beta(5, 2)", "uniform", "HEPTH", "LC-REQ-ALL", "MD-SAL", "PATENT", "TRACE")
METHODS = ("square-wave-discrete", "coded-wave", "designed-distribution")
DECODERS: dict[str, Decoder] = {"bayes": decoder("bayes", fast=True), "em": decoder("em"), "ems": decoder("ems")}
EPSILONS = (0.5, 1.0, 2.0, 4.0)


@lru_cache(maxsize=32)
def _built(name: str, epsilon: float) -> Mechanism:
    return mechanism(name, Interval(0, 1), epsilon=epsilon, buckets=BUCKETS)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """New answers in each run; their reports are counted as the exact law has them."""
    method, rng = _built(point["mechanism"], point["epsilon"]), np.random.default_rng(seed)
    law = np.array([law_row(method.channel, code) for code in range(BUCKETS)])
    law /= law.sum(axis=1, keepdims=True)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in DECODERS}
    for _ in range(runs):
        held = rng.multinomial(PARTICIPANTS, shares(point["answers"], BUCKETS))
        tally = Tally(method, PARTICIPANTS, rng.multinomial(held, law).sum(axis=0))
        for name, distances in found.items():
            estimate = method.estimate(tally, decoder=DECODERS[name])
            truth = held / PARTICIPANTS
            distances.append((wasserstein(estimate, truth), kolmogorov_smirnov(estimate, truth)))
    return [
        {
            "decoder": name,
            "wasserstein": float(np.mean([distance for distance, _ in distances])),
            "error": float(np.std([distance for distance, _ in distances]) / np.sqrt(runs)),
            "kolmogorov_smirnov": float(np.mean([largest for _, largest in distances])),
            "planned": error_of(method, Distribution(method.question.domain)) / np.sqrt(PARTICIPANTS),
        }
        for name, distances in found.items()
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """By epsilon: mean distances over all data of each decoder, and how often each mechanism is the best by `bayes`."""
    said = []
    for epsilon in sorted({row["epsilon"] for row in rows}):
        own = [row for row in rows if row["epsilon"] == epsilon]
        parts = []
        for name in dict.fromkeys(row["mechanism"] for row in own):
            each = [
                f"{decoder} {1e3 * _mean(own, name, decoder, 'wasserstein'):.2f}"
                f" ({1e3 * _mean(own, name, decoder, 'kolmogorov_smirnov'):.1f})"
                for decoder in dict.fromkeys(row["decoder"] for row in own)
            ]
            planned = next(row["planned"] for row in own if row["mechanism"] == name)
            parts.append(f"{name} {', '.join(each)}, planned {1e3 * planned:.1f}")
        said.append(f"Epsilon {epsilon:g}: {'; '.join(parts)}.")
    return said


def _mean(rows: Sequence[Row], name: str, decoder: str, field: str) -> float:
    return float(np.mean([row[field] for row in rows if (row["mechanism"], row["decoder"]) == (name, decoder)]))


def _text(rows: Sequence[Mapping[str, Any]]) -> str:
    text = (
        f"{PARTICIPANTS:,} participants, {BUCKETS} buckets, {RUNS} runs each. Wasserstein (W) and Kolmogorov-Smirnov"
        " (KS) distances from the histogram of the answers on [0, 1], x 1000; `bayes` is its fast form, `planned` the"
        " standard error of an unbiased cumulative share that the planner compares. Means over all data, Wasserstein"
        " distance first, the other in brackets:"
    )
    return "\n".join([text, "", *(f"- {line}" for line in summary([dict(row) for row in rows]))])


EXPERIMENT = Experiment(
    id="distribution-waves",
    title="Square wave, coded wave and designed table, 100,000 participants, 64 buckets",
    metric="Wasserstein and Kolmogorov-Smirnov distance from the answers' histogram on [0, 1]",
    data=DATA,
    methods=METHODS,
    grid=(("mechanism", METHODS), ("answers", DATA), ("epsilon", EPSILONS)),
    quick=(("mechanism", METHODS[:2]), ("answers", ("PATENT",)), ("epsilon", (1.0,))),
    runs=RUNS,
    quick_runs=2,
    cell=cell,
    figure=Picture("epsilon", "wasserstein", ("mechanism", "decoder"), mean=True),
    columns=("mechanism", "answers", "epsilon", "decoder", "wasserstein", "error", "kolmogorov_smirnov"),
    summary=summary,
    needs=(HISTOGRAMS.file,),
    section=Section(
        page=PAGE,
        heading="## Square wave or coded wave",
        text=_text,
        lead=("epsilon", "answers", "mechanism"),
        columns=(
            *(
                PageColumn(f"{name}, {short}", field, ".2f", (("decoder", name),), 1e3)
                for name in DECODERS
                for short, field in (("W", "wasserstein"), ("KS", "kolmogorov_smirnov"))
            ),
        ),
    ),
)
