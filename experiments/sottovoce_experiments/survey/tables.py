"""The survey's tables of mechanisms for frequencies, with what is computed and measured in place of orders of growth.

Each row is a method of the survey and the mechanism of the registry that it is. Bytes, cells, epsilon and errors are
exact. Measured errors are those of tallies drawn from their law; only times depend on the machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Domain, Integers, Interval, Text
from sottovoce.core.errors import SottovoceError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.frequency.evidence import from_cells
from sottovoce.tally.counts import simulate_cells
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn
from sottovoce_experiments.papers import SURVEY
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.survey.claims import CLAIMS

CATEGORIES = 64
PARTICIPANTS = 100_000
OPEN, OPEN_RUNS = "Bloom filter, open domain", 4
WORDS = [f"word {rank}" for rank in range(CATEGORIES)]
TIMED = 20_000  # reports that are drawn and counted to measure the time
EPSILONS = (0.5, 1.0, 2.0, 4.0)

FORMS = {  # of columns of the published tables
    "epsilon": "g",
    "true epsilon": ".6g",
    "epsilon, unchanged": ".6g",
    "changed": ".4f",
    "error": ".3g",
    "measured": ".3g",
    "us to draw": ".3f",
    "us to count": ".3f",
}

# Methods as the survey lists them, the mechanism that each is, and what the survey says of it.
Listed = tuple[tuple[str, str, str], ...]
TABLE_1: Listed = (
    ("randomized response", "grr", "categories"),
    ("Laplace mechanism", "laplace", "numbers"),
    ("Laplace mechanism", "she", "categories"),
    ("distortion-based", "distortion", "categories"),
    ("compression-based", "compression", "categories"),
)
TABLE_2: Listed = (
    ("basic RAPPOR", "basic-rappor", "unary, many reports"),
    ("RAPPOR", "rappor", "Bloom filter, many reports"),
    ("one-time RAPPOR", "one-time-rappor", "Bloom filter, one report"),
    ("basic one-time RAPPOR", "sue", "unary, one report"),
    ("OUE", "oue", "unary, one report"),
    ("O-RAPPOR", "o-rappor", "Bloom filter, open domain"),
    ("O-RAPPOR", "o-rappor", "permutations, closed"),
)
TABLE_3: Listed = (
    ("GRR, k-RR", "grr", "direct"),
    ("k-subset", "subset", "direct"),
    ("basic RAPPOR", "basic-rappor", "unary"),
    ("one-time RAPPOR", "one-time-rappor", "unary"),
    ("k-RAPPOR", "sue", "unary"),
    ("RAPPOR", "rappor", "unary"),
    ("O-RAPPOR", "o-rappor", "unary"),
    ("O-RR", "o-rr", "unary"),
    ("OUE", "oue", "unary"),
    ("SHist", "shist", "hashing"),
    ("OLH", "olh", "hashing"),
    ("SLH", "slh", "hashing"),
    ("HRR", "hrr", "hashing"),
    ("HR", "hadamard", "hashing"),
)
TABLE_4: Listed = (
    ("k-RR, GRR", "grr", "direct"),
    ("O-RR", "o-rr", "unary"),
    ("RAPPOR", "rappor", "unary"),
    ("k-RAPPOR", "sue", "unary"),
    ("OUE", "oue", "unary"),
    ("O-RAPPOR", "o-rappor", "unary"),
    ("k-subset", "subset", "direct"),
    ("SHist", "shist", "binary"),
    ("HRR", "hrr", "binary"),
    ("BLH", "blh", "binary"),
    ("OLH", "olh", "binary"),
    ("HR", "hadamard", "binary"),
)


@lru_cache(maxsize=4)
def crowd(k: int, n: int) -> NDArray[np.int64]:
    """How many hold each value: proportional to 1 / rank."""
    weights = 1 / np.arange(1, k + 1)
    held = np.floor(n * weights / weights.sum()).astype(np.int64)
    held[0] += n - held.sum()
    return np.asarray(held)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """All columns of one row."""
    domain: Domain = {"numbers": Interval(0, 1), OPEN: Text()}.get(point["kind"], Integers(0, CATEGORIES - 1))
    mechanism = build(point["mechanism"], domain, epsilon=point["epsilon"])
    channel = mechanism.channel
    predicted = _predicted(mechanism)
    drawn = _of_words(mechanism, seed) if domain.is_open else _measured(mechanism, runs, seed) if predicted else None
    draw, count = _times(mechanism)
    forever = mechanism.epsilon_forever
    return [
        {
            "true epsilon": mechanism.epsilon,
            "epsilon, unchanged": None if math.isinf(forever) else forever,
            "randomness": "public" if channel.publics else "local",
            "changed": _distortion(mechanism),
            "bytes": codec.payload_bytes(channel),
            "cells": mechanism.cells,
            "error": predicted,
            "measured": drawn,
            "us to draw": draw,
            "us to count": count,
            "fingerprint": mechanism.fingerprint,
        }
    ]


def _predicted(mechanism: Mechanism) -> float | None:
    """The exact root mean square error of the shares of these participants, or of their mean; None if unknown."""
    try:
        if not isinstance(mechanism.question, Frequency):
            return math.sqrt(mechanism.worst_case_variance() / PARTICIPANTS)
        held = crowd(CATEGORIES, PARTICIPANTS)
        variances = mechanism.variance(held / held.sum(), PARTICIPANTS, target="sample")
        return math.sqrt(float(np.mean(variances)))
    except (SottovoceError, TypeError):
        return None


def _measured(mechanism: Mechanism, runs: int, seed: int) -> float | None:
    """The same from drawn tallies; None where tallies are not drawn."""
    if not isinstance(mechanism.question, Frequency):
        return None
    held = crowd(CATEGORIES, PARTICIPANTS)
    for joint in (True, False):
        try:
            cells = simulate_cells(mechanism, held, runs=runs, seed=seed, joint=joint)
        except SottovoceError:
            continue
        values = np.array([from_cells(mechanism, PARTICIPANTS, row).values() for row in cells])
        return float(np.sqrt(((values - held / PARTICIPANTS) ** 2).mean()))
    return None


def _of_words(mechanism: Mechanism, seed: int) -> float:
    """The error of the shares of words that are listed afterwards, from single reports."""
    held, errors = crowd(CATEGORIES, PARTICIPANTS), []
    answers = np.repeat(WORDS, held).tolist()
    for run in range(OPEN_RUNS):
        tally = mechanism.tally(mechanism.privatize(answers, seed=seed % 2**32 + run))
        errors.append((mechanism.estimate(tally, candidates=WORDS).values - held / PARTICIPANTS) ** 2)
    return float(np.sqrt(np.mean(errors)))


def _distortion(mechanism: Mechanism) -> float | None:
    """How often a report differs from the answer, where reports are answers."""
    if mechanism.channel.kind != "subset" or mechanism.cells != mechanism.channel.inputs:
        return None
    return float(1 - mechanism.channel.likelihood(0, 0))


def _times(mechanism: Mechanism) -> tuple[float, float]:
    """Microseconds for each report: to draw it, and to count it."""
    numbers = isinstance(mechanism.question, Frequency)
    values: Any = np.arange(TIMED) % CATEGORIES if numbers else np.linspace(0, 1, TIMED)
    if mechanism.domain.is_open:
        values = np.resize(WORDS, TIMED).tolist()
    mechanism.tally(mechanism.privatize(values[:10], seed=0))  # compiles
    start = time.perf_counter()
    reports = mechanism.privatize(values, seed=0)
    middle = time.perf_counter()
    mechanism.tally(reports)
    end = time.perf_counter()
    return 1e6 * (middle - start) / TIMED, 1e6 * (end - middle) / TIMED


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The least error at each epsilon, and how far measured errors are from exact ones."""
    said = []
    for epsilon in dict.fromkeys(row["epsilon"] for row in rows):
        shares = [row for row in rows if row["epsilon"] == epsilon and row["kind"] != "numbers" and row["error"]]
        best = min(shares, key=lambda row: row["error"])
        said.append(
            f"epsilon {epsilon:g}: the least error of a share is that of {best['mechanism']}, {best['error']:.3g}."
        )
    ratios = [row["measured"] / row["error"] for row in rows if row["measured"] and row["error"]]
    said.append(f"Measured errors are between {min(ratios):.3f} and {max(ratios):.3f} times the exact ones.")
    return said


def said(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text above a table."""
    return (
        f"{PARTICIPANTS:,} participants, shares proportional to 1 / rank. Exact: epsilon, bytes, cells of a tally, the"
        " root mean square *error* of a share (of a number, of its mean at the worst answer). *Measured* is the same"
        " from 400 drawn tallies; over an open domain from 4 crowds, for a list of all 64 values. Times in microseconds"
        f" for each report, on two cores. {' '.join(summary(rows))}"
    )


def _table(number: int, listed: Listed, title: str, columns: tuple[str, ...]) -> Experiment:
    names = ("method", "mechanism", "kind")
    return SURVEY.figure(
        f"table-{number}",
        title,
        cell="survey.tables:cell",
        grid={names: listed, "epsilon": EPSILONS},
        quick={"epsilon": (1.0,)},
        picture=Picture("epsilon", "error", "mechanism", crosses="measured"),
        metric="root mean square error of a share",
        runs=400,
        quick_runs=50,
        claims=CLAIMS[number],
        text=said,
        methods=tuple(row[1] for row in listed),
        data=(f"{PARTICIPANTS} participants, {CATEGORIES} categories, shares proportional to 1 / rank",),
        columns=tuple(PageColumn(name, name, FORMS.get(name, ""), missing="-") for name in columns),
        lead=(*(name for name in names if name != "kind" or "kind" not in columns), "epsilon"),
        summary=summary,
    )


EXPERIMENTS = (
    _table(
        1,
        TABLE_1,
        "Perturbation mechanisms, 64 categories or a number",
        ("true epsilon", "changed", "bytes", "error", "measured", "us to draw"),
    ),
    _table(
        2,
        TABLE_2,
        "RAPPOR and its variants, 64 categories",
        ("true epsilon", "epsilon, unchanged", "bytes", "error", "measured"),
    ),
    _table(3, TABLE_3, "Mechanisms by their encoding, 64 categories", ("bytes", "error", "measured")),
    _table(
        4,
        TABLE_4,
        "Frequency oracles, 64 categories",
        ("randomness", "true epsilon", "bytes", "cells", "error", "measured", "us to draw", "us to count"),
    ),
)
