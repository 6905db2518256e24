"""Questions about one attribute: a participant answers it once, and the device uses the answer for all of them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.client import Untimed
from sottovoce.client.answers import values_of
from sottovoce.client.participant import Participant
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.round import Arm, Round
from sottovoce.core.specs import canonical
from tests.client.collectors import HOURS, facts

LONG = sv.Range(HOURS.domain, 9, 14)


def asked_apart() -> Manifest:
    questions = (
        sv.Asked("hours", HOURS, {"en": "How long?"}),
        sv.Asked("long", LONG, {"en": "How long?"}, attribute="hours"),
    )
    arms = tuple(
        Arm(name, sv.mechanism(method, HOURS.domain, epsilon=1))
        for name, method in (("hours", "bernoulli"), ("long", "square-wave"))
    )
    return Manifest(facts(), questions, Round(arms))


def test_one_answer_feeds_every_question_about_the_attribute() -> None:
    manifest = Manifest.from_spec(asked_apart().content)
    assert manifest == asked_apart() and manifest.asked(1).attribute == "hours"
    assert values_of(manifest, {"hours": 9.5}) == [9.5, 9.5]
    assert Participant(None, tick=Untimed()).answer(manifest, {"hours": 9.5}).state == "queued"
    with pytest.raises(ParameterError, match="The question 'hours' needs an answer"):
        Participant(None, tick=Untimed()).answer(manifest, {"long": 9.5})


def test_the_command_asks_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "study.json").write_bytes(asked_apart().content)
    monkeypatch.setattr("sys.stdin", io.StringIO("9.5\n"))
    assert main(["answer", str(tmp_path / "study.json"), "--device", str(tmp_path / "device")]) == 0
    assert capsys.readouterr().err.count("How long?") == 1


@pytest.mark.parametrize("attribute", ["", "long", "nobody"])
def test_an_attribute_that_is_no_other_question_is_refused(attribute: str) -> None:
    plain = json.loads(asked_apart().content)
    plain["questions"][1]["attribute"] = attribute
    with pytest.raises(SpecError):
        Manifest.from_spec(canonical(plain))
