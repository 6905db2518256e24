"""Answers to "are you at or above this threshold?", and where a distribution lies according to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from math import floor, inf, log10
from typing import Any

import numpy as np

from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Above, Integers, Interval
from sottovoce.estimate.evidence import Floats
from sottovoce.tally.tally import Tally

SURE = 4.5  # standard errors by which a share must stand out: hundreds of averages are compared
RATIO = 4.0  # of neighbouring thresholds on a geometric scale


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdBits:
    """How many were asked about each threshold, in rising order, and how many reported that they are at or above it."""

    thresholds: Floats
    asked: Floats
    yes: Floats
    own: float  # how likely a yes is reported by those at or above, and by those below
    other: float

    @classmethod
    def of(cls, tallies: Iterable[Tally]) -> ThresholdBits:
        """All answers; those about the same threshold are merged."""
        counts: dict[Decimal, tuple[int, int]] = {}
        rates: Any = None
        for tally in tallies:
            threshold = threshold_of(tally)
            asked, yes = counts.get(threshold, (0, 0))
            counts[threshold] = asked + tally.n, yes + int(tally.cells[1])
            rates = rates_of(tally.mechanism.channel)
        order = sorted(counts)
        numbers = np.array([counts[threshold] for threshold in order], float).reshape(-1, 2)
        return cls(np.array(order, float), numbers[:, 0], numbers[:, 1], float(rates.own), float(rates.other))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ThresholdBits) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        columns = (self.thresholds, self.asked, self.yes)
        return self.own, self.other, *(column.tobytes() for column in columns)

    @property
    def shares(self) -> Floats:
        """Unbiased estimates of the share at or above each threshold; a half without reports."""
        rate = np.where(self.asked > 0, self.yes / np.maximum(self.asked, 1), (self.own + self.other) / 2)
        return np.asarray((rate - self.other) / (self.own - self.other))

    def crossing(self, level: float) -> int:
        """How many thresholds lie before the place where the share falls to this level.

        The crossing is where a monotone fit to the shares crosses the level: the maximum of the running sum of their
        excess.
        """
        sums = np.cumsum(self.asked * (self.shares - level))
        return int(np.argmax(np.concatenate([[0.0], sums])))

    def certain(self) -> Floats:
        """A lower limit of the share above each threshold, from the answers there and at thresholds beyond.

        Shares beyond are smaller, so a lower limit of their average is one of the share at the threshold.
        """
        least = np.zeros(len(self.thresholds))
        worth = (self.own - self.other) ** 2
        for place in range(len(least)):
            asked = np.cumsum(self.asked[place:])
            mean = np.cumsum(self.asked[place:] * self.shares[place:]) / np.maximum(asked, 1)
            error = np.sqrt(0.25 / worth / np.maximum(asked, 1))
            least[place] = max(0.0, float((mean - SURE * error).max()))
        return least

    def side(self, centre: float, *, above: bool) -> ThresholdBits:
        """The answers on one side of a centre, by rising distance; yes means beyond the threshold, away from it."""
        if above:
            kept = self.thresholds > centre
            places, yes = self.thresholds[kept] - centre, self.yes[kept]
            return ThresholdBits(places, self.asked[kept], yes, self.own, self.other)
        kept = self.thresholds < centre
        places, asked = (centre - self.thresholds[kept])[::-1], self.asked[kept][::-1]
        return ThresholdBits(places, asked, asked - self.yes[kept][::-1], self.own, self.other)

    def within(self, distance: float) -> ThresholdBits:
        """The answers about thresholds before a distance."""
        kept = self.thresholds < distance
        return ThresholdBits(self.thresholds[kept], self.asked[kept], self.yes[kept], self.own, self.other)


# --- thresholds --------------------------------------------------------------------------------------------------
def threshold_of(tally: Tally) -> Decimal:
    """The threshold that the participants of a tally were asked about."""
    view = tally.mechanism.domain
    if not isinstance(view, Above):
        raise TypeError("The tallies of a search must be about thresholds.")
    return view.threshold


def spread(domain: Integers | Interval, low: float, high: float, count: int) -> list[Decimal]:
    """About `count` thresholds strictly inside a interval: evenly spaced, and geometrically if magnitudes differ much.

    Answers have any magnitude, and most ranges are far too wide; so half of the thresholds fall by a constant ratio
    toward zero.
    """
    even = np.linspace(low, high, count + 2)[1:-1]
    if low < 0 < high:
        even, per_side = even[::4], (count - len(even[::4])) // 2
        sides = [_falling(-low, 0, per_side) * -1, _falling(high, 0, per_side)]
    elif max(abs(low), abs(high)) > RATIO**2 * min(abs(low), abs(high)):
        even, per_side = even[::2], count - len(even[::2])
        negative = high <= 0
        outer, inner = max(abs(low), abs(high)), min(abs(low), abs(high))
        sides = [_falling(outer, inner, per_side) * (-1 if negative else 1)]
    else:
        sides = []
    apart = (high - low) / (count + 1)
    near = [short(float(place), apart / 4) for place in even]
    geometric = [short(float(place), abs(float(place)) / 10) for side in sides for place in side]
    return inside(domain, [*near, *geometric], low, high)


def _falling(outer: float, inner: float, count: int) -> Floats:
    """Points that fall from one magnitude toward a smaller one, or without a limit by the usual ratio."""
    ratio = RATIO if not inner else (outer / inner) ** (1 / (count + 1))
    return np.asarray(outer * ratio ** -np.arange(1.0, count + 1))


def inside(
    domain: Integers | Interval, places: Iterable[Decimal], low: float = -inf, high: float = inf
) -> list[Decimal]:
    """Different thresholds that split the domain, inside a interval; whole ones for whole numbers."""
    if domain.whole is not None:
        integers = {place.to_integral_value() for place in places}
        split = [place for place in integers if domain.low < place <= domain.high]
    else:
        split = [place for place in set(places) if domain.low < place < domain.high]
    return sorted(place for place in split if low < float(place) <= high)


def short(number: float, step: float, *, toward: str = "nearest") -> Decimal:
    """A decimal of few digits near a number: a whole multiple of 1, 2 or 5 times a power of ten, at most `step`."""
    if not step > 0:
        return Decimal(repr(number))
    power = floor(log10(step))
    unit = max(u for u in (1, 2, 5) if u == 1 or u * 10.0**power <= step * 1.0000001)
    size = Decimal(unit).scaleb(power)
    places = Decimal(repr(number)) / size
    mode = {"nearest": "ROUND_HALF_EVEN", "down": "ROUND_FLOOR", "up": "ROUND_CEILING"}[toward]
    return places.to_integral_value(rounding=mode) * size
