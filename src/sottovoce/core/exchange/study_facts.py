"""The facts of a study that its manifests carry: who asks, what for, how long, and how reports reach the collector."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.exchange.experiment import ExperimentArm, arms_from_spec
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.language.translated import Texts, texts_by_language
from sottovoce.core.params import check_epsilon, decimal_text
from sottovoce.core.specs import Spec, take
from sottovoce.core.specs import text as text_of

UNITS = ("person", "device", "event")
EPOCHS_BEGIN = date(2020, 1, 1)
MOST_DAYS = 366
MOST_ROUNDS = 1000
KEY_BYTES = 32
_STUDY_KEYS = (
    *("name", "owner", "contact", "purpose", "analysts", "start", "end"),
    *("unit", "epsilon", "lifetime", "languages", "collection"),
)
_COLLECTION_KEYS = ("epoch_days", "invitations", "sealed_for", "batch")


@dataclass(frozen=True, slots=True)
class Collection:
    """How reports reach the collector.

    Attributes:
        epoch_days: days of an epoch, the only time that travels with a report; sealed reports name none.
        invitations: whether every report needs an invitation token, which is good for one report.
        sealed_for: the collector's public key, in hexadecimal, where reports go through a shuffler.
        batch: the fewest reports that the shuffler passes on at once.
        ask_all: whether participants answer all questions, though only one answer is sent. By default the device draws
            the question first and asks only that one.
    """

    epoch_days: int = 1
    invitations: bool = False
    sealed_for: str | None = None
    batch: int | None = None
    ask_all: bool = False

    def __post_init__(self) -> None:
        if type(self.epoch_days) is not int or not 1 <= self.epoch_days <= MOST_DAYS:
            raise SpecError(f"An epoch has 1 to {MOST_DAYS} days.")
        if type(self.invitations) is not bool:
            raise SpecError("Whether a study needs invitations is true or false.")
        if type(self.ask_all) is not bool:
            raise SpecError("Whether a study asks all questions is true or false.")
        if (self.sealed_for is None) != (self.batch is None):
            raise SpecError("A shuffled study names the collector's key and the shuffler's batch, both or neither.")
        if self.sealed_for is not None and not re.fullmatch(f"[0-9a-f]{{{2 * KEY_BYTES}}}", self.sealed_for):
            raise SpecError(f"The collector's key has {KEY_BYTES} bytes, in lower-case hexadecimal.")
        if self.batch is not None and (type(self.batch) is not int or not 2 <= self.batch <= 1 << 40):
            raise SpecError("The batch of a shuffler has at least two reports.")

    def epoch(self, day: date) -> int:
        """The number of the epoch of a day."""
        return (day - EPOCHS_BEGIN).days // self.epoch_days

    def spec(self) -> Spec:
        """In plain data."""
        plain = {key: getattr(self, key) for key in _COLLECTION_KEYS}
        return plain | {"ask_all": True} if self.ask_all else plain

    @classmethod
    def from_spec(cls, spec: object) -> Collection:
        """Read the collection of a study from plain data."""
        keys = (*_COLLECTION_KEYS, "ask_all") if isinstance(spec, Mapping) and "ask_all" in spec else _COLLECTION_KEYS
        return cls(*take(spec, "the collection of a study", keys))


@dataclass(frozen=True, slots=True)
class StudyFacts:
    """The facts of a study: who asks, what for, how and how long.

    Attributes:
        title: what participants read instead of the name; empty where the study has none.
        translations: the title and the purpose in further languages, by key.
        experiment: the arms of an experiment, the one that others are compared with first; empty where there is none.
        rounds: in how many rounds of its protocol a device answers, once each; their losses add up.
        repeat: how the study is repeated; None where it is asked once.
    """

    name: str
    owner: str
    contact: str
    purpose: str
    unit: str
    epsilon: Decimal
    lifetime: Decimal
    analysts: str = ""
    start: str | None = None
    end: str | None = None
    languages: tuple[str, ...] = ("en",)
    collection: Collection = Collection()
    title: str = ""
    translations: tuple[tuple[str, Texts], ...] = ()
    experiment: tuple[ExperimentArm, ...] = ()
    rounds: int = 1
    repeat: Repeat | None = None

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise SpecError(f"A manifest without a unit of privacy ({', '.join(UNITS)}) is not valid.")
        if not self.contact or not self.owner or not self.purpose:
            raise SpecError("A manifest without an owner, a contact and a purpose is not valid.")
        if self.lifetime < self.epsilon:
            raise SpecError("The lifetime budget of a manifest is at least that of one participation.")
        for day in (self.start, self.end):
            if day is None:
                continue
            # Python reads other forms as well, which are not ordered as texts: a study could seem never to end.
            try:
                plain = date.fromisoformat(day).isoformat() == day
            except ValueError:
                plain = False
            if not plain:
                raise SpecError("The dates of a manifest are like 2027-03-31.")

        if type(self.rounds) is not int or not 1 <= self.rounds <= MOST_ROUNDS:
            raise SpecError(f"A device answers 1 to {MOST_ROUNDS} rounds of a study.")
        if self.rounds > 1 and (self.unit == "event" or self.lifetime > self.rounds * self.epsilon):
            raise SpecError("A device answers each round of a study once, so it loses at most epsilon for each round.")
        if self.repeat is not None:
            self._check_repeat(self.repeat)

    def _check_repeat(self, repeat: Repeat) -> None:
        if self.start is None or self.end != repeat.end(date.fromisoformat(self.start)).isoformat():
            raise SpecError("A repeated study names the first day of its first wave and the last day of its last one.")
        if self.unit == "event" or self.rounds > 1:
            raise SpecError("A repeated study protects persons or devices, and has one round.")
        if self.lifetime != repeat.lifetime(self.epsilon):
            raise SpecError("The lifetime budget of a repeated study is epsilon for each report of a device.")

    @property
    def answers(self) -> int:
        """How many reports a device sends to the study, where its unit is a person or a device."""
        return self.rounds if self.repeat is None else self.repeat.answers

    def epoch(self, day: date) -> int:
        """The number of the epoch of a day: the wave of a repeated study."""
        if self.repeat is None:
            return self.collection.epoch(day)
        assert self.start is not None
        return self.repeat.wave(date.fromisoformat(self.start), day)

    @property
    def tells_epoch(self) -> bool:
        """Whether reports say when they were made. Sealed ones say it only if waves need it."""
        return self.repeat is not None or self.collection.sealed_for is None

    def counted(self, today: date) -> range:
        """The epochs whose reports are counted on a day: the last, the current and the next one; clocks may be fast."""
        if self.repeat is None:
            now = self.epoch(today)
            return range(now - 1, now + 2)
        assert self.start is not None
        return self.repeat.counted(date.fromisoformat(self.start), today)

    def is_over(self, today: date) -> bool:
        """Whether no report is counted any more; the last wave of a repeated study waits for late reports."""
        if self.repeat is not None:
            return self.epoch(today) >= 0 and not self.counted(today)
        return self.end is not None and today.isoformat() > self.end

    def title_in(self, language: str) -> str:
        """The title in a language, else as the study file has it; the name where the study has no title."""
        return self._translated("title", language) or self.title or self.name

    def purpose_in(self, language: str) -> str:
        """The purpose in a language, else as the study file has it."""
        return self._translated("purpose", language) or self.purpose

    def _translated(self, key: str, language: str) -> str | None:
        return dict(dict(self.translations).get(key, ())).get(language)

    def spec(self) -> Spec:
        """In plain data."""
        return {
            "name": self.name,
            "owner": self.owner,
            "contact": self.contact,
            "purpose": self.purpose,
            "analysts": self.analysts,
            "start": self.start,
            "end": self.end,
            "unit": self.unit,
            "epsilon": decimal_text(self.epsilon),
            "lifetime": decimal_text(self.lifetime),
            "languages": list(self.languages),
            "collection": self.collection.spec(),
            **({"title": self.title} if self.title else {}),
            **({"translations": {key: dict(texts) for key, texts in self.translations}} if self.translations else {}),
            **({"experiment": [arm.spec() for arm in self.experiment]} if self.experiment else {}),
            **({"rounds": self.rounds} if self.rounds > 1 else {}),
            **({"repeat": self.repeat.spec()} if self.repeat is not None else {}),
        }

    @classmethod
    def from_spec(cls, spec: object) -> StudyFacts:
        """Read the facts of a study from plain data."""
        plain = dict(spec) if isinstance(spec, Mapping) else {}
        title, translations = plain.pop("title", ""), plain.pop("translations", {})
        arms = arms_from_spec(plain.pop("experiment")) if "experiment" in plain else ()
        rounds, repeat = plain.pop("rounds", 1), plain.pop("repeat", None)
        values = dict(zip(_STUDY_KEYS, take(plain, "a study", _STUDY_KEYS), strict=True))
        values |= {"title": text_of(title, "a study", "title"), "translations": _translations(translations)}
        values |= {"experiment": arms, "rounds": rounds, "repeat": None if repeat is None else Repeat.from_spec(repeat)}
        for key in ("name", "owner", "contact", "purpose", "analysts", "unit", "epsilon", "lifetime"):
            text_of(values[key], "a study", key)
        for key in ("start", "end"):
            if values[key] is not None:
                text_of(values[key], "a study", key)
        languages = values["languages"]
        if not isinstance(languages, list) or not languages or not all(isinstance(one, str) for one in languages):
            raise SpecError("The languages of a study are a list of texts.")
        values["languages"] = tuple(languages)
        values["collection"] = Collection.from_spec(values["collection"])
        for key in ("epsilon", "lifetime"):
            values[key] = check_epsilon("a study", values[key])
        return cls(**values)


def _translations(spec: object) -> tuple[tuple[str, Texts], ...]:
    if not isinstance(spec, Mapping) or not {*spec} <= {"title", "purpose"}:
        raise SpecError("The translations of a study are a table of its title and its purpose.")
    try:
        return tuple((key, texts_by_language(texts, f"{key} of a study")) for key, texts in spec.items())
    except ParameterError as problem:
        raise SpecError(str(problem)) from None
