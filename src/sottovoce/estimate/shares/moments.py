"""The joint law of the unbiased scores of two codes, from a tally."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.field import dot
from sottovoce.core.channel import Channel, Contrast, Histogram, PoolMap, Public, Rates
from sottovoce.core.channel.facets import Supporting, need, outputs_of, rates_of
from sottovoce.core.errors import NoCovarianceError, TooLargeError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.estimate.shares.matrix import left_inverse
from sottovoce.estimate.shares.sums import bin_variance, bins

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_COVARIANCE = 4096
MAX_SCORES = 1 << 25


def second_moments(mechanism: Mechanism, n: int, cells: Ints) -> Floats:
    """E[score_u score_v] of one report, where a score is unbiased for "holds the code"."""
    channel = mechanism.channel
    size = channel.inputs
    if size > MAX_COVARIANCE:
        raise TooLargeError(f"The covariance of {size} shares is too large; it is given up to {MAX_COVARIANCE}.")
    if isinstance(channel, Histogram):  # bins are independent, and at most one of two has a mean score
        return np.diag(bin_variance(bins(channel), (cells / n - bins(channel).start) / bins(channel).slope, "sample"))
    if isinstance(mechanism.statistic, CountSeeds):
        return _pool_moments(channel, n, cells)
    if channel.publics:
        raise NoCovarianceError(
            "Hashed reports are only pairwise independent, which fixes the variance of each share but not the"
            " covariance of two."
        )
    rates = rates_of(channel)
    if isinstance(mechanism.statistic, CountOutputs):
        scores = _scores(channel, rates)
        return np.asarray((scores * (cells / n)) @ scores.T)
    pair = need(channel, Supporting).pair()
    if pair is None or not isinstance(rates, Rates):
        raise NoCovarianceError(f"The joint law of two supports of a {channel.kind} channel has no closed form.")
    own, other, both_own, both_other = (float(x) for x in (*rates, *pair))
    support = cells / n
    shares = (support - other) / (own - other)
    sums = shares[:, None] + shares[None, :]
    both = sums * both_own + (1 - sums) * both_other
    both[np.diag_indices(size)] = support
    return np.asarray((both - other * (support[:, None] + support[None, :]) + other**2) / (own - other) ** 2)


def _pool_moments(channel: Channel, n: int, cells: Ints) -> Floats:
    """A pool's functions are counted apart, so the joint support of two codes is a sum over cells."""
    rates = rates_of(channel)
    if not isinstance(channel, Public) or not isinstance(channel.map, PoolMap) or not isinstance(rates, Rates):
        raise TypeError("Only a balanced pool can be counted by its functions.")
    chosen = channel.map
    if chosen.k * len(cells) > MAX_SCORES:
        raise TooLargeError(f"The covariance of {chosen.k} shares from {len(cells)} cells is too large.")
    support = np.zeros((chosen.k, chosen.seeds, chosen.g))
    for code in range(chosen.k):
        values = [dot(seed, code, chosen.g, chosen.digits) for seed in range(chosen.seeds)]
        support[code, np.arange(chosen.seeds), values] = 1
    scores = (support.reshape(chosen.k, -1) - float(rates.other)) / float(rates.own - rates.other)
    return np.asarray((scores * (cells / n)) @ scores.T)


def _scores(channel: Channel, rates: Rates | Contrast | None) -> Floats:
    """The unbiased score of each output for each code."""
    if rates is None:
        return left_inverse(channel)
    outputs = range(outputs_of(channel) or 0)
    supports = need(channel, Supporting).supports
    support = np.array([[supports(y, code) for y in outputs] for code in channel.codes()], float)
    if isinstance(rates, Rates):
        each = (rates_of(channel, code) for code in channel.codes())
        own, other = np.array([(float(one[0]), float(one[1])) for one in each if one is not None]).T[:, :, None]
        return np.asarray((support - other) / (own - other))
    sets = channel.sets  # type: ignore[attr-defined]
    groups = np.arange(sets.codes)[:, None] % sets.groups == np.arange(sets.outputs)[None, :] // sets.order
    return np.asarray((2 * support - groups) / float(rates.slope))
