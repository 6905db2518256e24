"""What frequency oracles share: the check of a domain, and the error that some of them minimise."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from sottovoce.core.channel import Rates
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import count_text, reject


def categories(owner: str, domain: Domain, largest: int = 1 << 24) -> int:
    """The number of codes of a finite domain."""
    size = domain.size
    if size is None or not 2 <= size <= largest:
        sentence = f"The 'domain' parameter of {owner} must have from 2 to {largest} codes, not a continuum of numbers."
        raise ParameterError(sentence, "a continuum" if size is None else count_text(size))
    return size


def sensitive_codes(owner: str, domain: Domain, answers: Any) -> tuple[int, ...] | None:
    """The codes of the sensitive answers; None if all answers are sensitive, or none is named."""
    if answers is None:
        return None
    if isinstance(answers, (str, bytes)) or not isinstance(answers, Iterable):
        raise reject("sensitive", owner, "a list of answers of the domain", None)
    codes = sorted({domain.encode(answer) for answer in answers})
    if not codes:
        raise ParameterError(f"The 'sensitive' parameter of {owner} must name at least one answer.")
    return None if len(codes) == domain.size else tuple(codes)


def lean(k: int, e: Fraction) -> Fraction:
    """(k - 1 + 1/e) / (k - 1 + e): the square of how far the best probabilities lean towards rare values."""
    return (k - 1 + 1 / e) / (k - 1 + e)


def average_variance(rates: Rates, k: int) -> Fraction:
    """n times the variance of a share, averaged over k codes that are equally common (sample target)."""
    own, other = rates
    return (own * (1 - own) + (k - 1) * other * (1 - other)) / k / (own - other) ** 2
