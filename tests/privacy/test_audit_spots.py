"""What is wrong only in a large instance is found by enumerating some of its codes, and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log

import pytest

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, Chain, Channel, Subset, Then
from sottovoce.core.channel.base import NO_WORDS, Words
from sottovoce.core.coins import Coins
from sottovoce.privacy.audit import audit
from sottovoce.privacy.declared import HIDDEN_PART
from sottovoce.privacy.drawn import ALPHA, LARGER_RATIO, _divergence, _report_problems, _support_problems
from sottovoce.privacy.problems import UNPROVEN, WRONG_LAW, WRONG_RATIO

LARGE = 100  # codes: 100 x 100 outcomes are too many to enumerate, 100 of one code are not


@dataclass(frozen=True, slots=True)
class RatioTooSmall(Subset):
    """The closed form of the ratio is one per cent too small where there are many codes."""

    def ratio(self) -> Fraction:
        return Subset.ratio(self) * Fraction(99 if self.k == LARGE else 100, 100)


@dataclass(frozen=True, slots=True)
class RatioTooLarge(Subset):
    """One per cent too large is a bound as well."""

    def ratio(self) -> Fraction:
        return Subset.ratio(self) * Fraction(101 if self.k == LARGE else 100, 100)


@dataclass(frozen=True, slots=True)
class LikelihoodOff(Subset):
    """The closed form of one likelihood, that of the last code, is one per cent off where there are many codes."""

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        off = self.k == LARGE and report == code == LARGE - 1
        return Subset.likelihood(self, report, code) * Fraction(101 if off else 100, 100)


@dataclass(frozen=True, slots=True)
class MiddleOff(Subset):
    """The middle code of many keeps itself a little less often: still a mechanism, but not that of the closed form."""

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        keep = self.keep - (UNIT // 1000 if self.k == LARGE and code == LARGE // 2 else 0)
        return Subset.sample(Subset(self.k, self.w, keep), code, coins)


@pytest.mark.parametrize(
    ("kind", "problems"),
    [
        (Subset, ()),
        (RatioTooLarge, ()),
        (RatioTooSmall, (WRONG_RATIO, LARGER_RATIO)),
        (LikelihoodOff, (WRONG_LAW, LARGER_RATIO)),
        (MiddleOff, (WRONG_LAW,)),
    ],
)
def test_codes_of_a_large_instance_are_compared_with_the_closed_forms(kind: type[Subset], problems: tuple[str]) -> None:
    certificate = audit(kind(LARGE, 1, UNIT // 4), epsilon=4)
    assert certificate.problems == problems
    assert "closed form, proven on" in certificate.how
    assert certificate.ratio == kind(LARGE, 1, UNIT // 4).ratio()


@dataclass(frozen=True, slots=True)
class WithoutProof(Bits):
    """A channel of many words that declares no small instances."""

    def miniatures(self) -> tuple[Channel, ...]:
        return ()


def test_a_large_channel_of_many_words_without_small_instances_is_not_proven() -> None:
    channel = WithoutProof(2000, UNIT // 2, UNIT // 4)
    certificate = audit(channel, epsilon=4)
    assert certificate.problems == (UNPROVEN,)


@dataclass(frozen=True, slots=True)
class HidesItsParts(Then):
    """A composition that says it is made of nothing, so that a memo in it would be redrawn in every report."""

    @property
    def parts(self) -> tuple[Channel, ...]:
        return ()


def test_a_part_that_is_not_listed_is_found() -> None:
    coin = Subset(2, 1, 3 * UNIT // 4)
    for hidden in (coin, Chain(coin, coin)):
        assert audit(HidesItsParts(coin, hidden), epsilon=4).problems == (HIDDEN_PART,)
    assert audit(Then(coin, coin), epsilon=4).ok


# --- frequencies of drawn reports -----------------------------------------------------------------------------------
def test_the_divergence_of_two_coins() -> None:
    assert _divergence(0.5, 0.25) == pytest.approx((log(2) + log(2 / 3)) / 2)
    assert _divergence(0, 0.25) == pytest.approx(log(4 / 3)) and _divergence(1, 0.25) == pytest.approx(log(4))
    assert _divergence(0.5, 0) == _divergence(0.5, 1) == inf and _divergence(0.3, 0.3) == _divergence(1, 1) == 0


def test_frequencies_are_compared_at_the_stated_false_alarm_rate() -> None:
    """Chernoff: a share so far from its law has a probability of exp(-draws divergence) on its side.

    Two codes and two reports are eight tests. By Hoeffding, four counts of supports are eight tests as well.
    """
    channel, draws = Subset(2, 1, UNIT * 3 // 4), 4000
    as_promised = {(1, 1): 3000, (1, 0): 1000}
    found, far = [], []
    for hits in range(2700, 3300):
        reported = {(0, 0): hits, (0, 1): draws - hits, **as_promised}
        found.append(bool(list(_report_problems(channel, reported, draws))))
        far.append(draws * _divergence(hits / draws, 0.75) > log(8 / ALPHA))
    assert found == far and 200 < sum(found) < 500 and not found[300]
    found, far = [], []
    for hits in range(2700, 3300):
        found.append(bool(list(_support_problems(channel, {(0, 0): hits, (0, 1): 1000, **as_promised}, draws))))
        far.append(2 * (hits - 3000) ** 2 / draws > log(8 / ALPHA))
    assert found == far and 200 < sum(found) < 500
