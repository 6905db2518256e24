"""Manifests: the immutable description of one round of a study, which a device reads, checks and may refuse.

A manifest is named by its content: the SHA-256 of its canonical text. Changing anything makes another manifest. A
device computes every epsilon from the channels and compares it with what the manifest states and with its own limit.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from sottovoce.core.arithmetic.hashing import public_ticket
from sottovoce.core.arithmetic.rational import within
from sottovoce.core.asked import Asked
from sottovoce.core.errors import ParameterError, PrivacyError, SpecError
from sottovoce.core.exchange import codec
from sottovoce.core.exchange.experiment import ExperimentArm
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.exchange.study_facts import StudyFacts
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import decimal_text
from sottovoce.core.question import question_from_spec
from sottovoce.core.round import Arm, Round
from sottovoce.core.spec_cost import Budget
from sottovoce.core.specs import Spec, canonical, integer, parse, take
from sottovoce.core.specs import text as text_of
from sottovoce.core.unknown import MAX_FIELDS

VERSION = 1
ID_BYTES = 16
PREFIX_BYTES = 8
_KEYS = ("version", "study", "questions", "round", "quota", "parent", "root", "chosen", "arms")


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
        # Browsers keep questions unread, also those that this package knows, so all devices have one limit.
        parts = [asked.question.brief() for asked in self.questions]
        parts += [
            part for arm in self.stage.arms for part in (arm.mechanism.question.brief(), arm.mechanism.statistic.spec())
        ]
        size = max(map(len, map(canonical, parts)), default=0)
        if size > MAX_FIELDS:
            raise SpecError(
                f"A question of this study takes {size} bytes, and devices read at most {MAX_FIELDS}: ask for fewer"
                " points."
            )
        for arm in self.stage.arms:
            if question_of(arm.name) not in known:
                raise SpecError("An arm of a manifest belongs to none of its questions.")
            if arm.mechanism.claimed > self.facts.epsilon:
                raise PrivacyError(
                    f"An arm claims epsilon {decimal_text(arm.mechanism.claimed)}, more than the"
                    f" {decimal_text(self.facts.epsilon)} that the study states."
                )
        if self.facts.repeat is not None:
            self._check_repeat()
        if self.facts.experiment:
            self._check_experiment()

    def _check_repeat(self) -> None:
        """Waves of a study are its epochs, so it has one round; a memo would have losses that do not add up."""
        if self.number != 1 or self.stage.quota is not None:
            raise SpecError("A repeated study has one round without a quota.")
        if any(arm.mechanism.claimed_forever is not None for arm in self.stage.arms):
            raise SpecError("A repeated study has fresh noise in each wave: its mechanisms keep no memo.")

    def _check_experiment(self) -> None:
        names = [one.name for one in self.facts.experiment]
        if not all(_part_of(arm.name, 1) in names for arm in self.stage.arms):
            raise SpecError("An arm of this round belongs to none of the arms of the experiment.")
        if self.participations != 1:
            raise SpecError("A study with an experiment is answered once: a second answer would be of another arm.")

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
        return self.stage.arm_at(public_ticket(bytes.fromhex(self.hash) + report_id, self.stage.weight))

    def asked(self, arm: int) -> Asked:
        """The question of an arm."""
        name = question_of(self.stage.arms[arm].name)
        return next(one for one in self.questions if one.name == name)

    def experiment_arm(self, arm: int) -> ExperimentArm | None:
        """The arm of the experiment that an arm of the round belongs to; None where there is no experiment."""
        own = _part_of(self.stage.arms[arm].name, 1)
        return next((one for one in self.facts.experiment if one.name == own), None)

    @property
    def participations(self) -> int | None:
        """How many reports a device sends to this study; None where memos allow one in each epoch."""
        if all(arm.mechanism.claimed_forever is not None for arm in self.stage.arms):
            return None
        if self.facts.unit != "event":
            return self.facts.answers
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
        if self.facts.repeat is not None:
            return repeat_text(self.facts.repeat, lifetime)
        if self.facts.rounds > 1:
            return f"The device answers at most {self.facts.rounds} rounds of this study, once each: {lifetime}."
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
        facts = self.facts
        shown = " and which text was shown" if facts.experiment else ""
        return [
            ("version", "of the wire format"),
            ("manifest", f"{PREFIX_BYTES} bytes of the hash of this manifest"),
            ("epoch", "a number of the day or week of the study, the same for everyone" if facts.tells_epoch else "0"),
            ("round", "a number"),
            ("arm", f"which question was asked{shown}; drawn from the id, not chosen"),
            ("id", f"{ID_BYTES} random bytes, drawn for this report only"),
            ("payload", f"the answer after noise, {size} bytes"),
            *([("token", "the invitation, which is good for one report")] if facts.collection.invitations else []),
        ]


def repeat_text(repeat: Repeat, lifetime: str) -> str:
    """How often a device answers a repeated study; `lifetime` says what all its reports lose together."""
    if repeat.window == 1:
        turn = "The device answers once in each of them."
    elif repeat.window == repeat.waves:
        turn = "The device answers in one of them, which it draws beforehand."
    else:
        turn = f"The device draws its first wave beforehand, and answers again every {repeat.window} waves."
    sent = f"It sends at most {plural(repeat.answers, 'report')}: {lifetime}."
    return f"The study has {repeat.waves} waves of {plural(repeat.days, 'day')}. {turn} {sent}"


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
    return _part_of(arm, 0)


def _part_of(arm: str, place: int) -> str:
    """A part of the name of an arm, such as \"smokes: new: first round\"; empty where it has fewer parts."""
    parts = arm.split(":")
    return parts[place].strip() if place < len(parts) else ""


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
        **({"units": dict(asked.units)} if asked.units else {}),
        **({"group_texts": dict(asked.group_texts)} if asked.group_texts else {}),
        **(
            {"attribute_texts": {name: dict(texts) for name, texts in asked.attribute_texts}}
            if asked.attribute_texts
            else {}
        ),
    }


def _asked(spec: object, device: bool) -> Asked:
    plain = dict(spec) if isinstance(spec, Mapping) else {}
    labels, attribute, units = plain.pop("labels", None), plain.pop("attribute", ""), plain.pop("units", ())
    group_texts, attribute_texts = plain.pop("group_texts", ()), plain.pop("attribute_texts", ())
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
        units=units,
        group_texts=group_texts,
        attribute_texts=attribute_texts,
    )


def _arm(spec: object, budget: Budget, device: bool) -> Arm:
    name, weight, mechanism = take(spec, "an arm", ("name", "weight", "mechanism"))
    return Arm(
        text_of(name, "an arm", "name"),
        Mechanism.from_spec(mechanism, budget=budget, device=device),
        integer(weight, "an arm", "weight"),
    )
