"""Plans: ranked ways to answer a question, each with its predicted error and the reason for its place.

Of epsilon, participants and error two are given and the third is found. Each question has a planner in
`study/planners`, in the module that is named like the question's room.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.language.display import card
from sottovoce.core.params import MAX_EPSILON, check_decimal, check_epsilon, check_integer, reject
from sottovoce.core.question import Question
from sottovoce.estimate.request import Target
from sottovoce.study import search
from sottovoce.study.planners.base import OWNER, Option, Planner, Request, Ways, normal_quantile, question_planner
from sottovoce.study.power.planners import test_planner
from sottovoce.study.power.test_of import (
    EQUIVALENCE,
    TestOf,
    check_difference,
    check_power,
    difference_for,
    error_for,
    most_difference,
    power_of_test,
)
from sottovoce.study.power.test_planner import TestPlanner
from sottovoce.study.power.watched import LOOKS

if TYPE_CHECKING:
    import pandas as pd

MOST = 1 << 53  # participants that may be given


@dataclass(frozen=True, slots=True)
class Goal:
    """The requested error: a standard error, or half the width of a normal interval."""

    size: Decimal
    level: float | None = None  # of the interval; None for a standard error

    @property
    def std_error(self) -> float:
        """The largest standard error that meets it."""
        return float(self.size) / (1 if self.level is None else normal_quantile(self.level))

    def __str__(self) -> str:
        if self.level is None:
            return f"a standard error of {self.size}"
        return f"a half-width of {self.size} at {100 * self.level:g} %"


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold the ranked options for one question, best first, with advice in words.

    Attributes:
        question: What is estimated.
        epsilon: The privacy budget of one report.
        participants: The number of reports.
        options: The methods with their expected standard errors, best first.
        solved_for: What was computed from the other two: "error", "participants" or "epsilon".
        goal: The error to reach, where one was given.
        level: The level of intervals.
        subject: What the advice is about, in words.
        measure: What the standard errors refer to; if there are several values, how they are averaged.
        advice: What follows from the options, in words.
        trusted: One line about the noise of a trusted server, where it has a short formula.

    Examples:
        >>> plan = sv.plan(sv.Frequency(sv.Categories(["yes", "no"])), epsilon=1, participants=3000)
        >>> plan.best.method, round(plan.best.std_error, 3)
        ('grr', 0.02)

    See also:
        `plan` makes one.
    """

    question: Question
    epsilon: Decimal
    participants: int
    options: tuple[Option, ...]
    solved_for: str
    goal: Goal | None
    level: float
    subject: str
    measure: str
    advice: str = ""
    trusted: str = ""

    @property
    def best(self) -> Option:
        """Return the first choice."""
        return self.options[0]

    @property
    def estimable(self) -> tuple[bool, ...]:
        """Tell which groups are expected to be large enough for their mean to be shown, with the first choice."""
        return tuple(self.participants >= one.needed for one in self.best.expected)

    def explain(self) -> str:
        """Explain the plan in words.

        Returns:
            Sentences: the advice, then each option.
        """
        lines = [
            f"{self.subject} at epsilon {self.epsilon}, {self.participants:,} participants;"
            f" standard errors are those of {self.measure}:"
        ]
        for place, option in enumerate(self.options, 1):
            lines.append(
                f"{place}. {option.method}: standard error {option.std_error:.4g},"
                f" {option.bytes_per_report} byte{'s' * (option.bytes_per_report > 1)} beside the id; {option.reason}"
            )
        return "\n".join(filter(None, [*lines, self.advice, self.trusted]))

    __str__ = explain

    def __repr__(self) -> str:
        return (
            f"Plan({self.subject}, epsilon={self.epsilon}, participants={self.participants},"
            f" {len(self.options)} options, best: {self.best.method} with standard error {self.best.std_error:.4g})"
        )

    def _repr_html_(self) -> str:
        words = {"error": "error to expect", "participants": "participants needed", "epsilon": "epsilon needed"}
        facts = [
            ("epsilon", self.epsilon),
            ("participants", f"{self.participants:,}"),
            ("found", words[self.solved_for]),
        ]
        if self.goal is not None:
            facts.append(("asked for", self.goal))
        header = ("method", "standard error", f"half-width at {100 * self.level:g} %", "bytes", "reason")
        rows = [
            (
                *(option.method, f"{option.std_error:.4g}", f"{option.half_width(self.level):.4g}"),
                *(f"{option.bytes_per_report}", option.reason),
            )
            for option in self.options
        ]
        about = f"Standard errors are those of {self.measure}."
        return card(f"Plan: {self.subject}", facts, table=(header, rows), notes=[about, self.advice])

    def to_frame(self) -> pd.DataFrame:
        """Return the options as a table, best first.

        Returns:
            A pandas data frame.
        """
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "method": option.method,
                    "decoder": option.decoder,
                    "std_error": option.std_error,
                    "half_width": option.half_width(self.level),
                    "bytes": option.bytes_per_report,
                    "reason": option.reason,
                }
                for option in self.options
            ]
        )

    def expected_frame(self) -> pd.DataFrame:
        """Return the expected errors of each group with the first choice; empty for questions without groups.

        Returns:
            A pandas data frame.
        """
        import pandas as pd

        expected = self.best.expected
        return pd.DataFrame(
            {
                "label": [one.label for one in expected],
                "std_error": [one.std_error for one in expected],
                "needed": [one.needed for one in expected],
                "estimable": list(self.estimable),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TestPlan(Plan):
    """The plan of a test: participants, epsilon or the smallest difference, as `solved_for` says.

    Options are those of one sample of all participants. `power` is the probability that the test sees `difference`.
    Tests with a power law of their own have a `planner`.
    """

    __test__: ClassVar[bool] = False  # pytest collects classes of such names

    test: TestOf
    difference: float
    power: float
    planner: TestPlanner | None = field(default=None, repr=False, compare=False)

    @property
    def std_error(self) -> float:
        """The standard error of the difference, by the best method."""
        return self.best.std_error / self.test.balance

    def power_of(self, difference: float) -> float:
        """The probability that a difference of this size is significant."""
        if self.planner is not None:
            return self.planner.power_of(self.best, difference, self.participants)
        return power_of_test(self.test, difference / self.std_error, self.level)

    def sentence(self) -> str:
        """The plan in words."""
        first = round(self.participants * self.test.first)
        people = f" ({first:,} and {self.participants - first:,})" if self.test.samples == 2 else ""
        each = "tables" if self.test.of_tables else "comparisons"
        many = f" in each of {self.test.comparisons} {each}" if self.test.comparisons > 1 else ""
        many = ", on average over all shares (root mean square)" if self.test.of_shares else many
        half = self.difference / 2
        kind = f"an e-value, looked at {LOOKS} times," if self.test.watched else "a test"
        said = (
            f"Take {self.best.method}: with {self.participants:,} participants{people} at epsilon {self.epsilon},"
            f" {kind} at the level {100 * self.level:g} %"
        )
        if self.test.test == EQUIVALENCE:
            return (
                f"{said} shows with probability {self.power:g}{many} that two equal samples differ by less than"
                f" {self.difference:.3g}."
            )
        chance = f"with probability {self.power:g}{many}"
        return (
            f"{said} sees a {self.test.effect} of {self.difference:.3g}{self.test.unit} {chance}. A {self.test.effect}"
            f" of {half:.3g} is seen with probability {self.power_of(half):.2g}."
        )


def plan(
    question: Question | TestOf,
    *,
    epsilon: Any = None,
    participants: int | None = None,
    std_error: Any = None,
    half_width: Any = None,
    level: float = 0.95,
    prior: Any = None,
    methods: Sequence[str] | None = None,
    mechanism: str | None = None,
    target: str = "population",
    power: float | None = None,
) -> Plan:
    """Rank the ways to answer a question, from two of epsilon, participants and an error.

    The third is computed: the error to expect, the participants needed, or the smallest epsilon of three digits, from
    0.0001 on. Errors are exact for the expected answers. If a question has several values, the error is the root mean
    square of theirs, and `Plan.measure` says so.

    Args:
        question: What to estimate, such as `Mean(Interval(0, 14))`, or a `TestOf`.
        epsilon: The privacy budget of one report.
        participants: The number of reports.
        std_error: The standard error to reach, in units of the answers; for shares 0.02 is two percentage points.
        half_width: The half width of a normal interval to reach, instead of `std_error`.
        level: The level of that interval.
        prior: The expected answers: shares of all values for a `Frequency`, or "rare" for the error of a value that
            hardly anyone holds; a `Prior` or earlier answers for numbers and distributions; a pair of the groups'
            shares and their priors for a `GroupMean`; a `Prior` of one coordinate for a `VectorMean`. Default: spread
            evenly.
        methods: Names of the methods to try. Default: all that fit.
        mechanism: The name of the mechanism that a protocol uses.
        target: "population", or "sample" for the error of the privacy noise alone.
        power: For a `TestOf`: the probability that the test sees its difference, 0.8 by default. Two of
            epsilon, participants and the difference are then given.

    Returns:
        A `Plan` with options, best first; for a `TestOf` a `TestPlan`.

    Raises:
        ParameterError: Not exactly two of the three are given, or no method meets the error.

    Examples:
        >>> smokers = sv.Frequency(sv.Categories(["yes", "no"]))
        >>> plan = sv.plan(smokers, epsilon=1, half_width=0.03)
        >>> plan.participants, plan.best.method
        (4997, 'grr')

    See also:
        `plan_study` plans several questions with one budget, `Prior` describes expected answers.
    """
    if isinstance(question, TestOf):
        if std_error is not None or half_width is not None:
            raise ParameterError("The plan of a test takes the difference of its TestOf, not std_error or half_width.")
        options = {"level": level, "prior": prior, "methods": methods, "mechanism": mechanism, "target": target}
        return _plan_of_test(question, epsilon, participants, 0.8 if power is None else check_power(power), options)
    if power is not None:
        raise ParameterError("Power belongs to a test: plan(TestOf(question, difference=...), power=0.8).")
    if not isinstance(question, Question):
        raise reject("question", OWNER, "a question, such as Mean(Interval(0, 10))", question)
    goal = _goal(std_error, half_width, level)
    if sum(value is None for value in (epsilon, participants, goal)) != 1:
        raise ParameterError(
            "A plan needs two of epsilon, participants and an error (std_error or half_width), and finds the third."
        )
    request = Request(question, prior, None if methods is None else tuple(methods), mechanism, Target.of(target), level)
    return _solved(question_planner(request), request, epsilon, participants, goal)


def _solved(planner: Planner, request: Request, epsilon: Any, participants: int | None, goal: Goal | None) -> Plan:
    """The plan of a planner, where two of epsilon, participants and an error are given."""
    budget = None if epsilon is None else check_epsilon(OWNER, epsilon)
    n = None if participants is None else check_integer("participants", OWNER, participants, planner.fewest, MOST)
    if budget is None and n is not None and goal is not None:
        budget, ways = _least_epsilon(planner, n, goal)
        solved_for = "epsilon"
    elif budget is not None:
        ways = planner.ways(budget)
        solved_for = "error"
    if n is None and budget is not None and goal is not None:
        n = _least_participants(ways, planner.fewest, budget, goal)
        solved_for = "participants"
    if budget is None or n is None:
        raise AssertionError("Two of three are given.")
    said = planner.subject, planner.measure
    unadvised = Plan(request.question, budget, n, ways.options(n), solved_for, goal, request.level, *said)
    return replace(unadvised, advice=_advice(planner, unadvised), trusted=planner.trusted_text(budget, n))


def _plan_of_test(
    test: TestOf, epsilon: Any, participants: int | None, power: float, options: dict[str, Any]
) -> TestPlan:
    level = options["level"]
    given = [value is not None for value in (epsilon, participants, test.difference)]
    if sum(given) != 2:
        raise ParameterError("A plan of a test needs two of epsilon, participants and difference; it finds the third.")
    goal = None if test.difference is None else Decimal(repr(error_for(test, power, level)))
    names = None if options["methods"] is None else tuple(options["methods"])
    request = Request(test.question, options["prior"], names, options["mechanism"], Target.POPULATION, level)
    planner = test_planner(test, request, power)
    most = most_difference(test) if planner is None else planner.most
    if test.difference is not None:
        check_difference(test, float(test.difference), most)
    if planner is not None:
        best = _solved(planner, request, epsilon, participants, None if goal is None else Goal(goal))
    else:
        best = plan(test.question, epsilon=epsilon, participants=participants, std_error=goal, **options)
    if goal is None:
        difference = difference_for(test, best.best.std_error, power, level)
        check_difference(test, difference, most, best.participants)
        return _as_test(best, "difference", test, difference, power, planner)
    return _as_test(best, best.solved_for, test, float(test.difference), power, planner)


def _as_test(
    best: Plan, solved_for: str, test: TestOf, difference: float, power: float, planner: TestPlanner | None
) -> TestPlan:
    """The plan of a test, from the plan of one sample of all participants."""
    known = {one.name: getattr(best, one.name) for one in fields(best)} | {"solved_for": solved_for}
    unadvised = TestPlan(**known, test=test, difference=difference, power=power, planner=planner)
    return replace(unadvised, advice=unadvised.sentence())


def _goal(std_error: Any, half_width: Any, level: Any) -> Goal | None:
    if not isinstance(level, float) or not 0 < level < 1:
        raise reject("level", OWNER, "a number in (0, 1)", level)
    if std_error is not None and half_width is not None:
        raise ParameterError("A plan needs one of std_error and half_width.")
    for name, error in (("std_error", std_error), ("half_width", half_width)):
        if error is not None:
            size = check_decimal(name, OWNER, error)
            if size <= 0:
                raise reject(name, OWNER, "a positive number", error)
            return Goal(size, level if name == "half_width" else None)
    return None


def _least_participants(ways: Ways, fewest: int, budget: Decimal, goal: Goal) -> int:
    participants = _least(ways.least, lambda n: ways.options(n)[0].std_error, goal, search.participants(fewest))
    if participants is None:
        raise ParameterError(
            "No number of participants up to 2**40 gives this error at this epsilon: a larger epsilon is needed.",
            f"epsilon {budget} and {goal}",
        )
    return participants


def _least_epsilon(planner: Planner, n: int, goal: Goal) -> tuple[Decimal, Ways]:
    tried: dict[int, Ways] = {}

    @cache
    def errors(index: int) -> tuple[float, float]:
        try:
            tried[index] = planner.ways(search.epsilon_at(index))
            return tried[index].least(n), tried[index].options(n)[0].std_error
        except (ParameterError, SpecError):  # no method supports a budget this small
            return math.inf, math.inf

    index = _least(lambda index: errors(index)[0], lambda index: errors(index)[1], goal, search.EPSILONS)
    if index is None:
        planner.ways(Decimal(MAX_EPSILON)).options(n)  # raises if there is no method at all
        raise ParameterError(
            f"No epsilon up to {MAX_EPSILON} gives this error: more participants are needed.",
            f"{n:,} participants and {goal}",
        )
    return search.epsilon_at(index), tried[index]


def _least(
    least: Callable[[int], float], first: Callable[[int], float], goal: Goal, scale: search.SearchScale
) -> int | None:
    """Where the first choice meets the goal, at or after the point where any possible first choice does.

    The smallest error falls along the scale. That of the first choice may rise where an equally good option with
    smaller reports replaces it; so the search for it starts where the smallest error meets the goal.
    """
    start = search.least(least, goal.std_error, scale)
    if start is None:
        return None
    return search.least(first, goal.std_error, replace(scale, low=start, start=start))


def _advice(planner: Planner, plan: Plan) -> str:
    best, goal = plan.best, plan.goal
    expected, asked = f"a standard error of {best.std_error:.4g}", ""
    if goal is not None:
        asked = f" ({goal.size} was requested)"
        if goal.level is not None:
            width = f"a half-width of {best.half_width(goal.level):.4g} at {100 * goal.level:g} %"
            expected = f"{width} (standard error {best.std_error:.4g})"
    first = (
        f"Take {best.method}: with {plan.participants:,} participants at epsilon {plan.epsilon} expect {expected}"
        f" for {plan.measure}{asked}."
    )
    return " ".join([first, *planner.remarks(plan.best, plan.epsilon, plan.participants)])
