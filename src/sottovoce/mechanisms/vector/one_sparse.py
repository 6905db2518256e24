"""The mechanism of Duchi, Jordan and Wainwright for vectors with a single entry: a sign for every place."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import Signs
from sottovoce.core.domain import Domain, Sparse
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import VectorMean
from sottovoce.core.statistic.sums import Sums


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """A vector of signs that agrees with the one entry of the answer, and is fair everywhere else.

    Law: the entry x at place j is rounded to a sign, v = +1 with probability (1 + x/bound)/2. The report has v at j
        with probability p = e**epsilon / (e**epsilon + 1), else -v; all other signs are fair.
    Privacy: two reports differ in probability by p / (1 - p) = e**epsilon at most; without an entry all are fair.
    Estimator: the mean of B t_j with B = bound (e**epsilon + 1) / (e**epsilon - 1).
    Cost: d bits; variance B**2 - x_j**2 in every place, whatever d is. "sparse" has the same variance or less from
        reports of about log2(2 d) bits.
    Reference: Duchi, Jordan, Wainwright, "Minimax optimal procedures for locally private estimation", JASA 2018
        (one-sparse vectors, and private frequencies).
    """
    budget = check_epsilon("one-sparse", epsilon)
    if not isinstance(domain, Sparse) or domain.most != 1:
        raise ParameterError(
            "The 'domain' parameter of one-sparse must be vectors with one entry, such as Sparse(1000, most=1)."
        )
    return Mechanism("one-sparse", VectorMean(domain), Signs.of_ratio(domain, 1, odds(budget)), budget, Sums())
