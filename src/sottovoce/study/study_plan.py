"""The plan of a whole study: a method, a share of the participants and an expected error for every question.

Each participant is asked one question with the whole budget, which is better than all questions with a part of it.
Questions about one attribute may share a report (`study/sharing.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from sottovoce.core.asked import Asked
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer, decimal_text
from sottovoce.core.question import Distribution
from sottovoce.core.registry import names
from sottovoce.core.round import Protocol
from sottovoce.estimate.distribution.expected import ExpectedDistribution
from sottovoce.protocols.nested.parallel import MOST_WEIGHT, Branch, Parallel
from sottovoce.study import search
from sottovoce.study.effects import effect_texts
from sottovoce.study.experiments.planned import asked_in_arms, in_all, in_smallest, smallest_seen
from sottovoce.study.goals import StudyGoal, read_goals
from sottovoce.study.plan import MOST, Plan, plan
from sottovoce.study.planners.distribution import DESIGNED, ROUNDS, built_for, expected_of
from sottovoce.study.questions import study_question
from sottovoce.study.repeats.repeated import in_one_round, repeat_plan_text
from sottovoce.study.sharing import JointReport, Sharing, StudyReport, attributes_of, ratio_of, shared_option, shrinkage

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.study.study import Study

OWNER = "a study's plan"
NO_PARTICIPANTS = (
    "The plan of a study needs participants or goals. Write participants = 3000 under [study], or give --participants"
    " or --goal."
)
PILOT = 100_000  # participants of a plan that is scaled


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """One question of a study's plan.

    Attributes:
        participants: how many send the report that answers it, on average.
        plan: of the question with the reasons for giving no answer among the answers.
        without_reasons: the expected half-width if there were no such reasons; None where there are none.
        half_width: expected half-width; in an experiment, that of the smallest arm.
        smallest_difference: in an experiment, the difference between two arms that is seen with power 0.8, if known.
        report: the question under whose name the report is sent: its own, unless questions share a report.
    """

    asked: Asked
    participants: int
    plan: Plan
    half_width: float
    without_reasons: float | None
    goal: Decimal | None = None
    report: str = ""
    shared: bool = False
    smallest_difference: float | None = None

    @property
    def procedure(self) -> Mechanism | Protocol:
        """How it is asked."""
        return self.plan.best.procedure

    def text(self) -> str:
        """One line."""
        said = (
            f"{self.asked.name}: {self.plan.best.method}, {plural(self.participants, 'participant', ',')},"
            f" +- {self.asked.margin(self.half_width)}, {plural(self.plan.best.bytes_per_report, 'byte')}"
        )
        if self.shared:
            said += f"; read from the report of {self.report}" if self.report != self.asked.name else "; shared"
        if self.without_reasons is not None:
            said += f"; without reasons for giving no answer it would be +- {self.asked.margin(self.without_reasons)}"
        return said


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A planned study. `solved_for` is what was computed from the rest: "error", "participants" or "epsilon"."""

    study: Study
    epsilon: Decimal
    participants: int
    level: float
    questions: tuple[PlannedQuestion, ...]
    solved_for: str
    advice: str
    sharing: tuple[Sharing, ...] = ()
    priors: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def question(self, name: str) -> PlannedQuestion:
        """One of the questions."""
        self.study.question(name)
        return next(one for one in self.questions if one.asked.name == name)

    @property
    def reports(self) -> tuple[PlannedQuestion, ...]:
        """The questions under whose names reports are sent: one for each report."""
        return tuple(one for one in self.questions if one.report == one.asked.name)

    @property
    def protocol(self) -> Parallel:
        """All reports side by side, each with its share of the participants."""
        largest = max(one.participants for one in self.reports)
        experiment = self.study.experiment
        branches = (
            (one, asked_in_arms(one.procedure, one.asked.name, experiment), one.participants * MOST_WEIGHT)
            for one in self.reports
        )
        return Parallel(
            tuple(Branch(one.asked.name, asked, max(1, weight // (2 * largest))) for one, asked, weight in branches)
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
        shared = [one.text() for one in self.sharing]
        if self.study.strata and not self.study.stratum:
            shared.append(self._strata_text())
        shared += effect_texts(self)
        if self.study.repeat is not None:
            shared.append(repeat_plan_text(self.study.repeat, self.epsilon, self.participants, self.study.unit))
        return "\n".join([first, *(one.text() for one in self.questions), *shared, self.advice])

    __str__ = text

    def _strata_text(self) -> str:
        """How many participants each stratum needs for these margins."""
        everyone = sum(one.people for one in self.study.strata)
        counts = (f"{one.name} {round(self.participants * one.people / everyone):,}" for one in self.study.strata)
        return (
            f"Strata, by the same methods: {', '.join(counts)} participants, in proportion to their people. With other"
            " numbers the weighted estimates have wider intervals."
        )

    def half_width(self, name: str, *, epsilon: Decimal | None = None, participants: int | None = None) -> float:
        """What the +- of a question would be with another epsilon, or another number of its own participants."""
        one = self.question(name)
        planner = _Planner(self.study, self.level, dict(self.priors), {})
        return planner.width_at(one, self.epsilon if epsilon is None else epsilon, participants or one.participants)

    def to_frame(self) -> pd.DataFrame:
        """One row for each question."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "question": one.asked.name,
                    "method": one.plan.best.method,
                    "report": one.report,
                    "participants": one.participants,
                    "half_width": one.half_width,
                    "goal": math.nan if one.goal is None else float(one.goal),
                    "bytes": one.plan.best.bytes_per_report,
                }
                for one in self.questions
            ]
        )


def silent(step: str) -> None:
    """Whoever wants to hear nothing."""


def plan_study(
    study: Study,
    participants: int | None = None,
    *,
    goals: Sequence[str] = (),
    find: str = "participants",
    level: float = 0.95,
    priors: Mapping[str, Any] | None = None,
    tell: Callable[[str], None] = silent,
) -> StudyPlan:
    """Plan a study: the method, the share of participants and the margin of every question.

    With goals, the participants or the epsilon that meet them are computed. Questions without a goal get as many
    participants as those with one on average.

    Args:
        study: The study.
        participants: How many people take part. Default: the number of the study.
        goals: Texts such as "smokes +- 2 points", or "smokes differs by 4 points" between the arms of an experiment,
            which is then seen with probability 0.8. With goals and participants the epsilon is computed.
        find: "participants" or "epsilon": what is computed from the goals.
        level: The level of intervals.
        priors: The expected answers by question. Default: the population of the study.
        tell: Called with the name of each step, because designs may take seconds.

    Returns:
        A plan, which prints as one line per question.

    Raises:
        ParameterError: There are neither participants nor goals, or a goal does not fit its question.

    Examples:
        >>> smokes = sv.Asked("smokes", sv.Frequency(sv.Categories(["yes", "no"])), texts="Do you smoke?")
        >>> study = sv.Study("health", epsilon=1, unit="person", owner="Institute", contact="dpo@example.org",
        ...                  purpose="Plan courses.", questions=[smokes])
        >>> print(str(sv.plan_study(study, 3000)).splitlines()[1])
        smokes: grr, 3,000 participants, +- 3.87 points, 1 byte

    See also:
        `plan` for one question, `simulate_study` to try the plan.
    """
    wanted = {goal.name: goal for goal in read_goals(study.question, goals, study.experiment, level)}
    planner = _Planner(study, level, dict(priors or {}), wanted, tell=tell)
    if not wanted:
        participants = study.participants if participants is None else participants
        if participants is None:
            raise ParameterError(NO_PARTICIPANTS)
        n = in_smallest(study, check_integer("participants", OWNER, participants, len(study.questions), MOST))
        return planner.made(study.epsilon, *planner.by_share(study.epsilon, n), "error")
    if participants is None:
        return planner.made(study.epsilon, *planner.needed(study.epsilon), "participants")
    n = in_smallest(study, check_integer("participants", OWNER, participants, len(study.questions), MOST))
    planner = replace(planner, quick=True)
    epsilon = planner.least_epsilon(n)
    reports, sharing = planner.needed(epsilon)
    return planner.made(epsilon, planner.stretched(reports, n), sharing, "epsilon")


Reports = Sequence[StudyReport]


@dataclass(frozen=True, slots=True)
class _Planner:
    study: Study
    level: float
    priors: dict[str, Any]
    goals: dict[str, StudyGoal]
    quick: bool = False  # without methods that take seconds to build
    tell: Callable[[str], None] = silent

    # --- who sends which report ------------------------------------------------------------------
    def by_share(self, epsilon: Decimal, n: int) -> tuple[Reports, list[Sharing]]:
        """Participants of each report, by the shares of the study."""
        shares = sum(asked.share for asked in self.study.questions)
        counts = {asked.name: max(1, n * asked.share // shares) for asked in self.study.questions}
        reports: list[StudyReport] = []
        sharing: list[Sharing] = []
        for group in attributes_of(self.study.in_one_round):
            apart = {
                one.name: (counts[one.name], self._width(one, self._plan(one, epsilon, counts[one.name])))
                for one in group
            }
            chosen, decision = self._joint(group, epsilon).decide(apart)
            reports += chosen
            sharing += [] if decision is None else [decision]
        named = {name for report in reports for name in report.names}
        reports += [StudyReport((name,), count) for name, count in counts.items() if name not in named]
        return reports, sharing

    def needed(self, epsilon: Decimal) -> tuple[Reports, list[Sharing]]:
        """The fewest participants that meet all goals."""
        met = {
            name: self._people(self.study.question(name), epsilon, goal.half_width) for name, goal in self.goals.items()
        }
        usual = math.ceil(sum(met.values()) / len(met))
        counts = {asked.name: met.get(asked.name, usual) for asked in self.study.questions}
        reports: list[StudyReport] = []
        sharing: list[Sharing] = []
        for group in attributes_of(self.study.in_one_round):
            goals = {one.name: float(self.goals[one.name].half_width) for one in group if one.name in self.goals}
            chosen, decision = self._joint(group, epsilon).needed(goals, {one.name: counts[one.name] for one in group})
            reports += chosen
            sharing += [] if decision is None else [decision]
        named = {name for report in reports for name in report.names}
        reports += [StudyReport((name,), count) for name, count in counts.items() if name not in named]
        return reports, sharing

    def _people(self, asked: Asked, epsilon: Decimal, half_width: Decimal) -> int:
        """Errors of mechanisms fall with the root of the participants; others are searched for."""
        some = self._plan(asked, epsilon, PILOT)
        if isinstance(some.best.procedure, Mechanism) and not asked.question.read_from_curve:
            return math.ceil(PILOT * (self._width(asked, some) / float(half_width)) ** 2)
        return plan(
            asked.full_question,
            epsilon=epsilon,
            half_width=half_width,
            level=self.level,
            prior=self._prior(asked),
            methods=self._methods(asked),
        ).participants

    def stretched(self, reports: Reports, n: int) -> Reports:
        """The reports scaled to more participants, with equal shares."""
        everyone = sum(report.participants for report in reports)
        return [
            replace(one, participants=max(one.participants, int(Fraction(one.participants, everyone) * n)))
            for one in reports
        ]

    def least_epsilon(self, n: int) -> Decimal:
        """The least epsilon of three digits with which so many participants meet all goals."""

        def people(index: int) -> float:
            try:
                return float(sum(report.participants for report in self.needed(search.epsilon_at(index))[0]))
            except (ParameterError, SpecError):
                return math.inf

        index = search.least(people, float(n), search.EPSILONS)
        if index is None:
            raise ParameterError("No epsilon meets these goals with so few participants.")
        return search.epsilon_at(index)

    # --- each question ---------------------------------------------------------------------------
    def made(self, epsilon: Decimal, reports: Reports, sharing: Sequence[Sharing], solved_for: str) -> StudyPlan:
        of = {name: report for report in reports for name in report.names}
        questions = tuple(self._planned(asked, epsilon, of[asked.name]) for asked in self.study.questions)
        total = sum(in_all(self.study, report.participants) for report in reports)
        advice = self._advice(questions, epsilon, len(reports))
        about = (solved_for, advice, tuple(sharing), self.priors)
        return StudyPlan(self.study, epsilon, total, self.level, questions, *about)

    def _planned(self, asked: Asked, epsilon: Decimal, report: StudyReport) -> PlannedQuestion:
        n, other = report.participants, None
        goal = self.goals.get(asked.name)
        if report.expected is None:
            question_plan = self._plan(asked, epsilon, n)
        else:
            others = [name for name in report.names if name != asked.name]
            option = shared_option(report.expected, asked, n, self.level, others)
            subject, measure = f"A {asked.question.noun}", f"the {asked.question.noun}"
            question_plan = Plan(asked.question, epsilon, n, (option,), "error", None, self.level, subject, measure)
        if asked.missing:
            alone = replace(asked, missing=(), labels=())
            own = replace(self, quick=True)._plan(alone, epsilon, n)
            other = study_question(alone).half_width(own, self.level)
        width = self._width(asked, question_plan)
        size = None if goal is None else goal.half_width
        first = next(one.name for one in self.study.questions if one.name in report.names)
        seen = smallest_seen(self.study.experiment, asked, question_plan, self._prior(asked), self.level)
        everyone = in_all(self.study, n)
        shared = report.expected is not None
        return PlannedQuestion(asked, everyone, question_plan, width, other, size, first, shared, seen)

    def _plan(self, asked: Asked, epsilon: Decimal, n: int, methods: Sequence[str] | None = None) -> Plan:
        self.tell(f"planning {asked.name} at epsilon {decimal_text(epsilon)}")
        planned = plan(
            asked.full_question,
            epsilon=epsilon,
            participants=n,
            level=self.level,
            prior=self._prior(asked),
            methods=self._methods(asked) if methods is None else methods,
        )
        return planned if self.study.repeat is None else in_one_round(planned)

    def _methods(self, asked: Asked) -> list[str] | None:
        if asked.name in self.study.in_rounds:
            return [ROUNDS]
        if not self.quick or asked.question.room != Distribution.room:
            return None
        return [name for name in names(Distribution) if name not in DESIGNED]

    def _joint(self, group: Sequence[Asked], epsilon: Decimal) -> JointReport:
        self.tell(f"comparing one report for {' and '.join(one.name for one in group)} with several")
        return JointReport.of(group, epsilon, self.level, self._expected(group[0]), quick=self.quick)

    def _expected(self, asked: Asked) -> Any:
        """Expected answers of an attribute, for the shares of its buckets."""
        return expected_of(asked.question.domain, self._prior(asked))

    def _prior(self, asked: Asked) -> Any:
        """Expected answers. Of a number with reasons, where nothing is known, one person in ten gives a reason."""
        prior = self.priors.get(asked.name, self.priors.get(self.study.attribute(asked.name)))
        if prior is not None:
            return prior
        expected = self.study.expected(asked.name)
        if expected is not None:
            return study_question(asked).prior(expected if asked.missing else replace(expected, missing=()))
        return study_question(asked).default_prior()

    def _width(self, asked: Asked, plan: Plan) -> float:
        """The expected half-width; with several groups that of one of them, of those who answered where some do not."""
        return study_question(asked).half_width(plan, self.level)

    def width_at(self, one: PlannedQuestion, epsilon: Decimal, n: int) -> float:
        """The expected half-width of a planned question, by the same method, with another epsilon or participants."""
        n = in_smallest(self.study, n)
        name = one.procedure.name if isinstance(one.procedure, Mechanism) else None
        if not one.shared or name is None:
            return self._width(one.asked, self._plan(one.asked, epsilon, n, None if name is None else [name]))
        question: Any = one.procedure.question  # a report that questions share is about a distribution
        (built,) = built_for(question, epsilon, (name,), counted=True)
        return ExpectedDistribution.of(built, self._expected(one.asked)).half_width(one.asked.question, n, self.level)

    def _advice(self, questions: Sequence[PlannedQuestion], epsilon: Decimal, reports: int) -> str:
        """What would improve the study most."""
        # Buckets remain as wide as they are, however many take part.
        doubled = [
            ratio_of(self.width_at(one, epsilon, 2 * one.participants), one.half_width)
            for one in questions
            if one.shared or one.asked.question.read_from_curve
        ]
        said = [f"With twice as many participants all margins shrink by {shrinkage(math.sqrt(0.5), *doubled)}."]
        more = min(Decimal(20), epsilon * Decimal("1.5"))
        gains = [ratio_of(self.width_at(one, more, one.participants), one.half_width) for one in questions]
        said.append(f"With an epsilon of {decimal_text(more)} they shrink by {shrinkage(*gains)}.")
        if reports > 1:
            others = shrinkage(math.sqrt((reports - 1) / reports))
            said.append(f"Dropping one question would shrink the other margins by {others}.")
        costly = [one for one in questions if one.without_reasons and one.half_width > 1.2 * one.without_reasons]
        for one in costly:
            more_wide = one.half_width / (one.without_reasons or 1) - 1
            reasons = " and ".join(f'"{reason}"' for reason in one.asked.missing)
            said.append(f"The margin of {one.asked.name} is {100 * more_wide:.0f} % wider for allowing {reasons}.")
        for one in questions:
            alone = in_smallest(self.study, one.participants)
            width = partial(self._own_width, one.asked, epsilon, alone)
            said += study_question(one.asked).other_rounds(alone, one.asked.name in self.study.in_rounds, width)
        return " ".join(said)

    def _own_width(self, asked: Asked, epsilon: Decimal, n: int, methods: Sequence[str]) -> float:
        return self._width(asked, self._plan(asked, epsilon, n, methods))
