"""Comparisons of groups: all pairs with simultaneous intervals, and a test of equality."""

from __future__ import annotations

from dataclasses import dataclass

from sottovoce.core.asked import Asked
from sottovoce.core.errors import SottovoceError
from sottovoce.core.language.plural import plural
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.group_mean.contrasts import Pairs
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.export import comma_separated
from sottovoce.study.results import QuestionResult

MOST_PAIRS = 66  # on a page: those of twelve groups; the download has all


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """Two groups, the larger mean first, and the difference of their means; `text` says it in words."""

    group: str
    other: str
    difference: float
    low: float
    high: float
    p_value: float
    text: str = ""

    @property
    def differs(self) -> bool:
        """True if the interval excludes zero."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class ShownComparison:
    """All pairs of groups of a question, as shown on a page."""

    asked: Asked
    pairs: tuple[ComparedPair, ...]
    hidden: int
    notes: tuple[str, ...]


def compared(result: QuestionResult, level: float) -> ShownComparison | None:
    """Comparisons of all pairs of groups, or None if the question has no groups."""
    estimate, pairs = _all_pairs(result, level)
    if estimate is None or pairs is None:
        return None
    shown_result = ShownResult(result, level)
    numbers = zip(pairs.values, *pairs.ci(), pairs.adjusted, strict=True)
    shown = [
        _pair(shown_result, str(group), str(other), *map(float, row))
        for group, other, row in zip(pairs.groups, pairs.others, numbers, strict=True)
        if not {group, other} & {*result.asked.missing}  # who gives a reason has a group of that name, but no value
    ]
    shown.sort(key=lambda pair: pair.p_value)
    notes = [] if result.asked.missing else [_equality(estimate)]
    if pairs.not_estimable:
        notes.append(f"Too small to be compared: {plural(len(pairs.not_estimable), 'group', ',')}.")
    return ShownComparison(result.asked, tuple(shown[:MOST_PAIRS]), max(0, len(shown) - MOST_PAIRS), tuple(notes))


def _pair(
    shown: ShownResult, group: str, other: str, difference: float, low: float, high: float, p_value: float
) -> ComparedPair:
    """A pair with the larger mean first."""
    if difference < 0:
        group, other, difference, low, high = other, group, -difference, -high, -low
    larger, smaller = (shown.asked.label(one, shown.language) for one in (group, other))
    text = f"{larger} above {smaller}: {shown.scale.difference(difference, low, high)}"
    return ComparedPair(larger, smaller, difference, low, high, p_value, text)


def to_csv(result: QuestionResult, level: float) -> bytes | None:
    """All pairs as CSV, with the columns of `Pairs.to_frame`."""
    _, pairs = _all_pairs(result, level)
    if pairs is None:
        return None
    frame, missing = pairs.to_frame(), result.asked.missing
    return comma_separated(frame[~frame["group"].isin(missing) & ~frame["other"].isin(missing)])


def _all_pairs(result: QuestionResult, level: float) -> tuple[Estimate | None, Pairs | None]:
    estimates = [one for one in result.estimates.values() if isinstance(one, Estimate)]
    if not result.question.compares_groups or not estimates:
        return None, None
    try:
        return estimates[0], estimates[0].all_pairs(level)
    except SottovoceError:  # too many groups for a table
        return estimates[0], None


def _equality(estimate: Estimate) -> str:
    try:
        return estimate.test_equality().explain()
    except SottovoceError as problem:
        return str(problem)
