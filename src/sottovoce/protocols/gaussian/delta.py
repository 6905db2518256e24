"""The mean of Gaussian answers by Gaussian noise, with an exact delta."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Above, Digit, Domain, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Arm, Estimates, History, Round, partial
from sottovoce.core.spec_cost import ARM_EFFORT, ROUNDS_EFFORT
from sottovoce.estimate.gaussian.gaussian import fitted
from sottovoce.estimate.gaussian.law import Likelihood
from sottovoce.mechanisms.mean.gaussian import build as gaussian
from sottovoce.protocols.gaussian.base import GaussianMean, Way, clamped
from sottovoce.protocols.gaussian.scales import clipped, short_decimal
from sottovoce.protocols.ranges.thresholds import above_thresholds

Floats = NDArray[np.float64]

MOST_BINS = 1 << 14
OUTSIDE = float(ndtr(-1))  # the share of normal answers that are more than one deviation above the mean
_PLACES = np.arange(-0.5, 0.5, 0.125)  # within a bin, at which a mean is tried
_KERNEL = np.arange(-4, 5)
NOISE_EFFORT = 1 << 19  # to find the least noise whose exact delta is kept, at any budget
_APART = 0.15  # by how much the share above differs if the assumed deviation is half or twice the true one


class HistogramRounds(Way):
    """First round: bins of one known deviation. Second round: numbers about the place that was found, with noise."""

    def __init__(self, protocol: GaussianMean, oracle: str) -> None:
        super().__init__(protocol)
        self._oracle = oracle

    @property
    def _bins(self) -> int:
        domain = self.protocol.domain
        return math.ceil((domain.high - domain.low) / self.protocol.finest) + 1

    def check(self) -> None:
        if self._bins > MOST_BINS:
            raise ParameterError(
                f"The histogram of {type(self.protocol).__name__} would have {self._bins} bins of one deviation, more"
                f" than {MOST_BINS}: without a delta it asks for digits instead."
            )

    def effort(self) -> int:
        return ROUNDS_EFFORT + NOISE_EFFORT

    def histogram(self) -> Mechanism:
        """The question of the first round."""
        own = self.protocol
        view = Digit(own.domain, own.finest, max(self._bins, 2), own.domain.low)
        return build(self._oracle, view, epsilon=own.epsilon)

    def start(self) -> Round:
        histogram = self.histogram()
        shape = _shape(np.zeros(1))[0]
        noise = histogram.variance(np.full(histogram.cells, 1 / histogram.cells), 1)[0]
        # To distinguish two sums over bins weighted by the shape: Chernoff's bound for the difference, for all places.
        reports = (
            4 * math.log(histogram.cells / float(self.protocol.failure)) * float(noise) / float(np.dot(shape, shape))
        )
        return Round((Arm("bin", histogram),), quota=min(self.protocol.participants // 2, math.ceil(reports)))

    def place(self, history: History) -> float:
        """The mean whose shape fits the histogram best."""
        (tally,) = history[0]
        shares = self.histogram().estimate(tally).values
        fits = np.stack([np.correlate(shares, row, mode="same") for row in _shape(_PLACES)])
        where, bin_number = np.unravel_index(int(np.argmax(fits)), fits.shape)
        bins = float(bin_number) + 0.5 + float(_PLACES[where])
        return float(self.protocol.domain.low) + float(self.protocol.finest) * bins

    def advance(self, history: History, closing: bool) -> Round | Estimates:
        if closing and len(history) == 1:
            bins = {"bins": self.histogram().estimate(history[0][0])}
            return partial(bins, "Closed early: no numbers about the fullest bins were asked for.")
        place, deviation, own = self.place(history), float(self.protocol.finest), self.protocol
        number = _noisy(clamped(own.domain, place, deviation, own.reach), own.epsilon, own.delta)
        if len(history) == 1:
            return Round((Arm("number", number),))
        likelihood = Likelihood.of(zip((number,), history[1], strict=True), known=deviation)
        return fitted(likelihood, likelihood.climb(place, deviation, (deviation, deviation)), own.domain)


def _shape(places: Floats) -> Floats:
    """The shares of the bins around the one whose middle a mean is beside by these parts of a bin."""
    edges = np.append(_KERNEL, _KERNEL[-1] + 1) - 0.5
    return np.asarray(np.diff(ndtr(edges - places[:, None]), axis=1))


@lru_cache(maxsize=256)  # every round replays a search from its start
def _side(domain: Interval, threshold: Decimal, epsilon: Decimal) -> Mechanism:
    return build("rr", Above(domain, threshold), epsilon=epsilon)


def _rates(side: Mechanism) -> tuple[float, float]:
    """How often a report is "above", for answers above and for answers below."""
    rates: Any = rates_of(side.channel)
    return float(rates.own), float(rates.other)


@lru_cache(maxsize=64)
def _noisy(domain: Domain, epsilon: Decimal, delta: Decimal) -> Mechanism:
    return gaussian(domain, epsilon=epsilon, delta=delta)


class SearchRounds(Way):
    """Rounds of one bit each search the median and the deviation, up to the `most`; then come numbers with noise."""

    def __init__(self, protocol: GaussianMean, most: Decimal) -> None:
        super().__init__(protocol)
        self._most = most

    def check(self) -> None:
        searched = sum(count * reports for count, reports in self.rounds())
        if 2 * searched > self.protocol.participants:
            raise ParameterError(
                f"The searches of {type(self.protocol).__name__} take {searched} participants in"
                f" {sum(count for count, _ in self.rounds())} rounds, more than half of {self.protocol.participants}."
            )

    def effort(self) -> int:
        return ROUNDS_EFFORT + NOISE_EFFORT + ARM_EFFORT * sum(count for count, _ in self.rounds())

    def rounds(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """How many rounds each search has, and of how many reports."""
        lengths = float(self.protocol.domain.high - self.protocol.domain.low) / float(self.protocol.finest)
        halvings = max(1, math.ceil(math.log2(lengths)))
        orders = max(1, math.ceil(math.log2(2 * math.log2(float(self._most / self.protocol.finest)) + 1)))
        own, other = _rates(_side(self.protocol.domain, self.protocol.domain.low, self.protocol.epsilon))
        slope = own - other
        # By Hoeffding: nearly all against half, in every round; and an order of magnitude against its half.
        median = math.ceil(2 * math.log(halvings / float(self.protocol.failure)) / slope**2)
        spread = math.ceil(math.log(20 * orders) / (2 * (_APART * slope) ** 2))
        return (halvings, median), (orders, spread)

    def _searches(self, history: History) -> tuple[list[Mechanism], Mechanism | None, tuple[float, float]]:
        """The questions so far, the next one (None if both searches are over), and the place found so far."""
        (halvings, _), (orders, _) = self.rounds()
        low, high = float(self.protocol.domain.low), float(self.protocol.domain.high)
        least, most = float(self.protocol.finest), float(self._most)
        asked: list[Mechanism] = []
        for turn in range(halvings + orders):
            middle, spread = (low + high) / 2, math.sqrt(least * most)
            spot = middle if turn < halvings else middle + spread
            step = max(high - low, float(self.protocol.finest)) / 100 if turn < halvings else spread / 100
            question = _side(
                self.protocol.domain, clipped(short_decimal(spot, step), self.protocol.domain), self.protocol.epsilon
            )
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

    def advance(self, history: History, closing: bool) -> Round | Estimates:
        searches = sum(count for count, _ in self.rounds())
        if closing and len(history) <= searches:
            sides = {"thresholds": above_thresholds(self.protocol.domain, (tally for (tally,) in history))}
            return partial(
                sides, f"Closed early: {len(history)} of {searches} searches were begun, and no numbers were asked for."
            )
        asked, question, start = self._searches(history)
        if question is not None:
            return self._question(history)
        limits = (float(self.protocol.finest), float(self._most))
        searched = [(one, tally) for one, (tally,) in zip(asked, history, strict=False)]
        rough = Likelihood.of(searched).climb(*start, limits)
        number = _noisy(
            clamped(self.protocol.domain, *rough, self.protocol.reach), self.protocol.epsilon, self.protocol.delta
        )
        if len(history) == len(asked):
            return Round((Arm("number", number),))
        (last,) = history[-1]
        likelihood = Likelihood.of([*searched, (number, last)])
        return fitted(likelihood, likelihood.climb(*rough, limits), self.protocol.domain, limits)
