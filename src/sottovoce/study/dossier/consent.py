"""The text that participants agree to, for paper. It repeats the sentences of the participant's page word by word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from sottovoce.core.asked import Asked
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.language.html import Html
from sottovoce.study.display.asked_counts import asked_counts
from sottovoce.study.display.consequences import consequences
from sottovoce.study.display.privacy_numbers import coin_number, wrong_guesses
from sottovoce.study.documents.elements import listed, masthead, page, paragraph, section, table
from sottovoce.study.dossier.sentences import sentences
from sottovoce.study.questions import study_question
from sottovoce.study.words import local_date, plain, spoken, words


def consent_page(manifest: Manifest, language: str) -> str:
    """A document that stands alone: why, what happens, how sure anyone can be, who can learn what, and the consent."""
    title = sentences(language)["title"].format(name=manifest.facts.title_in(language))
    return page(title, consent_parts(manifest, language), language)


def consent_parts(manifest: Manifest, language: str) -> Iterator[str]:
    """The parts of the document, in the order of the participant's page."""
    facts, say, own = manifest.facts, words(language)["page"], sentences(language)
    title = facts.title_in(language)
    yield masthead(facts.owner, own["title"].format(name=title), title, facts.purpose_in(language))
    steps = (("answer", "answer_more"), ("scramble", "scramble_more"), ("seen", "seen_more"))
    yield section(
        f"{say['crowd']} {say['about_you']}",
        listed(Html(f"<b>{spoken(say[name])}.</b> {spoken(say[more])}") for name, more in steps),
    )
    yield section(say["sure"], *(paragraph(one) for one in promises(manifest, language)))
    if manifest.facts.experiment:
        yield listed(shown_texts(manifest, language))
    yield questions_table(manifest, language)
    yield section(say["before"], _before(manifest, language))
    yield label(manifest, language)
    yield section(plain(say["leaves"]), paragraph(say["exact_more"]))
    yield (
        f'<section><p class="tick"><span class="box"></span> {escape(say["consent"])}</p>'
        f'<div class="signatures"><div>{escape(own["sign"])}</div></div></section>'
    )


def promises(manifest: Manifest, language: str) -> Iterator[str]:
    """How sure anyone can be: what chance decides, how often a guess is wrong, and how many questions are asked."""
    say, coin, wrong = words(language)["page"], coin_number(manifest), wrong_guesses(manifest)
    if coin:
        yield spoken(say["coin"], coin=coin)
        yield spoken(say["alike"], coin=coin)
    yield spoken(say["guess"], guess=wrong) if wrong else spoken(say["weak"])
    counted = asked_counts(manifest).sentence(language, asks_all=manifest.facts.collection.ask_all)
    if counted:
        yield counted
    if manifest.facts.experiment:
        yield spoken(say["experiment"])


def shown_texts(manifest: Manifest, language: str) -> list[str]:
    """The texts of an experiment, of which each participant reads one; arms without a text show nothing more."""
    return [f"“{arm.text(language)}”" for arm in manifest.facts.experiment if arm.texts]


def asked_apart(manifest: Manifest) -> list[Asked]:
    """The questions that a participant can be asked: those about one answer are asked once."""
    names = {manifest.asked(place).key for place in range(len(manifest.stage.arms))}
    return [one for one in manifest.questions if one.name in names]


def questions_table(manifest: Manifest, language: str) -> str:
    """Every question with all its answers."""
    own = sentences(language)
    rows = [_question(one, language, own) for one in asked_apart(manifest)]
    return table((own["question"], own["answers"], own["also"]), rows)


def _question(asked: Asked, language: str, own: Mapping[str, str]) -> tuple[str, str, str]:
    reasons = [asked.label(reason, language) for reason in asked.missing]
    possible, unit = study_question(asked).possible_answers(language, own), escape(asked.unit_in(language))
    answers = possible if isinstance(possible, Html) else escape(possible)
    with_unit = Html(f"{answers} {unit}" if unit else answers)
    return asked.text(language), with_unit, listed(reasons) if reasons else own["nothing"]


def _before(manifest: Manifest, language: str) -> str:
    facts, say = manifest.facts, words(language)["page"]
    rows = [
        (say["who"], spoken(say["who_more"], owner=facts.owner, contact=facts.contact)),
        (say["choice"], spoken(say["choice_more"])),
        (say["after"], spoken(say["after_more"])),
    ]
    if facts.end:
        rows.append((say["results"], spoken(say["ends"], date=local_date(facts.end, language))))
    return listed(Html(f"<b>{escape(name)}:</b> {text}") for name, text in rows)


def label(manifest: Manifest, language: str) -> str:
    """The label “Who can still learn what”, as the participant's page shows it when it is encrypted."""
    say = words(language)["label"]
    once = say["event" if manifest.facts.unit == "event" else "once"]
    rows = "".join(
        f'<tr><th scope="row">{one.who}</th><td data-label="{escape(say["can"])}">{one.can}</td>'
        f'<td data-label="{escape(say["cannot"])}">{one.cannot}</td></tr>'
        for one in consequences(manifest, language)
        if one.secure is not False
    )
    head = "".join(f'<th scope="col">{escape(say[key])}</th>' for key in ("who", "can", "cannot"))
    return (
        f'<section class="consequences"><h2>{escape(say["title"])}</h2><p>{spoken(once)}</p>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></section>\n"
    )
