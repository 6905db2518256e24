"""Grids over the fields of a record: how the answers reach the cells."""

from __future__ import annotations

from math import prod
from typing import Any

from sottovoce.core.domain import Domain, Record, Select
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import reject
from sottovoce.core.question import Boxes
from sottovoce.mechanisms.distribution.common import coded

USUAL_CELLS = 1 << 12


def grid_of(owner: str, domain: Domain, buckets: Any, most: int) -> tuple[Boxes, Select]:
    """The question about a record, and the view of it with one code for each cell of a grid, last field fastest."""
    if not domain.fields or domain.root != domain:
        raise reject("domain", owner, "a Record", domain)
    question = Boxes(domain, buckets)  # type: ignore[arg-type]
    count = len(question.domain.fields)
    # Whole powers of two, so that trees over an axis are full.
    each = question.buckets or 1 << max(1, (USUAL_CELLS.bit_length() - 1) // count)
    record = Record({name: _binned(owner, field, each) for name, field in question.domain.fields})
    cells = prod(field.size or 1 for _, field in record.fields)
    if cells > most:
        raise ParameterError(
            f"The grid of {owner} has {cells:,} cells; at most {most:,} are possible. Use fewer fields or buckets."
        )
    return question, Select(record, record.labels())


def _binned(owner: str, field: Domain, buckets: int) -> Domain:
    """A field whose answers are few enough, or bins of it."""
    if field.choices is not None or (field.size is not None and field.size <= buckets):
        return field
    return coded(owner, field, min(buckets, field.points or buckets))
