"""Few reports and a large budget: intervals without a doubt, by the law of the reports.

An answer that one person in a thousand gives is absent from most small studies. An interval holds its mean, or says why
it may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Box, Interval
from sottovoce.core.question import Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.prior import Prior
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.declared.rounds import SMALL_ANSWERS
from sottovoce_experiments.coverage.study import LEVEL, Coverage
from sottovoce_experiments.means.decided import report_laws

Floats = NDArray[np.float64]
OF_VECTORS = 5  # so many times fewer runs, as each draws all reports
FEWEST = 50  # runs without a doubt for a coverage


def _judged(estimate: Estimate, truth: Floats) -> tuple[NDArray[np.bool_], bool]:
    """Whether the default intervals hold the truth, and whether they have a doubt."""
    low, high = estimate.quiet_ci(LEVEL)
    return (low <= truth) & (truth <= high), estimate.doubt(LEVEL) is not None


def _single(point: Mapping[str, Any], law: Prior, runs: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Tallies of one number: at a large budget many runs have the same one, which is judged once."""
    n, asked = point["n"], build(point["mechanism"], Interval(-1, 1), epsilon=point["epsilon"])
    rates = law.weights @ report_laws(asked, law)
    known: dict[bytes, tuple[bool, bool]] = {}
    held, doubted = np.empty(runs), np.empty(runs)
    for run in range(runs):
        cells = rng.multinomial(n, rates / rates.sum())
        key = cells.tobytes()
        if key not in known:
            inside, doubt = _judged(asked.estimate(Tally(asked, n, cells)), np.array([law.mean]))
            known[key] = bool(inside[0]), doubt
        held[run], doubted[run] = known[key]
    return held, doubted


def _vector(point: Mapping[str, Any], law: Prior, runs: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Reports of two numbers; the first has this law, the second is 0.3 for everybody."""
    n, asked = point["n"], build(point["mechanism"], Box(-1, 1, dimensions=2), epsilon=point["epsilon"])
    held, doubted = np.empty(runs), np.empty(runs)
    for run in range(runs):
        answers = np.column_stack([rng.choice(law.values, n, p=law.weights), np.full(n, 0.3)])
        reports = asked.privatize(answers, seed=int(rng.integers(1 << 62)))
        inside, doubted[run] = _judged(asked.estimate(asked.tally(reports)), np.array([law.mean, 0.3]))
        held[run] = inside[0]
    return held, doubted


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """One mechanism and one kind of answers."""
    rng, law = np.random.default_rng(seed), Prior(*zip(*SMALL_ANSWERS[point["answers"]], strict=True))
    single = point["mechanism"] in names(Mean)
    held, doubted = _single(point, law, runs, rng) if single else _vector(point, law, runs // OF_VECTORS, rng)
    sure = doubted == 0
    return [
        Coverage(
            method="default",
            coverage=float(held[sure].mean()) if sure.sum() >= FEWEST else None,
            runs=int(sure.sum()),
            numbers={
                "doubted": float(doubted.mean()),
                "missed": float(((held == 0) & sure).mean()),  # without a doubt, of all runs
            },
        )
    ]
