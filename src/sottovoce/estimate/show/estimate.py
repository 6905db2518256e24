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

    __slots__: tuple[str, ...] = ()

    def plot(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        target: str = "population",
        simultaneous: bool = False,
        axes: Any = None,
    ) -> Any:
        """Draw estimates with their intervals and numbers on Matplotlib axes.

        Args:
            level: The level of the intervals.
            method: The method of the intervals, as in `ci`.
            target: "population" or "sample", as in `ci`.
            simultaneous: Make all intervals hold at once.
            axes: The axes to draw on. Default: new ones.

        Returns:
            The axes.
        """
        estimate = _own(self)
        request = estimate._request(level, method, target, simultaneous)
        return late.load(estimate.evidence.picture)(estimate, estimate._ci(request), request, axes)

    def to_markdown(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> str:
        """Write the table of `to_frame` in Markdown, with `methods_sentence` below it.

        Args:
            level: The level of the intervals.
            method: The method of the intervals, as in `ci`.
            target: "population" or "sample", as in `ci`.
            simultaneous: Make all intervals hold at once.

        Returns:
            The text.
        """
        return markdown(*self._table(_own(self)._request(level, method, target, simultaneous)))

    def to_latex(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> str:
        """Write the table of `to_frame` in LaTeX, with `methods_sentence` as its caption.

        Args:
            level: The level of the intervals.
            method: The method of the intervals, as in `ci`.
            target: "population" or "sample", as in `ci`.
            simultaneous: Make all intervals hold at once.

        Returns:
            The text.
        """
        return latex(*self._table(_own(self)._request(level, method, target, simultaneous)))

    def methods_sentence(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> str:
        """Write the sentence for a paper's methods section: reports, mechanism, epsilon and intervals.

        Args:
            level: The level of the intervals.
            method: The method of the intervals, as in `ci`.
            target: "population" or "sample", as in `ci`.
            simultaneous: Make all intervals hold at once.

        Returns:
            The sentence.
        """
        return self._sentence(_own(self)._request(level, method, target, simultaneous))

    def _table(self, request: IntervalRequest) -> tuple[PrintedTable, str]:
        """The table, and the sentence about it."""
        estimate = _own(self)
        return printed(estimate._frame(request), estimate.axes.headings), self._sentence(request)

    def _sentence(self, request: IntervalRequest) -> str:
        estimate = _own(self)
        about = [f"Estimates are {estimate.quality}.", intervals_sentence(request)]
        about += [*estimate.notes, *filter(None, [estimate.missing])]
        return methods_sentence(subject(estimate), estimate.n, estimate.sources, about, estimate.simulated)

    def _repr_html_(self) -> str:
        """The table at 95 %; an approximate interval that is poor is said to be so."""
        estimate = _own(self)
        title = f"Estimate: {subject(estimate)}"
        facts = [
            ("mechanism", ", ".join(dict.fromkeys(source.mechanism.name for source in estimate.sources))),
            ("reports", f"{estimate.n:,}"),
            ("epsilon", f"{estimate.epsilon:.6g}"),
            ("estimates", estimate.quality),
            ("intervals", f"95 %, {estimate.default_method}, for the population"),
        ]
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            try:
                frame = estimate.to_frame()
            except NoIntervalError as problem:
                return card(title, facts[:-1], notes=[str(problem)], simulated=estimate.simulated)
        table = printed(frame, estimate.axes.headings)
        notes = [frame.attrs["remark"], *(str(doubt.message) for doubt in doubts), *estimate.notes, estimate.missing]
        return card(title, facts, table=(table.header, table.rows), notes=notes, simulated=estimate.simulated)


def _own(shown: ShownEstimate) -> Estimate:
    return cast("Estimate", shown)
