"""One randomized bit that says which of two stated distributions makes the answer likelier."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, reject
from sottovoce.core.question import HalfSets
from sottovoce.core.question.half_sets import MAX_ANSWERS
from sottovoce.mechanisms.frequency.common import categories
from sottovoce.mechanisms.frequency.half_sets import bits

NAME = "one-bit"
_ROUNDING = Fraction(1, 10**9)  # of shares that are written as decimals


def build(domain: Domain, *, epsilon: Any, shares: Any = None, other: Any = None) -> Mechanism:
    """Randomized response about one set: the answers that are likelier under the second of two stated distributions.

    Law: the set holds the answers whose share in `other` is larger than in `shares`. The report is a bit, which says
        with p = e**epsilon / (e**epsilon + 1) whether the set holds the answer, else the opposite. By default all
        answers have equal shares in the first distribution, and evenly falling ones in the second.
    Privacy: p / (1 - p) = e**epsilon.
    Estimator: the share of the set, 1/2 + (share of "inside" less share of "outside") / (2 (2 p - 1)). Under the two
        distributions it differs by their total variation distance, which no other set exceeds.
    Cost: one byte. Shares of single answers cannot be estimated; `likelihood_ratio` is the test.
    Reference: Canonne, Kamath, McMillan, Smith, Ullman, "The structure of optimal private tests for simple
        hypotheses", STOC 2019; locally private: Joseph, Mao, Neel, Roth, "The role of interactivity in local
        differential privacy", FOCS 2019. Two outputs are optimal for small epsilon: Kairouz, Oh, Viswanath,
        "Extremal mechanisms for local differential privacy", JMLR 2016.
    """
    budget = check_epsilon(NAME, epsilon)
    size = categories(NAME, domain, MAX_ANSWERS)
    first: list[Fraction] = [Fraction(1, size)] * size if shares is None else _stated("shares", shares, size)
    falling = [Fraction(2 * (size - code), size * (size + 1)) for code in range(size)]
    second = falling if other is None else _stated("other", other, size)
    inside = "".join("01"[b > a] for a, b in zip(first, second, strict=True))
    if "1" not in inside:
        raise ParameterError(
            "The two stated distributions are the same: no report tells them apart.", parameter="other"
        )
    return bits(NAME, HalfSets(domain, sets=(inside,)), budget)


def _stated(name: str, shares: Any, size: int) -> list[Fraction]:
    """Stated shares of all answers, in their order."""
    listed = list(shares) if isinstance(shares, Iterable) and not isinstance(shares, (str, bytes)) else []
    numbers: list[Any] = [Fraction(check_decimal(name, NAME, float(one))) for one in listed]
    if len(numbers) != size or min(numbers) < 0 or abs(sum(numbers) - 1) > _ROUNDING:
        raise reject(name, NAME, f"a list of {size} shares from 0 to 1 that sum to 1", shares)
    return numbers
