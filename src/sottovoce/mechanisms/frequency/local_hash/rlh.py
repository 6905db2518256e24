"""Re-optimised local hashing: the number of hash values of least average error for the number of categories."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

from sottovoce.core.arithmetic.rational import odds, sqrt_down
from sottovoce.core.channel import Rates
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.mechanisms.frequency.common import average_variance, categories, lean
from sottovoce.mechanisms.frequency.local_hash.olh import MAX_VALUES, hashed


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Local hashing with the least variance averaged over all categories instead of that of a rare one.

    Law: that of local hashing with g one of the two whole numbers next to 1 + h e**epsilon, where
        h = sqrt((k - 1 + e**-epsilon) / (k - 1 + e**epsilon)); p = e**epsilon / (e**epsilon + g - 1).
    Privacy: that of the inner randomized response, e**epsilon; the hash is public.
    Estimator: (count / n - q) / (p - q) with q = c p + (1 - c) (1 - p) / (g - 1), c the probability of a collision.
    Cost: that of OLH; fewer hash values where there are few categories.
    Reference: Fang, Chen, Liu, "Further study on frequency estimation under local differential privacy", USENIX
        Security 2025.
    """
    budget = check_epsilon("rlh", epsilon)
    k, e = categories("rlh", domain), odds(budget)
    best = 1 + e * sqrt_down(lean(k, e))

    def error(g: int) -> Fraction:
        return average_variance(Rates(e / (e + g - 1), Fraction(1, g)), k)

    nearest = {min(max(2, near), MAX_VALUES) for near in (int(best), ceil(best))}
    return hashed("rlh", domain, budget, e, min(sorted(nearest), key=error))
