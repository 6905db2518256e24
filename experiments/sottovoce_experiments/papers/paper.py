"""One way to declare what a paper shows: a figure has a grid, a cell, a picture, claims, and a place on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sottovoce_experiments.claim import Claim, PaperVerdict
from sottovoce_experiments.experiment import Axes, Cell, Experiment, Late, Row, load
from sottovoce_experiments.page import Page, PageColumn, Section
from sottovoce_experiments.picture import Picture, several

Grid = dict[str | tuple[str, ...], Any]  # the values of each axis, or of several at once
HEAD = """\
# {title}

What of this paper reproduces here, what does not, and what to use instead. {source}

Written by `sottovoce reproduce '{id}-*' --pages docs`, section by section. A sentence of the paper, in our words,
*holds* if it is true in at least 95 % of the cases that it speaks of, *does not hold* if it is true in at most 5 %,
and else *depends*. Numbers are those of right mechanisms: [errata](../../why/errata.md) lists the published ones that
lose more privacy than they claim, or are biased. [All papers](index.md).
"""


def overview(sections: Mapping[str, str]) -> str:
    """How many sentences of each section hold."""
    lines, total = [], [0] * len(PaperVerdict)
    for text in sections.values():
        counts = [text.count(f"| **{verdict}** |") for verdict in PaperVerdict]
        heading = next(line for line in text.splitlines() if line.startswith("#")).lstrip("# ")
        if any(counts):
            lines.append(f"| {heading} | {' | '.join(map(str, counts))} |")
            total = [a + b for a, b in zip(total, counts, strict=True)]
    head = f"| where | {' | '.join(PaperVerdict)} |"
    whole = f"| **all {sum(total)} sentences** | {' | '.join(map(str, total))} |"
    return "\n".join(["", "## What holds", "", head, "|---" * (len(PaperVerdict) + 1) + "|", *lines, whole, ""])


class Case(NamedTuple):
    """One case of a sentence that needs no figure: its name, a number that decides it, and whether it is true."""

    name: str
    number: float
    holds: bool


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence of a paper that is decided by a computation of its own."""

    place: str
    sentence: str
    verdict: PaperVerdict
    target: str  # "module:name" of a function that yields cases
    why: str = ""

    def claim(self) -> Claim:
        """The sentence, judged by the rows of this fact."""
        return Claim(self.place, self.sentence, self.verdict, self._cases, self.why, self._numbers)

    def _own(self, rows: Sequence[Row]) -> list[Row]:
        return [row for row in rows if row["fact"] == self.target]

    def _cases(self, rows: Sequence[Row]) -> Iterator[bool]:
        return (row["holds"] for row in self._own(rows))

    def _numbers(self, rows: Sequence[Row]) -> str:
        return ", ".join(f"{row['case']}: {row['number']:.4g}" for row in self._own(rows)[:SHOWN])


SHOWN = 4  # numbers beside a sentence


def fact_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The cases of one sentence."""
    cases: Iterator[Case] = load(point["fact"])()
    return [{"case": case.name, "number": float(case.number), "holds": bool(case.holds)} for case in cases]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: the beginning of the names of its experiments, its page, and where it was published."""

    id: str
    file: str
    title: str
    source: str

    @property
    def page(self) -> Page:
        """The page about the paper."""
        head = HEAD.format(id=self.id, title=self.title, source=self.source)
        return Page(f"results/papers/{self.file}.md", head, pictures=True, overview=overview)

    def figure(
        self, place: str, title: str, *, cell: str | Cell, grid: Grid, picture: Picture, metric: str, quick: Grid,
        runs: int = 1, quick_runs: int = 1, claims: tuple[Claim, ...] = (),
        text: str | Callable[[Sequence[Row]], str] = "", form: str = ".3g", scale: float | None = None,
        rows: str = "", where: Mapping[str, tuple[Any, ...]] | None = None,
        columns: tuple[str | PageColumn, ...] = (), lead: tuple[str, ...] = (),
        printed: tuple[str, ...] = (), needs: tuple[str, ...] = (),
        data: tuple[str, ...] = (), methods: tuple[str, ...] = (),
        summary: Callable[[Sequence[Row]], list[str]] | None = None,
        published: Mapping[tuple[Any, ...], float] | None = None,
    ) -> Experiment:  # fmt: skip
        """The experiment `<paper>-<place>`, such as "sok-figure-1".

        Args:
            place: The figure or table, such as "figure-1".
            title: What it shows.
            cell: "module:name" of the function that computes the rows of one cell, or the function.
            grid: The values of each axis; several names have tuples of values.
            picture: What the picture shows. The table of the page follows it: a line for each panel and line, a column
                for each place on the axis; `columns` names fields of rows instead.
            metric: What the numbers are.
            quick: The axes that a quick run thins, with their values. The claims must have the same verdict there.
            runs: Repetitions of a cell; one for what is computed exactly.
            quick_runs: Repetitions in a quick run.
            claims: Sentences of the paper that the rows decide.
            text: What stands above the picture, besides the metric.
            form: How numbers of the table are written.
            scale: What they are multiplied by.
            rows: The name of rows that several figures show; their grids must be equal.
            where: The rows that are shown, by the values of some fields, where not all are.
            columns: Columns of the table of the page, where they do not follow from the picture.
            lead: The columns before these; the axes that vary by default.
            printed: Columns of the table in the terminal, besides the axes and what is drawn.
            needs: Files of shared data.
            data: The data, in words.
            methods: The methods, in words.
            summary: Sentences about the rows.
            published: Numbers of the paper, by the values of the axes.
        """
        axes: Axes = tuple((names, tuple(values)) for names, values in grid.items())
        varying = [name for names, values in axes if len(values) > 1 for name in several(names)]
        across = several(picture.x)[0] if not columns and picture.x in grid else ""
        shown = tuple(PageColumn(one, one, form, missing="-") if isinstance(one, str) else one for one in columns)
        fields = several(picture.y)
        said = f"{place.replace('-', ' ').capitalize()}: {title[0].lower()}{title[1:]}"
        return Experiment(
            id=f"{self.id}-{place}",
            title=f"{place.replace('-', ' ').capitalize()}: {title}",
            paper=f"{self.title}, {place.replace('-', ' ').capitalize()}",
            metric=metric,
            data=data,
            methods=methods,
            grid=axes,
            quick=tuple((names, tuple(quick.get(names, values))) for names, values in axes),
            runs=runs,
            quick_runs=quick_runs,
            cell=Late(cell) if isinstance(cell, str) else cell,
            figure=picture,
            columns=tuple(dict.fromkeys((*(name for names, _ in axes for name in several(names)), *fields, *printed))),
            claims=claims,
            published=published,
            rows=rows and f"{self.id}-{rows}",
            where=tuple((where or {}).items()),
            summary=summary,
            needs=needs,
            section=Section(
                page=self.page,
                heading=f"## {said}",
                text=text or f"The numbers are the {metric}{_by(across)}.",
                lead=lead or tuple(name for name in varying if name != across),
                columns=shown or _across(fields, across, grid.get(across, ()), form, scale),
            ),
        )

    def facts(self, *facts: Fact) -> Experiment:
        """The experiment `<paper>-sentences`: sentences that no figure decides."""
        axes: Axes = (("fact", tuple(fact.target for fact in facts)),)
        return Experiment(
            id=f"{self.id}-sentences",
            title="Sentences that are decided by a computation",
            paper=self.title,
            metric="numbers that decide a sentence",
            grid=axes,
            quick=axes,
            cell=Late("papers.paper:fact_cell"),
            figure=None,
            columns=("fact", "case", "number", "holds"),
            claims=tuple(fact.claim() for fact in facts),
            section=Section(
                page=self.page,
                heading="## Sentences decided without a figure",
                text="Exact unless runs are named.",
                columns=(),
                by=("fact",),
            ),
        )


def _by(axis: str) -> str:
    return f", by {axis}" if axis else ""


def _across(
    fields: Sequence[str], axis: str, values: Sequence[Any], form: str, scale: float | None
) -> tuple[PageColumn, ...]:
    """A column for each field and value of the axis; for each field where there is no axis."""
    if not axis:
        return tuple(PageColumn(field, field, form, missing="-") for field in fields)
    return tuple(
        PageColumn(
            f"{field} at {value:g}" if len(fields) > 1 else f"{value:g}",
            field,
            form,
            ((axis, value),),
            scale,
            missing="-",
        )
        for field in fields
        for value in values
    )
