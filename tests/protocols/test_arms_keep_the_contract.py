"""Whatever a protocol asks keeps the contract of mechanisms: every arm of every round of every protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest

import sottovoce as sv
from sottovoce.core.domain import Clamp, Domain
from sottovoce.core.guarantee import Approximate
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.mean.gaussian import build as gaussian
from sottovoce.protocols.play import State
from sottovoce.protocols.simulate import rounds
from sottovoce.testing import check_mechanism
from tests.protocols.test_checkpoints import EVERY

pytestmark = pytest.mark.slow

SLOW = {
    "AdaptiveMean",
    "Variance, split-eps",
    "RangeSearch",
    "RangeSearchRounds",
    "KnownVar",
    "UnkVar",
    "UVGausstimate",
    "OneRoundUVGausstimate",
}
EACH = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in EVERY]
SPLIT = ("bernoulli", "piecewise", "pm-sub", "scdf", "hybrid", "staircase", "laplace", "designed")
QUICK = ("bernoulli", "piecewise")


def arms(name: str) -> Iterator[sv.Mechanism]:
    """Mechanisms of all arms; of those that differ in numbers alone, like the thresholds of a search, the first."""
    protocol, answers = EVERY[name]
    choices = [place % 2 for place in range(len(answers))] if name.startswith("Personal") else None
    seen = set()
    for state in (State.first(protocol), *rounds(protocol, answers, seed=3, choices=choices)):
        for arm in () if state.is_over else state.round.arms:
            m = arm.mechanism
            shape = (m.name, m.domain.kind, m.statistic, m.claimed, m.cells, m.guarantee)
            if shape not in seen:
                seen.add(shape)
                yield m


@pytest.mark.parametrize("name", EACH)
def test_arms_keep_the_contract(name: str) -> None:
    found = list(arms(name))
    assert found
    for mechanism in found:
        # An arm about parts of boxes is a frequency oracle for the parts; boxes are read from several arms together.
        parts = mechanism.question.kind == "boxes" and mechanism.statistic == CountSupports()
        check_mechanism(
            replace(mechanism, question=sv.Frequency(mechanism.domain)) if parts else mechanism, reports=2_000
        )


@pytest.mark.parametrize("domain", [sv.Interval(-1, 1), sv.Integers(3, 9)], ids=["interval", "integers"])
@pytest.mark.parametrize("method", [pytest.param(m, marks=[] if m in QUICK else [pytest.mark.slow]) for m in SPLIT])
def test_a_number_and_its_square_side_by_side_keep_the_contract(method: str, domain: Domain) -> None:
    check_mechanism(sv.VarianceRounds(domain, 2, method="split-eps", mechanism=method).start().arms[0].mechanism)


@pytest.mark.parametrize("domain", [sv.Interval(0, 1), Clamp(sv.Interval(0, 200), "121.9", "124.2")], ids=["0", "1"])
def test_gaussian_noise_keeps_the_contract_with_its_delta(domain: Domain) -> None:
    check_mechanism(gaussian(domain, epsilon=4, delta="0.01", steps=3))


def test_an_unused_delta_is_noticed() -> None:
    honest = gaussian(sv.Interval(0, 1), epsilon=4, delta="0.01", steps=3)
    looser = Approximate(Decimal("0.02"))
    more = sv.Mechanism("x", honest.question, honest.channel, honest.claimed, honest.statistic, guarantee=looser)
    with pytest.raises(AssertionError, match="wastes delta"):
        check_mechanism(more)


def test_the_ends_of_a_range_in_decimals_have_a_variance() -> None:
    """The float 124.2 lies above the decimal 124.2, and is the same answer."""
    m = sv.mechanism("bernoulli", Clamp(sv.Interval(0, 200), Decimal("121.9"), Decimal("124.2")), epsilon=1)
    assert m.variance(124.2) == m.variance(Decimal("124.2"))
