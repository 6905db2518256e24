"""Binary local hashing: one bit of a public hash of the code."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.mechanisms.frequency.local_hash.olh import hashed


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Local hashing to two values.

    Law: the report's id chooses a hash to {0, 1}; its value for the code goes through randomized response.
    Privacy: that of the inner randomized response, e**epsilon.
    Estimator: (count / n - q) / (p - q) with p = e**epsilon / (e**epsilon + 1) and q = 1/2.
    Cost: one byte beside the id; variance (e**epsilon + 1)**2 / (n (e**epsilon - 1)**2) for rare values, more than
        OLH as soon as that hashes to three values, from epsilon 0.41 on.
    Reference: Bassily, Smith, "Local, private, efficient protocols for succinct histograms", STOC 2015; in this
        form Wang et al., USENIX Security 2017.
    """
    budget = check_epsilon("blh", epsilon)
    return hashed("blh", domain, budget, odds(budget), 2)
