"""The participants' texts: complete in every language, easy to read, and without words of the inside."""

from __future__ import annotations

import re
from typing import Any

import pytest

from scripts.readability import reading, sentences
from sottovoce.service.pages.participant import participant_text
from sottovoce.study.reading import check_study
from sottovoce.study.words import LANGUAGES, language_name, local, local_date, plain, spoken, words

HARD = {
    "en": "Notwithstanding contractual obligations, participating institutions guarantee confidentiality of"
    " pseudonymised individual information.",
    "de": "Unbeschadet vertraglicher Verpflichtungen gewährleisten teilnehmende Einrichtungen die Vertraulichkeit"
    " pseudonymisierter Einzelinformationen.",
    "fr": "Nonobstant les obligations contractuelles, les institutions participantes garantissent la confidentialité"
    " des informations individuelles pseudonymisées.",
    "es": "No obstante las obligaciones contractuales, las instituciones participantes garantizan la confidencialidad"
    " de las informaciones individuales seudonimizadas.",
    "it": "Nonostante gli obblighi contrattuali, le istituzioni partecipanti garantiscono la riservatezza delle"
    " informazioni individuali pseudonimizzate.",
}
INSIDE = {
    "en": r"noise|noisy|epsilon|\breports?\b|device|round\b|anonym|collector|manifest|shuffl",
    "de": r"rauschen|rauscht|epsilon|gerät|runde|anonym|sammeldienst|manifest|mischer",
    "fr": r"bruit\b|epsilon|appareil|anonym|collecteur|manifeste|mélangeur",
    "es": r"ruido|epsilon|dispositivo|ronda|anónim|colector|manifiesto|mezclador",
    "it": r"rumore|epsilon|dispositivo|anonim|collettore|manifesto|mescolatore",
}


def flat(table: Any, path: str = "") -> dict[str, str]:
    if isinstance(table, str):
        return {path: table}
    pairs = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    return {key: text for name, value in pairs for key, text in flat(value, f"{path}.{name}").items()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_the_same_things(language: str) -> None:
    english, own = flat(words("en")), flat(words(language))
    assert {*own} == {*english}
    for key, text in own.items():
        assert text, key
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", english[key])), key
        assert ("**" in text) == ("**" in english[key]) and text.count("**") in (0, 2), key
        assert ("[" in text) >= ("[" in english[key]), f"{key}: the word for the device is missing"
        assert not re.search(INSIDE[language], plain(re.sub(r"{\w+}", "", text)), re.IGNORECASE), key


@pytest.mark.parametrize("language", LANGUAGES)
def test_readers_of_twelve_years_can_read_it(language: str) -> None:
    """By an index of each language; the index calls a hard sentence hard."""
    texts = list(sentences(language))
    assert len(texts) > 150
    whole = reading(texts, language)
    assert whole.easy and whole.longest <= 25
    assert not reading([HARD[language]], language).easy


def test_values_are_escaped_and_words_for_devices_are_apart() -> None:
    assert spoken("On [a|b], **at {x}**", x="<i>[c|d]") == (
        '<span class="on-phone">a</span><span class="on-computer">b</span>'.join(["On ", ", <b>at &lt;i&gt;[c|d]</b>"])
    )
    assert [plain("On [a|b], **at {x}**", place, x=3) for place in (0, 1)] == ["On a, at 3", "On b, at 3"]


def test_numbers_and_dates_are_those_of_the_language() -> None:
    numbers = {
        language: [local(number, language) for number in ("0.5", "-1234567.25", "1000")] for language in LANGUAGES
    }
    assert numbers["en"] == ["0.5", "\u22121,234,567.25", "1,000"]
    assert numbers["de"] == ["0,5", "\u22121.234.567,25", "1.000"] == numbers["it"]
    assert numbers["fr"] == ["0,5", "\u22121\u202f234\u202f567,25", "1\u202f000"]
    assert numbers["es"] == ["0,5", "\u22121.234.567,25", "1000"]
    dates = [local_date("2027-06-01", language) for language in LANGUAGES]
    assert dates == ["1 June 2027", "1. Juni 2027", "1er juin 2027", "1 de junio de 2027", "1 giugno 2027"]
    assert (language_name("de-AT"), language_name("pl"), words("pl")) == ("Deutsch", "pl", words("en"))


def test_a_page_has_a_link_to_its_contact_and_the_text_above_groups() -> None:
    study = check_study(
        b"""
[study]
name = "study"
owner = "<b>A laboratory"
contact = "privacy@example.org"
purpose = "To learn."
unit = "person"
epsilon = "2"
languages = ["en", "de"]

[questions.smoker]
ask = "frequency"
by = ["woman", "man"]
by_text = { en = "Which are you?", de = "Was sind Sie?" }
text = { en = "Do you smoke?", de = "Rauchen Sie?" }
categories = ["yes", "no"]
"""
    )
    page = participant_text("study", study.plan(1000).manifest(), "de")
    assert page.count('<a href="mailto:privacy@example.org">privacy@example.org</a>') == 3
    assert "Was sind Sie?</h1>" in page and "Rauchen Sie?</h1>" in page
    assert "&lt;a" not in page and "<b>A lab" not in page
