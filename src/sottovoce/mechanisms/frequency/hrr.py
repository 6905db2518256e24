"""The Hadamard mechanism: one entry of a Hadamard matrix, chosen in public, with its sign randomized."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.mechanisms.frequency.local_hash.flh import pooled


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Hadamard randomized response: the pool of all linear maps to one bit.

    Law: the report's id chooses a row s of a Hadamard matrix of order K >= k; its entry at the code, the parity of
        the common bits of s and v, goes through randomized response, p = e**epsilon / (e**epsilon + 1).
    Privacy: that of the randomized response, e**epsilon; the row is public.
    Estimator: (count / n - 1/2) / (p - 1/2), where count is the number of reports whose bit is the entry at v.
    Cost: one byte beside the id; variance (e**epsilon + 1)**2 / (n (e**epsilon - 1)**2) for every value.
    Reference: Nguyen et al., "Collecting and analyzing data from smart device users with local differential
        privacy", 2016; Cormode, Kulkarni, Srivastava, "Marginal release under local differential privacy",
        SIGMOD 2018.
    """
    budget = check_epsilon("hrr", epsilon)
    return pooled("hrr", domain, budget, odds(budget), 2)
