"""The mean of Gaussian answers by Gaussian noise, with an exact delta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sottovoce.core.channel import Rates
from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Above, Digit, Domain, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Frequency, Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.core.work import ARM_EFFORT, ROUNDS_EFFORT
from sottovoce.estimate.gaussian.gaussian import fitted
from sottovoce.estimate.gaussian.law import Likelihood
from sottovoce.mechanisms.mean.gaussian import build as gaussian
from sottovoce.mechanisms.mean.gaussian import check_delta
from sottovoce.protocols.gaussian.known import FAILURE, check_gaussian, check_positive
from sottovoce.protocols.gaussian.scales import clipped, short_decimal
from sottovoce.protocols.gaussian.unknown import check_deviations, clamped
from sottovoce.protocols.ranges.thresholds import above_thresholds

Floats = NDArray[np.float64]

MOST_BINS = 1 << 14
OUTSIDE = float(ndtr(-1))  # the share of normal answers that are more than one deviation above the mean
_PLACES = np.arange(-0.5, 0.5, 0.125)  # within a bin, at which a mean is tried
_KERNEL = np.arange(-4, 5)
NOISE_EFFORT = 1 << 19  # to find the least noise whose exact delta is kept, at any budget
_APART = 0.15  # by how much the share above differs if the assumed deviation is half or twice the true one


@dataclass(frozen=True, slots=True)
class GaussianMeanKnownSigmaDelta(Protocol):
    """The mean of Gaussian answers with a known deviation, by a histogram and Gaussian noise: (epsilon, delta).

    First round: in which bin of width `sigma` of the whole domain an answer lies, through a frequency oracle. Second
    round: all others send their answer, clamped to `reach` deviations about the place that was found, with Gaussian
    noise whose delta is computed exactly.

    The published form flips each bit of the histogram with half of epsilon, takes the fullest bin, clamps to about
    seven deviations, and takes noise by the bound sqrt(2 ln(2 / delta)) / epsilon; its first round alone needs more
    than 10,000 participants. Here bins are compared with the shape of a normal distribution, and the likelihood
    accounts for clamping. The interval takes the second round only.

    `KnownVar` of Gaboardi, Rogers, Sheffet, "Locally private mean estimation: Z-test and tight confidence
    intervals", AISTATS 2019.
    """

    domain: Interval
    sigma: Any
    epsilon: Any
    delta: Any
    participants: int
    oracle: str = "oue"
    reach: Any = Decimal(1)
    failure: Any = FAILURE

    def __post_init__(self) -> None:
        owner = "GaussianMeanKnownSigmaDelta"
        epsilon, participants = check_gaussian(owner, self.domain, self.epsilon, self.participants)
        if self.oracle not in names(Frequency):
            raise reject("oracle", owner, f"one of {', '.join(names(Frequency))}", self.oracle)
        plain: dict[str, Any] = {"epsilon": epsilon, "participants": participants}
        plain["sigma"] = check_positive("sigma", owner, self.sigma)
        plain["delta"] = check_delta(owner, self.delta)
        plain["reach"] = check_positive("reach", owner, self.reach, Decimal(20))
        plain["failure"] = check_positive("failure", owner, self.failure, Decimal("0.5"))
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        bins = math.ceil((self.domain.high - self.domain.low) / self.sigma) + 1
        if bins > MOST_BINS:
            raise ParameterError(
                f"The histogram of {owner} would have {bins} bins of one deviation, more than {MOST_BINS}:"
                " GaussianMeanKnownSigma asks for digits instead."
            )

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    def effort(self) -> int:
        return ROUNDS_EFFORT + NOISE_EFFORT

    def histogram(self) -> Mechanism:
        """The question of the first round."""
        bins = math.ceil((self.domain.high - self.domain.low) / self.sigma) + 1
        return build(self.oracle, Digit(self.domain, self.sigma, max(bins, 2), self.domain.low), epsilon=self.epsilon)

    def start(self) -> Round:
        histogram = self.histogram()
        shape = _shape(np.zeros(1))[0]
        noise = histogram.variance(np.full(histogram.cells, 1 / histogram.cells), 1)[0]
        # To distinguish two sums over bins weighted by the shape: Chernoff's bound for the difference, for all places.
        each = 4 * math.log(histogram.cells / float(self.failure)) * float(noise) / float(np.dot(shape, shape))
        return Round((Arm("bin", histogram),), quota=min(self.participants // 2, math.ceil(each)))

    def place(self, history: History) -> float:
        """The mean whose shape fits the histogram best."""
        (tally,) = history[0]
        shares = self.histogram().estimate(tally).values
        fits = np.stack([np.correlate(shares, row, mode="same") for row in _shape(_PLACES)])
        where, bin_number = np.unravel_index(int(np.argmax(fits)), fits.shape)
        return float(self.domain.low) + float(self.sigma) * (float(bin_number) + 0.5 + float(_PLACES[where]))

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        if closing and len(history) == 1:
            bins = {"bins": self.histogram().estimate(history[0][0])}
            return partial(bins, "Closed early: no numbers about the fullest bins were asked for.")
        place, deviation = self.place(history), float(self.sigma)
        number = _noisy(clamped(self.domain, place, deviation, self.reach), self.epsilon, self.delta)
        if len(history) == 1:
            return Round((Arm("number", number),))
        likelihood = Likelihood.of(zip((number,), history[1], strict=True), known=deviation)
        return fitted(likelihood, likelihood.climb(place, deviation, (deviation, deviation)), self.domain)


def _shape(places: Floats) -> Floats:
    """The shares of the bins around the one whose middle a mean is beside by these parts of a bin."""
    edges = np.append(_KERNEL, _KERNEL[-1] + 1) - 0.5
    return np.asarray(np.diff(ndtr(edges - places[:, None]), axis=1))


@lru_cache(maxsize=256)  # every round replays a search from its start
def _side(domain: Interval, threshold: Decimal, epsilon: Decimal) -> Mechanism:
    return build("rr", Above(domain, threshold), epsilon=epsilon)


def _rates(side: Mechanism) -> tuple[float, float]:
    """How often a report is "above", for answers above and for answers below."""
    rates = rates_of(side.channel)
    if not isinstance(rates, Rates):
        raise TypeError("Randomized response must have rates.")
    return float(rates.own), float(rates.other)


@lru_cache(maxsize=64)
def _noisy(domain: Domain, epsilon: Decimal, delta: Decimal) -> Mechanism:
    return gaussian(domain, epsilon=epsilon, delta=delta)


@dataclass(frozen=True, slots=True)
class GaussianMeanUnknownSigmaDelta(Protocol):
    """The mean of Gaussian answers with an unknown deviation, by binary searches and Gaussian noise: (epsilon, delta).

    Many rounds of one bit each: is the answer above a threshold? First the median is searched for by halves of the
    domain, until they are as short as `sigma_min`; then the deviation, by halves of the orders of magnitude from
    `sigma_min` to `sigma_max`, as the distance above the median that leaves 15.9 % above. All others then send their
    answer, clamped to `reach` deviations about the median, with Gaussian noise whose delta is computed exactly.

    The published searches take thousands of participants in each round. Here a round only has to distinguish
    shares near one from shares near zero, since a threshold near the median is good on either side; and the likelihood
    uses the reports of all rounds in the end.

    `UnkVar` of Gaboardi, Rogers, Sheffet, "Locally private mean estimation: Z-test and tight confidence
    intervals", AISTATS 2019.
    """

    domain: Interval
    sigma_min: Any
    sigma_max: Any
    epsilon: Any
    delta: Any
    participants: int
    reach: Any = Decimal(1)
    failure: Any = FAILURE

    def __post_init__(self) -> None:
        owner = "GaussianMeanUnknownSigmaDelta"
        epsilon, participants = check_gaussian(owner, self.domain, self.epsilon, self.participants)
        low, high = check_deviations(owner, self.sigma_min, self.sigma_max)
        plain: dict[str, Any] = {"epsilon": epsilon, "participants": participants, "sigma_min": low, "sigma_max": high}
        plain["delta"] = check_delta(owner, self.delta)
        plain["reach"] = check_positive("reach", owner, self.reach, Decimal(20))
        plain["failure"] = check_positive("failure", owner, self.failure, Decimal("0.5"))
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        searched = sum(count * reports for count, reports in self.rounds())
        if 2 * searched > participants:
            raise ParameterError(
                f"The searches of {owner} take {searched} participants in {sum(count for count, _ in self.rounds())}"
                f" rounds, more than half of {participants}."
            )

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    def effort(self) -> int:
        return ROUNDS_EFFORT + NOISE_EFFORT + ARM_EFFORT * sum(count for count, _ in self.rounds())

    def rounds(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """How many rounds each search has, and of how many reports."""
        lengths = float(self.domain.high - self.domain.low) / float(self.sigma_min)
        halvings = max(1, math.ceil(math.log2(lengths)))
        orders = max(1, math.ceil(math.log2(2 * math.log2(float(self.sigma_max / self.sigma_min)) + 1)))
        own, other = _rates(_side(self.domain, self.domain.low, self.epsilon))
        slope = own - other
        # By Hoeffding: nearly all against half, in every round; and an order of magnitude against its half.
        median = math.ceil(2 * math.log(halvings / float(self.failure)) / slope**2)
        spread = math.ceil(math.log(20 * orders) / (2 * (_APART * slope) ** 2))
        return (halvings, median), (orders, spread)

    def _searches(self, history: History) -> tuple[list[Mechanism], Mechanism | None, tuple[float, float]]:
        """The questions so far, the next one (None if both searches are over), and the place found so far."""
        (halvings, _), (orders, _) = self.rounds()
        low, high = float(self.domain.low), float(self.domain.high)
        least, most = float(self.sigma_min), float(self.sigma_max)
        asked: list[Mechanism] = []
        for turn in range(halvings + orders):
            middle, spread = (low + high) / 2, math.sqrt(least * most)
            spot = middle if turn < halvings else middle + spread
            step = max(high - low, float(self.sigma_min)) / 100 if turn < halvings else spread / 100
            question = _side(self.domain, clipped(short_decimal(spot, step), self.domain), self.epsilon)
            if turn == len(history):
                return asked, question, (middle, spread)
            (tally,) = history[turn]
            asked.append(question)
            own, other = _rates(question)
            share = (tally.cells[1] / tally.n - other) / (own - other)
            if turn < halvings:
                low, high = (middle, high) if share > 0.5 else (low, middle)
            else:
                least, most = (spread, most) if share > OUTSIDE else (least, spread)
        return asked, None, ((low + high) / 2, math.sqrt(least * most))

    def start(self) -> Round:
        return self._question(())

    def _question(self, history: History) -> Round:
        asked, question, _ = self._searches(history)
        (halvings, median), (_, spread) = self.rounds()
        if question is None:
            raise ValueError("The searches are over.")
        first = len(asked) < halvings
        return Round((Arm("median" if first else "deviation", question),), quota=median if first else spread)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        searches = sum(count for count, _ in self.rounds())
        if closing and len(history) <= searches:
            sides = {"thresholds": above_thresholds(self.domain, (tally for (tally,) in history))}
            return partial(
                sides, f"Closed early: {len(history)} of {searches} searches were begun, and no numbers were asked for."
            )
        asked, question, found = self._searches(history)
        if question is not None:
            return self._question(history)
        limits = (float(self.sigma_min), float(self.sigma_max))
        searched = [(one, tally) for one, (tally,) in zip(asked, history, strict=False)]
        rough = Likelihood.of(searched).climb(*found, limits)
        number = _noisy(clamped(self.domain, *rough, self.reach), self.epsilon, self.delta)
        if len(history) == len(asked):
            return Round((Arm("number", number),))
        (last,) = history[-1]
        likelihood = Likelihood.of([*searched, (number, last)])
        return fitted(likelihood, likelihood.climb(*rough, limits), self.domain, limits)
