"""Symmetric local hashing: fewer hash values than OLH, for the shuffle model."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import odds, sqrt_down
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.mechanisms.frequency.local_hash.olh import hashed


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Local hashing to g = round(e**(epsilon/2) + 1) values.

    Law: that of local hashing, p = e**epsilon / (e**epsilon + g - 1).
    Privacy: that of the inner randomized response, e**epsilon.
    Estimator: (count / n - q) / (p - q) with q = c p + (1 - c) (1 - p) / (g - 1), c the probability of a collision.
    Cost: one byte beside the id up to g = 256, else two.
    Reference: Wang et al., "Practical and robust privacy amplification with multi-party differential privacy",
        2019; the survey's section on local hashing.
    """
    budget = check_epsilon("slh", epsilon)
    e = odds(budget)
    return hashed("slh", domain, budget, e, max(2, round(sqrt_down(e) + 1)))
