"""The check of a domain that all mechanisms for several attributes share."""

from __future__ import annotations

from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import reject
from sottovoce.core.question import Attributes


def attributes(owner: str, domain: Domain) -> Attributes:
    """The question about each field of a record."""
    try:
        return Attributes(domain)
    except ParameterError:
        raise reject("domain", owner, "a record whose fields are categories or numbers", domain) from None
