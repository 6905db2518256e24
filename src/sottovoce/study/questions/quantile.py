"""Quantiles in a study."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.question import Quantile
from sottovoce.core.round import Estimates
from sottovoce.protocols.quantile.rounds import QuantileRounds
from sottovoce.study.display.findings import Finding, Verdict
from sottovoce.study.display.numbers import SPACE
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.planners.distribution import ONE_ROUND, ROUNDS
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import WITHIN, StudyQuestion, Truth
from sottovoce.study.questions.result_lines import ResultLine
from sottovoce.study.words import quantile_name

HALF = 0.5


@dataclass(frozen=True, slots=True)
class StudyQuantile(StudyQuestion):
    """Quantiles of a number."""

    keys: ClassVar[tuple[str, ...]] = ("quantiles", "rounds", *RANGE)
    by_group: ClassVar[str] = WITHIN
    shares_report: ClassVar[bool] = True

    @classmethod
    def read(cls, table: QuestionTable) -> Quantile | None:
        domain = table.numbers()
        if domain is None or not _rounds_fit(table):
            return None
        remedy = "Write shares between 0 and 1, such as quantiles = [0.25, 0.5, 0.75]."
        return table.built("quantiles", lambda: Quantile(domain, table.table.get("quantiles", ())), remedy)

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        ranked = np.sort([float(value) for value in column])
        shares = [float(share) for share in self.question.shares]
        places = [max(0, math.ceil(share * len(ranked)) - 1) for share in shares]
        return {
            (Quantile.noun, f"{share:g}"): float(ranked[place]) for share, place in zip(shares, places, strict=True)
        }

    @property
    def compared_values(self) -> int:
        return len(self.question.shares)

    @property
    def takes_rounds(self) -> bool:
        return not self.asked.missing and self.question.domain.line is not None

    def other_rounds(self, participants: int, in_rounds: bool, width: Callable[[Sequence[str]], float]) -> list[str]:
        few = participants < QuantileRounds.least_participants(len(self.question.shares))
        if few or not self.takes_rounds:
            return []
        methods, words = (ONE_ROUND, "in one round") if in_rounds else ((ROUNDS,), "in five rounds (`rounds = true`)")
        margin = self.asked.margin(width(methods))
        return [f"Asked {words}, the margin of {self.asked.name} would be +- {margin}."]

    @property
    def estimates_whole(self) -> bool:
        return self.is_whole

    def row_label(self, line: ResultLine, language: str) -> str:
        return quantile_name(line.label, language)

    def measured(self, shown: ShownResult) -> str:
        return shown.with_unit(shown.words["quantiles"])

    def finding(self, shown: ShownResult) -> Finding:
        """All quantiles in one sentence; the headline is about the first."""
        said = [f"{_part(line.label)} of the answers are at most {shown.in_words(line)}" for line in shown.main]
        first, badge = shown.main[0], shown.scale.margin((shown.main[0].high - shown.main[0].low) / 2)
        value, _ = shown.scale.shown(first)
        sentence = "; ".join([said[0], *(one.replace(" of the answers", "") for one in said[1:])])
        headline = f"{_part(first.label)} of the answers are at most {value}"
        return Finding(_sentence(headline), f"{_sentence(sentence)}.", Verdict.ESTIMATE, value, badge)


def _rounds_fit(table: QuestionTable) -> bool:
    """Whether `rounds` is left out, or true or false where a search can answer; a note says why not."""
    rounds = table.table.get("rounds", False)
    if not isinstance(rounds, bool):
        table.note("rounds", "`rounds` is neither true nor false.", "Write rounds = true to ask in five rounds.")
        return False
    barred = next((key for key in ("by", "missing") if rounds and table.table.get(key)), None)
    if barred is not None:
        table.note("rounds", f"`rounds` is not supported together with `{barred}`.", f"Remove `rounds` or `{barred}`.")
    return barred is None


def _part(share: str) -> str:
    """A share in words."""
    return "half" if float(share) == HALF else f"{100 * float(share):g}{SPACE}%"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
