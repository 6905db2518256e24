"""Several questions about one attribute: apart, each of its own participants, or all from one report.

One report of the distribution answers mean, variance, quantiles and shares of ranges together. All participants of the
attribute send it. A method for one question alone has less noise but fewer participants, so the plan compares the
predicted widths of the intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any

from sottovoce.core.asked import Asked
from sottovoce.core.exchange import codec
from sottovoce.core.question import Distribution
from sottovoce.core.registry import names
from sottovoce.estimate.distribution.expected import ExpectedDistribution
from sottovoce.study import search
from sottovoce.study.planners.base import Option, normal_quantile
from sottovoce.study.planners.distribution import DESIGNED, built_for
from sottovoce.study.questions import study_question

MOST_SUBSETS = 5  # questions of which every part is tried; of more, all or none
KEPT = 2  # methods that are tried for parts
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class StudyReport:
    """A report that a part of the participants send, and the questions that it answers.

    `expected` is the mechanism that several questions share; a question by itself has a plan of its own.
    """

    names: tuple[str, ...]
    participants: int
    expected: ExpectedDistribution | None = None


@dataclass(frozen=True, slots=True)
class Sharing:
    """Comparison of shared and separate reports, for the questions about one attribute.

    Attributes:
        names: of these questions.
        shared: those that share one report; empty if each has its own.
        method: of the shared report, or of the best one that was rejected.
        participants: who send the shared report.
        ratios: the width with one report for all of `names`, or for all of `shared`, over the width apart.
        apart: with goals, how many participants these questions need apart; then there are no ratios.
    """

    names: tuple[str, ...]
    shared: tuple[str, ...]
    method: str
    participants: int
    ratios: tuple[tuple[str, float], ...]
    apart: int | None = None

    @property
    def together(self) -> float:
        """The geometric mean of the ratios."""
        return math.exp(sum(math.log(ratio) for _, ratio in self.ratios) / len(self.ratios))

    def text(self) -> str:
        """The decision and its reason."""
        if self.apart is not None:
            return self._of_goals(self.apart)
        ratios = ", ".join(f"{name} {ratio:.2f}" for name, ratio in self.ratios)
        if self.shared:
            return (
                f"{_and(self.shared)} share one report ({self.method}, {self.participants:,} participants): their"
                f" margins are {self.together:.2f} times those of separate reports ({ratios})."
            )
        return (
            f"{_and(self.names)} are about one attribute and have separate reports: the margins of one report"
            f" ({self.method}) would be {self.together:.2f} times as wide ({ratios})."
        )

    def _of_goals(self, apart: int) -> str:
        if self.shared:
            return (
                f"{_and(self.shared)} share one report ({self.method}): it meets their goals with {self.participants:,}"
                f" participants; apart they would need {apart:,}."
            )
        return (
            f"{_and(self.names)} are about one attribute and are asked apart, by {apart:,} participants: one report"
            f" ({self.method}) would need {self.participants:,}."
        )


@dataclass(frozen=True, slots=True)
class JointReport:
    """The mechanisms that may carry the questions about one attribute."""

    questions: tuple[Asked, ...]
    level: float
    candidates: tuple[ExpectedDistribution, ...]

    @classmethod
    def of(cls, questions: Sequence[Asked], epsilon: Decimal, level: float, prior: Any, *, quick: bool) -> JointReport:
        """All methods that answer, or those that are quickly built."""
        known = [name for name in names(Distribution) if not (quick and name in DESIGNED)]
        named = [study_question(one).distribution for one in questions]
        distribution = next(filter(None, named), None) or Distribution(questions[0].question.domain)
        built = built_for(distribution, epsilon, tuple(known), counted=True)
        return cls(tuple(questions), level, tuple(ExpectedDistribution.of(one, prior) for one in built))

    def width(self, one: ExpectedDistribution, asked: Asked, n: int) -> float:
        """Half the width of a question's interval."""
        return one.half_width(asked.question, n, self.level)

    def decide(self, apart: Mapping[str, tuple[int, float]]) -> tuple[tuple[StudyReport, ...], Sharing | None]:
        """The reports with the least widths; `apart` has the participants and the width of each question alone."""
        single = tuple(StudyReport((one.name,), apart[one.name][0]) for one in self.questions)
        if not self.candidates:
            return single, None
        ranked = sorted(self.candidates, key=lambda one: self._gain(one, self.questions, apart))
        tried = [(self._gain(one, some, apart), one, some) for some in self._parts() for one in ranked[:KEPT]]
        gain, best, chosen = min(tried, key=lambda item: item[0])
        if gain >= 0:
            return single, self._sharing(tried[0][1], self.questions, apart, shared=False)
        n = sum(apart[one.name][0] for one in chosen)
        report = StudyReport(tuple(one.name for one in chosen), n, best)
        others = tuple(one for one in single if one.names[0] not in report.names)
        return (report, *others), self._sharing(best, chosen, apart, shared=True)

    def _gain(self, one: ExpectedDistribution, some: Sequence[Asked], apart: Mapping[str, tuple[int, float]]) -> float:
        """The sum of the logarithms of all ratios: below 0 if one report is better."""
        return sum(math.log(ratio) for _, ratio in self._ratios(one, some, apart))

    def _ratios(
        self, one: ExpectedDistribution, some: Sequence[Asked], apart: Mapping[str, tuple[int, float]]
    ) -> list[tuple[str, float]]:
        n = sum(apart[asked.name][0] for asked in some)
        return [(asked.name, ratio_of(self.width(one, asked, n), apart[asked.name][1])) for asked in some]

    def _sharing(
        self, one: ExpectedDistribution, some: Sequence[Asked], apart: Mapping[str, tuple[int, float]], *, shared: bool
    ) -> Sharing:
        listed = tuple(asked.name for asked in some)
        n = sum(apart[name][0] for name in listed)
        everyone = tuple(asked.name for asked in self.questions)
        ratios = tuple(self._ratios(one, some, apart))
        return Sharing(everyone, listed if shared else (), one.mechanism.name, n, ratios)

    def needed(
        self, goals: Mapping[str, float], counts: Mapping[str, int]
    ) -> tuple[tuple[StudyReport, ...], Sharing | None]:
        """The reports that meet all goals with the fewest participants; `counts` has those of each question alone."""
        single = tuple(StudyReport((one.name,), counts[one.name]) for one in self.questions)
        fewest = [
            (one, {asked.name: self._fewest(one, asked, goals) for asked in self.questions}) for one in self.candidates
        ]
        tried = []
        for one, counts_needed in fewest:
            for some in self._parts():
                # A question without a goal takes what the others need.
                n = max(counts_needed[asked.name] for asked in some)
                if 2 <= n < math.inf:
                    rest = sum(counts[asked.name] for asked in self.questions if asked not in some)
                    tried.append((n + rest, int(n), one, some))
        if not goals or not tried:
            return single, None
        everyone, apart = tuple(one.name for one in self.questions), sum(counts.values())
        total, n, best, chosen = min(tried, key=lambda item: item[0])
        listed = tuple(asked.name for asked in chosen)
        if total >= apart:
            return single, Sharing(listed, (), best.mechanism.name, n, (), sum(counts[name] for name in listed))
        others = tuple(one for one in single if one.names[0] not in listed)
        sharing = Sharing(everyone, listed, best.mechanism.name, n, (), sum(counts[name] for name in listed))
        return (StudyReport(listed, n, best), *others), sharing

    def _parts(self) -> list[tuple[Asked, ...]]:
        """All questions, and each part of two or more where there are few."""
        sizes = range(2, len(self.questions)) if len(self.questions) <= MOST_SUBSETS else ()
        return [self.questions, *(some for size in sizes for some in combinations(self.questions, size))]

    def _fewest(self, one: ExpectedDistribution, asked: Asked, goals: Mapping[str, float]) -> float:
        """The fewest participants with which a question meets its goal."""
        if asked.name not in goals:
            return 2
        participants = search.least(lambda n: self.width(one, asked, n), goals[asked.name], search.participants(2))
        return math.inf if participants is None else participants


def ratio_of(width: float, other: float) -> float:
    """A width over another; the interval of a quantile of whole numbers may be one number, with no width at all."""
    return (width + _NOTHING) / (other + _NOTHING)


def shrinkage(*ratios: float) -> str:
    """By how much margins shrink, where they become these ratios of what they are: "29 %" or "12 to 29 %"."""
    least, most = (max(0, round(100 * (1 - ratio))) for ratio in (max(ratios), min(ratios)))
    if least == most:
        return f"{most} %"
    return f"{least} to {most} %" if least else f"up to {most} %"


def shared_option(joint: ExpectedDistribution, asked: Asked, n: int, level: float, others: Iterable[str]) -> Option:
    """How a question is answered from a shared report."""
    mechanism = joint.mechanism
    error = joint.half_width(asked.question, n, level) / normal_quantile(level)
    size = codec.payload_bytes(mechanism.channel)
    return Option(mechanism.name, mechanism, error, size, f"shares its report with {_and(tuple(others))}.")


def attributes_of(questions: Iterable[Asked]) -> list[tuple[Asked, ...]]:
    """The questions about each attribute of which several could share the report of a distribution."""
    by_attribute: dict[str, list[Asked]] = {}
    for asked in questions:
        if study_question(asked).shares_report and not asked.missing:
            by_attribute.setdefault(asked.key, []).append(asked)
    return [tuple(some) for some in by_attribute.values() if len(some) > 1]


def _and(listed: Sequence[str]) -> str:
    return ", ".join(listed[:-1]) + " and " + listed[-1] if len(listed) > 1 else listed[0]
