"""The plan of a whole study: a method, a share of the participants and an expected error for every question.

Each participant is asked one question with the whole budget, which is better than all questions with a part of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sottovoce.core.asked import Asked
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.manifest import Manifest
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer, decimal_text
from sottovoce.core.question import Mean
from sottovoce.core.round import Protocol
from sottovoce.protocols.ask import AskEveryone
from sottovoce.protocols.nested.side_by_side import MOST_WEIGHT, Branch, SideBySide
from sottovoce.study import search
from sottovoce.study.goals import StudyGoal, read_goals
from sottovoce.study.plan import MOST, Plan, plan
from sottovoce.study.planners.base import normal_quantile
from sottovoce.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

OWNER = "a study's plan"
PILOT = 100_000  # participants of a plan that is scaled
SILENT = 0.1  # share of those who give no number, where nothing is known


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """One question of a study's plan.

    Attributes:
        participants: how many are asked this question, on average.
        plan: of the question with the reasons for giving no answer among the answers.
        without_reasons: the expected half-width if there were no such reasons; None where there are none.
    """

    asked: Asked
    participants: int
    plan: Plan
    half_width: float
    without_reasons: float | None
    goal: Decimal | None = None

    @property
    def procedure(self) -> Mechanism | Protocol:
        """How it is asked."""
        return self.plan.best.procedure

    def text(self) -> str:
        """One line."""
        unit = f" {self.asked.unit}" if self.asked.unit else ""
        said = (
            f"{self.asked.name}: {self.plan.best.method}, {self.participants:,} participants,"
            f" +- {self.half_width:.3g}{unit}, {self.plan.best.bytes_per_report} bytes"
        )
        if self.without_reasons is not None:
            said += f"; without reasons for giving no answer it would be +- {self.without_reasons:.3g}"
        return said


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A planned study. `found` is what was found: "error", "participants" or "epsilon"."""

    study: Study
    epsilon: Decimal
    participants: int
    level: float
    questions: tuple[PlannedQuestion, ...]
    found: str
    advice: str

    def question(self, name: str) -> PlannedQuestion:
        """One of the questions."""
        self.study.question(name)
        return next(one for one in self.questions if one.asked.name == name)

    @property
    def protocol(self) -> SideBySide:
        """All questions side by side, each with its share of the participants."""
        largest = max(one.participants for one in self.questions)
        return SideBySide(
            tuple(
                Branch(one.asked.name, _protocol(one), max(1, one.participants * MOST_WEIGHT // (2 * largest)))
                for one in self.questions
            )
        )

    def manifest(self) -> Manifest:
        """The manifest of the first round."""
        if self.epsilon > self.study.epsilon:
            raise ParameterError("This plan needs a larger epsilon than the study has: change the study first.")
        return Manifest(self.study.facts, self.study.questions, self.protocol.start())

    def text(self) -> str:
        """The plan in words."""
        first = (
            f"{self.study.name}: {self.participants:,} participants, epsilon {decimal_text(self.epsilon)} per"
            f" {self.study.unit}; +- is half the width of an interval at {100 * self.level:g} %."
        )
        return "\n".join([first, *(one.text() for one in self.questions), self.advice])

    __str__ = text

    def to_frame(self) -> pd.DataFrame:
        """One row for each question."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "question": one.asked.name,
                    "method": one.plan.best.method,
                    "participants": one.participants,
                    "half_width": one.half_width,
                    "goal": math.nan if one.goal is None else float(one.goal),
                    "bytes": one.plan.best.bytes_per_report,
                }
                for one in self.questions
            ]
        )


def plan_study(
    study: Study,
    participants: int | None = None,
    *,
    goals: Sequence[str] = (),
    find: str = "participants",
    level: float = 0.95,
    priors: Mapping[str, Any] | None = None,
) -> StudyPlan:
    """The plan for a number of participants; or, with goals, for the participants or the epsilon that meet them.

    With goals and participants the epsilon is found, unless `find` says otherwise; questions without a goal get as many
    participants as those with one on average.
    """
    wanted = {goal.name: goal for goal in read_goals(study, goals)}
    planner = _Planner(study, level, dict(priors or {}), wanted)
    if not wanted:
        if participants is None:
            raise ParameterError("A plan of a study needs participants, or goals.")
        n = check_integer("participants", OWNER, participants, len(study.questions), MOST)
        return planner.made(study.epsilon, planner.by_share(n), "error")
    if participants is None:
        return planner.made(study.epsilon, planner.needed(study.epsilon), "participants")
    n = check_integer("participants", OWNER, participants, len(study.questions), MOST)
    epsilon = planner.least_epsilon(n)
    return planner.made(epsilon, planner.stretched(planner.needed(epsilon), n), "epsilon")


@dataclass(frozen=True, slots=True)
class _Planner:
    study: Study
    level: float
    priors: dict[str, Any]
    goals: dict[str, StudyGoal]

    def by_share(self, n: int) -> dict[str, int]:
        """Participants of each question, by the shares of the study."""
        whole = sum(asked.share for asked in self.study.questions)
        return {asked.name: max(1, n * asked.share // whole) for asked in self.study.questions}

    def needed(self, epsilon: Decimal) -> dict[str, int]:
        """Participants that meet each goal."""
        met = {
            name: self._people(self.study.question(name), epsilon, goal.half_width) for name, goal in self.goals.items()
        }
        usual = math.ceil(sum(met.values()) / len(met))
        return {asked.name: met.get(asked.name, usual) for asked in self.study.questions}

    def _people(self, asked: Asked, epsilon: Decimal, half_width: Decimal) -> int:
        """Errors of mechanisms fall with the root of the participants; those of rounds are searched for."""
        some = self._plan(asked, epsilon, PILOT)
        if isinstance(some.best.procedure, Mechanism):
            return math.ceil(PILOT * (self._width(asked, some) / float(half_width)) ** 2)
        return plan(
            asked.whole, epsilon=epsilon, half_width=half_width, level=self.level, prior=self._prior(asked)
        ).participants

    def stretched(self, needed: dict[str, int], n: int) -> dict[str, int]:
        """The same shares of more participants."""
        whole = sum(needed.values())
        return {name: max(one, int(Fraction(one, whole) * n)) for name, one in needed.items()}

    def least_epsilon(self, n: int) -> Decimal:
        """The least epsilon of three digits with which so many participants meet all goals."""

        def people(index: int) -> float:
            try:
                return float(sum(self.needed(search.epsilon_at(index)).values()))
            except (ParameterError, SpecError):
                return math.inf

        found = search.least(people, float(n), search.EPSILONS)
        if found is None:
            raise ParameterError("No epsilon meets these goals with so few participants.")
        return search.epsilon_at(found)

    def made(self, epsilon: Decimal, shares: dict[str, int], found: str) -> StudyPlan:
        questions = tuple(self._planned(asked, epsilon, shares[asked.name]) for asked in self.study.questions)
        return StudyPlan(
            self.study, epsilon, sum(shares.values()), self.level, questions, found, self._advice(questions, epsilon)
        )

    def _planned(self, asked: Asked, epsilon: Decimal, n: int) -> PlannedQuestion:
        made = self._plan(asked, epsilon, n)
        other = None
        if asked.missing:
            other = self._width(asked, plan(asked.question, epsilon=epsilon, participants=n, level=self.level))
        goal = self.goals.get(asked.name)
        return PlannedQuestion(
            asked, n, made, self._width(asked, made), other, None if goal is None else goal.half_width
        )

    def _plan(self, asked: Asked, epsilon: Decimal, n: int, methods: Sequence[str] | None = None) -> Plan:
        return plan(
            asked.whole,
            epsilon=epsilon,
            participants=n,
            level=self.level,
            prior=self._prior(asked),
            methods=methods,
        )

    def _prior(self, asked: Asked) -> Any:
        """What is expected; of a number with reasons that one person in ten gives one."""
        if asked.name in self.priors or not asked.missing or not isinstance(asked.question, Mean):
            return self.priors.get(asked.name)
        reasons = len(asked.missing)
        return [1 - SILENT, *[SILENT / reasons] * reasons], None

    def _width(self, asked: Asked, made: Plan) -> float:
        """The expected half-width; with several groups that of one of them, of those who answered where some do not."""
        best = made.best
        if asked.missing and isinstance(asked.question, Mean) and best.expected:
            return normal_quantile(self.level) * best.expected[0].std_error
        return best.half_width(self.level)

    def _advice(self, questions: Sequence[PlannedQuestion], epsilon: Decimal) -> str:
        """What would improve the study most."""
        said = [f"Twice the participants make every +- {math.sqrt(0.5):.2f} times as wide."]
        more = min(Decimal(20), epsilon * Decimal("1.5"))
        gains = []
        for one in questions:
            name = one.procedure.name if isinstance(one.procedure, Mechanism) else None
            better = self._plan(one.asked, more, one.participants, None if name is None else [name])
            gains.append(self._width(one.asked, better) / one.half_width)
        said.append(
            f"An epsilon of {decimal_text(more)} makes them {min(gains):.2f} to {max(gains):.2f} times as wide."
        )
        if len(questions) > 1:
            factor = math.sqrt((len(questions) - 1) / len(questions))
            said.append(f"Each question that is left out makes the others {factor:.2f} times as wide.")
        costly = [one for one in questions if one.without_reasons and one.half_width > 1.2 * one.without_reasons]
        for one in costly:
            ratio = one.half_width / (one.without_reasons or 1)
            said.append(f"Reasons for giving no answer make {one.asked.name} {ratio:.2f} times as wide.")
        return " ".join(said)


def _protocol(one: PlannedQuestion) -> Protocol:
    procedure = one.procedure
    return AskEveryone(procedure, one.asked.name) if isinstance(procedure, Mechanism) else procedure
