"""Smoothed series of divided participants against the best of seven published ways to publish a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.estimate.series.state_space import mix
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.over_time.ldp_ids import NAMES, Division, Floats, from_counts, oracle
from sottovoce_experiments.over_time.streams import NAMES as STREAMS
from sottovoce_experiments.over_time.streams import PEOPLE, PERIODS, stream
from sottovoce_experiments.page import Page, PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sources import FLIGHTS, TAXI

PAGE = Page(
    "results/over-time.md",
    """\
# Answers over time

How well series of repeated questions are estimated: against published ways, against formulas, and whether intervals,
bands and alarms hold. Each section is written by `sottovoce reproduce ID --pages docs`. The guide is
[Ask the same people again](../guides/repeated-answers.md).
""",
)
OURS = ("unbiased", "online", "retrospective")
AT_ONCE = 20  # series that are smoothed together


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Mean squared errors of all ways, and those of ours over the best published one, with paired standard errors."""
    counts, rng = stream(str(point["stream"])), np.random.default_rng(seed)
    truth, d = counts / counts.sum(axis=1, keepdims=True), counts.shape[1]
    epsilon, window = float(point["epsilon"]), int(point["w"])
    errors: dict[str, Floats] = {}  # of each run
    divided: Floats = np.empty(0)
    for name in NAMES:
        division = Division(name, PEOPLE, d, epsilon, window)
        published, _ = division.run(len(counts), runs, lambda epoch: from_counts(counts[epoch], rng))
        errors[name] = np.mean((published - truth[:, None, :]) ** 2, axis=(0, 2))
        if name == "LPU":
            divided = published
    errors["unbiased"] = errors["LPU"]
    online, smooth = _smoothed(divided, epsilon, window, PERIODS.get(str(point["stream"])))
    errors["online"] = np.mean((online - truth[:, None, :]) ** 2, axis=(0, 2))
    errors["retrospective"] = np.mean((smooth - truth[:, None, :]) ** 2, axis=(0, 2))
    best = min(NAMES, key=lambda name: float(np.mean(errors[name])))
    row: Row = {**point, "best": best, "best_mse": float(np.mean(errors[best])), "runs": runs}
    for name in (*NAMES, *OURS):
        row[name] = float(np.mean(errors[name]) / np.mean(errors[best]))
    for name in OURS[1:]:
        residuals = errors[name] - row[name] * errors[best]
        row[f"{name}_error"] = float(np.std(residuals, ddof=1) / np.sqrt(runs) / np.mean(errors[best]))
    return [row]


def _smoothed(divided: Floats, epsilon: float, window: int, period: int | None) -> tuple[Floats, Floats]:
    """Online and retrospective values of every run, from the unbiased series of divided participants."""
    _, runs, d = divided.shape
    people = PEOPLE // window
    own, other, _ = oracle(d, np.array([epsilon]))
    slope = float((own - other)[0])
    columns = divided if d > 2 else divided[:, :, 1:]  # two shares have the same error
    shares = np.clip(columns.mean(axis=0, keepdims=True), 0, 1)
    rates = float(other[0]) + slope * shares
    variances = np.broadcast_to(rates * (1 - rates) / slope**2 / people, columns.shape)
    results = np.empty((2, *columns.shape))
    for place in range(columns.shape[2]):
        for start in range(0, runs, AT_ONCE):
            part = slice(start, start + AT_ONCE)
            mixture = mix(columns[:, part, place], variances[:, part, place].mean(axis=1), period)
            results[:, :, part, place] = mixture.online, mixture.smooth
    if d == 2:
        results = np.stack([1 - results[..., 0], results[..., 0]], axis=-1)
    return results[0], results[1]


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The range of the ratios of each stream."""
    lines = []
    for name in dict.fromkeys(row["stream"] for row in rows):
        own = [row for row in rows if row["stream"] == name]
        spans = {kind: [float(row[kind]) for row in own] for kind in OURS[1:]}
        lines.append(
            f"{name}: "
            + ", ".join(f"{kind} {min(found):.2f} to {max(found):.2f}" for kind, found in spans.items())
            + " of the best published way"
        )
    return lines


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Text above the table."""
    lines = "\n".join(f"- {line}." for line in summary(rows))
    return (
        f"Mean squared errors over all epochs and categories, divided by that of the *best* of LBU, LSP, LBD, LBA, LPU,"
        f" LPD and LPA in the same cell, over {rows[0]['runs']} paired runs of 200,000 people. Epsilon protects any w"
        " epochs in a row. `unbiased` is the series of divided participants, which is the result of a repeated study;"
        " `online` and `retrospective` smooth it. `sin`, `log` and `lns` have the constants of Ren et al."
        " (SIGMOD 2022); `flights` and `delays` are carriers and delays of departures on 365 days, smoothed"
        f" with a season of 7; `taxi` is the zone of pick-up in 744 hours.\n\n{lines}"
    )


AXES = ("stream", "epsilon", "w")
EXPERIMENT = Experiment(
    id="over-time-compared",
    title="Smoothed series against seven published ways to publish a stream",
    metric="mean squared error over that of the best published way",
    methods=NAMES,
    grid=(("stream", STREAMS), ("epsilon", (0.5, 1.0, 2.0)), ("w", (10, 20, 50))),
    quick=(("stream", ("lns",)), ("epsilon", (1.0,)), ("w", (20,))),
    runs=20,
    quick_runs=2,
    cell=Late("over_time.compared:cell"),
    figure=Picture(AXES, ("unbiased", "online", "retrospective"), dots=True, guide=1.0),
    columns=(*AXES, "best", "unbiased", "online", "online_error", "retrospective", "retrospective_error"),
    summary=summary,
    needs=(FLIGHTS.file, TAXI.file),
    section=Section(
        page=PAGE,
        heading="## Compared with published ways",
        text=text,
        lead=AXES,
        columns=(
            PageColumn("best", "best", ""),
            PageColumn("unbiased", "unbiased", ".2f"),
            PageColumn("online", "online", ".2f"),
            PageColumn("+-", "online_error", ".2f"),
            PageColumn("retrospective", "retrospective", ".2f"),
            PageColumn("+-", "retrospective_error", ".2f"),
        ),
    ),
)
