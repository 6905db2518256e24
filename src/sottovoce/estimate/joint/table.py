"""One contingency table: shares of its cells, and shares within its rows or columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.errors import NoCovarianceError
from sottovoce.core.params import reject
from sottovoce.core.question import Joint, Question
from sottovoce.estimate.axes import Axes, Axis
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Evidence, Flags, Floats, Functional, Offer
from sottovoce.estimate.group_mean.ratio import Ratios
from sottovoce.estimate.joint.estimates import TableEstimate
from sottovoce.estimate.joint.residuals import Names, TableSource
from sottovoce.estimate.request import IntervalRequest, Method, Target


@dataclass(frozen=True, slots=True, eq=False)
class TableEvidence(Evidence):
    """The shares of the cells of one table, the last attribute varying fastest."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    noun: ClassVar[str] = "share of a cell"
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    estimate_class: ClassVar[type[Estimate]] = TableEstimate
    picture: ClassVar[str] = "estimate.joint.picture:plot"
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.ALL_SHARES, Offer.COVARIANCE, Offer.RANGE})
    asked: Joint
    tables: TableSource
    names: Names  # in the order in which the table was asked for
    n = delegated("tables.n")

    @classmethod
    def of(cls, asked: Joint, tables: TableSource, names: Names) -> TableEvidence:
        """The evidence about a table, whose names are checked."""
        if not names or len({*names}) < len(names) or any(name not in tables.sizes for name in names):
            raise reject("names", "table", f"different names among {', '.join(tables.sizes)}", names)
        tables.check(tables.ordered(names))
        return cls(asked, tables, names)

    @property
    def question(self) -> Question:
        return Joint(self.asked.domain, tables=[self.names])

    @property
    def shape(self) -> tuple[int, ...]:
        """How many answers each attribute has."""
        return tuple(self.tables.sizes[name] for name in self.names)

    @property
    def axes(self) -> Axes:
        fields = dict(self.asked.domain.fields)
        return Axes(tuple(Axis(name, fields[name].labels(), fields[name]) for name in self.names))

    def _as_asked(self, table: Any) -> Any:
        """A table in the order of the record, in the order in which it was asked for."""
        stored = self.tables.ordered(self.names)
        return table.transpose([stored.index(name) for name in self.names])

    def values(self) -> Floats:
        return np.asarray(self._as_asked(self.tables.values(self.tables.ordered(self.names))).ravel())

    def variances(self, target: Target) -> Floats:
        return np.asarray(self._as_asked(self.tables.variances(self.tables.ordered(self.names), target)).ravel())

    def covariance(self, target: Target) -> Floats:
        return self.functional(np.eye(len(self.values())), target).covariance

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        rows = np.atleast_2d(np.asarray(weights, float))
        stored = self.tables.ordered(self.names)
        order = [0, *(1 + self.names.index(name) for name in stored)]
        placed = rows.reshape(len(rows), *self.shape).transpose(order)
        return Functional(rows @ self.values(), self.tables.covariance([(stored, placed)], target))

    def normal_is_poor(self) -> Flags:
        return np.asarray(self._as_asked(self.tables.few(self.tables.ordered(self.names))).ravel())

    def warning(self) -> str | None:
        return few_sentence(self.normal_is_poor())

    def within(self, given: Sequence[str]) -> WithinEvidence:
        """The shares within each group of people with the same answers to the attributes `given`."""
        others = [name for name in self.names if name not in given]
        if not others or len(others) + len(given) != len(self.names) or not given:
            known = ", ".join(self.names)
            raise reject("given", "shares_within", f"some, but not all, of the attributes {known}", tuple(given))
        return WithinEvidence(TableEvidence(self.asked, self.tables, (*given, *others)), len(given))

    def sentence(self, estimate: Any, level: float) -> str:
        shape = " x ".join(map(str, self.shape))
        return f"The {shape} table of {' and '.join(self.names)} is {estimate.quality}."


def few_sentence(few: Flags) -> str | None:
    """Whether cells have poor normal intervals, in words."""
    poor = int(few.sum())
    if not poor:
        return None
    which = "are" if poor == len(few) else f"of {poor:,} of {len(few):,} cells are"
    return f"The normal intervals {which} poor: too few reports are expected of them. Ask more participants."


@dataclass(frozen=True, slots=True, eq=False)
class WithinEvidence(Evidence):
    """Shares of answers within groups: a cell over the total of its group. NaN where the group may be empty.

    Intervals are all shares in [0, 1] that a test of "cell - share * group = 0" does not reject (Fieller).
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.FIELLER,)
    default: ClassVar[Method] = Method.FIELLER
    noun: ClassVar[str] = "share within"
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    picture: ClassVar[str] = "estimate.joint.picture:mosaic"
    table: TableEvidence  # the attributes that form groups come first
    given: int
    n = delegated("table.n")
    axes = delegated("table.axes")
    normal_is_poor = delegated("table.normal_is_poor")
    warning = delegated("table.warning")

    def _ratios(self, target: Target) -> Ratios:
        groups = int(np.prod(self.table.shape[: self.given]))
        cells = self.table.values().reshape(groups, -1)
        width = cells.shape[1]
        top, mixed, bottom = (np.empty(cells.shape) for _ in range(3))
        top[:] = self.table.variances(target).reshape(groups, width)
        for group in range(groups):
            rows = np.zeros((width + 1, groups, width))
            rows[np.arange(width), group, np.arange(width)] = 1
            rows[width, group] = 1
            spread = self.table.functional(rows.reshape(width + 1, -1), target).covariance
            mixed[group], bottom[group] = spread[:-1, -1], max(float(spread[-1, -1]), 0.0)
        sizes = np.repeat(cells.sum(axis=1), width)
        return Ratios(cells.ravel(), sizes, top.ravel(), mixed.ravel(), bottom.ravel())

    def values(self) -> Floats:
        return np.clip(self._ratios(Target.POPULATION).values(), 0, 1)

    def variances(self, target: Target) -> Floats:
        return self._ratios(target).variances()

    def covariance(self, target: Target) -> Floats:
        raise NoCovarianceError("The covariance of shares within groups is not known.")

    def interval(self, request: IntervalRequest) -> Bounds:
        low, high = self._ratios(request.target).fieller(request.level)
        shown = np.isfinite(low)
        nearest = np.nan_to_num(self.values(), nan=0.5)
        low, high = np.where(shown, np.clip(low, 0, 1), 0.0), np.where(shown, np.clip(high, 0, 1), 1.0)
        return Bounds(np.minimum(low, nearest), np.maximum(high, nearest))

    def sentence(self, estimate: Any, level: float) -> str:
        names = self.table.names
        return f"The shares of {' and '.join(names[self.given :])} within {' and '.join(names[: self.given])}."
