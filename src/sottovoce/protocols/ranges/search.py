"""The search of a range for numbers that may lie anywhere: where most of them are, and how far the rest reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import ceil, sqrt
from typing import Any, cast

import numpy as np

from sottovoce.core.channel import Keyed
from sottovoce.core.domain import Above, Domain, Integers, Interval, Pair
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, check_integer, check_people, decimal_text, reject
from sottovoce.core.question import GroupMean, Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.core.spec_cost import ARM_EFFORT, ROUNDS_EFFORT
from sottovoce.estimate.prior import expected_answers
from sottovoce.mechanisms.group.common import mean_variance
from sottovoce.protocols.effort import effort_of
from sottovoce.protocols.ranges.bits import ThresholdBits, inside, short, spread
from sottovoce.protocols.ranges.far import APART, far_distances, least_for_far
from sottovoce.protocols.ranges.tails import Tail, best_distances
from sottovoce.protocols.ranges.thresholds import above_thresholds
from sottovoce.tally.tally import Tally

FIRST, LATER = 32, 24  # thresholds of the first round, and of a later one
FINE = 4  # thresholds between the quartiles that determine the scale of a distribution
COARSEST = 0.25  # of the distance of the quartiles, between two thresholds
SHARP = 0.02  # of the best range: if half of all answers lie this close together, their distances do not matter
PARTS = 12  # of the search: one for each look, and what is left for the tails
LEVELS = (0.3, 0.2, 0.13, 0.08, 0.05, 0.03)  # shares beyond, where tails are asked about
FAR = 2  # thresholds beyond all of those, on either side
FAR_ROUNDS = 6  # at most, about what lies far beyond the range
OF_FAR = 0.05  # of all participants, in each of them
NEAR_WEIGHT = 3  # of a threshold inside them, where one beyond weighs 1: it only has to show surprises
LEAST_WORTH = 200  # participants times (p - q)**2, below which nothing is found
CLOSE = 0.01  # of the width: a range that ends this near the end of the domain ends there
NARROW = 1e-9  # of the magnitude of the numbers: fine enough
OWNER = "a range search"
UNFINISHED = "Closed early: the range was not found, and no numbers were asked for."


@dataclass(frozen=True, slots=True)
class RangeSearchRounds(Protocol):
    """A range for the mean of a number that may lie anywhere in a wide domain, found by one bit of each participant.

    Are you at or above this threshold? Each round has a couple of dozen thresholds as arms, chosen by earlier
    answers; all answers are used together. They first find the middle half of the distribution, at any magnitude, then
    ask how its tails fall. `chosen` is the range with the least expected error of the mean: the bias of clamping,
    extrapolated from the tails, and the noise, which grows with the width.

    The result is "thresholds": the share of participants at or above each of them.

    `participants` is how many are expected here and in the round of numbers that follows, through `method`, of which a
    share `tails` is asked about the part beyond the range. A share `search` of all is asked about thresholds (None: 15
    to 40 %, the more the fewer they are), in at most `rounds` rounds. If they are enough, up to six more rounds of 5 %
    each look for answers far beyond the range. With `by` answers are pairs of a group and a
    number, and the range is for the means of these groups.
    """

    domain: Integers | Interval
    epsilon: Any
    participants: int
    method: str = "designed"
    search: Any = None
    tails: Any = Decimal("0.04")
    rounds: int = 6
    by: Domain | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.line is None:
            raise reject("domain", OWNER, "an Interval or Integers of any width", self.domain)
        methods = names(type(self.question))
        budget = check_epsilon(OWNER, self.epsilon)
        if self.method not in methods:
            raise reject("method", OWNER, f"one of {', '.join(methods)}", self.method)
        participants = check_people("participants", OWNER, self.participants)
        tails = check_decimal("tails", OWNER, self.tails)
        if not 0 < tails <= Decimal("0.5"):
            raise reject("tails", OWNER, "a share in (0, 0.5]", self.tails)
        search = self.search if self.search is None else check_decimal("search", OWNER, self.search)
        if search is not None and not 0 < search <= Decimal("0.9"):
            raise reject("search", OWNER, "a share in (0, 0.9]", self.search)
        rounds = check_integer("rounds", OWNER, self.rounds, 2, 12)
        numbers = {"epsilon": budget, "participants": participants, "search": search, "tails": tails, "rounds": rounds}
        for name, value in numbers.items():
            object.__setattr__(self, name, value)
        least = ceil(LEAST_WORTH / self._worth)
        if self.participants < least:
            raise ParameterError(
                f"At epsilon {decimal_text(budget)} a range search needs at least {least} participants. Got"
                f" {self.participants}: give a range yourself."
            )
        if not self._first_thresholds():
            raise reject("domain", OWNER, "a domain with numbers between its ends", self.domain)

    @property
    def question(self) -> Mean | GroupMean:
        """The question that the range is for."""
        return Mean(self.domain) if self.by is None else GroupMean(self.by, self.domain)

    def effort(self) -> int:
        return ROUNDS_EFFORT + ARM_EFFORT * self.rounds * (FIRST + LATER) + effort_of(self.method, self.epsilon)

    # --- rounds ------------------------------------------------------------------------------------------------
    def start(self) -> Round:
        return self._ask(self._first_thresholds(), self._look)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        if closing:
            return partial({"thresholds": above_thresholds(self.domain, _flat(history))}, UNFINISHED)
        following = self._following(history)
        return {"thresholds": above_thresholds(self.domain, _flat(history))} if following is None else following

    def _following(self, history: History) -> Round | None:
        """The next round: a closer look, then the tails, then what lies far beyond; None if the search is over."""
        looks, closer = self._looks(history)
        if closer:
            return self._ask(closer, self._look)
        if looks == len(history):
            near, far = self._tail_thresholds(bits_of(history))
            return self._ask(near, self.searchers - self._look * looks, far) if near or far else None
        far = self._far_thresholds(history, looks + 1)
        return self._ask(far, self._far) if far else None

    def _looks(self, history: History) -> tuple[int, list[Decimal]]:
        """How many rounds searched the middle half, and the thresholds of the next one if they must go on."""
        looks = 1
        while looks < self.rounds - 1 and (closer := self._closer(bits_of(history[:looks]))):
            if looks == len(history):
                return looks, closer
            looks += 1
        return looks, []

    def _ask(self, near: Sequence[Decimal], quota: int, far: Sequence[Decimal] = ()) -> Round:
        weights = dict.fromkeys(far, 1) | dict.fromkeys(near, NEAR_WEIGHT)
        arms = (
            Arm(f"from {decimal_text(threshold)}", self._build(Above(self._asked, threshold)), weight)
            for threshold, weight in sorted(weights.items())
        )
        return Round(tuple(arms), quota=quota)

    @property
    def _asked(self) -> Integers | Interval | Pair:
        return self.domain if self.by is None else Pair(self.by, self.domain)

    def _build(self, domain: Domain) -> Mechanism:
        return build("rr", domain, epsilon=self.epsilon)

    # --- how many ----------------------------------------------------------------------------------------------
    @property
    def _worth(self) -> float:
        """The information of one noisy bit, in bits without noise: (p - q)**2 = tanh(epsilon / 2)**2."""
        return float(np.tanh(float(self.epsilon) / 2)) ** 2

    @property
    def searchers(self) -> int:
        """How many are asked about thresholds."""
        share = self.search
        if share is None:  # with much information a seventh, with less a larger share
            share = min(0.4, max(0.15, 0.15 * (20_000 / (self.participants * self._worth)) ** 0.23))
        return max(PARTS, ceil(self.participants * float(share)))

    @property
    def _look(self) -> int:
        """How many answer in a round that searches the middle half."""
        return self.searchers // PARTS

    @property
    def _far(self) -> int:
        """How many answer in a round about what lies far beyond the range."""
        return ceil(self.participants * OF_FAR)

    # --- where -------------------------------------------------------------------------------------------------
    def _first_thresholds(self) -> list[Decimal]:
        return spread(self.domain, float(self.domain.low), float(self.domain.high), FIRST)

    def _closer(self, bits: ThresholdBits) -> list[Decimal]:
        """Thresholds for a closer look at the middle half, or none if its shape is known or it is a single place."""
        first, last = bits.crossing(0.75), bits.crossing(0.25)
        ends = np.concatenate([[float(self.domain.low)], bits.thresholds, [float(self.domain.high)]])
        cells = np.diff(ends[first : last + 2])
        if last - first >= FINE and cells.max() <= COARSEST * cells.sum():
            return []
        # One cell more on either side, as a crossing is known to about a cell.
        low, high = float(ends[max(0, first - 1)]), float(ends[min(len(ends) - 1, last + 2)])
        left, right = self._best(bits)
        if high - low <= max(NARROW * max(abs(low), abs(high)), SHARP * (right - left)):
            return []
        known = set(bits.thresholds.tolist())
        new = [place for place in spread(self.domain, low, high, LATER) if float(place) not in known]
        return new if len(new) > 1 else []

    def sides(
        self, bits: ThresholdBits, far: tuple[float | None, float | None] = (None, None)
    ) -> tuple[float, Tail | None, Tail | None]:
        """The centre, and the tails on either side of it; what lies beyond the distances `far` may be a far place."""
        place = bits.crossing(0.5)
        ends = np.concatenate([[float(self.domain.low)], bits.thresholds, [float(self.domain.high)]])
        centre = float(ends[place] + ends[place + 1]) / 2
        low, high = centre - float(self.domain.low), float(self.domain.high) - centre
        below, above = bits.side(centre, above=False), bits.side(centre, above=True)
        return centre, Tail(below, low, far[0]) if low > 0 else None, Tail(above, high, far[1]) if high > 0 else None

    def _tail_thresholds(self, bits: ThresholdBits) -> tuple[list[Decimal], list[Decimal]]:
        """Thresholds where the tails are expected to fall, and some far beyond."""
        centre, *sides = self.sides(bits)
        near: list[Decimal] = []
        far: list[Decimal] = []
        for tail, sign in zip(sides, (-1, 1), strict=True):
            if tail is None:
                continue
            distances = [tail.distance(level) for level in LEVELS]
            step = max(float(np.diff([0.0, *distances]).min()), distances[-1] / 1000) / 2
            beyond = np.geomspace(distances[-1], tail.reach, FAR + 2)[1:-1].tolist()
            near += [short(centre + sign * place, step) for place in distances]
            far += [short(centre + sign * place, max(step, place / 50)) for place in beyond]
        return inside(self.domain, near), inside(self.domain, far)

    def _far_thresholds(self, history: History, nearer: int) -> list[Decimal]:
        """Thresholds far beyond the best range after the `nearer` rounds, if something may be found there."""
        if len(history) - nearer == FAR_ROUNDS or self.participants < least_for_far(self._worth):
            return []
        centre, *ends = self._reached(bits_of(history[:nearer]))
        _, *tails = self.sides(bits_of(history))
        thresholds: list[Decimal] = []
        for tail, sign, end in zip(tails, (-1, 1), ends, strict=True):
            distances = [] if tail is None else far_distances(tail, end, len(history) - nearer)
            thresholds += [short(centre + sign * place, place / 50) for place in distances]
        return inside(self.domain, thresholds)

    def _reached(self, bits: ThresholdBits) -> tuple[float, float, float]:
        """The centre, and how far the best range reaches on either side of it."""
        centre, *_ = self.sides(bits)
        low, high = self._best(bits)
        return centre, centre - low, high - centre

    def _best(self, bits: ThresholdBits) -> tuple[float, float]:
        """The range with the least expected error."""
        return _best(self, bits)

    def holding(self, bits: ThresholdBits, share: float) -> tuple[Decimal, Decimal]:
        """The range beyond whose ends at most this share is likely on either side, in few digits, rounded outward."""
        centre, below, above = self.sides(bits)
        left, right = (0.0 if tail is None else tail.cautious_distance(share) for tail in (below, above))
        return self._outward((centre - left, centre + right))

    def chosen(self, history: History) -> tuple[Decimal, Decimal]:
        """The range with the least expected error, in few digits, rounded outward."""
        bits, nearer = bits_of(history), self._looks(history)[0] + 1
        if len(history) <= nearer:
            return self._outward(self._best(bits))
        _, *ends = self._reached(bits_of(history[:nearer]))
        centre, below, above = self.sides(bits, (APART * ends[0], APART * ends[1]))
        left, right = best_distances(below, above, self.noise)
        return self._outward((centre - left, centre + right))

    def _outward(self, best: tuple[float, float]) -> tuple[Decimal, Decimal]:
        width = best[1] - best[0]
        low, high = (short(end, width / 50, toward=toward) for end, toward in zip(best, ("down", "up"), strict=True))
        if self.domain.whole is not None:
            low, high = low.to_integral_value("ROUND_FLOOR"), high.to_integral_value("ROUND_CEILING")
        least, most = Decimal(self.domain.low), Decimal(self.domain.high)
        low = least if float(low) <= float(least) + CLOSE * width else low
        high = most if float(high) >= float(most) - CLOSE * width else high
        return low, high

    @property
    def noise(self) -> float:
        """The standard error of the mean of the last round by noise, in units of the width."""
        unit = Interval(0, 1)
        if self.by is None:
            one = build(self.method, unit, epsilon=self.epsilon).average_variance(expected_answers(unit))
        else:  # of a group's mean, averaged over the groups
            mechanism = build(self.method, Pair(self.by, unit), epsilon=self.epsilon)
            one = mean_variance(cast(Keyed, mechanism.channel))
        left = max(1.0, (self.participants - self.searchers) * (1 - float(self.tails)))
        return sqrt(one / left)


def bits_of(looks: History) -> ThresholdBits:
    """All answers about thresholds."""
    return ThresholdBits.of(_flat(looks))


def _flat(looks: History) -> list[Tally]:
    return [tally for tallies in looks for tally in tallies]


@lru_cache(maxsize=64)
def _best(search: RangeSearchRounds, bits: ThresholdBits) -> tuple[float, float]:
    """Cached, since a protocol processes its whole history again in every round."""
    centre, below, above = search.sides(bits)
    left, right = best_distances(below, above, search.noise)
    return centre - left, centre + right
