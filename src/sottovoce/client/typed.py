"""Text as a value of a domain: typed by a person, or read from a cell of a file."""

from __future__ import annotations

import re
from decimal import Decimal

from sottovoce.core.domain import Categories, Circle, Domain, Integers, Interval, Text

MAX_LENGTH = 100  # characters of a number
_WHOLE = re.compile(r"\s*([+-]?[0-9]+)(\.0*)?\s*")
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?\s*")


def holds_texts(domain: Domain) -> bool:
    """Whether raw answers are texts."""
    raw = domain.root
    return isinstance(raw, Text) or (isinstance(raw, Categories) and isinstance(raw.values[0], str))


def typed(domain: Domain, value: object) -> object:
    """A text as the number that the domain holds, the number 7 as the category "7", and a truth value as the category
    that says it, or as 1 and 0 where the domain has these two numbers only.

    Other texts are returned unchanged; the domain checks them.
    """
    raw = domain.root
    if isinstance(value, str) and len(value) <= MAX_LENGTH:
        if isinstance(raw, (Circle, Interval)):
            return _number(value)
        if isinstance(raw, Integers) or (isinstance(raw, Categories) and not holds_texts(raw)):
            whole = _WHOLE.fullmatch(value)
            # Files write whole numbers as 7.0 where a column has empty cells; a category is one of its texts.
            return int(whole[1]) if whole and (whole[2] is None or isinstance(raw, Integers)) else value
    if isinstance(value, bool):
        return _truth(raw, value)
    if type(value) is int and holds_texts(raw):
        return str(value)
    return value


def _truth(raw: Domain, value: bool) -> object:
    """A truth value as the domain holds it; left as it is where that is not clear."""
    if isinstance(raw, Categories):
        said = [label for label in raw.values if str(label).lower() == str(value).lower()]
        if len(said) == 1:
            return said[0]
        return int(value) if set(raw.values) == {0, 1} else value
    if isinstance(raw, (Integers, Interval)) and (raw.low, raw.high) == (0, 1):
        return int(value)
    return value


def _number(text: str) -> object:
    """A float if it stands for exactly this decimal, since floats are quick to read; else the decimal."""
    if not _NUMBER.fullmatch(text):
        return text
    near, exact = float(text), Decimal(text.strip())
    return near if Decimal(repr(near)) == exact else exact
