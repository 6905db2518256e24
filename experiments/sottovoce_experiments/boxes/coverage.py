"""How often the intervals of boxes cover, for waves, HIO, AHEAD and HDG, on answers as people give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Integers, Record
from sottovoce.core.registry import mechanism
from sottovoce.core.round import Protocol
from sottovoce.protocols.ask import AskEveryone
from sottovoce.protocols.boxes.ahead import AHEAD
from sottovoce.protocols.boxes.hdg import HDG
from sottovoce.protocols.boxes.hio import HIO
from sottovoce_experiments.boxes.compared import PAGE
from sottovoce_experiments.boxes.played import played
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.page import Row as PageRow
from sottovoce_experiments.picture import Picture

Floats = NDArray[np.float64]
SIZE, LEVEL, PARTICIPANTS = 16, 0.95, 10_000
RUNS, BOXES = 40, 20  # crowds, and boxes of each of them
METHODS = ("torus-wave", "HIO", "AHEAD", "HDG")
ANSWERS = ("smooth", "heaped", "both ends", "rare")
EPSILONS = (1.0,)
SQUARE = Record({"a": Integers(0, SIZE - 1), "b": Integers(0, SIZE - 1)})


def shares(answers: str) -> Floats:
    """The shares of the cells of two fields that depend on each other."""
    places = np.arange(SIZE)
    lines = {
        "smooth": np.exp(-(((places - 6) / 4) ** 2)),
        "heaped": np.where(places % 5 == 0, 5.0, 0.5) + 20 * (places == 10),
        "both ends": np.where((places == 0) | (places == SIZE - 1), 20.0, 1.0),
        "rare": np.where(places == 3, 200.0, 0.2),
    }
    line = lines[answers]
    found = np.multiply.outer(line, line) * np.exp(-np.abs(np.subtract.outer(places, places)) / 6)
    return np.asarray(found / found.sum())


def protocol(method: str, epsilon: float) -> Protocol:
    """The protocol of a method."""
    if method == "torus-wave":
        return AskEveryone(mechanism(method, SQUARE, epsilon=epsilon, buckets=SIZE), "boxes")
    known: dict[str, Protocol] = {
        "HIO": HIO(SQUARE, epsilon),
        "AHEAD": AHEAD(SQUARE, epsilon, PARTICIPANTS),
        "HDG": HDG(SQUARE, epsilon, PARTICIPANTS, parts=(16, 4)),
    }
    return known[method]


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The share of intervals that hold the share of a random box in the population."""
    asked, truth = protocol(point["method"], point["epsilon"]), shares(point["answers"])
    rng = np.random.default_rng(seed)
    covered, widths = np.zeros(runs), []
    for run in range(runs):
        estimate = played(asked, truth.ravel(), PARTICIPANTS, rng)
        for _ in range(BOXES):
            ends = np.sort(rng.integers(0, SIZE, (2, 2)), axis=1)
            (low,), (high,) = estimate.range(a=tuple(ends[0].tolist()), b=tuple(ends[1].tolist())).quiet_ci(LEVEL)
            (first, last), (left, right) = ends
            share = float(truth[first : last + 1, left : right + 1].sum())
            covered[run] += low <= share <= high
            widths.append(high - low)
    each = covered / BOXES
    error = float(each.std() / max(runs - 1, 1) ** 0.5)
    return [{"coverage": float(each.mean()), "error": error, "width": float(np.mean(widths))}]


def summary(rows: Sequence[PageRow]) -> list[str]:
    """The least and the largest coverage."""
    found = sorted(float(row["coverage"]) for row in rows)
    return [f"Intervals of level {LEVEL:.0%} cover {found[0]:.1%} to {found[-1]:.1%} of the shares of random boxes."]


EXPERIMENT = Experiment(
    id="boxes-coverage",
    title="Coverage of the intervals of boxes",
    metric="share of intervals that hold the true share",
    methods=METHODS,
    grid=(("method", METHODS), ("answers", ANSWERS), ("epsilon", EPSILONS)),
    quick=(("method", METHODS[:2]), ("answers", ANSWERS[:1]), ("epsilon", EPSILONS[-1:])),
    runs=RUNS,
    quick_runs=10,
    cell=cell,
    figure=Picture(("method", "answers", "epsilon"), "coverage", dots=True, guide=LEVEL, log=""),
    columns=("method", "answers", "epsilon", "coverage", "error", "width"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Coverage",
        text=f"The share of intervals of level {LEVEL:.0%} that hold the true share of a random box: {BOXES} boxes of"
        f" each of {RUNS} crowds of {PARTICIPANTS:,} people, {SIZE} x {SIZE} cells. HDG and AHEAD do not tell all cells"
        " apart; their intervals allow for any place of the answers inside a part, and cover more often.",
        lead=("method", "answers", "epsilon"),
        columns=(
            PageColumn("coverage", "coverage", ".3f"),
            PageColumn("standard error", "error", ".3f"),
            PageColumn("mean width", "width", ".3f"),
        ),
    ),
)
