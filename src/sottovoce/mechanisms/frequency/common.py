"""The check of a domain that all frequency oracles share."""

from __future__ import annotations

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
