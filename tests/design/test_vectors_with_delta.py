"""Vectors of numbers with a delta: the composition of bits, beside enumerated laws and numbers worked out apart."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import comb, exp

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.channel import Rounding, SampledCoordinates, Subset, Table, closed_forms
from sottovoce.core.channel.facets import Divergent, facet
from sottovoce.core.errors import PrivacyError
from sottovoce.design.sampled import MOST_COMPOSED, best_bits, composed_shares
from sottovoce.testing import check_mechanism

GRID = Rounding(-1, 1, 1)


def brute_delta(p: float, count: int, budget: float) -> float:
    """The hockey-stick divergence of opposite bits, report by report."""
    pairs = [
        (p**ones * (1 - p) ** (count - ones), (1 - p) ** ones * p ** (count - ones))
        for ones in (sum(bits) for bits in product((0, 1), repeat=count))
    ]
    return sum(max(0.0, one - exp(budget) * other) for one, other in pairs)


@pytest.mark.parametrize(("count", "budget"), [(1, 0.2), (3, 0.5), (6, 1.0), (7, 2.0)])
def test_the_closed_form_is_the_divergence_of_all_reports(count: int, budget: float) -> None:
    keep = int(0.7 * UNIT)
    channel = SampledCoordinates((GRID,) * count, Subset(2, 1, keep), count)
    at = odds(Decimal(str(budget)))
    assert float(closed_forms.delta(channel, at)) == pytest.approx(brute_delta(0.7, count, budget), rel=1e-12)
    # Every pair of answers, not only opposite ones.
    codes = list(product((-1, 1), repeat=count))[:16]
    rows = [[channel.likelihood(report, code) for report in range(1 << count)] for code in codes]
    assert max(closed_forms.excess(one, other, at) for one in rows for other in rows) <= closed_forms.delta(channel, at)


def test_only_fair_bits_have_the_closed_form() -> None:
    skew = Table([[UNIT // 2, UNIT // 2], [UNIT // 4, 3 * UNIT // 4]])
    assert facet(SampledCoordinates((GRID,) * 2, skew, 2), Divergent) is None
    assert facet(SampledCoordinates((GRID,) * 2, Subset(2, 1, 3 * UNIT // 4), 2), Divergent) is not None


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dimensions"), [("sampled", 3), ("split-epsilon", 2)])
def test_a_delta_keeps_the_contract(name: str, dimensions: int) -> None:
    check_mechanism(sv.mechanism(name, sv.Box(-1, 1, dimensions=dimensions), epsilon=2, delta="0.001"))


@pytest.mark.parametrize(
    ("name", "epsilon"), [("sampled", 8), pytest.param("split-epsilon", 1, marks=pytest.mark.slow)]
)
def test_a_delta_is_kept_and_not_wasted(name: str, epsilon: int) -> None:
    certificate = sv.audit(sv.mechanism(name, sv.Box(-1, 1, dimensions=20), epsilon=epsilon, delta="0.000001"))
    assert certificate.ok, certificate
    assert certificate.delta is not None
    assert 0.999e-6 <= certificate.delta <= Fraction(1, 10**6)


def test_a_channel_that_loses_one_percent_more_is_refused() -> None:
    m = sv.mechanism("split-epsilon", sv.Box(-1, 1, dimensions=20), epsilon=2, delta="0.000001")
    keep = int(m.channel.inner.likelihood(1, 1) * UNIT)
    looser = SampledCoordinates(m.channel.grids, Subset(2, 1, keep + UNIT // 1000), 20)
    with pytest.raises(PrivacyError, match="delta"):
        replace(m, channel=looser)


def test_a_wrong_closed_form_fails_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    m = sv.mechanism("split-epsilon", sv.Box(-1, 1, dimensions=20), epsilon=2, delta="0.000001")
    right = SampledCoordinates.delta
    monkeypatch.setattr(SampledCoordinates, "delta", lambda self, at: right(self, at) * Fraction(99, 100))
    assert not sv.audit(m).ok


def test_shares_of_a_budget_compose_to_it() -> None:
    counts = np.array([1, 2, 10, 400])
    for share, count in zip(composed_shares(2.0, 1e-6, counts), counts, strict=True):
        p = exp(share) / (1 + exp(share))
        gaps = (
            comb(count, j) * (p**j * (1 - p) ** (count - j) - exp(2) * (1 - p) ** j * p ** (count - j))
            for j in range(count + 1)
        )
        assert sum(gap for gap in gaps if gap > 0) == pytest.approx(1e-6, rel=1e-3)
    # Where many coordinates compose, a delta allows each of them far more than an equal share.
    assert composed_shares(2.0, 1e-6, np.array([400]))[0] > 4 * 2 / 400


def test_the_number_of_bits_has_the_least_variance() -> None:
    box = sv.Box(-1, 1, dimensions=8)
    chosen = best_bits(Decimal(8), Decimal("0.000001"), 8)
    found = [
        sv.mechanism("sampled", box, epsilon=8, delta="0.000001", count=c).variance([0.0] * 8)[0] for c in range(1, 9)
    ]
    assert chosen == 1 + int(np.argmin(found))


def test_devices_refuse_a_delta_unless_told() -> None:
    m = sv.mechanism("sampled", sv.Box(0, 1, dimensions=3), epsilon=4, delta="0.0001")
    text = json.dumps(m.spec())
    with pytest.raises(PrivacyError, match="approximate"):
        sv.Client.from_spec(text, limit=4)
    assert len(sv.Client.from_spec(text, limit=4, accept=("approximate",)).report([0.1, 0.2, 1])) == 17


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delta": "0.001", "inner": "piecewise"}, "where a delta is given"),
        ({"delta": 2}, "delta"),
        ({"delta": "0.001", "count": 600}, f"at most {MOST_COMPOSED} coordinates"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(options: dict[str, object], words: str) -> None:
    with pytest.raises(sv.ParameterError, match=words):
        sv.mechanism("sampled", sv.Box(-1, 1, dimensions=700), epsilon=1, **options)
