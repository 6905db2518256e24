"""The tables [questions.NAME] of a study file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from sottovoce.core.asked import Asked, no_reasons
from sottovoce.core.domain import Categories, Circle, Domain, Integers, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.question_words import did_you_mean
from sottovoce.core.language.translated import Texts
from sottovoce.core.question import Question

Built = TypeVar("Built")
RANGE = ("low", "high", "whole", "step")
BY = ("by", "by_text")  # keys of questions that are asked by group
_COMMON = ("ask", "text", "missing", "share", "unit", "labels", "attribute")
_INHERITED = (
    "text",
    "missing",
    "unit",
    "labels",
    *BY,
    *RANGE,
    "categories",
    "period",
)  # from the question of an attribute
SHORT_FORMS: dict[str, tuple[str, dict[str, Any]]] = {"median": ("quantile", {"quantiles": [0.5]})}
OTHER_WORDS = {
    "density": 'A density is shown as a distribution: write ask = "distribution" with low and high.',
    "vector-mean": 'Write one question for each number: ask = "mean" with low and high.',
    "means": 'Write one question for each number: ask = "mean" with low and high.',
    "attributes": "Write one question for each attribute: the device asks one of them with the whole budget.",
    "joint": 'Write ask = "table", and what it crosses as [questions.NAME.attributes.ATTRIBUTE].',
    "within-groups": 'Write ask = "frequency", "median" or another kind, and the groups as by = ["women", "men"].',
}
REMOVE = "Remove it, also from the question that `attribute` names, or ask for a mean, shares or a distribution."
NO_GROUPS = "Remove it, or ask for one of {kinds}."
_STEP = "Write the distance between two possible answers that are next to each other, such as step = 0.5."
_NUMBER = 'Write the smallest and the largest possible answer, such as low = 0 and high = "14.5".'
_LIST = 'Write the possible answers as a list, such as ["yes", "no"].'


class Notes(Protocol):
    """Where mistakes are noted."""

    def note(self, path: tuple[str, ...], what: str, remedy: str) -> None: ...

    def unknown(self, path: tuple[str, ...], table: Mapping[str, Any], known: Sequence[str], word: str) -> None: ...


class QuestionTable:
    """One table, which becomes a question or mistakes."""

    def __init__(
        self,
        name: str,
        tables: Mapping[str, Any],
        languages: Sequence[str],
        notes: Notes,
    ) -> None:
        self.name, self.table, self.languages, self.notes = name, tables[name], languages, notes
        self.path: tuple[str, ...] = ("questions", name)
        self.others = tables
        self.inner: Question | None = None  # what is asked within each group
        self.attribute_texts: tuple[tuple[str, Texts], ...] = ()  # of a cross table

    def note(self, key: str, what: str, remedy: str) -> None:
        """A mistake at a key of this table."""
        self.notes.note((*self.path, *([key] if key else [])), what, remedy)

    def asked(self, kinds: Mapping[str, Any]) -> Asked | None:
        """The question, if nothing is wrong with it; `kinds` are those of `study.questions.file_kinds`."""
        by_word = {own.word or kind: own for kind, own in kinds.items() if not own.is_form}
        words = [*by_word, *SHORT_FORMS]
        kind, known = self.table.get("ask"), ", ".join(f'"{kind}"' for kind in words)
        if isinstance(kind, str) and kind in SHORT_FORMS:
            kind, stands_for = SHORT_FORMS[kind]
            self.table = {**self.table, **stands_for}
        if kind is None:
            self.note("", "This question does not say what to ask.", f"Add ask = one of {known}.")
            return None
        if not isinstance(kind, str) or kind not in by_word:
            remedy = OTHER_WORDS.get(str(kind)) or f"{did_you_mean(kind, words)}Ask one of {known}."
            self.note("ask", "This is no kind of question.", remedy)
            return None
        own = by_word[kind]
        if "by" in self.table and "by" not in own.keys and not own.by_group:
            able = ", ".join(f'"{one}"' for one, other in kinds.items() if other.by_group)
            self.note("by", f"`by` is not supported for questions of kind {kind}.", NO_GROUPS.format(kinds=able))
            return None
        grouped = BY if own.by_group or "by" in own.keys else ()
        keys = (*own.keys, *(key for key in grouped if key not in own.keys))
        self.notes.unknown(self.path, self.table, (*_COMMON, *keys), "key")
        if "attribute" in self.table and not self._inherit(keys):
            return None
        texts, group_texts = self.texts(), self._group_texts()
        question = self._question(own, kinds)
        if question is None or texts is None or group_texts is None or not self._labels_fit():
            return None
        if self.table.get("missing") and not question.takes_reasons:
            self.note("missing", no_reasons(question), REMOVE)
            return None
        try:
            kept = ("missing", "share", "labels", "attribute")
            rest = {key: self.table[key] for key in kept if key in self.table}
            unit, units = self._unit()
            rest |= {"unit": unit, "units": tuple(units.items()), "group_texts": group_texts}
            rest |= {"attribute_texts": self.attribute_texts}
            return Asked(self.name, question, texts, **rest)
        except ParameterError as problem:
            self.note(problem.parameter, str(problem), REMEDIES.get(problem.parameter, "Choose another name."))
            return None

    # --- parts -----------------------------------------------------------------------------------
    def _question(self, own: Any, kinds: Mapping[str, Any]) -> Question | None:
        """The question, by group where the table has `by`."""
        if "by" not in self.table or "by" in own.keys:
            question: Question | None = own.read(self)
            return question
        form = kinds[own.by_group]
        if form.is_form:
            self.inner = own.read(self)
        grouped: Question | None = form.read(self)
        return grouped

    def _inherit(self, keys: Sequence[str]) -> bool:
        """Take over what the question with the attribute says about its answers."""
        first = self.others.get(str(self.table["attribute"]))
        if not isinstance(first, Mapping) or first is self.table or "attribute" in first:
            self.note(
                "attribute",
                "The attribute is not the name of another question, which has none itself.",
                "Name the question that has the text and the range of the answers.",
            )
            return False
        for key in _INHERITED:
            if key in self.table:
                self.note(key, f"The {key} of this question is that of its attribute.", f"Leave {key} out here.")
                return False
        known = {*_COMMON, *keys}
        self.table = {**{key: first[key] for key in _INHERITED if key in first and key in known}, **self.table}
        return True

    def _labels_fit(self) -> bool:
        """Labels are in languages of the study."""
        labels = self.table.get("labels")
        if isinstance(labels, Mapping) and any(language not in self.languages for language in labels):
            self.note("labels", "The labels are in a language that the study does not have.", REMEDIES["labels"])
            return False
        return True

    def _group_texts(self) -> Texts | None:
        """The text above the groups, which is optional; None, with a note, where something is wrong."""
        if "by_text" not in self.table:
            return ()
        if "by" not in self.table:
            self.note("by_text", "This question has no groups.", "Add `by`, or remove `by_text`.")
            return None
        return self.texts("by_text")

    def texts(self, key: str = "text") -> Texts | None:
        """What participants read, by language; None, with a note, where something is wrong."""
        texts = self.table.get(key)
        if isinstance(texts, str) and texts.strip() and self.languages:
            if len(self.languages) > 1:
                self.note(key, f"The {key} is in one language of {len(self.languages)}.", self._by_language(key))
                return None
            return ((self.languages[0], texts),)
        if isinstance(texts, Mapping):
            wrong = [one for one in texts if one not in self.languages]
            absent = [one for one in self.languages if one not in texts]
            if wrong or absent:
                said = "is in a language that the study does not have" if wrong else f"is missing in {absent[0]}"
                self.note(key, f"The {key} {said}.", self._by_language(key))
                return None
            if all(isinstance(one, str) and one.strip() for one in texts.values()):
                return tuple((language, texts[language]) for language in self.languages)
        if self.languages:
            self.note(key, f"The {key} that participants read is missing or empty.", self._by_language(key))
        return None

    def _unit(self) -> tuple[str, dict[str, str]]:
        """The unit in the first language, and in the others where it is a table by language."""
        unit = self.table.get("unit", "")
        if isinstance(unit, str):
            return unit, {}
        if not isinstance(unit, Mapping) or {*unit} != {*self.languages}:
            raise ParameterError("The unit is neither a text nor a table by language.", parameter="unit")
        first, *others = self.languages
        return unit[first], {language: unit[language] for language in others}

    def _by_language(self, key: str) -> str:
        example = "How many hours do you sleep?" if key == "text" else "Which group are you in?"
        if len(self.languages) == 1:
            return f'Write {key} = "{example}".'
        inside = ", ".join(f'{language} = "..."' for language in self.languages)
        return f"Write {key} = {{ {inside} }}."

    def listed(self, key: str) -> Categories | None:
        """A list of categories."""
        entries = self.table.get(key)
        if entries is None:
            self.note("", f"This question has no {key}.", _LIST)
            return None
        if not isinstance(entries, list):
            self.note(key, f"The {key} are not a list.", _LIST)
            return None
        try:
            return Categories(entries)
        except ParameterError as problem:
            self.note(
                key, str(problem), "List at least two answers, each once, all of them texts or all whole numbers."
            )
            return None

    def numbers(self) -> Domain | None:
        """A range of numbers."""
        absent = [end for end in ("low", "high") if end not in self.table]
        for end in absent:
            self.note("", f"This question has no {end}.", _NUMBER)
        is_whole = self.table.get("whole", False)
        if not isinstance(is_whole, bool):
            self.note("whole", "This is neither true nor false.", "Write whole = true where answers are whole numbers.")
            return None
        if absent:
            return None
        low, high = self.table["low"], self.table["high"]
        step = self.table.get("step")
        if is_whole and step is not None:
            self.note("step", "Whole numbers have the step 1.", "Leave out whole, or step.")
            return None
        try:
            return Integers(low, high) if is_whole else Interval(low, high, step)
        except ParameterError as problem:
            key = problem.parameter or "low"
            self.note(key, str(problem), _STEP if key == "step" else _NUMBER)
            return None

    def ordered(self) -> Domain | None:
        """What answers are distributed over: a range of numbers, categories in their order, or a circle."""
        ways = [key for key in ("categories", "period", "low") if key in self.table]
        if len(ways) > 1:
            self.note(ways[1], "Answers are categories, a range of numbers or a circle, not two of them.", "Keep one.")
            return None
        if "categories" in self.table:
            return self.listed("categories")
        return self.circle() if "period" in self.table else self.numbers()

    def circle(self) -> Circle | None:
        """A circle of numbers."""
        remedy = "Write after how much numbers start again, such as period = 24."
        return self.built("period", lambda: Circle(self.table.get("period", 0)), remedy)

    def built(self, key: str, build: Callable[[], Built], remedy: str) -> Built | None:
        """Build something, such as a question; None and a note at a key where that is refused."""
        try:
            return build()
        except ParameterError as problem:
            self.note(key if key in self.table else "", str(problem), remedy)
            return None

    def listed_or_numbers(self) -> Domain | None:
        """Categories, or whole numbers that are counted one by one."""
        ends = [end for end in ("low", "high") if end in self.table]
        if ends and "categories" in self.table:
            self.note(ends[0], "Answers are a list of categories or a range of numbers, not both.", "Leave one out.")
            return None
        if not ends:
            return self.listed("categories")
        if self.table.get("whole") is not True:
            self.note(ends[0], "Shares of numbers are for whole numbers.", 'Add whole = true, or ask = "mean".')
            return None
        return self.numbers()


REMEDIES = {
    "unit": 'Write unit = "hours", or unit = { en = "hours", de = "Stunden" } in all languages of the study.',
    "missing": 'Write reasons that are no answers, such as missing = ["don\'t know", "refused"].',
    "share": "Write a whole number: 2 asks twice as many participants as 1.",
    "labels": 'Write labels = { de = { yes = "ja", no = "nein" } }, with answers or attributes of this question.',
}
