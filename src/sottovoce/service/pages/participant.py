"""The participant page, served by a collector or a shuffler."""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import HTMLResponse

from sottovoce.core.exchange.manifest import Manifest
from sottovoce.privacy.explain import explain
from sottovoce.service.pages import view
from sottovoce.service.pages.templating import rendered
from sottovoce.service.pages.words import local, words

_WEIGHTED = re.compile(r"\s*([A-Za-z0-9*-]{1,35})\s*(?:;\s*[qQ]\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?")


def participant_page(
    request: Request, name: str, manifest: Manifest, *, elsewhere: bool = False, closed: bool = False
) -> HTMLResponse:
    """The participant page in a language of the study. It has no form if answered elsewhere or closed."""
    facts = manifest.facts
    wanted = request.query_params.get("lang", "")
    accepted = request.headers.get("accept-language", "")
    language = wanted if wanted in facts.languages else preferred(accepted, facts.languages)
    sentences = dict(words(language))
    if facts.collection.sealed_for is not None:  # a shuffler does not learn what the collector says
        sentences["sent"] = sentences["passed"]
    said = explain(facts.epsilon).to_dict()
    text = rendered(
        "participant.html",
        study=name,
        facts=facts,
        language=language,
        words=sentences,
        fields=[] if closed else list(view.fields(manifest, language)),
        elsewhere=elsewhere,
        closed=closed,
        odds=local(f"{said['odds']:.3g}", language),
        guess=local(f"{100 * float(str(said['guess'])):.1f}", language),
    )
    return HTMLResponse(text)


def preferred(accepted: str, languages: Sequence[str]) -> str:
    """The study's language that Accept-Language weighs most ("de" fits "de-AT"), otherwise the first."""
    parts = [_WEIGHTED.fullmatch(one) for one in accepted[:1000].split(",")]
    weighed = [(float(one[2] or 1), one[1].lower()) for one in parts if one is not None]
    for weight, tag in sorted(weighed, key=lambda one: -one[0]):
        # A language as it was asked for comes before a regional one, and that before any other region's.
        for matches in (str.__eq__, _is_region_of, _is_kin_of):
            for language in languages:
                if weight > 0 and (tag == "*" or matches(tag, language.lower())):
                    return language
    return languages[0]


def _is_region_of(tag: str, language: str) -> bool:
    return tag.startswith(f"{language}-")


def _is_kin_of(tag: str, language: str) -> bool:
    return tag.partition("-")[0] == language.partition("-")[0]
