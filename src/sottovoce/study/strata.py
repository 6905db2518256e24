"""Public strata of a study: each is served by itself, and the estimates are weighted by the sizes of the strata.

Which stratum a person belongs to is sent in clear: the address that a person opens, or the invitation, says it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sottovoce.core.asked import NAME
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.translated import Texts, texts_by_language
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.strata import over_strata
from sottovoce.study.question_tables import Notes

TABLE = "strata"
KEYS = ("people", "label")
MOST_PEOPLE = 1 << 40
MOST_STRATA = 100
REMEDY = 'Write [strata.NAME] with people = 52000, and label = "Women" if participants read another word.'


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of the population whose size is known. A label is what participants read instead of the name."""

    name: str
    people: int
    labels: Texts = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise ParameterError("The name of a stratum is made like that of a question, such as women.")
        if type(self.people) is not int or not 1 <= self.people <= MOST_PEOPLE:
            raise ParameterError(f"The people of stratum {self.name} must be a whole number from 1 to 2**40.")
        object.__setattr__(self, "labels", texts_by_language(self.labels, "label of a stratum", "label"))

    def label(self, language: str) -> str:
        """What the stratum is called in a language."""
        texts = dict(self.labels)
        return texts.get(language) or next(iter(texts.values()), self.name)


def read_strata(tables: Any, languages: Sequence[str], notes: Notes) -> tuple[Stratum, ...]:
    """The strata of the tables [strata.NAME]; every mistake is noted."""
    if not isinstance(tables, Mapping) or not 2 <= len(tables) <= MOST_STRATA:
        notes.note((TABLE,), f"A study has 2 to {MOST_STRATA} strata, or none.", REMEDY)
        return ()
    strata = []
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            notes.note((TABLE, name), "This stratum is not a table.", REMEDY)
            continue
        notes.unknown((TABLE, name), table, KEYS, "key")
        label = table.get("label", {})
        texts = {languages[0]: label} if isinstance(label, str) and languages else label
        try:
            if not isinstance(texts, Mapping) or not {*texts} <= {*languages}:
                raise ParameterError(f"The label of stratum {name} is not a text in the languages of the study.")
            strata.append(Stratum(name, table.get("people"), tuple(texts.items())))  # type: ignore[arg-type]
        except ParameterError as problem:
            key = "label" if "label" in str(problem) else "people"
            notes.note((TABLE, name, *([key] if key in table else [])), str(problem), REMEDY)
    return tuple(strata)


def source_of(source: bytes, stratum: str) -> bytes:
    """The study file of one stratum: the same file, which names the stratum under [study]."""
    text = source.decode("utf-8-sig")
    begun = re.search(r"^[ \t]*\[[ \t]*study[ \t]*\][^\n]*\n", text, re.MULTILINE)
    if begun is None:
        raise ParameterError("The study file has no line [study]: write one, with its keys below it.")
    return f'{text[: begun.end()]}stratum = "{stratum}"\n{text[begun.end() :]}'.encode()


def combined(estimates: Mapping[str, Estimates], strata: Sequence[Stratum]) -> Estimates:
    """The estimates for all strata together, by report; every stratum needs reports of its own."""
    absent = [one.name for one in strata if not estimates.get(one.name)]
    if absent:
        raise ParameterError(f"Stratum {absent[0]} has no estimates yet: every stratum needs reports.")
    people = {one.name: one.people for one in strata}
    first = estimates[strata[0].name]
    shared = [name for name in first if all(name in estimates[one.name] for one in strata)]
    return {
        name: over_strata({one.name: estimates[one.name][name] for one in strata}, people)
        for name in shared
        if isinstance(first[name], Estimate)
    }


def strata_text(study: Any) -> str:
    """What the collector knows of a person beside the noisy report: the stratum, which travels in clear."""
    names = ", ".join(f"{one.label(study.languages[0])} ({one.people:,} people)" for one in study.strata)
    return (
        f"{names}. Each stratum has an address of its own, so the collector learns in clear to which stratum a person"
        " belongs. Estimates are weighted by these sizes."
    )
