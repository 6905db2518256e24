"""Trimmed and winsorised means of numbers whose range is far too wide: error and coverage, drawn from exact laws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Interval
from sottovoce.core.round import Round, Tallies
from sottovoce.protocols.play import play
from sottovoce.protocols.ranges.trimmed import TrimmedMeanRounds
from sottovoce_experiments.coverage.ranges import draw_round
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.means.decision import PAGE
from sottovoce_experiments.means.ranges import POPULATIONS
from sottovoce_experiments.page import THOUSANDS, PageColumn, Row, Section, percent
from sottovoce_experiments.picture import MOST, Picture

Floats = NDArray[np.float64]
TARGETS = ("trimmed", "winsorised")
SIZES = ((1.0, 100_000), (2.0, 20_000))
SHARE = "0.1"


def truths(people: Floats, share: float) -> dict[str, float]:
    """Both means of a population in rising order."""
    cut = round(share * len(people))
    kept = people[cut : len(people) - cut]
    moved = np.clip(people, kept[0], kept[-1])
    return {"trimmed": float(kept.mean()), "winsorised": float(moved.mean())}


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[dict[str, Any]]:
    """Error over the standard error of an oracle that clamps everyone at the true quantiles, and coverage."""
    ends, draw = POPULATIONS[point["answers"]]
    people = np.sort(np.clip(draw(np.random.default_rng(7)), *ends))
    protocol = TrimmedMeanRounds(Interval(*ends), SHARE, point["epsilon"], point["n"])
    truth, rng = truths(people, float(SHARE)), np.random.default_rng(seed)
    errors: dict[str, list[float]] = {name: [] for name in TARGETS}
    said: dict[str, list[float]] = {name: [] for name in TARGETS}
    held = dict.fromkeys(TARGETS, 0)

    def ask(stage: Round, number: int) -> Tallies:
        return draw_round(stage, people, stage.quota or point["n"] - protocol.opening.participants, rng)

    for _ in range(runs):
        estimates = play(protocol, ask).estimates
        for name in TARGETS:
            (low,), (high,) = estimates[name].ci()
            held[name] += bool(low <= truth[name] <= high)
            errors[name].append(float(estimates[name].value) - truth[name])
            said[name].append((high - low) / 2)
    return [
        {
            **point,
            "target": name,
            "truth": truth[name],
            "rmse": (rmse := math.sqrt(float(np.mean(np.square(errors[name]))))),
            "std_error": rmse / math.sqrt(2 * runs),
            "coverage": held[name] / runs,
            "width": float(np.median(said[name])) / max(1.96 * rmse, 1e-300),
            "runs": runs,
        }
        for name in TARGETS
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """Coverage over all laws, for each target."""
    return [
        f"{name}: coverage {np.mean([row['coverage'] for row in own]):.1%} over {len(own)} lines of {own[0]['runs']}"
        f" runs, at least {min(row['coverage'] for row in own):.0%}"
        for name in TARGETS
        if (own := [row for row in rows if row["target"] == name])
    ]


def text(rows: Sequence[Row]) -> str:
    """What was measured, and the summary."""
    lines = "\n".join(f"- {line}." for line in summary(rows))
    return (
        f"`TrimmedMeanRounds` without the {float(SHARE):.0%} smallest and the {float(SHARE):.0%} largest numbers, and"
        " with them moved to the quantiles. Ranges are far too wide, and nothing else is known. `error` is the root"
        f" mean square error over {rows[0]['runs']} runs, with its standard error. `width` is half the median width of"
        " the 95 % interval over 1.96 of these errors: 1 is ideal."
        f"\n\n{lines}"
    )


EXPERIMENT = Experiment(
    id="trimmed-means",
    title="Trimmed and winsorised means without a known range: error and coverage",
    metric="root mean square error, and coverage of the 95 % interval",
    methods=("TrimmedMeanRounds",),
    grid=((("epsilon", "n"), SIZES), ("answers", tuple(POPULATIONS))),
    quick=((("epsilon", "n"), SIZES[:1]), ("answers", ("lognormal",))),
    runs=20,
    quick_runs=2,
    cell=Late("means.trimmed:cell"),
    figure=Picture("epsilon", "coverage", "answers", where=(("n", MOST), ("target", "trimmed")), guide=0.95, log=""),
    columns=("epsilon", "n", "answers", "target", "truth", "rmse", "std_error", "coverage", "width"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Trimmed and winsorised means",
        text=text,
        lead=("epsilon", THOUSANDS, "answers", "target"),
        columns=(
            PageColumn("truth", "truth", ".4g"),
            PageColumn("error", "rmse", ".3g"),
            PageColumn("+-", "std_error", ".2g"),
            percent("coverage", 0),
            PageColumn("width", "width", ".2f"),
        ),
    ),
)
