"""What frequency oracles share: the check of a domain, and the error that some of them minimise."""

from __future__ import annotations

from fractions import Fraction

from sottovoce.core.channel import Rates
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import count_text


def categories(owner: str, domain: Domain, largest: int = 1 << 24) -> int:
    """The number of codes of a finite domain."""
    size = domain.size
    if size is None or not 2 <= size <= largest:
        sentence = f"The 'domain' parameter of {owner} must have from 2 to {largest} codes, not a continuum of numbers."
        raise ParameterError(sentence, "a continuum" if size is None else count_text(size))
    return size


def lean(k: int, e: Fraction) -> Fraction:
    """(k - 1 + 1/e) / (k - 1 + e): the square of how far the best probabilities lean towards rare values."""
    return (k - 1 + 1 / e) / (k - 1 + e)


def average_variance(rates: Rates, k: int) -> Fraction:
    """n times the variance of a share, averaged over k codes that are equally common (sample target)."""
    own, other = rates
    return (own * (1 - own) + (k - 1) * other * (1 - other)) / k / (own - other) ** 2
