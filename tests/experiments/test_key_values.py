"""PCKV-UE by formula: its published parameters spend epsilon, and its variances are those of the enumerated law."""

from __future__ import annotations

import math
from itertools import product

import pytest

from sottovoce_experiments.sets.key_values import of_unary


def law(slots: list[tuple[int, int]], places: int, epsilon: float) -> dict[tuple[int, ...], float]:
    """Probabilities of all reports, where a slot is the place of a key or of a filler, and the end of its number."""
    e = math.exp(epsilon)
    a, b, p = 0.5, 2 / (e + 3), e / (e + 1)
    found = {}
    for report in product((-1, 0, 1), repeat=places):
        total = 0.0
        for place, end in slots:
            drawn = {end: a * p, -end: a * (1 - p), 0: 1 - a}[report[place]]
            others = (1 - b if one == 0 else b / 2 for at, one in enumerate(report) if at != place)
            total += drawn * math.prod(others) / len(slots)
        found[report] = total
    return found


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_unary_formulas_are_those_of_the_enumerated_law(epsilon: float) -> None:
    places = [(place, end) for place in range(4) for end in (-1, 1)]
    laws = [law([one, other], 4, epsilon) for one in places for other in places if one[0] < other[0]]
    worst = max(own[report] / its[report] for own in laws for its in laws for report in own)
    assert worst == pytest.approx(math.exp(epsilon), rel=1e-9)

    e, most = math.exp(epsilon), 2
    own, other, gap = 0.5, 2 / (e + 3), (e - 1) / (e + 1)
    held, nobody = law([(0, 1), (2, 1)], 4, epsilon), law([(2, 1), (3, 1)], 4, epsilon)

    def moments(reports: dict[tuple[int, ...], float], power: int) -> tuple[float, float]:
        share = sum(p * ((abs(one[0]) - other) * most / (own - other)) ** power for one, p in reports.items())
        return share, sum(p * (one[0] * most / (own * gap)) ** power for one, p in reports.items())

    assert moments(held, 1) == pytest.approx((1, 1)) and moments(nobody, 1) == pytest.approx((0, 0), abs=1e-12)
    assert moments(nobody, 2) == pytest.approx(tuple(of_unary(most, epsilon).values()))
