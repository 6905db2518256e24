"""Haar coefficients through Hadamard randomized response."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import PoolSets
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.distribution.common import coded
from sottovoce.mechanisms.distribution.tree_common import block, one_of


def build(domain: Domain, *, epsilon: Any, buckets: int | None = None, workload: str = "cdf") -> Mechanism:
    """HaarHRR: in which half of a node of one level the answer falls, through Hadamard randomized response.

    Law: a coin chooses one of the h levels of a binary tree, and another a row of the Hadamard matrix for the level's
        nodes; the row's sign at the node of the answer, negated in the right half, goes through randomized response,
        p = e**epsilon / (e**epsilon + 1).
    Privacy: that of the randomized response, e**epsilon; level and row are independent of the answer.
    Estimator: each Haar coefficient from the reports of its level, then the inverse transform; unbiased.
    Cost: as many bits as write the number of buckets, and one; each row but the constant one belongs to one level.
    Reference: Kulkarni, Cormode, Srivastava, "Answering range queries under local differential privacy", VLDB 2019.
    """
    budget = check_epsilon("haar", epsilon)
    view = coded("haar", domain, buckets)
    codes, e = view.size or 0, odds(budget)
    depth = (codes - 1).bit_length()
    levels = range(1, depth + 1)
    channel = one_of([block(e, PoolSets(codes, 1 << depth - level, 2, level, 1)) for level in levels])
    question = Distribution(domain, workload, buckets)
    return Mechanism("haar", question, channel, budget, CountOutputs(), view)
