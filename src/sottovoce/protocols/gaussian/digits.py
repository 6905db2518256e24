"""Gaussian means by digits at several scales, in two rounds or in one."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from functools import lru_cache

import numpy as np

from sottovoce.core.domain import Digit, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Arm, Estimates, History, Round, Tallies, partial, reports_of
from sottovoce.core.spec_cost import ARM_EFFORT, ROUNDS_EFFORT
from sottovoce.estimate.gaussian.gaussian import fitted
from sottovoce.estimate.gaussian.law import Likelihood, informed
from sottovoce.protocols.gaussian.base import GaussianMean, Way
from sottovoce.protocols.gaussian.scales import MOST_SCALES, locate, reports_per_scale

PERIOD = "6.5"  # of the thresholds of one round, in deviations: measured best for every budget
PHASES = 4
BASES = (2, 3, 4, 6)
NO_SECOND = "Closed early: the second round has no reports, and digits alone give a less precise mean."
_CONTEXT = Context(prec=60)


class Digits(Way):
    """Digits of some participants at each scale tell the place; all others are asked a better question.

    `more` is the effort beside that of the scales.
    """

    def __init__(self, protocol: GaussianMean, more: int = 0, *, enough: bool = True) -> None:
        super().__init__(protocol)
        self._more, self._enough = more, enough

    @property
    def needed(self) -> int:
        """How many reports of digits find the place almost surely."""
        scales = self.protocol.scales()
        return len(scales) * reports_per_scale(scales[0], len(scales), float(self.protocol.failure))

    def check(self) -> None:
        owner, count = type(self.protocol).__name__, self.protocol.participants
        if self._enough and count < 2 * self.needed:
            raise ParameterError(
                f"{owner} needs at least {2 * self.needed} participants for a range this wide at this epsilon: half of"
                f" them at most are asked for digits of {len(self.protocol.scales())} scales. Got {count}."
            )

    def effort(self) -> int:
        return ROUNDS_EFFORT + ARM_EFFORT * MOST_SCALES + self._more

    def check_found(self, tallies: Tallies) -> None:
        """Closing early needs enough digits: with fewer the place may be wrong, and intervals would not hold."""
        if reports_of(tallies) < self.needed or not all(tally.n for tally in tallies):
            raise ParameterError(
                f"Nothing can be estimated yet: the place of the answers needs at least {self.needed} reports of"
                f" digits, some at each of {len(self.protocol.scales())} scales. Got {reports_of(tallies)}."
            )


class TwoRounds(Digits):
    """First round: digits. Second round: all others are asked about the place that was found."""

    def start(self) -> Round:
        own, scales = self.protocol, self.protocol.scales()
        quota = first_quota(scales, float(own.finest), own.participants, float(own.failure), own.waste)
        return Round(tuple(Arm(f"scale {j}", scale) for j, scale in enumerate(scales)), quota=quota)

    def advance(self, history: History, closing: bool) -> Round | Estimates:
        own, scales, early = self.protocol, self.protocol.scales(), closing and len(history) == 1
        if early:
            self.check_found(history[0])
        digits = Likelihood.of(zip(scales, history[0], strict=True), known=own.known)
        rough = locate(digits, scales, own.domain, own.guesses())
        if early:
            return partial(fitted(digits, rough, own.domain, own.limits), NO_SECOND)
        arm = own.second(rough)
        if len(history) == 1:
            return Round((arm,))
        (last,) = history[1]
        every = Likelihood.of(zip((*scales, arm.mechanism), (*history[0], last), strict=True), known=own.known)
        return own.estimates(last, every, rough)


class OneRound(Digits):
    """Some participants are asked for digits, all others where they lie within the cells of shifted grids."""

    def start(self) -> Round:
        scales, shifted = self.protocol.scales(), self.protocol.grids()
        unit, share = 1 << 16, min(self.protocol.participants // 2, self.needed) / self.protocol.participants
        arms = [Arm(f"scale {j}", m, max(1, round(unit * share / len(scales)))) for j, m in enumerate(scales)]
        arms += [Arm(f"grid {j}", m, max(1, round(unit * (1 - share) / len(shifted)))) for j, m in enumerate(shifted)]
        return Round(tuple(arms))

    def advance(self, history: History, closing: bool) -> Round | Estimates:
        own, scales = self.protocol, self.protocol.scales()
        if closing:
            self.check_found(history[0][: len(scales)])
        asked = zip((*scales, *own.grids()), history[0], strict=True)
        likelihood = Likelihood.of(asked, known=own.known)
        return fitted(likelihood, locate(likelihood, scales, own.domain, own.guesses()), own.domain, own.limits)


@lru_cache(maxsize=64)
def first_quota(
    scales: tuple[Mechanism, ...], deviation: float, participants: int, failure: float, waste: float = 1.0
) -> int:
    """How many participants are asked for digits, half of all at most.

    As many as find the place almost surely; or more, if the second question gains more by a better threshold than it
    loses by fewer answers: its variance grows by about `waste` times the square of the threshold's error in deviations.
    """
    enough = reports_per_scale(scales[0], len(scales), failure)
    info = sum(_information(scale, deviation) for scale in scales[:4]) * deviation**2
    # Far below the finest scale the digits have almost no information about the threshold.
    better = math.isqrt(int(waste * participants / info / len(scales))) if info > 1e-12 else 0
    return min(participants // 2, len(scales) * max(enough, better))


def _information(mechanism: Mechanism, deviation: float) -> float:
    """The information of one report about the mean, averaged over where it may lie in a cell."""
    view = mechanism.domain
    places = float(view.origin) + float(view.width) * np.arange(6) / 6 if isinstance(view, Digit) else np.zeros(1)
    return float(np.mean([informed([(mechanism, 1.0)], place, deviation)[0, 0] for place in places.tolist()]))


def grids(domain: Interval, deviation: Decimal, epsilon: Decimal) -> tuple[Mechanism, ...]:
    """Thresholds a period apart, with enough shifts that all places are equally good."""
    base = best_base(epsilon)
    width = _short(_CONTEXT.divide(_CONTEXT.multiply(deviation, Decimal(PERIOD)), Decimal(base)), deviation)
    shifts = (_CONTEXT.divide(_CONTEXT.multiply(width, Decimal(i)), Decimal(PHASES)) for i in range(PHASES))
    views = (Digit(domain, width, base, _short(_CONTEXT.add(domain.low, shift), deviation)) for shift in shifts)
    return tuple(build("grr", view, epsilon=epsilon) for view in views)


def _short(number: Decimal, deviation: Decimal) -> Decimal:
    """A decimal with no more places than a thousandth of a deviation needs."""
    return number.quantize(Decimal(1).scaleb(deviation.adjusted() - 3), context=Context(prec=130))


@lru_cache(maxsize=64)
def best_base(epsilon: Decimal) -> int:
    """The number of cells of a period with the most information about the mean, on average over all places."""
    line = Interval(-100, 100)

    def information(base: int) -> float:
        width = Decimal(PERIOD) / base
        return _information(build("grr", Digit(line, _short(width, Decimal(1)), base), epsilon=epsilon), 1.0)

    return max(BASES, key=information)
