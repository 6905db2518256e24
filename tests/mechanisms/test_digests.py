"""The messages of every registry line and of every arm of every protocol stay the same, byte for byte."""

from __future__ import annotations

import json

import pytest

import sottovoce as sv
from tests.mechanisms import digests

KNOWN = json.loads(digests.FILE.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", sv.names())
def test_registry_lines_send_the_same_messages(name: str) -> None:
    found = {place: digests.digest(m, answers) for place, m, answers in digests.registry_mechanisms(name)}
    assert len(found) == len(digests.BUDGETS)
    assert found == {place: KNOWN.get(place) for place in found}


@pytest.mark.slow
@pytest.mark.parametrize("name", digests.PROTOCOLS)
def test_arms_of_protocols_send_the_same_messages(name: str) -> None:
    found = {place: digests.digest(m, answers) for place, m, answers in digests.protocol_mechanisms(name)}
    assert found == {place: known for place, known in KNOWN.items() if place.startswith(f"{name}, round ")}


def test_no_digest_is_left_over() -> None:
    assert len(KNOWN) == len(digests.BUDGETS) * len(sv.names()) + sum(", round " in place for place in KNOWN)
