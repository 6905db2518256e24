"""Batches of numbers with a step: the same numbers are taken and refused as one by one."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Above, Bins, Clamp, Square
from sottovoce.core.errors import DomainError
from sottovoce.fast.encode import encode

HOURS = sv.Interval(0, 14, step=0.1)


@pytest.mark.parametrize("view", [Bins.even(HOURS, 141), Above(HOURS, 7), Bins(HOURS, [3, 7.25])])
def test_codes_are_those_of_the_domain(view):
    values = np.round(np.arange(141) * 0.1, 1)
    assert encode(view, values).tolist() == [view.encode(value) for value in values.tolist()]


@pytest.mark.parametrize("wrong", [[0.25], [15.0], [-0.1], [float("nan")], [0.30000000000000004]])
def test_what_is_no_multiple_is_refused_with_one_sentence(wrong):
    expected = r"1 of 3 answers lie outside the domain, the first at position 2\. .* in steps of 0\.1\.$"
    for view in (Bins.even(HOURS, 20), Above(HOURS, 7)):
        with pytest.raises(DomainError, match=expected):
            encode(view, np.array([0.1, 7.0, *wrong]))
    for domain, question in ((HOURS, sv.Mean), (HOURS, sv.Distribution)):
        name = "hybrid" if question is sv.Mean else "square-wave"
        for values in (np.array([0.1, 7.0, *wrong]), [0.1, 7.0, *wrong]):
            with pytest.raises(DomainError, match=expected):
                sv.mechanism(name, domain, epsilon=1).privatize(values, seed=1)


def test_whole_numbers_too():
    dollars = sv.Interval(0, 1000, step=50)
    assert encode(Bins.even(dollars, 21), np.arange(0, 1001, 50)).tolist() == list(range(21))
    with pytest.raises(DomainError, match="in steps of 50"):
        encode(Bins.even(dollars, 21), np.array([0, 70]))
    with pytest.raises(DomainError, match="in steps of 50"):
        encode(Bins.even(dollars, 21), [0, 70])
    for view in (Clamp(dollars, 100, 500), Square(dollars)):
        assert view.encode(150)
        with pytest.raises(DomainError):
            view.encode(170)
