"""Sections of documentation pages that are written from rows, and how they are put into a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sottovoce_experiments.row import Row as Row

_MARK = re.compile(r"<!-- section: ([\w-]+) -->\n")


@dataclass(frozen=True, slots=True)
class PageColumn:
    """One column of a table: a field of one row of each line, and how it is written.

    Where several rows of a line match, it is the first of them, or with `least` the smallest number,
    with `mean` the mean.
    """

    head: str
    field: str
    form: str | None = ""  # as in format(); None writes floats as short as they are
    where: tuple[tuple[str, Any], ...] = ()  # which row of the line; the first by default
    scale: float | None = None  # the number written is start + scale * value
    start: float = 0
    missing: str = ""
    least: bool = False
    mean: bool = False

    def text(self, line: Sequence[Row]) -> str:
        """The text of this column in a line."""
        found = [row[self.field] for row in line if all(row[name] == value for name, value in self.where)]
        if self.least or self.mean:
            found = sorted(value for value in found if value is not None)
        if self.mean and found:
            found = [sum(found) / len(found)]
        value = found[0] if found else None
        if value is None:
            return self.missing
        form = self.form if self.form is not None else "g" if isinstance(value, float) else ""
        return format(value if self.scale is None else self.start + self.scale * value, form)


THOUSANDS = PageColumn("n", "n", ",")


def percent(
    head: str,
    digits: int = 2,
    field: str = "coverage",
    missing: str = "",
    least: bool = False,
    mean: bool = False,
    **where: Any,
) -> PageColumn:
    """A share in percent."""
    rows = tuple(where.items())
    return PageColumn(head, field, f".{digits}f", rows, 100, missing=missing, least=least, mean=mean)


def rejected(head: str, digits: int = 1, missing: str = "", **where: Any) -> PageColumn:
    """The share that is not covered, in percent."""
    return PageColumn(head, "coverage", f".{digits}f", tuple(where.items()), -100, 100, missing)


def kinds(pairs: Iterable[tuple[str, str]]) -> tuple[PageColumn, ...]:
    """A column for each method and target."""
    return tuple(percent(f"{method}, {target}", method=method, target=target) for method, target in pairs)


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is written section by section."""

    file: str
    head: str
    pictures: bool = False  # whether each section shows its picture
    overview: Callable[[Mapping[str, str]], str] | None = None  # a first section, of what the others say

    @property
    def up(self) -> str:
        """The way from the page to the folder of pages."""
        return "../" * self.file.count("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, a text and a table. Rows that agree in the fields `by` make one line of it.

    An experiment completes its section: `lead` are the columns before those declared, names of fields for most, and the
    axes that vary unless others are named. Their fields are `by`.
    """

    page: Page
    heading: str
    text: str | Callable[[Sequence[Row]], str]
    columns: tuple[PageColumn, ...]
    lead: tuple[str | PageColumn, ...] = ()
    by: tuple[str, ...] = ()

    def complete(self, axes: tuple[str, ...]) -> Section:
        """The section of an experiment with these varying axes, with all columns; one that says `by` has them all."""
        if self.by:
            return self
        lead = [PageColumn(one, one, None) if isinstance(one, str) else one for one in self.lead or axes]
        return replace(self, by=tuple(column.field for column in lead), columns=(*lead, *self.columns))

    def lines(self, rows: Sequence[Row]) -> list[list[Row]]:
        """The rows of each line, in the order of their first."""
        lines: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            lines.setdefault(tuple(row[name] for name in self.by), []).append(row)
        return list(lines.values())

    def markdown(self, rows: Sequence[Row], before: Sequence[str] = ()) -> str:
        """The section, with these paragraphs between its text and its table."""
        table = [[column.text(line) for column in self.columns] for line in self.lines(rows)]
        table = [texts for texts in table if set(texts[len(self.by) :]) - {"-"} or not self.columns[len(self.by) :]]
        head, *lines = (f"| {' | '.join(texts)} |" for texts in ([column.head for column in self.columns], *table))
        text = self.text if isinstance(self.text, str) else self.text(rows)
        paragraphs = [part for part in (text, *before) if part]
        lines = [head, "|---" * len(self.columns) + "|", *lines] if self.columns else []
        return "\n".join(["", self.heading, *(line for part in paragraphs for line in ("", part)), "", *lines]) + "\n"


def sections(page: str) -> dict[str, str]:
    """The sections of a page by name."""
    pieces = _MARK.split(page)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def rewritten(old: str, page: Page, order: Sequence[str], new: Mapping[str, str]) -> str:
    """A page with some sections rewritten, in this order; the others stay as they are."""
    known = {**sections(old), **new}
    known = {name: known[name] for name in order if name in known}
    if page.overview is not None:
        known = {"overview": page.overview(known), **known}
    return page.head + "".join(f"<!-- section: {name} -->\n{text}" for name, text in known.items())


def rewrite(folder: Path, page: Page, name: str, order: Sequence[str], text: str) -> Path:
    """Writes one section into its page, which lies in this folder."""
    path = folder / page.file
    path.parent.mkdir(parents=True, exist_ok=True)
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(rewritten(old, page, order, {name: text}), encoding="utf-8")
    return path
