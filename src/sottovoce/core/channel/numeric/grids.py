"""The grids of the coordinates of a vector; a run of equal grids is written once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from sottovoce.core.channel.base import channel_from_spec
from sottovoce.core.channel.numeric.rounding import Rounding
from sottovoce.core.declared import Form
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.params import check_integer
from sottovoce.core.specs import integer, take

MAX_COORDINATES = 1 << 16


def check_grids(owner: str, grids: Iterable[Rounding]) -> tuple[Rounding, ...]:
    """Check that there is at least one grid, and that all have the same number of steps."""
    listed = tuple(grids)
    if not 1 <= len(listed) <= MAX_COORDINATES or not all(isinstance(grid, Rounding) for grid in listed):
        raise ParameterError(f"The coordinates of a {owner} channel must be from 1 to {MAX_COORDINATES} roundings.")
    if len({grid.steps for grid in listed}) > 1:
        raise ParameterError(f"The coordinates of a {owner} channel must have grids with the same number of steps.")
    # Equal grids are one object: a cache compares keys that are not, with one more call for some coordinates.
    kept: dict[Rounding, Rounding] = {}
    return tuple(kept.setdefault(grid, grid) for grid in listed)


def _plain(grids: Sequence[Rounding]) -> list[dict[str, Any]]:
    """Runs of equal grids."""
    return [{"count": sum(1 for _ in run), "grid": grid.spec()} for grid, run in groupby(grids)]


def _read(spec: object, owner: str, name: str) -> tuple[Rounding, ...]:
    """The grids of a specification."""
    if not isinstance(spec, list):
        raise SpecError(f"The grids of a {owner} channel must be a list.")
    grids: list[Rounding] = []
    for run in spec:
        count, fields = take(run, "a run of grids", ("count", "grid"))
        grid = channel_from_spec(fields)
        if not isinstance(grid, Rounding):
            raise SpecError(f"The coordinates of a {owner} channel must be roundings.")
        grids += [grid] * check_integer("count", "a run of grids", integer(count, owner, "count"), 1, MAX_COORDINATES)
        if len(grids) > MAX_COORDINATES:
            raise SpecError(f"A {owner} channel has at most {MAX_COORDINATES} coordinates.")
    return tuple(grids)


GRIDS: Form = Form("grids", _read, _plain, lambda name, owner, grids: check_grids(owner, grids))
