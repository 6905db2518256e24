"""Public strata of a study: each is served by itself, and the estimates are weighted by the sizes of the strata.

Which stratum a person belongs to is sent in clear: the address that a person opens, or the invitation, says it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sottovoce.core.asked import NAME
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.translated import Texts, texts_by_language
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.strata import assumptions, over_strata, raked_strata
from sottovoce.study.question_tables import Notes

TABLE = "strata"
KEYS = ("people", "label", "cluster_of", "margins")
MOST_PEOPLE = 1 << 40
MOST_STRATA = 100
REMEDY = 'Write [strata.NAME] with people = 52000, and label = "Women" if participants read another word.'


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of the population that is served by itself.

    Attributes:
        people: how many people it has; for a cluster how many people it stands for.
        labels: what participants read instead of the name.
        cluster_of: the stratum from which it was drawn, where it is a cluster.
        margins: public variables with its category and the people of that category, where weights are raked to them.
    """

    name: str
    people: int
    labels: Texts = ()
    cluster_of: str = ""
    margins: tuple[tuple[str, str, int], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise ParameterError("The name of a stratum is made like that of a question, such as women.")
        if type(self.people) is not int or not 1 <= self.people <= MOST_PEOPLE:
            raise ParameterError(f"The people of stratum {self.name} must be a whole number from 1 to 2**40.")
        object.__setattr__(self, "labels", texts_by_language(self.labels, "label of a stratum", "label"))
        if not isinstance(self.cluster_of, str) or (self.cluster_of and not NAME.fullmatch(self.cluster_of)):
            raise ParameterError(f"The cluster_of of stratum {self.name} must be the name of a stratum, such as north.")

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
            margins = _margins(name, table)
            people = 1 if margins else table.get("people")  # with margins the people follow from all strata together
            of = table.get("cluster_of", "")
            strata.append(Stratum(name, people, tuple(texts.items()), of, margins))  # type: ignore[arg-type]
        except ParameterError as problem:
            key = next((key for key in KEYS[1:] if key in str(problem)), "people")
            notes.note((TABLE, name, *([key] if key in table else [])), str(problem), REMEDY)
    return _checked(strata, notes) if len(strata) == len(tables) else ()


def _margins(name: str, table: Mapping[str, Any]) -> tuple[tuple[str, str, int], ...]:
    """The margins of a stratum: variable, category, and the people of the category."""
    margins = table.get("margins", {})
    known = isinstance(margins, Mapping) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and type(pair[1]) is int
        and 1 <= pair[1] <= MOST_PEOPLE
        for pair in margins.values()
    )
    if not known:
        raise ParameterError(f'The margins of stratum {name} must be like {{ sex = ["women", 52000] }}.')
    if margins and "people" in table:
        raise ParameterError(f"Stratum {name} has people and margins: write one of them.")
    return tuple((variable, *pair) for variable, pair in margins.items())


def _checked(strata: Sequence[Stratum], notes: Notes) -> tuple[Stratum, ...]:
    """Strata that are all alike: with people, with margins, or clusters. The people of margins are filled in."""
    alike = {(bool(one.cluster_of), bool(one.margins)) for one in strata}
    if len(alike) > 1 or (True, True) in alike:
        notes.note(
            (TABLE,), "Some strata have margins or cluster_of, and others do not.", "Write it in all, or in none."
        )
        return ()
    if alike == {(False, True)}:
        try:
            sizes, _ = raked_strata({one.name: 1.0 for one in strata}, stated_margins(strata))
        except ParameterError as problem:
            notes.note((TABLE,), str(problem), "Check the margins of all strata.")
            return ()
        return tuple(replace(one, people=max(1, round(size))) for one, size in zip(strata, sizes, strict=True))
    return tuple(strata)


def stated_margins(strata: Sequence[Stratum]) -> dict[str, dict[str, tuple[str, int]]]:
    """The margins of all strata: by name, then by variable."""
    return {one.name: {variable: (category, count) for variable, category, count in one.margins} for one in strata}


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
    design: dict[str, Any] = {"people": {one.name: one.people for one in strata}}
    if strata[0].margins:
        design = {"margins": stated_margins(strata)}
    elif strata[0].cluster_of:
        design["clusters"] = {one.name: one.cluster_of for one in strata}
    first = estimates[strata[0].name]
    shared = [name for name in first if all(name in estimates[one.name] for one in strata)]
    return {
        name: over_strata({one.name: estimates[one.name][name] for one in strata}, **design)
        for name in shared
        if isinstance(first[name], Estimate)
    }


def strata_text(study: Any) -> str:
    """What the collector knows of a person beside the noisy report: the stratum, which travels in clear."""
    names = ", ".join(f"{one.label(study.languages[0])} ({one.people:,} people)" for one in study.strata)
    first = study.strata[0]
    how = assumptions(clustered=bool(first.cluster_of), calibrated=bool(first.margins))
    raked = ", after raking to the margins" if first.margins else ""
    return (
        f"{names}. Each stratum has an address of its own, so the collector learns in clear to which stratum a person"
        f" belongs. Estimates are weighted by these sizes{raked}. {how}"
    )
