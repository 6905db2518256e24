"""Findings: what the estimates of a question say, as a sentence with a verdict.

Verdicts come from intervals that hold together. "Clear": a difference whose simultaneous interval excludes zero. "May
be chance": one whose interval contains zero. "Too rare to see": shares that cannot be told apart from zero. A plain
estimate has no verdict; its badge is the margin. Comparisons of one question hold together at the level; those of
different questions do not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.core.errors import SottovoceError
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats, Ints, deviate
from sottovoce.study.display.numbers import NumberScale, count_word, rounded

if TYPE_CHECKING:
    from sottovoce.study.questions.result_lines import ResultLine

MOST_LEADERS = 3  # answers that lead together
MOST_COMPARED = 300  # answers whose covariance matrix is computed


class Verdict(Enum):
    """How sure a finding is."""

    CLEAR = "Clear"
    CHANCE = "May be chance"
    RARE = "Too rare to see"
    ESTIMATE = "Estimate"
    WAITING = "Not enough reports"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a question found.

    Attributes:
        headline: the finding without numbers in brackets, above the picture of the question.
        sentence: the finding with its numbers, for a list of findings.
        key: the words of the sentence to emphasise.
        badge: the verdict, or the margin of a plain estimate.
        note: a further sentence for the card, below the picture.
    """

    headline: str
    sentence: str
    verdict: Verdict
    key: str = ""
    badge: str = ""
    note: str = ""

    @property
    def parts(self) -> tuple[str, str, str]:
        """The sentence before, in and after the words to emphasise."""
        before, key, after = self.sentence.partition(self.key) if self.key else (self.sentence, "", "")
        return before, key, after

    @property
    def label(self) -> str:
        """The text of the badge."""
        return self.badge or self.verdict.value


def waiting(scale: NumberScale, lines: Sequence[ResultLine], n: int) -> Finding:
    """The finding of a question whose intervals are wider than half of the scale."""
    excess = scale.excess(lines)
    needed = math.ceil(n * excess**2) if math.isfinite(excess) and n else 0
    until = f" A first result appears at about {rounded(_up(needed), 0)} reports." if needed else ""
    sentence = f"Not enough reports yet: {n:,} so far.{until}"
    so_far = f"{n:,} of about {rounded(_up(needed), 0)}" if needed else f"{n:,} so far"
    note = "Until then the interval would be wider than half of the scale." if needed else ""
    return Finding("Not enough reports yet", sentence, Verdict.WAITING, "Not enough reports yet", so_far, note)


def _up(count: int) -> int:
    """A count rounded up to two digits."""
    step = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // step) * step


def plain(what: str, scale: NumberScale, line: ResultLine) -> Finding:
    """A single number: "The mean is 6.5 hours (5.9 to 7.1)." """
    value, interval = scale.shown(line)
    said = f"{value} ({interval})" if interval else value
    badge = scale.margin((line.high - line.low) / 2)
    return Finding(f"{what} {value}", f"{what} {said}.", Verdict.ESTIMATE, value, badge)


def listed(words: Sequence[str]) -> str:
    """A, B and C."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def quoted(label: str) -> str:
    """A label inside a sentence."""
    return f"“{label}”"


# --- shares --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Leaders:
    """The order of the shares, as far as it is known.

    Attributes:
        order: places of the compared shares, the largest first.
        leading: how many of the first are clearly above all others; 0 if no small set is.
        standing_out: how many shares are above zero, all at once.
        gap: the difference of the first two and its simultaneous interval, where it is known.
    """

    order: Ints
    leading: int
    standing_out: int
    gap: tuple[float, float, float] | None


def leaders(estimate: Estimate, level: float, skip: Collection[str] = ()) -> Leaders:
    """Compare the largest shares with all others; labels in `skip`, reasons for giving no answer, do not compete."""
    texts = estimate.axes.texts()
    places = np.array([place for place, text in enumerate(texts) if text not in skip], dtype=np.int64)
    values = estimate.evidence.values()
    order = places[np.argsort(-values[places], kind="stable")]
    low, high = estimate.quiet_ci(level, simultaneous=True)
    standing_out = int((low[places] > 0).sum())
    pairs = max(1, len(places) * (len(places) - 1) // 2)
    quantile = deviate(1 - (1 - level) / pairs)

    def is_clear(leading: int) -> bool:
        top, rest = order[:leading], order[leading:]
        try:
            gaps, errors = _gaps(estimate, top, rest)
        except SottovoceError:  # no covariance: intervals that do not overlap are enough
            return bool(low[top].min() > high[rest].max())
        return bool((gaps > quantile * errors).all())

    most = min(MOST_LEADERS, len(order) - 1)
    leading = next((count for count in range(1, most + 1) if is_clear(count)), 0)
    gap = None
    if len(order) > 1:
        try:
            (value,), (error,) = _gaps(estimate, order[:1], order[1:2])
            gap = (float(value), float(value - quantile * error), float(value + quantile * error))
        except SottovoceError:
            gap = None
    return Leaders(order, leading, standing_out, gap)


def _gaps(estimate: Estimate, top: Ints, rest: Ints) -> tuple[Floats, Floats]:
    """Differences between each of the top shares and each other one, with standard errors."""
    count = len(estimate.values)
    if count > MOST_COMPARED:
        raise SottovoceError("Too many answers for a covariance matrix.")
    weights = np.zeros((len(top), len(rest), count))
    weights[np.arange(len(top)), :, top] = 1
    weights[:, np.arange(len(rest)), rest] = -1
    functional = estimate.evidence.functional(weights.reshape(-1, count))
    return functional.values, functional.errors


def of_shares(
    order: Leaders, lines: Sequence[ResultLine], labels: Sequence[str], scale: NumberScale, widest: float
) -> Finding:
    """The finding about shares; `lines` and `labels` are those of all values, bounded."""
    places = order.order.tolist()
    unseen = sum(scale.is_unseen(lines[place]) for place in places)
    first = [quoted(labels[place]) for place in places[:MOST_LEADERS]]
    shown = [scale.shown(lines[place]) for place in places[:MOST_LEADERS]]
    value, interval = shown[0]
    if order.standing_out == 0:
        under = scale.shown(max((lines[place] for place in places), key=lambda one: one.high))[0]
        said = f"No answer stands out yet: no share can be told apart from 0 with certainty ({first[0]}: {under})."
        return Finding("No answer stands out yet", said, Verdict.RARE, "No answer stands out yet")
    if unseen > max(2, len(places) // 2):
        many = f"{count_word(order.standing_out).capitalize()} of {len(places)} answers"
        stand = "stand out" if order.standing_out > 1 else "stands out"
        rare = f"{count_word(unseen).capitalize()} {'are' if unseen > 1 else 'is'} too rare to be seen"
        said = f"{many} {stand}, led by {first[0]} with {value} ({interval}). {rare}."
        return Finding(f"{many} {stand}", said, Verdict.RARE, f"{many} {stand}", note=_rare_note(scale, widest))
    if order.leading == 1:
        headline = f"{first[0]} is the most frequent answer"
        return Finding(headline, f"{headline}: {value} ({interval}).", Verdict.CLEAR, first[0])
    if order.leading:
        together, values = listed(first[: order.leading]), listed([one for one, _ in shown[: order.leading]])
        said = f"{together} lead with {values}. Which is first is open."
        note = _gap_note(order, scale)
        return Finding(f"{together} lead, their order is open", said, Verdict.CHANCE, f"{together} lead", note=note)
    said = f"No answer clearly leads. {first[0]} has the largest estimate, {value} ({interval})."
    return Finding(
        "No answer clearly leads", said, Verdict.CHANCE, "No answer clearly leads", note=_gap_note(order, scale)
    )


def _gap_note(order: Leaders, scale: NumberScale) -> str:
    if order.gap is None:
        return ""
    return f"The first two are {scale.difference(*order.gap)} apart. Their order may be chance."


def _rare_note(scale: NumberScale, widest: float) -> str:
    least = rounded(math.ceil(scale.factor * widest), 0)
    return (
        f"An answer given by fewer than about {least}\u00a0% cannot be told apart from 0 here. An answer stands out if"
        " it can be told apart from 0 together with all others."
    )


# --- groups --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class GroupDifference:
    """The two groups with the smallest p-value, the larger mean first, and the simultaneous interval."""

    group: str
    other: str
    value: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0


def strongest_difference(lines: Iterable[ResultLine], less: str) -> GroupDifference | None:
    """The pair of groups that differs most surely, from the lines of all differences; None where there are none.

    Intervals of the lines hold for all pairs at once, and so does the verdict. `less` stands between two groups.
    """
    compared = [line for line in lines if not math.isnan(line.p_value)]
    if not compared:
        return None
    best = min(compared, key=lambda line: (line.p_value, -abs(line.value) / line.std_error))
    group, other = best.label.split(less, 1)
    if best.value < 0:
        return GroupDifference(other, group, -best.value, -best.high, -best.low)
    return GroupDifference(group, other, best.value, best.low, best.high)


def of_groups(difference: GroupDifference, labels: Sequence[str], scale: NumberScale) -> Finding:
    """The finding about means of groups; `labels` are those of the larger and of the smaller group."""
    group, other = map(quoted, labels)
    size = scale.difference(difference.value, difference.low, difference.high)
    if difference.is_clear:
        key = f"higher for {group} than for {other}"
        return Finding(f"The mean is {key}", f"The mean is {key}: {size}.", Verdict.CLEAR, key)
    said = f"No two groups clearly differ. Closest to a difference: {group} above {other} by {size}."
    return Finding("No two groups clearly differ", said, Verdict.CHANCE, "No two groups clearly differ")
