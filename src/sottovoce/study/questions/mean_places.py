"""Rankings in a study: the mean place of each item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain.ranking import SEPARATOR, Ranking
from sottovoce.core.language.html import Html
from sottovoce.core.question import MeanPlaces
from sottovoce.core.round import Estimates
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.set_shares.evidence import SetEstimate
from sottovoce.study.display import findings
from sottovoce.study.display.findings import Finding, Verdict
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.documents.elements import listed
from sottovoce.study.population import ExpectedAnswers
from sottovoce.study.question_tables import QuestionTable
from sottovoce.study.questions.base import StudyQuestion, Truth

_ITEMS = "List three items or more, each once, without the sign >."


@dataclass(frozen=True, slots=True)
class StudyMeanPlaces(StudyQuestion):
    """The mean place of each item. The population says how many people put each item first."""

    keys: ClassVar[tuple[str, ...]] = ("items",)
    word: ClassVar[str] = "ranking"

    @classmethod
    def read(cls, table: QuestionTable) -> MeanPlaces | None:
        items = table.listed("items")
        return None if items is None else table.built("items", lambda: MeanPlaces(Ranking(items.values)), _ITEMS)

    @property
    def compared_values(self) -> int:
        return len(self.question.domain.items)

    # --- the population --------------------------------------------------------------------------
    def prior(self, expected: ExpectedAnswers) -> Any:
        """The share of people who put one item before another, where each next item is drawn by these shares."""
        if expected.shares is None:
            return None
        pairs = combinations(expected.shares, 2)
        return [first / (first + second) if first + second else 0.5 for first, second in pairs]

    def draw_answers(self, expected: ExpectedAnswers, n: int, generator: np.random.Generator) -> dict[str, list[Any]]:
        """Each next item is drawn by its share among those that are left (Plackett and Luce)."""
        items = [str(item) for item in self.question.domain.items]
        with np.errstate(divide="ignore"):
            liking = np.log(np.asarray(expected.shares))
        orders = np.argsort(-(liking + generator.gumbel(size=(n, len(items)))), axis=1)
        return {self.asked.name: [f" {SEPARATOR} ".join(items[place] for place in order) for order in orders]}

    # --- the column of a file of answers, and the truth ------------------------------------------
    def raw_answers(self, cells: Callable[[str], list[Any]], is_empty: Callable[[object], bool]) -> list[Any]:
        """A cell holds all items, the best one first, with > between them."""
        return [self.question.domain.typed(value) for value in cells(self.asked.key)]

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        ranked = self.question.domain.ranked
        places = np.array([np.argsort([ranked.encode(item) for item in answer]) for answer in column]) + 1
        means = places.mean(axis=0).tolist()
        return {(MeanPlaces.noun, str(item)): mean for item, mean in zip(ranked.labels(), means, strict=True)}

    # --- results ---------------------------------------------------------------------------------
    def answered(self, estimates: Mapping[str, Any]) -> Estimates:
        return {name: one.places if isinstance(one, SetEstimate) else one for name, one in estimates.items()}

    @property
    def value_range(self) -> tuple[float, float]:
        return 1.0, float(len(self.question.domain.items))

    def measured(self, shown: ShownResult) -> str:
        return str(shown.words["mean_places"])

    def finding(self, shown: ShownResult) -> Finding:
        """Whether one item clearly has the best mean place."""
        if shown.estimate is None:
            return StudyQuestion.finding(self, shown)
        order, is_clear = leading_places(shown)
        names = [findings.quoted(shown.label(shown.main[place])) for place in order]
        place = shown.scale.text(*_line(shown, order[0]))
        if is_clear:
            headline = f"{names[0]} is preferred"
            return Finding(headline, f"{headline}: its mean place is {place}.", Verdict.CLEAR, names[0])
        said = f"{names[0]} has the best mean place, {place}. Whether {names[1]} is better is open."
        return Finding("No item clearly leads", said, Verdict.CHANCE, "No item clearly leads")

    # --- the participant's page, and what participants agree to ----------------------------------
    def field(self, language: str) -> dict[str, Any]:
        return {"kind": "rank", "choices": self.choices(self.question.choices, language)}

    def possible_answers(self, language: str, say: Mapping[str, str]) -> str:
        return Html(say["rank"].format(items=listed(self.labels(language))))


def leading_places(shown: ShownResult) -> tuple[list[int], bool]:
    """The items by mean place, the best one first, and whether the first one is before all others at the level."""
    assert shown.estimate is not None
    values = shown.estimate.values
    order = np.argsort(values, kind="stable")
    rest = len(order) - 1
    weights = np.zeros((rest, len(order)))
    weights[np.arange(rest), order[1:]] = 1
    weights[:, order[0]] = -1
    gaps = shown.estimate.evidence.functional(weights)
    quantile = deviate(1 - (1 - shown.level) / (rest * (rest + 1)))  # any item could have come first
    return order.tolist(), bool((gaps.values > quantile * gaps.errors).all())


def _line(shown: ShownResult, place: int) -> tuple[float, float, float]:
    line = shown.main[place]
    return line.value, line.low, line.high
