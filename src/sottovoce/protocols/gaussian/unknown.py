"""The mean of Gaussian answers on a wide range, when their deviation is unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Arm, Estimates
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.estimate.gaussian.gaussian import fitted
from sottovoce.estimate.gaussian.law import Likelihood
from sottovoce.protocols.effort import effort_of
from sottovoce.protocols.gaussian.base import FAILURE, GaussianMean, Way, check_positive, clamped
from sottovoce.protocols.gaussian.delta import SearchRounds
from sottovoce.protocols.gaussian.digits import PHASES, OneRound, TwoRounds, grids
from sottovoce.protocols.gaussian.scales import short_decimal
from sottovoce.tally.tally import Tally


@dataclass(frozen=True, slots=True)
class GaussianMeanUnknownSigma(GaussianMean):
    """Estimate the mean of normally distributed answers whose standard deviation lies between two limits.

    The interval is valid for normal answers only.

    Args:
        domain: The widest possible range; a wide one costs little.
        sigma_min: The smallest possible standard deviation.
        sigma_max: The largest possible standard deviation.
        epsilon: The privacy budget of one participant; each answers once.
        participants: How many people are expected.
        rounds: 2, or 1 where nobody can be asked later.
        delta: The delta of an approximate guarantee, for the variant with Gaussian noise. Default: pure.
        method: The mechanism for means of the second round.
        reach: How many standard deviations around the centre answers are clamped to.
        failure: The accepted probability that the first round chooses a wrong place.

    Examples:
        >>> import random
        >>> draw = random.Random(1)
        >>> protocol = sv.GaussianMeanUnknownSigma(sv.Interval(-1000, 1000), 1, 20, epsilon=2, participants=4000)
        >>> estimates = sv.simulate(protocol, [draw.gauss(170, 2) for _ in range(4000)], seed=1)
        >>> sorted(estimates), round(estimates["mean"].value)
        (['deviation', 'mean'], 170)

    See also:
        `GaussianMeanKnownSigma` where the standard deviation is known, `RangeSearchMean` for any distribution.

    Two rounds. First: digits at every scale from `sigma_min` to the whole range, as in `GaussianMeanKnownSigma`; they
    give rough estimates of centre and standard deviation. Second: all others send their answer, clamped around the
    centre, through `method`. The published form clamps to more than five standard deviations, adds Laplace noise and
    takes the plain mean. Here the law of the reports is known for every mean and standard deviation, and the tallies of
    both rounds are read by their likelihood. The range may therefore be narrow, and the noise small, without a bias.

    One round. For each guess of the standard deviation, from `sigma_min` to `sigma_max` in steps of two, participants
    say where they lie within the cells of a grid that fits the guess. Only the arms near the true standard deviation
    are informative; that multiplies the participants by the number of guesses, in the published bound as well as here.
    The published form sends the distance from the nearest grid point with Laplace noise, on grids as wide as eight
    standard deviations or more, and reads one arm only. Here the place in the cell is one of a few digits, and all arms
    are read by their likelihood.

    With a delta. Some 25 rounds of one bit each: is the answer above a threshold? The median is searched for by halves
    of the domain, until they are as short as `sigma_min`; then the standard deviation, by halves of the orders of
    magnitude from `sigma_min` to `sigma_max`, as the distance above the median that leaves 15.9 % above. All others
    then send their answer, clamped around the median, with Gaussian noise whose delta is computed exactly. The
    published searches take thousands of participants in each round. Here a round only has to distinguish shares near
    one from shares near zero, since a threshold near the median is good on either side; and the likelihood uses the
    reports of all rounds in the end.

    Reference: `UVGausstimate` and `1RoundUVGausstimate` of Joseph, Kulkarni, Mao, Wu, "Locally private Gaussian
    estimation", NeurIPS 2019; `UnkVar` of Gaboardi, Rogers, Sheffet, "Locally private mean estimation: Z-test and tight
    confidence intervals", AISTATS 2019.
    """

    domain: Interval
    sigma_min: Any
    sigma_max: Any
    epsilon: Any
    participants: int
    rounds: int = 2
    delta: Any = None
    method: str = "designed"
    reach: Any = Decimal(1)
    failure: Any = FAILURE
    waste: ClassVar[float] = 4.0  # knowing centre and deviation gains more than knowing the centre alone

    def __post_init__(self) -> None:
        owner = type(self).__name__
        low, high = (check_positive(name, owner, getattr(self, name)) for name in ("sigma_min", "sigma_max"))
        if not low < high:
            raise reject("sigma_max", owner, f"a number above sigma_min = {low}", self.sigma_max)
        if self.method not in names(Mean):
            raise reject("method", owner, f"one of {', '.join(names(Mean))}", self.method)
        self.check(sigma_min=low, sigma_max=high)

    @property
    def way(self) -> Way:
        if self.delta is not None:
            return SearchRounds(self, self.sigma_max)
        if self.rounds == 1:
            return OneRound(self, ARM_EFFORT * PHASES * self._steps)
        return TwoRounds(self, effort_of(self.method, self.epsilon))

    @property
    def finest(self) -> Decimal:
        least: Decimal = self.sigma_min
        return least

    @property
    def limits(self) -> tuple[float, float]:
        return float(self.sigma_min), float(self.sigma_max)

    @property
    def _steps(self) -> int:
        """How often the deviation doubles between its limits."""
        low, high = self.limits
        return max(1, math.ceil(math.log2(high / low)))

    def guesses(self) -> list[float]:
        """Deviations between both limits, which are included, each about twice as large as the one before."""
        low, high = self.limits
        return [low * (high / low) ** (i / self._steps) for i in range(self._steps + 1)]

    def grids(self) -> tuple[Mechanism, ...]:
        low, high = self.limits
        factor = (high / low) ** (1 / self._steps)
        middles = (low * factor ** (i + 0.5) for i in range(self._steps))
        short = [short_decimal(middle, middle / 10) for middle in middles]
        return tuple(grid for guess in short for grid in grids(self.domain, guess, self.epsilon))

    def second(self, rough: tuple[float, float]) -> Arm:
        return Arm("number", build(self.method, clamped(self.domain, *rough, self.reach), epsilon=self.epsilon))

    def estimates(self, last: Tally, every: Likelihood, rough: tuple[float, float]) -> Estimates:
        return fitted(every, every.climb(*rough, self.limits), self.domain, self.limits)
