"""The mean of Gaussian answers on a wide range, when their deviation is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.core.domain import Above, Digit, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, check_integer, reject
from sottovoce.core.question import Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, Tallies, partial, reports_of
from sottovoce.core.work import ARM_EFFORT, ROUNDS_EFFORT
from sottovoce.estimate.gaussian.gaussian import fitted, from_side
from sottovoce.estimate.gaussian.law import Likelihood, informed
from sottovoce.protocols.gaussian.scales import (
    MOST_SCALES,
    clipped,
    locate,
    reports_per_scale,
    scale_arms,
    short_decimal,
)

FAILURE = Decimal("0.001")
PERIOD = "6.5"  # of the thresholds of one round, in deviations: measured best for every budget
PHASES = 4
BASES = (2, 3, 4, 6)
NO_SECOND = "Closed early: the second round has no reports, and digits alone give a less precise mean."
_CONTEXT = Context(prec=60)


def check_gaussian(owner: str, domain: object, epsilon: object, participants: object) -> tuple[Decimal, int]:
    """The question of all protocols for Gaussian answers."""
    if not isinstance(domain, Interval):
        raise reject("domain", owner, "an Interval in which every answer lies, as wide as it may be", domain)
    return check_epsilon(owner, epsilon), check_integer("participants", owner, participants, 100, 1 << 53)


def check_positive(name: str, owner: str, value: object, most: Decimal | None = None) -> Decimal:
    """A deviation, or a probability."""
    number = check_decimal(name, owner, value)
    if not number > 0 or (most is not None and not number <= most):
        raise reject(name, owner, "a number above 0" + ("" if most is None else f", at most {most}"), value)
    return number


@lru_cache(maxsize=64)
def first_quota(
    scales: tuple[Mechanism, ...], deviation: float, participants: int, failure: float, waste: float = 1.0
) -> int:
    """How many participants are asked for digits, half of all at most.

    As many as find the place almost surely; or more, if the second question gains more by a better threshold than it
    loses by fewer answers: its variance grows by about `waste` times the square of the threshold's error in deviations.
    """
    each = reports_per_scale(scales[0], len(scales), failure)
    info = sum(_information(scale, deviation) for scale in scales[:4]) * deviation**2
    # Far below the finest scale the digits have almost no information about the threshold.
    better = math.isqrt(int(waste * participants / info / len(scales))) if info > 1e-12 else 0
    return min(participants // 2, len(scales) * max(each, better))


def check_enough(owner: str, scales: tuple[Mechanism, ...], participants: int, failure: Decimal) -> None:
    """At least half of the participants must be left for the second question."""
    needed = 2 * len(scales) * reports_per_scale(scales[0], len(scales), float(failure))
    if participants < needed:
        raise ParameterError(
            f"{owner} needs at least {needed} participants for a range this wide at this epsilon: half of them at most"
            f" are asked for digits of {len(scales)} scales. Got {participants}."
        )


def check_found(scales: tuple[Mechanism, ...], tallies: Tallies, failure: Decimal) -> None:
    """Closing early needs enough digits: with fewer the place may be wrong, and intervals would not hold."""
    needed = len(scales) * reports_per_scale(scales[0], len(scales), float(failure))
    if reports_of(tallies) < needed or not all(tally.n for tally in tallies):
        raise ParameterError(
            f"Nothing can be estimated yet: the place of the answers needs at least {needed} reports of digits, some at"
            f" each of {len(scales)} scales. Got {reports_of(tallies)}."
        )


def _information(mechanism: Mechanism, deviation: float) -> float:
    """The information of one report about the mean, averaged over where it may lie in a cell."""
    view = mechanism.domain
    places = float(view.origin) + float(view.width) * np.arange(6) / 6 if isinstance(view, Digit) else np.zeros(1)
    return float(np.mean([informed([(mechanism, 1.0)], place, deviation)[0, 0] for place in places.tolist()]))


@dataclass(frozen=True, slots=True)
class GaussianMeanKnownSigma(Protocol):
    """The mean of Gaussian answers with a known deviation, in two rounds.

    First round: each participant is put at one scale and sends floor(x / width) mod 4 through randomized response; the
    widths are `sigma` and its doubles, up to the whole range. The analyst follows the digits from the coarsest scale to
    the finest. Second round: all others say whether they are above the place that was found, through randomized
    response, and the share above is turned into the mean by the inverse of the normal distribution function.

    The published walk stops when the largest count falls below 0.52 k + psi, and its bounds need thousands of
    participants at each scale; here the digits of all scales are read by their likelihood, for which some hundred are
    enough. The interval takes the second round only, so it holds for every threshold of the first.

    `KVGausstimate` of Joseph, Kulkarni, Mao, Wu, "Locally private Gaussian estimation", NeurIPS 2019.
    """

    domain: Interval
    sigma: Any
    epsilon: Any
    participants: int
    failure: Any = FAILURE

    def __post_init__(self) -> None:
        owner = "GaussianMeanKnownSigma"
        epsilon, participants = check_gaussian(owner, self.domain, self.epsilon, self.participants)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "participants", participants)
        object.__setattr__(self, "sigma", check_positive("sigma", owner, self.sigma))
        object.__setattr__(self, "failure", check_positive("failure", owner, self.failure, Decimal("0.5")))

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    def effort(self) -> int:
        return ROUNDS_EFFORT + ARM_EFFORT * MOST_SCALES

    def _scales(self) -> tuple[Mechanism, ...]:
        return scale_arms(self.domain, self.sigma, self.epsilon)

    def start(self) -> Round:
        scales, deviation = self._scales(), float(self.sigma)
        quota = first_quota(scales, deviation, self.participants, float(self.failure))
        return Round(tuple(Arm(f"scale {j}", scale) for j, scale in enumerate(scales)), quota=quota)

    def second(self, history: History) -> Mechanism:
        """The question of the second round: above or below the place that the first round found."""
        scales, deviation = self._scales(), float(self.sigma)
        likelihood = Likelihood.of(zip(scales, history[0], strict=True), known=deviation)
        place, _ = locate(likelihood, scales, self.domain, [deviation])
        threshold = clipped(short_decimal(place, deviation / 10), self.domain)
        return build("rr", Above(self.domain, threshold), epsilon=self.epsilon)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        if closing and len(history) == 1:
            scales, deviation = self._scales(), float(self.sigma)
            check_found(scales, history[0], self.failure)
            digits = Likelihood.of(zip(scales, history[0], strict=True), known=deviation)
            top = locate(digits, scales, self.domain, [deviation])
            return partial(fitted(digits, top, self.domain), NO_SECOND)
        side = self.second(history)
        if len(history) == 1:
            return Round((Arm("side", side),))
        (tally,) = history[1]
        asked, counted = (*self._scales(), side), (*history[0], tally)
        every = Likelihood.of(zip(asked, counted, strict=True), known=float(self.sigma))
        return {"mean": from_side(side, tally, float(self.sigma), self.domain, every)}


@dataclass(frozen=True, slots=True)
class GaussianMeanKnownSigmaOneRound(Protocol):
    """The mean of Gaussian answers with a known deviation, in one round.

    Some participants are asked for digits as in `GaussianMeanKnownSigma`. No threshold is known for the others, so each
    is asked on which side of the nearest threshold of a whole grid it lies, or, with a large budget, in which third or
    quarter of the way from one to the next; grids of several arms are shifted against each other.

    The published form has a grid every fifth of a deviation, five times the square root of ln(4 n) or more in all, and
    reads the one arm whose grid fits best. Here all arms are read together, by their likelihood: a few shifts are
    enough, and the variance is about twice that of two rounds instead of forty times.

    `1RoundKVGausstimate` of Joseph, Kulkarni, Mao, Wu, "Locally private Gaussian estimation", NeurIPS 2019.
    """

    domain: Interval
    sigma: Any
    epsilon: Any
    participants: int
    failure: Any = FAILURE

    def __post_init__(self) -> None:
        GaussianMeanKnownSigma.__post_init__(self)  # type: ignore[arg-type]
        scales = scale_arms(self.domain, self.sigma, self.epsilon)
        check_enough("GaussianMeanKnownSigmaOneRound", scales, self.participants, self.failure)

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    def effort(self) -> int:
        return ROUNDS_EFFORT + ARM_EFFORT * MOST_SCALES

    def arms(self) -> tuple[tuple[Mechanism, ...], tuple[Mechanism, ...]]:
        """Scales, and shifted grids."""
        scales = scale_arms(self.domain, self.sigma, self.epsilon)
        return scales, grids(self.domain, self.sigma, self.epsilon)

    def start(self) -> Round:
        scales, shifted = self.arms()
        each = reports_per_scale(scales[0], len(scales), float(self.failure))
        quota = min(self.participants // 2, each * len(scales))
        return one_round(scales, shifted, quota, self.participants)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        scales, shifted = self.arms()
        if closing:
            check_found(scales, history[0][: len(scales)], self.failure)
        likelihood = Likelihood.of(zip((*scales, *shifted), history[0], strict=True), known=float(self.sigma))
        top = locate(likelihood, scales, self.domain, [float(self.sigma)])
        return fitted(likelihood, top, self.domain)


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


def one_round(scales: tuple[Mechanism, ...], shifted: tuple[Mechanism, ...], quota: int, participants: int) -> Round:
    """One round of scales, for about `quota` participants, and of grids for all others."""
    unit = 1 << 16
    share = quota / participants
    arms = [Arm(f"scale {j}", m, max(1, round(unit * share / len(scales)))) for j, m in enumerate(scales)]
    arms += [Arm(f"grid {j}", m, max(1, round(unit * (1 - share) / len(shifted)))) for j, m in enumerate(shifted)]
    return Round(tuple(arms))
