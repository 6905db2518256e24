"""Differences between groups: one, all pairs at once, a test that there are none, and the participants it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from sottovoce.core.errors import NoIntervalError, ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_integer, reject
from sottovoce.estimate.estimate import check_level, check_target
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.group_law import Blocks, Totals
from sottovoce.estimate.group_truth import Crowd, keyed_channel
from sottovoce.estimate.ratio import CANNOT_BE_TOLD, Ratios

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.group_views import Means

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CORRECTIONS = ("holm", "bonferroni")
MAX_PAIRS = 1 << 20
ROUNDING = 1e-9  # of the variances of two means, that of their difference must exceed


class Compared(Protocol):
    """What is needed of an estimate by group."""

    @property
    def groups(self) -> Sequence[object]: ...
    @property
    def totals(self) -> Totals: ...
    @property
    def means(self) -> Means: ...
    @property
    def told(self) -> NDArray[np.bool_]: ...
    def blocks(self, target: str) -> Blocks: ...
    def covariance(self, kind: str = "means", *, target: str = "population") -> Floats: ...


def mean_covariances(totals: Totals, blocks: Blocks, rows: Ints, columns: Ints) -> Floats:
    """Covariances of the means of groups (rows, columns), to first order."""
    whole = np.where(totals.sizes == 0, 1.0, totals.sizes)  # no group of size zero is ever told
    m = totals.sums / whole
    sizes, right, left, sums = blocks.at(rows, columns)
    found = sums - m[rows] * right - m[columns] * left + m[rows] * m[columns] * sizes
    return np.asarray(found / (whole[rows] * whole[columns]))


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """The mean of `group` less that of `other`.

    "fieller" puts the two groups' own Fieller intervals together (Donner, Zou 2012: each side as far as the variances
    there say), "delta" takes the variance at the estimates.
    """

    group: object
    other: object
    value: float
    std_error: float
    target: str
    means: tuple[float, float]
    ratios: Ratios  # of the two groups
    correlation: float

    def ci(self, level: float = 0.95, *, method: str = "fieller") -> tuple[float, float]:
        """The interval of the difference."""
        check_level(level)
        if method == "delta":
            half = deviate(level) * self.std_error
            return self.value - half, self.value + half
        if method != "fieller":
            raise reject("method", "ci", "'fieller' or 'delta'", method)
        low, high = self.ratios.fieller(level)
        if not np.isfinite(low).all():
            raise NoIntervalError(
                f"The sizes of groups {self.group!r} and {self.other!r} are not told at the level {level}: ask for"
                " method='delta' or a lower level."
            )
        down, up = self.ratios.values() - low, high - self.ratios.values()
        return self.value - self._joint(down[0], up[1]), self.value + self._joint(up[0], down[1])

    def _joint(self, first: float, second: float) -> float:
        return math.sqrt(max(0.0, first**2 + second**2 - 2 * self.correlation * first * second))

    @property
    def p_value(self) -> float:
        """Of the hypothesis that there is no difference, two-sided."""
        return float(two_sided(np.array([self.value / self.std_error]))[0])

    def explain(self, level: float = 0.95) -> str:
        """The difference in words."""
        low, high = self.ci(level)
        return (
            f"The mean of group {self.group!r} less that of group {self.other!r} is {self.value:.6g} ({level:.0%}"
            f" interval from {low:.6g} to {high:.6g} for the {self.target}; p = {self.p_value:.2g})."
        )


def two_sided(scores: Floats) -> Floats:
    """Two-sided p-values of normal scores."""
    return np.asarray(2 * ndtr(-np.abs(scores)))


def difference(estimate: Compared, group: int, other: int, target: str) -> Difference:
    """The difference of two groups by their numbers."""
    check_target(target)
    if group == other:
        raise ParameterError("A difference is between two groups; the same one was named twice.")
    for place in (group, other):
        if not estimate.told[place]:
            raise NoIntervalError(
                f"The mean of group {estimate.groups[place]!r} {CANNOT_BE_TOLD}: its size is not significantly above"
                " zero."
            )
    pair = np.array([group, other])
    spread = mean_covariances(estimate.totals, estimate.blocks(target), pair[:, None], pair[None, :])
    first, second = (math.sqrt(max(float(spread[i, i]), 0.0)) for i in (0, 1))
    variance = float(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1])
    _check_known(variance > ROUNDING * float(spread[0, 0] + spread[1, 1]))
    correlation = float(spread[0, 1]) / (first * second) if first * second else 0.0
    means, whole = estimate.means, estimate.means.ratios[target]
    fields = (whole.top, whole.bottom, whole.top_variance, whole.mixed, whole.bottom_variance)  # both are told
    one, two = float(means.values[group]), float(means.values[other])
    return Difference(
        estimate.groups[group],
        estimate.groups[other],
        one - two,
        math.sqrt(variance),
        target,
        (one, two),
        Ratios(*(field[pair] for field in fields)),
        min(1.0, max(-1.0, correlation)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """All pairs of groups that can be told. `adjusted` p-values and the intervals hold for all of them at once."""

    groups: tuple[object, ...]
    others: tuple[object, ...]
    values: Floats
    std_errors: Floats
    p_values: Floats
    adjusted: Floats
    low: Floats
    high: Floats
    correction: str
    untold: tuple[object, ...]

    def to_frame(self) -> pd.DataFrame:
        """A table of pairs; those with a group that cannot be told are left out, see `untold`."""
        import pandas as pd

        return pd.DataFrame(
            {
                "group": list(self.groups),
                "other": list(self.others),
                "difference": self.values,
                "std_error": self.std_errors,
                "p_value": self.p_values,
                "adjusted": self.adjusted,
                "low": self.low,
                "high": self.high,
            }
        )


def all_pairs(estimate: Compared, level: float, correction: str, target: str) -> Pairs:
    """All differences; intervals are Bonferroni's with either correction, as Holm's steps have none of their own."""
    check_level(level)
    check_target(target)
    if correction not in CORRECTIONS:
        raise reject("correction", "all_pairs", " or ".join(map(repr, CORRECTIONS)), correction)
    told = np.flatnonzero(estimate.told)
    if len(told) * (len(told) - 1) // 2 > MAX_PAIRS:
        raise ParameterError(f"{len(told)} groups have more than {MAX_PAIRS} pairs; compare fewer groups.")
    above, below = np.triu_indices(len(told), 1)
    rows, columns = told[above], told[below]
    blocks, totals, means = estimate.blocks(target), estimate.totals, estimate.means.values
    variance = (
        mean_covariances(totals, blocks, rows, rows)
        + mean_covariances(totals, blocks, columns, columns)
        - 2 * mean_covariances(totals, blocks, rows, columns)
    )
    alone = mean_covariances(totals, blocks, rows, rows) + mean_covariances(totals, blocks, columns, columns)
    _check_known(bool((variance > ROUNDING * alone).all()))
    errors = np.sqrt(variance)
    values = means[rows] - means[columns]
    p_values = two_sided(values / errors)
    half = deviate(1 - (1 - level) / max(1, len(rows))) * errors
    labels = list(estimate.groups)
    return Pairs(
        tuple(labels[g] for g in rows),
        tuple(labels[h] for h in columns),
        values,
        errors,
        p_values,
        adjust(p_values, correction),
        values - half,
        values + half,
        correction,
        tuple(label for label, seen in zip(labels, estimate.told, strict=True) if not seen),
    )


def adjust(p_values: Floats, correction: str) -> Floats:
    """P-values such that with those below alpha the chance of any false finding is at most alpha."""
    count = len(p_values)
    if correction == "bonferroni":
        return np.minimum(p_values * count, 1.0)
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(p_values[order] * np.arange(count, 0, -1))
    result = np.empty(count)
    result[order] = np.minimum(stepped, 1.0)
    return result


@dataclass(frozen=True, slots=True)
class Equality:
    """A Wald test that all groups which can be told have one mean."""

    statistic: float
    degrees: int
    p_value: float
    groups: tuple[object, ...]

    def explain(self) -> str:
        """The test in words."""
        return (
            f"If the {len(self.groups)} groups had the same mean, differences like these would be seen with probability"
            f" {self.p_value:.2g} (chi-square {self.statistic:.4g}, degrees of freedom {self.degrees})."
        )


def equality(estimate: Compared, target: str) -> Equality:
    """The differences to the last group, squared in the measure of their joint covariance."""
    told = np.flatnonzero(estimate.told)
    if len(told) < 2:
        raise NoIntervalError(f"A test of equality needs two groups; of all but {len(told)} the mean {CANNOT_BE_TOLD}.")
    spread = estimate.covariance("means", target=target)[np.ix_(told, told)]
    contrast = np.hstack([np.eye(len(told) - 1), -np.ones((len(told) - 1, 1))])
    away = contrast @ estimate.means.values[told]
    joint = contrast @ spread @ contrast.T
    _check_known(float(np.linalg.eigvalsh(joint)[0]) > ROUNDING * float(np.trace(spread)))
    statistic = float(away @ np.linalg.solve(joint, away))
    degrees = len(told) - 1
    return Equality(statistic, degrees, float(chdtrc(degrees, statistic)), tuple(estimate.groups[int(g)] for g in told))


def _check_known(known: bool) -> None:
    """A variance of floats that cancel is none."""
    if not known:
        raise NoIntervalError(
            "The variance of these differences is not known: too few noisy reports were seen. More participants are"
            " needed, or a smaller epsilon."
        )


# --- before anyone has answered ------------------------------------------------------------------------
def power_of_difference(
    mechanism: Mechanism,
    difference: Any,
    *,
    n: int,
    shares: Any = None,
    priors: Any = None,
    groups: tuple[object, object] | None = None,
    level: float = 0.95,
) -> float:
    """How likely n participants show a difference of this size between two groups, by default the first two."""
    count = check_integer("n", "power_of_difference", n, 1, 1 << 53)
    check_level(level)
    gap = check_difference(difference, "power_of_difference")
    variance, _ = _one_report(mechanism, shares, priors, groups)
    return power_at(gap / math.sqrt(variance / count), level)


def participants_for(
    mechanism: Mechanism,
    difference: Any,
    *,
    power: float = 0.8,
    shares: Any = None,
    priors: Any = None,
    groups: tuple[object, object] | None = None,
    level: float = 0.95,
) -> int:
    """How many participants show a difference of this size with this probability, and both groups for sure."""
    check_level(level)
    if isinstance(power, bool) or not isinstance(power, (int, float)) or not 1 - level < power < 1:
        raise reject("power", "participants_for", f"a number in ({1 - level:g}, 1)", power)
    gap = check_difference(difference, "participants_for")
    variance, least = _one_report(mechanism, shares, priors, groups)
    # The far side adds to the power only where both are next to nothing; without it n is never too small.
    needed = (deviate(level) + float(ndtri(power))) ** 2
    return max(2, math.ceil(needed * variance / gap**2), math.ceil(least))


def _one_report(
    mechanism: Mechanism, shares: Any, priors: Any, groups: tuple[object, object] | None
) -> tuple[float, float]:
    """n times the variance of the difference, and the n from which on both groups can be told."""
    keyed_channel(mechanism)
    crowd = Crowd.of(mechanism.domain, shares, priors)  # type: ignore[arg-type]
    labels = list(mechanism.domain.group.labels())  # type: ignore[attr-defined]
    chosen = tuple(labels[:2]) if groups is None else tuple(groups)
    if len(chosen) != 2 or chosen[0] == chosen[1] or any(label not in labels for label in chosen):
        raise reject("groups", "a difference", "two different groups of the domain", groups)
    pair = np.array([labels.index(label) for label in chosen])
    totals = crowd.totals(mechanism, 1.0)
    blocks = totals.covariance("population")
    spread = mean_covariances(totals, blocks, pair[:, None], pair[None, :])
    least = crowd.needed(mechanism)[pair].max()
    return float(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1]), float(least)


def power_at(score: float, level: float) -> float:
    """How likely a normal score with this mean is significant, on either side."""
    z = deviate(level)
    return float(ndtr(score - z) + ndtr(-score - z))


def check_difference(difference: Any, owner: str) -> float:
    """A size of a difference that one wants to see."""
    gap = float(check_decimal("difference", owner, difference))
    if gap <= 0:
        raise reject("difference", owner, "a positive number", difference)
    return gap
