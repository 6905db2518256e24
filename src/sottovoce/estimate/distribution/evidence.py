"""The distribution of answers from a tally."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.channel.shapes import histogram_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people
from sottovoce.core.question import Distribution, Question
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.sums import Sums
from sottovoce.estimate.candidates import refuse
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets, coded_buckets, even_buckets
from sottovoce.estimate.distribution.hierarchy import HierarchyEvidence
from sottovoce.estimate.distribution.of_shares import of_shares
from sottovoce.estimate.distribution.outputs import ApproximateEvidence, OutputsEvidence
from sottovoce.estimate.distribution.readings.decode import linear_decode
from sottovoce.estimate.distribution.readings.linear import is_projection
from sottovoce.estimate.distribution.readings.transition import LevelsTransition, transition_of
from sottovoce.estimate.distribution.series import SeriesEvidence
from sottovoce.estimate.distribution.sums import SumsDistribution, share_covariance
from sottovoce.estimate.evidence import Counted, Evidence, Floats, Ints, floats_of
from sottovoce.estimate.frequency.base import SharesEvidence
from sottovoce.estimate.request import Target
from sottovoce.tally.tally import Tally

READS = (CountOutputs, Sums)
FEWEST = 8  # buckets, however few reports there are


def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> DistributionEvidence:
    """The evidence of a tally, in the shape of the channel's law."""
    refuse(mechanism, candidates)
    if histogram_of(mechanism.channel) is not None:
        return from_sums(mechanism, tally.n, tally.cells)
    return from_cells(mechanism, tally.n, tally.cells)


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> OutputsEvidence:
    """The evidence of cells that count outputs."""
    buckets = buckets_of(mechanism, n)
    transition = transition_of(mechanism.channel, len(buckets))
    shape: type[OutputsEvidence] = OutputsEvidence
    if isinstance(transition, LevelsTransition):
        shape = HierarchyEvidence
    elif mechanism.delta is not None:
        shape = ApproximateEvidence
    elif is_projection(mechanism.channel):
        shape = SeriesEvidence
    return shape(buckets, n, cells, transition, Counted(mechanism, n, cells))


def from_sums(mechanism: Mechanism, n: int, cells: Ints) -> SumsDistribution:
    """The evidence of cells that add up noisy histograms."""
    return SumsDistribution(coded_buckets(mechanism.domain), n, cells, Counted(mechanism, n, cells))


def answer(evidence: Evidence, question: Question) -> Evidence | None:
    """A distribution from evidence about the shares of its values, and what is asked of it."""
    if not isinstance(evidence, SharesEvidence):
        return None
    distribution = of_shares(evidence, Distribution(question.domain))
    return None if distribution is None else distribution.answer(question)


def buckets_of(mechanism: Mechanism, n: int) -> Buckets:
    """The buckets that n reports of a mechanism are read in.

    Where numbers are rounded to a grid, as many as the question asks for, else near the root of n: fewer would hide
    what the reports show, and more would show noise. Everywhere else the codes are the buckets.
    """
    grid, asked = rounding_of(mechanism.channel), mechanism.question
    if grid is None:
        return coded_buckets(mechanism.domain)
    wanted = getattr(asked, "buckets", None)
    # In as many buckets as steps, a share that changes with each bucket would hardly show.
    most = grid.steps // 2 if grid.steps % 2 == 0 else grid.steps
    return even_buckets(asked.domain, wanted or near_root(n, most))


def near_root(n: int, steps: int) -> int:
    """The power of two next to the root of n that cuts a grid into equal buckets."""
    count = max(FEWEST, 1 << round(math.log2(max(n, 1)) / 2))
    while count > 1 and steps % count:
        count //= 2
    return count if count > 1 else steps


def predicted_variance(mechanism: Mechanism, shares: Any, n: int, *, target: Target = Target.POPULATION) -> Floats:
    """The exact variance of the unbiased share of each bucket, for these true shares of n participants."""
    check_people("n", "variance", n)
    truth = floats_of(shares)
    if not (truth.ndim == 1 and truth.size and truth.min() >= 0 and abs(truth.sum() - 1) <= 1e-9):
        raise ParameterError("The 'shares' parameter of variance must be shares that sum to 1, one for each bucket.")
    if histogram_of(mechanism.channel) is not None:
        return np.diag(share_covariance(mechanism.channel, truth, target)) / n
    transition = transition_of(mechanism.channel, len(truth))
    decode, rates = linear_decode(mechanism.channel, len(truth)), transition.forward(truth)
    return decode.variances(rates, target, truth) / n


def functional_variances(mechanism: Mechanism, weights: Floats, shares: Floats) -> Floats:
    """n times the exact variance of sums of shares with these weights, one row each, for the population."""
    channel = mechanism.channel
    if histogram_of(channel) is not None:
        return np.diag(functional_covariance(mechanism, weights, shares))
    rates = transition_of(channel, len(shares)).forward(shares)
    return linear_decode(channel, len(shares)).spreads(weights, rates, Target.POPULATION)


def functional_covariance(mechanism: Mechanism, weights: Floats, shares: Floats) -> Floats:
    """n times the exact covariance of sums of shares with these weights, one row each, for the population."""
    channel = mechanism.channel
    if histogram_of(channel) is not None:
        return np.asarray(weights @ share_covariance(channel, shares, Target.POPULATION) @ weights.T)
    rates = transition_of(channel, len(shares)).forward(shares)
    return linear_decode(channel, len(shares)).covariance(weights, rates, Target.POPULATION)
