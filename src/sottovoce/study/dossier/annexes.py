"""The annexes of a dossier: privacy, accuracy, questionnaire, consent, certificates, checklist and assessment."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from sottovoce import __version__
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.html import Html
from sottovoce.core.language.plural import plural
from sottovoce.core.params import decimal_text
from sottovoce.privacy.accounting.study import StudyAccount
from sottovoce.privacy.explain import explain
from sottovoce.privacy.leakage import leakage
from sottovoce.study.display.asked_counts import asked_counts
from sottovoce.study.display.numbers import SPACE
from sottovoce.study.display.planning import margin_text, seen
from sottovoce.study.documents.elements import listed, paragraph, section, table
from sottovoce.study.dossier.consent import questions_table
from sottovoce.study.dossier.deployments import compared
from sottovoce.study.dossier.document import DossierFacts
from sottovoce.study.dossier.software import bill_of_materials
from sottovoce.study.effects import effect_texts
from sottovoce.study.strata import strata_text

ANNEXES = (
    "How privacy is protected",
    "How exact the results will be",
    "Questionnaire, with all answers",
    "Information sheet and consent",
    "Certificates and software",
    "Checklist of NIST SP 800-226",
    "Draft of the impact assessment",
    "Words explained",
)
LETTERS = "ABCDEFGH"
WORDS = (
    ("Epsilon", "How much a scrambled answer can tell. Smaller is more private; 0 tells nothing."),
    ("Interval", "The range that contains the true value, in as many of 100 such studies as its level says."),
    ("Local", "The device itself scrambles the answer. Nobody else has the true one."),
    ("Margin (±)", "Half the width of an interval."),
    ("Mechanism", "The rule by which chance turns an answer into what is sent. It is public."),
    ("Points", "Percentage points: the difference between 20 % and 23 % is 3 points."),
    ("Shuffler", "A helper that passes answers on in a random order, so that nobody sees who sent which."),
)


def annexes(known: DossierFacts) -> Iterator[str]:
    """All annexes, in order."""
    account = StudyAccount.of(known.manifest, participants=known.plan.participants)
    parts = (
        _privacy(known, account),
        _accuracy(known),
        [questions_table(known.manifest, known.manifest.facts.languages[0])],
        _consent(known),
        _certificates(known),
        _nist(known, account),
        _impact(known),
        iter([table(("Word", "What it means"), WORDS)]),
    )
    for letter, heading, part in zip(LETTERS, ANNEXES, parts, strict=True):
        yield section(heading, *part, anchor_name=f"part-{letter.lower()}", number=letter)


def _text_of(known: DossierFacts, arm: str) -> str:
    """The text of the question of an arm; `a: b` is a part of the question a."""
    names = {one.name: one.text("en") for one in known.manifest.questions}
    return names.get(arm, names.get(arm.partition(":")[0], arm))


def _privacy(known: DossierFacts, account: StudyAccount) -> Iterator[str]:
    facts = known.manifest.facts
    lines = explain(facts.epsilon).text().splitlines()
    # The coin of two answers; the study has its own, which the page of participants states.
    yield from (paragraph(line) for line in lines if not line.startswith("Coin:"))
    yield paragraph(
        "What one message tells somebody to whom all answers are equally likely, from the mechanism itself:"
    )
    yield listed(_leaks(known))
    yield paragraph("What adds up, for a person who takes part:")
    yield listed(account.text().splitlines())
    caption = "Published deployments by epsilon, the most private first"
    yield table(("Deployment", "Epsilon", "Protects"), compared(facts.epsilon, facts.unit), caption)


def _leaks(known: DossierFacts) -> Iterator[str]:
    for one in known.audited:
        try:
            told = leakage(one.mechanism).text()
        except ParameterError:
            told = "The messages are too many for a table. No more than what epsilon allows."
        yield f"{_text_of(known, one.arm)} {told}"


def _accuracy(known: DossierFacts) -> Iterator[str]:
    plan = known.plan
    rows = [
        (
            one.asked.text("en"),
            f"{one.participants:,}",
            f"±{SPACE}{margin_text(one, one.half_width)}",
            *seen(one, plan.level),
        )
        for one in plan.questions
    ]
    yield table(
        ("Question", "Answers", "Margin", "Will be seen", "Will not be seen"),
        rows,
        f"Expected with {known.people}, at {100 * plan.level:g}{SPACE}%. “Will be seen”: in at least 80 of 100 such"
        " studies; “will not”: in fewer than 50.",
    )
    yield from (paragraph(one.text()) for one in plan.sharing)
    yield from map(paragraph, effect_texts(plan))
    yield paragraph(plan.advice)
    goals = [
        f"{one.asked.text('en')} ±{SPACE}{margin_text(one, float(one.goal))}"
        for one in plan.questions
        if one.goal is not None
    ]
    if goals:
        yield paragraph(f"The plan meets its goals with this budget: {'; '.join(goals)}.")


def _consent(known: DossierFacts) -> Iterator[str]:
    yield paragraph(
        "The text repeats the sentences of the participant's page. It is beside this document, one file for each"
        " language of the study:"
    )
    names = [f"consent-{escape(language)}.html" for language in known.manifest.facts.languages]
    yield listed(Html(f'<a href="{one}">{one}</a>') for one in names)


def _certificates(known: DossierFacts) -> Iterator[str]:
    rows = [
        (
            _text_of(known, one.arm),
            one.certificate.name,
            f"{one.certificate.epsilon:.9g} of {decimal_text(one.certificate.claimed)}",
            "exact" if one.certificate.exact else "not exact",
            one.certificate.how,
            one.certificate.fingerprint[:16],
        )
        for one in known.audited
    ]
    header = ("Question", "Mechanism", "Epsilon, of the claimed", "Certificate", "Computed by", "Fingerprint")
    yield table(header, rows)
    count = len(bill_of_materials()["components"])
    yield paragraph(
        f"The exact ratios are in certificates.json. Software: sottovoce {__version__}; its {count} components with"
        " their versions are in software.json. The fingerprint of the study is the SHA-256 of manifest.json:"
        f" {known.manifest.hash}."
    )


def _nist(known: DossierFacts, account: StudyAccount) -> Iterator[str]:
    exact = sum(one.certificate.exact for one in known.audited)
    memos = any(one.certificate.claimed_forever is not None for one in known.audited)
    unit = known.manifest.facts.unit
    rows = [
        ("Unit of privacy", f"One {unit}, one participation. {known.manifest.participation_text()}"),
        ("Trust model", "Local: devices add the noise, and nobody else needs to be trusted with answers."),
        ("Epsilon and delta", "On the cover; pure, so delta is 0."),
        (
            "Composition",
            "Each message answers one question with the whole budget. Annex A says what adds up; the device counts it"
            " and enforces the limit.",
        ),
        (
            "Implementation audit",
            f"{exact} of {len(known.audited)} mechanisms have an exact certificate of the shipped law (annex E).",
        ),
        (
            "Side channels",
            "Integer arithmetic only (no floating-point leak). Messages have a fixed length and leave the device a"
            " fixed time after the answer. Their type and order do not depend on chance.",
        ),
        ("Randomness", "The generator of the operating system. The law is exact if its words are uniform."),
        (
            "Not protected",
            "That a device took part, if the network shows it, and facts about a crowd that hold for its members."
            + (" Also when an answer changed of which the device keeps a memo." if memos else ""),
        ),
        ("Amplification", _amplification(known, account)),
        ("Utility", "Annex B; an interval accompanies every estimate."),
        ("Missing answers", _missing(known)),
        *([("Strata", strata_text(known.plan.study))] if known.plan.study.strata else []),
        ("Access", known.manifest.facts.analysts or "To be completed: see section 6."),
    ]
    yield table(("Question", "Answer"), rows)


def _amplification(known: DossierFacts, account: StudyAccount) -> str:
    batch = known.manifest.facts.collection.batch
    if batch is not None and account.crowd_problem is not None:
        return f"None is claimed: {account.crowd_problem}."
    if batch is not None:
        return "By the shuffler of the study, as annex A says, towards somebody who sees shuffled messages only."
    beyond = " Annex A says what a shuffler would add." if account.amplified is not None else ""
    return f"None is claimed: the study has no shuffler.{beyond}"


def _missing(known: DossierFacts) -> str:
    allowed = [f"{one.text('en')} ({', '.join(one.missing)})" for one in known.plan.study.questions if one.missing]
    if not allowed:
        return "No question offers a reason for giving no answer. Who gives no answer sends nothing."
    return (
        "Reasons for giving no answer are answers, scrambled like any other; estimates show what they hide. Offered by:"
        f" {'; '.join(allowed)}"
    )


def _impact(known: DossierFacts) -> Iterator[str]:
    """A draft by the parts that Article 35(7) of the GDPR names; it points to the sections that have the facts."""
    count = plural(asked_counts(known.manifest).total, "question")
    yield table(
        ("Article 35(7)", "Draft"),
        [
            (
                "a. Description",
                f"{count}; sections 1 to 3 have purpose, procedure and duration, section 6 the data. Messages are"
                " random bytes and scrambled answers.",
            ),
            (
                "b. Necessity and proportionality",
                "The collector cannot see an answer. A smaller budget would make the margins of annex B wider.",
            ),
            ("c. Risks", "The label “Who can still learn what”, and section 4."),
            (
                "d. Measures",
                listed(
                    [
                        "Scrambling on the device, with exact certificates (annex E).",
                        "A ledger on the device, which refuses what exceeds the budget.",
                        "Messages of fixed length, a fixed time after the answer.",
                        "Consent, with what would be sent shown before it is sent. Opting out deletes what is unsent.",
                        "A bound beside each estimate on how far fake answers could move it.",
                    ]
                ),
            ),
        ],
    )
    yield known.gap("G", "Why estimates must be as exact as planned, recipients of the data, and the officer's advice.")
