"""Sums by group from keyed reports, and the exact covariance of their estimates.

A report of the pair (group k, value x) supports some groups: s_g is 1 for these and 0 else. Its reading, less the mean
of the neutral law, is z; X is x less that mean. If k itself is supported z is drawn for x, else from the neutral law.
With p = P(s_k), q = P(s_g), b = P(s_k s_g), t1 = P(s_k s_g s_h), t0 = P(s_g s_h, not s_k) for g, h other than k and
each other, and with the group sums R_g = sum of E[z**j | x], the expected sums over all reports are

    of s_g z**j:       p R_g + b (R - R_g) + (q - b) N (n - n_g),              N = E z**j under the neutral law
    of s_g s_h z**j:   b (R_g + R_h) + t1 (R - R_g - R_h) + t0 N (n - n_g - n_h).

The first line is solved for sizes (j = 0), sums (j = 1) and the mean squares of readings (j = 2); the second then gives
all second moments of the sums from which these came, and so their covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, Keyed, Subset
from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.facets import Supporting, facet
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import Floats, Ints
from sottovoce.estimate.mean.readings import numbers_at, scale_of
from sottovoce.estimate.request import Target

POWERS = 4  # of what is read, whose neutral means are kept


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A square matrix diag(d) + left 1' + 1 right' + level, stored without its entries."""

    diagonal: Floats
    left: Floats
    right: Floats
    level: float

    @property
    def turned(self) -> Sheet:
        """The transpose."""
        return Sheet(self.diagonal, self.right, self.left, self.level)

    def __add__(self, other: Sheet) -> Sheet:
        left, right = self.left + other.left, self.right + other.right
        return Sheet(self.diagonal + other.diagonal, left, right, self.level + other.level)

    def __mul__(self, factor: float) -> Sheet:
        return Sheet(self.diagonal * factor, self.left * factor, self.right * factor, self.level * factor)

    def solved(self, share: float, slope: float) -> Sheet:
        """(I - share 1 1') M / slope."""
        right = self.right - share * (self.diagonal + len(self.diagonal) * self.right)
        level = self.level - share * (float(self.left.sum()) + len(self.diagonal) * self.level)
        return Sheet(self.diagonal, self.left, right, level) * (1 / slope)

    def shifted(self, rows: Floats, columns: Floats, row: float, column: float, n: float) -> Sheet:
        """Sums of n products f_g f_h, given those of f_g and f_h, where each f_g is less by `row`, f_h by `column`."""
        left, right = self.left - column * rows, self.right - row * columns
        return Sheet(self.diagonal, left, right, self.level + n * row * column)

    def at(self, rows: Ints, columns: Ints) -> Floats:
        """Some entries."""
        off = self.left[rows] + self.right[columns] + self.level
        return np.asarray(off + np.where(rows == columns, self.diagonal[rows], 0.0))


@dataclass(frozen=True)
class KeyLaw:
    """The probabilities p, q, b, t1, t0 of a key for its number of groups."""

    groups: int
    own: float
    other: float
    both: float
    all_three: float
    without: float

    @cached_property
    def total(self) -> float:
        """E[s_k times the number of supported groups]."""
        return self.own + (self.groups - 1) * self.both

    @cached_property
    def share(self) -> float:
        """The part of the sum over all groups that every group's own count contains."""
        return self.both / self.total

    @cached_property
    def slope(self) -> float:
        return self.own - self.both

    @cached_property
    def gap(self) -> float:
        return self.own - self.other

    def sizes(self, counts: Floats, n: float) -> Floats:
        """Unbiased group sizes from the supports of each group."""
        return np.asarray((counts - n * self.other) / self.gap)

    def solve(self, sums: Floats) -> Floats:
        """Group sums R from p R_g + b (R - R_g)."""
        return np.asarray((sums - self.share * sums.sum()) / self.slope)

    def right(self, sheet: Sheet) -> Sheet:
        """Second moments of the solution on the right."""
        return sheet.turned.solved(self.share, self.slope).turned

    def both_sides(self, sheet: Sheet) -> Sheet:
        """Second moments of the solution on both sides."""
        return self.right(sheet.solved(self.share, self.slope))

    def single(self, totals: Floats, total: float, sizes: Floats, n: float, neutral: float) -> Floats:
        """The expected sums of s_g z**j."""
        rest = (self.other - self.both) * neutral * (n - sizes)
        return np.asarray(self.own * totals + self.both * (total - totals) + rest)

    def pairs(self, single: Floats, totals: Floats, total: float, sizes: Floats, n: float, neutral: float) -> Sheet:
        """The expected sums of s_g s_h z**j; on the diagonal those of s_g z**j, which are given."""
        edge = (self.both - self.all_three) * totals - self.without * neutral * sizes
        level = self.all_three * total + self.without * neutral * n
        return Sheet(single - 2 * edge - level, edge, edge, level)


def key_law(key: Channel) -> KeyLaw:
    """The law of a key."""
    if isinstance(key, Subset):
        k, w, keep = key.k, key.w, Fraction(key.keep, UNIT)
        couples = max(1, (k - 1) * (k - 2))
        three = keep * (w - 1) * (w - 2) / couples if k > 2 else 0
        without = (1 - keep) * w * (w - 1) / couples if k > 2 else 0
        both = keep * (w - 1) / (k - 1)
        return KeyLaw(k, *map(float, (*key.rates(), both, three, without)))
    if isinstance(key, Bits) and isinstance(key.p, int) and isinstance(key.q, int):
        p, q = Fraction(key.p, UNIT), Fraction(key.q, UNIT)
        return KeyLaw(key.k, *map(float, (p, q, p * q, p * q * q, (1 - p) * q * q)))
    raise ParameterError(f"A {key.kind} channel is not a key of groups.")


@dataclass(frozen=True, slots=True, eq=False)
class GroupLaw:
    """The key of a keyed channel, the reading of each inner report, and the neutral law."""

    key: KeyLaw
    centre: Fraction  # the mean of the neutral law, as a code
    numbers: Floats  # the reading of each inner report, less the centre
    neutral: tuple[float, ...]  # means of the powers 0, 1, ... of that under the neutral law


@lru_cache(maxsize=64)
def group_law(channel: Keyed) -> GroupLaw:
    """The law of a keyed channel, computed once."""
    return GroupLaw(key_law(channel.key), *reading_law(channel.inner, channel.neutral))


def reading_law(inner: Channel, neutral: Sequence[int]) -> tuple[Fraction, Floats, tuple[float, ...]]:
    """Centre, numbers and neutral moments of an inner channel, independent of the key."""
    centre = neutral_mean(inner, neutral)
    scales, ends = scale_of(inner, -centre)
    numbers = numbers_at(scales, ends, np.arange(len(neutral)))
    weights = np.array(neutral, float) / UNIT
    moments = [float(np.dot(weights, numbers**power)) for power in range(POWERS + 1)]
    moments[:2] = 1.0, 0.0
    return centre, numbers, tuple(moments)


def neutral_mean(inner: Channel, neutral: Sequence[int]) -> Fraction:
    """The mean reading under the neutral law, exactly."""
    scales, ends = scale_of(inner, Fraction(0))
    mean = Fraction(0)
    for (first, origin, slope), end in zip(scales, ends, strict=True):
        weights = neutral[first:end]
        mean += (sum(w * y for y, w in enumerate(weights, first)) - origin * sum(weights)) / slope
    return mean / UNIT


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Sums by group, true or estimated: participants, X, E[z**2 | x] and X**2.

    Of estimates, `squares` (the last) is a lower bound, so that no variance of the sample is taken too small.
    """

    law: GroupLaw
    n: float
    sizes: Floats
    sums: Floats
    read_squares: Floats
    squares: Floats

    def covariance(self, target: Target) -> Blocks:
        """The covariance of estimated sizes and sums: of independent reports of one population, or given the answers.

        A report's share in the estimates has the mean (1, X) for its own group and 0 for others; so the
        outer product of all sums, or of each participant's own, is subtracted from the second moments.
        """
        key, totals = self.law.key, (self.sizes, self.sums, self.read_squares)
        single: list[Floats] = []
        sheets: list[Sheet] = []
        for values, neutral in zip(totals, self.law.neutral, strict=False):
            total = float(values.sum()) if single else self.n
            single.append(key.single(values, total, self.sizes, self.n, neutral))
            sheets.append(key.pairs(single[-1], values, total, self.sizes, self.n, neutral))
        # For sizes every report subtracts q; sums are already counted from the centre.
        counts = sheets[0].shifted(single[0], single[0], key.other, key.other, self.n) * (1 / key.gap**2)
        mixed = key.right(sheets[1].shifted(single[0], single[1], key.other, 0.0, self.n)) * (1 / key.gap)
        squares = key.both_sides(sheets[2])
        if target == Target.POPULATION:
            return Blocks(counts, mixed, squares, (self.sizes, self.sums), self.n)
        within = [_diagonal(-values) for values in (self.sizes, self.sums, self.squares)]
        return Blocks(counts + within[0], mixed + within[1], squares + within[2], None, self.n)


def _diagonal(values: Floats) -> Sheet:
    zero = np.zeros_like(values)
    return Sheet(values, zero, zero, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The covariance of (sizes, sums): three matrices, less the outer product of any means over n."""

    sizes: Sheet
    mixed: Sheet  # rows are sizes, columns are sums
    sums: Sheet
    means: tuple[Floats, Floats] | None
    n: float

    def at(self, rows: Ints, columns: Ints) -> tuple[Floats, ...]:
        """Entries (g, h) of: size with size, size with sum, sum with size, sum with sum."""
        mixed = self.mixed.at(rows, columns), self.mixed.at(columns, rows)
        entries = self.sizes.at(rows, columns), *mixed, self.sums.at(rows, columns)
        if self.means is None:
            return entries
        products = [left[rows] * right[columns] / self.n for left in self.means for right in self.means]
        return tuple(map(np.subtract, entries, products))

    def diagonals(self) -> tuple[Floats, Floats, Floats]:
        """The variance of the size of each group, its covariance with the sum, and the variance of the sum."""
        every = np.arange(len(self.sizes.diagonal))
        size, mixed, _, total = self.at(every, every)
        return np.maximum(size, 0.0), mixed, np.maximum(total, 0.0)

    def full(self, groups: Ints) -> Floats:
        """The covariance matrix of the sizes of these groups, then their sums."""
        sizes, right, left, sums = self.at(*np.meshgrid(groups, groups, indexing="ij"))
        return np.block([[sizes, right], [left, sums]])


def power_sums(law: GroupLaw, cells: Ints, power: int) -> Floats:
    """Sums of s_g z**power, from the cells of a tally."""
    return np.asarray(cells.reshape(law.key.groups, -1) @ law.numbers**power)


def group_powers(law: GroupLaw, single: Floats, sizes: Floats, n: float, power: int) -> Floats:
    """Unbiased group sums of E[z**power | x] from the sums of s_g z**power."""
    key = law.key
    return key.solve(single - (key.other - key.both) * law.neutral[power] * (n - sizes))


def report_corners(channel: Keyed, law: GroupLaw) -> tuple[Floats, Floats]:
    """What one report adds to the size and to the centred sum of a group, at the corners of all reports.

    A report supports the group or not, and as many groups as its key allows; its number is between the ends.
    """
    key, supporting = law.key, facet(channel.key, Supporting)
    sizes = None if supporting is None else supporting.support_sizes()
    corners = []
    for supported in (0, 1):
        some = sizes[:1] if sizes is not None else (supported, supported + key.groups - 1)
        for total in some:
            for number in (float(law.numbers.min()), float(law.numbers.max())):
                size = (supported - key.other) / key.gap
                corners.append((size, number * (supported - key.share * total) / key.slope))
    size, number = np.array(corners).T
    return size, number
