"""Answers that are sensitive for some people only, behind tags (PUM)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.personal_tags import PersonalTags
from sottovoce.tally.tally import Tally
from tests.each import for_each

PLACES = PersonalTags(sv.Categories(["park", "street", "shop", "clinic"]), ["home", "work"], sensitive=["clinic"])
LAWS = {"home": {"street": 0.75, "park": 0.25}, "work": {"shop": 1.0}}
HELD = {"park": 0.3, "street": 0.1, "shop": 0.2, "clinic": 0.1, "home": 0.2, "work": 0.1}


def reports_of(channel: Any, code: int) -> dict[Any, Fraction]:
    """The law of the reports of a code, over the reports that can be sent."""
    from sottovoce.core import exact

    law: dict[Any, Fraction] = {}
    for (_, report), chance in exact.law(channel, code).items():
        law[report] = law.get(report, Fraction(0)) + chance
    return law


@pytest.mark.parametrize("method", ["urr", "urap"])
def test_nobody_learns_which_answers_are_sensitive_for_whom(method: str) -> None:
    """Definition 5 of the paper: from a sensitive answer of one person to any answer of any other, over all reports.

    People are pairs of an answer and personal tags. A report that several of them may send has likelihoods at most
    e**epsilon apart, unless it shows an answer that is sensitive neither for all nor for its holder.
    """
    mechanism = PLACES.mechanism(epsilon=1, method=method)
    laws = [reports_of(mechanism.channel, code) for code in range(6)]
    answers, personal = (
        ("park", "street", "shop", "clinic"),
        ({}, {"street": "home"}, {"street": "work", "park": "home"}),
    )
    sent = {
        (one, who): mechanism.domain.encode(PLACES.tagged(one, personal[who]))
        for one, who in product(answers, range(3))
    }
    limit = math.exp(1) * (1 + 1e-9)
    hidden = [(one, who) for one, who in sent if one == "clinic" or one in personal[who]]
    assert len(hidden) == 6
    for mine in hidden:
        for report, chance in laws[sent[mine]].items():
            for other, code in sent.items():
                assert chance <= limit * laws[code].get(report, 0), f"{mine} beside {other}"


def test_shares_behind_tags_are_spread_by_their_laws() -> None:
    """The counts are what 10**13 people are expected to report."""
    mechanism = PLACES.mechanism(epsilon=1)
    shares, n = np.array(list(HELD.values())), 10**13
    law = np.array([[float(mechanism.channel.likelihood(y, x)) for y in range(mechanism.cells)] for x in range(6)])
    counts = np.round(n * shares @ law).astype(np.int64)
    estimate = mechanism.estimate(Tally(mechanism, int(counts.sum()), counts))
    found = PLACES.spread(estimate, LAWS)
    assert found.labels == ("park", "street", "shop", "clinic")
    assert found.values == pytest.approx([0.3 + 0.05, 0.1 + 0.15, 0.2 + 0.1, 0.1], abs=1e-5)
    wrong = PLACES.spread(estimate, {**LAWS, "home": {"clinic": 1.0}})
    assert wrong.values == pytest.approx([0.3, 0.1, 0.3, 0.3], abs=1e-5)
    assert found.assumes is not None and "laws" in found.assumes
    # Errors come from the covariance of all shares: a share and that of its tag are not independent.
    covariance = estimate.covariance()
    row = np.array([0, 1, 0, 0, 0.75, 0])
    assert found.std_errors[1] == pytest.approx(math.sqrt(row @ covariance @ row), rel=1e-9)


@pytest.mark.slow
def test_intervals_of_spread_shares_cover(seed: int) -> None:
    """600 intervals a share: one that covers 95 % lies outside these bounds with probability below 1e-3."""
    mechanism, rng = PLACES.mechanism(epsilon=1), np.random.default_rng(seed)
    law = np.array([[float(mechanism.channel.likelihood(y, x)) for y in range(mechanism.cells)] for x in range(6)])
    truth, held = np.array([0.35, 0.25, 0.3, 0.1]), np.zeros(4)
    for _ in range(600):
        counts = rng.multinomial(5000, np.array(list(HELD.values())) @ law / 1.0)
        low, high = PLACES.spread(mechanism.estimate(Tally(mechanism, 5000, counts)), LAWS).ci()
        held += (low <= truth) & (truth <= high)
    assert (held / 600 >= 0.915).all() and (held / 600 <= 0.98).all()


@for_each(
    "make,message",
    [
        (lambda: PersonalTags(sv.Integers(0, 3), ["home"]), "'domain'"),
        (lambda: PersonalTags(sv.Categories(["a", "b"]), []), "'tags'"),
        (lambda: PersonalTags(sv.Categories(["a", "b"]), ["a"]), "'tags'"),
        (lambda: PersonalTags(sv.Categories(["a", "b"]), ["t"], sensitive=["c"]), "'sensitive'"),
        (lambda: PLACES.mechanism(epsilon=1, method="grr"), "one of urr, urap"),
        (lambda: PLACES.tagged("park", {"park": "prison"}), "'personal'"),
        (lambda: PLACES._columns({"home": {"street": 1.0}}), "a law for each tag"),
        (lambda: PLACES._columns({**LAWS, "work": {"shop": 0.9}}), "sum to one"),
        (lambda: PLACES._columns({**LAWS, "work": {"moon": 1.0}}), "a law for each tag"),
    ],
)
def test_refusals_name_the_parameter(make: Any, message: str) -> None:
    with pytest.raises(sv.ParameterError, match=message):
        make()


def test_an_answer_outside_of_the_domain_is_refused() -> None:
    with pytest.raises(sv.DomainError):
        PLACES.tagged("moon", {})


@for_each("personal", [{"park": "elsewhere"}, {"park": ["home"]}, {"park": None}, None, "home"])
def test_a_person_has_tags_of_this_question_only(personal: Any) -> None:
    with pytest.raises(sv.ParameterError, match="'personal'"):
        PLACES.tagged("park", personal)
