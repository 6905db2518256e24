"""A hierarchy of bins: each participant answers about one level of a tree."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.distribution.tree_common import MOST_LEAVES, leaves, node_block, one_of, range_shares

SHARES = ("equal", "ranges")


def build(
    domain: Domain,
    *,
    epsilon: Any,
    buckets: int | None = None,
    branching: int = 4,
    shares: str = "equal",
    workload: str = "cdf",
) -> Mechanism:
    """Hierarchical histogram: the node of one level under which the answer falls, by the best frequency oracle for it.

    Law: a coin chooses one of the h levels below the root of a tree with `branching` children for each node; the node
        of the answer goes through k-ary randomized response on the level's k nodes, or through a pool of public maps
        to g values (for g = 2 Hadamard randomized response), whichever has less variance. The coin is fair if `shares`
        is "equal"; "ranges" asks more about levels that ranges need more nodes of.
    Privacy: that of the level that was chosen, e**epsilon; the choice is independent of the answer.
    Estimator: weighted least squares over all levels (consistency after Hay et al.), in linear time, unbiased.
    Cost: up to 17 bits. The variance of a range grows with the logarithm of the number of buckets.
    Reference: Kulkarni, Cormode, Srivastava, "Answering range queries under local differential privacy", VLDB 2019;
        Hay, Rastogi, Miklau, Suciu, VLDB 2010.
    """
    budget = check_epsilon("hierarchy", epsilon)
    view = leaves("hierarchy", domain, buckets)
    children = check_integer("branching", "hierarchy", branching, 2, MOST_LEAVES)
    codes, e = view.size or 0, odds(budget)
    widths = [1]
    while widths[-1] * children < codes:
        widths.append(widths[-1] * children)
    if shares not in SHARES:
        raise reject("shares", "hierarchy", f"one of {', '.join(SHARES)}", shares)
    levels = widths[::-1]
    blocks = [node_block(e, codes, width) for width in levels]
    channel = one_of(blocks, range_shares(blocks, levels, codes) if shares == "ranges" else None)
    question = Distribution(domain, workload, buckets)
    return Mechanism("hierarchy", question, channel, budget, CountOutputs(), view)
