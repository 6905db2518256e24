"""Means of the numbers of keys, and shares of keys, from a tally; and their exact predicted variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.domain import KeyValue
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people
from sottovoce.core.question import Question
from sottovoce.core.statistic.ends import CountEnds
from sottovoce.core.statistic.keyed import CountKeyed
from sottovoce.core.statistic.states import CountStates
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.candidates import of_all_cells
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Evidence, Flags, Floats, Ints, Offer
from sottovoce.estimate.group_mean.ratio import NOT_ESTIMABLE, Ratios, Shown, shown_by_size
from sottovoce.estimate.key_means.readings import KeyTotals, expected, totals
from sottovoce.estimate.remembered import remembered
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    import pandas as pd

READS = (CountEnds, CountStates, CountKeyed)
POOR = "The normal intervals are poor: there are too few reports."


class KeyEstimate(Estimate):
    """Means of the numbers of keys; `shares` says how many people hold each key."""

    __slots__ = ()

    @property
    def shares(self) -> Estimate:
        """Return the share of people who hold each key, from the same reports."""
        means: Any = self.evidence
        return Estimate.of(self.question, means.shares, self.sources, simulated=self.simulated)


@dataclass(frozen=True, eq=False)
class _OfKeys(Evidence):
    """One number for each key."""

    mechanism: Mechanism
    n: int
    read: KeyTotals
    domain = delegated("mechanism.question.domain")

    @property
    def axes(self) -> Axes:
        return Axes.of("key", self.domain.keys)

    def normal_is_poor(self) -> Flags:
        """Whether reports that make much of the noise are too few to be seen."""
        pairs = zip(self.read.laws, self.read.reports, strict=True)
        least = min(law.rarest() * float(count.min()) for law, count in pairs)
        return np.full(len(self.domain.keys), least < POOR_BELOW)

    def warning(self) -> str | None:
        return POOR if self.normal_is_poor().any() else None


@dataclass(frozen=True, eq=False)
class KeySharesEvidence(_OfKeys):
    """Shares of keys, of which a person may hold several."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    noun: ClassVar[str] = "share of people who hold the key"
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.RANGE, Offer.NULL_ERRORS})
    question = delegated("mechanism.question")

    def values(self) -> Floats:
        return np.asarray(self.read.shares)

    def variances(self, target: Target) -> Floats:
        return np.maximum(self.read.covariance(target)[:, 0, 0], 0.0)

    def null_errors(self) -> Floats:
        nobody = replace(self.read, shares=np.zeros_like(self.read.shares), sums=np.zeros_like(self.read.sums))
        return np.sqrt(nobody.covariance(Target.POPULATION)[:, 0, 0])

    def sentence(self, estimate: Estimate, level: float) -> str:
        low, high = estimate.ci(level)
        return "\n".join(
            f"The share of people who hold {key!r} is {value:.1%} ({level:.0%} interval from {a:.1%} to {b:.1%})."
            for key, value, a, b in zip(self.domain.keys, estimate.values, low, high, strict=True)
        )


@dataclass(frozen=True, eq=False)
class KeyMeansEvidence(_OfKeys):
    """Means of the numbers of keys: sums over shares. NaN where too few people hold a key to estimate its mean.

    A mean is shown if the estimated share exceeds a threshold: then Fieller's interval is shorter than 0.7 of the
    range for every mean, and the share is 3.5 standard errors above zero. Intervals hold given that a mean is shown.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.FIELLER, Method.DELTA)
    default: ClassVar[Method] = Method.FIELLER
    noun: ClassVar[str] = "mean"
    quality: ClassVar[str] = "ratios of unbiased sums and shares"
    estimate_class: ClassVar[type[Estimate]] = KeyEstimate
    question = delegated("mechanism.question")

    @property
    def limits(self) -> tuple[float, float]:
        domain = self.domain
        return domain.middle - domain.half, domain.middle + domain.half

    @cached_property
    def shares(self) -> KeySharesEvidence:
        """The share of people who hold each key."""
        return KeySharesEvidence(self.mechanism, self.n, self.read)

    @property
    def estimable(self) -> Flags:
        """The keys whose means are shown."""
        return self._shown.flags

    @cached_property
    def _shown(self) -> Shown:
        return shown_by_size(self._plain(Target.POPULATION), (-1.0, 1.0), np.zeros(len(self.read.shares)))

    @remembered
    def _plain(self, target: Target) -> Ratios:
        return ratios_of(self.read, target)

    @remembered
    def ratios(self, target: Target) -> Ratios:
        """Sums over shares, and which of these are shown."""
        return replace(self._plain(target), shown=self._shown)

    def values(self) -> Floats:
        return self._scaled(self.ratios(Target.POPULATION).values())

    def variances(self, target: Target) -> Floats:
        return np.asarray(self.ratios(target).variances() * self.domain.half**2)

    def interval(self, request: IntervalRequest) -> Bounds:
        ratios = self.ratios(request.target)
        low, high = ratios.fieller(request.level) if request.method == Method.FIELLER else ratios.delta(request.level)
        shown = self.estimable & np.isfinite(low)
        return Bounds(self._scaled(np.where(shown, low, -1.0)), self._scaled(np.where(shown, high, 1.0)))

    def _scaled(self, numbers: Floats) -> Floats:
        return np.asarray(self.domain.middle + self.domain.half * numbers)

    def doubt(self, request: IntervalRequest, most: float = 4 / 3) -> str | None:
        return self.warning()

    def sentence(self, estimate: Estimate, level: float) -> str:
        low, high = estimate.ci(level)
        lines = []
        for place, key in enumerate(self.domain.keys):
            value = estimate.values[place]
            if np.isnan(value):
                lines.append(f"The mean of {key!r} {NOT_ESTIMABLE}: too few reports tell it.")
            else:
                lines.append(
                    f"The mean of {key!r} is {value:.6g} ({level:.0%} interval from {low[place]:.6g} to"
                    f" {high[place]:.6g})."
                )
        return "\n".join(lines)

    def framed(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table with shares beside the means."""
        table = super().framed(table).rename(columns={"estimate": "mean"})
        table.insert(1, "share", self.read.shares)
        return table.assign(note=np.where(np.isnan(self.values()), NOT_ESTIMABLE, ""))


def ratios_of(read: KeyTotals, target: Target) -> Ratios:
    """Sums over shares."""
    joint = read.covariance(target)
    return Ratios(
        read.sums, read.shares, np.maximum(joint[:, 1, 1], 0.0), joint[:, 0, 1], np.maximum(joint[:, 0, 0], 0.0)
    )


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> KeyMeansEvidence:
    """The evidence of cells."""
    return KeyMeansEvidence(mechanism, n, totals(mechanism.channel, n, cells))


evidence = of_all_cells(from_cells)


def answer(source: Evidence, question: Question) -> Evidence | None:
    """Means of keys are read from their own reports only."""
    return None


def predicted_variance(
    mechanism: Mechanism, truth: Any = None, n: int = 1, *, target: Target = Target.POPULATION
) -> Floats:
    """The variance of the mean of each key from n reports, to first order, for a pair of true shares and means."""
    check_people("n", "variance", n)
    half = _domain(mechanism).half
    return np.asarray(ratios_of(at_truth(mechanism, truth, n), target).variances_at_truth() * half**2)


def predicted_shares(mechanism: Mechanism, truth: Any, n: int, *, target: Target = Target.POPULATION) -> Floats:
    """The variance of the share of each key from n reports, for a pair of true shares and means."""
    return np.asarray(at_truth(mechanism, truth, n).covariance(target)[:, 0, 0])


def at_truth(mechanism: Mechanism, truth: Any, n: int) -> KeyTotals:
    """The totals of a crowd with these shares and means."""
    shares, means = check_truth(_domain(mechanism), truth, "variance")
    return expected(mechanism.channel, n, shares, shares * means)


def _domain(mechanism: Mechanism) -> KeyValue:
    return cast(KeyValue, mechanism.question.domain)


def check_truth(domain: KeyValue, truth: Any, owner: str) -> tuple[Floats, Floats]:
    """Shares of keys, and means between -1 and 1; without a truth everybody holds half of the keys that they may."""
    keys = len(domain.keys)
    given: Sequence[Any] = (None, None) if truth is None else truth
    try:
        first, second = given
        shares = np.full(keys, domain.most / (2 * keys)) if first is None else np.asarray(first, float)
        means = np.zeros(keys) if second is None else (np.asarray(second, float) - domain.middle) / domain.half
    except (TypeError, ValueError):
        shares, means = np.empty(0), np.empty(0)
    inside = shares.shape == means.shape == (keys,) and shares.min() > 0 and shares.max() <= 1
    if not inside or abs(means).max() > 1 + 1e-9 or shares.sum() > domain.most + 1e-9:
        raise ParameterError(
            f"The 'truth' parameter of {owner} must be a pair: {keys} shares above 0, which sum to at most"
            f" {domain.most}, and {keys} means inside the range."
        )
    return shares, means
