"""Values within groups: their variance, and, for categories, the shares of each within a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sottovoce.core.channel.facets import Rounded, need
from sottovoce.core.domain import Select
from sottovoce.core.errors import NoCovarianceError, NoIntervalError, ParameterError
from sottovoce.estimate.axes import Axes, Axis
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Floats, Ints, Offer, deviate
from sottovoce.estimate.group_mean.law import GroupLaw, Sheet, Totals, group_powers, power_sums
from sottovoce.estimate.group_mean.ratio import Ratios
from sottovoce.estimate.group_mean.truth import keyed_channel, square_line, tells_squares
from sottovoce.estimate.group_mean.views import GroupEvidence, PartOfGroups
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence


@dataclass(frozen=True, slots=True, eq=False)
class GroupVariancesEvidence(PartOfGroups):
    """The variance of the values within each group, for the population.

    The variance may be negative by noise. Rounding to a grid makes it uncertain by up to `bias`, for any number of
    reports.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.DELTA,)
    default: ClassVar[Method] = Method.DELTA
    noun: ClassVar[str] = "variance within"
    offers: ClassVar[frozenset[Offer]] = frozenset()
    unbiased: Floats
    error_variances: Floats
    ends: tuple[float, float]
    bias: float

    def values(self) -> Floats:
        return self.unbiased

    def variances(self, target: Target) -> Floats:
        if target != Target.POPULATION:
            raise NoIntervalError("The variance within a group has intervals for the population only.")
        return self.error_variances

    def _covariance(self, target: Target) -> Floats:
        raise NoCovarianceError("The covariance of variances within groups is not known.")

    def interval(self, request: IntervalRequest) -> Bounds:
        half = deviate(request.level) * np.sqrt(self.variances(request.target)) + self.bias
        shown, (least, most) = ~np.isnan(self.unbiased), self.limits
        return Bounds(np.where(shown, self.unbiased - half, least), np.where(shown, self.unbiased + half, most))


def group_variances(means: GroupMeansEvidence) -> GroupVariancesEvidence:
    """E[x**2] - (E x)**2 of each group, from the mean squares of readings.

    The square of an estimated mean is too large by the variance of that mean, so this is added (METHODS, erratum 13).
    """
    mechanism, totals = means.mechanism, means.totals
    channel = keyed_channel(mechanism)
    if not tells_squares(channel):
        raise NoIntervalError(
            f"The reports of {mechanism.name} do not determine the spread within a group: the square of a reading"
            " is nearly independent of the value. Use group-piecewise or group-laplace."
        )
    line = square_line(channel)
    n_g, t_g, m_g = totals.sizes, totals.sums, totals.read_squares
    ratios = means.ratios(Target.POPULATION)
    shown = ratios.estimable
    safe = np.where(shown, n_g, 1.0)
    mean = t_g / safe
    square = line.slope * m_g / safe + line.tilt * mean + line.least + line.width / 2
    variance = square - mean**2 + ratios.residual(mean) / safe**2
    slopes = (  # of the variance by size, sum and mean square
        (-line.slope * m_g / safe - line.tilt * mean + 2 * mean**2) / safe,
        (line.tilt - 2 * mean) / safe,
        line.slope / safe,
    )
    spread = _third_block(totals.law, int(totals.n), means.cells, totals)
    errors = sum(slopes[i] * slopes[j] * spread[min(i, j), max(i, j)] for i in range(3) for j in range(3))
    grid = need(channel.inner, Rounded).rounding
    low, high = float(grid.low), float(grid.high)
    return GroupVariancesEvidence(
        means,
        np.where(shown, variance, np.nan),
        np.where(shown, np.maximum(np.asarray(errors), 0.0), np.nan),
        (0.0, (high - low) ** 2 / 4),
        line.width / 2,
    )


def _third_block(law: GroupLaw, n: int, cells: Ints, totals: Totals) -> dict[tuple[int, int], Floats]:
    """Variances and covariances, group by group, of size, sum and mean square read."""
    key, sizes = law.key, totals.sizes
    single = [power_sums(law, cells, power) for power in range(5)]
    sheets = []
    for power, sums in enumerate(single):
        values = sizes if power == 0 else group_powers(law, sums, sizes, n, power)
        total = float(values.sum()) if power else float(n)
        sheets.append(key.pairs(sums, values, total, sizes, n, law.neutral[power]))
    # A report adds s - q, s z and s z**2 - r + lift (s - q) to sizes, sums and mean squares, before these are solved.
    rest = (key.other - key.both) * law.neutral[2]
    lift, shift = rest / key.gap, (key.other, 0.0, rest)

    def moved(i: int, j: int) -> Sheet:
        return sheets[i + j].shifted(single[i], single[j], shift[i], shift[j], n)

    sheet_of = {
        (0, 0): moved(0, 0) * (1 / key.gap**2),
        (0, 1): key.right(moved(0, 1)) * (1 / key.gap),
        (1, 1): key.both_sides(moved(1, 1)),
        (0, 2): key.right(moved(0, 2) + moved(0, 0) * lift) * (1 / key.gap),
        (1, 2): key.both_sides(moved(1, 2) + moved(1, 0) * lift),
        (2, 2): key.both_sides(moved(2, 2) + (moved(0, 2) + moved(2, 0)) * lift + moved(0, 0) * lift**2),
    }
    means, every = (sizes, totals.sums, totals.read_squares), np.arange(key.groups)
    return {(i, j): sheet.at(every, every) - means[i] * means[j] / n for (i, j), sheet in sheet_of.items()}


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalSharesEvidence(GroupEvidence):
    """The shares of the categories within each group, the category varying fastest; NaN if a group is too small."""

    methods: ClassVar[tuple[Method, ...]] = (Method.DELTA, Method.FIELLER)
    default: ClassVar[Method] = Method.DELTA
    noun: ClassVar[str] = "share within"
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.RANGE})
    groups: Sequence[object]
    categories: Sequence[object]
    ratios: dict[Target, Ratios]
    n: int

    @property
    def axes(self) -> Axes:
        return Axes((Axis("group", self.groups), Axis("value", self.categories)))

    def values(self) -> Floats:
        return self.ratios[Target.POPULATION].values()

    def variances(self, target: Target) -> Floats:
        return self.ratios[target].variances()

    def _covariance(self, target: Target) -> Floats:
        raise NoCovarianceError("The covariance of shares within groups is not known.")

    def interval(self, request: IntervalRequest) -> Bounds:
        """The intervals, from 0 to 1 for a group that is not estimable."""
        ratios = self.ratios[request.target]
        low, high = ratios.delta(request.level) if request.method == Method.DELTA else ratios.fieller(request.level)
        anywhere = ~np.isfinite(low) | np.isnan(self.values())
        return Bounds(np.where(anywhere, 0.0, low), np.where(anywhere, 1.0, high))


def group_frequencies(estimate: Any) -> Estimate:
    """Shares of the categories of the second field within each group, the first, from their estimated joint shares.

    Ask for both at once: a frequency oracle on `Select(Record({"group": ..., "value": ...}), ["group", "value"])`.
    """
    domain = estimate.question.domain if isinstance(estimate, Estimate) else None
    if not isinstance(domain, Select) or len(domain.names) != 2:
        raise ParameterError("Shares within groups need an estimate of the joint shares of two selected fields.")
    fields = dict(domain.of.fields)
    groups, categories = (fields[name].labels() for name in domain.names)
    d, k = len(groups), len(categories)
    joint = estimate.evidence.values()
    ratios: dict[Target, Ratios] = {}
    for target in Target:
        spread = estimate.covariance(target=target).reshape(d, k, d, k)
        blocks = np.array([spread[g, :, g, :] for g in range(d)])
        top = np.array([np.diag(block) for block in blocks]).ravel()
        bottom = np.repeat(blocks.sum(axis=(1, 2)), k)
        sizes = np.repeat(joint.reshape(d, k).sum(axis=1), k)
        ratios[target] = Ratios(joint, sizes, top, blocks.sum(axis=2).ravel(), np.maximum(bottom, 0.0))
    evidence = ConditionalSharesEvidence(groups, categories, ratios, estimate.n)
    return Estimate.of(estimate.question, evidence, estimate.sources, simulated=estimate.simulated)
