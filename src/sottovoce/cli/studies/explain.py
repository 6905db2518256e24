"""`sottovoce explain STUDY`: what a study, or one round of it, means for one person."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sottovoce.cli.studies.study import load_study, planned
from sottovoce.client.arguments import SentenceParser
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.files.places import reading
from sottovoce.privacy.accounting.study import DELTA, StudyAccount
from sottovoce.privacy.explain import OF_A_STUDY, explain
from sottovoce.privacy.leakage import Leakage, leakage, reidentify
from sottovoce.study.dossier.deployments import compared
from sottovoce.study.questions import study_question
from sottovoce.study.simulating import drawn_answers
from sottovoce.study.study import Study

CROWD = 1000  # people among whom an observer looks for one


@dataclass(frozen=True, slots=True)
class Explained:
    """A study for one person."""

    manifest: Manifest
    account: StudyAccount
    told: dict[str, Leakage]
    study: Study | None

    def lines(self) -> Iterator[str]:
        """The explanation in sentences."""
        facts = self.manifest.facts
        yield from self.manifest.text().splitlines()
        yield from self.account.text().splitlines()
        # Reports from memos are not fresh answers: their losses do not add up to that of a sequence.
        total = explain(facts.epsilon, answers=1 if self.account.sequences else self.account.taken)
        yield from total.text().splitlines()
        for name, told in self.told.items():
            yield f"{name}, by its actual channel: {told.text()}"
        if (sought := _sought(self.manifest, self.study)) is not None:
            yield sought
        rows = compared(facts.epsilon, facts.unit)
        yield "Beside published deployments, from the most private to the least private:"
        yield from (f"  {name}: epsilon {epsilon} for {unit}" for name, epsilon, unit in rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "study": self.manifest.facts.name,
            "manifest": self.manifest.hash,
            "unit": self.manifest.facts.unit,
            "account": self.account.to_dict(),
            "meaning": explain(self.manifest.facts.epsilon).to_dict(),
            "questions": {
                name: {"blind": one.blind, "guess": one.guess, "bits": one.bits, "most_bits": one.capacity_bits}
                for name, one in self.told.items()
            },
        }


def main(arguments: Sequence[str]) -> int:
    """The verb."""
    parser = SentenceParser(
        "explain",
        OF_A_STUDY,
        "What a study means for one person.",
        ["explain sleep.toml --participants 3000", "explain sleep.toml --waves 12 --also 0.5"],
    )
    parser.add_argument("file", help="a study file (TOML) or a manifest (JSON)")
    parser.add_argument("--participants", type=int, help="of one wave")
    parser.add_argument("--waves", type=int, help="of which a device answers as many as the study allows")
    parser.add_argument("--values", type=int, default=1, help="different answers to a question with a memo")
    parser.add_argument("--also", action="append", default=[], help="the epsilon of another study; may be repeated")
    parser.add_argument("--delta", type=float, default=DELTA, help="what advanced composition and shuffling may spend")
    parser.add_argument(
        "--rate", default="1", help="the fixed share of a population that is drawn, if nobody can tell who"
    )
    parser.add_argument("--question", help="of which an observer believes something")
    parser.add_argument("--belief", help="probabilities of its answers, separated by commas")
    parser.add_argument("--json", action="store_true", help="print plain data")
    options = parser.parse_args(arguments)
    study, manifest = _opened(options.file, options.participants, shown=not options.json)
    account = StudyAccount.of(
        manifest,
        participants=options.participants,
        waves=manifest.facts.answers if options.waves is None else options.waves,
        values=options.values,
        also=options.also,
        delta=options.delta,
        rate=options.rate,
    )
    explained = Explained(manifest, account, _told(manifest, options.question, options.belief), study)
    print(json.dumps(explained.to_dict(), indent=2) if options.json else "\n".join(explained.lines()))
    return 0


def _opened(path: str, participants: int | None, *, shown: bool) -> tuple[Study | None, Manifest]:
    if path.lower().endswith(".json"):
        with reading(path, "The manifest") as file:
            return None, Manifest.from_spec(file.read())
    study = load_study(path)
    return study, planned(study, participants, shown=shown).manifest()


def _told(manifest: Manifest, question: str | None, belief: str | None) -> dict[str, Leakage]:
    """What one report tells to the stated belief; elsewhere, where all answers are equally likely."""
    if (question is None) != (belief is None):
        raise ParameterError("A belief needs a question, and a question a belief.")
    known = [arm.name for arm in manifest.stage.arms]
    if question is not None and question not in known:
        raise ParameterError(f"This round has no such question. Known: {', '.join(known)}.")
    leakages: dict[str, Leakage] = {}
    for arm in manifest.stage.arms:
        try:
            leakages[arm.name] = leakage(arm.mechanism, _numbers(belief) if arm.name == question else None)
        except ParameterError:
            if arm.name == question:
                raise
    return leakages


def _numbers(text: str | None) -> list[float]:
    try:
        return [float(part) for part in (text or "").split(",")]
    except ValueError:
        raise ParameterError("A belief is a list of probabilities, such as 0.9,0.1.") from None


def _sought(manifest: Manifest, study: Study | None) -> str | None:
    """The attack of an observer who knows all true answers, on the described population, if one person answered all."""
    if study is None or not study.population:
        return None
    arms = [
        (arm, manifest.asked(place))
        for place, arm in enumerate(manifest.stage.arms)
        if arm.mechanism.channel.codes_are_indices and len(study_question(manifest.asked(place)).columns) == 1
    ]
    try:
        answers = drawn_answers(study.questions, dict(study.population), CROWD, 1)
        columns = [[asked.answer(value) for value in answers[study.attribute(asked.name)]] for _, asked in arms]
        attack = reidentify([arm.mechanism for arm, _ in arms], columns, seed=1)
    except ParameterError:  # a question that is not described, or reports whose law is too large
        return None
    listed = ", ".join(arm.name for arm, _ in arms)
    return f"If a person answered all of {listed}, each in a study of its own: {attack.text()}"
