"""Decoders of the square wave on heaped answers, of public files and of laws, without and with a stated step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.estimate.decoder import decoder
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce_experiments.distribution.decoders import BUCKETS, PAGE, PARTICIPANTS, with_and_without_heaps
from sottovoce_experiments.distribution.heaped_columns import BY_NAME, COLUMNS, NEEDS, HeapedColumn
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.page import Row as PageRow
from sottovoce_experiments.picture import Picture

Floats = NDArray[np.float64]
BARS = {0.5: 0.95, 1.0: 0.90, 2.0: 0.85}  # of the geometric mean ratio to the better of EM and EMS
STATED = {0.5: 0.92, 1.0: 0.83, 2.0: 0.72}  # with a stated step
WORST = 1.15  # of one column
METHODS = ("em", "ems", "walks", "bayes", "stated")


def reports(method: Mechanism, answers: Floats, rng: np.random.Generator) -> OutputsEvidence:
    """The evidence of the reports of these answers."""
    tally = method.tally(method.privatize(answers, seed=int(rng.integers(1 << 62))))
    return from_cells(method, tally.n, tally.cells)


def distance(values: Floats, answers: Floats, evidence: OutputsEvidence, domain: Interval) -> float:
    """The Wasserstein distance from the answers' own histogram, as a part of the range.

    Shares lie in the middle of their buckets; where a step is stated, at the mean number that a bucket may hold.
    """
    inside, places = evidence.edges[1:-1], evidence.buckets.centres
    low, high = float(domain.low), float(domain.high)
    if domain.points is not None:
        numbers = np.linspace(low, high, domain.points)
        owner = np.searchsorted(inside, numbers, "right")
        places = np.bincount(owner, numbers) / np.bincount(owner)
    held = np.bincount(np.searchsorted(inside, answers, "right"), minlength=len(values))
    away = np.cumsum(values - held / len(answers))
    return float(np.abs(away[:-1]) @ np.diff(places) / (high - low))


def run(column: HeapedColumn, epsilon: float, rng: np.random.Generator) -> dict[str, float]:
    """The distance of each decoder; a stated step has reports of its own, from the same participants."""
    answers = column.answers(rng, PARTICIPANTS)
    plain, told = Interval(column.low, column.high), Interval(column.low, column.high, column.step)
    evidence = reports(_wave(plain, epsilon), answers, rng)
    both, alone = with_and_without_heaps(evidence)
    values = {name: decoder(name).decode(evidence).values for name in METHODS[:2]} | {"walks": alone, "bayes": both}
    found = {name: distance(own, answers, evidence, plain) for name, own in values.items()}
    if told != plain:
        evidence = reports(_wave(told, epsilon), answers, rng)
        found["stated"] = distance(decoder("bayes").decode(evidence).values, answers, evidence, told)
    return found


def _wave(domain: Interval, epsilon: float) -> Mechanism:
    buckets = min(BUCKETS, domain.points or BUCKETS)
    return mechanism("square-wave", domain, epsilon=epsilon, buckets=buckets)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """All decoders read the same counts."""
    column, rng = BY_NAME[point["data"]], np.random.default_rng(seed)
    found = [run(column, point["epsilon"], rng) for _ in range(runs)]
    each = {name: np.array([one[name] for one in found]) for name in found[0]}
    means: dict[str, Any] = {name: float(each[name].mean()) if name in each else None for name in METHODS}
    against = each["em"] if means["em"] <= means["ems"] else each["ems"]
    better = float(against.mean())
    row: Row = {**means, "better": better, "used": runs, "stated_ratio": None, "stated_error": None}
    for name, ratio, error in (("bayes", "ratio", "error"), ("stated", "stated_ratio", "stated_error")):
        if name in each:
            row[ratio] = float(means[name] / better)
            # Runs are paired, so the error of the ratio is that of the differences.
            row[error] = float((each[name] - row[ratio] * against).std() / better / np.sqrt(max(runs - 1, 1)))
    return [row]


def mean_ratio(rows: Sequence[PageRow], ratio: str, error: str) -> tuple[float, float]:
    """The geometric mean of ratios, and its standard error."""
    mean = float(np.exp(np.mean([np.log(row[ratio]) for row in rows])))
    return mean, mean * float(np.sqrt(np.sum([(row[error] / row[ratio]) ** 2 for row in rows]))) / len(rows)


def summary(rows: Sequence[PageRow]) -> list[str]:
    """Geometric means over the columns, beside the bars."""
    said = []
    for epsilon in sorted({row["epsilon"] for row in rows}):
        own = [row for row in rows if row["epsilon"] == epsilon]
        told = [row for row in own if row["stated"] is not None]
        mean, error = mean_ratio(own, "ratio", "error")
        walks = float(np.exp(np.mean([np.log(row["walks"] / row["better"]) for row in own])))
        worst = max(own, key=lambda row: row["ratio"])
        line = (
            f"Epsilon {epsilon:g}: bayes {mean:.3f} +- {error:.3f} of the better of EM and EMS (bar"
            f" {BARS[epsilon]:.2f}), walks alone {walks:.3f}, worst column {worst['ratio']:.2f} ({worst['data']}, bar"
            f" {WORST:.2f})"
        )
        if told:
            mean, error = mean_ratio(told, "stated_ratio", "stated_error")
            line += f"; with a stated step {mean:.3f} +- {error:.3f} on {len(told)} columns (bar {STATED[epsilon]:.2f})"
        said.append(f"{line}.")
    return said


def text(rows: Sequence[PageRow]) -> str:
    """What the table is, and its means."""
    lines = "\n".join(f"- {line}" for line in summary(rows))
    return (
        "People round, prefer some numbers, and choose the ends of a scale. These are columns of public files and laws,"
        " in their own unit, on ranges that a planner would choose. Answers are drawn with replacement and stay where"
        " they are inside a bucket. Numbers are Wasserstein distances from the answers' own histogram as a part of the"
        " range, x 1000, means of paired runs. `ratio` is that of `bayes` to the better of EM and EMS on this column,"
        " with its standard error; means of ratios are geometric. `walks alone` leaves out the hypotheses about heaps."
        " `stated` is `bayes` where the domain states the step, such as `sv.Interval(0, 100, step=1)`. The"
        " hypotheses and their penalties were chosen on thirteen other columns and on the half called `choice` of the"
        f" section before.\n\n{lines}"
    )


def _thousandths(head: str, field: str) -> PageColumn:
    return PageColumn(head, field, ".2f", scale=1000)


EXPERIMENT = Experiment(
    id="distribution-heaped",
    title="Decoders of the square wave on 17 columns of heaped answers, 100,000 participants, 256 buckets",
    data=tuple(one.name for one in COLUMNS if one.half == "report"),
    methods=METHODS,
    metric="Wasserstein distance from the answers' histogram, as a part of the range",
    grid=(
        (("half", "data"), tuple((one.half, one.name) for one in COLUMNS if one.half == "report")),
        ("epsilon", tuple(BARS)),
    ),
    quick=((("half", "data"), (("report", "commutes, rounded to 5"),)), ("epsilon", (1.0,))),
    runs=24,
    quick_runs=2,
    cell=cell,
    figure=Picture("epsilon", "ratio", "half", dots=True, guide=1.0, log="x"),
    columns=("data", "epsilon", *METHODS, "ratio", "error", "stated_ratio", "used"),
    summary=summary,
    needs=NEEDS,
    section=Section(
        page=PAGE,
        heading="## Heaped answers",
        text=text,
        columns=(
            _thousandths("EM", "em"),
            _thousandths("EMS", "ems"),
            _thousandths("walks alone", "walks"),
            _thousandths("bayes", "bayes"),
            PageColumn("ratio", "ratio", ".3f"),
            PageColumn("its error", "error", ".3f"),
            _thousandths("stated", "stated"),
            PageColumn("ratio, stated", "stated_ratio", ".3f"),
            PageColumn("runs", "used"),
        ),
    ),
)
