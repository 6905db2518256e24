"""The mean of Gaussian answers on a wide range, when their deviation is unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sottovoce.core.domain import Clamp, Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.core.work import ARM_EFFORT, ROUNDS_EFFORT
from sottovoce.estimate.gaussian.gaussian import fitted
from sottovoce.estimate.gaussian.law import Likelihood
from sottovoce.protocols.effort import effort_of
from sottovoce.protocols.gaussian.known import (
    FAILURE,
    NO_SECOND,
    PHASES,
    check_enough,
    check_found,
    check_gaussian,
    check_positive,
    first_quota,
    grids,
    one_round,
)
from sottovoce.protocols.gaussian.scales import (
    MOST_SCALES,
    clipped,
    locate,
    reports_per_scale,
    scale_arms,
    short_decimal,
)

WASTE = 4.0  # the gain of a second round by knowing centre and deviation instead of the centre alone


def check_deviations(owner: str, least: object, most: object) -> tuple[Decimal, Decimal]:
    """Two limits of a deviation."""
    low, high = check_positive("sigma_min", owner, least), check_positive("sigma_max", owner, most)
    if not low < high:
        raise reject("sigma_max", owner, f"a number above sigma_min = {low}", most)
    return low, high


def guesses(least: Decimal, most: Decimal) -> list[float]:
    """Deviations between two limits, both included, each about twice as large as the one before."""
    low, high = float(least), float(most)
    count = max(1, math.ceil(math.log2(high / low)))
    return [low * (high / low) ** (i / count) for i in range(count + 1)]


def clamped(domain: Interval, centre: float, deviation: float, reach: Decimal) -> Clamp:
    """The range of a second question: `reach` deviations about the centre, within the domain, in short decimals."""
    half = float(reach) * deviation
    low, high = (clipped(short_decimal(centre + side * half, half / 10), domain) for side in (-1, 1))
    if not low < high:  # at the very end of the domain
        low, high = (clipped(short_decimal(centre + side * 2 * half, half / 10), domain) for side in (-1, 1))
    return Clamp(domain, low, high)


@dataclass(frozen=True, slots=True)
class GaussianMeanUnknownSigma(Protocol):
    """The mean of Gaussian answers whose deviation is unknown, between two limits, in two rounds.

    First round: digits at every scale from `sigma_min` to the whole range, as in `GaussianMeanKnownSigma`; they give
    rough estimates of centre and deviation. Second round: all others send their answer, clamped to `reach` deviations
    about the centre, through a mechanism for means.

    The published form clamps to more than five deviations, adds Laplace noise and takes the plain mean. Here the law of
    the reports is known for every mean and deviation, and the tallies of both rounds are read by their likelihood: so
    the range may be narrow, and the noise small, without a bias from clamping.

    `UVGausstimate` of Joseph, Kulkarni, Mao, Wu, "Locally private Gaussian estimation", NeurIPS 2019.
    """

    domain: Interval
    sigma_min: Any
    sigma_max: Any
    epsilon: Any
    participants: int
    method: str = "designed"
    reach: Any = Decimal(1)
    failure: Any = FAILURE

    def __post_init__(self) -> None:
        owner = "GaussianMeanUnknownSigma"
        epsilon, participants = check_gaussian(owner, self.domain, self.epsilon, self.participants)
        low, high = check_deviations(owner, self.sigma_min, self.sigma_max)
        if self.method not in names(Mean):
            raise reject("method", owner, f"one of {', '.join(names(Mean))}", self.method)
        plain = {"epsilon": epsilon, "participants": participants, "sigma_min": low, "sigma_max": high}
        plain["reach"] = check_positive("reach", owner, self.reach, Decimal(20))
        plain["failure"] = check_positive("failure", owner, self.failure, Decimal("0.5"))
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        check_enough(owner, self._scales(), participants, self.failure)

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    def effort(self) -> int:
        return ROUNDS_EFFORT + ARM_EFFORT * MOST_SCALES + effort_of(self.method, self.epsilon)

    def _scales(self) -> tuple[Mechanism, ...]:
        return scale_arms(self.domain, self.sigma_min, self.epsilon)

    def start(self) -> Round:
        scales = self._scales()
        quota = first_quota(scales, float(self.sigma_min), self.participants, float(self.failure), WASTE)
        return Round(tuple(Arm(f"scale {j}", scale) for j, scale in enumerate(scales)), quota=quota)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        scales, limits = self._scales(), (float(self.sigma_min), float(self.sigma_max))
        if closing and len(history) == 1:
            check_found(scales, history[0], self.failure)
        first = Likelihood.of(zip(scales, history[0], strict=True))
        rough = locate(first, scales, self.domain, guesses(self.sigma_min, self.sigma_max))
        if closing and len(history) == 1:
            return partial(fitted(first, rough, self.domain, limits), NO_SECOND)
        number = build(self.method, clamped(self.domain, *rough, self.reach), epsilon=self.epsilon)
        if len(history) == 1:
            return Round((Arm("number", number),))
        likelihood = Likelihood.of(zip((*scales, number), (*history[0], *history[1]), strict=True))
        return fitted(likelihood, likelihood.climb(*rough, limits), self.domain, limits)


@dataclass(frozen=True, slots=True)
class GaussianMeanUnknownSigmaOneRound(Protocol):
    """The mean of Gaussian answers whose deviation is unknown, between two limits, in one round.

    Some participants are asked for digits at every scale; the others, for each guess of the deviation from `sigma_min`
    to `sigma_max` in steps of two, where they lie within the cells of a grid that fits the guess: no centre is needed.
    Only the arms near the true deviation are informative; that multiplies the participants by the number of guesses, in
    the published bound as well as here.

    The published form sends the distance from the nearest grid point with Laplace noise, on grids as wide as eight
    deviations or more, and reads one arm only. Here the place in the cell is sent as one of a few digits, and all arms
    are read by their likelihood.

    `1RoundUVGausstimate` of Joseph, Kulkarni, Mao, Wu, "Locally private Gaussian estimation", NeurIPS 2019.
    """

    domain: Interval
    sigma_min: Any
    sigma_max: Any
    epsilon: Any
    participants: int
    failure: Any = FAILURE

    def __post_init__(self) -> None:
        owner = "GaussianMeanUnknownSigmaOneRound"
        epsilon, participants = check_gaussian(owner, self.domain, self.epsilon, self.participants)
        low, high = check_deviations(owner, self.sigma_min, self.sigma_max)
        plain = {"epsilon": epsilon, "participants": participants, "sigma_min": low, "sigma_max": high}
        plain["failure"] = check_positive("failure", owner, self.failure, Decimal("0.5"))
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        check_enough(owner, scale_arms(self.domain, low, epsilon), participants, self.failure)

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    def effort(self) -> int:
        guessed = math.ceil(math.log2(float(self.sigma_max) / float(self.sigma_min)))
        return ROUNDS_EFFORT + ARM_EFFORT * (MOST_SCALES + PHASES * max(1, guessed))

    def arms(self) -> tuple[tuple[Mechanism, ...], tuple[Mechanism, ...]]:
        """Scales, and shifted grids for each guess of the deviation."""
        scales = scale_arms(self.domain, self.sigma_min, self.epsilon)
        count = max(1, math.ceil(math.log2(float(self.sigma_max) / float(self.sigma_min))))
        each = (float(self.sigma_max) / float(self.sigma_min)) ** (1 / count)
        middles = (float(self.sigma_min) * each ** (i + 0.5) for i in range(count))
        short = [short_decimal(middle, middle / 10) for middle in middles]
        return scales, tuple(grid for guess in short for grid in grids(self.domain, guess, self.epsilon))

    def start(self) -> Round:
        scales, shifted = self.arms()
        each = reports_per_scale(scales[0], len(scales), float(self.failure))
        return one_round(scales, shifted, min(self.participants // 2, each * len(scales)), self.participants)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        scales, shifted = self.arms()
        if closing:
            check_found(scales, history[0][: len(scales)], self.failure)
        likelihood = Likelihood.of(zip((*scales, *shifted), history[0], strict=True))
        top = locate(likelihood, scales, self.domain, guesses(self.sigma_min, self.sigma_max))
        return fitted(likelihood, top, self.domain, (float(self.sigma_min), float(self.sigma_max)))
