"""`sottovoce compare`: the difference between two samples of different people."""

from __future__ import annotations

import json
from typing import Any

from sottovoce.cli.show import comma_separated, printable, table
from sottovoce.cli.tally import merged_tally
from sottovoce.core.simulation import COLUMN
from sottovoce.estimate.comparison.compare import compare as compared

NUMBERS = ("a", "b", "difference", "low", "high", "p_value", "adjusted")


def compare(first: str, second: str, level: float, correction: str, form: str, reading: dict[str, Any]) -> None:
    """Print the differences between two files as a table, as JSON or as CSV."""
    tallies = [merged_tally([source], **reading) for source in (first, second)]
    comparison = compared(*(tally.mechanism.estimate(tally) for tally in tallies))
    frame = comparison.to_frame(level, correction=correction)
    rows = frame.to_dict("records")
    keys = [name for name in frame.columns if name not in (*NUMBERS, "std_error", COLUMN)]
    if form == "json":
        overall = comparison.overall().to_dict()
        named = [{str(key): value for key, value in row.items()} for row in rows]
        print(json.dumps({"level": level, "correction": correction, "overall": overall, "rows": named}, default=str))
        return
    if form == "csv":
        names = [*keys, *NUMBERS]
        comma_separated(names, ([row[name] for name in names] for row in rows))
        return
    lines = [
        [*(printable(row[name]) for name in keys), *(f"{row[name]:.4g}" for name in NUMBERS[:5])]
        + [f"{row[name]:.2g}" for name in NUMBERS[5:]]
        for row in rows
    ]
    table((*keys, "first", "second", "difference", "low", "high", "p-value", "adjusted"), lines, numbers=len(NUMBERS))
    print(comparison.explain(level))
