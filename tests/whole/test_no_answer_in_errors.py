"""No error, log, warning or pickle of the library shows an answer, whatever goes wrong and wherever it was put."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.core import domain as domains
from sottovoce.core.domain import Domain
from sottovoce.core.domain.base import KINDS
from sottovoce.core.registry import BUILDERS
from sottovoce.core.round import Arm
from sottovoce.core.specs import canonical
from sottovoce.files.arrow import from_arrow
from sottovoce.protocols.ask import AskEveryone, AskOneOf
from sottovoce.protocols.mean.personal import PersonalBudgetMean
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from tests.each import for_each
from tests.whole.sentinel import ANSWERS, NUMBER, TEXT, Seen, attempt, chain, planted, watched

AGES, SIDE = sv.Integers(0, 9), sv.Interval(0, 1)
BIRDS = domains.Sets(["lark", "owl", "wren"], 2)
PERSON = domains.Record({"sex": sv.Categories(["f", "m"]), "age": AGES, "bmi": SIDE})
ROW = {"sex": "f", "age": 3, "bmi": 0.25}
SHORT = {"sex": "f", "age": 3}
# One domain of each kind, and an answer that it takes.
EXAMPLES: dict[str, tuple[Domain, Any]] = {
    "above": (domains.Above(SIDE, "0.5"), 0.25),
    "ball": (domains.Ball(1, dimensions=3), [0.1, 0.2, 0.3]),
    "bins": (domains.Bins(SIDE, ["0.5"]), 0.25),
    "box": (domains.Box(0, 1, 3), [0.1, 0.2, 0.3]),
    "categories": (sv.Categories(["lark", "owl"]), "owl"),
    "circle": (domains.Circle(24), 23.5),
    "clamp": (domains.Clamp(SIDE, "0.2", "0.4"), 0.25),
    "digit": (domains.Digit(SIDE, "0.1", 2), 0.25),
    "fields": (domains.Fields(domains.Record({"sex": sv.Categories(["f", "m"]), "age": AGES}), ["sex"]), SHORT),
    "integers": (AGES, 3),
    "interval": (SIDE, 0.25),
    "level": (domains.Level(AGES, 2, 1), 3),
    "merged": (domains.Merged(AGES, tuple(code // 2 for code in range(AGES.size or 0))), 3),
    "cells": (domains.Cells(domains.Pair(sv.Categories(["f", "m"]), sv.Categories(["yes", "no"])), 0), ("f", "yes")),
    "key-value": (domains.KeyValue(["lark", "owl", "wren"], SIDE, 2), {"owl": 0.25}),
    "pair": (domains.Pair(sv.Categories(["f", "m"]), SIDE), ("f", 0.25)),
    "powers": (domains.Powers(SIDE), 0.25),
    "prefix": (domains.Prefix(AGES, 2), 3),
    "ranking": (domains.Ranking(["lark", "owl", "wren"]), ["owl", "wren", "lark"]),
    "record": (PERSON, ROW),
    "select": (domains.Select(PERSON, ["sex", "age"]), ROW),
    "sets": (BIRDS, ["owl"]),
    "itemsets": (domains.Itemsets(BIRDS, [["lark", "owl"], ["wren"]]), ["owl"]),
    "held-count": (domains.HeldCount(BIRDS), ["owl"]),
    "sparse": (domains.Sparse(5, 2), {1: 0.5}),
    "square": (domains.Square(SIDE), 0.25),
    "text": (domains.Text(), "owl"),
    "words": (domains.Words("abcdefghijklmnopqrstuvwxyz", 4), "owl"),
    "vector-part": (domains.VectorPart(domains.Box(0, 1, 3), [2, 0]), [0.1, 0.2, 0.3]),
}
# Programs that are solved take a while, and what they give reads answers as the others do.
MECHANISMS = [
    pytest.param(name, marks=pytest.mark.slow if BUILDERS[name].startswith("design.") else ()) for name in sv.names()
]


def nothing_shown(seen: Seen, what: object = "") -> None:
    assert not seen.marks(), (what, seen.shown())


def test_every_kind_of_domain_has_an_example() -> None:
    assert set(EXAMPLES) == set(KINDS)


def test_an_answer_that_is_shown_is_noticed() -> None:
    """The test's own eyes: each way in which an answer may show is seen."""

    def chained() -> None:
        try:
            raise KeyError(TEXT)
        except KeyError:
            raise sv.ReportError("nothing") from None

    def noted() -> None:
        problem = ValueError("nothing")
        problem.add_note(TEXT)
        raise problem

    def carried() -> None:
        problem = sv.DomainError("nothing", domain=AGES)
        problem.value = TEXT  # type: ignore[attr-defined]
        raise problem

    ways: list[Callable[[], Any]] = [
        chained,
        noted,
        carried,
        lambda: print(TEXT),
        lambda: logging.getLogger("sottovoce").debug("seen: %s", TEXT),
        lambda: warnings.warn(TEXT, stacklevel=1),
    ]
    for way in ways:
        assert attempt(way).marks() == [TEXT], way


@for_each("kind", KINDS)
def test_a_domain_shows_no_answer_that_it_refuses(kind: str) -> None:
    domain, valid = EXAMPLES[kind]
    domain.encode(valid)
    refused = 0
    for answer in ANSWERS:
        for value in planted(valid, answer):
            seen = attempt(lambda value=value: domain.encode(value))  # type: ignore[misc]
            nothing_shown(seen, kind)
            refused += bool(seen.errors)
            assert all(isinstance(error, sv.DomainError) for error in seen.errors)
    assert refused > 4


@for_each("kind", KINDS)
def test_a_domain_refuses_all_that_it_calls_foreign(kind: str) -> None:
    """The audit tries these values on a device of every domain."""
    domain, valid = EXAMPLES[kind]
    foreign = domain.foreign()
    assert len(foreign) >= 4
    for value in foreign:
        assert attempt(lambda value=value: domain.encode(value)).errors, f"{kind} takes a foreign value"  # type: ignore[misc]
    assert not attempt(lambda: domain.encode(valid)).errors


def batches(valid: Any, value: Any) -> list[Any]:
    """Some answers, one of them planted, in every container that a batch may come in."""
    listed = [valid, value, valid]
    objects = np.empty(3, object)
    objects[:] = [valid, value, valid]
    found: list[Any] = [listed, tuple(listed), objects, pd.Series(listed, dtype=object), value, (one for one in listed)]
    if not isinstance(valid, (dict, list, tuple)) and type(value) in (str, int, float, bytes):
        found.append(np.array([value]))
        found.append(pd.Series([value, None]))
        found.append(pa.array([value, None]))
        found.append(pa.chunked_array([[value]]))
        found.append(pd.DataFrame({str(value): [value]}))
        found.append(pa.table({"v": [value]}))
        found.append(np.ma.masked_array(np.array([value]), [False]))
    if isinstance(valid, dict) and isinstance(value, dict):
        found.append(pd.DataFrame([value]))
    return found


def fitting(name: str) -> tuple[sv.Mechanism, Any] | None:
    """A mechanism on the first domain that it takes."""
    for domain, valid in [*EXAMPLES.values(), (domains.Sparse(5, 1), {1: 0.5})]:
        try:
            return sv.mechanism(name, domain, epsilon=1), valid
        except sv.SottovoceError:
            continue
    return None


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_batch_shows_no_answer_that_it_refuses(name: str) -> None:
    found = fitting(name)
    assert found is not None, "no example has a domain for this mechanism"
    mechanism, valid = found
    for answer in (TEXT, NUMBER, NUMBER / 10_000, [TEXT], {TEXT: NUMBER}):
        for value in planted(valid, answer):
            for batch in batches(valid, value):
                nothing_shown(attempt(lambda batch=batch: mechanism.privatize(batch)), name)  # type: ignore[misc]
            nothing_shown(attempt(lambda value=value: mechanism.randomize(value)), name)  # type: ignore[misc]
            nothing_shown(attempt(lambda value=value: sv.Client(mechanism).report(value)), name)  # type: ignore[misc]


SPEC = sv.mechanism("olh", sv.Categories(["lark", "owl", "neither"]), epsilon=1).spec()
FILES = [
    f"name,answer\nBob,{TEXT}\n",
    f"{TEXT}\n{NUMBER}\n",
    json.dumps([TEXT, NUMBER]),
    json.dumps({"name": "Bob", TEXT: NUMBER}),
    json.dumps({"name": "Bob", "answer": TEXT}) + "\n" + json.dumps({"name": "Eve", "answer": TEXT}),
    json.dumps({"answer": NUMBER / 10_000}),
    json.dumps({"answer": NUMBER << 60}),
    f'{{"answer": {NUMBER}, "answer": "{TEXT}"}}',
    f'{{"é{TEXT}": 1}}',
    f'{{"answer": "{TEXT}\\ud800"}}',
    f'"{TEXT}\t{NUMBER}',
    str(NUMBER) * 1000,
    "[" * 100_000 + TEXT,
]


@pytest.mark.parametrize("text", FILES, ids=range(len(FILES)))
def test_answers_where_a_specification_belongs_are_not_shown(text: str) -> None:
    readers: list[Callable[[Any], Any]] = [sv.Mechanism.from_spec, sv.Client.from_spec, sv.Tally.from_bytes]
    for read in readers:
        for data in (text, text.encode(), text.encode("latin-1"), text.encode("utf-16")):
            seen = attempt(lambda read=read, data=data: read(data))  # type: ignore[misc]
            nothing_shown(seen, read)
            assert seen.errors and isinstance(seen.errors[0], sv.SottovoceError)


def test_a_text_anywhere_in_a_specification_is_not_shown() -> None:
    refused = 0
    for spec in planted(SPEC, TEXT):
        seen = attempt(lambda spec=spec: sv.Mechanism.from_spec(spec))  # type: ignore[misc]
        nothing_shown(seen, spec)
        refused += bool(seen.errors)
    assert refused > 20


@pytest.mark.parametrize("answer", [TEXT, [TEXT, NUMBER], {TEXT: NUMBER}, (NUMBER,), np.array([NUMBER, NUMBER])])
def test_answers_where_a_parameter_belongs_are_not_shown(answer: Any) -> None:
    m = sv.mechanism("grr", AGES, epsilon=1)
    tally = m.tally(m.privatize([1, 2, 3], seed=1))
    estimate = m.estimate(tally)
    calls: list[Callable[[], Any]] = [
        lambda: sv.mechanism(answer, AGES, epsilon=1),
        lambda: sv.mechanism("grr", answer, epsilon=1),
        lambda: sv.mechanism("grr", AGES, epsilon=answer),
        lambda: sv.mechanism("subset", AGES, epsilon=1, w=answer),
        lambda: sv.Categories(answer),
        lambda: sv.Categories([answer, answer]),
        lambda: sv.Categories([0.5, NUMBER / 3]),
        lambda: sv.Categories(["a", NUMBER]),
        lambda: sv.Integers(0, answer),
        lambda: sv.Interval(answer, 1),
        lambda: domains.Box(0, answer, 3),
        lambda: domains.Bins(SIDE, answer),
        lambda: sv.Client(answer),
        lambda: sv.Client(m, limit=answer),
        lambda: m.tally(answer),
        lambda: m.tally([answer]),
        lambda: m.tally_batches(answer),
        lambda: m.tally_batches([answer]),
        lambda: m.estimate(answer),
        lambda: estimate.ci(answer),
        lambda: estimate.ci(method=answer),
        lambda: estimate.ci(target=answer),
        lambda: estimate.project(answer),
        lambda: sv.audit(answer),
        lambda: sv.plan(answer, epsilon=1, participants=100),
        lambda: sv.plan(sv.Frequency(AGES), epsilon=answer, participants=100),
        lambda: sv.plan(sv.Frequency(AGES), epsilon=1, half_width=answer),
        lambda: sv.plan(sv.Frequency(AGES), epsilon=1, half_width=1, level=answer),
        lambda: sv.plan(sv.Frequency(AGES), epsilon=1, participants=100, prior=answer),
        lambda: sv.plan(sv.Frequency(AGES), epsilon=1, participants=100, methods=[answer]),
        lambda: m.privatize([1], seed=answer),
    ]
    for number, call in enumerate(calls):
        seen = attempt(call)
        nothing_shown(seen, number)
        assert seen.errors, number


def test_reports_with_columns_named_by_answers_are_refused_without_the_names() -> None:
    m = sv.mechanism("grr", AGES, epsilon=1)
    nested = pa.array([{TEXT: NUMBER}])
    for table in (pa.table({TEXT: [1]}), pa.table({"report": nested}), pa.table({"report": pa.array([[{TEXT: 1}]])})):
        for batch in table.to_batches():
            seen = attempt(lambda batch=batch: from_arrow(m, batch))  # type: ignore[misc]
            nothing_shown(seen)
            assert isinstance(seen.errors[0], sv.ReportError)


def test_protocols_of_strangers_are_refused_without_their_texts() -> None:
    belief = sv.Prior([0.25, 0.75], [0.5, 0.5])
    grr = sv.mechanism("grr", AGES, epsilon=1)
    for protocol in (
        PersonalBudgetMean(SIDE, ["1", "2"], prior=belief),
        AskEveryone(grr),
        AskOneOf((Arm("a", grr), Arm("b", grr))),
    ):
        spec = protocol_spec(protocol)
        for wrong in planted(spec, TEXT):
            nothing_shown(attempt(lambda wrong=wrong: protocol_from_spec(wrong)))  # type: ignore[misc]


def test_what_is_public_is_still_said() -> None:
    """Numbers that a programmer gave, both sides of a mismatch, and where a specification should change."""
    with pytest.raises(sv.ParameterError, match=r"must be a number in \(0, 20\]\. Got -1\.$"):
        sv.mechanism("grr", AGES, epsilon=-1)
    one, two = (sv.Tally.empty(sv.mechanism("grr", AGES, epsilon=epsilon)) for epsilon in (1, 2))
    with pytest.raises(sv.MismatchError, match="epsilon: '1' against '2'"):
        one + two
    with pytest.raises(sv.SpecError, match="epsilon must be '1'"):
        sv.Mechanism.from_spec(canonical({**SPEC, "epsilon": "1.0"}))


def test_watching_ends_with_its_block() -> None:
    handlers = list(logging.getLogger().handlers)
    with watched():
        assert list(logging.getLogger().handlers) != handlers
    assert list(logging.getLogger().handlers) == handlers
    assert [type(error) for error in chain(None)] == []
