"""The folder of the dossier."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from sottovoce import __version__
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.language.plural import plural
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import decimal_text
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
from sottovoce.study.study_plan import StudyPlan


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
    certificate = one.certificate
    return {
        "arm": one.arm,
        "mechanism": certificate.name,
        "fingerprint": certificate.fingerprint,
        "claimed": decimal_text(certificate.claimed),
        "epsilon": certificate.epsilon,
        "ratio": None
        if certificate.ratio is None
        else f"{certificate.ratio.numerator}/{certificate.ratio.denominator}",
        "exact": certificate.exact,
        "how": certificate.how,
    }


def _index(plan: StudyPlan, audited: list[Audited], manifest: Manifest, picture: str) -> str:
    study, name = plan.study, manifest.hash
    account = StudyAccount.of(manifest, participants=plan.participants)
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
            section("What adds up", *(paragraph(line) for line in account.text().splitlines())),
            _nist(plan, audited, account),
            _impact(plan, manifest),
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
            f"+- {one.asked.margin(one.half_width)}",
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


def _nist(plan: StudyPlan, audited: list[Audited], account: StudyAccount) -> str:
    """By the questions of NIST SP 800-226."""
    study, gain = plan.study, account.amplified
    assert gain is not None  # the account knows how many take part
    exact = sum(one.certificate.exact for one in audited)
    memos = any(one.certificate.claimed_forever is not None for one in audited)
    rows = [
        ("Unit of privacy", f"one {study.unit}, one participation. {account.manifest.participation_text()}"),
        ("Trust model", "local: devices add the noise, and nobody else needs to be trusted with answers"),
        ("Epsilon and delta", f"{decimal_text(study.epsilon)}, pure (delta 0)"),
        (
            "Composition",
            f"each report answers one question with the whole budget; all reports of a device to this study lose at"
            f" most {decimal_text(account.manifest.largest_loss)}, which the device counts and enforces",
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
            f"none is claimed. Behind a shuffler of another operator epsilon would be {gain.epsilon:.4g} with delta"
            f" {gain.delta:.2g} towards who sees shuffled reports only",
        ),
        ("Utility", f"expected errors above; intervals at {100 * plan.level:g} % accompany every estimate"),
        ("Missing answers", _missing(plan)),
        ("Access", study.analysts or "to be completed: who analyses"),
    ]
    return section("By the questions of NIST SP 800-226", table(("question", "answer"), rows))


def _missing(plan: StudyPlan) -> str:
    """Which questions have reasons for giving no answer, and what becomes of them."""
    allowed = [f"{one.name} ({', '.join(one.missing)})" for one in plan.study.questions if one.missing]
    if not allowed:
        return "no question offers a reason for giving no answer; who gives no answer sends nothing"
    return (
        f"reasons for giving no answer are answers, noised like any other; estimates show what they hide. Offered by"
        f" {'; '.join(allowed)}"
    )


def _met(plan: StudyPlan) -> str:
    """What the budget is for: the goals of the plan, where it has any."""
    goals = [
        f"{one.asked.name} +- {one.asked.margin(float(one.goal))}" for one in plan.questions if one.goal is not None
    ]
    return f" The plan meets its goals with this budget: {', '.join(goals)}." if goals else ""


def _impact(plan: StudyPlan, manifest: Manifest) -> str:
    """A draft by the parts that Article 35(7) of the GDPR names."""
    study = plan.study
    dates = f"from {study.start} to {study.end}" if study.start and study.end else "dates to be completed"
    return section(
        "Draft of a data-protection impact assessment",
        paragraph(
            f"Description: {plural(len(study.questions), 'question')}, {plan.participants:,} participants, {dates}."
            f" Purpose: {study.purpose} Reports are random ids and noisy payloads; no addresses, times or accounts are"
            " kept."
        ),
        paragraph(
            "Necessity and proportionality: the collector cannot see an answer. A smaller budget would make the"
            f" expected errors above larger.{_met(plan)}"
        ),
        todo("legal basis, why these questions and no fewer, and why estimates must be as precise as planned"),
        paragraph(
            "Risks: a report changes the odds between two answers by at most a factor"
            f" {explain(study.epsilon).to_dict()['odds']:.3g}; all reports of a device to this study lose at"
            f" most epsilon {decimal_text(manifest.largest_loss)}; fake reports can move estimates; participation is"
            " visible."
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
