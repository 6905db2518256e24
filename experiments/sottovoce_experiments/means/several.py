"""The adaptive means of a record beside the best one-round mechanism for vectors, by exact errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.core.domain import Box, Interval, Record
from sottovoce.core.question import VectorMean
from sottovoce.core.registry import mechanism, names
from sottovoce.estimate.prior import Prior
from sottovoce.estimate.request import PoorIntervalWarning
from sottovoce.protocols.mean.several import AdaptiveMeansRounds
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.means.decided import counted, exact_ratios
from sottovoce_experiments.means.decision import PAGE
from sottovoce_experiments.means.laws import column
from sottovoce_experiments.page import THOUSANDS, PageColumn, Row, Section, percent
from sottovoce_experiments.picture import MOST, Picture
from sottovoce_experiments.sources import ADULT, FLIGHTS, PATIENTS, TAXI

COLUMNS = (
    (ADULT.file, "age", 17, 90),
    (ADULT.file, "education_num", 1, 16),
    (ADULT.file, "hours_per_week", 1, 99),
    (ADULT.file, "capital_gain", 0, 99_999),
    (ADULT.file, "capital_loss", 0, 4_356),
    (PATIENTS.file, "days_in_hospital", 1, 14),
    (PATIENTS.file, "num_lab_procedures", 1, 132),
    (PATIENTS.file, "num_procedures", 0, 6),
    (PATIENTS.file, "num_medications", 1, 81),
    (PATIENTS.file, "number_diagnoses", 1, 16),
    (TAXI.file, "fare_usd", 0, 100),
    (TAXI.file, "tip_usd", 0, 50),
    (TAXI.file, "pickup_second", 0, 86_400),
    (TAXI.file, "duration_s", 0, 7_200),
    (FLIGHTS.file, "distance_miles", 0, 5_000),
    (FLIGHTS.file, "air_time_min", 0, 700),
    (FLIGHTS.file, "dep_delay_min", -60, 300),
    (PATIENTS.file, "visits_outpatient", 0, 42),
    (PATIENTS.file, "visits_emergency", 0, 76),
    (PATIENTS.file, "visits_inpatient", 0, 21),
)
PARTS = 500
CELLS = tuple((d, epsilon) for d in (11, 17, 20) for epsilon in (1.5, 5.0, 8.0))


def numbers(count: int) -> dict[str, Prior]:
    """The laws of the first columns, each scaled to [-1, 1]."""
    laws = {}
    for file, name, low, high in COLUMNS[:count]:
        places = np.round((np.clip(column(file, name), low, high) - low) / (high - low) * PARTS) / PARTS
        laws[name] = Prior(*np.unique(2 * places - 1, return_counts=True))
    return laws


def best_of_one_round(laws: Sequence[Prior], epsilon: float, n: int) -> tuple[str, float]:
    """The mechanism for vectors with the least sum of variances, exactly."""
    box = Box(-1, 1, dimensions=len(laws))
    sums = {}
    for name in names(VectorMean):
        try:
            sums[name] = float(np.sum(mechanism(name, box, epsilon=epsilon).variance(list(laws), n)))
        except (ValueError, TypeError):  # mechanisms for other vectors
            continue
    best = min(sums, key=lambda name: sums[name])
    return best, sums[best]


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[dict[str, Any]]:
    """Means of all columns: errors given each first round are exact, intervals are of crowds drawn anew."""
    laws, rng = numbers(point["d"]), np.random.default_rng(seed)
    n, epsilon = point["n"], point["epsilon"]
    name, usual = best_of_one_round(list(laws.values()), epsilon, n)
    protocol = AdaptiveMeansRounds(Record({name: Interval(-1, 1) for name in laws}), epsilon, n)
    asked = math.floor((protocol.start().quota or 0) * (protocol.count or 1) / len(laws))
    squares, hits, adapted = np.zeros(runs), np.zeros((runs, len(laws), 2), bool), 0
    alpha = 0.05 / len(laws)
    for place, (field, belief) in enumerate(laws.items()):
        part = protocol.parts[field]
        one = part.one_round()
        alone = (one.average_variance(belief) + belief.variance) / part.participants
        for run in range(runs):
            early, late = rng.multinomial((asked, part.participants - asked), belief.weights)
            first = counted(one, belief, early, rng)
            decision = part.decision(first)
            adapted += decision.adapted
            squares[run] += exact_ratios(part, belief, first, decision)[0] * alone
            mean = part.together(first, counted(decision.mechanism, belief, late, rng), decision)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PoorIntervalWarning)
                bounds = [mean.ci(level) for level in (0.95, 1 - alpha)]
            hits[run, place] = [low[0] <= belief.mean <= high[0] for low, high in bounds]
    ratio = math.sqrt(squares.mean() / usual)
    return [
        {
            **point,
            "runs": runs,
            "count": protocol.count,
            "best": name,
            "adapted": adapted / runs / len(laws),
            "ratio": ratio,
            "std_error": float(squares.std()) / math.sqrt(runs) / usual / (2 * ratio),
            "coverage": float(hits[:, :, 0].mean()),
            "joint": float(hits[:, :, 1].all(axis=1).mean()),
        }
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """The range of ratios and of coverage."""
    ratios, covered = [row["ratio"] for row in rows], [row["coverage"] for row in rows]
    joint = sum(row["joint"] for row in rows) / len(rows)
    return [
        f"error over that of the best one-round mechanism {min(ratios):.3f} to {max(ratios):.3f}",
        f"coverage of single intervals {min(covered):.1%} to {max(covered):.1%}; of all at once {joint:.1%} on average",
    ]


def text(rows: Sequence[Row]) -> str:
    """What was measured, and the summary."""
    lines = "\n".join(f"- {line}." for line in summary(rows))
    return (
        "`AdaptiveMeansRounds` on records of 11, 17 and 20 numbers: columns of public files, scaled to their ranges."
        " Root of the summed mean square errors, over that of the best one-round mechanism for a `Box` on the same"
        " laws, which nobody knows beforehand (`best`). Only the law of each number matters, so columns of different"
        f" files can be put together. {rows[0]['runs']} first rounds a line; given each of them errors are exact."
        " No choice was made on these columns, nor at epsilon 1.5 and 8."
        " `count` numbers of each person are reported. Coverage in percent, of one drawn crowd after each first round:"
        f" one number at a time, and all at once (Bonferroni).\n\n{lines}"
    )


EXPERIMENT = Experiment(
    id="adaptive-means-of-records",
    title="Adaptive means of 11, 17 and 20 numbers beside the best one-round mechanism",
    metric="root of summed mean square errors, over that of the best one-round mechanism",
    methods=("AdaptiveMeansRounds",),
    grid=((("d", "epsilon"), CELLS), ("n", (100_000,))),
    quick=((("d", "epsilon"), CELLS[:1]), ("n", (100_000,))),
    runs=10,
    quick_runs=2,
    cell=Late("means.several:cell"),
    figure=Picture("epsilon", "ratio", "d", where=(("n", MOST),), guide=1.0, log=""),
    columns=("d", "epsilon", "n", "count", "best", "adapted", "ratio", "std_error", "coverage", "joint"),
    summary=summary,
    needs=(ADULT.file, PATIENTS.file, TAXI.file, FLIGHTS.file),
    section=Section(
        page=PAGE,
        heading="## Several numbers",
        text=text,
        lead=("d", "epsilon", THOUSANDS),
        columns=(
            PageColumn("count", "count"),
            PageColumn("best", "best"),
            percent("adapted", 0, "adapted"),
            PageColumn("ratio", "ratio", ".3f"),
            PageColumn("+-", "std_error", ".3f"),
            percent("coverage", 1),
            percent("all at once", 0, "joint"),
        ),
    ),
)
