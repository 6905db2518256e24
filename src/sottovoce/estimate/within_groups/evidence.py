"""Numbers within groups, from a tally of the cells of a table of group and answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.errors import NoCovarianceError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people
from sottovoce.core.question import Question
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.axes import Axes, Axis
from sottovoce.estimate.candidates import refuse
from sottovoce.estimate.distribution.evidence import evidence as distribution_evidence
from sottovoce.estimate.distribution.evidence import functional_covariance
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import MOST_EXCESS, Bounds, Evidence, Flags, Floats, Offer
from sottovoce.estimate.group_mean.contrasts import Pairs
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.within_groups.compare import interval_pairs, share_pairs
from sottovoce.estimate.within_groups.table import CellTable, GroupDistribution, flat
from sottovoce.tally.tally import Tally

READS = (CountOutputs,)


class WithinEstimate(Estimate):
    """An estimate of numbers within groups."""

    __slots__ = ()

    @property
    def table(self) -> CellTable:
        """The shares of all cells."""
        return self.evidence.table  # type: ignore[attr-defined,no-any-return]

    @property
    def sizes(self) -> Estimate:
        """The share of each group among all who gave an answer or a reason."""
        return self._of(CellShares.of_groups(self.table))

    @property
    def reasons(self) -> Estimate:
        """The share of each reason for giving no answer."""
        return self._of(CellShares.of_reasons(self.table))

    def among(self, group: int, question: Question) -> Estimate:
        """What the distribution within one group answers."""
        inside = GroupDistribution(self.table, group)
        answer = inside if question.is_distribution else inside.answer(question)
        return replace(self._of(answer), question=question)

    def all_pairs(self, level: float = 0.95, *, correction: str = "holm", target: str = "population") -> Pairs:
        """Compare a number between every two groups, with p-values and intervals that hold all at once."""
        return self._marked_pairs(self.evidence.pairs(level, correction, Target.of(target)))  # type: ignore[attr-defined]

    def _marked_pairs(self, pairs: Pairs) -> Pairs:
        return replace(pairs, simulated=self.simulated, sources=self.sources)


class NumbersWithin(Evidence):
    """One number or several for each group. NaN stands for a group that is too small for its numbers to be shown."""

    estimate_class: ClassVar[type[Estimate]] = WithinEstimate
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.RANGE})
    table: CellTable
    n = delegated("table.n")
    noun = delegated("table.asked.noun")
    question = delegated("table.asked")

    def covariance(self, target: Target) -> Floats:
        raise NoCovarianceError("The covariance of numbers within groups is not known.")

    def normal_is_poor(self) -> Flags:
        return np.zeros(len(self.labels), bool)

    def warning(self) -> str | None:
        return None

    @abstractmethod
    def pairs(self, level: float, correction: str, target: Target) -> Pairs:
        """Compare a number between every two groups."""

    def sentence(self, estimate: Estimate, level: float) -> str:
        low, high = estimate.ci(level)
        columns = zip(self.axes.texts(), estimate.values, low, high, strict=True)
        said = [
            f"{label} is not estimable: the group is too small."
            if np.isnan(value)
            else f"{label}: {value:.6g} ({level:.0%} interval from {least:.6g} to {most:.6g} for the population)."
            for label, value, least, most in columns
        ]
        return "\n".join([f"Estimates of the {self.noun}.", *said])


@dataclass(frozen=True, eq=False)
class SharesWithin(NumbersWithin):
    """The share of each value among the members of each group, the value varying fastest.

    "fieller" intervals hold all shares that are not rejected, whatever the size of the group: a group that may be
    empty has the interval from 0 to 1. "delta" takes the variance at the estimates.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.FIELLER, Method.DELTA)
    default: ClassVar[Method] = Method.FIELLER
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    table: CellTable

    @property
    def axes(self) -> Axes:
        values = self.table.cells.of.value.labels()
        return Axes((Axis("group", self.table.groups), Axis("value", values)))

    def values(self) -> Floats:
        return self.table.ratios(Target.POPULATION)[0].values()

    def variances(self, target: Target) -> Floats:
        return self.table.ratios(target)[0].variances()

    def interval(self, request: IntervalRequest) -> Bounds:
        ratios, _ = self.table.ratios(request.target)
        low, high = ratios.delta(request.level) if request.method == Method.DELTA else ratios.fieller(request.level)
        anywhere = ~np.isfinite(low)
        return Bounds(np.where(anywhere, 0.0, np.clip(low, 0, 1)), np.where(anywhere, 1.0, np.clip(high, 0, 1)))

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        rows = np.vstack(
            [np.eye(len(self.table.groups) * self.table.width, self.table.cells.size), self.table.by_group]
        )
        excess = self.table.excess(rows, request.level, None)
        poor = int((excess > most).sum())
        if self.table.few() is None and not poor:
            return None
        return self.table.few() or (
            f"The intervals of shares within groups may miss {excess.max():,.1f} times as often as promised: too few"
            " reports support some answers of a group."
        )

    def pairs(self, level: float, correction: str, target: Target) -> Pairs:
        return share_pairs(self.table, level, correction, target)


@dataclass(frozen=True, eq=False)
class AnswersWithin(NumbersWithin):
    """What the distribution within each group answers, such as its median."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    table: CellTable

    @cached_property
    def parts(self) -> list[Evidence]:
        """The evidence of each group."""
        asked = self.table.asked.question
        inside = [GroupDistribution(self.table, group) for group in range(len(self.table.groups))]
        return [one if asked.is_distribution else one.answer(asked) for one in inside]

    @property
    def axes(self) -> Axes:
        groups, labels = self.table.groups, list(self.parts[0].labels)
        return Axes((Axis("group", groups), Axis(self.parts[0].axes.each[0].name, labels)))

    @property
    def limits(self) -> tuple[Any, Any]:
        return self.parts[0].limits

    def _each(self, numbers: Sequence[Floats], instead: float = np.nan) -> Floats:
        """Numbers of all groups; of groups that are too small, something else."""
        shown = self.table.estimable
        return np.concatenate([np.where(ok, one, instead) for ok, one in zip(shown, numbers, strict=True)])

    def values(self) -> Floats:
        return self._each([part.values() for part in self.parts])

    def variances(self, target: Target) -> Floats:
        return self._each([part.variances(target) for part in self.parts])

    def interval(self, request: IntervalRequest) -> Bounds:
        bounds = [part.interval(IntervalRequest(request.level, part.default, request.target)) for part in self.parts]
        least, most = self.limits
        return Bounds(self._each([one.low for one in bounds], least), self._each([one.high for one in bounds], most))

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        shown = zip(self.table.estimable, self.parts, strict=True)
        said = (part.doubt(IntervalRequest(request.level, part.default), most) for ok, part in shown if ok)
        return next(filter(None, said), None)

    def pairs(self, level: float, correction: str, target: Target) -> Pairs:
        labels = len(self.parts[0].labels)
        shown = np.flatnonzero(np.repeat(self.table.estimable, labels))
        return interval_pairs(self, shown, labels, level, correction, target)


@dataclass(frozen=True, eq=False)
class CellShares(Evidence):
    """Sums of the shares of cells: sizes of groups, or reasons for giving no answer."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    noun: ClassVar[str] = "share"
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    table: CellTable
    rows: Floats
    names: tuple[object, ...]
    n = delegated("table.n")

    @classmethod
    def of_groups(cls, table: CellTable) -> CellShares:
        """The share of each group."""
        return cls(table, table.by_group, tuple(table.groups))

    @classmethod
    def of_reasons(cls, table: CellTable) -> CellShares:
        """The share of each reason for giving no answer."""
        rows = np.eye(table.cells.size)[table.reasons]
        labels = list(table.asked.by.labels())
        return cls(table, rows, tuple(labels[len(table.groups) :]))

    @property
    def axes(self) -> Axes:
        return Axes.of("value", self.names)

    def values(self) -> Floats:
        return np.asarray(self.rows @ self.table.shares)

    def variances(self, target: Target) -> Floats:
        return self.table.spreads(self.rows, target)

    def covariance(self, target: Target) -> Floats:
        return self.table.covariance(self.rows, target)

    def normal_is_poor(self) -> Flags:
        return np.asarray(self.table.excess(self.rows, 0.95, None) > MOST_EXCESS)

    def warning(self) -> str | None:
        poor = int(self.normal_is_poor().sum())
        return f"The normal interval is poor for {poor} of {len(self.rows)} values: too few reports." if poor else None


def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> NumbersWithin:
    """The evidence of a tally of cells."""
    refuse(mechanism, candidates)
    asked: Any = mechanism.question
    source = distribution_evidence(flat(mechanism), tally)
    return of_table(CellTable(asked, mechanism.domain, ((1.0, source),)))  # type: ignore[arg-type]


def of_table(table: CellTable) -> NumbersWithin:
    """The numbers that a table of cells was asked for."""
    return SharesWithin(table) if table.asked.counts_answers else AnswersWithin(table)


def answer(source: Evidence, question: Any) -> Evidence | None:
    """Another question within the same groups, from the same cells."""
    table = getattr(source, "table", None)
    if not isinstance(table, CellTable):
        return None
    same = question.by == table.asked.by and question.reasons == table.asked.reasons
    return of_table(CellTable(question, table.cells, table.sources)) if same else None


def predicted_variance(mechanism: Mechanism, shares: Any, n: int, *, target: Target = Target.POPULATION) -> Floats:
    """The variance of the share of each value within each group by the delta method, for true shares of all cells."""
    check_people("n", "variance", n)
    cells: Any = mechanism.domain
    truth, width = np.asarray(shares, float), cells.values
    rows = []
    for group in range(cells.groups):
        place = slice(group * width, (group + 1) * width)
        size = truth[place].sum()
        for value in range(width):
            row = np.zeros(len(truth))
            row[place] = -truth[place][value] / size
            row[group * width + value] += 1
            rows.append(row / size)
    return np.asarray(np.diag(functional_covariance(flat(mechanism), np.array(rows), truth)) / n)
