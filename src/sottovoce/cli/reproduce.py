"""`sottovoce reproduce`: published tables and figures, computed again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sottovoce.cli.show import note, progress, table
from sottovoce.experiments.catalogue import EXPERIMENTS, find
from sottovoce.experiments.experiment import Row
from sottovoce.experiments.runner import Job


def listing(*, as_json: bool) -> None:
    """Every experiment."""
    rows = [
        {"id": one.id, "title": one.title, "paper": one.paper, "cells": len(one.points()), "needs": one.needs}
        for one in EXPERIMENTS
    ]
    if as_json:
        print(json.dumps(rows))
        return
    shown = [(one.id, one.title, str(len(one.points()))) for one in EXPERIMENTS]
    table(("id", "what it is", "cells"), shown, numbers=1)
    if any(one.needs for one in EXPERIMENTS):
        note("Some read a file of shared data, from the folder that SOTTOVOCE_DATA names.")


def reproduce(id_: str, folder: Path, *, seed: int, quick: bool, figure: Path | None, as_json: bool) -> None:
    """Run one experiment, write rows and picture, print the rows."""
    job = Job(find(id_), folder, seed, quick)
    total = job.total
    steps = progress(job.work(), id_, lambda step: (step, total))
    found = next(steps)
    if found:
        note(f"{found} of {total} cells were finished before, in {job.results.parent}.")
    for _ in steps:
        pass
    rows = job.finish()
    problem = job.draw(rows, figure)
    if as_json:
        print(json.dumps(rows))
    else:
        _show(job, rows)
    note(problem or f"The picture is in {figure or job.picture}.")
    note(f"The rows are in {job.results}.")


def _show(job: Job, rows: Sequence[Row]) -> None:
    names = job.experiment.columns
    numbers = sum(not isinstance(rows[0][name], str) for name in names)
    # Text first, then numbers, so that the last columns are those aligned at the right.
    ordered = sorted(names, key=lambda name: not isinstance(rows[0][name], str))
    table(ordered, [[_text(row[name]) for name in ordered] for row in rows], numbers=numbers)
    if job.experiment.summary is not None:
        print()
        for sentence in job.experiment.summary(rows):
            print(sentence)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)
