"""Views that see codes in parts, levels or merged: the finest codes behind them, and the part of each of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import Record
from sottovoce.core.domain.views import Level, Merged, Select


def base_of(view: Domain) -> Domain:
    """The domain behind levels and merged codes; of a view of several fields with the domain behind each."""
    if isinstance(view, (Level, Merged)):
        return base_of(view.of)
    if isinstance(view, Select):
        return Select(Record({name: base_of(field) for name, field in view.parts}), view.names)
    return view


def places_of(view: Domain) -> Sequence[int]:
    """The code in a view of each code of the domain behind it."""
    if isinstance(view, Level):
        width = view.branching ** (view.depth - view.level)
        return [code // width for code in places_of(view.of)]
    if isinstance(view, Merged):
        return [view.parts[code] for code in places_of(view.of)]
    if isinstance(view, Select):
        found: Sequence[int] = [0]
        for _, field in view.parts:
            own, size = places_of(field), field.size or 1
            found = [code * size + more for code in found for more in own]
        return found
    return range(view.size or 0)


def counts_of(view: Domain) -> tuple[int, ...]:
    """How many parts each field has; one number where the parts are those of all fields together."""
    parts: Sequence[tuple[str, Any]] = view.parts if isinstance(view, Select) else [("", view)]
    return tuple(field.size or 0 for _, field in parts)
