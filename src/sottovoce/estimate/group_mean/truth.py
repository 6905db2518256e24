"""Assumed or known crowds of groups: shares and values, and how their reports are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Keyed
from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.shapes import keyed_of
from sottovoce.core.domain import Pair
from sottovoce.core.domain.base import Numbers
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.estimate.evidence import POOR_BELOW, Flags, Floats
from sottovoce.estimate.group_mean.law import Totals, group_law
from sottovoce.estimate.group_mean.ratio import Ratios, least_sizes
from sottovoce.estimate.mean.moments import profile
from sottovoce.estimate.prior import Prior, expected_answers
from sottovoce.estimate.request import Target
from sottovoce.tally.laws import law_at

STEEPEST = 4.0  # lines that amplify the noise of readings by more are of no use
SEEN = 0.01  # of the squared range: the largest uncertainty of a group's mean square from its reports
SURE = 2.0  # standard errors above the threshold at which a group is expected to be shown in nearly all runs
_FLAT = 1e-9


def keyed_channel(mechanism: Mechanism) -> Keyed:
    """The channel of a mechanism for groups."""
    keyed = keyed_of(mechanism.channel)
    if keyed is None:
        raise ParameterError(f"{mechanism.name} does not ask for groups and values.")
    return keyed


def value_numbers(domain: Pair) -> Numbers:
    """Lowest and highest code of the values, and the map from codes to answers."""
    numbers = domain.value.numbers
    if numbers is None:
        raise ParameterError("The values of these groups are not numbers, so they have no mean.")
    return numbers


def centre_of(mechanism: Mechanism) -> float:
    """The mean of the neutral law in the numbers of the answers: sums are counted from it."""
    channel = keyed_channel(mechanism)
    return float(group_law(channel).centre + value_numbers(mechanism.domain).origin)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Line:
    """X**2 is at least slope * E[z**2 | x] + tilt * X + least, for every value x, and at most that plus `width`."""

    slope: float
    tilt: float
    least: float
    width: float

    def bound(self, read_squares: Floats, sums: Floats, sizes: Floats) -> Floats:
        """A lower bound of the sum of squares of each group."""
        return np.asarray(self.slope * read_squares + self.tilt * sums + self.least * sizes)


@lru_cache(maxsize=64)
def square_line(channel: Keyed) -> Line:
    """Bounds of the squared value from the mean square of readings.

    The two laws are compared at the grid points. Between two of them the first is linear, and the second lies below its
    chord by f (1 - f) step**2; so the difference is largest at a grid point, and least at the vertex of a parabola. If
    the mean square reading does not depend on the value, as for one bit, there is no such bound.
    """
    grid = profile(channel.inner)
    centre = float(group_law(channel).centre)
    x, step = grid.means - centre, grid.step
    read, square = grid.squares(centre), x**2
    straight = np.vstack([np.ones_like(x), x]).T
    bent_read, bent_square = (v - straight @ np.linalg.lstsq(straight, v, rcond=None)[0] for v in (read, square))
    power = float(bent_read @ bent_read)
    slope = float(bent_read @ bent_square) / power if power > (_FLAT * float(np.abs(read).max())) ** 2 else 0.0
    slope = slope if abs(slope) <= STEEPEST else 0.0
    rest = square - slope * read
    tilt = float(np.linalg.lstsq(straight, rest, rcond=None)[0][1])
    rest = rest - tilt * x
    left, rise = rest[:-1], np.diff(rest)
    vertex = left - (step**2 - rise) ** 2 / (4 * step**2)
    least = np.where(np.abs(rise) < step**2, vertex, np.minimum(left, rest[1:]))
    return Line(slope, tilt, float(least.min()), float(rest.max() - least.min()))


def tells_squares(channel: Keyed) -> bool:
    """Whether reports determine the mean square of the values of a group, to about a percent of the squared range."""
    grid = profile(channel.inner)
    reach = grid.step * (len(grid.means) - 1)
    return square_line(channel).width / 2 <= SEEN * reach**2


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """Shares of the groups and a prior of the values of each."""

    shares: Floats
    priors: tuple[Prior, ...]
    known: dict[tuple[tuple[float, float], int], dict[int, tuple[float, float, Floats]]] = field(
        default_factory=dict, repr=False
    )

    @classmethod
    def of(cls, domain: Pair, shares: Any = None, priors: Any = None, owner: str = "groups") -> Crowd:
        """A crowd; by default with equal shares and values spread evenly.

        Priors: one for all groups (a `Prior` or answers), or one for each: a mapping by group, or a list of priors.
        """
        groups = domain.group.size or 0
        ends = value_numbers(domain).ends
        sizes = np.full(groups, 1 / groups) if shares is None else _shares(domain, shares, owner)
        if isinstance(priors, Mapping):
            missing = [label for label in domain.group.labels() if label not in priors]
            if missing:
                raise ParameterError(f"A prior is needed for each group; there is none for {missing[0]!r}.")
            by_group = [priors[label] for label in domain.group.labels()]
        elif isinstance(priors, (list, tuple)) and any(isinstance(prior, Prior) for prior in priors):
            by_group = list(priors)
        else:
            by_group = [expected_answers(domain.value) if priors is None else _prior(priors)] * groups
        if len(by_group) != groups:
            raise ParameterError(f"There are {groups} groups and {len(by_group)} priors.")
        listed = tuple(map(_prior, by_group))
        for prior in {id(prior): prior for prior in listed}.values():
            prior.scaled(*ends)  # refuses values outside the range
        return cls(sizes, listed)

    @property
    def means(self) -> Floats:
        """The true means of the groups."""
        return np.array([prior.mean for prior in self.priors])

    def totals(self, mechanism: Mechanism, n: float) -> Totals:
        """The expected sums of n participants."""
        channel = keyed_channel(mechanism)
        law, sizes = group_law(channel), n * self.shares
        ends = value_numbers(mechanism.domain).ends  # type: ignore[arg-type]
        gap, read, square = self.moments(channel.inner, law.centre, ends)
        return Totals(law, n, sizes, sizes * gap, sizes * read, sizes * square)

    def moments(self, inner: Channel, centre: Fraction, ends: tuple[float, float]) -> tuple[Floats, Floats, Floats]:
        """The means of X, of the squared reading, and of X**2 in each group."""
        grid = profile(inner)
        read, steps = grid.squares(float(centre)), len(grid.means) - 1
        middle = ends[0] + (float(centre) - grid.low)
        by_prior = {
            which: (mean - middle, float(law @ read), variance + (mean - middle) ** 2)
            for which, (mean, variance, law) in self._rounded(ends, steps).items()
        }
        gaps, reads, squares = np.array([by_prior[id(prior)] for prior in self.priors]).T
        return gaps, reads, squares

    def _rounded(self, ends: tuple[float, float], steps: int) -> dict[int, tuple[float, float, Floats]]:
        """Mean, variance and law on a grid of each prior; cached, since plans ask for few grids very often."""
        if (ends, steps) not in self.known:
            distinct = {id(prior): prior for prior in self.priors}
            self.known[ends, steps] = {
                which: (prior.mean, prior.variance, prior.rounded(*ends, steps)) for which, prior in distinct.items()
            }
        return self.known[ends, steps]

    def estimable(self, mechanism: Mechanism, n: float) -> Flags:
        """Which groups are expected to be estimable from n reports, with a known standard error."""
        return np.asarray(n >= self.needed(mechanism))

    def needed(self, mechanism: Mechanism) -> Floats:
        """The participants from which on each group is expected to be estimable, with a known standard error.

        The size of the group is two standard errors above the threshold, and rare reports are enough to show in the
        variance.
        """
        low, high = value_numbers(mechanism.domain).ends  # type: ignore[arg-type]
        centre = centre_of(mechanism)
        single = self.ratios(mechanism, 1.0, Target.POPULATION)
        least = least_sizes(single, (low - centre, high - centre))
        # Sizes grow with n, thresholds and standard errors with its root.
        large = ((least + SURE * np.sqrt(single.bottom_variance)) / single.bottom) ** 2
        return np.asarray(np.maximum(large, POOR_BELOW / steadiness(mechanism, self.shares, self.means)))

    def ratios(self, mechanism: Mechanism, n: float, target: Target) -> Ratios:
        """The expected sums over sizes, with the exact covariances of their estimates."""
        totals = self.totals(mechanism, n)
        size, mixed, total = totals.covariance(target).diagonals()
        return Ratios(totals.sums, totals.sizes, total, mixed, size)


def steadiness(mechanism: Mechanism, shares: Floats, means: Floats) -> Floats:
    """One over the kurtosis of a report's contribution to each group's mean, if all of a group held its mean.

    The sample variance of n reports is as uncertain as that of n times this number of normal ones: if rare reports make
    most of the noise, few reports do not show how noisy they are.
    """
    channel = keyed_channel(mechanism)
    law = group_law(channel)
    numbers = value_numbers(mechanism.domain)  # type: ignore[arg-type]
    centre, key = centre_of(mechanism), law.key
    inner, neutral = channel.inner, np.array(channel.neutral, float) / UNIT
    inverse_kurtosis = np.empty(len(shares))
    for group, (share, mean) in enumerate(zip(shares, means, strict=True)):
        held = min(max(float(mean), numbers.ends[0]), numbers.ends[1])
        code = min(max(Fraction(held) - numbers.origin, numbers.low), numbers.high)
        moved = law.numbers / (key.own - key.both) - (held - centre) / (key.own - key.other)
        weights = share * key.own * law_at(inner, code) + (1 - share) * key.other * neutral
        first = float(weights @ moved)
        silent = 1 - float(weights.sum())
        second, fourth = (float(weights @ (moved - first) ** p) + silent * first**p for p in (2, 4))
        inverse_kurtosis[group] = second**2 / fourth if fourth else 0.0
    return inverse_kurtosis


def _prior(values: Any) -> Prior:
    return values if isinstance(values, Prior) else Prior.of(values)


def _shares(domain: Pair, shares: Any, owner: str) -> Floats:
    """Positive numbers that sum to one, in the order of the groups or by their names."""
    labels: Sequence[object] = domain.group.labels()
    listed = [shares.get(label, 0) for label in labels] if isinstance(shares, Mapping) else shares
    try:
        numbers = np.asarray(listed, float)
    except (TypeError, ValueError):
        raise reject("shares", owner, f"{len(labels)} positive numbers", shares) from None
    if numbers.shape != (len(labels),) or not np.isfinite(numbers).all() or numbers.min() <= 0:
        raise reject("shares", owner, f"{len(labels)} positive numbers", shares)
    if abs(numbers.sum() - 1) > 1e-6:
        raise reject("shares", owner, "numbers that sum to 1", shares)
    return np.asarray(numbers / numbers.sum())
