"""The mean of Gaussian answers on a wide range, when their deviation is known."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

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
    """The mean of Gaussian answers with a known deviation, in two rounds, in one, or with a delta.

    Two rounds. First: each participant is put at one scale and sends floor(x / width) mod 4 through randomized
    response; the widths are `sigma` and its doubles, up to the whole range. The analyst follows the digits from the
    coarsest scale to the finest. Second: all others say whether they are above the place that was found, through
    randomized response, and the share above is turned into the mean by the inverse of the normal distribution function.
    The published walk stops when the largest count falls below 0.52 k + psi, and its bounds need thousands of
    participants at each scale; here the digits of all scales are read by their likelihood, for which some hundred are
    enough. The interval takes the second round only, so it holds for every threshold of the first.

    `rounds=1`. No threshold is known for the others, so each is asked on which side of the nearest threshold of a whole
    grid it lies, or, with a large budget, in which third or quarter of the way from one to the next; grids of several
    arms are shifted against each other. The published form has a grid every fifth of a deviation, five times the square
    root of ln(4 n) or more in all, and reads the one arm whose grid fits best. Here all arms are read together, by
    their likelihood: a few shifts are enough, and the variance is about twice that of two rounds, not forty times.

    `delta=`. First round: in which bin of width `sigma` of the whole domain an answer lies, through the frequency
    `oracle`. Second round: all others send their answer, clamped to `reach` deviations about the place that was found,
    with Gaussian noise whose delta is computed exactly. The published form flips each bit of the histogram with half of
    epsilon, takes the fullest bin, clamps to about seven deviations, and takes noise by the bound
    sqrt(2 ln(2 / delta)) / epsilon; its first round alone needs more than 10,000 participants. Here bins are compared
    with the shape of a normal distribution, and the likelihood accounts for clamping.

    `KVGausstimate` and `1RoundKVGausstimate` of Joseph, Kulkarni, Mao, Wu, "Locally private Gaussian estimation",
    NeurIPS 2019; `KnownVar` of Gaboardi, Rogers, Sheffet, "Locally private mean estimation: Z-test and tight confidence
    intervals", AISTATS 2019.
    """

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

    @property
    def limits(self) -> None:
        return None

    def guesses(self) -> list[float]:
        return [float(self.sigma)]

    def grids(self) -> tuple[Mechanism, ...]:
        return grids(self.domain, self.sigma, self.epsilon)

    def second(self, rough: tuple[float, float]) -> Arm:
        threshold = clipped(short_decimal(rough[0], float(self.sigma) / 10), self.domain)
        return Arm("side", build("rr", Above(self.domain, threshold), epsilon=self.epsilon))

    def estimates(self, last: Tally, every: Likelihood, rough: tuple[float, float]) -> Estimates:
        return {"mean": from_side(last.mechanism, last, float(self.sigma), self.domain, every)}
