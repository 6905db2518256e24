"""Errors of cross tables of eight attributes, and how often their intervals hold the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.decoders.calm import CalmDecoder
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.joint import association, latent
from sottovoce.estimate.joint.evidence import JointEvidence
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.protocols.shares.published import calm
from sottovoce.protocols.shares.tables import TableViews
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.tables.records import COLUMNS, Floats, Records, records, reports

LEVEL = 0.95
BARS = {0.5: 0.44, 1.0: 0.30, 2.0: 0.215}  # of the fit on the census file
KINDS = ("cells", "within", "risk", "odds", "cramer")  # of intervals
METHODS = ("unbiased", "simplex", "calm", "independence", "fit")


def distance(people: Records, table: Callable[[tuple[str, ...]], Floats]) -> float:
    """The mean over all pairs of the sum of the absolute errors of the cells."""
    return float(np.mean([np.abs(table(names) - people.table(names)).sum() for names in people.pairs]))


def covered(people: Records, evidence: JointEvidence) -> dict[str, tuple[int, int]]:
    """How many intervals hold the truth, and how many there are, by kind."""
    counts = {kind: [0, 0] for kind in KINDS}

    def add(kind: str, inside: Any) -> None:
        flags = np.atleast_1d(inside)
        counts[kind][0] += int(flags.sum())
        counts[kind][1] += len(flags)

    for names in people.pairs:
        truth, table = people.table(names), evidence.table(names)
        low, high = table.interval(IntervalRequest(LEVEL, Method.NORMAL))
        add("cells", (low <= truth.ravel()) & (truth.ravel() <= high))
        within = truth / truth.sum(axis=1, keepdims=True)
        low, high = table.within(names[:1]).interval(IntervalRequest(LEVEL, Method.FIELLER))
        add("within", (low <= within.ravel()) & (within.ravel() <= high))
        group, other = np.argsort(truth.sum(axis=1))[-2:][::-1]
        outcome = int(np.argsort(truth.sum(axis=0))[-2])
        rest = truth.sum(axis=1) - truth[:, outcome]
        labels = outcome, int(group), int(other)
        if truth[other, outcome] and rest[group]:
            risk = association.relative_risk(table, *labels, LEVEL, Target.POPULATION)
            add("risk", risk.low <= within[group, outcome] / within[other, outcome] <= risk.high)
            odds = association.odds_ratio(table, *labels, None, LEVEL, Target.POPULATION)
            true = truth[group, outcome] * rest[other] / (rest[group] * truth[other, outcome])
            add("odds", odds.low <= true <= odds.high)
        expected = np.outer(truth.sum(axis=1), truth.sum(axis=0))
        phi = float(((truth - expected) ** 2 / expected).sum())
        cramer = association.cramers_v(table, LEVEL)
        add("cramer", cramer.low <= np.sqrt(phi / (min(truth.shape) - 1)) <= cramer.high)
    return {kind: (inside, of) for kind, (inside, of) in counts.items()}


def run(people: Records, protocol: TableViews, participants: int, rng: np.random.Generator) -> dict[str, Any]:
    """The distances of all methods, and the intervals that hold the truth, from the same reports."""
    evidence = reports(people, protocol, participants, rng)
    asked = calm(protocol.question, protocol.epsilon, participants)
    consistent = CalmDecoder().solve(reports(people, asked, participants, rng)).values
    tables = evidence.tables
    fit = latent.fit(tables, None, 0)
    ways: dict[str, Callable[[tuple[str, ...]], Floats]] = {
        "unbiased": tables.values,
        "simplex": lambda names: simplex(tables.values(names).ravel()).reshape(people.table(names).shape),
        "independence": fit.independent.table,
        "fit": fit.model.table,
    }
    starts = np.cumsum([0, *(people.table(names).size for names in people.pairs)])
    by_pair = dict(zip(people.pairs, np.split(consistent, starts[1:-1]), strict=True))
    ways["calm"] = lambda names: by_pair[names].reshape(people.table(names).shape)
    return {name: distance(people, table) for name, table in ways.items()} | covered(people, evidence)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Means over the runs."""
    people, rng = records(point["data"]), np.random.default_rng(seed)
    participants = point["participants"] or len(people.codes)
    protocol = TableViews.for_fit(people.record, people.pairs, point["epsilon"])
    results = [run(people, protocol, participants, rng) for _ in range(runs)]
    if not results:
        raise ParameterError("An experiment needs at least one run.")
    row: Row = {name: float(np.mean([one[name] for one in results])) for name in METHODS}
    fits, alone = (np.array([one[name] for one in results]) for name in ("fit", "independence"))
    row["error"] = float(fits.std() / np.sqrt(max(runs - 1, 1)))
    row["of_independence"] = float((fits / alone).mean())
    row["worst"] = float((fits / alone).max())
    row["of_calm"] = row["fit"] / row["calm"]
    for kind in KINDS:
        row[kind] = sum(one[kind][0] for one in results) / max(1, sum(one[kind][1] for one in results))
    return [row | {"people": participants, "used": runs}]


def summary(rows: Sequence[Row]) -> list[str]:
    """The fit beside its bar and beside independence."""
    said = []
    for row in rows:
        bar = f" (bar {BARS[row['epsilon']]})" if row["data"] == "adult" and not row["participants"] else ""
        said.append(
            f"{row['data']}, {row['people']:,} people, epsilon {row['epsilon']:g}: fit {row['fit']:.3f} +-"
            f" {row['error']:.3f}{bar}, independence {row['independence']:.3f}, {row['of_independence']:.2f}"
            f" of independence in the mean and {row['worst']:.2f} in the worst run; {row['of_calm']:.2f} of CALM."
            f" The 95 % intervals hold {row['cells']:.1%} of cells, {row['within']:.1%} of shares within"
            f" groups, {row['risk']:.1%} of relative risks, {row['odds']:.1%} of odds ratios and {row['cramer']:.1%} of"
            " Cramer's V."
        )
    return said


EXPERIMENT = Experiment(
    id="tables-fits",
    title="Cross tables of eight attributes, all pairs: errors of fits, and coverage of intervals",
    data=("adult", "hospital"),
    methods=METHODS,
    metric="sum of absolute errors of the cells, mean over all tables of two attributes",
    grid=(
        (("data", "participants"), (("adult", 0), ("hospital", 0), ("adult", 1_000_000))),
        ("epsilon", tuple(BARS)),
    ),
    quick=((("data", "participants"), (("adult", 0),)), ("epsilon", (1.0,))),
    runs=20,
    quick_runs=2,
    cell=cell,
    figure="tables.pictures:distances",
    columns=("data", "people", "epsilon", *METHODS, "error", "of_independence", "worst", "of_calm", *KINDS, "used"),
    summary=summary,
    needs=tuple(COLUMNS),
)
