"""The text that participants agree to, in plain words; every number and every field comes from the manifest."""

from __future__ import annotations

from sottovoce.core.manifest import Manifest
from sottovoce.core.params import decimal_text
from sottovoce.privacy.explain import explain
from sottovoce.study.dossier.pages import listed, page, paragraph, section, table


def consent_page(manifest: Manifest, language: str) -> str:
    """One page: what happens, what is sent, what it means, and what cannot be undone."""
    facts = manifest.facts
    said = explain(facts.epsilon)
    odds, guess = said.to_dict()["odds"], said.to_dict()["guess"]
    until = f", from {facts.start} to {facts.end}" if facts.start and facts.end else ""
    parts = [
        paragraph(f"{facts.owner} asks you to take part in the study {facts.name}{until}. Purpose: {facts.purpose}"),
        section(
            "What happens to your answer",
            paragraph(
                "You are asked one of the questions below. Your device adds noise to your answer before it sends"
                " anything. Nobody but you sees the answer itself: not the people who run the study, nor the server."
            ),
            table(
                ("question", "you may also say"), [_question(manifest, place, language) for place in _arms(manifest)]
            ),
        ),
        section(
            "What it means for you",
            paragraph(
                f"The privacy budget is epsilon {decimal_text(facts.epsilon)} for one {facts.unit}. Whatever is sent"
                f" changes the odds between two possible answers of yours by at most a factor {odds:.3g}. Who has to"
                f" guess between two equally likely answers is right at most {100 * float(str(guess)):.1f} % of the"
                " time instead of 50 %."
            ),
            paragraph(
                f"Over all waves of this study your device spends at most {decimal_text(facts.lifetime)}. It computes"
                " these numbers itself, and refuses to send anything that would exceed them."
            ),
        ),
        section("Everything that is sent", table(("field", "what it is"), manifest.fields_sent())),
        section(
            "Your rights",
            listed(
                [
                    "Taking part is voluntary, and you may stop at any time; what has not been sent is then deleted.",
                    "What has been sent was added to sums and cannot be taken out: nobody knows which part is yours.",
                    f"Questions: {facts.contact}.",
                ]
            ),
        ),
    ]
    return page(f"Consent: {facts.name}", parts)


def _arms(manifest: Manifest) -> list[int]:
    """One arm of each question."""
    names = [manifest.asked(place).name for place in range(len(manifest.stage.arms))]
    return [names.index(name) for name in dict.fromkeys(names)]


def _question(manifest: Manifest, arm: int, language: str) -> tuple[str, str]:
    asked = manifest.asked(arm)
    return asked.text(language), ", ".join(asked.missing) or "nothing else"
