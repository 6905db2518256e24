"""Questions about several answers of a person at once: columns, populations and the fields of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.html import Html
from sottovoce.study.documents.elements import listed
from sottovoce.study.population import ExpectedAnswers, ExpectedAttribute, NumberLaw, plain_number
from sottovoce.study.questions.base import StudyQuestion, number_field
from sottovoce.study.questions.pairs import SEPARATOR


@dataclass(frozen=True, slots=True)
class StudyRecord(StudyQuestion):
    """A question about a record. A file of answers has each attribute in a column NAME/ATTRIBUTE."""

    @property
    def _fields(self) -> dict[str, Domain]:
        """The attributes, without the reasons for giving no answer."""
        return dict(self.question.domain.fields)

    # --- the population --------------------------------------------------------------------------
    def check_population(self, expected: ExpectedAnswers) -> None:
        name, fields = self.asked.name, self._fields
        if len(expected.missing) not in (0, len(self.asked.missing)):
            raise ParameterError(f"The population of {name} needs one share for each reason of giving none.")
        if expected.shares is not None or expected.laws or expected.within:
            raise ParameterError(f"The population of {name} is described by attribute.")
        order = list(fields)
        for one in expected.attributes:
            before = order[: order.index(one.name)] if one.name in fields else []
            if one.name not in fields or (one.by and one.by not in before):
                raise ParameterError(
                    f"The population of {name} names an attribute after it in `by`, or an unknown one."
                )
            rows = (fields[one.by].size or 0) if one.by else 1
            if one.law is not None:
                if fields[one.name].root.scalar is None:
                    raise ParameterError(f"The population of {one.name} needs shares: its answers are no numbers.")
                one.law.check(fields[one.name].root)
            elif len(one.rows) != rows or any(len(row) != fields[one.name].size for row in one.rows):
                raise ParameterError(f"The population of {one.name} needs a share for each answer.")

    def prior(self, expected: ExpectedAnswers) -> Any:
        """None: errors are predicted at equal shares of all cells, where they are largest on average."""
        return None

    def draw(self, expected: ExpectedAnswers, n: int, generator: np.random.Generator) -> dict[str, list[Any]]:
        described = {one.name: one for one in expected.attributes}
        codes: dict[str, np.ndarray] = {}
        columns: dict[str, list[Any]] = {}
        for name, domain in self._fields.items():
            one = described.get(name) or _unknown(name, domain)
            answers, codes[name] = _drawn(one, domain, codes.get(one.by, np.zeros(n, int)), generator)
            if expected.missing:
                shares = [1 - sum(expected.missing), *expected.missing]
                reasons = generator.choice(len(shares), n, p=shares)
                for person in np.flatnonzero(reasons).tolist():
                    answers[person] = self.asked.missing[reasons[person] - 1]
            columns[self._column(name)] = answers
        return columns

    # --- columns -----------------------------------------------------------------------------------
    def _column(self, attribute: str) -> str:
        return f"{self.asked.key}{SEPARATOR}{attribute}"

    @property
    def columns(self) -> list[str]:
        return [self._column(name) for name in self._fields]

    def raw_answers(self, cells: Callable[[str], list[Any]], is_empty: Callable[[object], bool]) -> list[Any]:
        """Records; an empty cell is the first reason for giving no answer, where there are reasons."""
        missing = self.asked.missing
        columns = {name: cells(self._column(name)) for name in self._fields}
        if missing:
            columns = {
                name: [missing[0] if is_empty(value) else value for value in column] for name, column in columns.items()
            }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    # --- the participant's page ------------------------------------------------------------------
    def field(self, language: str) -> dict[str, Any]:
        """One field for each attribute: the page shows those that the device drew."""
        fields = {}
        for name, domain in self._fields.items():
            about: dict[str, Any] = {"text": self.asked.attribute_text(name, language)}
            root: Any = domain.root
            if root.choices is not None:
                about |= {"kind": "choice", "choices": self.choices(root, language)}
            else:
                about |= {"kind": "number", **number_field(root)}
            fields[name] = about
        return {"kind": "record", "fields": fields}

    def labels(self, language: str) -> list[str]:
        return [
            self.asked.label(one, language)
            for domain in self._fields.values()
            for one in (domain.labels() if domain.root.choices is not None else ())
        ]

    def possible_answers(self, language: str, say: Mapping[str, str]) -> str:
        """Each attribute with its answers."""
        items = []
        for name, domain in self._fields.items():
            root: Any = domain.root
            if root.choices is not None:
                answers = ", ".join(self.asked.label(one, language) for one in root.labels())
            else:
                answers = say["number"].format(low=str(root.low), high=str(root.high))
            items.append(f"{self.asked.attribute_text(name, language)} {answers}")
        return Html(listed(items))


def _unknown(name: str, domain: Domain) -> ExpectedAttribute:
    """An attribute of which nothing is known: all answers are equally common."""
    if domain.size is None:
        return ExpectedAttribute(name, law=NumberLaw("uniform", ()))
    return ExpectedAttribute(name, ((1 / domain.size,) * domain.size,))


def _drawn(
    one: ExpectedAttribute, domain: Domain, groups: np.ndarray, generator: np.random.Generator
) -> tuple[list[Any], np.ndarray]:
    """Answers of all people and their codes; `groups` are the codes of the attribute that it depends on."""
    n, root = len(groups), domain.root
    if one.law is not None:
        answers = [plain_number(value, root) for value in one.law.draw(root, n, generator)]
        return answers, np.array([domain.encode(value) for value in answers])
    rows = np.array(one.rows)[groups if one.by else np.zeros(n, int)]
    codes = (generator.random(n)[:, None] > rows.cumsum(axis=1)[:, :-1]).sum(axis=1)
    if root is domain:
        labels = list(domain.labels())
        return [labels[code] for code in codes], codes
    return [_inside(domain, int(code), generator) for code in codes], codes


def _inside(domain: Any, code: int, generator: np.random.Generator) -> Any:
    """A number of an interval of `Bins`, all equally likely."""
    ends = [float(domain.of.low), *map(float, domain.edges), float(domain.of.high)]
    low, high = ends[code], ends[code + 1]
    if domain.of.whole is None:
        return round(low + (high - low) * float(generator.random()) * 0.999, 6)
    last = code == len(ends) - 2
    return int(generator.integers(int(np.ceil(low)), int(np.floor(high)) + 1 if last else int(np.ceil(high))))
