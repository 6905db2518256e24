"""Keys with numbers in a study: which of a list people hold, and the mean of their numbers for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.domain import KeyValue
from sottovoce.core.domain.key_value import EQUALS, SEPARATOR
from sottovoce.core.language.html import Html
from sottovoce.core.question import KeyMeans
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.study.display import findings, pictures
from sottovoce.study.display.findings import Finding, Verdict
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.documents.elements import listed, paragraph
from sottovoce.study.population import ExpectedAnswers, plain_number
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import StudyQuestion, Truth, number_field
from sottovoce.study.questions.items import MOST, StudyItems
from sottovoce.study.questions.result_lines import ResultLine, estimate_lines

SHARE = "share of people with"  # an item
RAREST = 1e-6  # the least share of a key that a plan expects


@dataclass(frozen=True, slots=True)
class StudyKeyMeans(StudyItems):
    """The mean of the numbers of each key, and the share of people who hold it."""

    keys: ClassVar[tuple[str, ...]] = ("items", "most", *RANGE)

    @classmethod
    def read(cls, table: QuestionTable) -> KeyMeans | None:
        items, numbers = table.listed("items"), table.numbers()
        if items is None or numbers is None:
            return None
        most = table.table.get("most")
        return table.built("most", lambda: KeyMeans(KeyValue(items.values, numbers, most)), MOST)

    compared_values = delegated("groups")
    number_domain = delegated("question.domain.value")

    # --- the population --------------------------------------------------------------------------
    @property
    def groups(self) -> int:
        return len(self.question.domain.keys)

    def _shares(self, expected: ExpectedAnswers) -> Sequence[float]:
        return expected.shares or (self.question.domain.most / (2 * self.groups),) * self.groups

    def prior(self, expected: ExpectedAnswers) -> Any:
        priors = [law.prior(self.number_domain) for law in expected.laws_of(self.groups)]
        return np.maximum(self._shares(expected), RAREST), [one.mean for one in priors]

    def draw_answers(self, expected: ExpectedAnswers, n: int, generator: np.random.Generator) -> dict[str, list[Any]]:
        """Keys are held independently of each other; who would hold too many keeps some of them by chance."""
        domain, places = self.question.domain, np.arange(self.groups)
        laws = expected.laws_of(self.groups)
        numbers = np.column_stack([law.draw(self.number_domain, n, generator) for law in laws])
        people = []
        for ticked, own in zip(
            generator.random((n, self.groups)) < np.asarray(self._shares(expected)), numbers, strict=True
        ):
            held = places[ticked]
            if len(held) > domain.most:
                held = np.sort(generator.choice(held, domain.most, replace=False))
            entries = (f"{domain.keys[at]} {EQUALS} {plain_number(own[at], self.number_domain)}" for at in held)
            people.append(f"{SEPARATOR} ".join(entries))
        return {self.asked.name: people}

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        told: dict[str, list[float]] = {str(key): [] for key in self.question.domain.keys}
        for answer in column:
            for key, number in dict(answer).items():
                told[str(key)].append(float(number))
        shares = {(SHARE, key): len(numbers) / len(column) for key, numbers in told.items()}
        return shares | {(KeyMeans.noun, key): float(np.mean(one)) for key, one in told.items() if one}

    # --- results ---------------------------------------------------------------------------------
    def estimate_lines(self, estimate: Estimate, level: float, measure: str) -> Iterator[ResultLine]:
        """Means, then shares from the same reports. A mean is left out where too few people hold its key."""
        yield from (line for line in estimate_lines(estimate, level, measure) if np.isfinite(line.value))
        shares = getattr(estimate, "shares", None)
        if isinstance(shares, Estimate):
            yield from estimate_lines(shares, level, SHARE)

    def unit_of(self, measure: str) -> str:
        return "" if measure == SHARE else StudyQuestion.unit_of(self, measure)

    def measured(self, shown: ShownResult) -> str:
        return shown.with_unit(shown.words["mean_of_items"])

    def finding(self, shown: ShownResult) -> Finding:
        """The key with the highest mean."""
        if shown.main[0].measure == SHARE:
            said = "Too few people chose any of these to estimate their means."
            return Finding("Too few reports for means", said, Verdict.RARE, "too few")
        order = sorted(shown.main, key=lambda line: -line.value)
        name = findings.quoted(shown.label(order[0]))
        mean = shown.scale.text(order[0].value, order[0].low, order[0].high)
        together = [line for line in self._together(shown) if line.label != order[0].label]
        best = next(line for line in self._together(shown) if line.label == order[0].label)
        if together and best.low > max(line.high for line in together):
            headline = f"{name} has the highest mean"
            return Finding(headline, f"{headline}: {mean}.", Verdict.CLEAR, name)
        said = f"{name} has the highest mean, {mean}. Whether another one is higher is open."
        return Finding("No mean is clearly the highest", said, Verdict.CHANCE, "No mean is clearly the highest")

    def _together(self, shown: ShownResult) -> list[ResultLine]:
        """The means with intervals that hold for all of them at once."""
        assert shown.estimate is not None
        level = 1 - (1 - shown.level) / self.groups
        return [line for line in estimate_lines(shown.estimate, level) if np.isfinite(line.value)]

    def beside(self, shown: ShownResult) -> str:
        """How many people hold each key."""
        scale = shown.scale_of(SHARE)
        rows = [pictures.Row(shown.label(line), scale.bounded(line)) for line in shown.lines if line.measure == SHARE]
        words = shown.words
        return pictures.dots_table(
            rows, (), scale, caption=words["share_chosen"], head=(words["answer"], words["share_interval"])
        )

    # --- the participant's page, and what participants agree to ----------------------------------
    def field(self, language: str) -> dict[str, Any]:
        domain = self.question.domain
        choices = self.choices(self.question.choices, language)
        return {"kind": "rated", "choices": choices, "most": domain.most, **number_field(domain.value.root)}

    def possible_answers(self, language: str, say: Mapping[str, str]) -> str:
        domain = self.question.domain
        items = say["several"].format(items=listed(self.labels(language)), most=domain.most)
        ends = {end: str(getattr(domain.value, end, "")) for end in ("low", "high")}
        return Html(items + paragraph(say["each_number"].format(**ends)))
