"""A device answers questions, and lets others count statistics, of kinds that it does not know."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

import sottovoce as sv
from scripts.web_vectors import invented
from sottovoce.client import Untimed
from sottovoce.client.participant import Participant
from sottovoce.core.coins import SeededCoins
from sottovoce.core.errors import PrivacyError, SpecError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.specs import canonical
from sottovoce.core.unknown import MAX_FIELDS

KNOWN = sv.mechanism("olh", sv.Integers(0, 5), epsilon=1)
ASKED: dict[str, Any] = {"kind": "mood-swing", "weights": [1, 2, 3], "of": {"kind": "hours", "most": None}}
COUNTED: dict[str, Any] = {"kind": "spectrum", "lags": [1, 7]}
NEW = {**KNOWN.spec(), "question": ASKED, "statistic": COUNTED}


def test_a_client_answers_through_the_channel_alone() -> None:
    mechanism = sv.Client.from_spec(NEW).mechanism
    assert mechanism.spec() == NEW and mechanism.fingerprint == hashlib.sha256(canonical(NEW)).hexdigest()
    assert mechanism.randomize(3, SeededCoins(7)) == KNOWN.randomize(3, SeededCoins(7))
    assert (
        mechanism.epsilon == KNOWN.epsilon and "mood-swing" in repr(mechanism) and "spectrum" in mechanism._repr_html_()
    )
    with pytest.raises(sv.DomainError):
        mechanism.randomize(6)


def test_a_new_kind_keeps_its_guarantee() -> None:
    with pytest.raises(PrivacyError, match="it claims"):
        sv.Client.from_spec({**NEW, "epsilon": "0.9"})
    with pytest.raises(PrivacyError):
        sv.Client.from_spec(NEW, limit=0.5)


@pytest.mark.parametrize("changed", [{"question": ASKED}, {"statistic": COUNTED}])
def test_collectors_and_analysts_refuse_it(changed: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="must have a kind among"):
        Mechanism.from_spec({**KNOWN.spec(), **changed})


def test_a_device_says_what_it_cannot_do() -> None:
    counted = sv.Client.from_spec({**KNOWN.spec(), "statistic": COUNTED}).mechanism
    with pytest.raises(SpecError, match=r"does not know the statistic 'spectrum': .* does not count its reports\.$"):
        counted.tally([counted.randomize(1)])
    asked = sv.Client.from_spec({**KNOWN.spec(), "question": ASKED}).mechanism
    for ask in (lambda: asked.estimate(asked.tally([asked.randomize(1)])), lambda: asked.variance([1 / 6] * 6)):
        with pytest.raises(SpecError, match=r"does not know the question 'mood-swing': .* not estimate or plan it\.$"):
            ask()


@pytest.mark.parametrize("key", ["question", "statistic"])
@pytest.mark.parametrize(
    "wrong",
    [{"kind": "Mood"}, {"kind": ""}, {"kind": "x" * 41}, {"kind": 3}, {}, "mood", {"kind": "x", "y": "z" * MAX_FIELDS}],
)
def test_what_is_kept_unread_is_small(key: str, wrong: object) -> None:
    with pytest.raises(SpecError):
        sv.Client.from_spec({**NEW, key: wrong})


def test_a_participant_answers_a_study_with_an_invented_question() -> None:
    content = canonical(invented())
    with pytest.raises(SpecError, match="must have a kind among"):
        Manifest.from_spec(content)
    manifest = Manifest.from_spec(content, device=True)
    assert manifest.content == content
    delivery = Participant(None, tick=Untimed()).answer(content, {"cups": 2})
    assert delivery.state == "queued" and delivery.question == "cups"
    with pytest.raises(sv.DomainError):
        Participant(None, tick=Untimed()).answer(content, {"cups": 6})


def test_reasons_for_giving_no_answer_need_a_question_that_is_known() -> None:
    plain = invented()
    plain["questions"][0]["missing"] = ["don't know"]
    with pytest.raises(SpecError, match="`missing` is not supported"):
        Manifest.from_spec(canonical(plain), device=True)
