"""Guarantees as objects: their texts, ratios of pairs of codes, limits, costs, and that nobody compares their texts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path
from typing import ClassVar

import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.channel import Block, Channel, HadamardSets, Subset, Table
from sottovoce.core.channel.closed_forms import delta
from sottovoce.core.guarantee import IDEALISED, KINDS, PURE, Approximate, Guarantee, UtilityOptimised
from sottovoce.core.spec_cost import effort, steps
from sottovoce.core.statistic.outputs import CountOutputs

SOURCE = Path(sv.__file__).parent
HALF, MORE = UNIT // 2, UNIT * 3 // 5
LEANING = Table([[MORE, UNIT - MORE], [HALF, HALF], [UNIT - MORE, MORE]])
TEXTS = {
    "pure": PURE,
    "approximate": Approximate(),
    "approximate(0.000001)": Approximate(Decimal("0.000001")),
    "utility_optimised": UtilityOptimised(),
    "utility_optimised(0,3,12)": UtilityOptimised(frozenset({12, 0, 3})),
    "idealised": IDEALISED,
}


def noise(leak: Fraction) -> Table:
    """Two codes; a report of its own reveals each with a probability of `leak`, otherwise a fair coin is reported."""
    own = int(leak * UNIT)
    fair = UNIT - own
    rows = [[fair // 2, fair - fair // 2, own, 0], [fair // 2, fair - fair // 2, 0, own]]
    return Table(rows)


@pytest.mark.parametrize("text", TEXTS)
def test_a_guarantee_has_one_text(text: str) -> None:
    guarantee = Guarantee.read(text)
    assert guarantee == TEXTS[text] and hash(guarantee) == hash(TEXTS[text]) and str(guarantee) == text
    assert guarantee.kind in KINDS and guarantee.remark == ("" if text == "pure" else text)
    assert Guarantee.read(str(Approximate(Decimal("0.0100")))) == Approximate(Decimal("0.01"))
    others = [other for other in TEXTS if other != text]
    assert all(TEXTS[other] != guarantee for other in others)


def test_guarantees_that_come_later_are_refused_in_one_sentence() -> None:
    for text, named in (("metric", "A metric"), ("metric(km)", "A metric"), ("edge", "An edge")):
        with pytest.raises(sv.SpecError, match=rf"^{named} guarantee cannot be checked by this version, so it is refu"):
            Guarantee.read(text)
    for wrong in ("none", "", "Pure", "pure()", "idealised(0)", "kind", None, 3, b"pure"):
        with pytest.raises(sv.SpecError, match="A guarantee is one of pure, approximate, utility_optimised, idealised"):
            Guarantee.read(wrong)
    grr = sv.mechanism("grr", sv.Integers(0, 1), epsilon=1)
    with pytest.raises(sv.SpecError, match="must be an object such as Pure"):
        replace(grr, guarantee="pure")


def test_who_accepts_which() -> None:
    assert PURE.accepted_by() and PURE.accepted_by(("idealised",))
    for text, guarantee in TEXTS.items():
        assert guarantee.accepted_by() == guarantee.is_pure
        assert guarantee.accepted_by((text,)) and guarantee.accepted_by((guarantee.kind,))
    assert not TEXTS["approximate(0.000001)"].accepted_by(("approximate(0.00001)", "pure", "idealised"))


def test_what_is_checked_report_by_report_costs_a_likelihood_for_every_report_and_code() -> None:
    channel = Table([[UNIT // 2, UNIT // 2, 0], [UNIT // 4, UNIT // 4, UNIT // 2]])
    cost = effort(channel)
    assert PURE.effort(channel) == UtilityOptimised().effort(channel) == cost.ratio
    further = UtilityOptimised(frozenset({0})).effort(channel) - cost.ratio
    assert further == 2 * 3 * cost.likelihood * steps(cost.bits) > 0


# --- ratios -----------------------------------------------------------------------------------------------------
def pairs(guarantee: Guarantee, channel: Channel) -> list[Fraction | None]:
    return [guarantee.pair_ratio(channel, *pair) for pair in combinations(range(channel.inputs), 2)]


@pytest.mark.parametrize(
    "channel",
    [Subset(4, 1, UNIT // 2), Block(HadamardSets(6, 4, 2), UNIT * 3 // 4), LEANING],
    ids=lambda channel: channel.kind,
)
@pytest.mark.parametrize("guarantee", [PURE, Approximate(), UtilityOptimised(), IDEALISED], ids=str)
def test_the_ratio_is_the_largest_of_all_pairs(channel: Channel, guarantee: Guarantee) -> None:
    ratios = [ratio for ratio in pairs(guarantee, channel) if ratio is not None]
    assert len(ratios) == channel.inputs * (channel.inputs - 1) // 2
    assert max(ratios) == guarantee.ratio(channel) == channel.ratio()
    assert guarantee.pair_ratio(channel, 1, 0) == guarantee.pair_ratio(channel, 0, 1)
    assert guarantee.pair_ratio(channel, 1, 1) == 1


def test_a_pair_of_near_codes_has_a_smaller_ratio() -> None:
    near, far = PURE.pair_ratio(LEANING, 0, 1), PURE.pair_ratio(LEANING, 0, 2)
    assert near is not None and far is not None
    assert [float(near), float(far)] == pytest.approx([1.25, 1.5])


def test_only_protected_reports_count_in_a_pair() -> None:
    """Codes 1 and 3 reveal themselves; with code 1 sensitive as well its own report has an infinite ratio."""
    m = sv.mechanism("urr", sv.Integers(0, 3), epsilon=1, sensitive=[0, 2])
    assert isinstance(m.guarantee, UtilityOptimised) and m.guarantee.sensitive == {0, 2}
    known = [ratio for ratio in pairs(m.guarantee, m.channel) if ratio is not None]
    assert len(known) == 6 and max(known) == m.ratio == m.guarantee.ratio(m.channel)
    wider = UtilityOptimised(frozenset({0, 1, 2}))
    assert wider.pair_ratio(m.channel, 0, 1) is None and PURE.pair_ratio(m.channel, 1, 3) is None
    assert wider.pair_ratio(m.channel, 0, 2) == m.guarantee.pair_ratio(m.channel, 0, 2)
    assert m.guarantee.among([3, 2]) == UtilityOptimised(frozenset({1})) and PURE.among([3, 2]) == PURE
    with pytest.raises(sv.SpecError, match="too large"):
        PURE.pair_ratio(sv.mechanism("olh", sv.Integers(0, 3), epsilon=1).channel, 0, 1)


def test_objects_are_refused_whose_texts_no_device_reads() -> None:
    """A delta of 1 would allow a channel that sends the answer itself; so would codes that no answer has."""
    revealing, domain = Table([[UNIT, 0], [0, UNIT]]), sv.Integers(0, 1)
    for delta_of in (0, 1, Decimal(0), Decimal(1), Decimal("1.5"), Decimal("-0.5"), Decimal("NaN"), 0.5, "0.5"):
        with pytest.raises(sv.SpecError, match="between 0 and 1"):
            Approximate(delta_of)  # type: ignore[arg-type]
    for code in (-1, True, "0", 0.0):
        with pytest.raises(sv.SpecError, match="integers from 0 on"):
            UtilityOptimised(frozenset({code}))  # type: ignore[arg-type]
    for codes in ((), (2,)):
        guarantee = UtilityOptimised(frozenset(codes))
        with pytest.raises(sv.SpecError, match="lie below 2"):
            sv.Mechanism("x", sv.Frequency(domain), revealing, Decimal(1), CountOutputs(), guarantee=guarantee)


# --- room for other kinds ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Neighbours(Guarantee):
    """Epsilon for each step between two codes, as a metric guarantee will have it: neighbours decide."""

    kind: ClassVar[str] = "neighbours"
    unit: ClassVar[str] = "epsilon per step"

    @property
    def protects_all(self) -> bool:
        return False

    def ratio(self, channel: Channel) -> Fraction:
        return max(self.pair_ratio(channel, code, code + 1) or Fraction(0) for code in range(channel.inputs - 1))

    def worst_ratio(self, columns: Iterable[Sequence[Fraction]]) -> Fraction | None:
        return max(max(one / other, other / one) for column in columns for one, other in pairwise(column))


def test_a_kind_with_another_ratio_is_one_class() -> None:
    """Mechanism, device and audit ask the guarantee: neighbours differ by a factor 1.25, all codes by 1.5."""
    domain = sv.Integers(0, 2)
    m = sv.Mechanism("x", sv.Frequency(domain), LEANING, Decimal("0.23"), CountOutputs(), guarantee=Neighbours())
    assert m.epsilon == pytest.approx(math.log(1.25)) and sv.audit(m).ok and sv.audit(m).ratio == m.ratio
    assert "epsilon per step 0.2231" in str(sv.audit(m))
    assert sv.Client(m, accept=("neighbours",)).report(1)
    with pytest.raises(sv.PrivacyError, match="pure guarantees only"):
        sv.Client(m)
    with pytest.raises(sv.PrivacyError, match="more than the limit"):
        sv.Client(m, accept=("neighbours",), limit=0.2)
    with pytest.raises(sv.PrivacyError, match=r"epsilon per step 0\.2231\d*, more than the 0\.22 it claims"):
        replace(m, claimed=Decimal("0.22"))
    with pytest.raises(sv.PrivacyError, match=r"more than the 0\.23 it claims"):
        replace(m, guarantee=PURE)
    assert not sv.audit(m, epsilon="0.22").ok


# --- deltas -----------------------------------------------------------------------------------------------------
def test_a_delta_that_is_too_small_breaks_the_guarantee() -> None:
    channel = noise(Fraction(1, 64))
    exact = Decimal(1) / 64
    assert delta(channel, odds(Decimal(1))) == Fraction(exact)
    assert Approximate(exact).broken_by(channel, Decimal(1)) is None
    for wrong in (exact - Decimal("1e-12"), exact / 2):
        said = Approximate(wrong).broken_by(channel, Decimal(1))
        assert said is not None and said.startswith("delta 0.015625 at epsilon 1, more than the 0.0")
        assert not Approximate(wrong).is_within(Decimal(2), channel, Decimal(1))
    assert Approximate(exact).is_within(Decimal(1), channel, Decimal(1))
    assert not Approximate(exact).is_within(Decimal("0.999"), channel, Decimal(1))  # the claim exceeds the limit
    for guarantee in (PURE, Approximate(), UtilityOptimised(), IDEALISED):
        with pytest.raises(sv.PrivacyError, match="infinite"):
            guarantee.broken_by(channel, Decimal(20))


def test_a_limit_bounds_the_loss_of_a_pure_guarantee_and_not_its_claim() -> None:
    channel = Subset(2, 1, UNIT * 3 // 4)
    assert PURE.is_within(Decimal("1.0987"), channel, Decimal(20)) and not PURE.is_within(
        Decimal("1.0986"), channel, Decimal(1)
    )
    assert PURE.charge(channel.ratio()).epsilon.quantize(Decimal("0.0001")) == Decimal("1.0986")


def test_checks_that_take_longer_cost_more() -> None:
    channel = Table([[UNIT - row, row] for row in range(1, 9)])
    assert PURE.effort(channel) == Approximate().effort(channel) == UtilityOptimised().effort(channel)
    assert Approximate(Decimal("0.1")).effort(channel) == PURE.effort(channel) + effort(channel).delta
    assert UtilityOptimised(frozenset({0})).effort(channel) > PURE.effort(channel)


def test_texts_of_guarantees_are_compared_in_their_own_module_only() -> None:
    literal = "|".join(KINDS)
    compared = re.compile(rf"""guarantee\w*\s*[!=]=\s*['"f]|\.startswith\(['"]({literal})|[!=]=\s*['"]({literal})\b""")
    assert compared.search('if m.guarantee == "pure":') and compared.search('text.startswith("approximate(")')
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).as_posix() != "core/guarantee.py":
            assert not compared.search(path.read_text()), path
