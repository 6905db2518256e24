"""Plans: ranked ways to answer a question, each with its predicted error and the reason for its place.

Of epsilon, participants and error two are given and the third is found. Each question has a planner in
`study/planners`, in the module that is named like the question's room.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.language.display import card
from sottovoce.core.late import load
from sottovoce.core.params import MAX_EPSILON, check_decimal, check_epsilon, check_integer, reject
from sottovoce.core.question import Question
from sottovoce.estimate.request import Target
from sottovoce.study import search
from sottovoce.study.planners.base import OWNER, Option, Planner, Request, Ways, normal_quantile

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
    """Options, best first; `advice` says in words what follows from them.

    `solved_for` is what was computed from the other two: "error", "participants" or "epsilon". `measure` says what the
    standard errors of the options refer to; if there are several values, how they are averaged.
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

    @property
    def best(self) -> Option:
        """The first choice."""
        return self.options[0]

    @property
    def estimable(self) -> tuple[bool, ...]:
        """For groups: which are expected to be estimable by the first choice."""
        return tuple(self.participants >= one.needed for one in self.best.expected)

    def explain(self) -> str:
        """The plan in words."""
        lines = [
            f"{self.subject} at epsilon {self.epsilon}, {self.participants:,} participants;"
            f" standard errors are those of {self.measure}:"
        ]
        for place, option in enumerate(self.options, 1):
            lines.append(
                f"{place}. {option.method}: standard error {option.std_error:.4g},"
                f" {option.bytes_per_report} byte{'s' * (option.bytes_per_report > 1)} beside the id; {option.reason}"
            )
        return "\n".join([*lines, self.advice])

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
        """The options as a table."""
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
        """The expected errors of each group with the first choice, as a table; empty for other questions."""
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


def plan(
    question: Question,
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
) -> Plan:
    """Rank the ways to answer a question, given two of epsilon, participants and an error.

    The third is found: the error to expect, the participants needed, or the least epsilon of three digits, from 0.0001
    on, that is enough. An error is a `std_error`, or the `half_width` of a normal interval at `level`. The first choice
    meets it with the participants or epsilon found, but not with one participant, or one step of epsilon, less. If a
    question has several values, the error is the root mean square of theirs, and `Plan.measure` says so.

    A `prior` describes the expected answers: the shares of all values for a `Frequency`, or "rare" if the error of a
    value that hardly anyone holds is wanted; a `Prior`, or answers of earlier days, for a `Mean`, a `Variance`, a
    `Distribution` and what is read from one (of categories their shares); a pair of the groups' shares and their priors
    for a `GroupMean`; a `Prior` of one coordinate for a `VectorMean`. Without one, answers are taken to be spread
    evenly.

    `methods` names the methods to try; `mechanism` is the one that a protocol uses. With `target="sample"`, errors are
    those of the privacy noise alone.
    """
    if not isinstance(question, Question):
        raise reject("question", OWNER, "a question, such as Mean(Interval(0, 10))", question)
    goal = _goal(std_error, half_width, level)
    if sum(value is None for value in (epsilon, participants, goal)) != 1:
        raise ParameterError(
            "A plan needs two of epsilon, participants and an error (std_error or half_width), and finds the third."
        )
    request = Request(question, prior, None if methods is None else tuple(methods), mechanism, Target.of(target), level)
    budget = None if epsilon is None else check_epsilon(OWNER, epsilon)
    planner: Planner = load(f"study.planners.{question.room}:planner")(request)
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
    unadvised = Plan(question, budget, n, ways.options(n), solved_for, goal, level, planner.subject, planner.measure)
    return replace(unadvised, advice=_advice(planner, unadvised))


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
