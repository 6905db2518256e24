"""The mean of Gaussian answers on a wide range, when their deviation is known."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core.domain import Above, Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Frequency
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Arm, Estimates
from sottovoce.estimate.gaussian.gaussian import from_side
from sottovoce.estimate.gaussian.law import Likelihood
from sottovoce.protocols.gaussian.base import FAILURE, GaussianMean, Way, check_positive
from sottovoce.protocols.gaussian.delta import HistogramRounds
from sottovoce.protocols.gaussian.digits import OneRound, TwoRounds, grids
from sottovoce.protocols.gaussian.scales import clipped, short_decimal
from sottovoce.tally.tally import Tally


@dataclass(frozen=True, slots=True)
class GaussianMeanKnownSigma(GaussianMean):
    """Estimate the mean of normally distributed answers whose standard deviation is known, in a range of any width.

    The interval is valid for normal answers only.

    Args:
        domain: The widest possible range; a wide one costs little.
        sigma: The known standard deviation of the answers.
        epsilon: The privacy budget of one participant; each answers once.
        participants: How many people are expected.
        rounds: 2, or 1 where nobody can be asked later.
        delta: The delta of an approximate guarantee, for the variant with Gaussian noise. Default: pure.
        oracle: The frequency mechanism of the first round of the variant with a delta.
        reach: How many standard deviations around the centre answers are clamped to, in the variant with a delta.
        failure: The accepted probability that the first round chooses a wrong place.

    Examples:
        >>> import random
        >>> draw = random.Random(1)
        >>> protocol = sv.GaussianMeanKnownSigma(sv.Interval(-1000, 1000), sigma=2, epsilon=2, participants=4000)
        >>> estimates = sv.simulate(protocol, [draw.gauss(170, 2) for _ in range(4000)], seed=1)
        >>> round(estimates["mean"].value)
        170

    See also:
        `GaussianMeanUnknownSigma` where the standard deviation is unknown, `RangeSearchMean` for any distribution.

    Two rounds. First: each participant is put at one scale and sends floor(x / width) mod 4 through randomized
    response; the widths are `sigma` and its doubles, up to the whole range. The analyst follows the digits from the
    coarsest scale to the finest. Second: all others say whether they are above the estimated centre, through randomized
    response, and the share above is turned into the mean by the inverse of the normal distribution function. The
    published walk stops when the largest count falls below 0.52 k + psi, and its bounds need thousands of participants
    at each scale. Here the digits of all scales are read by their likelihood, for which some hundred are enough. The
    interval uses the second round only, so it holds for every threshold of the first.

    One round. No threshold is known, so each participant says on which side of the nearest threshold of a grid the
    answer lies, or, with a large budget, in which third or quarter of a cell. Grids of several arms are shifted against
    each other. The published form has a grid every fifth of a standard deviation, five times the square root of ln(4 n)
    or more in all, and reads the one arm whose grid fits best. Here all arms are read together, by their likelihood: a
    few shifts are enough, and the variance is about twice that of two rounds, not forty times.

    With a delta. First round: in which bin of width `sigma` an answer lies, through the frequency `oracle`. Second
    round: all others send their answer, clamped, with Gaussian noise whose delta is computed exactly. The published
    form flips each bit of the histogram with half of epsilon, takes the fullest bin, clamps to about seven standard
    deviations, and takes noise by the bound sqrt(2 ln(2 / delta)) / epsilon; its first round alone needs more than
    10,000 participants. Here bins are compared with the shape of a normal distribution, and the likelihood accounts for
    clamping.

    Reference: `KVGausstimate` and `1RoundKVGausstimate` of Joseph, Kulkarni, Mao, Wu, "Locally private Gaussian
    estimation", NeurIPS 2019; `KnownVar` of Gaboardi, Rogers, Sheffet, "Locally private mean estimation: Z-test and
    tight confidence intervals", AISTATS 2019.
    """

    limits: ClassVar[None] = None

    domain: Interval
    sigma: Any
    epsilon: Any
    participants: int
    rounds: int = 2
    delta: Any = None
    oracle: str = "oue"
    reach: Any = Decimal(1)
    failure: Any = FAILURE

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if self.oracle not in names(Frequency):
            raise reject("oracle", owner, f"one of {', '.join(names(Frequency))}", self.oracle)
        self.check(sigma=check_positive("sigma", owner, self.sigma))

    @property
    def way(self) -> Way:
        if self.delta is not None:
            return HistogramRounds(self, self.oracle)
        return OneRound(self) if self.rounds == 1 else TwoRounds(self, enough=False)

    @property
    def finest(self) -> Decimal:
        deviation: Decimal = self.sigma
        return deviation

    def guesses(self) -> list[float]:
        return [float(self.sigma)]

    def grids(self) -> tuple[Mechanism, ...]:
        return grids(self.domain, self.sigma, self.epsilon)

    def second(self, rough: tuple[float, float]) -> Arm:
        threshold = clipped(short_decimal(rough[0], float(self.sigma) / 10), self.domain)
        return Arm("side", build("rr", Above(self.domain, threshold), epsilon=self.epsilon))

    def estimates(self, last: Tally, every: Likelihood, rough: tuple[float, float]) -> Estimates:
        return {"mean": from_side(last.mechanism, last, float(self.sigma), self.domain, every)}
