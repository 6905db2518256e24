"""The page of all mean variances is what the command writes, and each column's lowest is the design made for it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv

DOCS = Path(__file__).resolve().parents[2] / "docs"
GENERATOR: dict[str, Any] = runpy.run_path(str(DOCS.parent / "scripts" / "generate_means.py"))
MADE_FOR = ["designed (worst-case)", *(f"designed for {prior}" for prior in GENERATOR["PRIORS"])]


def printed(epsilon: str) -> dict[str, list[float]]:
    """The numbers of one table of the page."""
    text = (DOCS / "results/means.md").read_text(encoding="utf-8")
    section = text.split(f"## epsilon {epsilon}\n")[1].split("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return {name: [float(cell.strip("*")) for cell in cells] for name, *cells in lines[1:]}


@pytest.mark.parametrize("epsilon", GENERATOR["EPSILONS"])
def test_the_design_for_a_column_is_the_lowest_in_it(epsilon: str) -> None:
    rows = printed(epsilon)
    assert set(sv.names(sv.Mean)) - set(GENERATOR["OTHERS"]) <= set(rows)
    for place, name in enumerate(MADE_FOR):
        assert rows[name][place] <= min(values[place] for values in rows.values()) * (1 + 1e-4)  # of five digits


@pytest.mark.parametrize("epsilon", ["2", "4", "6", "8"])
def test_the_worst_case_design_is_not_the_best_average(epsilon: str) -> None:
    rows = printed(epsilon)
    assert rows["designed (worst-case)"][1] > 1.05 * rows["designed for uniform"][1]
    assert rows["designed (balanced)"][0] <= 1.1001 * rows["designed (worst-case)"][0]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", GENERATOR["EPSILONS"])
def test_the_page_is_what_the_command_writes(epsilon: str) -> None:
    """The optimum of a linear program is unique, its solution need not be: other columns may differ a little."""
    found = GENERATOR["numbers"](epsilon)
    shown = printed(epsilon)
    assert list(found) == list(shown)
    for name, values in found.items():
        own = MADE_FOR.index(name) if name in MADE_FOR else None
        for place, value in enumerate(values):
            exact = own == place or not name.startswith(("designed", "n-output"))
            assert shown[name][place] == pytest.approx(value, rel=1e-4 if exact else 0.3), (name, place)


def test_methods_at_a_glance_shows_numbers_of_the_page() -> None:
    lines = (DOCS / "methods" / "at-a-glance.md").read_text(encoding="utf-8").splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("| name | law of a report | epsilon 1"))
    shown: dict[str, list[str]] = {}
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        names, _, *columns = (cell.strip() for cell in line.strip("|").split("|"))
        listed = [name.strip(" `") for name in names.split("(")[0].split(",")]
        for place, name in enumerate(listed):
            shown[name] = [column.split(", ")[place] for column in columns]
    assert set(shown) == set(sv.names(sv.Mean)) - {"bernoulli-memo"}
    for place, epsilon in enumerate(("1", "4")):
        page = printed(epsilon)
        for name, values in shown.items():
            assert float(values[place]) == page[{"designed": "designed (worst-case)"}.get(name, name)][0], name
