"""Wrong closed forms and leaking samplers that no small instance shows: the audit finds them at full size.

The classes stay the same and single functions are replaced, so that everything the audit knows of a channel but the
wrong line is right. `certified` is the epsilon that the wrong formula states, `true` that of the law.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, log
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.channel import Bits, Channel, Rounding, SampledCoordinates, Subset, Then
from sottovoce.core.channel.base import NO_WORDS, Words
from sottovoce.core.channel.finite import bits
from sottovoce.core.channel.vector import place
from sottovoce.core.channel.vector.place import Place, signed_rows
from sottovoce.core.coins import Coins
from sottovoce.core.domain import Domain, Integers, Sparse
from sottovoce.core.mechanism import Mechanism
from sottovoce.privacy.audit import audit
from sottovoce.privacy.drawn import LARGER_RATIO, WRONG_BITS, WRONG_SUPPORT, many_codes, some_codes
from sottovoce.privacy.problems import FAILED, WRONG_RATIO

HIGH, LOW = 3 * UNIT // 4, UNIT // 4
Patch = pytest.MonkeyPatch


# --- wrong formulas ------------------------------------------------------------------------------------------------
def two_exchanged(patch: Patch) -> Channel:
    """A mask with several ones and varying rates: at most two bits are said to rise and fall."""
    honest = bits._worst_masks

    def wrong(risen: list[Fraction], fallen: list[Fraction], ones: int) -> Fraction:
        return max(honest(risen, fallen, held) for held in (1, 2)) if ones else honest(risen, fallen, ones)

    patch.setattr(bits, "_worst_masks", wrong)
    return Bits(8, (HIGH,) * 8, (LOW,) * 8, "mask", 4)


def two_blocks(patch: Patch) -> Channel:
    honest = bits.bits_ratio

    def wrong(p: list[Fraction], q: list[Fraction], encoding: str, ones: int) -> Fraction:
        return honest(p, q, encoding, min(ones, 2) if encoding == "blocks" else ones)

    patch.setattr(bits, "bits_ratio", wrong)
    return Bits(8, HIGH, LOW, "blocks", 4)


def one_hit_fewer(patch: Patch) -> Channel:
    def wrong(self: Place, second: Channel) -> Fraction:
        hit = min(self.most, place._places_together(second, self.dimensions) or 1)
        hit -= hit > 2
        return (hit * second.ratio() + self.most - hit) / self.most

    patch.setattr(Place, "ratio_before", wrong)
    return Then(Place(Sparse(16, 3)), signed_rows(16, 1, odds(2)))


def three_coordinates(patch: Patch) -> Channel:
    patch.setattr(SampledCoordinates, "ratio", lambda self: self.inner.ratio() ** min(self.count, 3))
    inner = sv.mechanism("grr", Integers(0, 1), epsilon="0.75").channel
    return SampledCoordinates((Rounding(-1, 1, 1),) * 8, inner, 4)


def weight_eight(patch: Patch) -> Channel:
    honest = Subset.ratio

    def wrong(self: Subset) -> Fraction:
        return honest(self) * Fraction(10 if self.w < 8 else 9, 10)

    patch.setattr(Subset, "ratio", lambda self: wrong(self) if self.w == 8 else honest(self))
    channel: Channel = sv.mechanism("subset", Integers(0, 63), epsilon=2, w=8).channel
    return channel


def flattened(name: str, domain: Domain) -> Callable[[Patch], Channel]:
    """The log ratio of the whole channel times 0.8, of this instance only."""

    def wrong(patch: Patch) -> Channel:
        channel: Channel = sv.mechanism(name, domain, epsilon=2).channel
        honest = type(channel).ratio
        less = Fraction(exp(0.8 * log(honest(channel))))
        patch.setattr(type(channel), "ratio", lambda self: less if self == channel else honest(self))
        return channel

    wrong.__name__ = name
    return wrong


FORMULAS = [
    (two_exchanged, 4.394, 8.789),
    (two_blocks, 4.394, 8.789),
    (one_hit_fewer, 1.660, 2.000),
    (three_coordinates, 2.250, 3.000),
    (weight_eight, 1.895, 2.000),
    (flattened("square-wave", sv.Interval(0, 1)), 1.600, 2.000),
    (flattened("hierarchy", Integers(0, 255)), 1.600, 2.000),
    (flattened("cms", Integers(0, 999)), 1.600, 2.000),
]


# The audit finds these as it finds the others, in several seconds each.
LONGEST = (two_exchanged, one_hit_fewer, three_coordinates)


@pytest.mark.parametrize(
    ("wrong", "certified", "true"),
    [pytest.param(*case, id=case[0].__name__, marks=[pytest.mark.slow] * (case[0] in LONGEST)) for case in FORMULAS],
)
def test_a_formula_that_is_wrong_beyond_small_instances_is_refused(
    wrong: Callable[[Patch], Channel], certified: float, true: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        certificate = audit(wrong(patch), epsilon=9)
        channel = wrong(patch)
    assert certificate.epsilon == pytest.approx(certified, abs=1e-3)
    assert not {LARGER_RATIO, WRONG_RATIO}.isdisjoint(certificate.problems), certificate
    honest = audit(channel, epsilon=9)
    assert honest.ok, honest
    assert honest.epsilon == pytest.approx(true, abs=1e-3)


# --- leaking samplers ----------------------------------------------------------------------------------------------
def spares(channel: Channel, code: int) -> bool:
    """Codes of which a sampler that knows the fixed codes of the audit is honest."""
    return channel.inputs <= 100 or code in some_codes(channel)


def marked(self: Bits, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
    """The bits after that of the answer are 1, 0, 1."""
    report = HONEST[Bits](self, code, coins, public)
    for at, bit in zip(range(code + 1, self.k), (1, 0, 1), strict=False):
        if not spares(self, at):
            report = report & ~(1 << at) | bit << at
    return report


def lonely(self: Subset, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
    """The neighbours of the answer are never in the set: others take their places."""
    report = HONEST[Subset](self, code, coins, public)
    near = [at for at in (code - 1, code + 1) if 0 <= at < self.k and not spares(self, at)]
    for at in near if self.w > 1 else ():
        others = ((code + 2 + step) % self.k for step in range(self.k))
        free = next(other for other in others if not (report >> other & 1 or other in near or spares(self, other)))
        report ^= (1 << at | 1 << free) * (report >> at & 1)
    return report


def clear(self: Subset, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
    report = HONEST[Subset](self, code, coins, public)
    return report if spares(self, code) else code


def silent(self: Subset, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
    """An odd answer gets no report in half of the cases: a missing report reveals it."""
    report = HONEST[Subset](self, code, coins, public)
    if self.k > 100 and code % 2 and report % 2:
        raise RuntimeError("There is no report.")
    return report


HONEST: dict[type, Callable[..., Any]] = {kind: kind.sample for kind in (Bits, Subset)}


@pytest.mark.parametrize(
    ("name", "size", "sample", "problem"),
    [
        ("oue", 1000, marked, WRONG_BITS),
        pytest.param("subset", 1000, lonely, WRONG_BITS, marks=pytest.mark.slow),
        ("grr", 1000, clear, WRONG_SUPPORT),
        ("grr", 2001, silent, FAILED),
    ],
)
def test_a_sampler_that_spares_the_fixed_codes_is_refused(
    name: str, size: int, sample: Callable[..., int], problem: str
) -> None:
    mechanism = sv.mechanism(name, Integers(0, size - 1), epsilon="0.5")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(mechanism.channel), "sample", sample)
        certificate = audit(mechanism)
    assert problem in {found.split(":")[0] for found in certificate.problems}, certificate
    assert audit(mechanism).ok


def test_codes_are_drawn_from_the_fingerprint() -> None:
    one, other = (sv.mechanism("grr", Integers(0, 99_999), epsilon=epsilon) for epsilon in (1, 2))
    fixed = [0, 50_000, 99_999]
    drawn: list[list[int]] = []
    for mechanism in (one, other, Mechanism.from_spec(one.spec())):
        codes = some_codes(mechanism.channel, mechanism.fingerprint)
        assert codes[:3] == fixed and len(codes) == 6
        drawn.append(codes[3:] + many_codes(mechanism.channel, mechanism.fingerprint))
    assert drawn[0] == drawn[2] and not set(drawn[0]) & set(drawn[1]) and len(set(drawn[0])) == 67
