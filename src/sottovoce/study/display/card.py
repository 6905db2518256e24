"""A question on a page or in a document: its finding, picture, numbers and the effect of fake reports."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from sottovoce.core.asked import Asked
from sottovoce.study.display.fake_reports import fake_sentence
from sottovoce.study.display.findings import Finding, Verdict
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.results import QuestionResult

MOST_LINES = 1000  # of a table on a page; the export has all
BADGES = {
    Verdict.CLEAR: "ok",
    Verdict.CHANCE: "plain hollow",
    Verdict.RARE: "warn",
    Verdict.ESTIMATE: "plain bare",
    Verdict.WAITING: "hollow",
}


@dataclass(frozen=True, slots=True)
class Card:
    """A question with its results.

    Attributes:
        picture: HTML.
        numbers: what, estimate, from and to, for each unbiased number; `hidden` more are in the export.
        rows: every answer of the picture with its bounded share and interval in words.
        folded: how many of the `answers` have no row of their own in the picture.
        margin: the widest margin now.
        is_wide: whether the picture needs the whole width of a page.
        key: names the card in addresses: the question, with its arm in an experiment.
        compares: whether the card compares the arms of an experiment.
    """

    asked: Asked
    text: str
    n: int
    finding: Finding
    picture: str
    numbers: tuple[tuple[str, str, str, str], ...]
    hidden: int
    rows: tuple[tuple[str, str], ...]
    folded: int
    answers: int
    margin: str
    fakes: str
    has_groups: bool
    is_wide: bool
    key: str = ""
    compares: bool = False

    @property
    def badge(self) -> str:
        """The class of the badge of the verdict."""
        return BADGES[self.finding.verdict]


def card(result: QuestionResult, level: float, reports: int, language: str = "en") -> Card:
    """The card of a question. `reports` are those of the whole study."""
    shown = ShownResult(result, level, language)
    widths = [(one.high - one.low) / 2 for one in shown.main if math.isfinite(one.high - one.low)]
    return Card(
        result.asked,
        result.asked.text(language),
        shown.n,
        shown.finding,
        progress(shown) if shown.finding.verdict is Verdict.WAITING else shown.picture(),
        tuple(islice(shown.numbers(), MOST_LINES)),
        max(0, len(shown.lines) - MOST_LINES),
        tuple((shown.label(line), shown.in_words(line)) for line in shown.sorted_lines()),
        shown.folded,
        len(shown.main),
        shown.scale.margin(max(widths)) if widths else "",
        fake_sentence(shown, reports),
        result.question.compares_groups and shown.estimate is not None,
        shown.question.draws_curve(shown),
        result.key,
    )


def progress(shown: ShownResult) -> str:
    """A bar instead of a picture: how far the reports are on the way to a first result."""
    excess = shown.scale.excess(shown.main)
    part = 100 / excess**2 if excess > 0 and math.isfinite(excess) else 0.0
    return (
        f'<svg class="bar" role="img" aria-label="{part:.0f} % of the reports that a first result needs">'
        '<rect class="track" width="100%" height="8" rx="4"/>'
        f'<rect class="fill" width="{part:.1f}%" height="8" rx="4"/>'
        "</svg>"
    )


def ranked(all_cards: Iterable[Card]) -> list[Card]:
    """The findings to read first: what is clear, then estimates, then what may be chance or is too rare.

    In an experiment the findings are the differences between its arms.
    """
    listed = list(all_cards)
    compared = [one for one in listed if one.compares]
    order = (Verdict.CLEAR, Verdict.ESTIMATE, Verdict.CHANCE, Verdict.RARE, Verdict.WAITING)
    return sorted(compared or listed, key=lambda one: order.index(one.finding.verdict))
