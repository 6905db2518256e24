"""The row and the declaration of a study of coverage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sottovoce_experiments.experiment import Axes, Experiment, Row, load
from sottovoce_experiments.page import Section
from sottovoce_experiments.picture import Picture

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How often intervals of one kind held the truth, in one cell of a study.

    A test of a true hypothesis counts as an interval: it covers if it does not reject.
    """

    of: str = "mean"  # what the interval is about
    method: str
    target: str = "population"
    level: float = LEVEL
    coverage: float | None  # None if there is no such interval, or too few runs have one
    runs: int | None  # in which there was one; None if coverage is summed over the law
    numbers: Mapping[str, Any] = field(default_factory=dict)  # what else is measured; the same names in a whole study

    def row(self) -> Row:
        """Plain values."""
        return {
            "of": self.of,
            "method": self.method,
            "target": self.target,
            "level": self.level,
            "coverage": self.coverage,
            "runs": self.runs,
            **self.numbers,
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """The cell of a study: "module:name" of a function that gives coverages, loaded when it is called."""

    target: str

    def __call__(self, point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
        found: list[Coverage] = load(self.target)(point, runs, seed)
        return [one.row() for one in found]


def study(
    name: str, title: str, *, cell: str, grid: Axes, quick: Axes, runs: int, quick_runs: int, section: Section,
    needs: tuple[str, ...] = (),
) -> Experiment:  # fmt: skip
    """The experiment `coverage-name`, whose cell is a function of a module of this folder."""
    experiment = Experiment(
        id=f"coverage-{name}",
        title=title,
        metric="share of intervals that hold the truth",
        grid=grid,
        quick=quick,
        runs=runs,
        quick_runs=quick_runs,
        cell=Judged(f"coverage.{cell}"),
        figure=Picture(("of", "method", "target"), "coverage", "level", dots=True, guide=LEVEL, log=""),
        columns=(),
        summary=summary,
        data=needs,
        needs=needs,
        section=section,
    )
    extra = tuple(name for name in ("of", "method", "target", "level") if name not in experiment.axes)
    return replace(experiment, columns=(*experiment.axes, *extra, "coverage", "runs"))


def by_kind(rows: Sequence[Row]) -> dict[tuple[str, str, str, float], list[float]]:
    """All coverages of each kind of interval, in percent."""
    found: dict[tuple[str, str, str, float], list[float]] = {}
    for row in rows:
        if row["coverage"] is not None:
            kind = (row["of"], row["method"], row["target"], row["level"])
            found.setdefault(kind, []).append(100 * row["coverage"])
    return found


def summary(rows: Sequence[Row]) -> list[str]:
    """The least and the largest coverage of each kind."""
    return [
        f"{of}, {method}, {target}, {100 * level:g} %: coverage from {min(each):.2f} to {max(each):.2f} %."
        for (of, method, target, level), each in by_kind(rows).items()
    ]


def standard_error(runs: int) -> float:
    """Of a coverage near 95 % from this number of runs, in percent."""
    return 100 * math.sqrt(LEVEL * (1 - LEVEL) / runs)
