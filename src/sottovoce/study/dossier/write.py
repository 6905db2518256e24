"""The folder of the dossier."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from sottovoce import __version__
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import decimal_text
from sottovoce.privacy.accounting.shuffling import shuffled
from sottovoce.privacy.accounting.study import StudyAccount
from sottovoce.privacy.audit import audit
from sottovoce.privacy.certificate import Certificate
from sottovoce.privacy.explain import explain
from sottovoce.privacy.leakage import leakage
from sottovoce.study.dossier.consent import consent_page
from sottovoce.study.dossier.deployments import compared
from sottovoce.study.dossier.pages import figure, listed, page, paragraph, section, table, todo
from sottovoce.study.dossier.registry import entry, yaml_text
from sottovoce.study.dossier.software import bill_of_materials
from sottovoce.study.whole import StudyPlan

DELTA = 1e-6  # at which the gain of a shuffler is shown


@dataclass(frozen=True, slots=True)
class Audited:
    """An arm of the first round with its certificate."""

    arm: str
    mechanism: Mechanism
    certificate: Certificate


def write_dossier(plan: StudyPlan, folder: Path, *, today: date | None = None) -> list[Path]:
    """Write all files into a new folder; the names of the files."""
    if folder.exists():
        raise ParameterError("The folder of the dossier exists already: name a new one.")
    manifest = plan.manifest()
    audited = [Audited(arm.name, arm.mechanism, audit(arm.mechanism)) for arm in manifest.stage.arms]
    wrong = [one.arm for one in audited if not one.certificate.ok]
    if wrong:
        raise ParameterError(f"No dossier: the audit of {wrong[0]} fails.")
    day = today or date.today()
    picture = load("study.picture:inline")(plan)  # which needs the extra of plots
    texts = {
        "index.html": _index(plan, audited, manifest, picture),
        "plan.svg": picture,
        "registry-entry.yaml": yaml_text(entry(plan, day)),
        "certificates.json": _json([_certificate(one) for one in audited]),
        "manifest.json": manifest.content.decode(),
        "plan.json": plan.to_frame().to_json(orient="records", indent=2) + "\n",
        "software.json": _json(bill_of_materials()),
        **{f"consent-{language}.html": consent_page(manifest, language) for language in plan.study.languages},
    }
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return sorted(folder.iterdir())


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _certificate(one: Audited) -> dict[str, object]:
    found = one.certificate
    return {
        "arm": one.arm,
        "mechanism": found.name,
        "fingerprint": found.fingerprint,
        "claimed": decimal_text(found.claimed),
        "epsilon": found.epsilon,
        "ratio": None if found.ratio is None else f"{found.ratio.numerator}/{found.ratio.denominator}",
        "exact": found.exact,
        "how": found.how,
    }


def _index(plan: StudyPlan, audited: list[Audited], manifest: Manifest, picture: str) -> str:
    study, name = plan.study, manifest.hash
    return page(
        f"Dossier: {study.name}",
        [
            paragraph(f"{study.purpose} Responsible: {study.owner}. Data-protection officer: {study.contact}."),
            paragraph(f"Manifest of the first round: {name}. Every number on this page is computed from it."),
            _questions(plan),
            section(
                "The plan as a picture",
                figure(picture, "Expected +- of each question against participants and epsilon"),
            ),
            _meaning(plan, audited),
            _account(plan, manifest),
            _nist(plan, audited),
            _impact(plan),
            _certificates(audited),
            _software(),
        ],
    )


def _questions(plan: StudyPlan) -> str:
    study = plan.study
    rows = [
        (
            one.asked.text(study.languages[0]),
            one.asked.question.kind,
            one.plan.best.method,
            f"{one.participants:,}",
            f"+- {one.half_width:.3g} {one.asked.unit_of_numbers}",
            ", ".join(one.asked.missing),
        )
        for one in plan.questions
    ]
    header = ("question", "kind", "method", "participants", f"expected at {100 * plan.level:g} %", "may also say")
    shared = [paragraph(one.text()) for one in plan.sharing]
    return section("Questions and plan", table(header, rows), *shared, paragraph(plan.advice))


def _meaning(plan: StudyPlan, audited: list[Audited]) -> str:
    study = plan.study
    told = []
    for one in audited:
        try:
            told.append(f"{one.arm}: {leakage(one.mechanism).text()}")
        except ParameterError:
            bound = float(explain(study.epsilon).guess)
            told.append(f"{one.arm}: at most the guess that epsilon allows, {100 * bound:.1f} % of two equal answers.")
    return section(
        "What the budget means",
        *(paragraph(line) for line in explain(study.epsilon).text().splitlines()),
        paragraph("What one report tells an observer to whom all answers are equally likely, from the actual channel:"),
        listed(told),
        table(
            ("deployment", "epsilon", "protects"),
            compared(study.epsilon, study.unit),
            "Published deployments; the first is the most private, the last the least",
        ),
    )


def _account(plan: StudyPlan, manifest: Manifest) -> str:
    """What adds up, and what a crowd would hide."""
    account = StudyAccount.of(manifest, participants=plan.participants)
    return section("What adds up", *(paragraph(line) for line in account.text().splitlines()))


def _nist(plan: StudyPlan, audited: list[Audited]) -> str:
    """By the questions of NIST SP 800-226."""
    study = plan.study
    waves = int(study.facts.lifetime // study.epsilon)
    gain = shuffled(study.epsilon, participants=min(one.participants for one in plan.questions), delta=DELTA)
    exact = sum(one.certificate.exact for one in audited)
    memos = any(one.certificate.claimed_forever is not None for one in audited)
    rows = [
        ("Unit of privacy", f"one {study.unit}, one participation; {waves} participations within the lifetime budget"),
        ("Trust model", "local: devices add the noise, and nobody else needs to be trusted with answers"),
        ("Epsilon and delta", f"{decimal_text(study.epsilon)}, pure (delta 0)"),
        (
            "Composition",
            f"each participant answers one question with the whole budget; over waves at most"
            f" {decimal_text(study.facts.lifetime)}, which the device counts and enforces",
        ),
        ("Implementation audit", f"{exact} of {len(audited)} mechanisms have an exact certificate of the shipped law"),
        (
            "Side channels",
            "integer arithmetic only (no floating-point leak); reports of fixed length; a report leaves the device a"
            " fixed time after the answer; its type and order do not depend on coins",
        ),
        ("Randomness", "the operating system's generator; exact given uniform words"),
        (
            "Not protected",
            "that a device took part, if the network shows it, and facts about a crowd that hold for its members"
            + (", and when an answer changed that a device keeps a memo of" if memos else ""),
        ),
        (
            "Amplification",
            f"none is claimed. Behind a shuffler of another operator epsilon would be {gain.epsilon:.3g} with delta"
            f" {DELTA:g} towards who sees shuffled reports only",
        ),
        ("Utility", f"expected errors above; intervals at {100 * plan.level:g} % accompany every estimate"),
        ("Missing answers", "don't know and refused are answers, noised like any other; estimates show what they hide"),
        ("Access", study.analysts or "to be completed: who analyses"),
    ]
    return section("By the questions of NIST SP 800-226", table(("question", "answer"), rows))


def _impact(plan: StudyPlan) -> str:
    """A draft by the parts that Article 35(7) of the GDPR names."""
    study = plan.study
    dates = f"from {study.start} to {study.end}" if study.start and study.end else "dates to be completed"
    return section(
        "Draft of a data-protection impact assessment",
        paragraph(
            f"Description: {len(study.questions)} questions, {plan.participants:,} participants, {dates}. Purpose:"
            f" {study.purpose} Reports are random ids and noisy payloads; no addresses, times or accounts are kept."
        ),
        paragraph(
            "Necessity and proportionality: the collector cannot see an answer. A smaller budget would make the"
            " expected errors above larger; a larger one is not needed to meet them."
        ),
        todo("legal basis, and why these questions and no fewer"),
        paragraph(
            "Risks: a report changes the odds between two answers by at most a factor"
            f" {explain(study.epsilon).to_dict()['odds']:.3g}; repeated participation adds up to"
            f" epsilon {decimal_text(study.facts.lifetime)}; fake reports can move estimates; participation is visible."
        ),
        listed(
            [
                "Measures: noise on the device, certified; a ledger on the device; fixed length and time of reports.",
                "Measures: opt-in with the payload shown before and after noise; opt-out deletes what is unsent.",
                "Measures: a bound beside each estimate on how far fake reports could move it.",
            ]
        ),
        todo("retention period, recipients, and the advice of the data-protection officer"),
    )


def _certificates(audited: list[Audited]) -> str:
    rows = [
        (
            one.arm,
            one.certificate.name,
            f"{one.certificate.epsilon:.9g} of {decimal_text(one.certificate.claimed)}",
            "exact" if one.certificate.exact else "not exact",
            one.certificate.how,
            one.certificate.fingerprint[:16],
        )
        for one in audited
    ]
    header = ("arm", "mechanism", "epsilon", "certificate", "computed", "fingerprint")
    return section("Certificates", table(header, rows), paragraph("The ratios are in certificates.json."))


def _software() -> str:
    count = len(bill_of_materials()["components"])
    return section(
        "Software", paragraph(f"sottovoce {__version__}; {count} components with versions are in software.json.")
    )
