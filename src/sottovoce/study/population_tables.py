"""The tables [population.NAME] of a study file, or of a file of their own: which answers are expected."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from sottovoce.core.asked import Asked
from sottovoce.core.domain.reasons import listed_answers
from sottovoce.core.errors import ParameterError
from sottovoce.study.population import LAWS, ExpectedAnswers, ExpectedAttribute, NumberLaw
from sottovoce.study.question_tables import Notes
from sottovoce.study.questions import study_question
from sottovoce.study.toml_lines import key_lines, line_of

TABLE = "population"
_PARAMETERS = tuple(dict.fromkeys(name for names, _ in LAWS.values() for name in names))
KEYS = ("law", "shares", "within", "missing", *_PARAMETERS)
ATTRIBUTE_KEYS = ("law", "shares", "by", "within", *_PARAMETERS)  # of an attribute of a cross table
_REMEDY = (
    'Write law = "normal", mean = 7 and sd = 1.5 for numbers, or shares = { yes = 0.25 } for categories: answers that'
    " are left out share the rest. With `by`: within = { women = { yes = 0.3 }, men = { yes = 0.2 } }."
)


class PopulationTables:
    """The tables of all questions, which become descriptions or mistakes."""

    def __init__(self, tables: Any, questions: Sequence[Asked], notes: Notes) -> None:
        self.tables, self.questions, self.notes = tables, {one.name: one for one in questions}, notes

    def population(self) -> dict[str, ExpectedAnswers]:
        """Expected answers of the questions that are described."""
        if not isinstance(self.tables, Mapping):
            self.notes.note((TABLE,), "The population is not a table.", "Write [population.NAME] for each question.")
            return {}
        expected_answers: dict[str, ExpectedAnswers] = {}
        for name, table in self.tables.items():
            asked = self.questions.get(name)
            if asked is None or asked.attribute:
                said = "has the answers of its attribute" if asked else "is not in the study"
                self.notes.note((TABLE, name), f"This question {said}.", "Describe each attribute once, by its name.")
            elif not isinstance(table, Mapping):
                self.notes.note((TABLE, name), "This is not a table.", "Write [population.NAME] and its keys.")
            else:
                self.notes.unknown(
                    (TABLE, name), table, (*asked.attributes, "missing") if asked.attributes else KEYS, "key"
                )
                try:
                    expected = _expected_attributes(asked, table) if asked.attributes else _expected(asked, table)
                    study_question(asked).check_population(expected)
                    expected_answers[name] = expected
                except ParameterError as problem:
                    self.notes.note((TABLE, name), str(problem), _REMEDY)
        return expected_answers


def read_population(content: bytes, questions: Sequence[Asked]) -> dict[str, ExpectedAnswers]:
    """A population from a file of its own; the first mistake, with its line, where there is one."""
    try:
        text = content.decode("utf-8-sig")
        tables = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise ParameterError("The population file is not TOML.") from None
    notes = _FirstNote(key_lines(text))
    notes.unknown((), tables, (TABLE,), "table")
    population = PopulationTables(tables.get(TABLE, {}), questions, notes).population()
    if notes.said:
        raise ParameterError(f"The population file has a mistake, {min(notes.said)[1]}")
    return population


class _FirstNote:
    """Mistakes of a file that is not a study file."""

    def __init__(self, lines: Mapping[tuple[str, ...], int]) -> None:
        self.lines = lines
        self.said: list[tuple[int, str]] = []

    def note(self, path: tuple[str, ...], what: str, remedy: str) -> None:
        line = line_of(self.lines, path)
        self.said.append((line, f"line {line}: {what} {remedy}"))

    def unknown(self, path: tuple[str, ...], table: Mapping[str, Any], known: Sequence[str], word: str) -> None:
        for key in table:
            if key not in known:
                self.note((*path, key), f"This {word} is not known here.", f"Known: {', '.join(known)}.")


def _expected(asked: Asked, table: Mapping[str, Any]) -> ExpectedAnswers:
    listed = listed_answers(asked.question.choices) or ()
    shares, one_choice = table.get("shares"), asked.question.has_one_choice
    return ExpectedAnswers.of(
        shares=None if shares is None else _by_name("shares" if one_choice else "items", shares, listed),
        laws=_laws(asked, table),
        missing=_missing(asked, table.get("missing", 0)),
        within=_within(asked, table.get("within")),
        one_choice=one_choice,
    )


def _expected_attributes(asked: Asked, table: Mapping[str, Any]) -> ExpectedAnswers:
    """Each attribute by itself, or within the answers to another one."""
    lists = {
        name: [] if domain.size is None else [str(label) for label in domain.labels()]
        for name, domain in asked.question.domain.fields
    }
    described = [
        _attribute(name, table[name], lists) for name in asked.attributes if isinstance(table.get(name), Mapping)
    ]
    if len(described) < len({*table} & {*asked.attributes}):
        raise ParameterError("The population of an attribute is a table, such as [population.NAME.ATTRIBUTE].")
    return ExpectedAnswers.of(missing=_missing(asked, table.get("missing", 0)), attributes=described)


def _attribute(name: str, table: Mapping[str, Any], lists: Mapping[str, Sequence[str]]) -> ExpectedAttribute:
    if not {*table} <= {*ATTRIBUTE_KEYS}:
        raise ParameterError(f"The population of an attribute has the keys {', '.join(ATTRIBUTE_KEYS)}.")
    by, within, shares = table.get("by", ""), table.get("within"), table.get("shares")
    if (within is None) != (by == "") or sum(key in table for key in ("shares", "within", "law")) != 1:
        raise ParameterError(f"The population of {name} needs `shares`, or `by` and `within`, or a `law` of numbers.")
    if within is not None:
        if by not in lists or not isinstance(within, Mapping) or not {*within} <= {*lists[by]}:
            raise ParameterError(f"`within` of {name} needs a table for answers to the attribute that `by` names.")
        return ExpectedAttribute.of(
            name, rows=[_by_name("shares", within.get(one, {}), lists[name]) for one in lists[by]], by=by
        )
    if shares is not None:
        return ExpectedAttribute.of(name, rows=[_by_name("shares", shares, lists[name])])
    parameters = {key: table[key] for key in _PARAMETERS if key in table}
    if not isinstance(table["law"], str):
        raise ParameterError(f"The law of a population must be one of {', '.join(LAWS)}.")
    return ExpectedAttribute.of(name, law=NumberLaw.of(table["law"], **parameters))


def _within(asked: Asked, within: Any) -> list[Sequence[Any]]:
    """Shares of the answers within each group; one table of answers is that of all groups."""
    if within is None:
        return []
    domains = asked.question.answer_lists
    if len(domains) < 2 or domains[1].choices is None or not isinstance(within, Mapping):
        raise ParameterError("The key `within` is a table, for a question about shares that has `by`.")
    groups, answers = (listed_answers(one) or () for one in domains)
    if all(isinstance(one, Mapping) for one in within.values()) and {*within} <= {*groups}:
        return [_by_name("shares", within.get(group, {}), answers) for group in groups]
    return [_by_name("shares", within, answers)]


def _laws(asked: Asked, table: Mapping[str, Any]) -> list[NumberLaw]:
    """One law, or one for each group where a parameter is a list."""
    parameters = {key: table[key] for key in _PARAMETERS if key in table}
    if "law" not in table:
        if parameters:
            raise ParameterError("This population has parameters, but no law.")
        return []
    kind = table["law"]
    if not isinstance(kind, str):
        raise ParameterError(f"The law of a population must be one of {', '.join(LAWS)}.")
    lists = {len(value) for value in parameters.values() if isinstance(value, list)}
    if not lists:
        return [NumberLaw.of(kind, **parameters)]
    groups = study_question(asked).groups
    if lists != {groups}:
        raise ParameterError("A list of parameters needs one for each group.")
    return [
        NumberLaw.of(
            kind, **{key: value[place] if isinstance(value, list) else value for key, value in parameters.items()}
        )
        for place in range(groups or 0)
    ]


def _missing(asked: Asked, shares: Any) -> Sequence[Any]:
    """A share for each reason; one number is spread evenly over them."""
    if isinstance(shares, Mapping):
        return _by_name("missing", shares, asked.missing)
    if isinstance(shares, list):
        return shares
    if shares == 0:
        return ()
    if isinstance(shares, bool) or not isinstance(shares, (int, float)) or not asked.missing:
        raise ParameterError("This question has no reasons for giving no answer, or their share is not a number.")
    return [shares / len(asked.missing)] * len(asked.missing)


def _by_name(key: str, value: Any, names: Sequence[str]) -> Sequence[Any]:
    """Shares in the order of the answers; answers that a table leaves out have equal parts of what remains."""
    if isinstance(value, Mapping):
        others = [name for name in names if name not in value]
        if not {*value} <= {*names}:
            raise ParameterError(f"The {key} of this population name an answer that the question does not have.")
        if not all(isinstance(share, (int, float)) and 0 <= share <= 1 for share in value.values()):
            raise ParameterError(f"The {key} of a population must be numbers from 0 to 1.")
        remaining = max(0.0, 1 - sum(value.values())) if key == "shares" else 0.0
        return [value.get(name, remaining / max(1, len(others))) for name in names]
    if not isinstance(value, list):
        raise ParameterError(f"The {key} of a population must be a list, or a table by answer.")
    return value
