"""The text that participants agree to, in plain words; every number and every field comes from the manifest."""

from __future__ import annotations

from collections.abc import Mapping

from sottovoce.core.asked import Asked
from sottovoce.core.exchange import codec
from sottovoce.core.exchange.manifest import ID_BYTES, PREFIX_BYTES, Manifest
from sottovoce.core.params import decimal_text
from sottovoce.privacy.explain import explain
from sottovoce.study.dossier.pages import listed, page, paragraph, section, table
from sottovoce.study.dossier.sentences import sentences
from sottovoce.study.questions import study_question


def consent_page(manifest: Manifest, language: str) -> str:
    """One page: what happens, what is sent, what it means, and what cannot be undone."""
    facts, say = manifest.facts, sentences(language)
    names = dict.fromkeys(manifest.asked(place).name for place in range(len(manifest.stage.arms)))
    questions = [one for one in manifest.questions if one.name in names]
    explained = explain(facts.epsilon).to_dict()
    until = say["until"].format(start=facts.start, end=facts.end) if facts.start and facts.end else ""
    payloads = sorted({codec.payload_bytes(arm.mechanism.channel) for arm in manifest.stage.arms})
    size = str(payloads[0]) if len(payloads) == 1 else f"{payloads[0]}-{payloads[-1]}"
    sizes = {"prefix": PREFIX_BYTES, "id": ID_BYTES, "size": size}
    budget = say["budget"].format(
        epsilon=decimal_text(facts.epsilon),
        unit=say[facts.unit],
        odds=_number(f"{float(str(explained['odds'])):.3g}", language),
        guess=_number(f"{100 * float(str(explained['guess'])):.1f}", language),
    )
    parts = [
        paragraph(say["asks"].format(owner=facts.owner, name=facts.name, until=until, purpose=facts.purpose)),
        section(
            say["happens"],
            paragraph(say["all asked" if len(questions) > 1 else "one asked"]),
            table(
                (say["question"], say["answers"], say["also"]),
                [_question(one, language, say) for one in questions],
            ),
        ),
        section(
            say["means"],
            paragraph(budget),
            paragraph(say["lifetime"].format(lifetime=decimal_text(manifest.largest_loss))),
        ),
        section(
            say["sent"],
            table(
                (say["field"], say["what"]),
                [(name, say[f"field {name}"].format(**sizes)) for name, _ in manifest.fields_sent()],
            ),
        ),
        section(say["rights"], listed([say["voluntary"], say["sums"], say["contact"].format(contact=facts.contact)])),
    ]
    return page(say["title"].format(name=facts.name), parts, language)


def _question(asked: Asked, language: str, say: Mapping[str, str]) -> tuple[str, str, str]:
    reasons = [asked.label(reason, language) for reason in asked.missing]
    possible = study_question(asked).possible_answers(language, say)
    return asked.text(language), possible, listed(reasons) if reasons else say["nothing"]


def _number(text: str, language: str) -> str:
    """With the decimal sign of the language."""
    return text if language.partition("-")[0] == "en" else text.replace(".", ",")
