"""The words for a report agree with its enumerated law, for every mechanism that a question of a study can have."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from scripts.meaning import meaning
from sottovoce.core.asked import Asked
from sottovoce.core.channel.base import NO_WORDS
from sottovoce.core.errors import SottovoceError
from sottovoce.core.exact import law_of
from sottovoce.core.exchange.codec import payload_bytes
from sottovoce.core.guarantee import Guarantee
from sottovoce.core.registry import fits
from sottovoce.study.questions import file_kinds

VECTORS = Path(__file__).parents[2] / "clients" / "web" / "vectors"
DOMAINS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (sv.Integers(0, 3), (0, 1, 2, 3)),
    (sv.Integers(0, 1), (0, 1)),
    (sv.Interval(0, 4, step=1), (0, 1, 2, 3, 4)),
    (sv.Interval(0, 14), ()),
    (sv.Pair(sv.Categories(["f", "m"]), sv.Integers(0, 2)), tuple((g, v) for g in "fm" for v in range(3))),
)

MOST_PATHS = 300


def cases() -> list[tuple[str, int]]:
    return [(name, place) for name in sv.names() for place, (domain, _) in enumerate(DOMAINS) if fits(name, domain)]


def enumerated(channel: Any, code: Any) -> dict[int, Fraction]:
    return law_of(lambda coins: channel.sample(code, coins, NO_WORDS), MOST_PATHS)


def spread(answers: Any) -> set[tuple[str, int]]:
    """The whole numbers that ranges hold."""
    return {(one.group, number) for one in answers for number in range(int(one.low), int(one.high) + 1)}


def test_every_mechanism_of_a_study_says_something() -> None:
    """No report of a number, a category or a group with a number is without words, in the shared vectors."""
    mechanisms = [one["spec"] for one in json.loads((VECTORS / "mechanisms.json").read_text(encoding="utf-8"))]
    told: set[str] = set()
    for one in json.loads((VECTORS / "meanings.json").read_text(encoding="utf-8")):
        if "spec" in one:  # a view of a table, which is no mechanism of the registry
            assert all(len(answer[3]) == 2 for known in one["means"] for answer in known["answers"])
            continue
        spec = mechanisms[one["mechanism"]]
        if one["question"]["question"]["kind"] in file_kinds() and spec["domain"]["kind"] not in ("text", "words"):
            assert all(known["answers"] for known in one["means"]), spec["name"]
            told.add(spec["name"])
    unasked = {"vector-mean", "attributes", "half-sets", "frequent-words"}  # not in study files, or about texts
    others = {one["name"] for one in mechanisms if one["question"]["kind"] in unasked}
    idealised = {one["name"] for one in mechanisms if Guarantee.read(one["guarantee"]).allows_floats}
    assert told == {*sv.names()} - others - idealised


@pytest.mark.slow
def test_the_words_are_the_likeliest_answers_of_the_enumerated_law() -> None:
    """The law comes from the sampler itself; supports are those answers too, where supporting is what counts."""
    compared: set[str] = set()

    def check(case: tuple[str, int]) -> None:
        name, place = case
        domain, values = DOMAINS[place]
        mechanism = sv.mechanism(name, domain, epsilon=1)
        channel, asked = mechanism.channel, Asked("asked", mechanism.question)
        if not values or mechanism.guarantee.allows_floats or channel.publics or len(values) * channel.words > 4000:
            return
        try:
            laws = {value: enumerated(channel, mechanism.domain.encode(asked.answer(value))) for value in values}
        except SottovoceError:  # too large to enumerate
            return
        reports = sorted({report for one in laws.values() for report in one})
        for report in reports[:: max(1, len(reports) // 40)]:
            chances = {value: one.get(report, Fraction(0)) for value, one in laws.items()}
            best = {value for value, chance in chances.items() if chance == max(chances.values())}
            message = bytes(16) + report.to_bytes(payload_bytes(channel), "little")
            known = meaning(asked, mechanism, message)
            told = spread(known.answers)
            expected = {(v[0], v[1]) if isinstance(v, tuple) else ("", v) for v in best}
            assert told == expected, (name, report)
            assert known.any == (len(best) == len(values))
        compared.add(name)

    for case in cases():
        check(case)
    assert len(compared) >= 20, sorted(compared)
