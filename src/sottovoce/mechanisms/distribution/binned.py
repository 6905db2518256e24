"""Bins: a frequency oracle over few parts of the domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import erf, sqrt
from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.domain import Bins, Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_people
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.distribution.common import check_domain
from sottovoce.mechanisms.distribution.tree_common import leaves, node_block, share_variance

Number = int | float | str | Decimal
PARTICIPANTS = 100_000
MOST = 1 << 10  # bins that are tried
# Points and weights of a bin that integrate polynomials up to the seventh power (Gauss and Legendre).
_GAUSS = tuple(
    ((1 + side * at) / 2, weight / 2)
    for at, weight in ((0.3399810435848563, 0.6521451548625461), (0.8611363115940526, 0.3478548451374538))
    for side in (-1, 1)
)


def build(
    domain: Domain,
    *,
    epsilon: Any,
    buckets: int | None = None,
    edges: Sequence[Number] | None = None,
    participants: int = PARTICIPANTS,
    workload: str = "cdf",
) -> Mechanism:
    """Binning: the bin of the answer through a frequency oracle; answers are taken to be spread evenly inside a bin.

    Law: k-ary randomized response on the bins, or a pool of public maps of them to g values, as in local hashing,
        whichever has less variance.
    Privacy: that of the oracle, e**epsilon.
    Estimator: the unbiased shares of the bins. Inside a bin the curve is biased by the shape of the distribution.
    Cost: up to 17 bits. Without `buckets` there are as many bins as make the predicted error of the cumulative curve
        least for `participants` answers with a bell-shaped distribution: few of them, so what is finer is not seen.
        With `edges` the bins end there, which answers best how many are above them.
    Reference: Li, Wang, Lopuhaä-Zwakenberg, Skoric, Li, "Estimating numerical distributions under local differential
        privacy", SIGMOD 2020, section 4.1.
    """
    budget = check_epsilon("binned", epsilon)
    crowd = check_people("participants", "binned", participants)
    e = odds(budget)
    if edges is not None:
        return _at_edges(domain, budget, edges, buckets, workload)
    question = Distribution(check_domain("binned", domain), workload, buckets)
    if buckets is None and domain.choices is None:
        buckets = best_bins(partial(bin_variance, e), crowd, min(MOST, domain.points or MOST))
    view = leaves("binned", domain, buckets)
    return Mechanism("binned", question, node_block(e, view.size or 0, 1), budget, CountOutputs(), view)


def _at_edges(
    domain: Domain, budget: Decimal, edges: Sequence[Number], buckets: int | None, workload: str
) -> Mechanism:
    if buckets is not None:
        raise ParameterError("Bins are given by their number or by their edges, not by both.")
    if domain.scalar is None:
        raise ParameterError("Edges of bins are for numbers; categories are bins themselves.")
    view = Bins(domain.scalar, edges)
    question = Distribution(domain, workload, view.size)
    return Mechanism("binned", question, node_block(odds(budget), view.size, 1), budget, CountOutputs(), view)


def bin_variance(e: Fraction, bins: int) -> float:
    """n times the variance of the share of one of so many bins, by the best oracle, where all are equally common."""
    return share_variance(node_block(e, bins, 1))


def best_bins(variance: Callable[[int], float], participants: int, most: int) -> int:
    """The number of bins with the least predicted squared error of the cumulative curve, averaged over the domain.

    `variance` is n times that of a share, for a number of bins that are equally common; the noise of the curve follows.
    The bias is that of a normal curve in the middle of the domain, which is six standard deviations wide.
    """
    best, least = 2, float("inf")
    for bins in range(2, most + 1):
        noise = noise_of_curve(variance(bins), bins) / participants
        if noise > least:  # it grows with the number of bins
            break
        error = noise + bias_of_curve(bins)
        if error < least:
            best, least = bins, error
    return best


def noise_of_curve(variance: float, bins: int) -> float:
    """n times the variance of the cumulative share, averaged over the domain.

    At a point a fraction s inside bin j + 1 the curve is the sum of j shares and s of the next one. Shares that sum to
    one, all alike, have the covariance v (identity - 1/bins) / (1 - 1/bins), where v is the variance of each; so the
    variance of the sum is v (j + s**2 - (j + s)**2 / bins) / (1 - 1/bins).
    """
    mean = (bins - 1) / 2 + 1 / 3 - bins / 3  # over all points
    return mean * variance / (1 - 1 / bins)


def bias_of_curve(bins: int) -> float:
    """The squared distance between the reference curve and straight lines through its values at the edges of bins."""
    total = 0.0
    for left in range(bins):
        low, high = _reference(left / bins), _reference((left + 1) / bins)
        for at, weight in _GAUSS:
            total += weight * (low + at * (high - low) - _reference((left + at) / bins)) ** 2
    return total / bins


def _reference(at: float) -> float:
    return (1 + erf((at - 0.5) * 6 / sqrt(2))) / 2
