"""A plan against a goal: a verdict in one sentence, ways to reach the goal, and what a study will be able to see."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from html import escape

from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON, decimal_text
from sottovoce.study.display.numbers import POINTS, SPACE, decimals, rounded
from sottovoce.study.display.pictures import HEIGHT, TickAxis
from sottovoce.study.plan import MOST
from sottovoce.study.planners.base import normal_quantile
from sottovoce.study.planners.distribution import DESIGNED
from sottovoce.study.study import Study
from sottovoce.study.study_plan import PlannedQuestion, StudyPlan

NEARLY = 1.5  # times the goal: a margin beyond that is out of reach without another study
POWER = 0.8  # of 100 studies, how many see what the table promises
PLACES = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)  # times the participants of the plan
BUDGETS = ("0.25", "0.5", "0.75", "1", "1.5", "2")  # times the epsilon of the plan
CLOSE = 8.0  # per cent of a picture: two points this close share one text
STEP = Decimal("0.25")  # of the budgets that are tried


@dataclass(frozen=True, slots=True)
class GoalWay:
    """A way to reach a goal: the button's text, what it costs, and the values that it sets."""

    label: str
    cost: str
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sight:
    """What the study will and will not be able to see of one question."""

    text: str
    margin: str
    method: str
    participants: int
    will: str
    will_not: str
    badge: str
    badge_class: str


def margin_text(one: PlannedQuestion, half_width: float, *, unit: bool = True) -> str:
    """A margin with its unit, rounded to two digits: 6.6 points."""
    size = 100 * half_width if one.asked.question.is_share else half_width
    places = max(0, decimals(size) + (1 if size < 10 else 0))
    name = POINTS if one.asked.question.is_share else one.asked.unit_of_numbers
    return f"{rounded(size, places)}{SPACE}{name}".strip() if unit else rounded(size, places)


@dataclass(frozen=True)
class GoalPlan:
    """A plan of a study and a goal for one of its questions: half the width of its interval.

    `people` take part in the whole study; the plan divides them among its reports and may leave a few over.
    """

    plan: StudyPlan
    name: str
    goal: float
    people: int

    @cached_property
    def question(self) -> PlannedQuestion:
        """The question of the goal."""
        return self.plan.question(self.name)

    @property
    def ratio(self) -> float:
        """The margin of the plan as a multiple of the goal."""
        return self.question.half_width / self.goal

    @property
    def state(self) -> tuple[str, str]:
        """The verdict in a word, and the class of its colour."""
        return _state(self.ratio)

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        margin, goal = margin_text(self.question, self.question.half_width), self._goal_text()
        end = f"That meets your goal of ±{SPACE}{goal}." if self.ratio <= 1 else f"Your goal is ±{SPACE}{goal}."
        return f"With {plural(self.people, 'person', ',').replace('persons', 'people')} you get ±{SPACE}{margin}. {end}"

    def _goal_text(self) -> str:
        is_share = self.question.asked.question.is_share
        unit = POINTS if is_share else self.question.asked.unit_of_numbers
        return f"{100 * self.goal if is_share else self.goal:.6g}{SPACE}{unit}".strip()

    # --- ways ------------------------------------------------------------------------------------
    @cached_property
    def enough(self) -> int | None:
        """The least number of participants, of two digits, that meets the goal; None beyond what a study can have."""
        if self.ratio <= 1 and self._scales:
            return two_digits(self.people * self.ratio**2)
        people = two_digits(self.people * self.ratio**2)
        for _ in range(8):  # curves of distributions fall more slowly than with the root
            if people > MOST:
                return None
            if self._width_with(people) <= self.goal * (1 + 1e-9):
                return people
            people = two_digits(1.25 * people)
        return None

    @property
    def _scales(self) -> bool:
        """Whether the margin falls with the root of the participants."""
        one = self.question
        return isinstance(one.procedure, Mechanism) and not one.shared and not one.asked.question.read_from_curve

    def _width_with(self, people: float) -> float:
        """The margin with so many participants of the whole study."""
        one = self.question
        if self._scales:
            return one.half_width * math.sqrt(self.people / people)
        return self.plan.half_width(self.name, participants=max(100, round(one.participants * people / self.people)))

    @property
    def doubling(self) -> int:
        """By how many per cent the margin shrinks with twice as many participants."""
        return round(100 * (1 - self._width_with(2 * self.people) / self.question.half_width))

    @property
    def is_quick(self) -> bool:
        """Whether margins at other budgets are computed without designing a method anew, which takes seconds."""
        procedure = self.question.procedure
        return isinstance(procedure, Mechanism) and procedure.name not in DESIGNED

    def ways(self) -> list[GoalWay]:
        """Up to three ways to reach a goal that is not met."""
        if self.ratio <= 1:
            return []
        found = []
        if self.enough is not None:
            more = self.enough - self.people
            found.append(GoalWay(f"{self.enough:,} people", f"{more:,} more than now", (("people", str(self.enough)),)))
        if self.is_quick and (epsilon := self._budget()) is not None:
            said = f"less private than epsilon {decimal_text(self.plan.epsilon)}"
            found.append(GoalWay(f"Epsilon {decimal_text(epsilon)}", said, (("epsilon", decimal_text(epsilon)),)))
        if (dropped := droppable(self.plan, self.name)) is not None:
            kept = 1 - dropped.participants / self.people
            shrink = 100 * (1 - math.sqrt(kept))
            margin = margin_text(self.question, self.question.half_width * math.sqrt(kept))
            said = f"the other margins shrink by {shrink:.0f}{SPACE}%, this one to ±{SPACE}{margin}"
            found.append(GoalWay(f"Drop “{dropped.asked.text('en')}”", said, (("without", dropped.asked.name),)))
        return found

    def _budget(self) -> Decimal | None:
        """The least budget, in quarters, that meets the goal, up to four times that of the plan."""
        low = int(self.plan.epsilon / STEP) + 1
        high = min(int(4 * self.plan.epsilon / STEP), int(Decimal(8) / STEP))
        best = None
        while low <= high:
            middle = (low + high) // 2
            try:
                met = self.plan.half_width(self.name, epsilon=middle * STEP) <= self.goal
            except (ParameterError, SpecError):
                return best
            if met:
                best, high = middle * STEP, middle - 1
            else:
                low = middle + 1
        return best

    # --- curves ----------------------------------------------------------------------------------
    def people_curve(self) -> str:
        """The margin against the number of participants, with goal, plan and what would be enough."""
        factors = (
            [PLACES[0] * (PLACES[-1] / PLACES[0]) ** (step / 30) for step in range(31)] if self._scales else PLACES
        )
        places = [two_digits(self.people * factor) for factor in factors]
        if self.enough is not None and self.enough < 6 * self.people:
            places = [*places, self.enough]
        places = sorted({max(100, one) for one in places} | {self.people})
        widths = [self.question.half_width if one == self.people else self._width_with(one) for one in places]
        return self._curve([*map(float, places)], widths, float(self.people), "number of people who answer")

    def epsilon_curve(self) -> str:
        """The margin against epsilon, with goal and plan."""
        points: list[tuple[float, float]] = []
        for factor in BUDGETS:
            epsilon = self.plan.epsilon * Decimal(factor)
            if epsilon > MAX_EPSILON:
                continue
            try:
                width = self.question.half_width if factor == "1" else self.plan.half_width(self.name, epsilon=epsilon)
            except (ParameterError, SpecError):
                continue
            points.append((float(epsilon), width))
        places, widths = [at for at, _ in points], [width for _, width in points]
        return self._curve(places, widths, float(self.plan.epsilon), "epsilon: larger is less private")

    def _curve(self, places: Sequence[float], widths: Sequence[float], now: float, x_title: str) -> str:
        factor = 100.0 if self.question.asked.question.is_share else 1.0
        unit = "percentage points" if factor > 1 else self.question.asked.unit_of_numbers
        top = TickAxis.over(0.0, factor * min(max(widths), 3 * max(self.goal, self.question.half_width)), 4)
        across = TickAxis(places[0], places[-1], TickAxis.over(places[0], places[-1], 4).ticks)
        named = f"Margin of the {self.question.asked.question.noun}"
        marks = [
            Mark(now, self.question.half_width, f"now: ±{SPACE}{margin_text(self.question, self.question.half_width)}")
        ]
        if now == self.people and (enough := self.enough) is not None:
            apart = abs(across.place(enough) - across.place(now))
            if apart > CLOSE and places[0] <= enough <= places[-1]:
                marks.append(Mark(float(enough), self._width_with(enough), f"{enough:,} would do", look=False))
        return _drawn(
            across,
            top,
            [(at, factor * width) for at, width in zip(places, widths, strict=True)],
            factor * self.goal,
            [replace(one, value=factor * one.value) for one in marks],
            titles=(f"{named}, in {unit}" if unit else named, x_title),
        )

    # --- what will be seen -----------------------------------------------------------------------
    def sights(self) -> Iterator[Sight]:
        """A row for each question of the study."""
        for one in self.plan.questions:
            goal = self.goal if one.asked.name == self.name else None
            badge, look = ("", "plain bare") if goal is None else _state(one.half_width / goal)
            will, will_not = seen(one, self.plan.level)
            margin = f"±{SPACE}{margin_text(one, one.half_width)}"
            yield Sight(
                one.asked.text("en"), margin, one.plan.best.method, one.participants, will, will_not, badge, look
            )


def _state(ratio: float) -> tuple[str, str]:
    if ratio <= 1:
        return "Goal met", "ok"
    return ("Not quite", "warn") if ratio <= NEARLY else ("Out of reach", "bad")


def seen(one: PlannedQuestion, level: float) -> tuple[str, str]:
    """Say which effect is seen in 80 of 100 studies, and which in fewer than half of them."""
    surely = one.half_width * (1 + normal_quantile(2 * POWER - 1) / normal_quantile(level))
    question = one.asked.question
    if question.is_share and question.choices.size is not None and question.choices.size > 2:
        most = f"Answers that {margin_text(one, surely, unit=False)}{SPACE}% or more give"
        return most, f"Answers that fewer than {margin_text(one, one.half_width, unit=False)}{SPACE}% give"
    if question.is_share:
        return f"Shares to ±{SPACE}{margin_text(one, one.half_width)}", f"Changes below {margin_text(one, surely)}"
    if one.asked.question.choices is not one.asked.question.domain:  # groups with a mean each
        apart = math.sqrt(2)
        will = f"Groups that differ by {margin_text(one, apart * surely)} or more"
        return will, f"Groups that differ by less than {margin_text(one, apart * one.half_width)}"
    return (
        f"The {question.noun} to ±{SPACE}{margin_text(one, one.half_width)}",
        f"Changes below {margin_text(one, surely)}",
    )


def two_digits(count: float) -> int:
    """A count rounded up to two digits."""
    whole = math.ceil(count - 1e-9)
    step = int(10 ** max(0, len(str(whole)) - 2))
    return -(-whole // step) * step


def droppable(plan: StudyPlan, name: str) -> PlannedQuestion | None:
    """The question with most participants that is neither the goal's nor needed by another."""
    needed = {name, plan.study.attribute(name), *(one.attribute for one in plan.study.questions if one.attribute)}
    own = plan.question(name).report
    free = [one for one in plan.reports if one.asked.name not in needed and one.report != own]
    return max(free, key=lambda one: one.participants, default=None)


def without(study: Study, name: str) -> Study:
    """A study without one of its questions."""
    questions = tuple(one for one in study.questions if one.name != name)
    population = tuple((key, law) for key, law in study.population if key != name)
    return replace(study, questions=questions, population=population)


# --- the picture of a plan -----------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Mark:
    """A point of a curve with its text; the point to look at is clay."""

    at: float
    value: float
    text: str
    look: bool = True


def _drawn(
    across: TickAxis,
    top: TickAxis,
    points: Sequence[tuple[float, float]],
    goal: float,
    marks: Sequence[Mark],
    *,
    titles: tuple[str, str],
) -> str:
    """A falling curve with the region that meets the goal."""

    def y(value: float) -> float:
        return 8 + (HEIGHT - 16) * (1 - min(1.0, max(0.0, value / top.high)))

    places = max(0, decimals((top.ticks[1] - top.ticks[0]) * (1 + 1e-9)))
    left = "".join(
        f'<text class="tx e" x="42" y="{y(tick) + 4.5:.1f}">{rounded(tick, places)}</text>'
        f'<line class="gl" x1="50" x2="100%" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        for tick in top.ticks
    )
    inside = [tick for tick in across.ticks if across.low <= tick <= across.high]
    step = max(0, decimals((across.ticks[1] - across.ticks[0]) * (1 + 1e-9)))
    below = "".join(
        f'<text class="tx m" x="{across.place(tick):.2f}%" y="17">{rounded(tick, step)}</text>' for tick in inside
    )
    line = " ".join(f"{10 * across.place(at):.1f},{y(value):.1f}" for at, value in points)
    shown = "".join(_marked(one, across, y) for one in marks)
    said = f"{titles[0]} against {titles[1]}: {'; '.join(one.text for one in marks)}"
    return (
        f'<div class="frame" role="img" aria-label="{escape(said)}"><p class="yt">{escape(titles[0])}</p>'
        f'<svg class="y" height="{HEIGHT}">{left}</svg><svg class="plot" height="{HEIGHT}">'
        f'<rect class="meets" x="0" width="100%" y="{y(goal):.1f}" height="{HEIGHT - 8 - y(goal):.1f}"/>'
        f'<svg viewBox="0 0 1000 {HEIGHT}" width="100%" height="{HEIGHT}" preserveAspectRatio="none">'
        f'<polyline class="curve" vector-effect="non-scaling-stroke" points="{line}"/></svg>'
        f'<line class="aim" x1="0" x2="100%" y1="{y(goal):.1f}" y2="{y(goal):.1f}"/>'
        f'<text class="tx good e" x="98%" y="{HEIGHT - 16}">goal met</text>{shown}</svg>'
        f'<svg class="x">{below}</svg><p class="xt">{escape(titles[1])}</p></div>'
    )


def _marked(one: Mark, across: TickAxis, y: Callable[[float], float]) -> str:
    x, height = across.place(one.at), y(one.value)
    side, anchor = (x + 1.5, "") if x < 60 else (x - 1.5, " e")
    look, text = ("here", "look") if one.look else ("pt", "strong")
    above = -14 if one.look else 24
    return (
        f'<line class="drop" x1="{x:.2f}%" x2="{x:.2f}%" y1="{height:.1f}" y2="{HEIGHT - 8}"/>'
        f'<circle class="{look}" cx="{x:.2f}%" cy="{height:.1f}" r="6"/>'
        f'<text class="tx {text} halo{anchor}" x="{side:.2f}%" y="{max(14.0, height + above):.1f}">'
        f"{escape(one.text)}</text>"
    )
