"""The decision table: each cell of the page is what `sv.plan` proposes today."""

from __future__ import annotations

from pathlib import Path

import pytest

from sottovoce_experiments.decision import EPSILONS, EXPERIMENT, PAGE, PEOPLE, SIZES, advice, planned
from sottovoce_experiments.page import sections

DOCS = Path(__file__).resolve().parents[2] / "docs"


def cells() -> dict[tuple[str, int, int, float], str]:
    """The cells of the page by question, size, participants and epsilon."""
    lines = sections((DOCS / PAGE.file).read_text(encoding="utf-8"))[EXPERIMENT.id].splitlines()
    table = [[text.strip() for text in line.strip("|").split("|")] for line in lines if line.startswith("|")][2:]
    return {
        (question, int(k), int(n.replace(",", "")), epsilon): said
        for question, k, n, *texts in table
        for epsilon, said in zip(EPSILONS, texts, strict=True)
    }


def test_the_table_has_every_cell() -> None:
    assert {*cells()} == {(*size, n, epsilon) for size in SIZES for n in PEOPLE for epsilon in EPSILONS}


def test_the_plan_agrees_on_shares_and_means() -> None:
    shown = cells()
    for question, k in SIZES[1:3]:
        for epsilon in EPSILONS:
            assert shown[question, k, 10_000, epsilon] == advice(planned(question, k, 10_000, epsilon))


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_plan_agrees_on_every_question(size: tuple[str, int]) -> None:
    shown = cells()
    for n, epsilon in ((1_000, 0.5), (100_000, 4.0)):
        assert shown[*size, n, epsilon] == advice(planned(*size, n, epsilon))


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_plan_agrees_with_every_cell(size: tuple[str, int]) -> None:
    """All participants and budgets; two of these pairs are in `make test`."""
    shown = cells()
    for n in PEOPLE:
        for epsilon in EPSILONS:
            assert shown[*size, n, epsilon] == advice(planned(*size, n, epsilon))
