"""Other reports for the decoder `bayes`: the coded wave, and either wave by a coin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce_experiments.distribution.decoders import BARS, BUCKETS, PAGE, PARTICIPANTS, WORST, decoders
from sottovoce_experiments.distribution.histograms import REPORTED, shares
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.page import Row as PageRow
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sources import HISTOGRAMS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RUNS = 10
NAMES = {"square wave": "square-wave", "coded wave": "coded-wave", "mixed wave": "mixed-wave"}
REPORTS = tuple(NAMES)


@lru_cache(maxsize=8)
def _built(name: str, epsilon: float) -> tuple[Mechanism, Floats]:
    """A mechanism, and the probabilities of its reports, a row for each bucket."""
    method = mechanism(name, Interval(0, 1), epsilon=epsilon, buckets=BUCKETS)
    law = from_cells(method, 0, np.zeros(method.statistic.cells(method.channel), np.int64)).transition.matrix.T
    return method, np.asarray(law / law.sum(axis=1, keepdims=True))


def reported(name: str, epsilon: float, held: Ints, rng: np.random.Generator) -> OutputsEvidence:
    """The evidence of participants of whom `held` have answers in each bucket."""
    method, law = _built(name, epsilon)
    return from_cells(method, int(held.sum()), rng.multinomial(held, law).sum(axis=0))


def one_run(epsilon: float, truth: Floats, rng: np.random.Generator) -> dict[str, float]:
    """The distances of EM and EMS from reports of square waves, and of `bayes` from each kind of reports.

    The participants are the same.
    """
    held, known = rng.multinomial(PARTICIPANTS, truth), decoders()
    given = {kind: reported(name, epsilon, held, rng) for kind, name in NAMES.items()}
    found = {name: known[name].decode(given["square wave"]).values for name in ("em", "ems")}
    found |= {kind: known["bayes"].decode(evidence).values for kind, evidence in given.items()}
    return {name: float(np.abs(np.cumsum(one - held / PARTICIPANTS)).mean()) for name, one in found.items()}


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """A row for each kind of reports."""
    rng, truth = np.random.default_rng(seed), shares(point["data"], BUCKETS)
    table = [one_run(point["epsilon"], truth, rng) for _ in range(runs)]
    means = {name: float(np.mean([one[name] for one in table])) for name in table[0]}
    name = "em" if means["em"] <= means["ems"] else "ems"
    against, rows = np.array([one[name] for one in table]), []
    for kind in REPORTS:
        own, ratio = np.array([one[kind] for one in table]), means[kind] / means[name]
        error = float((own - ratio * against).std() / means[name] / np.sqrt(max(runs - 1, 1)))
        rows.append({"reports": kind, "better": means[name], "bayes": means[kind], "ratio": ratio, "error": error})
    return rows


def summary(rows: Sequence[PageRow]) -> list[str]:
    """Means over the data, relative to the better of EM and EMS from reports of square waves."""
    said = []
    for epsilon in sorted({row["epsilon"] for row in rows}):
        parts = []
        for kind in REPORTS:
            own = [row for row in rows if (row["epsilon"], row["reports"]) == (epsilon, kind)]
            better = sum(row["better"] for row in own)
            ratio = sum(row["bayes"] for row in own) / better
            error = np.sqrt(sum((row["error"] * row["better"]) ** 2 for row in own)) / better
            worst = max(own, key=lambda row: float(row["ratio"]))
            parts.append(f"{kind} {ratio:.3f} +- {error:.3f}, worst {worst['ratio']:.2f} ({worst['data']})")
        said.append(f"Epsilon {epsilon:g}, bars {BARS[epsilon]:.2f} and {WORST:.2f}: {'; '.join(parts)}.")
    return said


def text(rows: Sequence[PageRow]) -> str:
    """What is compared, and its means."""
    lines = "\n".join(f"- {line}" for line in summary(rows))
    return (
        "These are *other reports*: the bars above are about reports of the square wave. The same 100,000 participants"
        " send a square wave, a coded wave of 256 buckets, or either of both by a coin, and `bayes` decodes; all"
        " ratios are to the better of EM and EMS from reports of square waves. The half called `report`,"
        f" Wasserstein distance x 1000, means of {RUNS} paired runs.\n\n{lines}"
    )


EXPERIMENT = Experiment(
    id="distribution-reports",
    title="Square wave, coded wave and either by a coin, decoded by bayes, 100,000 participants, 256 buckets",
    metric="Wasserstein distance from the sample's histogram on [0, 1]",
    data=REPORTED,
    methods=REPORTS,
    grid=(("epsilon", tuple(BARS)), ("data", REPORTED)),
    quick=(("epsilon", (1.0,)), ("data", ("Beta(5, 2)",))),
    runs=RUNS,
    quick_runs=2,
    cell=cell,
    figure=Picture("epsilon", "bayes", "reports", over="better", mean=True, guide=1.0, log="x"),
    columns=("epsilon", "data", "reports", "better", "bayes", "ratio", "error"),
    summary=summary,
    needs=(HISTOGRAMS.file,),
    section=Section(
        page=PAGE,
        heading="## Other reports",
        text=text,
        lead=("data", "epsilon"),
        columns=(
            PageColumn("better of EM and EMS, square wave", "better", ".2f", scale=1000),
            *(PageColumn(f"bayes, {kind}", "bayes", ".2f", (("reports", kind),), 1000) for kind in REPORTS),
            *(PageColumn(f"ratio, {kind}", "ratio", ".3f", (("reports", kind),)) for kind in REPORTS),
        ),
    ),
)
