"""Shares of the cells of contingency tables, unbiased, with the exact law of their errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people
from sottovoce.core.question import Joint, Question
from sottovoce.core.statistic.joint import CountJoint
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.candidates import refuse
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import POOR_BELOW, Evidence, Flags, Floats, Functional, Ints, Offer
from sottovoce.estimate.frequency.supports import SupportsEvidence, two_rates
from sottovoce.estimate.joint.estimates import JointEstimate
from sottovoce.estimate.joint.joined import JoinedTables
from sottovoce.estimate.joint.parities import BlockReports, ParityTables
from sottovoce.estimate.joint.residuals import ContrastVariance, ResidualTables, TableSource, ViewReading
from sottovoce.estimate.joint.table import TableEvidence, few_sentence
from sottovoce.estimate.joint.waves import WaveReading, is_wave
from sottovoce.estimate.request import Method, Target
from sottovoce.tally.tally import Tally

READS = (CountOutputs, CountSupports, CountSeeds, CountJoint)
MOST_VALUES = 2048  # of a full covariance matrix


@dataclass(frozen=True, slots=True, eq=False)
class JointEvidence(Evidence):
    """The cells of all tables of a question, one table after another. `table` is one of them with its own axes."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    noun: ClassVar[str] = "share of a cell"
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    estimate_class: ClassVar[type[Estimate]] = JointEstimate
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.TABLES})
    asked: Joint
    tables: TableSource
    question = delegated("asked")
    n = delegated("tables.n")

    @property
    def axes(self) -> Axes:
        """Ragged: each table has cells of its own."""
        rows = (
            (" x ".join(names), ", ".join(map(str, cell)))
            for names in self.asked.tables
            for cell in zip(*self.table(names).axes.columns(), strict=True)
        )
        return Axes.ragged(("table", "cell"), rows)

    def table(self, names: Sequence[str]) -> TableEvidence:
        """The evidence about one table, in the order of these names."""
        return TableEvidence.of(self.asked, self.tables, tuple(names))

    def values(self) -> Floats:
        return np.concatenate([self.tables.values(names).ravel() for names in self.asked.tables])

    def variances(self, target: Target) -> Floats:
        return np.concatenate([self.tables.variances(names, target).ravel() for names in self.asked.tables])

    def covariance(self, target: Target) -> Floats:
        count = len(self.values())
        if count > MOST_VALUES:
            raise TooLargeError(
                f"The covariance of {count} cells is too large; ask for that of one table, such as"
                f" table({', '.join(map(repr, self.asked.tables[0]))}).covariance()."
            )
        return self.functional(np.eye(count), target).covariance

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        """Weighted sums over the cells of all tables."""
        rows, start, used = np.atleast_2d(weights), 0, []
        for names in self.asked.tables:
            shape = [self.tables.sizes[name] for name in names]
            part = rows[:, start : start + int(np.prod(shape))]
            start += part.shape[1]
            if part.any():
                used.append((names, part.reshape(-1, *shape)))
        if not used:
            return Functional(np.zeros(len(rows)), np.zeros((len(rows), len(rows))))
        return Functional(rows @ self.values(), self.tables.covariance(used, target))

    def normal_is_poor(self) -> Flags:
        return np.concatenate([self.tables.few(names).ravel() for names in self.asked.tables])

    def warning(self) -> str | None:
        return few_sentence(self.normal_is_poor())

    def pooled(self, others: Sequence[Evidence], weights: Sequence[float] | None = None) -> Evidence:
        parts = [self, *(other for other in others if isinstance(other, JointEvidence))]
        if len(parts) <= len(others) or weights is not None or any(part.asked != self.asked for part in parts):
            return Evidence.pooled(self, others, weights)
        tables = self.tables.joined([part.tables for part in parts[1:]])
        if tables is None:
            return Evidence.pooled(self, others, weights)
        return replace(self, tables=tables)

    def sentence(self, estimate: Any, level: float) -> str:
        return (
            f"The shares of the cells of {len(self.asked.tables)} tables are {estimate.quality}, {len(estimate.values)}"
            " values in all; use table(names) for one of them."
        )


@dataclass(frozen=True, slots=True, eq=False)
class JoinedEvidence(JointEvidence):
    """Tables from reports about all attributes of a person, which have a likelihood of their own."""

    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.TABLES, Offer.JOINED_REPORTS})


def together(question: Joint, views: Iterable[ViewReading | WaveReading]) -> JointEvidence:
    """The evidence of all views together."""
    return checked(question, ResidualTables(question.sizes, tuple(views)))


def checked(question: Joint, tables: TableSource) -> JointEvidence:
    """The evidence about the tables of a question, which the reports must determine."""
    for names in question.tables:
        tables.check(names)
    return JointEvidence(question, tables)


def view_of(mechanism: Mechanism, n: int, cells: Ints, wanted: Joint | None = None) -> ViewReading | WaveReading:
    """The shares of one view from the cells of its tally; `wanted` has the bins of numbers."""
    if is_wave(mechanism):
        bins = None if wanted is None else dict(wanted.domain.fields)
        return WaveReading.of(mechanism, cells, bins)
    question: Any = mechanism.question
    (names,) = question.tables
    sizes = [question.sizes[name] for name in names]
    own, other = two_rates(mechanism.channel)
    shares = SupportsEvidence(cells, max(n, 1), own, other).values()
    supports = np.asarray(cells, float).reshape(sizes) if is_poor(mechanism, n) else None
    return ViewReading(names, shares.reshape(sizes), n, ContrastVariance.of(mechanism.channel), supports)


def is_poor(mechanism: Mechanism, n: int) -> bool:
    """Whether the normal approximation is poor for a cell of one view that nobody, or everybody, is in."""
    own, other = two_rates(mechanism.channel)
    return bool(n * min(other, 1 - own) < POOR_BELOW)


def reads_blocks(mechanism: Mechanism) -> bool:
    """Whether reports are about public blocks of attributes."""
    return isinstance(mechanism.statistic, CountSeeds)


def parity_tables(question: Joint, reports: Iterable[BlockReports]) -> ParityTables:
    """The tables of yes/no attributes from reports about blocks of them."""
    names = tuple(name for name, _ in question.domain.fields)
    return ParityTables(question.sizes, names, max(map(len, question.tables)), tuple(reports))


def from_tallies(question: Joint, tallies: Iterable[Tally]) -> JointEvidence:
    """The evidence of tallies of different people, one for each view."""
    used = [tally for tally in tallies if tally.n]
    if used and reads_blocks(used[0].mechanism):
        return checked(question, parity_tables(question, [BlockReports.of(one.mechanism, one.cells) for one in used]))
    return together(question, [view_of(tally.mechanism, tally.n, tally.cells, question) for tally in used])


def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> JointEvidence:
    """The evidence of a tally of one view."""
    refuse(mechanism, candidates)
    return from_cells(mechanism, tally.n, tally.cells)


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> JointEvidence:
    """The evidence of cells."""
    question: Any = mechanism.question  # `Joint`
    if isinstance(mechanism.statistic, CountJoint):
        return JoinedEvidence(question, JoinedTables.of(mechanism, cells))
    if reads_blocks(mechanism):
        return checked(question, parity_tables(question, [BlockReports.of(mechanism, cells)]))
    return together(question, [view_of(mechanism, n, cells)])


def answer(source: Evidence, question: Question) -> Evidence | None:
    """Other tables of the same record, if the reports determine them."""
    if not isinstance(source, JointEvidence) or source.asked.domain != question.domain:
        return None
    asked: Any = question  # `Joint`, whose room this is
    try:
        tables = source.tables.about(asked.sizes)
        checked(asked, tables)
        return replace(source, asked=asked, tables=tables)
    except (KeyError, ParameterError):
        return None


def predicted_variance(
    mechanism: Mechanism, truth: Mapping[str, Any] | Any, n: int = 1, *, target: Target = Target.POPULATION
) -> Floats:
    """The exact variance of each cell of one view, for its true shares."""
    check_people("n", "variance", n)
    question: Any = mechanism.question
    (names,) = question.tables
    shape = [question.sizes[name] for name in names]
    shares = np.asarray(truth, float)
    if shares.size != np.prod(shape) or not (shares.min() >= 0 and abs(shares.sum() - 1) <= 1e-9):
        raise ParameterError(f"The true shares of a table must be {int(np.prod(shape))} shares that sum to 1.")
    if is_wave(mechanism):
        return WaveReading.expected(mechanism, shares, n).variances(target)
    view = ViewReading(names, shares.reshape(shape), n, ContrastVariance.of(mechanism.channel))
    return ResidualTables(question.sizes, (view,)).variances(names, target).ravel()
