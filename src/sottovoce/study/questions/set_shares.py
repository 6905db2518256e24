"""Items of which a person may hold several, in a study: "tick all that apply"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain.sets import SEPARATOR, Sets
from sottovoce.core.language.html import Html
from sottovoce.core.question import SetShares
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.set_shares.sizes import SizesEvidence
from sottovoce.study.display import pictures
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.documents.elements import listed
from sottovoce.study.population import ExpectedAnswers
from sottovoce.study.question_tables import QuestionTable
from sottovoce.study.questions.base import Truth
from sottovoce.study.questions.items import MOST, StudyItems
from sottovoce.study.questions.result_lines import ResultLine, estimate_lines

SIZES = SizesEvidence.noun


@dataclass(frozen=True, slots=True)
class StudySetShares(StudyItems):
    """The share of each item, and how many items people hold."""

    keys: ClassVar[tuple[str, ...]] = ("items", "most")
    has_order: ClassVar[bool] = False

    @classmethod
    def read(cls, table: QuestionTable) -> SetShares | None:
        items = table.listed("items")
        if items is None:
            return None
        most = table.table.get("most")
        return table.built("most", lambda: SetShares(Sets(items.values, most)), MOST)

    @property
    def compared_values(self) -> int:
        return len(self.question.domain.items)

    # --- the population --------------------------------------------------------------------------
    def prior(self, expected: ExpectedAnswers) -> Any:
        return None if expected.shares is None else list(expected.shares)

    def draw_answers(self, expected: ExpectedAnswers, n: int, generator: np.random.Generator) -> dict[str, list[Any]]:
        """Items are held independently of each other; who would hold too many keeps some of them by chance."""
        domain = self.question.domain
        shares = np.asarray(expected.shares)
        places = np.arange(len(domain.items))
        people = []
        for ticked in generator.random((n, len(places))) < shares:
            held = places[ticked]
            if len(held) > domain.most:
                held = np.sort(generator.choice(held, domain.most, replace=False))
            people.append(f"{SEPARATOR} ".join(str(domain.items[place]) for place in held))
        return {self.asked.name: people}

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        domain, count = self.question.domain, len(column)
        sets = [domain.encode(answer) for answer in column]
        shares = {
            (SetShares.noun, str(item)): sum(held >> place & 1 for held in sets) / count
            for place, item in enumerate(domain.items)
        }
        numbers = [held.bit_count() for held in sets]
        return shares | {(SIZES, str(size)): numbers.count(size) / count for size in range(domain.most + 1)}

    # --- results ---------------------------------------------------------------------------------
    def estimate_lines(self, estimate: Estimate, level: float, measure: str) -> Iterator[ResultLine]:
        """Shares of items, then of numbers of items where one tally tells them."""
        yield from estimate_lines(estimate, level, measure, named=True)
        if getattr(estimate.evidence, "sizes", None) is not None:
            yield from estimate_lines(estimate.sizes, level, SIZES, named=True)

    def beside(self, shown: ShownResult) -> str:
        """How many items people hold."""
        scale = shown.scale_of(SIZES)
        rows = [pictures.Row(line.label, scale.bounded(line)) for line in shown.lines if line.measure == SIZES]
        if not rows:
            return ""
        words = shown.words
        return pictures.dots_table(
            rows, (), scale, caption=words["number_held"], head=(words["number"], words["share_interval"])
        )

    # --- the participant's page, and what participants agree to ----------------------------------
    def field(self, language: str) -> dict[str, Any]:
        domain = self.question.domain
        return {"kind": "several", "choices": self.choices(domain, language), "most": domain.most}

    def possible_answers(self, language: str, say: Mapping[str, str]) -> str:
        most = self.question.domain.most
        return Html(say["several"].format(items=listed(self.labels(language)), most=most))
