"""An experiment is declared: data, methods, a grid, a metric, and a function that computes one cell of the grid."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import sottovoce
from sottovoce.core import late
from sottovoce_experiments.claim import Claim, table
from sottovoce_experiments.page import Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.row import Row as Row

Point = dict[str, Any]  # a value of each axis
# Each axis has a name and its values; several names and tuples of values if not all combinations are wanted.
Axes = tuple[tuple[str | tuple[str, ...], tuple[Any, ...]], ...]
Cell = Callable[[Mapping[str, Any], int, int], list[Row]]  # point, runs, seed
PACKAGE = "sottovoce_experiments"


def load(target: str) -> Any:
    """The object that "module:name" names, with `module` relative to this package."""
    return late.load(target, package=PACKAGE)


@dataclass(frozen=True, slots=True)
class Late:
    """A cell that is loaded when it is called: listing experiments does not load their modules."""

    target: str  # "module:name"

    def __call__(self, point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
        rows: list[Row] = load(self.target)(point, runs, seed)
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is computed, and what it is compared with.

    `cell` must be a function of a module, so that another process finds it. Its random numbers come from its seed only.
    """

    id: str
    title: str
    metric: str
    grid: Axes
    quick: Axes  # the part of the grid that a quick run computes
    cell: Cell
    figure: Picture | None
    columns: tuple[str, ...]  # of the printed table
    runs: int = 1
    quick_runs: int = 1
    claims: tuple[Claim, ...] = ()  # sentences of the paper that rows decide
    rows: str = ""  # the name under which rows are kept; figures with the same grid may share them
    where: tuple[tuple[str, tuple[Any, ...]], ...] = ()  # the rows that it shows, where it shows a part of them
    summary: Callable[[Sequence[Row]], list[str]] | None = None
    paper: str | None = None  # empty for studies of our own methods
    data: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    published: Mapping[tuple[Any, ...], float] | None = None  # by the values of the axes
    needs: tuple[str, ...] = ()  # files of the folder that SOTTOVOCE_DATA names
    section: Section | None = None  # of a page of the documentation

    def __post_init__(self) -> None:
        if self.section is not None:
            points = self.points()
            varying = tuple(name for name in self.axes if len({point[name] for point in points}) > 1)
            object.__setattr__(self, "section", self.section.complete(varying))

    def markdown(self, rows: Sequence[Row]) -> str:
        """The section of the page: heading, text, picture, claims, and the table of numbers."""
        if self.section is None:
            return ""
        rows = self.shown(rows)
        claims = table(self.claims, rows) if self.claims else ""
        drawn = f"![{self.title}]({self.section.page.up}{self.drawing})" if self.drawn_on_page else ""
        return self.section.markdown(rows, (drawn, claims))

    def shown(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that are shown."""
        return [row for row in rows if all(row[name] in values for name, values in self.where)]

    @property
    def drawn_on_page(self) -> bool:
        """Whether its page shows its picture."""
        return self.figure is not None and self.section is not None and self.section.page.pictures

    @property
    def drawing(self) -> str:
        """Where the folder of pages keeps the picture."""
        return f"pictures/papers/{self.id}.svg"

    @property
    def kept(self) -> str:
        """The name under which its rows are kept."""
        return self.rows or self.id

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(name for names, _ in self.grid for name in _several(names))

    def points(self, *, quick: bool = False) -> list[Point]:
        """Every cell of the grid."""
        axes = self.quick if quick else self.grid
        steps = [[_step(names, value) for value in values] for names, values in axes]
        return [dict(pair for step in chosen for pair in step.items()) for chosen in product(*steps)]

    def key(self, row: Mapping[str, Any]) -> str:
        """Which cell a point or a row belongs to."""
        return json.dumps([row[name] for name in self.axes])

    def cell_seed(self, point: Mapping[str, Any], seed: int) -> int:
        """The cell's own seed, independent of the order and number of workers."""
        text = json.dumps([self.kept, seed, self.key(point)])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")

    def identity(self, seed: int, runs: int, data: str | None = None) -> str:
        """What finished cells must share to be reused: code, seed, runs and data."""
        text = json.dumps([self.kept, source_digest(), seed, runs, data])
        return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Of all source of the two packages: any of it may change what a cell computes."""
    roots = [Path(str(one.__file__)).resolve().parent for one in (sottovoce, sys.modules[PACKAGE])]
    files = [(path.relative_to(root.parent).as_posix(), path) for root in roots for path in sorted(root.rglob("*.py"))]
    digests = [[name, hashlib.sha256(path.read_bytes()).hexdigest()] for name, path in files]
    return hashlib.sha256(json.dumps(digests).encode()).hexdigest()


def _several(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def _step(names: str | tuple[str, ...], value: Any) -> Point:
    return {names: value} if isinstance(names, str) else dict(zip(names, value, strict=True))
