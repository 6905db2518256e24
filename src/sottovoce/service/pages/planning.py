"""The planner page: a goal in, a verdict out. Plans are cached, and one is computed at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from starlette.datastructures import QueryParams

from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.core.params import decimal_text
from sottovoce.service.running_study import RunningStudy
from sottovoce.study.display.planning import GoalPlan, two_digits, without
from sottovoce.study.display.privacy_numbers import coin_sentence
from sottovoce.study.effects import effect_texts
from sottovoce.study.questions import study_question
from sottovoce.study.reading import parse_study
from sottovoce.study.study import Study
from sottovoce.study.study_plan import StudyPlan, plan_study

FEWEST, MOST = 100, 990_000  # people; numbers of two digits, so that few plans are computed
QUARTERS = {f"{quarter / 4:g}" for quarter in range(1, 33)}  # budgets of the slider
LONGEST = 12  # characters of a goal


@dataclass(frozen=True, slots=True)
class PlannerRequest:
    """What the planner is asked: a goal for a question, how many people, which budget, and a question left out."""

    people: int
    epsilon: str
    question: str
    goal: str
    without: str = ""


@lru_cache(maxsize=256)
def planned(source: bytes, people: int, epsilon: str = "", left_out: str = "") -> StudyPlan:
    """The plan of a study file for this number of people, with its own epsilon or another."""
    study, _ = parse_study(source)
    if study is None:
        raise ParameterError("The study file cannot be read.")
    if left_out:
        study = without(study, left_out)
    if epsilon:
        budget = Decimal(epsilon)
        study = replace(study, epsilon=budget, lifetime=max(budget, study.lifetime or budget))
    return plan_study(study, people)


def first_wanted(running: RunningStudy, people: int, errors: dict[str, float]) -> PlannerRequest:
    """What the page shows first: the planned study, with the planned error of its first question as the goal."""
    epsilon = max(0.25, round(4 * float(running.manifest.facts.epsilon)) / 4)
    asked = running.manifests[0].questions[0]
    size = errors.get(asked.name, 0.0) * (100 if asked.question.is_share else 1)
    goal = f"{float(f'{size * 1.02:.1g}'):g}" if size else "5"
    return PlannerRequest(min(max(two_digits(people), FEWEST), MOST), f"{epsilon:g}", asked.name, goal)


def read_wanted(running: RunningStudy, query: QueryParams) -> PlannerRequest | None:
    """What a request asks; None where it is not one of the page."""
    people, epsilon = query.get("people", ""), query.get("epsilon", "")
    question, goal, left_out = (query.get(key, "") for key in ("question", "goal", "without"))
    names = {one.name for one in running.manifests[0].questions}
    if not people.isascii() or not people.isdigit() or len(people) > 6 or epsilon not in QUARTERS:
        return None
    count = int(people)
    if not FEWEST <= count <= MOST or two_digits(count) != count or question not in names or len(goal) > LONGEST:
        return None
    if left_out and (left_out not in names or left_out == question):
        return None
    return PlannerRequest(count, epsilon, question, goal, left_out)


def _goal_size(study: Study, name: str, text: str) -> float:
    asked = study.question(name)
    try:
        size = Decimal(text.replace(",", "."))
    except InvalidOperation:
        size = Decimal(0)
    if not size.is_finite() or not 0 < size < 10**9:
        raise ParameterError("Please enter the goal as a number above 0.")
    return float(study_question(asked).goal(size, points=asked.question.is_share))


def goal_plan(running: RunningStudy, wanted: PlannerRequest) -> GoalPlan:
    """The plan against the goal."""
    plan = planned(running.row.source, wanted.people, wanted.epsilon, wanted.without)
    size = _goal_size(plan.study, wanted.question, wanted.goal)
    return GoalPlan(plan, wanted.question, size, wanted.people)


def page_values(running: RunningStudy, wanted: PlannerRequest) -> dict[str, Any]:
    """What the template shows: the verdict, or what is wrong."""
    values = {"running": running, "wanted": wanted, "questions": running.manifests[0].questions}
    try:
        goal = goal_plan(running, wanted)
        shown = {
            "goal": goal,
            "ways": goal.ways(),
            "curve": goal.people_curve(),
            "sights": list(goal.sights()),
            "epsilon": decimal_text(goal.plan.epsilon),
            "promise": coin_sentence(goal.plan.manifest()),
            "effects": effect_texts(goal.plan),
        }
    except SottovoceError as problem:
        return {**values, "goal": None, "problem": str(problem)}
    return {**values, **shown, "problem": ""}
