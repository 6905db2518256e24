"""How often alarms are raised in series without a change, and how soon after one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.series import cusum
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.over_time.compared import PAGE
from sottovoce_experiments.page import PageColumn, Section, percent
from sottovoce_experiments.picture import Picture

RATE = 0.05
BLOCK = 2_000
AXES = ("epochs", "people", "jump")
# The jump is in standard errors of an epoch, in the middle of the series.
GRID = (
    *((epochs, people, 0.0) for epochs in (12, 52, 365) for people in (300, 10_000)),
    *((365, 10_000, jump) for jump in (1.0, 2.0, 3.0)),
)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The share of series with an alarm before a jump or without one, and the delay after a jump."""
    rng, epochs, people = np.random.default_rng(seed), int(point["epochs"]), int(point["people"])
    rates = rates_of(build("grr", Integers(0, 1), epsilon="1").channel)
    own, other = map(float, rates)  # type: ignore[arg-type]
    height = cusum.threshold(RATE, epochs - 1)
    middle = epochs // 2 if point["jump"] else epochs
    base = other + (own - other) * 0.3
    moved = base + point["jump"] * np.sqrt(base * (1 - base) / people)
    rate = np.where(np.arange(epochs) < middle, base, moved)
    false, delays, missed = 0, [], 0
    for start in range(0, runs, BLOCK):
        count = min(BLOCK, runs - start)
        seen = rng.binomial(people, rate[:, None], (epochs, count)) / people
        values = (seen - other) / (own - other)
        variances = seen * (1 - seen) / (own - other) ** 2 / people
        raised = np.max(cusum.sums(cusum.surprises(values, variances)), axis=0) > height
        first = np.where(raised.any(axis=0), raised.argmax(axis=0), epochs)
        false += int(np.sum(first < middle))
        if middle < epochs:
            delays += list(first[(first >= middle) & (first < epochs)] - middle + 1)
            missed += int(np.sum(first == epochs))
    return [
        {
            **point,
            "false": false / runs,
            "delay": float(np.median(delays)) if delays else None,
            "missed": missed / runs if point["jump"] else None,
            "runs": runs,
        }
    ]


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Text above the table."""
    still = [100 * float(row["false"]) for row in rows if not row["jump"]]
    return (
        f"Alarms of `Series.alarms` with a rate of 5 % in series of a share of yes, over {rows[0]['runs']:,} series:"
        " how often one is raised while nothing changes (before a jump, where there is one), the median number of"
        " epochs until a jump in the middle is noticed, and how often it never is. The level is estimated from the"
        " series itself. The jump is in standard errors of one epoch. Without a jump alarms are raised in"
        f" {min(still):.1f} to {max(still):.1f} % of the series."
    )


EXPERIMENT = Experiment(
    id="over-time-alarms",
    title="Alarms of series",
    metric="share of series with a false alarm",
    methods=("Series.alarms",),
    grid=((AXES, GRID),),
    quick=((AXES, GRID[:1]),),
    runs=20_000,
    quick_runs=500,
    cell=Late("over_time.alarms:cell"),
    figure=Picture(("epochs", "people", "jump"), "false", dots=True, guide=0.05, log=""),
    columns=(*AXES, "false", "delay", "missed"),
    section=Section(
        page=PAGE,
        heading="## Alarms",
        text=text,
        lead=("epochs", PageColumn("people", "people", ","), "jump"),
        columns=(
            percent("false alarms, %", 2, "false"),
            PageColumn("epochs until the alarm", "delay", ".0f"),
            percent("jumps missed, %", 2, "missed"),
        ),
    ),
)
