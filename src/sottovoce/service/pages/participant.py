"""The participant page, served by a collector or a shuffler."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache

from starlette.requests import Request
from starlette.responses import HTMLResponse

from sottovoce.core.channel.overlap import overlap
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.service.pages import view
from sottovoce.service.pages.templating import rendered
from sottovoce.study.display.asked_counts import asked_counts
from sottovoce.study.display.consequences import consequences
from sottovoce.study.display.privacy_numbers import wrong_guesses
from sottovoce.study.words import words

_WEIGHTED = re.compile(r"\s*([A-Za-z0-9*-]{1,35})\s*(?:;\s*[qQ]\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?")


def participant_page(
    request: Request,
    name: str,
    manifest: Manifest,
    *,
    today: date,
    elsewhere: bool = False,
    closed: bool = False,
    results: str = "",
) -> HTMLResponse:
    """The participant page in a language of the study.

    Args:
        request: it says which language is wanted.
        name: the study's name in addresses.
        manifest: of the round that is asked now.
        today: before the study begins, the page has no questions.
        elsewhere: whether the study is answered at a shuffler instead.
        closed: whether the study takes no more answers.
        results: the address of the results; empty where this server does not show them.
    """
    facts, language = manifest.facts, reader_language(request, manifest.facts.languages)
    early = facts.start is not None and today.isoformat() < facts.start
    over = closed or (facts.end is not None and today.isoformat() > facts.end)
    notice = "elsewhere" if elsewhere else "closed" if over else "begins" if early else ""
    return HTMLResponse(participant_text(name, manifest, language, notice=notice, results=results))


def reader_language(request: Request, languages: Sequence[str]) -> str:
    """The language of the address where the study has it, else the one that the browser prefers."""
    wanted = request.query_params.get("lang", "")
    return wanted if wanted in languages else preferred(request.headers.get("accept-language", ""), languages)


def participant_text(name: str, manifest: Manifest, language: str, *, notice: str = "", results: str = "") -> str:
    """The text of the participant page; a notice takes the place of the questions."""
    facts = manifest.facts
    coins = _coin_numbers(manifest.hash, manifest)
    return rendered(
        "participant.html",
        study=name,
        facts=facts,
        language=language,
        tables=words(language),
        counts=asked_counts(manifest),
        screens=[] if notice else list(view.screens(manifest, language)),
        shown_notice=notice,
        sealed=facts.collection.sealed_for is not None,
        asks_all=facts.collection.ask_all,
        coins=coins,
        coin=min(coins.values()),
        guess=wrong_guesses(manifest),
        label=list(consequences(manifest, language)),
        results=results,
    )


@lru_cache(maxsize=256)
def _coin_numbers(_: str, manifest: Manifest) -> dict[str, int]:
    """By question: of 100 reports, how many chance alone decides at least."""
    least: dict[str, int] = {}
    for place, arm in enumerate(manifest.stage.arms):
        question, coin = manifest.asked(place).name, math.floor(100 * overlap(arm.mechanism.channel))
        least[question] = min(coin, least.get(question, coin))
    return least


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
