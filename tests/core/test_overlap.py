"""The share of reports that chance alone decides, against the enumerated law."""

from __future__ import annotations

from fractions import Fraction

import pytest

import sottovoce as sv
from sottovoce.core.channel.overlap import overlap
from sottovoce.core.exact import law

DOMAINS = {
    "grr": sv.Integers(0, 4),
    "rr": sv.Integers(0, 1),
    "projective": sv.Integers(0, 6),
    "subset": sv.Integers(0, 3),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_the_overlap_is_that_of_the_enumerated_law(name: str) -> None:
    channel = sv.mechanism(name, DOMAINS[name], epsilon=1).channel
    by_code = [law(channel, code) for code in channel.codes()]
    reports = {report for one in by_code for report in one}
    exact = sum((min(one.get(report, Fraction(0)) for one in by_code) for report in reports), Fraction(0))
    assert overlap(channel) == exact


def test_what_cannot_be_added_up_has_a_bound_that_holds() -> None:
    channel = sv.mechanism("oue", sv.Integers(0, 3), epsilon=1).channel
    by_code = [law(channel, code) for code in channel.codes()]
    exact = sum((min(one[report] for one in by_code) for report in by_code[0]), Fraction(0))
    assert 0 < overlap(channel) == 1 / channel.ratio() <= exact
