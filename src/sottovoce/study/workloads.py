"""The error of what a distribution is wanted for, and words for it: what methods for distributions are ranked by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Distribution, Mean
from sottovoce.core.workload import Workload
from sottovoce.design.bound import bound
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.evidence import buckets_of, functional_covariance, functional_variances
from sottovoce.estimate.distribution.expected import lines_of, shares_of
from sottovoce.estimate.distribution.queries import Floats, Queries, queries
from sottovoce.estimate.prior import Prior, expected_answers

MOST_BOUND = 512  # buckets for which the least possible error is computed
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
    "subset-exponential": "neighbouring answers are told apart less than distant ones",
    "laplace-histogram": "there is noise on every bucket",
}


def ranked_by(question: Distribution) -> Workload:
    """The workload by whose error methods are ranked."""
    workload: Workload = question.workload
    return workload.ranked(circular=question.domain.circular)


def error_of(mechanism: Mechanism, question: Distribution, prior: Any = None) -> float:
    """The standard error for one participant; by default all buckets are equally common."""
    buckets, workload = buckets_of(mechanism, 1), ranked_by(question)
    shares = shares_of(buckets, prior)
    if workload.is_cumulative:
        return math.sqrt(float(np.mean(functional_variances(mechanism, lines_of(buckets), shares))))
    if workload.of_numbers and not buckets.circular:
        return math.sqrt(_of_mean(mechanism, buckets, shares, prior))
    covariance = functional_covariance(mechanism, np.eye(len(shares)), shares)
    return math.sqrt(_queries(workload, buckets).variance(covariance))


def _of_mean(mechanism: Mechanism, buckets: Buckets, shares: Floats, prior: Any) -> float:
    numbers = buckets.numbers().reshape(1, -1)
    if rounding_of(mechanism.channel) is None or buckets.domain.size is not None:
        return float(functional_variances(mechanism, numbers, shares)[0])
    # The reports of a rounded number's wave are read as numbers, without buckets.
    read = Mechanism(mechanism.name, Mean(buckets.domain), mechanism.channel, mechanism.claimed, mechanism.statistic)
    belief = prior if isinstance(prior, Prior) else expected_answers(buckets.domain)
    return float(np.mean(read.variance(belief, 1)))


def _queries(workload: Workload, buckets: Buckets) -> Queries:
    return queries(workload, len(buckets), circular=buckets.circular)


def least_possible(mechanism: Mechanism, question: Distribution) -> float | None:
    """The error for one participant below which no unbiased estimate of any channel is, for equally common buckets."""
    buckets, workload = buckets_of(mechanism, 1), ranked_by(question)
    if not 1 < len(buckets) <= MOST_BOUND or np.ptp(buckets.widths) > 1e-9 * buckets.widths.max():
        return None
    if workload.of_numbers:  # of centres between -1 and 1 in a design, and a number need not be put into buckets first
        return None
    return math.sqrt(bound(_queries(workload, buckets), float(mechanism.claimed)))


def reason(ratio: float, mechanism: Mechanism, question: Distribution) -> str:
    """Where a method stands, and why."""
    wanted = question.workload.words(circular=question.domain.circular)
    why = WHY.get(mechanism.name, "").format(wanted=wanted)
    return f"{placed(ratio)}{': ' * bool(why)}{why}."


def placed(ratio: float) -> str:
    """Say how an error compares with the smallest."""
    return "no method has a smaller error" if ratio <= 1 else f"{ratio:.3g} times the smallest error"


def check(question: Distribution) -> None:
    """Refuse what has no error of this kind."""
    if question.workload.of_numbers and not question.domain.circular and question.domain.numbers is None:
        raise ParameterError(f"Values of a domain of kind {question.domain.kind} have no mean.")
