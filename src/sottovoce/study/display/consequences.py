"""The consequences label: who can still learn what about a participant, generated from the manifest of a study.

Every claim has a test in tests/service/test_consequences.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sottovoce.core.channel.facets import Memoised, facet
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.language.html import Html
from sottovoce.study.display.privacy_numbers import wrong_guesses
from sottovoce.study.words import spoken, words


class Consequence(NamedTuple):
    """What somebody can learn about a participant, and what not.

    Attributes:
        key: the name of the row.
        who: the somebody.
        can: what they can learn.
        cannot: what they cannot learn.
        secure: whether the row is for a page that travels encrypted; None where that makes no difference.
    """

    key: str
    who: Html
    can: Html
    cannot: Html
    secure: bool | None = None


def keeps_trace(manifest: Manifest) -> bool:
    """Whether a device keeps what it remembers of an answer, from which the answer can be worked out."""
    return any(facet(arm.mechanism.channel, Memoised) is not None for arm in manifest.stage.arms)


def consequences(manifest: Manifest, language: str) -> Iterator[Consequence]:
    """The rows of the label. The browser shows those that fit how the page travelled."""
    facts, say, guess = manifest.facts, words(language)["label"], wrong_guesses(manifest)
    page = words(language)["page"]
    doubt = spoken(page["guess"], guess=guess) if guess else spoken(page["weak"])
    shuffled, invited = facts.collection.sealed_for is not None, facts.collection.invitations
    yield Consequence(
        "owner",
        spoken(say["owner"], owner=facts.owner),
        _joined(spoken(say["owner_can"]), spoken(say["owner_invited"]) if invited else Html()),
        _joined(spoken(say["owner_cannot"]), doubt),
    )
    yield _row(say, "server", can="server_shuffled" if shuffled else "server_can")
    yield _row(say, "thief")
    yield _row(say, "court")
    secret = _row(say, "network")
    if shuffled:  # the device itself seals what it sends
        yield secret
    else:
        yield secret._replace(secure=True)
        yield _row(say, "network", "network_plain", "network_plain_cannot")._replace(secure=False)
    yield _row(say, "others")
    memo = ("holder_memo", "holder_memo_cannot") if keeps_trace(manifest) else ("holder_can", "holder_cannot")
    yield _row(say, "holder", *memo)


def _row(say: dict[str, str], key: str, can: str = "", cannot: str = "") -> Consequence:
    sides = (spoken(say[can or f"{key}_can"]), spoken(say[cannot or f"{key}_cannot"]))
    return Consequence(key, spoken(say[key]), *sides)


def _joined(*sentences: Html) -> Html:
    return Html(" ".join(filter(None, sentences)))
