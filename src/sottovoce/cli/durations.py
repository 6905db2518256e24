"""`sottovoce audit --timing`: the privacy loss of a message together with its duration, on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from sottovoce.cli.show import note, progress, table
from sottovoce.core.errors import ParameterError
from sottovoce.privacy.drawn import ALPHA
from sottovoce.privacy.duration import CONTROL, SLACK, DurationRow, measure_all, pure_names


def durations(methods: Sequence[str], *, reports: int, tick: bool, jobs: int, as_json: bool) -> int:
    """Print the table; 1 where the control does not leak, or where a tick does not hide a mechanism's duration."""
    if jobs < 1:
        raise ParameterError(f"The measurement runs in at least one process. Got {jobs}.")
    wanted = list(dict.fromkeys(methods)) or pure_names()
    rows = list(progress(measure_all(wanted, reports=reports, tick=tick, jobs=jobs), "duration", lambda row: (1, 0)))
    if as_json:
        print(json.dumps([row.to_dict() for row in rows]))
    else:
        show(rows)
    return verdict(rows, tick=tick)


def show(rows: Sequence[DurationRow]) -> None:
    """A table of rows."""
    header = ("method", "inputs", "tick", "claimed", "message alone", "with duration", "first", "second")
    lines = [
        (
            row.name,
            row.inputs,
            "none" if row.tick is None else f"{1000 * row.tick:g} ms",
            f"{row.claimed:g}",
            f"{row.message:.2f}",
            f"{row.loss:.2f}",
            *(f"{median:.1f} us" for median in row.microseconds),
        )
        for row in rows
    ]
    table(header, lines, numbers=5)
    loads = sorted(row.load for row in rows)
    print(
        f"Lower bounds on epsilon at confidence 1 - {ALPHA:g}, from {rows[0].reports} reports of each input; medians of"
        f" the durations. Load {loads[0]:.1f} to {loads[-1]:.1f} on {os.cpu_count()} processors."
    )


def verdict(rows: Sequence[DurationRow], *, tick: bool) -> int:
    """The exit code, and a sentence where it is not 0."""
    control, measured = rows[0], rows[1:]
    if control.loss < CONTROL:
        note(
            f"the positive control shows {control.loss:.2f}, less than {CONTROL:g}: this machine is too noisy, or the"
            " reports are too few, to conclude anything"
        )
        return 1
    above = [row.name for row in measured if not row.ok]
    if tick and above:
        note(f"message and duration exceed the claim by more than {SLACK:g}: {', '.join(above)}")
        return 1
    return 0
