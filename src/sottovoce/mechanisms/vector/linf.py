"""The mechanism of Duchi, Jordan and Wainwright for vectors of bounded numbers: one bit for each, in half a space."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import HalfSpace, Rounding
from sottovoce.core.domain import Box, Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import VectorMean
from sottovoce.core.statistic.parts import CountParts


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Every number of a vector at once, for one budget: a vector of signs, likelier on the side of the answer.

    Law: with x scaled to [-1, 1]**d, each coordinate is rounded to a sign, v_j = +1 with probability (1 + x_j)/2. The
        C vectors of signs t with t.v > 0 have weight e**epsilon, all others, including ties, weight 1. C = 2**(d-1)
        for odd d and 2**(d-1) - binom(d, d/2)/2 for even d. This is drawn as a mixture: uniformly among the C with
        probability (e**epsilon - 1) C / (e**epsilon C + 2**d - C), else uniformly among all vectors.
    Privacy: the two weights have the ratio e**epsilon. The published forms for even d put ties elsewhere (erratum 6).
    Estimator: the mean of B t_j with B = (e**epsilon C + 2**d - C) / ((e**epsilon - 1) binom(d-1, floor(d/2))), scaled
        back to the range.
    Cost: d bits, O(d) time; variance B**2 - x_j**2 for each coordinate, where B grows like sqrt(d).
    Reference: Duchi, Jordan, Wainwright, "Minimax optimal procedures for locally private estimation", JASA 2018
        (the l_inf ball).
    """
    budget = check_epsilon("duchi-linf", epsilon)
    if not isinstance(domain, Box):
        raise ParameterError(
            "The 'domain' parameter of duchi-linf must be a vector of numbers, such as Box(-1, 1, dimensions=32)."
        )
    grid = Rounding(domain.low, domain.high, 1)
    channel = HalfSpace.of_ratio([grid] * domain.dimensions, odds(budget))
    return Mechanism("duchi-linf", VectorMean(domain), channel, budget, CountParts())
