"""What a picture of rows shows, declared; `draw` draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sottovoce_experiments.row import Row

DIAGONAL = "diagonal"


@dataclass(frozen=True, slots=True)
class Picture:
    """Numbers `y` of rows by their `x`: a line for each value of the fields `lines`, a panel for each of `panels`.

    Several names of `x` make places with a label, as texts do. Several names of `y` make a line each, or with `rows` a
    row of panels each.
    """

    x: str | tuple[str, ...]
    y: str | tuple[str, ...]
    lines: str | tuple[str, ...] = ()
    panels: str | tuple[str, ...] = ()
    where: tuple[tuple[str, Any], ...] = ()  # which rows are shown; `most` stands for the largest value
    rows: bool = False
    mean: bool = False  # average rows with the same place
    over: str = ""  # the field that numbers are divided by
    dots: bool = False
    crosses: str = ""  # numbers to compare with, such as published ones
    dashes: str = ""  # the same for all lines, such as a lower bound
    spread: str = ""  # standard deviation, drawn as a shade
    guide: float | str | None = None  # a grey line at this height, or the diagonal
    log: str = "y"  # which axes are logarithmic
    xlabel: str = ""
    ylabel: str = ""

    def shown(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that are shown; all, where a quick run has none of them."""
        wanted = {name: max(row[name] for row in rows) if value is MOST else value for name, value in self.where}
        return [row for row in rows if all(row[name] == value for name, value in wanted.items())] or list(rows)


MOST = object()


def several(names: str | tuple[str, ...]) -> tuple[str, ...]:
    """One name or several as a tuple."""
    return (names,) if isinstance(names, str) else names
