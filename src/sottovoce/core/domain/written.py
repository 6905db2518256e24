"""Numbers as a person types them, or as a cell of a file holds them."""

from __future__ import annotations

import re
from decimal import Decimal

MAX_LENGTH = 100  # characters of a number
_WHOLE = re.compile(r"\s*([+-]?[0-9]+)(\.0*)?\s*")
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?\s*")


def written_integer(value: object, *, zeros: bool) -> object:
    """The whole number that a text stands for; anything else as it is.

    Files write whole numbers as 7.0 where a column has empty cells: `zeros` allows that.
    """
    match = _WHOLE.fullmatch(value) if isinstance(value, str) and len(value) <= MAX_LENGTH else None
    return int(match[1]) if match and (zeros or match[2] is None) else value


def written_number(value: object) -> object:
    """The number that a text stands for; anything else as it is.

    A float if it stands for exactly this decimal, since floats are quick to read; else the decimal.
    """
    if not isinstance(value, str) or len(value) > MAX_LENGTH or not _NUMBER.fullmatch(value):
        return value
    near, exact = float(value), Decimal(value.strip())
    return near if Decimal(repr(near)) == exact else exact
