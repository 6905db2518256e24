"""The participant's page, which a collector serves, or a shuffler."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse

from sottovoce.core.exchange.manifest import Manifest
from sottovoce.privacy.explain import explain
from sottovoce.service.pages import view
from sottovoce.service.pages.templating import rendered
from sottovoce.service.pages.words import words


def participant_page(request: Request, name: str, manifest: Manifest, *, elsewhere: bool = False) -> HTMLResponse:
    """In a language of the study; without the form if it is answered elsewhere."""
    facts = manifest.facts
    wanted = request.query_params.get("lang")
    accepted = [one.partition(";")[0].strip() for one in request.headers.get("accept-language", "").split(",")]
    language = next((one for one in [wanted, *accepted] if one in facts.languages), facts.languages[0])
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
        fields=list(view.fields(manifest, language)),
        elsewhere=elsewhere,
        odds=f"{said['odds']:.3g}",
        guess=f"{100 * float(str(said['guess'])):.1f}",
    )
    return HTMLResponse(text)
