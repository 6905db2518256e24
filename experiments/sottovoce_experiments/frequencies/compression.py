"""The least epsilon of the compression-based mechanism for a distortion and a number of reports; nothing is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from sottovoce.core.domain import Integers
from sottovoce.core.errors import ParameterError
from sottovoce.core.registry import mechanism
from sottovoce.design.compression import distortion_of
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.frequencies.data import shares_of
from sottovoce_experiments.frequencies.published import PAGE
from sottovoce_experiments.page import PageColumn, Row, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import ADULT

COLUMNS = ("education", "occupation", "workclass")
LAWS = (*COLUMNS, "geometric, 16", "education or occupation")
DISTORTIONS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7")
OUTPUTS = (2, 4, 8, 16)


def _column(name: str) -> list[float]:
    """Shares of the values of a column, largest first."""
    counts = pq.read_table(data_file(ADULT.file), columns=[name])[name].drop_null().value_counts().to_pylist()
    listed = sorted((float(one["counts"]) for one in counts), reverse=True)
    return [count / sum(listed) for count in listed]


def laws(name: str) -> list[list[float]]:
    """One law or several, of equally many categories."""
    if name.startswith("geometric"):
        return [shares_of("geometric", 16).tolist()]
    several = [_column(one) for one in name.split(" or ")]
    longest = max(map(len, several))
    padded = [[*law, *[0.0] * (longest - len(law))] for law in several]
    return [padded[0], *(np.roll(law, place).tolist() for place, law in enumerate(padded[1:], 1))]


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[dict[str, Any]]:
    """The least epsilon, and that of randomized response with the same distortion on all categories."""
    prior, change = laws(point["answers"]), float(point["distortion"])
    k = len(prior[0])
    outputs = min(point["outputs"], k)
    usual = math.log((k - 1) * (1 - change) / change)
    row: dict[str, Any] = {"k": k, "ratio": math.log(outputs) / math.log(k), "response": max(usual, 0.0)}
    try:
        found = mechanism(
            "compression", Integers(0, k - 1), prior=prior, distortion=point["distortion"], outputs=outputs
        )
    except ParameterError:  # merging changes more answers already, or always reporting the likeliest changes fewer
        return [{**row, "least": None, "reports": None, "reached": None}]
    return [{**row, "least": found.epsilon, "reports": found.domain.size, "reached": distortion_of(found, prior)}]


def summary(rows: Sequence[Row]) -> list[str]:
    """What knowing the law saves of epsilon, and that no bound is exceeded."""
    found = [row for row in rows if row["least"] is not None]
    saved = [row["response"] - row["least"] for row in found if row["outputs"] >= row["k"]]
    over = max(row["reached"] - float(row["distortion"]) for row in found)
    return [
        f"{len(found)} of {len(rows)} pairs of distortion and reports can be met; no distortion is exceeded by more"
        f" than {max(over, 0):.1g}",
        f"with a report for each category the least epsilon is {min(saved):.2f} to {max(saved):.2f} below that of"
        " randomized response with the same distortion",
    ]


def text(rows: Sequence[Row]) -> str:
    """What is shown, and the summary."""
    lines = "\n".join(f"- {line}." for line in summary(rows))
    return (
        "The least epsilon of `compression` for a share of answers that are changed (columns) and a number of reports"
        " (rows), under the law of a column of the census, a geometric law of 16 categories, and two laws at once,"
        " whose categories are paired one place apart."
        " `ratio` is the compression ratio ln(reports) / ln(categories). A dash: merging alone changes more answers, or"
        f" always reporting the likeliest category changes no more. All numbers are exact.\n\n{lines}"
    )


EXPERIMENT = Experiment(
    id="compression-frontier",
    title="The least epsilon of the compression-based mechanism, by distortion and number of reports",
    metric="least epsilon",
    data=LAWS,
    methods=("compression", "distortion"),
    grid=(("answers", LAWS), ("outputs", OUTPUTS), ("distortion", DISTORTIONS)),
    quick=(("answers", ("geometric, 16",)), ("outputs", (4, 16)), ("distortion", ("0.3", "0.6"))),
    runs=1,
    quick_runs=1,
    cell=Late("frequencies.compression:cell"),
    figure=Picture("distortion", "least", ("answers", "outputs"), log=""),
    columns=("answers", "outputs", "ratio", "distortion", "least", "response", "reports"),
    summary=summary,
    paper="Xiong, Sarwate, Mandayam, 2016; the survey's section 2.2.3",
    needs=(ADULT.file,),
    section=Section(
        page=PAGE,
        heading="## The compression-based mechanism",
        text=text,
        lead=("answers", "k", "outputs", PageColumn("ratio", "ratio", ".2f")),
        columns=tuple(PageColumn(one, "least", ".2f", (("distortion", one),), missing="-") for one in DISTORTIONS),
    ),
)
