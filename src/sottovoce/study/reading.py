"""Study files: a TOML file becomes a study, or a list of mistakes, each with its line and what to do about it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sottovoce.core.asked import Asked
from sottovoce.core.domain import Interval
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.exchange.study_facts import UNITS, Collection
from sottovoce.core.language.plural import plural
from sottovoce.core.question import Mean
from sottovoce.study.dossier.sentences import LANGUAGES, known
from sottovoce.study.experiments.arms import StudyExperiment, experiment_problems, read_experiment
from sottovoce.study.population_tables import PopulationTables
from sottovoce.study.question_tables import QuestionTable
from sottovoce.study.questions import file_kinds, file_words, study_question
from sottovoce.study.repeats.repeated import invitation_problem, read_repeat, repeat_problems
from sottovoce.study.strata import Stratum, read_strata
from sottovoce.study.study import Study
from sottovoce.study.toml_lines import key_lines, line_of

TABLES = ("study", "questions", "population", "collection", "strata", "experiment", "repeat")
COLLECTION = ("epoch_days", "invitations", "sealed_for", "batch", "ask_all")
KEYS = (
    *("name", "title", "owner", "contact", "purpose", "analysts", "start", "end"),
    *("unit", "epsilon", "lifetime", "languages", "participants", "stratum"),
)
MUST = {
    "name": 'Give the study a short name, such as name = "sleep-2027".',
    "owner": "Say who is responsible for the study.",
    "contact": "Give the address of the data-protection officer: participants must be able to ask.",
    "purpose": "Say in a sentence what the answers are for: participants read it.",
    "unit": f"Say what the budget protects: one of {', '.join(UNITS)}. An epsilon means nothing without it.",
    "epsilon": 'Give the budget of one participation, such as epsilon = "1".',
}
REMEDIES = MUST | {
    "title": 'Write title = "Sleep in 2027", or a table by language: title = { en = "Sleep", de = "Schlaf" }.',
    "participants": "Write how many people you expect, such as participants = 3000.",
    "lifetime": "Give it as a text or a number.",
}


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """Mistake on a line, with its remedy."""

    line: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what} {self.remedy}"


class StudyFileError(ParameterError):
    """A study file with mistakes."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(f"The study file has {plural(len(mistakes), 'mistake')}: " + " ".join(map(str, mistakes)))


def read_study(path: str | Path) -> Study:
    """Read a study file.

    Args:
        path: A TOML file; the page "Study file" of the reference lists its keys.

    Returns:
        The `Study`.

    Raises:
        ParameterError: The file has mistakes. The error lists all of them, each with its key.

    Examples:
        >>> print(sv.read_study("examples/classroom.toml"))
        classroom: 3 questions, epsilon 1.5 per person

    See also:
        `sottovoce study new` writes a study file, `plan_study` plans it.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as problem:
        raise ParameterError(f"The study file cannot be read: {problem.strerror}.") from None
    return check_study(content)


def check_study(content: bytes) -> Study:
    """The study of a file's content; all mistakes are raised at once."""
    study, mistakes = parse_study(content)
    if study is None:
        raise StudyFileError(mistakes)
    return study


def parse_study(content: bytes) -> tuple[Study | None, list[Mistake]]:
    """The study, or its mistakes in the order of their lines."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        return None, [Mistake(line, "This is not UTF-8.", "Save the file as UTF-8 text.")]
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        return None, [_syntax(str(problem), text)]
    reader = _StudyReader(tables, key_lines(text))
    study = reader.study()
    mistakes = sorted(set(reader.mistakes))
    return (None, mistakes) if mistakes else (study, [])


def _syntax(said: str, text: str) -> Mistake:
    """The reader's own sentence, with the line it names."""
    place = said.rpartition("(at line ")[2].partition(",")[0]
    line = int(place) if place.isdigit() else len(text.splitlines()) or 1
    return Mistake(line, f"This is not TOML: {said.partition(' (at')[0]}.", "Texts need quotes, lists need brackets.")


class _StudyReader:
    """Reads the tables, and notes every mistake it finds."""

    def __init__(self, tables: Mapping[str, Any], lines: Mapping[tuple[str, ...], int]) -> None:
        self.tables, self.lines = tables, lines
        self.mistakes: list[Mistake] = []

    def note(self, path: tuple[str, ...], what: str, remedy: str) -> None:
        """A mistake at a key."""
        self.mistakes.append(Mistake(line_of(self.lines, path), what, remedy))

    def study(self) -> Study | None:
        """The study, if nothing is wrong."""
        self.unknown((), self.tables, TABLES, "table")
        about = self.tables.get("study")
        if not isinstance(about, Mapping):
            self.note(("study",), "There is no table [study].", "Begin the file with [study] and its keys.")
            about = {}
        self.unknown(("study",), about, KEYS, "key")
        for key, remedy in MUST.items():
            if self.tables.get("study") is not None and key not in about:
                self.note(("study",), f"The {key} is missing.", remedy)
        dates = {key: self._date(about, key) for key in ("start", "end")}
        languages = self._languages(about)
        questions = self._questions(languages)
        strata = self._strata(about, languages, questions)
        rest = {
            **dates,
            "languages": languages,
            "questions": questions,
            "in_rounds": [one.name for one in questions if self.tables["questions"][one.name].get("rounds", False)],
            "population": PopulationTables(self.tables.get("population", {}), questions, self).population(),
            "collection": self._collection(),
            "strata": strata,
            "experiment": self._experiment(languages, questions, strata),
            "repeat": self._repeat(about, dates),
        }
        if self.mistakes:
            # What remains is said by the study itself, one sentence at a time, with stand-ins for what is wrong.
            self._own(about, {**dates, "languages": languages})
            return None
        return self._built(about, rest)

    def _built(self, about: Mapping[str, Any], rest: Mapping[str, Any]) -> Study | None:
        self._own(about, rest)
        if self.mistakes:
            return None
        plain = {key: about[key] for key in ("owner", "contact", "purpose", "unit")}
        others = {
            key: about[key] for key in ("lifetime", "analysts", "title", "participants", "stratum") if key in about
        }
        try:
            return Study(about["name"], epsilon=about["epsilon"], **plain, **others, **rest)
        except ParameterError as problem:  # about all of it, such as too many questions
            self.note(("study",), str(problem), "")
            return None

    def _own(self, about: Mapping[str, Any], rest: Mapping[str, Any]) -> None:
        """The study's own checks of one key after the other."""
        good: dict[str, Any] = {
            "name": "study",
            "owner": "someone",
            "contact": "someone@example.org",
            "purpose": "something",
            "unit": "person",
            "epsilon": "1",
        }
        others: dict[str, Any] = {"questions": {"number": Mean(Interval(0, 1))}, "languages": rest["languages"]}
        for key in (*good, "lifetime", "title", "participants"):
            if key not in about:
                continue
            trial = {**good, key: about[key]}
            if key == "lifetime":
                trial["epsilon"] = about.get("epsilon", "1")
            try:
                Study(trial.pop("name"), **trial, **others)
            except ParameterError as problem:
                if not (key == "lifetime" and self._noted("epsilon")):
                    self.note(("study", key), str(problem), REMEDIES[key])
        self._lifetime(about)
        start, end = rest.get("start"), rest.get("end")
        if start is not None and end is not None and end < start:
            self.note(("study", "end"), "The study ends before it starts.", "Exchange start and end.")

    def _lifetime(self, about: Mapping[str, Any]) -> None:
        """Devices answer a study of persons or devices once: a larger lifetime budget would promise more."""
        unit, wrong = about.get("unit"), self._noted("lifetime") or self._noted("epsilon")
        if unit not in ("person", "device") or wrong or not {"lifetime", "epsilon"} <= about.keys():
            return
        if Decimal(str(about["lifetime"])) > Decimal(str(about["epsilon"])):
            said = f"A {unit} answers a study once, so that its lifetime budget cannot exceed epsilon."
            self.note(("study", "lifetime"), said, 'Leave the lifetime out, or write unit = "event".')

    def _noted(self, key: str) -> bool:
        line = line_of(self.lines, ("study", key))
        return any(one.line == line for one in self.mistakes)

    # --- parts -----------------------------------------------------------------------------------
    def unknown(self, path: tuple[str, ...], table: Mapping[str, Any], known: Sequence[str], word: str) -> None:
        """Note every key that is not known, with the one that may be meant."""
        for key in table:
            if key not in known:
                close = get_close_matches(key, known, 1)
                remedy = f"Do you mean {close[0]}?" if close else f"Known: {', '.join(known)}."
                self.note((*path, key), f"This {word} is not known here.", remedy)

    def _date(self, about: Mapping[str, Any], key: str) -> date | None:
        day = about.get(key)
        if day is None:
            return None
        if isinstance(day, datetime) or not isinstance(day, date):
            self.note(("study", key), f"The {key} is not a date.", f"Write it without quotes: {key} = 2027-03-31.")
            return None
        return day

    def _languages(self, about: Mapping[str, Any]) -> tuple[str, ...]:
        languages = about.get("languages", ["en"])
        short = (
            isinstance(languages, list)
            and languages
            and all(isinstance(one, str) and 2 <= len(one) <= 12 for one in languages)
        )
        if not short or len({*languages}) < len(languages):
            self.note(
                ("study", "languages"),
                "The languages are not a list of different short codes.",
                'Write languages = ["en", "de"].',
            )
            return ()
        unknown = [one for one in languages if not known(one)]
        if unknown:
            self.note(
                ("study", "languages"),
                "There are no sentences for participants in one of these languages.",
                f"Use {', '.join(LANGUAGES)}.",
            )
            return ()
        return tuple(languages)

    def _questions(self, languages: Sequence[str]) -> list[Any]:
        tables = self.tables.get("questions")
        kinds = file_kinds()
        if not isinstance(tables, Mapping) or not tables:
            self.note(
                ("questions",), "There are no questions.", f"Add a table [questions.NAME]: {', '.join(file_words())}."
            )
            return []
        questions = []
        for name, table in tables.items():
            path = ("questions", name)
            if not isinstance(table, Mapping):
                self.note(path, "This question is not a table.", "Write [questions.NAME] and its keys.")
                continue
            asked = QuestionTable(name, tables, languages, self).asked(kinds)
            if asked is not None:
                questions.append(asked)
        return questions

    def _strata(
        self, about: Mapping[str, Any], languages: Sequence[str], questions: Sequence[Asked]
    ) -> tuple[Stratum, ...]:
        """The strata; a study file names the one that it is served for."""
        strata = read_strata(self.tables["strata"], languages, self) if "strata" in self.tables else ()
        if "stratum" in about and about["stratum"] not in [one.name for one in strata]:
            remedy = "Name one of the tables [strata.NAME], or remove it: `sottovoce serve` writes it."
            self.note(("study", "stratum"), "The stratum is none of the strata.", remedy)
        by_people = not any(one.cluster_of or one.margins for one in strata)
        for asked in questions if strata else ():
            if not study_question(asked).adds_over_strata or (asked.attributes and not by_people):
                said = (
                    f"A {asked.question.noun} is not combined over {'strata' if by_people else 'clusters or margins'}."
                )
                remedy = "Ask for shares, means, quantiles or distributions, or remove [strata]."
                self.note(("questions", asked.name), said, remedy)
        return strata

    def _experiment(
        self, languages: Sequence[str], questions: Sequence[Asked], strata: Sequence[Stratum]
    ) -> StudyExperiment | None:
        if "experiment" not in self.tables:
            return None
        about = self.tables.get("study")
        unit = about.get("unit") if isinstance(about, Mapping) else None
        for problem in experiment_problems(unit, questions, has_clusters=any(one.cluster_of for one in strata)):
            self.note(("experiment",), problem, "")
        return read_experiment(self.tables["experiment"], languages, questions, self)

    def _repeat(self, about: Mapping[str, Any], dates: Mapping[str, date | None]) -> Repeat | None:
        if "repeat" not in self.tables:
            return None
        parts = bool({"strata", "experiment"} & self.tables.keys())
        tables = self.tables.get("questions", {})
        parts = parts or any(isinstance(one, Mapping) and one.get("rounds", False) for one in tables.values())
        plain = (about.get("unit", ""), dates["start"], dates["end"], about.get("lifetime"))
        for problem in repeat_problems(*plain, self._collection(), has_parts=parts):
            self.note(("repeat",), problem, "")
        repeat = read_repeat(self.tables["repeat"], self)
        if repeat is not None and (tokens := invitation_problem(repeat, self._collection())) is not None:
            self.note(("collection", "invitations"), tokens, "")
        return repeat

    def _collection(self) -> Collection:
        table = self.tables.get("collection", {})
        if not isinstance(table, Mapping):
            self.note(("collection",), "The collection is not a table.", "Write [collection] and its keys.")
            return Collection()
        self.unknown(("collection",), table, COLLECTION, "key")
        try:
            return Collection(**{key: table[key] for key in COLLECTION if key in table})
        except SpecError as problem:
            self.note(("collection",), str(problem), "Such as epoch_days = 1 and invitations = false.")
            return Collection()
