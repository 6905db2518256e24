"""The error of what a distribution is wanted for, and words for it: what methods for distributions are ranked by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Distribution, Mean
from sottovoce.design.bound import bound
from sottovoce.design.workload import Floats, Workload, workload
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.evidence import buckets_of, functional_covariance, functional_variances
from sottovoce.estimate.distribution.expected import lines_of, shares_of
from sottovoce.estimate.prior import Prior, expected_answers

CUMULATIVE = frozenset({"cdf", "quantiles"})
OF_NUMBERS = frozenset({"mean"})
MOST_BOUND = 512  # buckets for which the least possible error is computed
WANTED = {
    "cdf": "cumulative shares",
    "quantiles": "cumulative shares",
    "ranges": "shares of ranges",
    "histogram": "shares of buckets",
    "mean": "the mean",
}
AROUND = {**WANTED, "cdf": "shares of arcs", "quantiles": "shares of arcs", "ranges": "shares of arcs"}
WHY = {
    "designed-distribution": "its table is designed for {wanted}",
    "coded-wave": "its patterns are designed for {wanted}",
    "mixed-wave": "half of the reports have patterns designed for {wanted}, the others are good for a smoothed curve",
    "hierarchy": "each report is about one level of a tree, so a range is a sum of few nodes",
    "haar": "each report compares two halves at one level, and all levels are asked equally often",
    "binned": "each report is about single buckets, so that errors of long ranges add up",
    "square-wave": "good for a smoothed curve, while unbiased shares have to undo the width of the wave",
    "square-wave-discrete": "good for a smoothed curve, while unbiased shares have to undo the width of the wave",
    "general-wave": "slopes hide the ends of the wave, which unbiased shares are read from",
    "laplace-histogram": "there is noise on every bucket",
}


def name_of(question: Distribution) -> str:
    """The workload by whose error methods are ranked: on a circle the shares of buckets, where no other was named."""
    return "histogram" if question.domain.circular and question.workload in CUMULATIVE else question.workload


def measure(question: Distribution) -> str:
    """What the standard error is that of."""
    name, around = name_of(question), question.domain.circular
    if name in OF_NUMBERS:
        return "the mean cosine and sine, root mean square over both" if around else "the mean"
    words = {"ranges": f"the share of {'an arc' if around else 'a range'}", "histogram": "the share of a bucket"}
    return f"{words.get(name, 'a cumulative share')}, root mean square over all of them"


def error_of(mechanism: Mechanism, question: Distribution, prior: Any = None) -> float:
    """The standard error for one participant; by default all buckets are equally common."""
    buckets, name = buckets_of(mechanism, 1), name_of(question)
    shares = shares_of(buckets, prior)
    if name in CUMULATIVE:
        return math.sqrt(float(np.mean(functional_variances(mechanism, lines_of(buckets), shares))))
    if name in OF_NUMBERS and not buckets.circular:
        return math.sqrt(_of_mean(mechanism, buckets, shares, prior))
    wanted = _workload(name, buckets)
    return math.sqrt(
        float((wanted.gram * functional_covariance(mechanism, np.eye(len(shares)), shares)).sum()) / wanted.queries
    )


def _of_mean(mechanism: Mechanism, buckets: Buckets, shares: Floats, prior: Any) -> float:
    numbers = buckets.numbers().reshape(1, -1)
    if rounding_of(mechanism.channel) is None or buckets.domain.size is not None:
        return float(functional_variances(mechanism, numbers, shares)[0])
    # The reports of a rounded number's wave are read as numbers, without buckets.
    read = Mechanism(mechanism.name, Mean(buckets.domain), mechanism.channel, mechanism.claimed, mechanism.statistic)
    belief = prior if isinstance(prior, Prior) else expected_answers(buckets.domain)
    return float(np.mean(read.variance(belief, 1)))


def _workload(name: str, buckets: Buckets) -> Workload:
    return workload(name, len(buckets), circular=buckets.circular)


def least_possible(mechanism: Mechanism, question: Distribution) -> float | None:
    """The error for one participant below which no unbiased estimate of any channel is, for equally common buckets."""
    buckets, name = buckets_of(mechanism, 1), name_of(question)
    if not 1 < len(buckets) <= MOST_BOUND or np.ptp(buckets.widths) > 1e-9 * buckets.widths.max():
        return None
    if name in OF_NUMBERS:  # of centres between -1 and 1 in a design, and a number need not be put into buckets first
        return None
    return math.sqrt(bound(_workload(name, buckets), float(mechanism.claimed)))


def reason(ratio: float, mechanism: Mechanism, question: Distribution) -> str:
    """Where a method stands, and why."""
    words = AROUND if question.domain.circular else WANTED
    why = WHY.get(mechanism.name, "").format(wanted=words[question.workload])
    return f"{placed(ratio)}{': ' * bool(why)}{why}."


def placed(ratio: float) -> str:
    """Its place, by its error over the smallest."""
    return "no method has a smaller error" if ratio <= 1 else f"{ratio:.3g} times the smallest error"


def check(question: Distribution) -> None:
    """Refuse what has no error of this kind."""
    if question.workload in OF_NUMBERS and not question.domain.circular and question.domain.numbers is None:
        raise ParameterError(f"Values of a domain of kind {question.domain.kind} have no mean.")
