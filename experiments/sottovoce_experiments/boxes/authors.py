"""AHEAD and HDG as this package has them, beside the published code of their authors on the same laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sottovoce.core.domain import Integers, Record
from sottovoce.protocols.boxes.ahead import AHEAD
from sottovoce.protocols.boxes.hdg import HDG
from sottovoce_experiments.boxes.compared import PAGE
from sottovoce_experiments.boxes.played import played
from sottovoce_experiments.boxes.table_8 import finest
from sottovoce_experiments.distribution.range_decoders import squared_error
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.page import Row as PageRow
from sottovoce_experiments.picture import Picture

Floats = NDArray[np.float64]
EPSILON, RUNS = 1.0, 20
# n times mean squared errors of the authors' code, with standard errors, over as many runs outside this command.
THEIRS = {"AHEAD": (41.6, 3.0), "HDG": (90.6, 12.5)}
PEOPLE = {"AHEAD": 100_000, "HDG": 50_000}
BINS, CELLS = 256, 64


def ahead(runs: int, rng: np.random.Generator) -> list[float]:
    """All ranges of normal numbers, by AHEAD with two children."""
    truth = np.diff(stats.norm.cdf(np.linspace(0, 1, BINS + 1), 0.5, 0.15))
    truth, n = truth / truth.sum(), PEOPLE["AHEAD"]
    tree = AHEAD(Record({"a": Integers(0, BINS - 1)}), EPSILON, n, BINS)
    found = (played(tree, truth, n, rng).decoded("fitted").values for _ in range(runs))
    return [n * squared_error(one, truth) for one in found]


def hdg(runs: int, rng: np.random.Generator) -> list[float]:
    """All boxes half as wide as both ranges, of two normal numbers with correlation 0.6, by HDG."""
    middles = (np.arange(CELLS) + 0.5) / CELLS * 6 - 3
    law = stats.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]])
    truth = law.pdf(np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1))
    truth, n, wide = truth / truth.sum(), PEOPLE["HDG"], CELLS // 2
    asked: Any = HDG(Record({name: Integers(0, CELLS - 1) for name in "ab"}), EPSILON, n)
    lines = asked.base.parts[0][1].size
    coarse = truth.reshape(lines, CELLS // lines, lines, CELLS // lines).sum(axis=(1, 3))
    errors = []
    for _ in range(runs):
        values = finest(played(asked, coarse.ravel(), n, rng).decoded("fitted"), CELLS)
        sums = np.pad((values - truth).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        boxes = sums[wide:, wide:] - sums[:-wide, wide:] - sums[wide:, :-wide] + sums[:-wide, :-wide]
        errors.append(n * float((boxes**2).mean()))
    return errors


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The mean of ours, and the difference in standard errors."""
    method = point["method"]
    each = {"AHEAD": ahead, "HDG": hdg}[method](runs, np.random.default_rng(seed))
    spread = float(np.std(each) / max(runs - 1, 1) ** 0.5)
    theirs, error = THEIRS[method]
    apart = (float(np.mean(each)) - theirs) / (spread**2 + error**2) ** 0.5
    return [{"ours": float(np.mean(each)), "spread": spread, "theirs": theirs, "their spread": error, "apart": apart}]


def summary(rows: Sequence[PageRow]) -> list[str]:
    """How far both are apart."""
    return [f"{row['method']}: ours is {row['ours'] / row['theirs']:.2f} of the authors' code." for row in rows]


EXPERIMENT = Experiment(
    id="boxes-authors",
    title="AHEAD and HDG beside the code of their authors",
    metric="n times the mean squared error",
    data=("normal numbers",),
    methods=tuple(THEIRS),
    grid=(("method", tuple(THEIRS)),),
    quick=(("method", ("AHEAD",)),),
    runs=RUNS,
    quick_runs=2,
    cell=cell,
    figure=Picture("method", ("ours", "theirs"), dots=True, log=""),
    columns=("method", "ours", "spread", "theirs", "their spread", "apart"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Beside the authors' code",
        text="The papers of AHEAD and HDG print curves and no numbers, so their published code is the yardstick."
        f" n times the mean squared error at epsilon {EPSILON:g}, {RUNS} runs each, on the same laws: AHEAD with two"
        f" children on {BINS} buckets of normal numbers, {PEOPLE['AHEAD']:,} people, all ranges; HDG with the sizes of"
        f" its guideline on {CELLS} x {CELLS} cells of two normal numbers with correlation 0.6, {PEOPLE['HDG']:,}"
        " people, all boxes half as wide as both ranges. The authors' code ran outside this command. That of AHEAD"
        " answers a range from the largest parts inside it and does not make parts add up to the part above; ours does,"
        " and is closer.",
        lead=("method",),
        columns=(
            PageColumn("ours", "ours", ".3g"),
            PageColumn("standard error", "spread", ".2g"),
            PageColumn("authors' code", "theirs", ".3g"),
            PageColumn("its standard error", "their spread", ".2g"),
            PageColumn("difference in standard errors", "apart", "+.1f"),
        ),
    ),
)
