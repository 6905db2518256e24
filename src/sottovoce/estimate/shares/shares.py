"""Shares of each code from a tally, and their exact variance before anyone has answered."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Block, Channel, Contrast, HadamardSets, PoolMap, Public, Rates, Table
from sottovoce.core.channel.facets import Supporting, need, outputs_of, rates_of
from sottovoce.core.errors import NoCovarianceError, ParameterError, TooLargeError
from sottovoce.core.field import dot
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.estimate.estimate import Estimate, check_tally, check_target
from sottovoce.estimate.evidence import Contrasts, Evidence, Matrix, Supports
from sottovoce.estimate.shares.pool import pool_supports
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_COVARIANCE = 4096
MAX_SCORES = 1 << 25


def estimate(mechanism: Mechanism, tally: Tally) -> Estimate:
    """The unbiased estimate of the share of each code."""
    check_tally(mechanism, tally)
    found = evidence(mechanism, tally.n, tally.cells)
    return Estimate(mechanism, tally.n, found.values(), np.sqrt(found.variances("population")), found, tally.cells)


def evidence(mechanism: Mechanism, n: int, cells: Ints) -> Evidence:
    """What the cells say, in the shape of the channel's law."""
    channel = mechanism.channel
    rates = rates_of(channel)
    if isinstance(rates, Contrast):
        plus, hits = hadamard_counts(channel, cells)
        return Contrasts(plus, hits, n, float(rates.hit_own), float(rates.plus_own))
    if rates is None:
        return Matrix(cells, n, left_inverse(channel), output_law(channel))
    if isinstance(mechanism.statistic, CountSeeds) and isinstance(channel, Public) and isinstance(channel.map, PoolMap):
        counts = pool_supports(channel.map, cells)
    elif isinstance(channel, Block):
        counts, _ = hadamard_counts(channel, cells)
    else:
        counts = cells
    own, other = _rate_arrays(channel, rates)
    return Supports(counts, n, own, other)


def _rate_arrays(channel: Channel, rates: Rates) -> tuple[Any, Any]:
    if not need(channel, Supporting).rates_vary:
        return float(rates.own), float(rates.other)
    each = [rates_of(channel, code) for code in channel.codes()]
    own, other = zip(*[(float(r[0]), float(r[1])) for r in each if r is not None], strict=True)
    return np.array(own), np.array(other)


def hadamard_counts(channel: Channel, cells: Ints) -> tuple[Ints, Ints]:
    """For each code the reports in its set and those in its group, by a fast Walsh-Hadamard transform."""
    sets = channel.sets if isinstance(channel, Block) else None
    if not isinstance(sets, HadamardSets):
        raise TypeError(f"A {channel.kind} channel has no Hadamard sets.")
    table = cells.reshape(sets.groups, sets.order).copy()
    half = 1
    while half < sets.order:
        pairs = table.reshape(sets.groups, -1, 2, half)
        table = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        half *= 2
    table = table.reshape(sets.groups, sets.order)
    codes = np.arange(sets.codes)
    groups, rows = codes % sets.groups, codes // sets.groups + 1
    hits = table[groups, 0]
    return (hits + table[groups, rows]) // 2, hits


def output_law(channel: Channel) -> Floats:
    """The law of a channel with numbered outputs, one row per code."""
    outputs = outputs_of(channel)
    if outputs is None or channel.publics:
        raise TypeError(f"The reports of a {channel.kind} channel are not numbered.")
    if isinstance(channel, Table):
        return np.array(channel.rows, float) / float(sum(channel.rows[0]))
    return np.array([[float(channel.likelihood(y, c)) for y in range(outputs)] for c in channel.codes()])


def left_inverse(channel: Channel) -> Floats:
    """The unbiased linear estimator of least variance when all codes are equally common."""
    law = output_law(channel)
    weight = law.mean(axis=0)
    used = weight > 0
    scaled = law[:, used] / weight[used]
    gram = scaled @ law[:, used].T
    if np.linalg.cond(gram) > 1e12:
        raise ParameterError("The rows of this table do not tell the codes apart, so there is no unbiased estimate.")
    inverse = np.zeros_like(law)
    inverse[:, used] = np.linalg.solve(gram, scaled)
    return inverse


def second_moments(mechanism: Mechanism, n: int, cells: Ints) -> Floats:
    """E[score_u score_v] of one report, where a score is unbiased for "holds the code"."""
    channel = mechanism.channel
    size = channel.inputs
    if size > MAX_COVARIANCE:
        raise TooLargeError(f"The covariance of {size} shares is too large; it is given up to {MAX_COVARIANCE}.")
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
        raise TypeError("Only a balanced pool is counted by its functions.")
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
        return np.asarray((support - float(rates.other)) / float(rates.own - rates.other))
    sets = channel.sets  # type: ignore[attr-defined]
    groups = np.arange(sets.codes)[:, None] % sets.groups == np.arange(sets.outputs)[None, :] // sets.order
    return np.asarray((2 * support - groups) / float(rates.slope))


def predicted_variance(mechanism: Mechanism, shares: Any, n: int, *, target: str = "population") -> Floats:
    """The exact variance of each estimated share, were these the true shares of n participants."""
    check_target(target)
    check_integer("n", "variance", n, 1, 1 << 53)
    channel = mechanism.channel
    try:
        truth = np.asarray(shares, float)
    except (TypeError, ValueError):
        truth = np.empty(0)
    if truth.shape != (channel.inputs,) or not (truth.min() >= 0 and abs(truth.sum() - 1) <= 1e-9):
        raise ParameterError(f"The 'shares' parameter of variance must be {channel.inputs} shares that sum to 1.")
    rates = rates_of(channel)
    if rates is None:
        law, inverse = output_law(channel), left_inverse(channel)
        second = inverse**2 @ (truth @ law)
        return np.asarray((second - (truth**2 if target == "population" else truth)) / n)
    if isinstance(rates, Contrast):
        hit_own, hit_other, _ = (float(x) for x in rates)
        slope = float(rates.slope)
        sets = channel.sets  # type: ignore[attr-defined]
        group = np.arange(sets.codes) % sets.groups
        mass = np.bincount(group, truth, sets.groups)[group]
        second = hit_other + mass * (hit_own - hit_other)
        return np.asarray((second / slope**2 - (truth**2 if target == "population" else truth)) / n)
    own, other = _rate_arrays(channel, rates)
    if target == "population":
        support = other + truth * (own - other)
        each = support * (1 - support)
    else:
        each = truth * own * (1 - own) + (1 - truth) * other * (1 - other)
    return np.asarray(each / n / (own - other) ** 2)


def rare_variance(mechanism: Mechanism) -> Fraction:
    """n times the exact variance for a value nobody holds, all others being equally common (sample target)."""
    rates = rates_of(mechanism.channel)
    if isinstance(rates, Rates):
        return rates.other * (1 - rates.other) / (rates.own - rates.other) ** 2
    if isinstance(rates, Contrast):
        sets = mechanism.channel.sets  # type: ignore[attr-defined]
        mates = Fraction(-(-sets.codes // sets.groups) - 1, sets.codes - 1)
        return (rates.hit_other + mates * (rates.hit_own - rates.hit_other)) / rates.slope**2
    raise TypeError("Only channels with support rates have a variance in closed form.")
