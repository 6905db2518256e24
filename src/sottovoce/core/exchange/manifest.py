"""Manifests: the immutable description of one round of a study, which a device reads, checks and may refuse.

It names itself by its content: the SHA-256 of its canonical text. Changing anything makes another manifest. A device
computes every epsilon from the channels and compares it with what the manifest states and with its own limit.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any

from sottovoce.core.arithmetic.rational import within
from sottovoce.core.asked import Asked
from sottovoce.core.errors import ParameterError, PrivacyError, SpecError
from sottovoce.core.exchange import codec
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, decimal_text
from sottovoce.core.question import question_from_spec
from sottovoce.core.round import Arm, Round
from sottovoce.core.spec_cost import Budget
from sottovoce.core.specs import Spec, canonical, integer, parse, take
from sottovoce.core.specs import text as text_of

VERSION = 1
UNITS = ("person", "device", "event")
EPOCHS_BEGIN = date(2020, 1, 1)
ID_BYTES = 16
PREFIX_BYTES = 8
MOST_DAYS = 366
KEY_BYTES = 32
_KEYS = ("version", "study", "questions", "round", "quota", "parent", "root", "chosen", "arms")
_STUDY_KEYS = (
    *("name", "owner", "contact", "purpose", "analysts", "start", "end"),
    *("unit", "epsilon", "lifetime", "languages", "collection"),
)
_COLLECTION_KEYS = ("epoch_days", "invitations", "sealed_for", "batch")


@dataclass(frozen=True, slots=True)
class Collection:
    """How reports reach the collector.

    Attributes:
        epoch_days: days of an epoch, the only time that travels with a report.
        invitations: whether every report needs an invitation token, which is good for one report.
        sealed_for: the collector's public key, in hexadecimal, where reports go through a shuffler.
        batch: the fewest reports that the shuffler passes on at once.
    """

    epoch_days: int = 1
    invitations: bool = False
    sealed_for: str | None = None
    batch: int | None = None

    def __post_init__(self) -> None:
        if type(self.epoch_days) is not int or not 1 <= self.epoch_days <= MOST_DAYS:
            raise SpecError(f"An epoch has 1 to {MOST_DAYS} days.")
        if type(self.invitations) is not bool:
            raise SpecError("Whether a study needs invitations is true or false.")
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
        return {key: getattr(self, key) for key in _COLLECTION_KEYS}

    @classmethod
    def from_spec(cls, spec: object) -> Collection:
        """Read the collection of a study from plain data."""
        return cls(*take(spec, "the collection of a study", _COLLECTION_KEYS))


@dataclass(frozen=True, slots=True)
class StudyFacts:
    """The facts of a study: who asks, what for, how and how long."""

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

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise SpecError(f"A manifest without a unit of privacy ({', '.join(UNITS)}) is not valid.")
        if not self.contact or not self.owner or not self.purpose:
            raise SpecError("A manifest without an owner, a contact and a purpose is not valid.")
        if self.lifetime < self.epsilon:
            raise SpecError("The lifetime budget of a manifest is at least that of one participation.")
        for day in filter(None, (self.start, self.end)):
            # Python reads other forms as well, which are not ordered as texts: a study could seem never to end.
            try:
                plain = date.fromisoformat(day).isoformat() == day
            except ValueError:
                plain = False
            if not plain:
                raise SpecError("The dates of a manifest are like 2027-03-31.")

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
        }

    @classmethod
    def from_spec(cls, spec: object) -> StudyFacts:
        """Read the facts of a study from plain data."""
        values = dict(zip(_STUDY_KEYS, take(spec, "a study", _STUDY_KEYS), strict=True))
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


@dataclass(frozen=True)
class Manifest:
    """One round of a study. A later one names the round before it, and the first: the study is the same."""

    facts: StudyFacts
    questions: tuple[Asked, ...]
    stage: Round
    number: int = 1
    parent: str | None = None
    root: str | None = None

    def __post_init__(self) -> None:
        if (self.parent is None) != (self.root is None) or (self.parent is None) != (self.number == 1):
            raise SpecError("A manifest after the first round names its parent and its root; the first has neither.")
        if not all(re.fullmatch("[0-9a-f]{64}", name) for name in (self.parent, self.root) if name is not None):
            raise SpecError("The parent and the root of a manifest are hashes of 64 lower-case hexadecimal digits.")
        known = {asked.name: asked for asked in self.questions}
        for asked in self.questions:
            if asked.key not in known or (asked.attribute and known[asked.key].attribute):
                raise SpecError("The attribute of a question is the name of another one, which has none itself.")
        for arm in self.stage.arms:
            if question_of(arm.name) not in known:
                raise SpecError("An arm of a manifest belongs to none of its questions.")
            if arm.mechanism.claimed > self.facts.epsilon:
                raise PrivacyError(
                    f"An arm claims epsilon {decimal_text(arm.mechanism.claimed)}, more than the"
                    f" {decimal_text(self.facts.epsilon)} that the study states."
                )

    # --- plain data --------------------------------------------------------------------------------
    def spec(self) -> Spec:
        """All of it, without floats."""
        return {
            "version": VERSION,
            "study": self.facts.spec(),
            "questions": [_asked_spec(asked) for asked in self.questions],
            "round": self.number,
            "quota": self.stage.quota,
            "parent": self.parent,
            "root": self.root,
            "chosen": self.stage.chosen,
            "arms": [
                {"name": arm.name, "weight": arm.weight, "mechanism": arm.mechanism.spec()} for arm in self.stage.arms
            ],
        }

    @cached_property
    def content(self) -> bytes:
        """The canonical text, which travels."""
        return canonical(self.spec())

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the content, in hexadecimal: the manifest's name."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def study(self) -> str:
        """The hash of the study's first manifest, which names the study in every round."""
        return self.root or self.hash

    def next(self, stage: Round) -> Manifest:
        """The manifest of the round after this one."""
        return replace(self, stage=stage, number=self.number + 1, parent=self.hash, root=self.study)

    @property
    def prefix(self) -> bytes:
        """The part of the hash that travels with every batch."""
        return bytes.fromhex(self.hash)[:PREFIX_BYTES]

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any] | str | bytes, *, device: bool = False) -> Manifest:
        """Read a manifest; every mechanism is computed anew, and one that exceeds its claim is refused.

        A `device` also answers questions of kinds that it does not know.
        """
        written = spec if isinstance(spec, (str, bytes)) else canonical(spec)
        plain = parse(written)
        version, study, questions, number, quota, parent, root, chosen, arms = take(plain, "a manifest", _KEYS)
        if version != VERSION:
            raise SpecError(f"This manifest has another version than {VERSION}: update the client.")
        if not isinstance(questions, list) or not isinstance(arms, list):
            raise SpecError("The questions and arms of a manifest are lists.")
        budget = Budget(len(written))
        try:
            stage = Round(
                tuple(_arm(one, budget, device) for one in arms),
                quota=None if quota is None else integer(quota, "a manifest", "quota"),
                chosen=chosen is True,
            )
            asked = tuple(_asked(one, device) for one in questions)
        except ParameterError as problem:
            raise SpecError(str(problem)) from None
        manifest = cls(
            StudyFacts.from_spec(study),
            asked,
            stage,
            integer(number, "a manifest", "round"),
            None if parent is None else text_of(parent, "a manifest", "parent"),
            None if root is None else text_of(root, "a manifest", "root"),
        )
        if manifest.content != canonical(plain):
            raise SpecError("The manifest is not the one that this version writes.")
        return manifest

    # --- what a device does with it ------------------------------------------------------------------
    def check(self, *, limit: Decimal | None = None, lifetime_limit: Decimal | None = None) -> None:
        """Refuse it if a channel loses more than the study states, or more than this device allows."""
        for arm in self.stage.arms:
            ratio = arm.mechanism.ratio
            if not within(ratio, self.facts.epsilon):
                raise PrivacyError("A mechanism of this study loses more than the epsilon that the study states.")
            if limit is not None and not within(ratio, limit):
                raise PrivacyError("A mechanism of this study loses more than this device allows for one report.")
        if lifetime_limit is not None and self.facts.lifetime > lifetime_limit:
            raise PrivacyError("The lifetime budget of this study is more than this device allows.")

    def arm_of(self, report_id: bytes) -> int:
        """The arm of a report, which nobody chooses: from SHA-256 of the manifest's hash, the id and a counter."""
        if len(report_id) != ID_BYTES:
            raise ParameterError(f"A report id has {ID_BYTES} bytes.")
        weight, limit = self.stage.weight, (1 << 53) - (1 << 53) % self.stage.weight
        for counter in range(1 << 16):
            digest = hashlib.sha256(bytes.fromhex(self.hash) + report_id + counter.to_bytes(4, "big")).digest()
            ticket = int.from_bytes(digest[:8], "big") >> 11
            if ticket < limit:
                return self.stage.arm_at(ticket % weight)
        raise AssertionError("No ticket in 65,536 draws.")

    def asked(self, arm: int) -> Asked:
        """The question of an arm."""
        name = question_of(self.stage.arms[arm].name)
        return next(one for one in self.questions if one.name == name)

    @property
    def participations(self) -> int | None:
        """How many reports a device sends to this study; None where memos allow one in each epoch."""
        if all(arm.mechanism.claimed_forever is not None for arm in self.stage.arms):
            return None
        if self.facts.unit != "event":
            return 1
        return int(self.facts.lifetime // max(arm.mechanism.claimed for arm in self.stage.arms))

    @property
    def largest_loss(self) -> Decimal:
        """The most that all reports of a device to this study lose together."""
        return self.facts.epsilon if self.participations == 1 else self.facts.lifetime

    def participation_text(self) -> str:
        """How often a device answers this study."""
        lifetime = f"the lifetime budget is {decimal_text(self.facts.lifetime)}"
        if self.participations is None:
            return f"The device answers this study once in each epoch, from its memos: {lifetime}."
        if self.facts.unit == "event":
            return f"The device reports at most {plural(self.participations, 'event')} to this study: {lifetime}."
        return "The device answers this study once and refuses a second answer."

    def text(self) -> str:
        """The budget in plain words; numbers are computed from the channels."""
        facts = self.facts
        worst = max(arm.mechanism.epsilon for arm in self.stage.arms)
        lines = [
            f"{facts.name}, by {facts.owner}: {facts.purpose}",
            f"One participation of a {facts.unit} loses at most epsilon {decimal_text(facts.epsilon)}; by the"
            f" mechanisms of this round {worst:.6g}.",
            f"{self.participation_text()} Budgets of several studies add up.",
        ]
        lines += [memo_text(arm) for arm in self.stage.arms if arm.mechanism.claimed_forever is not None]
        lines.append(
            "No gain by a crowd is claimed. Behind a shuffler that another operator runs, or where nobody can tell who"
            " takes part, the loss is smaller: `sottovoce explain` computes it."
        )
        return "\n".join(lines)

    def fields_sent(self) -> list[tuple[str, str]]:
        """Everything that leaves a device, and what it is."""
        sizes = [codec.payload_bytes(arm.mechanism.channel) for arm in self.stage.arms]
        least, most = min(sizes), max(sizes)
        size = f"{least}" if least == most else f"{least} to {most}"
        return [
            ("version", "of the wire format"),
            ("manifest", f"{PREFIX_BYTES} bytes of the hash of this manifest"),
            ("epoch", "a number of the day or week of the study, the same for everyone"),
            ("round", "a number"),
            ("arm", "which question was asked; drawn from the id, not chosen"),
            ("id", f"{ID_BYTES} random bytes, drawn for this report only"),
            ("payload", f"the answer after noise, {size} bytes"),
        ]


def memo_text(arm: Arm) -> str:
    """What holds of reports from memos, and what does not."""
    forever = decimal_text(arm.mechanism.claimed_forever or Decimal(0))
    return (
        f"{arm.name} keeps a memo: all reports of an unchanged answer together lose at most epsilon {forever}. Each"
        " different answer is charged as much again. That bounds what reports tell about these answers; it does not"
        " bound what they tell about when an answer changed."
    )


def question_of(arm: str) -> str:
    """The question that an arm belongs to: arms of several rounds or methods are named after it."""
    return arm.partition(":")[0]


def _asked_spec(asked: Asked) -> Spec:
    return {
        "name": asked.name,
        "question": asked.question.spec(),
        "texts": dict(asked.texts),
        "missing": list(asked.missing),
        "share": asked.share,
        "unit": asked.unit,
        **({"labels": {language: dict(labels) for language, labels in asked.labels}} if asked.labels else {}),
        **({"attribute": asked.attribute} if asked.attribute else {}),
    }


def _asked(spec: object, device: bool) -> Asked:
    plain = dict(spec) if isinstance(spec, Mapping) else {}
    labels, attribute = plain.pop("labels", None), plain.pop("attribute", "")
    name, question, texts, missing, share, unit = take(
        plain, "a question", ("name", "question", "texts", "missing", "share", "unit")
    )
    return Asked(
        text_of(name, "a question", "name"),
        question_from_spec(question, device=device),
        texts,
        tuple(missing) if isinstance(missing, list) else missing,
        integer(share, "a question", "share"),
        text_of(unit, "a question", "unit"),
        attribute=text_of(attribute, "a question", "attribute"),
        labels=() if labels is None else labels,
    )


def _arm(spec: object, budget: Budget, device: bool) -> Arm:
    name, weight, mechanism = take(spec, "an arm", ("name", "weight", "mechanism"))
    return Arm(
        text_of(name, "an arm", "name"),
        Mechanism.from_spec(mechanism, budget=budget, device=device),
        integer(weight, "an arm", "weight"),
    )
