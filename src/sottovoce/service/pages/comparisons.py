"""Comparisons of groups: every two of them, with intervals that hold all at once, and a test that all are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.asked import Asked
from sottovoce.core.errors import SottovoceError
from sottovoce.core.language.plural import plural
from sottovoce.core.question import GroupMean
from sottovoce.estimate.estimate import Estimate
from sottovoce.study.results import QuestionResult

if TYPE_CHECKING:
    import pandas as pd

MOST_PAIRS = 66  # on a page: those of twelve groups; the download has all


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """Two groups: how much larger the first mean is."""

    group: str
    other: str
    difference: float
    low: float
    high: float
    p_value: float

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """The groups of a question, compared."""

    asked: Asked
    pairs: tuple[ComparedPair, ...]
    hidden: int
    notes: tuple[str, ...]


def compared(result: QuestionResult, level: float) -> Comparison | None:
    """None where the question has no groups."""
    found = _frame(result, level)
    if found is None:
        return None
    frame, notes = found
    columns = ("group", "other", "difference", "low", "high", "adjusted")
    rows = frame.loc[:, list(columns)].itertuples(index=False, name=None)
    pairs = tuple(ComparedPair(str(group), str(other), *map(float, numbers)) for group, other, *numbers in rows)
    return Comparison(result.asked, pairs[:MOST_PAIRS], max(0, len(pairs) - MOST_PAIRS), notes)


def to_csv(result: QuestionResult, level: float) -> bytes | None:
    """All pairs, with the columns of `Pairs.to_frame`."""
    found = _frame(result, level)
    return None if found is None else found[0].to_csv(index=False, lineterminator="\n").encode()


def _frame(result: QuestionResult, level: float) -> tuple[pd.DataFrame, tuple[str, ...]] | None:
    asked = result.asked
    estimates = [one for one in result.estimates.values() if isinstance(one, Estimate)]
    if not isinstance(asked.question, GroupMean) or not estimates:
        return None
    estimate, notes = estimates[0], []
    try:
        pairs = estimate.all_pairs(level)
    except SottovoceError:  # too many groups for a table
        return None
    frame = pairs.to_frame()
    if pairs.not_estimable:
        notes.append(f"Too small to be compared: {plural(len(pairs.not_estimable), 'group', ',')}.")
    if asked.missing:
        # Who gives a reason has a group of that name, but no value.
        frame = frame[~frame["group"].isin(asked.missing) & ~frame["other"].isin(asked.missing)]
    else:
        try:
            notes.insert(0, estimate.test_equality().explain())
        except SottovoceError as problem:
            notes.insert(0, str(problem))
    return frame, tuple(notes)
