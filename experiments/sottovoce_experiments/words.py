"""Decoding a list of candidate words: how many are found, how many of these are false, how often intervals cover."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.core.domain import Text
from sottovoce.core.registry import mechanism as build
from sottovoce.tally.counts import simulate_held
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.frequencies.published import PAGE
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture

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
RUNS = 50
# Functions are few, and collide unevenly with a common word, in the cohorts of rappor.
CELLS = tuple(
    (name, epsilon, others)
    for name in OPTIONS
    for epsilon, others in ((2.0, OTHERS), (4.0, OTHERS), (4.0, 1))
    if others > 1 or name.startswith("rappor")
)


def holders(words: int, n: int, run: int = 0, others: int = OTHERS) -> dict[str, int]:
    """How many hold each word: a fifth of the candidates, like 1 / rank, and other words that are no candidates."""
    weights = 1 / np.arange(1, words // PRESENT + 1)
    counts = np.floor(n * (1 - UNLISTED) * weights / weights.sum()).astype(int)
    found = {candidate(PRESENT * place, run): int(count) for place, count in enumerate(counts)}
    rest = n - sum(found.values())
    return found | {f"other {place} of {run}": rest // others + (place < rest % others) for place in range(others)}


def candidate(place: int, run: int = 0) -> str:
    """A word of the list. Each run has words of its own, so that it has hashes of its own."""
    return f"word {place} of {run}"


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Means over simulated crowds."""
    name, n, words = point["method"], int(point["n"]), int(point["words"])
    mechanism = build(name.partition(",")[0], Text(), epsilon=point["epsilon"], **OPTIONS[name])
    each: dict[str, list[float]] = {key: [] for key in ("seconds", "cpu", "found", "false", "covered", "unexplained")}
    for run in range(runs):
        held, listed = holders(words, n, run, point["others"]), [candidate(place, run) for place in range(words)]
        truth = np.array([held.get(word, 0) / n for word in listed])
        tally = simulate_held(mechanism, held, seed=seed + run)
        start, worked = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimate = mechanism.estimate(tally, decoder="lasso", candidates=listed)
            low, high = estimate.ci(0.95)
            fit: Any = estimate.fit
        each["seconds"].append(time.perf_counter() - start)
        each["cpu"].append(time.process_time() - worked)
        chosen = np.array(fit.discoveries, int)
        each["found"].append(len(chosen))
        each["false"].append(float((truth[chosen] == 0).mean()) if len(chosen) else 0.0)
        each["covered"].append(100 * float(((low <= truth) & (truth <= high)).mean()))
        each["unexplained"].append(fit.unexplained)
    means: Row = {key: round(float(np.mean(values)), 4) for key, values in each.items()}
    error = float(np.std(each["false"], ddof=1) / math.sqrt(runs)) if runs > 1 else None
    return [means | {"false_error": error, "held_back": fit.held_back}]


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The share of false discoveries in all cells, and the largest one."""
    worst = max(rows, key=lambda row: row["false"])
    mean = 100 * float(np.mean([row["false"] for row in rows]))
    if worst["false_error"] is None:
        return [f"{mean:.1f} % of the discoveries were false; the stated level is {100 * LEVEL:g} %."]
    error = 100 * math.sqrt(sum(row["false_error"] ** 2 for row in rows)) / len(rows)
    return [
        f"{mean:.2f} +- {error:.2f} % of the discoveries were false on average over all lines, at most"
        f" {100 * worst['false']:.1f} +- {100 * worst['false_error']:.1f} % ({worst['method']}); the stated level is"
        f" {100 * LEVEL:g} %."
    ]


def said(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text above the table."""
    return (
        "200,000 reports about any text, decoded by `lasso` with the stated false discovery rate of 5 %. Of 1,000"
        " candidates 200 are there, with shares like 1 / rank; a tenth of the answers are 500 words that are not"
        " listed, or a single one, with which candidates collide unevenly where cohorts are few. Every run has other"
        f" words, so other hashes. Means of {RUNS} runs: discoveries; the share of them that is false, and its"
        " standard error; the coverage of 95 % intervals; answers that are estimated to be no candidates (none of the"
        " discoveries, where reports were held back); seconds of one decoding with its intervals. The procedure keeps"
        " its level times the share of candidates that are absent, which is 4 % here."
        f" {' '.join(summary(rows))}"
    )


EXPERIMENT = Experiment(
    id="candidate-words",
    title="A list of candidate words decoded from reports about any text",
    methods=tuple(OPTIONS),
    metric="discoveries, the share of false ones, and coverage of 95 % intervals",
    grid=(
        (("method", "epsilon", "others"), CELLS),
        ("n", (200_000,)),
        ("words", (1000,)),
    ),
    quick=((("method", "epsilon", "others"), (("rappor", 4.0, 1),)), ("n", (200_000,)), ("words", (1000,))),
    runs=RUNS,
    quick_runs=1,
    cell=Late("words:cell"),
    figure=Picture("epsilon", "found", "method", panels="others", log=""),
    columns=("method", "epsilon", "others", "words", "cpu", "found", "false", "covered", "unexplained", "held_back"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## A list of 1,000 candidate words",
        text=said,
        lead=("method", "epsilon", PageColumn("unlisted words", "others")),
        columns=(
            PageColumn("found", "found", ".1f"),
            PageColumn("false, %", "false", ".2f", scale=100),
            PageColumn("+-", "false_error", ".2f", scale=100),
            PageColumn("covered, %", "covered", ".2f"),
            PageColumn("unexplained, %", "unexplained", ".1f", scale=100),
            PageColumn("held back", "held_back"),
            PageColumn("seconds", "seconds", ".2f"),
            PageColumn("processor seconds", "cpu", ".2f"),
        ),
    ),
)
