"""How often intervals of cross tables hold the truth: cells, rare cells, shares within groups, ratios, Cramer's V."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.estimate.joint import association
from sottovoce.estimate.joint.evidence import JointEvidence
from sottovoce.estimate.joint.table import TableEvidence
from sottovoce.estimate.request import IntervalRequest, Method
from sottovoce.protocols.shares.tables import TableViews
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section, percent
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.tables.records import COLUMNS, Floats, Records, records, reports
from sottovoce_experiments.tables.results_page import PAGE

LEVEL = 0.95
RARE = 0.01  # true share of a cell
MOST_CELLS = 60  # of tables whose ratios are all compared
KINDS = ("cells", "rare", "within", "risk", "odds", "cramer")
WORDS = ("cells", "cells below 1 %", "shares within groups", "relative risks", "odds ratios", "Cramer's V")


class Covered:
    """Counts of intervals that hold the truth, by kind."""

    def __init__(self) -> None:
        self.inside, self.all = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
        self.bounded = True  # shares within groups lie in [0, 1]

    def add(self, kind: str, low: Any, true: Any, high: Any) -> None:
        flags = np.atleast_1d((np.asarray(low) <= true) & (true <= np.asarray(high)))
        self.inside[kind] += int(flags.sum())
        self.all[kind] += len(flags)

    def share(self, kind: str) -> float:
        """The share of intervals that hold the truth."""
        return self.inside[kind] / max(1, self.all[kind])


def count(people: Records, evidence: JointEvidence, found: Covered) -> None:
    """Compare all intervals of all tables of two attributes with the truth."""
    for names in people.pairs:
        truth, table = people.table(names), evidence.table(names)
        low, high = table.interval(IntervalRequest(LEVEL, Method.NORMAL))
        flat = truth.ravel()
        found.add("cells", low, flat, high)
        rare = flat < RARE
        found.add("rare", low[rare], flat[rare], high[rare])
        sizes = truth.sum(axis=1)
        within = table.within(names[:1])
        low, high = within.interval(IntervalRequest(LEVEL, Method.FIELLER))
        found.add("within", low, (truth / sizes[:, None]).ravel(), high)
        values = np.concatenate([within.values(), low, high])
        found.bounded &= bool(((values >= 0) & (values <= 1) | np.isnan(values)).all())
        cramer = association.cramers_v(table, LEVEL)
        found.add("cramer", cramer.low, _true_v(truth, table, cramer.left_out), cramer.high)
        if flat.size <= MOST_CELLS:
            _ratios(truth, table, found)


def _true_v(truth: Floats, table: TableEvidence, rare: Collection[tuple[str, str]]) -> float:
    """Cramer's V of the answers that the estimate counts."""
    counted = (
        [place for place, label in enumerate(axis.labels) if (name, str(label)) not in rare]
        for name, axis in zip(table.names, table.axes.each, strict=True)
    )
    kept = truth[np.ix_(*counted)] / truth[np.ix_(*counted)].sum()
    expected = np.outer(kept.sum(axis=1), kept.sum(axis=0))
    phi = float(((kept - expected) ** 2 / np.where(expected > 0, expected, 1)).sum())
    return float(np.sqrt(phi / (min(kept.shape) - 1)))


def _ratios(truth: Floats, table: TableEvidence, found: Covered) -> None:
    """All ratios against the first group whose true value is a number."""
    sizes = truth.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares, odds = truth / sizes, truth / (sizes - truth)
        true = {association.RISK: shares[1:] / shares[0], association.ODDS: odds[1:] / odds[0]}
    kinds = {association.RISK: "risk", association.ODDS: "odds"}
    for measure, kind in kinds.items():
        ratios = [one for one in association.all_ratios(table, LEVEL) if one.measure == measure]
        for one, value in zip(ratios, true[measure].T.ravel(), strict=True):  # outcome by outcome
            if np.isfinite(value):
                found.add(kind, one.low, value, one.high)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Shares over all runs."""
    people, rng, each = records(point["data"]), np.random.default_rng(seed), []
    protocol = TableViews(people.record, people.pairs, point["epsilon"])
    for _ in range(runs):
        each.append(Covered())
        count(people, reports(people, protocol, point["participants"], rng), each[-1])
    row: Row = {kind: float(np.mean([one.share(kind) for one in each])) for kind in KINDS}
    for kind in KINDS:  # intervals of one run read the same reports, so that runs are the independent units
        row[f"{kind}_error"] = float(np.std([one.share(kind) for one in each]) / np.sqrt(max(runs - 1, 1)))
    row["bounded"] = all(one.bounded for one in each)
    return [row | {"intervals": sum(sum(one.all.values()) for one in each), "used": runs}]


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The lowest and the highest coverage of each kind."""
    said = [
        f"{word}: {min(row[kind] for row in rows):.1%} to {max(row[kind] for row in rows):.1%} of the 95 % intervals"
        " hold the truth."
        for kind, word in zip(KINDS, WORDS, strict=True)
    ]
    inside = "All" if all(row["bounded"] for row in rows) else "Not all"
    return [*said, f"{inside} shares within groups and their intervals lie in [0, 1]."]


def _text(rows: Sequence[Mapping[str, Any]]) -> str:
    return (
        "How many of the 95 % intervals hold the truth, in percent, with standard errors after ±: all 28 tables of two"
        f" of eight attributes, {rows[0]['used']} runs. Cells below 1 % are counted again by themselves. Intervals of"
        " shares within groups are Fieller's, those of relative risks and odds ratios invert a test. "
        + " ".join(f"{one[0].upper()}{one[1:]}" for one in summary(rows) if not one.startswith(WORDS[-1]))
        + f" The rows of the command have {WORDS[-1]}, too."
    )


def _shown(kind: str, word: str) -> tuple[PageColumn, PageColumn]:
    return percent(word, 1, kind), percent("±", 1, f"{kind}_error")


EXPERIMENT = Experiment(
    id="tables-coverage",
    title="Coverage of the intervals of cross tables, all pairs of eight attributes",
    data=("adult", "hospital"),
    methods=("unbiased",),
    metric="share of 95 % intervals that hold the truth",
    grid=(
        ("data", ("adult", "hospital")),
        ("participants", (10_000, 50_000, 200_000)),
        ("epsilon", (0.5, 1.0, 2.0, 4.0)),
    ),
    quick=(("data", ("adult", "hospital")), ("participants", (50_000,)), ("epsilon", (1.0,))),
    runs=20,
    quick_runs=2,
    cell=cell,
    figure=Picture(("data", "participants", "epsilon"), KINDS, dots=True, guide=0.95, log=""),
    columns=("data", "participants", "epsilon", *KINDS, "bounded", "intervals", "used"),
    summary=summary,
    needs=tuple(COLUMNS),
    section=Section(
        page=PAGE,
        heading="## Coverage of intervals",
        text=_text,
        lead=("data", PageColumn("people", "participants", ","), "epsilon"),
        columns=tuple(column for pair in map(_shown, KINDS[:-1], WORDS[:-1]) for column in pair),
    ),
)
