"""The functions of O-RR and O-RAPPOR: permutations of a closed domain, hashed rows for an open one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sottovoce.core.channel import PermutationMap, RowMap
from sottovoce.core.domain import Domain, Text
from sottovoce.core.errors import ParameterError
from sottovoce.core.field import is_prime
from sottovoce.core.mechanism import MAX_CELLS
from sottovoce.core.params import check_integer, count_text, reject
from sottovoce.mechanisms.rappor.common import MAX_COHORTS, OPEN_COHORTS

MOST_VALUES = 8  # values that are tried on closed domains: more hardly collide less
OPEN_VALUES = 128


def rows_or_permutations(
    owner: str,
    domain: Domain,
    g: Any,
    cohorts: Any,
    variance: Callable[[int, Fraction], float],
    more: int,
) -> PermutationMap | RowMap:
    """Permutations with the number of values of least variance; a tally has g + `more` cells for each of them."""
    size = domain.size
    if size is None or size < 2:
        raise reject("domain", owner, "Text, or a domain with at least 2 and finitely many codes", domain)
    if isinstance(domain, Text) or cohorts is not None:
        rows = check_integer("cohorts", owner, OPEN_COHORTS if cohorts is None else cohorts, 2, MAX_COHORTS)
        return RowMap(size, check_integer("g", owner, OPEN_VALUES if g is None else g, 2, 1 << 12), 1, rows)
    prime = next((one for one in range(max(size, 3), 2 * size + 3) if is_prime(one)), 0) if size < MAX_CELLS else 0
    fitting = [one for one in range(2, min(prime, MOST_VALUES) + 1) if prime * (prime - 1) * (one + more) <= MAX_CELLS]
    if not fitting:
        raise ParameterError(
            f"The 'domain' parameter of {owner} must be Text, or so small that a tally of all permutations has at most"
            f" 2**24 cells, unless cohorts are given. Got {count_text(size)} codes."
        )
    if g is not None:
        return PermutationMap(size, prime, check_integer("g", owner, g, 2, fitting[-1]))
    maps = [PermutationMap(size, prime, one) for one in fitting]
    return min(maps, key=lambda one: variance(one.g, one.collision))
