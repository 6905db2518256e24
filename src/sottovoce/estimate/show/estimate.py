"""How an estimate shows itself: in a notebook, in a paper, in a picture."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, cast

from sottovoce.core import late
from sottovoce.core.errors import NoIntervalError
from sottovoce.core.language.display import card
from sottovoce.estimate.request import IntervalRequest
from sottovoce.estimate.show.tables import (
    PrintedTable,
    intervals_sentence,
    latex,
    markdown,
    methods_sentence,
    printed,
    subject,
)

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate


class ShownEstimate:
    """Tables, sentences and pictures of an estimate, each for a level, a method of intervals and a target."""

    __slots__ = ()

    def plot(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        target: str = "population",
        simultaneous: bool = False,
        axes: Any = None,
    ) -> Any:
        """Estimates with their intervals and numbers on Matplotlib axes, new ones unless some are given."""
        own, request = _own(self), IntervalRequest.of(level, method, target, simultaneous)
        return late.load(own.evidence.picture)(own, own._ci(request), request, axes)

    def to_markdown(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> str:
        """The table of `to_frame` in Markdown, with `methods_sentence` below it."""
        return markdown(*self._table(IntervalRequest.of(level, method, target, simultaneous)))

    def to_latex(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> str:
        """The table of `to_frame` in LaTeX, with `methods_sentence` as its caption."""
        return latex(*self._table(IntervalRequest.of(level, method, target, simultaneous)))

    def methods_sentence(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> str:
        """How these numbers were made, for a paper: what, from how many, through what, and which intervals."""
        return self._sentence(IntervalRequest.of(level, method, target, simultaneous))

    def _table(self, request: IntervalRequest) -> tuple[PrintedTable, str]:
        """The table, and the sentence about it."""
        own = _own(self)
        return printed(own._frame(request), own.axes.headings), self._sentence(request)

    def _sentence(self, request: IntervalRequest) -> str:
        own = _own(self)
        about = [f"Estimates are {own.quality}.", intervals_sentence(own.chosen(request))]
        about += [*own.notes, *filter(None, [own.missing])]
        return methods_sentence(subject(own), own.n, own.sources, about, own.simulated)

    def _repr_html_(self) -> str:
        """The table at 95 %; an approximate interval that is poor is said to be so."""
        own = _own(self)
        facts = [
            ("mechanism", ", ".join(dict.fromkeys(source.mechanism.name for source in own.sources))),
            ("reports", f"{own.n:,}"),
            ("epsilon", f"{own.epsilon:.6g}"),
            ("estimates", own.quality),
            ("intervals", f"95 %, {own.default_method}, for the population"),
        ]
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            try:
                frame = own.to_frame()
            except NoIntervalError as problem:
                return card(f"Estimate: {subject(own)}", facts[:-1], notes=[str(problem)], simulated=own.simulated)
        table = printed(frame, own.axes.headings)
        notes = [frame.attrs["remark"], *(str(doubt.message) for doubt in doubts), *own.notes, own.missing]
        shown = (table.header, table.rows)
        return card(f"Estimate: {subject(own)}", facts, table=shown, notes=notes, simulated=own.simulated)


def _own(shown: ShownEstimate) -> Estimate:
    return cast("Estimate", shown)
