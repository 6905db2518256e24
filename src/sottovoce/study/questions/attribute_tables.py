"""The tables [questions.NAME.attributes.ATTRIBUTE] of a study file: what cross tables and boxes are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from sottovoce.core.asked import NAME
from sottovoce.core.domain import Bins, Domain, Record
from sottovoce.core.language.translated import Texts
from sottovoce.core.params import decimal_text
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.words import words

TABLE = "attributes"
NUMBERS = ("text", "categories", *RANGE)
KEYS = (*NUMBERS, "bins")
MOST_ANSWERS = 100  # of whole numbers without bins
_EXAMPLE = 'Write [questions.NAME.attributes.sex] with text = "What is your sex?" and categories = ["f", "m"].'
_NAME = "Begin with a small letter; then use small letters, digits, hyphens and underscores, at most 40."
_BINS = "Write where each interval begins after the first, such as bins = [30, 45, 65], or how many: bins = 4."


class AttributeTable(QuestionTable):
    """One attribute, which becomes a domain and texts, or mistakes."""

    def __init__(self, question: QuestionTable, name: str, tables: Mapping[str, Any]) -> None:
        super().__init__(name, tables, question.languages, question.notes)
        self.path = (*question.path, TABLE, name)

    def domain(self, *, binned: bool) -> Domain | None:
        """Categories, whole numbers, or numbers; for a cross table few whole numbers, or numbers in intervals."""
        self.notes.unknown(self.path, self.table, KEYS if binned else NUMBERS, "key")
        if "categories" in self.table or not {*RANGE, "bins"} & {*self.table}:
            for key in (*RANGE, "bins"):
                if key in self.table:
                    self.note(key, "Answers are categories or numbers, not both.", "Leave one out.")
                    return None
            return self.listed("categories")
        numbers: Any = self.numbers()
        if numbers is None or not binned:
            return numbers  # type: ignore[no-any-return]
        if "bins" not in self.table:
            if numbers.whole is None or numbers.size > MOST_ANSWERS:
                said = f"A table needs intervals of numbers, or at most {MOST_ANSWERS} whole numbers."
                self.note("", said, _BINS)
                return None
            return numbers  # type: ignore[no-any-return]
        bins = self.table["bins"]
        if isinstance(bins, bool) or not isinstance(bins, (int, list)):
            self.note("bins", "The bins are neither a list of numbers nor a whole number.", _BINS)
            return None
        return self.built(
            "bins", lambda: Bins(numbers, bins) if isinstance(bins, list) else Bins.even(numbers, bins), _BINS
        )


def read_attributes(question: QuestionTable, *, binned: bool = True) -> Record | None:
    """The record of a cross table or of boxes; the texts of its attributes are kept with the question."""
    tables = question.table.get(TABLE)
    if not isinstance(tables, Mapping) or len(tables) < 2:
        what = "A table needs" if binned else "Boxes need"
        question.note(TABLE if tables else "", f"{what} two or more attributes.", _EXAMPLE)
        return None
    fields: dict[str, Domain] = {}
    texts: list[tuple[str, Texts]] = []
    for name, table in tables.items():
        if not isinstance(table, Mapping) or not NAME.fullmatch(name):
            what = (
                "The name of an attribute has a wrong form."
                if isinstance(table, Mapping)
                else "An attribute must be a table."
            )
            question.notes.note((*question.path, TABLE, name), what, _NAME if isinstance(table, Mapping) else _EXAMPLE)
            continue
        one = AttributeTable(question, name, tables)
        domain, said = one.domain(binned=binned), one.texts()
        if domain is not None and said is not None:
            fields[name] = domain
            texts.append((name, said))
    if len(fields) < len(tables):
        return None
    question.attribute_texts = tuple(texts)
    question.table = {**question.table, "labels": _with_intervals(question, fields)}
    return Record(fields)


def _with_intervals(question: QuestionTable, fields: Mapping[str, Domain]) -> Any:
    """The labels of the file, and words for intervals such as "16 to 29" where it has none."""
    written = question.table.get("labels", {})
    if not isinstance(written, Mapping) or not all(isinstance(one, Mapping) for one in written.values()):
        return written  # a mistake, which is noted with the labels
    intervals = [domain for domain in fields.values() if domain.root is not domain]  # views of numbers
    if not intervals:
        return written
    labels = {}
    for language in question.languages:
        form = words(language)["script"]["from_to"]
        own = {label: said for domain in intervals for label, said in _in_words(domain, form)}
        labels[language] = {**own, **written.get(language, {})}
    return {**written, **labels}


def _in_words(domain: Any, form: str) -> Sequence[tuple[str, str]]:
    """The labels of intervals and words for them; an interval of whole numbers ends before the next begins."""
    whole = domain.of.whole is not None and all(edge == int(edge) for edge in domain.edges)
    ends = [Decimal(domain.of.low), *domain.edges, Decimal(domain.of.high)]
    last = len(ends) - 2
    return [
        (
            str(label),
            form.format(
                low=decimal_text(ends[place]),
                high=decimal_text(ends[place + 1] - (1 if whole and place < last else 0)),
            ),
        )
        for place, label in enumerate(domain.labels())
    ]
