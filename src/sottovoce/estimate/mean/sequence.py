"""The mean of reports of which each has its own mechanism, such as its own budget and number of levels.

Xue, Zhu, Wang, "Mean estimation over numeric data with personalized local differential privacy", 2021; Waudby-Smith,
Wu, Ramdas, "Nonparametric extensions of randomized response for private confidence sets", ICML 2023 (any sequence of
budgets and levels).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Question
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Floats
from sottovoce.estimate.mean.combine import precision
from sottovoce.estimate.mean.moments import numbers_of
from sottovoce.estimate.mean.readings import numbers_at, scale_of
from sottovoce.estimate.mean.single import SingleMean, hides_rare_answers
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.sources import EstimateSource

INDEPENDENT = (
    "Each report has its own budget, and the weights of the reports follow it: the estimate assumes that a budget has"
    " nothing to do with the answer."
)
_MOST_LOST = 0.9  # of the wealth in one bet
_DISTANCES = 0.5 ** np.arange(13)  # of the mean from a tested number, in ranges, for which bets are sized
_STEPS = 45  # of a bisection


@dataclass(frozen=True, slots=True, eq=False)
class SequenceEvidence(SingleMean):
    """Readings of reports in their order. Weights and ranges come from the law of each report, not from its reading.

    The noise of a report and the spread of the answers are not told apart: for the sample the variance is that for the
    population, which is an upper bound.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL, Method.HOEFFDING, Method.BETTING, Method.ANYTIME)
    why_poor: ClassVar[str] = f"they are too few to know their own variance. The {Method.BETTING}"
    readings: Floats
    precisions: Floats  # one over the expected variance of each reading
    lows: Floats  # the least possible reading of each report
    highs: Floats
    ends: tuple[float, float]
    question: Question

    @property
    def n(self) -> int:
        return len(self.readings)

    @property
    def weights(self) -> Floats:
        """The weight of each report; they sum to one."""
        return np.asarray(self.precisions / self.precisions.sum())

    def values(self) -> Floats:
        return np.array([float(self.weights @ self.readings)])

    def _parts(self) -> Floats:
        """What each report adds to the error of the mean."""
        return np.asarray(self.weights * (self.readings - self.values()))

    def variances(self, target: Target) -> Floats:
        if self.n == 1:
            return (self.highs - self.lows) ** 2 / 4
        return np.array([float((self._parts() ** 2).sum()) * self.n / (self.n - 1)])

    @property
    def poor(self) -> bool:
        """Whether the variance rests on few reports, or rare answers that nobody gave could move the mean."""
        squares, mean = self._parts() ** 2, float(self.values()[0])
        if self.n == 1 or squares.sum() ** 2 < POOR_BELOW * (squares**2).sum():
            return True
        counted = 1 / float((self.weights**2).sum())  # as many reports of equal weight
        spread, (low, high) = float(self.variances(Target.POPULATION)[0]) * counted, self.ends
        return bool(hides_rare_answers(spread, counted, max(high - mean, mean - low)))

    def other_interval(self, request: IntervalRequest) -> Bounds:
        if request.method == Method.HOEFFDING:
            squares = float(((self.weights * (self.highs - self.lows)) ** 2).sum())
            half = math.sqrt(squares * math.log(2 / (1 - request.level)) / 2)
            return Bounds(self.values() - half, self.values() + half)
        return Bounds(*(np.array([end]) for end in self._betting(request.level)))

    def _betting(self, level: float) -> tuple[float, float]:
        """The numbers against which no bettor became rich: by Ville's inequality the interval holds at every time.

        A bettor who expects the mean at some distance from the tested number stakes that distance over the variance of
        a report, and at most 0.9 of the wealth. The wealth is the average over distances. It falls along the tested
        number, so that each end is found by bisection.
        """
        low, high = self.ends
        sides = []
        for sign, far in ((1.0, high - self.lows), (-1.0, self.highs - low)):
            stakes = np.minimum(np.outer(_DISTANCES, self.precisions) * (high - low), _MOST_LOST / far)
            poor, rich = (high, low) if sign > 0 else (low, high)
            if self._wealth(stakes, sign, rich) < math.log(2 / (1 - level)):
                sides.append(rich)
                continue
            for _ in range(_STEPS):
                middle = (poor + rich) / 2
                if self._wealth(stakes, sign, middle) < math.log(2 / (1 - level)):
                    poor = middle
                else:
                    rich = middle
            sides.append(rich)
        return sides[0], sides[1]

    def _wealth(self, stakes: Floats, sign: float, tested: float) -> float:
        """The logarithm of the average wealth of bets that the mean lies beyond the tested number."""
        each = np.log1p(stakes * (sign * (self.readings - tested))).sum(axis=1)
        return float(np.logaddexp.reduce(each) - math.log(len(each)))


def sequence_mean(messages: Iterable[tuple[Mechanism, bytes]]) -> Estimate:
    """The mean of reports of which each has its own mechanism: any sequence of budgets, levels and methods.

    The weight of a report is one over the expected variance of its reading, for answers spread evenly.

    Args:
        messages: Pairs of a mechanism for the mean of one and the same domain, and a message of it, in their order.

    Returns:
        An `Estimate` with the intervals "normal", "hoeffding", "betting", and "anytime", which holds at every time.

    Raises:
        ParameterError: There are no messages, they are about different domains, or one is counted twice.
        ReportError: A message is not one of its mechanism.
    """
    pairs = list(messages)
    if not pairs or any(one.question != pairs[0][0].question for one, _ in pairs):
        raise ParameterError("A sequence needs at least one report, all of mechanisms for the mean of one domain.")
    question = pairs[0][0].question
    used = {id(mechanism): mechanism for mechanism, _ in pairs}
    reports = [codec.split(mechanism.channel, message) for mechanism, message in pairs]
    if len({report_id for report_id, _ in reports}) < len(reports):
        raise ParameterError("Two messages of the sequence have the same id: each report is counted once.")
    numbers = [_numbers(mechanism)[report] for (mechanism, _), (_, report) in zip(pairs, reports, strict=True)]
    laws = {key: (precision(one, 1), _numbers(one).min(), _numbers(one).max()) for key, one in used.items()}
    each = np.array([laws[id(mechanism)] for mechanism, _ in pairs])
    ends = numbers_of(pairs[0][0]).ends
    evidence = SequenceEvidence(np.array(numbers), *each.T, ends, question)
    counts = Counter(mechanism for mechanism, _ in pairs)
    sources = [EstimateSource(mechanism, n) for mechanism, n in counts.items()]
    estimate = Estimate.of(question, evidence, sources)
    return estimate if len(counts) == 1 else replace(estimate, assumes=INDEPENDENT)


@lru_cache(maxsize=4096)
def _numbers(mechanism: Mechanism) -> Floats:
    """What each report is read as."""
    scales, ends = scale_of(mechanism.channel, numbers_of(mechanism).origin)
    return numbers_at(scales, ends, np.arange(ends[-1]))
