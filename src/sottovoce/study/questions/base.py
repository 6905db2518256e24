"""What a kind of question does in a study: its keys in a file, columns, truth, goal, results, chart, and words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.asked import Asked
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Distribution, Question
from sottovoce.core.round import Estimates
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.estimate import Estimate
from sottovoce.study import charts
from sottovoce.study.charts import Point
from sottovoce.study.dossier.pages import listed
from sottovoce.study.plan import Plan
from sottovoce.study.population import ExpectedAnswers, number_domain, plain_number
from sottovoce.study.question_tables import QuestionTable
from sottovoce.study.questions.result_lines import ResultLine, estimate_lines

Truth = dict[tuple[str, str], float]  # by measure and label, as the results have them


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """A question of a study. Defaults fit a question about one answer, which is a number or a category."""

    keys: ClassVar[tuple[str, ...]] = ()  # of its table in a file, beside those of every question; none: not in files
    shares_report: ClassVar[bool] = False  # whether the report of a distribution can answer it as well
    compares_groups: ClassVar[bool] = False
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
            raise ParameterError(f"Points are for shares; {self.asked.name} is a {self.question.noun}.")
        if size <= 0:
            raise ParameterError(f"The goal of {self.asked.name} must be above 0.")
        return size / 100 if points else size

    def default_prior(self) -> Any:
        """The expected answers where nothing is known."""
        return None

    def half_width(self, plan: Plan, level: float) -> float:
        """The expected half-width of a plan of the question with its reasons; of groups, that of one of them."""
        return plan.best.half_width(level)

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

    @property
    def period(self) -> float | None:
        """The length of a circle on which the estimates lie; None elsewhere."""
        return None

    # --- results ---------------------------------------------------------------------------------
    def answered(self, estimates: Mapping[str, Any]) -> Estimates:
        """What was asked, read from the report of a distribution where it is one."""
        return {
            self.asked.name if _is_distribution(estimate) else name: (
                estimate.answer(self.question) if _is_distribution(estimate) else estimate
            )
            for name, estimate in estimates.items()
        }

    def lines(self, estimates: Estimates, level: float) -> Iterator[ResultLine]:
        """Every number of the results; several estimates are told apart by their names."""
        for name, estimate in estimates.items():
            if isinstance(estimate, Estimate):
                yield from self.estimate_lines(estimate, level, "" if len(estimates) == 1 else name)

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
