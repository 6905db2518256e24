"""`sottovoce reproduce`: published tables and figures, and studies of coverage, computed again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sottovoce.cli.show import note, progress, table
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.plural import plural
from sottovoce_experiments.catalogue import EXPERIMENTS, matching
from sottovoce_experiments.experiment import Row
from sottovoce_experiments.page import rewrite
from sottovoce_experiments.runner import DATA_VARIABLE, Job
from sottovoce_experiments.sources import SOURCES


def listing(*, as_json: bool) -> None:
    """Every experiment."""
    rows = [
        {
            "id": one.id,
            "title": one.title,
            "paper": one.paper,
            "cells": len(one.points()),
            "needs": [asdict(SOURCES[name]) for name in one.needs],
        }
        for one in EXPERIMENTS
    ]
    if as_json:
        print(json.dumps(rows))
        return
    shown = [(one.id, one.title, " ".join(one.needs), str(len(one.points()))) for one in EXPERIMENTS]
    table(("id", "what it is", "file it reads", "cells"), shown, numbers=1)
    print("\nComputed again, each with the paper that it is from; the others study our own methods:")
    for one in EXPERIMENTS:
        if one.paper is not None:
            print(f"  {one.id}: {one.paper}")
    print(f"\nFiles are read from the folder that {DATA_VARIABLE} names; docs/results/index.md says how to make them:")
    for source in SOURCES.values():
        print(f"  {source}")


def reproduce(
    name: str, folder: Path, *, seed: int, quick: bool, figure: Path | None, pages: Path | None, as_json: bool
) -> None:
    """Run what the name matches: write rows, picture and page, print the rows."""
    chosen = matching(name)
    several = chosen[0].id != name
    if several and figure is not None:
        raise ParameterError("A file for the picture can be named for one experiment, not for a pattern.")
    if quick and pages is not None:
        raise ParameterError("Pages show full runs: give either --quick or --pages.")
    results = {}
    for experiment in chosen:
        job = Job(experiment, folder, seed, quick)
        problem = job.missing_data()
        if several and problem is not None:  # the other experiments still run
            note(f"{experiment.id} is left out. {problem}")
            continue
        results[experiment.id] = _run(job, figure, pages, as_json=as_json)
    if as_json:
        print(json.dumps(results if several else results[name]))


def _run(job: Job, figure: Path | None, pages: Path | None, *, as_json: bool) -> list[Row]:
    total, experiment = job.total, job.experiment
    steps = progress(job.work(), experiment.id, lambda step: (step, total))
    before = next(steps)  # fails where data is missing
    if experiment.paper is not None:
        note(f"{experiment.id} computes again: {experiment.paper}.")
    for name in experiment.needs:
        note(f"The data: {SOURCES[name]}.")
    if before:
        finished = "was" if before == 1 else "were"
        note(f"{before} of {plural(total, 'cell')} {finished} finished before, in {job.results.parent}.")
    for _ in steps:
        pass
    rows = job.finish()
    problem = job.draw(rows, figure)
    if not as_json:
        _show(job, rows)
    note(problem or f"The picture is in {figure or job.picture}.")
    note(f"The rows are in {job.results}.")
    if pages is not None and experiment.section is not None:
        page = experiment.section.page
        order = [one.id for one in EXPERIMENTS if one.section is not None and one.section.page.file == page.file]
        note(f"Written anew in {rewrite(pages, page, experiment.id, order, experiment.markdown(rows))}.")
        if experiment.drawn_on_page:
            job.draw(rows, pages / experiment.drawing)
    return rows


def _show(job: Job, rows: Sequence[Row]) -> None:
    rows, names = job.experiment.shown(rows), job.experiment.columns
    numbers = sum(not isinstance(rows[0][name], str) for name in names)
    # Text first, then numbers, so that the last columns are those aligned at the right.
    ordered = sorted(names, key=lambda name: not isinstance(rows[0][name], str))
    table(ordered, [[_text(row[name]) for name in ordered] for row in rows], numbers=numbers)
    if job.experiment.summary is not None:
        print()
        for sentence in job.experiment.summary(rows):
            print(sentence)
    for claim in job.experiment.claims:
        place, sentence, verdict, found, why = claim.line(rows)
        print(
            f"\n{place}: {sentence}.\n  {verdict.strip('*')}{f' ({found})' if found else ''}{f': {why}' if why else ''}"
        )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)
