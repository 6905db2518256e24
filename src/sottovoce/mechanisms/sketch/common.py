"""The rows of a sketch: all linear maps of a balanced pool, or a few hash functions for an open domain."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.field import digits
from sottovoce.core.channel import PoolMap, RowMap
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import MAX_CELLS
from sottovoce.core.params import check_integer, count_text, reject
from sottovoce.mechanisms.rappor.common import countable

WIDTHS = (16, 8, 4, 2)
OPEN_WIDTH, OPEN_ROWS = 256, 1024
MAX_WIDTH, MAX_ROWS = 1 << 12, 1 << 14


def rows(
    owner: str, domain: Domain, width: Any, cells: Any, *, values: int = 1, hashed: Any = None
) -> PoolMap | RowMap:
    """Functions to `values` values for each of `width` positions; a row of a tally has cells(width) cells.

    The rows of a closed domain are balanced, so that two codes collide under exactly one in width of them: there must
    be as many of them as codes. Those of an open domain are `hashed` rows, fewer than codes.
    """
    size = countable(owner, domain)
    if width is not None and check_integer("width", owner, width, 2, MAX_WIDTH) & (width - 1):
        raise reject("width", owner, "a power of two", width)
    if domain.is_open or hashed is not None:
        count = check_integer("rows", owner, OPEN_ROWS if hashed is None else hashed, 2, MAX_ROWS)
        return RowMap(size, (OPEN_WIDTH if width is None else int(width)) * values, 1, count)
    for one in WIDTHS if width is None else (int(width),):
        order = one * values
        if order <= 256 and size < MAX_CELLS and order ** digits(size, order) * cells(one) <= MAX_CELLS:
            return PoolMap(size, order, digits(size, order))
    sentence = (
        f"The 'domain' parameter of {owner} must have so few codes that a balanced sketch of them fits into 2**24"
        " cells, or be Text, unless rows are given."
    )
    raise ParameterError(sentence, count_text(size))
