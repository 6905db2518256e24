"""What a kind of question does in a study: its keys in a file, columns, truth, goal, results, chart, and words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.asked import Asked
from sottovoce.core.domain import Domain
from sottovoce.core.domain.reasons import ANSWERED
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Distribution, Frequency, Joint, Question
from sottovoce.core.round import Estimates
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.estimate import Estimate
from sottovoce.study import charts
from sottovoce.study.charts import Point
from sottovoce.study.display import findings
from sottovoce.study.display.cross_tables import CrossTable
from sottovoce.study.display.findings import Finding
from sottovoce.study.display.numbers import NumberScale
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.documents.elements import listed
from sottovoce.study.plan import Plan
from sottovoce.study.population import ExpectedAnswers, number_domain, plain_number
from sottovoce.study.question_tables import QuestionTable
from sottovoce.study.questions.result_lines import ResultLine, estimate_lines, level_of_each
from sottovoce.study.words import measure_name

Truth = dict[tuple[str, str], float]  # by measure and label, as the results have them
SILENT = 0.1  # share of those who give no answer, where nothing is known
WITHIN = "within-groups"  # the kind of questions that are asked within groups
REASONS = "reasons"  # the estimate of the shares of reasons, beside that of those who answered


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """A question of a study. Defaults fit a question about one answer, which is a number or a category."""

    keys: ClassVar[tuple[str, ...]] = ()  # of its table in a file, beside those of every question; none: not in files
    word: ClassVar[str] = ""  # what files write as `ask`, where it is another word than the kind
    shares_report: ClassVar[bool] = False  # whether the report of a distribution can answer it as well
    compares_groups: ClassVar[bool] = False
    by_group: ClassVar[str] = ""  # the kind that asks it by group, where the table of a file has `by`
    is_form: ClassVar[bool] = False  # whether files write it as another kind with further keys
    asked: Asked

    @property
    def question(self) -> Any:
        """The question itself; `Any`, since each subclass knows its own kind."""
        return self.asked.question

    # --- in a file -------------------------------------------------------------------------------
    @classmethod
    def read(cls, table: QuestionTable) -> Question | None:
        """The question of a table of a study file; None, with a note, where something is wrong."""
        raise NotImplementedError

    # --- the plan --------------------------------------------------------------------------------
    @property
    def distribution(self) -> Distribution | None:
        """The distribution that is asked for, if it is one."""
        return None

    def goal(self, size: Decimal, *, points: bool) -> Decimal:
        """Half the width of an interval that a goal asks for; points are hundredths of a share."""
        if points and not self.question.is_share:
            raise ParameterError(
                f"The goal in points does not fit question '{self.asked.name}' (a {self.question.noun}): points are"
                f' hundredths of a share. Write "{self.asked.name} +- {size}".'
            )
        if size <= 0:
            raise ParameterError(f"The goal of {self.asked.name} must be above 0.")
        return size / 100 if points else size

    def default_prior(self) -> Any:
        """The expected answers where nothing is known; with reasons of numbers, one person in ten gives one."""
        reasons = len(self.asked.missing)
        return ([1 - SILENT, *[SILENT / reasons] * reasons], None) if reasons and self.answers_apart else None

    def half_width(self, plan: Plan, level: float) -> float:
        """The expected half-width of a plan of the question with its reasons; of groups, that of one of them."""
        return plan.best.half_width(level)

    @property
    def takes_rounds(self) -> bool:
        """Whether a search in rounds can answer it."""
        return False

    def other_rounds(self, participants: int, in_rounds: bool, width: Callable[[Sequence[str]], float]) -> list[str]:
        """The margin if it were asked in five rounds instead of one, or in one; `width` gives that of some methods."""
        return []

    # --- arms of an experiment -------------------------------------------------------------------
    @property
    def compared_values(self) -> int | None:
        """How many of its numbers are compared between two arms; None where the plan has no error of them."""
        return 1

    @property
    def compares_margins(self) -> bool:
        """Whether the margin of the plan is that of what is compared, so that a difference may be a goal."""
        return self.compared_values is not None

    def compared_width(self, plan: Plan, prior: Any, level: float) -> float | None:
        """The expected half-width of what is compared, by a plan for the expected answers; None where it is unknown."""
        return self.half_width(plan, level) if self.compares_margins else None

    def difference_text(self, size: float) -> str:
        """A difference between two arms with its unit, and of what it is where the question does not say."""
        return self.asked.margin(size)

    def smallest_effect(self, plan: Plan, level: float) -> str:
        """The smallest effect within one sample that the study sees, as a sentence; empty where there is none."""
        return ""

    def compared(self, estimates: Estimates) -> dict[str, Estimate]:
        """The estimates that are compared between arms, by what they are; reasons for giving no answer are not."""
        return {name: one for name, one in estimates.items() if name != REASONS and isinstance(one, Estimate)}

    @property
    def adds_over_strata(self) -> bool:
        """Whether estimates of public strata can be combined: by weighted means, or by weighted shares of cells."""
        room = self.asked.full_question.room
        if room == "group_mean" and self.asked.missing:  # the reasons are a table of their own
            return False
        return self.asked.full_question.averages or room in (
            Distribution.room,
            "within_groups",
            "group_mean",
            Joint.room,
        )

    @property
    def answers_apart(self) -> bool:
        """Whether those who answer are a group beside the reasons for giving no answer, as numbers are."""
        return bool(self.asked.missing) and self.question.room == Distribution.room

    # --- the population --------------------------------------------------------------------------
    @property
    def number_domain(self) -> Domain | None:
        """The domain of the number in an answer, if there is one."""
        return number_domain(self.question.domain)

    @property
    def groups(self) -> int | None:
        """How many groups have a number each; None where there are no groups."""
        return None

    def check_population(self, expected: ExpectedAnswers) -> None:
        """Refuse a description of the answers that does not fit the question."""
        name, count, groups = self.asked.name, self.question.choices.size, self.groups
        if len(expected.missing) not in (0, len(self.asked.missing)):
            raise ParameterError(f"The population of {name} needs one share for each reason of giving none.")
        if count is None and expected.shares is not None:
            raise ParameterError(f"The population of {name} is a law of numbers, without shares.")
        if count is not None and expected.shares is not None and len(expected.shares) != count:
            raise ParameterError(f"The population of {name} needs {count} shares.")
        if groups is not None and len(expected.laws) not in (1, groups):
            raise ParameterError(f"The population of {name} needs one law, or one for each group.")
        if groups is None and (len(expected.laws) > 1 or bool(expected.laws) == bool(expected.shares)):
            raise ParameterError(f"The population of {name} needs shares of categories, or one law of numbers.")
        if expected.laws and self.number_domain is None:
            raise ParameterError(f"The population of {name} needs shares: its answers are no numbers.")
        for law in expected.laws:
            law.check(self.number_domain)  # type: ignore[arg-type]

    def prior(self, expected: ExpectedAnswers) -> Any:
        """What a planner of the question with its reasons takes for the expected answers."""
        if self.answers_apart:
            answered = replace(self, asked=replace(self.asked, missing=(), labels=())).prior(expected)
            inside = np.array(answered) if expected.shares is not None else answered
            return expected.with_reasons((1.0,), len(self.asked.missing)), [inside]
        if expected.shares is not None:
            return expected.with_reasons(expected.shares, len(self.asked.missing))
        return expected.laws[0].prior(self.question.domain)

    def draw(self, expected: ExpectedAnswers, n: int, generator: np.random.Generator) -> dict[str, list[Any]]:
        """The columns of n people, as a file of answers has them."""
        columns = self.draw_answers(expected, n, generator)
        if expected.missing:
            shares = [1 - sum(expected.missing), *expected.missing]
            reasons = generator.choice(len(shares), n, p=shares)
            for person in np.flatnonzero(reasons).tolist():
                columns[self.asked.name][person] = self.asked.missing[reasons[person] - 1]
        return columns

    def draw_answers(self, expected: ExpectedAnswers, n: int, generator: np.random.Generator) -> dict[str, list[Any]]:
        """The columns of n people who all answer."""
        domain = self.question.domain
        if expected.shares is not None:
            labels = list(domain.labels())
            drawn = generator.choice(len(labels), n, p=np.array(expected.shares) / sum(expected.shares))
            return {self.asked.name: [labels[place] for place in drawn]}
        numbers = expected.laws[0].draw(domain, n, generator)
        return {self.asked.name: [plain_number(value, domain) for value in numbers]}

    # --- the columns of a file of answers, and the truth -----------------------------------------
    @property
    def columns(self) -> list[str]:
        """The names of the columns in a file of answers."""
        return [self.asked.name]

    def raw_answers(self, cells: Callable[[str], list[Any]], is_empty: Callable[[object], bool]) -> list[Any]:
        """Answers and reasons from the columns of a file, under the name of their attribute."""
        raw = cells(self.asked.key)
        if not self.asked.missing:
            return raw
        return [self.asked.missing[0] if is_empty(value) else value for value in raw]

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        """The true numbers behind the lines of the results, where the answers of all are known."""
        return {}

    def full_truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        """The true numbers among those who answered, and the shares of the reasons of the others."""
        if not self.answers_apart:
            return self.truth(column, estimates)
        answered = [value for group, value in column if group == ANSWERED]
        groups = [group for group, _ in column]
        reasons = {(Frequency.noun, one): groups.count(one) / len(column) for one in self.asked.missing}
        own = {name: estimate for name, estimate in estimates.items() if name != REASONS}
        return {**reasons, **(self.truth(answered, own) if answered else {})}

    @property
    def period(self) -> float | None:
        """The length of a circle on which the estimates lie; None elsewhere."""
        return None

    # --- results ---------------------------------------------------------------------------------
    def answered(self, estimates: Mapping[str, Any]) -> Estimates:
        """Answer the question among those who answered, from the report of a distribution where it is one."""
        if self.answers_apart:
            (estimate,) = estimates.values()
            return {self.asked.name: estimate.among(0, self.question), REASONS: estimate.reasons}
        return {
            self.asked.name if _is_distribution(estimate) else name: (
                estimate.answer(self.question) if _is_distribution(estimate) else estimate
            )
            for name, estimate in estimates.items()
        }

    def lines(self, estimates: Estimates, level: float) -> Iterator[ResultLine]:
        """Every number of the results; several estimates are told apart by their names."""
        own = {name: estimate for name, estimate in estimates.items() if name != REASONS}
        for name, estimate in own.items():
            if isinstance(estimate, Estimate):
                yield from self._could_be(self.estimate_lines(estimate, level, name * (len(own) > 1)), estimates, level)
        if REASONS in estimates:
            yield from estimate_lines(estimates[REASONS], level, Frequency.noun, named=True)

    def _could_be(self, lines: Iterator[ResultLine], estimates: Estimates, level: float) -> Iterator[ResultLine]:
        """Shares among all lie between the share that was given and that share plus all who gave none."""
        if REASONS not in estimates or not self.question.is_share:
            yield from lines
            return
        apart = level_of_each(level, 2)
        silent = min(1.0, float(np.maximum(0, estimates[REASONS].quiet_ci(apart)[1]).sum()))
        own = next(estimate for name, estimate in estimates.items() if name != REASONS)
        for line, wide in zip(lines, self.estimate_lines(own, apart, ""), strict=True):
            low, high = np.clip([wide.low, wide.high], 0, 1)
            yield replace(line, could_be=(float((1 - silent) * low), float((1 - silent) * high + silent)))

    def estimate_lines(self, estimate: Estimate, level: float, measure: str) -> Iterator[ResultLine]:
        """The numbers of one estimate."""
        yield from estimate_lines(estimate, level, measure, named=self.question.read_from_curve)

    def doubt(self, estimate: Estimate, level: float) -> str | None:
        """What speaks against the intervals of the results."""
        return estimate.doubt(level)

    # --- the dashboard ---------------------------------------------------------------------------
    def said_of(self, line: ResultLine) -> str:
        """What a line of the results is about, with the unit of its number."""
        text = f"{line.measure} {line.label}".strip()
        return f"{text}, {self.asked.unit}" if self.asked.unit and not line.is_share else text

    @property
    def has_order(self) -> bool:
        """Whether a chart shows estimates in the order of the answers instead of the largest first."""
        return True

    def chart(self, estimates: Estimates, level: float) -> str:
        """The picture of the results as SVG: dots with intervals."""
        lines = list(self.lines(estimates, level))
        shown = [line for line in lines if line.measure == lines[0].measure]
        points = [Point(line.label or line.measure, line.value, line.low, line.high) for line in shown]
        rows, note = charts.largest(points, always=self.asked.missing, in_order=self.has_order)
        share = bool(shown) and shown[0].is_share
        title, unit = f"Estimates of {self.asked.name} with intervals", "" if share else self.asked.unit
        return charts.intervals(title, rows, share=share, unit=unit, note=note)

    @property
    def value_range(self) -> tuple[float, float] | None:
        """The possible range of the numbers that are estimated, where answers are numbers with a range."""
        domain: Any = self.number_domain
        if domain is None or self.period is not None or self.question.unit_power != 1:
            return None
        return float(domain.low), float(domain.high)

    @property
    def is_whole(self) -> bool:
        """Whether answers are whole numbers."""
        return self.number_domain is not None and self.number_domain.whole is not None

    @property
    def estimates_whole(self) -> bool:
        """Whether the estimates themselves are whole numbers, such as quantiles of whole numbers."""
        return False

    def unit_of(self, measure: str) -> str:
        """The unit of the numbers of a measure that are no shares."""
        return self.asked.unit_of_numbers

    def row_label(self, line: ResultLine, language: str) -> str:
        """The label of a line beside a picture; the measure where there is one number."""
        return self.asked.label(line.label, language) if line.label else measure_name(line.measure, language)

    def measured(self, shown: ShownResult) -> str:
        """What a picture shows, for its caption."""
        if shown.scale.is_share:
            return str(shown.words["share_of_all"])
        return shown.with_unit(measure_name(shown.main[0].measure, shown.language))

    def finding(self, shown: ShownResult) -> Finding:
        """What the estimates say, as a sentence with a verdict."""
        if shown.scale.is_share and len(shown.main) > 1 and not self.question.read_from_curve:
            return shown.shares_finding()
        return findings.plain(f"The {shown.main[0].measure} is", shown.scale, shown.main[0])

    def draws_curve(self, shown: ShownResult) -> bool:
        """Whether the picture on pages is a curve, which needs the whole width."""
        return False

    def picture(self, shown: ShownResult) -> str:
        """The picture of the results on pages, as HTML."""
        return shown.dots()

    def beside(self, shown: ShownResult) -> str:
        """What analysts see below the picture, as HTML: tests and ratios, which participants do not need."""
        return ""

    def published(self, shown: ShownResult) -> Iterator[tuple[str, ResultLine, NumberScale]]:
        """The numbers for documents: what each is, its line within the possible range, and how it is written."""
        scales = {measure: shown.scale_of(measure) for measure in dict.fromkeys(one.measure for one in shown.lines)}
        for line in shown.lines:
            yield self.said_of(line), scales[line.measure].bounded(line), scales[line.measure]

    def cross_tables(self, shown: ShownResult) -> list[CrossTable]:
        """The cross tables of the results, for documents; none of most questions."""
        return []

    # --- the participant's page, and what participants agree to ----------------------------------
    def field(self, language: str) -> dict[str, Any]:
        """The field of the participant's form: choices, a number with its range, or a text."""
        domain = self.question.domain.root
        if domain.choices is not None:
            return {"kind": "choice", "choices": self.choices(domain, language)}
        return {"kind": "number", **number_field(domain)} if hasattr(domain, "low") else {"kind": "text"}

    def choices(self, domain: Domain, language: str) -> list[tuple[str, str]]:
        """The values of a domain with their labels in a language."""
        return [(str(value), self.asked.label(value, language)) for value in domain.labels()]

    def possible_answers(self, language: str, say: Mapping[str, str]) -> str:
        """The possible answers, as participants read them on the page of consent."""
        domain = self.question.domain
        if domain.circular:
            return say["around"].format(high=decimal_text(domain.high))
        if domain.numbers is not None:
            return say["number"].format(low=str(domain.low), high=str(domain.high))
        return listed(self.labels(language))

    def labels(self, language: str) -> list[str]:
        """The categories or groups that participants read, in a language."""
        asked = self.asked
        return [asked.label(answer, language) for answer in asked.answers[: len(asked.answers) - len(asked.missing)]]


def number_field(domain: Any) -> dict[str, Any]:
    """The range of a number for the participant's form."""
    low, high = (_plain(getattr(domain, end, "")) for end in ("low", "high"))
    step = _plain(domain.spacing) if domain.spacing else ""
    return {"low": low, "high": high, "whole": domain.whole is not None, "step": step}


def first_estimate(estimates: Estimates) -> Estimate | None:
    """The first estimate among what a protocol found."""
    return next((one for one in estimates.values() if isinstance(one, Estimate)), None)


def _is_distribution(estimate: object) -> bool:
    return isinstance(estimate, Estimate) and isinstance(estimate.evidence, DistributionEvidence)


def _plain(end: Any) -> str:
    is_number = isinstance(end, (float, int, Decimal)) or hasattr(end, "numerator")
    return decimal_text(Decimal(str(float(end)))) if is_number else str(end)
