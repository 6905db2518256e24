"""Decoding a list of candidate words: how many are found, how many of these are false, how often intervals cover."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.core.domain import Text
from sottovoce.core.registry import mechanism as build
from sottovoce.experiments.experiment import Experiment, Late, Row
from sottovoce.tally.counts import simulate_held

OPTIONS: dict[str, dict[str, int]] = {
    "rappor": {},
    "rappor, 1 hash": {"hashes": 1},
    "rappor, 16 bits": {"hashes": 1, "bits": 16, "cohorts": 16},
    "one-time-rappor": {},
    "o-rr": {},
    "o-rappor": {},
    "cms": {},
    "hcms": {},
    "pcs": {},
}
LEVEL = 0.05  # of false discoveries
PRESENT = 5  # one candidate in so many is held by somebody
UNLISTED = 0.1  # share of answers that are no candidates
OTHERS = 500  # different ones


def holders(words: int, n: int) -> dict[str, int]:
    """How many hold each word: a fifth of the candidates, like 1 / rank, and many words that are no candidates."""
    weights = 1 / np.arange(1, words // PRESENT + 1)
    counts = np.floor(n * (1 - UNLISTED) * weights / weights.sum()).astype(int)
    found = {candidate(PRESENT * place): int(count) for place, count in enumerate(counts)}
    rest = n - sum(found.values())
    return found | {f"other {place}": rest // OTHERS + (place < rest % OTHERS) for place in range(OTHERS)}


def candidate(place: int) -> str:
    """A word of the list."""
    return f"word {place}"


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Means over simulated crowds."""
    name, n, words = point["method"], int(point["n"]), int(point["words"])
    mechanism = build(name.partition(",")[0], Text(), epsilon=point["epsilon"], **OPTIONS[name])
    held, listed = holders(words, n), [candidate(place) for place in range(words)]
    truth = np.array([held.get(word, 0) / n for word in listed])
    each: dict[str, list[float]] = {key: [] for key in ("seconds", "found", "false", "covered", "unexplained")}
    for run in range(runs):
        tally = simulate_held(mechanism, held, seed=seed + run)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimate = mechanism.estimate(tally, decoder="lasso", candidates=listed)
            low, high = estimate.ci(0.95)
        each["seconds"].append(time.perf_counter() - start)
        chosen = np.array(estimate.fit.discoveries, int)
        each["found"].append(len(chosen))
        each["false"].append(float((truth[chosen] == 0).mean()) if len(chosen) else 0.0)
        each["covered"].append(100 * float(((low <= truth) & (truth <= high)).mean()))
        each["unexplained"].append(estimate.fit.unexplained)
    means: Row = {key: round(float(np.mean(values)), 4) for key, values in each.items()}
    return [means | {"held_back": estimate.fit.held_back}]


def summary(rows: Sequence[Row]) -> list[str]:
    """The largest share of false discoveries."""
    worst = max(rows, key=lambda row: row["false"])
    return [
        f"At most {100 * worst['false']:.1f} % of the discoveries were false on average ({worst['method']}); the stated"
        f" level is {100 * LEVEL:g} %."
    ]


EXPERIMENT = Experiment(
    id="candidate-words",
    title="A list of candidate words decoded from reports about any text",
    methods=tuple(OPTIONS),
    metric="discoveries, the share of false ones, and coverage of 95 % intervals",
    grid=(("method", tuple(OPTIONS)), ("epsilon", (2.0, 4.0)), ("n", (200_000,)), ("words", (1000,))),
    quick=(("method", ("rappor",)), ("epsilon", (4.0,)), ("n", (200_000,)), ("words", (1000,))),
    runs=20,
    quick_runs=1,
    cell=Late("experiments.words:cell"),
    figure="experiments.figures:words_found",
    columns=("method", "epsilon", "n", "words", "seconds", "found", "false", "covered", "unexplained", "held_back"),
    summary=summary,
)
