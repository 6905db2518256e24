"""Frequent words, without a list of candidates, in a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain.words import LATIN, Words
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.html import Html
from sottovoce.core.question import FrequentWords
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.request import Target
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.population import ExpectedAnswers
from sottovoce.study.question_tables import QuestionTable
from sottovoce.study.questions.base import StudyQuestion, Truth, first_estimate
from sottovoce.study.questions.result_lines import ResultLine, estimate_lines
from sottovoce.study.words import words

OTHERS = "share of all other words"
NO_WORD = "(no word)"
_LONGEST = (
    "Write the largest number of letters, such as longest = 8, and, for other letters than a to z and the apostrophe,"
    ' the alphabet, such as letters = "abc".'
)


@dataclass(frozen=True, slots=True)
class StudyFrequentWords(StudyQuestion):
    """The words that many people give, with their shares, and the share of all other words."""

    keys: ClassVar[tuple[str, ...]] = ("letters", "longest", "longer", "deny")
    word: ClassVar[str] = "words"
    has_order: ClassVar[bool] = False
    compared_values: ClassVar[None] = None  # which words are found differs from arm to arm

    @classmethod
    def read(cls, table: QuestionTable) -> FrequentWords | None:
        own = table.table
        given = {key: own[key] for key in ("longest", "longer") if key in own}
        domain = table.built("longest", lambda: Words(own.get("letters", LATIN), **given), _LONGEST)
        if domain is None:
            return None
        remedy = 'Write words that results never show, each of the possible letters, such as deny = ["damn"].'
        return table.built("deny", lambda: FrequentWords(domain, own.get("deny", ())), remedy)

    # --- the population --------------------------------------------------------------------------
    def check_population(self, expected: ExpectedAnswers) -> None:
        if expected.shares is None or expected.laws or expected.within:
            raise ParameterError(
                f"The population of {self.asked.name} needs a list of the shares of words that sum to 1, without the"
                " words themselves."
            )

    def prior(self, expected: ExpectedAnswers) -> Any:
        return None if expected.shares is None else max(min(expected.shares), 1e-6)

    def draw_answers(self, expected: ExpectedAnswers, n: int, generator: np.random.Generator) -> dict[str, list[Any]]:
        """Words are made up: those with the smallest numbers."""
        shares = np.asarray(expected.shares)
        drawn = generator.choice(len(shares), n, p=shares / shares.sum())
        return {self.asked.name: [self.question.domain.word(int(place) + 1) for place in drawn]}

    # --- the column of a file of answers, and the truth ------------------------------------------
    def raw_answers(self, cells: Callable[[str], list[Any]], is_empty: Callable[[object], bool]) -> list[Any]:
        """A cell holds a word; an empty one is the answer of those who give no word."""
        typed = self.question.domain.typed
        return ["" if is_empty(value) else typed(value) for value in cells(self.asked.key)]

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        estimate, domain = first_estimate(estimates), self.question.domain
        codes = [domain.encode(answer) for answer in column]
        found = [] if estimate is None else [str(label) for label in estimate.labels]
        shares = {
            (FrequentWords.noun, word or NO_WORD): codes.count(domain.encode(word)) / len(codes) for word in found
        }
        return shares | {(OTHERS, ""): 1 - sum(shares.values())}

    # --- results ---------------------------------------------------------------------------------
    def estimate_lines(self, estimate: Estimate, level: float, measure: str) -> Iterator[ResultLine]:
        """Shares of the words that were found, then that of all other words."""
        for line in estimate_lines(estimate, level, measure, named=True):
            yield line if line.label else replace(line, label=NO_WORD)
        total = estimate.evidence.functional(-np.ones((1, len(estimate.values))), Target.POPULATION)
        value, error = 1 + float(total.values[0]), float(total.errors[0])
        half = deviate(level) * error
        yield ResultLine(OTHERS, "", value, error, value - half, value + half)

    def row_label(self, line: ResultLine, language: str) -> str:
        return str(words(language)["results"]["other_words"]) if line.measure == OTHERS else line.label

    def finding(self, shown: ShownResult) -> Any:
        return shown.shares_finding()

    # --- the participant's page, and what participants agree to ----------------------------------
    def field(self, language: str) -> dict[str, Any]:
        domain = self.question.domain
        cut = domain.longer == "cut"
        return {"kind": "text", "letters": domain.letters, "longest": 0 if cut else domain.longest}

    def labels(self, language: str) -> list[str]:
        return []

    def possible_answers(self, language: str, say: Mapping[str, str]) -> str:
        return Html(say["word"].format(most=self.question.domain.longest))
