"""What consent texts say beside the sentences of the participant's page, in each language.

A study in another language is refused: a text that participants agree to must not be half in one language and half in
another. Labels and texts of questions come from the study file.
"""

from __future__ import annotations

from collections.abc import Mapping

from sottovoce.core.errors import ParameterError

SENTENCES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "Consent: {name}",
        "question": "question",
        "answers": "possible answers",
        "number": "a number from {low} to {high}",
        "several": "any of these, at most {most}, or none: {items}",
        "rank": "all of these, in your order: {items}",
        "each_number": "and for each of them a number from {low} to {high}",
        "word": "one word of at most {most} letters",
        "around": "a number from 0 to {high}",
        "and_number": "and a number from {low} to {high}",
        "also": "you may also say",
        "nothing": "nothing else",
        "sign": "Place, date, signature",
    },
    "de": {
        "title": "Einwilligung: {name}",
        "question": "Frage",
        "answers": "mögliche Antworten",
        "number": "eine Zahl von {low} bis {high}",
        "several": "beliebige von diesen, höchstens {most}, oder keine: {items}",
        "rank": "alle von diesen, in Ihrer Reihenfolge: {items}",
        "each_number": "und für jede davon eine Zahl von {low} bis {high}",
        "word": "ein Wort mit höchstens {most} Buchstaben",
        "around": "eine Zahl von 0 bis {high}",
        "and_number": "und eine Zahl von {low} bis {high}",
        "also": "Sie können auch sagen",
        "nothing": "nichts weiter",
        "sign": "Ort, Datum, Unterschrift",
    },
    "fr": {
        "title": "Consentement : {name}",
        "question": "question",
        "answers": "réponses possibles",
        "number": "un nombre de {low} à {high}",
        "several": "plusieurs de ces réponses, au plus {most}, ou aucune : {items}",
        "rank": "toutes ces réponses, dans votre ordre : {items}",
        "each_number": "et pour chacune un nombre de {low} à {high}",
        "word": "un mot de {most} lettres au plus",
        "around": "un nombre de 0 à {high}",
        "and_number": "et un nombre de {low} à {high}",
        "also": "vous pouvez aussi dire",
        "nothing": "rien d'autre",
        "sign": "Lieu, date, signature",
    },
    "es": {
        "title": "Consentimiento: {name}",
        "question": "pregunta",
        "answers": "respuestas posibles",
        "number": "un número de {low} a {high}",
        "several": "varias de estas, como máximo {most}, o ninguna: {items}",
        "rank": "todas estas, en su orden: {items}",
        "each_number": "y para cada una un número de {low} a {high}",
        "word": "una palabra de {most} letras como máximo",
        "around": "un número de 0 a {high}",
        "and_number": "y un número de {low} a {high}",
        "also": "también puede decir",
        "nothing": "nada más",
        "sign": "Lugar, fecha, firma",
    },
    "it": {
        "title": "Consenso: {name}",
        "question": "domanda",
        "answers": "risposte possibili",
        "number": "un numero da {low} a {high}",
        "several": "più di una di queste, al massimo {most}, o nessuna: {items}",
        "rank": "tutte queste, nel suo ordine: {items}",
        "each_number": "e per ciascuna un numero da {low} a {high}",
        "word": "una parola di al massimo {most} lettere",
        "around": "un numero da 0 a {high}",
        "and_number": "e un numero da {low} a {high}",
        "also": "può anche dire",
        "nothing": "nient'altro",
        "sign": "Luogo, data, firma",
    },
}
LANGUAGES = tuple(SENTENCES)


def known(language: str) -> bool:
    """Whether there are sentences in a language; de-AT is German."""
    return language.partition("-")[0] in SENTENCES


def sentences(language: str) -> Mapping[str, str]:
    """All sentences of a language."""
    if not known(language):
        raise ParameterError(
            f"There are no sentences for participants in this language: use {', '.join(LANGUAGES)}, or translate them"
            " in `study/dossier/sentences.py`."
        )
    return SENTENCES[language.partition("-")[0]]
