"""Print the table of docs/guides/unknown-range.md: errors after a search and of an oracle, on real answers.

Run `SOTTOVOCE_DATA=folder python scripts/generate_range.py`, where the folder holds the two files. The searches are
drawn from their laws; the error that follows each range is computed. With 40 runs it takes a few minutes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import sottovoce as sv
from sottovoce_experiments.coverage.ranges import oracle_error, searches

PARTICIPANTS = 100_000
WIDE = sv.Interval("-1e6", "1e6")
TAXI = ("nyc_green_taxi_january.parquet", "duration_s")
MEDICATIONS = ("diabetes_130_hospitals.parquet", "num_medications")
ROWS = (
    ("taxi durations, 0 to 86,400 s", TAXI, sv.Interval(0, 86_400), None),
    ("the same in -10^6 to 10^6", TAXI, WIDE, None),
    ("taxi trips of up to two hours, 0 to 86,400 s", TAXI, sv.Interval(0, 86_400), 7200),
    ("medications, whole numbers 0 to 1,000", MEDICATIONS, sv.Integers(0, 1000), None),
    ("the same in -10^6 to 10^6", MEDICATIONS, WIDE, None),
)


def table(folder: Path, runs: int) -> Iterator[str]:
    """The lines of the table."""
    yield "| answers, in which range | epsilon | range found (median) | searchers | rounds | error | oracle | ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, (file, column), domain, most in ROWS:
        answers = pq.read_table(folder / file, columns=[column])[column].to_numpy().astype(float)
        answers = answers if most is None else answers[answers <= most]
        for epsilon in (1, 2):
            found = list(searches(sv.RangeSearchMean(domain, epsilon, PARTICIPANTS), answers, runs, 7))
            oracle = oracle_error(answers, PARTICIPANTS, method="designed", epsilon=epsilon)
            squares = np.array([run.squared_error for run in found]) / oracle
            ratio = float(np.sqrt(squares.mean()))
            spread = float(squares.std()) / np.sqrt(runs) / (2 * ratio)
            low, high = (np.median([getattr(run, end) for run in found]) for end in ("low", "high"))
            rounds = sorted({run.rounds + 1 for run in found})
            yield (
                f"| {name} | {epsilon} | {low:g} to {high:g} | {found[0].searchers / PARTICIPANTS:.1%} |"
                f" {rounds[0]} to {rounds[-1]} | {ratio * np.sqrt(oracle):.3g} | {np.sqrt(oracle):.3g} |"
                f" {ratio:.2f} ± {spread:.2f} |"
            )


if __name__ == "__main__":
    for line in table(Path(os.environ["SOTTOVOCE_DATA"]), int(sys.argv[1]) if len(sys.argv) > 1 else 40):
        print(line, flush=True)
