"""Text as a value of a domain: typed by a person, or read from a cell of a file."""

from __future__ import annotations

from sottovoce.core.domain import Domain


def holds_texts(domain: Domain) -> bool:
    """Whether raw answers are texts."""
    return domain.root.holds_texts


def typed(domain: Domain, value: object) -> object:
    """A text as the number that the domain holds, the number 7 as the category "7", and a truth value as the category
    that says it, or as 1 and 0 where the domain has these two numbers only.

    Other texts are returned unchanged; the domain checks them.
    """
    return domain.root.typed(value)
