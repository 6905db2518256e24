"""The dossier as a document: cover, who can still learn what, and the ten headings that an ethics board expects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from html import escape

from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.language.html import Html
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import decimal_text
from sottovoce.privacy.certificate import Certificate
from sottovoce.study.display.asked_counts import asked_counts
from sottovoce.study.display.dates import day_text, period_text
from sottovoce.study.display.numbers import SPACE
from sottovoce.study.display.planning import margin_text
from sottovoce.study.display.privacy_numbers import coin_sentence, guess_sentence
from sottovoce.study.documents.elements import listed, masthead, paragraph, section, table, todo
from sottovoce.study.experiments.planned import people_in_arms
from sottovoce.study.questions import study_question
from sottovoce.study.study_plan import StudyPlan
from sottovoce.study.words import plain, words

KIND = "Privacy dossier for the ethics board"
MOST_MARGINS = 3  # of the summary
FIELDS = {
    "version": "The version of the message format",
    "manifest": "The beginning of the fingerprint of the study",
    "epoch": "The day or the week of the study, the same for everyone",
    "round": "The round of the study",
    "arm": "Which question was asked, and in an experiment which text was shown; chance drew both",
    "id": "Random bytes, drawn for this message only",
    "payload": "The scrambled answer",
    "token": "The invitation, which is good for one message",
}


@dataclass(frozen=True, slots=True)
class AuditedArm:
    """A question of the first round with the certificate of its mechanism."""

    arm: str
    mechanism: Mechanism
    certificate: Certificate


@dataclass(frozen=True, slots=True)
class DossierFacts:
    """What a dossier is made of.

    Attributes:
        gaps: what only the owner can say, with the number of its section; filled while the sections are written.
    """

    plan: StudyPlan
    manifest: Manifest
    audited: tuple[AuditedArm, ...]
    day: date
    gaps: list[tuple[str, str]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The title of the study."""
        return self.manifest.facts.title_in("en")

    @property
    def people(self) -> str:
        """How many take part."""
        noun = {"person": "people", "device": "devices", "event": "events"}[self.manifest.facts.unit]
        return f"{self.plan.participants:,} {noun}"

    def gap(self, number: str, text: str) -> str:
        """Mark a gap, and count it for the cover."""
        self.gaps.append((number, text))
        return todo(text)


def cover(known: DossierFacts, contents: list[tuple[str, str]]) -> str:
    """The cover: title, summary and contents. Written last, because it counts the gaps."""
    lead = f"{known.people}; chance scrambles each answer on the device, so nobody can be sure of one person's answer."
    draft = f"Draft: {plural(len(known.gaps), 'item')} to complete" if known.gaps else ""
    rows = "".join(
        f'<li><a href="#part-{number.lower()}"><span>{number}</span><span>{escape(name)}</span></a></li>'
        for number, name in contents
    )
    return "\n".join(
        [
            '<div class="cover">',
            masthead(known.manifest.facts.owner, KIND, known.title, lead, badge=draft or "Complete"),
            _summary(known),
            f'<section><h2>Contents</h2><ol class="contents">{rows}</ol></section>',
            f'<p class="fine">Version of {day_text(known.day)} · fingerprint of the study'
            f" <code>{known.manifest.hash[:16]}</code></p>",
            "</div>\n",
        ]
    )


def _summary(known: DossierFacts) -> str:
    manifest, facts = known.manifest, known.manifest.facts
    asked = list(dict.fromkeys(one.text("en") for one in manifest.questions))
    sections = sorted({number for number, _ in known.gaps}, key=lambda one: (len(one), one))
    complete = f"{plural(len(known.gaps), 'item')}, in {_places(sections)}" if known.gaps else "Nothing"
    rows = [
        ("Questions", " ".join(asked[:4]) + (f" And {len(asked) - 4} more." if len(asked) > 4 else "")),
        ("Participants", f"{known.people}. {_participation(known)}"),
        (
            "What is sent",
            "One answer, scrambled by chance. Nobody can tell whether it is the true one. No name.",
        ),
        ("Protection", f"Epsilon {decimal_text(facts.epsilon)} per {facts.unit}, local. {guess_sentence(manifest)}"),
        ("Remaining risk", "See “Who can still learn what”, which follows."),
        ("Accuracy", _accuracy(known)),
        ("To complete", complete),
    ]
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in rows)
    return f'<section class="summary"><h2>Summary</h2><dl>{items}</dl></section>'


def _places(sections: list[str]) -> str:
    numbers, letters = ([one for one in sections if one.isdigit() == wanted] for wanted in (True, False))
    return "; ".join(
        f"{noun}{'s' if len(some) > 1 else ''} {', '.join(some)}"
        for noun, some in (("section", numbers), ("annex", letters))
        if some
    )


def _participation(known: DossierFacts) -> str:
    count = asked_counts(known.manifest)
    some = "one" if count.most == 1 else count.some
    if count.total == 1:
        return "Each is asked one question."
    if not count.draws:
        return f"Each is asked {count.total} questions."
    if known.manifest.facts.collection.ask_all:
        return f"Each answers {count.total} questions, of which chance draws {some} to be sent."
    return f"Each is asked {some} of {count.total} questions, drawn by chance."


def _accuracy(known: DossierFacts) -> str:
    level = f"Intervals at {100 * known.plan.level:g}{SPACE}%"
    widest: dict[str, tuple[float, str]] = {}
    for one in known.plan.questions:
        noun = one.asked.question.noun
        margin = f"{noun} ±{SPACE}{margin_text(one, one.half_width)}"
        if noun not in widest or one.half_width > widest[noun][0]:
            widest[noun] = (one.half_width, margin)
    said = "; ".join(text for _, text in list(widest.values())[:MOST_MARGINS])
    finding = f"{level}, the widest of each kind: {said}. All are in annex B."
    smallest = [one for one in known.plan.questions if one.smallest_difference is not None]
    if not smallest:
        return finding
    seen = "; ".join(
        f"{one.asked.name} {study_question(one.asked).difference_text(one.smallest_difference or 0)}"
        for one in smallest[:MOST_MARGINS]
    )
    return f"{finding} Differences between the versions of the page that 80 of 100 such studies see: {seen}."


# --- who can still learn what ------------------------------------------------------------------------
def how_to_read_label(known: DossierFacts) -> str:
    """What the label rests on."""
    chance = coin_sentence(known.manifest)
    return section(
        "How to read the label",
        paragraph(
            f"The numbers follow from epsilon and from the mechanisms of the study; annex A derives them. {chance} They"
            " hold for any two answers, also towards somebody who knows the participant well. The server need not be"
            " trusted: the device scrambles the answer, and checks the numbers before it answers. The page that the"
            " device loads must be trusted; its code is public. The label is written for a page that is encrypted"
            " (https)."
        ),
    )


# --- the ten headings --------------------------------------------------------------------------------
HEADINGS = (
    *("Purpose", "Procedure", "Duration", "Risks", "Benefits"),
    *("Data", "Retention", "Withdrawal", "Contact", "Signatures"),
)


def body(known: DossierFacts) -> Iterator[str]:
    """The ten sections, in order."""
    writers = (
        _purpose,
        _procedure,
        _duration,
        _risks,
        _benefits,
        _data,
        _retention,
        _withdrawal,
        _contact,
        _signatures,
    )
    for number, (heading, write) in enumerate(zip(HEADINGS, writers, strict=True), 1):
        yield section(heading, *write(known, str(number)), anchor_name=f"part-{number}", number=str(number))


def _purpose(known: DossierFacts, number: str) -> Iterator[str]:
    facts = known.manifest.facts
    yield paragraph(f"{facts.purpose_in('en')} The study is run by {facts.owner}.")
    yield known.gap(number, "Why these questions are needed, and no others.")


def _procedure(known: DossierFacts, number: str) -> Iterator[str]:
    invited = known.manifest.facts.collection.invitations
    yield listed(
        [
            "A participant opens a page in the browser of a phone or a computer. Nothing is installed."
            + (" An invitation is needed, which is good for one answer." if invited else ""),
            f"The page explains the study and asks for consent. {_participation(known)}",
            *_experiment(known),
            "The device scrambles the answer by chance and shows what would be sent beside the true answer.",
            "Only after “Send” does the scrambled answer leave the device.",
            *_shuffled(known),
        ]
    )
    yield paragraph("Annex C lists all questions and answers. Annex D has the text that participants agree to.")
    yield known.gap(number, "Who is asked, how they are reached, and who is excluded.")


def _experiment(known: DossierFacts) -> list[str]:
    arms = known.manifest.facts.experiment
    if not arms:
        return []
    count = people_in_arms(known.plan)
    said = "; ".join(f"{count[arm.name]:,} read “{arm.text('en')}”" for arm in arms if arm.texts)
    rest = sum(count[arm.name] for arm in arms if not arm.texts)
    others = f"; {rest:,} read no text" if rest else ""
    return [f"Above the question, chance shows one of {len(arms)} versions of the page: {said}{others}."]


def _shuffled(known: DossierFacts) -> list[str]:
    batch = known.manifest.facts.collection.batch
    if batch is None:
        return []
    return [f"A shuffler of another operator passes the sealed answers on in batches of at least {batch:,}."]


def _duration(known: DossierFacts, number: str) -> Iterator[str]:
    facts = known.manifest.facts
    dates = period_text(facts)
    if facts.start and facts.end:
        yield paragraph(f"Answers are collected from {dates.replace(' to ', ' until ')}.")
    else:
        yield known.gap(number, "The first and the last day of the collection.")
    yield paragraph(known.manifest.participation_text())
    yield known.gap(number, "How many minutes taking part takes, tried with a few people.")


def _risks(known: DossierFacts, number: str) -> Iterator[str]:
    yield listed(
        [
            "A scrambled answer is a hint at the true one. How strong a hint it can be is on the label.",
            "That somebody took part can be seen where the label says so.",
            "Results are facts about a group. They can be about a person who is known to belong to it, whether or not"
            " the person took part.",
            "Fake answers can move the results, not the privacy of participants. The report of the study says by how"
            " much at most.",
        ]
    )
    yield known.gap(number, "Whether a question can distress participants, and where they find help.")


def _benefits(known: DossierFacts, number: str) -> Iterator[str]:
    yield paragraph("Participants have no direct benefit. The results are shown to everyone on the page of the study.")
    yield known.gap(number, "The benefit for patients, customers or the public, and any compensation.")


def _data(known: DossierFacts, number: str) -> Iterator[str]:
    rows = [(FIELDS[name], name) for name, _ in known.manifest.fields_sent()]
    yield paragraph("A device sends one message. It holds nothing but these fields:")
    yield table(("What it is", "Field"), rows)
    yield paragraph(
        "The collector adds the scrambled answer to counts and keeps the random bytes, so that each message is counted"
        " once. The program stores no names, internet addresses, or times of day."
    )
    analysts = known.manifest.facts.analysts
    if analysts:
        yield paragraph(f"The counts are analysed by: {analysts}.")
    else:
        yield known.gap(number, "Who analyses the counts.")
    yield known.gap(number, "The legal basis, and where the server stands.")


def _retention(known: DossierFacts, number: str) -> Iterator[str]:
    yield paragraph("The counts hold no answer of a person. The random bytes are needed while answers are collected.")
    yield known.gap(number, "How long the random bytes and the counts are kept, and who deletes them.")


def _withdrawal(known: DossierFacts, number: str) -> Iterator[str]:
    say = words("en")["page"]
    yield paragraph("Participants read this before they start, and after sending:")
    yield listed([f"“{plain(say[key])}”" for key in ("choice_more", "after_more", "mind_more")])


def _contact(known: DossierFacts, number: str) -> Iterator[str]:
    facts = known.manifest.facts
    yield paragraph(f"Responsible: {facts.owner}. Data protection: {facts.contact}.")
    yield known.gap(number, "The name and telephone number of a person who answers questions.")


def _signatures(known: DossierFacts, number: str) -> Iterator[str]:
    names = ("Principal investigator", "Data-protection officer", "For the ethics board")
    lines = "".join(f"<div>{escape(one)}: place, date, signature</div>" for one in names)
    yield Html(f'<div class="signatures">{lines}</div>')
