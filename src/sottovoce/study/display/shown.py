"""The results of one question, prepared for readers: bounded lines, their scale and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from sottovoce.core.asked import Asked
from sottovoce.estimate.estimate import Estimate
from sottovoce.study.display import findings, pictures
from sottovoce.study.display.findings import Finding
from sottovoce.study.display.numbers import SPACE, NumberScale
from sottovoce.study.words import local, plain, words

if TYPE_CHECKING:
    from sottovoce.study.questions.base import StudyQuestion
    from sottovoce.study.questions.result_lines import ResultLine
    from sottovoce.study.results import QuestionResult


@dataclass(frozen=True)
class ShownResult:
    """The estimates of a question at a level, as pages and documents show them."""

    result: QuestionResult
    level: float
    language: str = "en"

    @property
    def asked(self) -> Asked:
        """The question as it was asked."""
        return self.result.asked

    @cached_property
    def question(self) -> StudyQuestion:
        """What its kind does in studies."""
        return self.result.question

    @cached_property
    def estimate(self) -> Estimate | None:
        """The first estimate."""
        return next((one for one in self.result.estimates.values() if isinstance(one, Estimate)), None)

    @property
    def n(self) -> int:
        """How many reports the estimates come from."""
        return max((one.n for one in self.result.estimates.values() if isinstance(one, Estimate)), default=0)

    @cached_property
    def lines(self) -> tuple[ResultLine, ...]:
        """Every unbiased number, with its own interval."""
        return tuple(self.result.lines(self.level))

    @cached_property
    def main(self) -> tuple[ResultLine, ...]:
        """The bounded lines of the first measure, which the picture shows."""
        first = [line for line in self.lines if line.measure == self.lines[0].measure]
        return tuple(map(self.scale.bounded, first))

    @cached_property
    def scale(self) -> NumberScale:
        """How the numbers of the first measure are written."""
        return self.scale_of(self.lines[0].measure) if self.lines else NumberScale(0)

    def scale_of(self, measure: str) -> NumberScale:
        """How the numbers of a measure are written."""
        lines = [line for line in self.lines if line.measure == measure]
        question = self.question
        unit = question.unit_of(measure).replace(self.asked.unit, self.unit) if self.asked.unit else ""
        scale = NumberScale.of(lines, unit, question.value_range, whole=question.is_whole, language=self.language)
        return replace(scale, places=min(0, scale.places)) if question.estimates_whole else scale

    def label(self, line: ResultLine) -> str:
        """The label of a line in the reader's language."""
        return self.question.row_label(line, self.language)

    def in_words(self, line: ResultLine) -> str:
        """The number of a bounded line with its interval: 31 % (24 to 38), or under 7 %."""
        value, interval = self.scale.shown(line)
        return f"{value} ({interval})" if interval else value

    @property
    def unit(self) -> str:
        """The unit of the answers in the reader's language."""
        return self.asked.unit_in(self.language)

    @cached_property
    def says_little(self) -> bool:
        """Whether there are no estimates yet, or intervals are wider than half of the scale."""
        return not self.main or self.scale.is_wide(self.main)

    # --- finding and picture -----------------------------------------------------------------------
    @cached_property
    def finding(self) -> Finding:
        """What the question found."""
        if self.says_little:
            return findings.waiting(self.scale, self.main, self.n)
        return self.question.finding(self)

    def shares_finding(self) -> Finding:
        """The finding about shares of categories or intervals."""
        assert self.estimate is not None
        order = findings.leaders(self.estimate, self.level, self.asked.missing)
        labels = [self.label(line) for line in self.main]
        widest = max(line.high - line.value for line in self.main)
        return findings.of_shares(order, self.main, labels, self.scale, widest)

    def rows(self) -> list[pictures.Row]:
        """The rows of the picture."""
        reasons = {*self.asked.missing}
        return [pictures.Row(self.label(line), line, line.label in reasons) for line in self.main]

    def sorted_lines(self) -> list[ResultLine]:
        """The bounded lines, the largest first, or in the order of the answers."""
        if self.question.has_order:
            return list(self.main)
        return sorted(self.main, key=lambda one: (one.label in self.asked.missing, -one.value))

    @property
    def folded(self) -> int:
        """How many answers have no row of their own in the picture."""
        if self.question.draws_curve(self):
            return 0
        return len(pictures.chosen_rows(self.rows(), self.scale, in_order=self.question.has_order)[1])

    def caption(self) -> str:
        """What the picture shows."""
        what, count = self.question.measured(self), local(str(self.n), self.language)
        return plain(self.words["caption"], what=what, level=f"{100 * self.level:g}{SPACE}%", count=count)

    def with_unit(self, what: str) -> str:
        """Name of a measure with the unit of its numbers."""
        return plain(self.words["in_unit"], what=what, unit=self.scale.unit) if self.scale.unit else what

    @property
    def words(self) -> Mapping[str, Any]:
        """The sentences about results in the reader's language."""
        return cast(Mapping[str, Any], words(self.language)["results"])

    def picture(self) -> str:
        """The picture for analysts as HTML, with tests beside it where the question has some."""
        return self.question.picture(self) + self.question.beside(self) if self.main else ""

    def dots(self) -> str:
        """A table with a dot and an interval for each line."""
        shown, folded = pictures.chosen_rows(self.rows(), self.scale, in_order=self.question.has_order)
        kind = ("answer", "share_interval") if self.scale.is_share else ("what", "value_interval")
        head = (self.words[kind[0]], self.words[kind[1]])
        return pictures.dots_table(shown, folded, self.scale, caption=self.caption(), head=head)

    def numbers(self) -> Iterator[tuple[str, str, str, str]]:
        """Every unbiased number with one more decimal than the picture: what it is, estimate, from, to."""
        scales = {measure: self.scale_of(measure) for measure in dict.fromkeys(line.measure for line in self.lines)}
        for line in self.lines:
            finer = replace(scales[line.measure], places=max(0, scales[line.measure].places) + 1)
            yield self.question.said_of(line), finer.value(line.value), finer.value(line.low), finer.value(line.high)
