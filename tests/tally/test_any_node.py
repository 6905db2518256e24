"""A node that no list knows: its law, drawn tallies and the contract need nothing beside the node itself."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds, units
from sottovoce.core.channel import Bits, Channel, Subset, Table, Then
from sottovoce.core.channel.base import NO_WORDS, Words
from sottovoce.core.channel.facets import Numbered
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, in_units, integer
from sottovoce.core.statistic.joint import CountJoint
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.tally.counts import simulate_cells
from sottovoce.tally.laws import law_row
from sottovoce.testing.contract import check_fast_is_scalar, check_law, check_privacy, check_refused
from sottovoce.testing.frequency import check_estimable, check_small, instance


@declared
class Ring(Channel, Numbered):
    """With `inside` one of `width` outputs from the code on, round a circle; else one of the others."""

    kind: ClassVar[str] = "ring"
    k: int = integer(2, 1 << 20)
    width: int = integer(1, 1 << 20)
    inside: int = in_units()

    @staticmethod
    def of(k: int, width: int, ratio: Fraction) -> Ring:
        return Ring(k, width, floor_unit(ratio * width / (ratio * width + k - width)))

    @property
    def inputs(self) -> int:
        return self.k

    @property
    def words(self) -> int:
        return 2

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        within = coins.flip(self.inside)
        step = coins.below((self.k - self.width, self.width)[within])
        return (code + (self.width, 0)[within] + step) % self.k

    @property
    def payload_bits(self) -> int:
        return (self.k - 1).bit_length()

    @property
    def outputs(self) -> int:
        return self.k

    def contains(self, report: int) -> bool:
        return 0 <= report < self.k

    def ratio(self) -> Fraction:
        return Fraction(self.inside * (self.k - self.width), (UNIT - self.inside) * self.width)

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        if (report - code) % self.k < self.width:
            return units(self.inside) / self.width
        return units(UNIT - self.inside) / (self.k - self.width)

    def miniatures(self) -> tuple[Channel, ...]:
        return (Ring.of(5, 2, self.ratio()),)


def ringed(k: int, width: int) -> sv.Mechanism:
    channel = Ring.of(k, width, odds(Decimal(1)))
    return sv.Mechanism("ringed", sv.Frequency(sv.Integers(0, k - 1)), channel, Decimal(1), CountOutputs())


def test_the_law_is_read_from_the_likelihood() -> None:
    channel = Ring(5, 2, UNIT // 2)
    assert law_row(channel, 4) == pytest.approx([1 / 4, 1 / 6, 1 / 6, 1 / 6, 1 / 4], rel=1e-12)


def test_tallies_are_drawn_from_the_law() -> None:
    mechanism, held = ringed(11, 3), np.arange(11) * 100
    cells = simulate_cells(mechanism, held, runs=400, seed=1)
    law = np.array([law_row(mechanism.channel, code) for code in range(11)])
    assert (cells.sum(axis=1) == held.sum()).all()
    errors = np.sqrt(held @ (law * (1 - law)) / 400)
    assert (np.abs(cells.mean(axis=0) - held @ law) < 6 * errors).all()  # a right law fails with 2e-8


@pytest.mark.filterwarnings("ignore::sottovoce.core.errors.BatchWarning")
def test_the_contract_holds_without_a_kernel(seed: int) -> None:
    mechanism = ringed(11, 3)
    small = instance(mechanism, *mechanism.channel.miniatures())
    check_privacy(mechanism)
    for check in (check_law, check_small, check_estimable):
        check(small)
    check_refused(small.channel)
    check_fast_is_scalar(mechanism, seed % 1000)
    check_estimable(mechanism)


# --- what is refused -----------------------------------------------------------------------------------------------
def test_a_channel_without_an_inverse_at_full_size_is_refused() -> None:
    """Three of twelve outputs: sums over neighbouring codes are the same for different shares."""
    with pytest.raises(AssertionError, match=r"ringed has no estimate: .* linearly dependent"):
        check_estimable(ringed(12, 3))


class Gap(Ring):
    """Whose kernels do not say that no device sends the report 1."""

    __slots__ = ()

    def contains(self, report: int) -> bool:
        return report != 1 and Ring.contains(self, report)


def test_batches_that_accept_what_the_node_refuses_are_noticed() -> None:
    with pytest.raises(AssertionError, match="ring do not refuse what `contains` refuses"):
        check_refused(Gap(5, 2, UNIT // 2))
    for honest in (Subset(6, 3, UNIT * 3 // 4), Table([[UNIT // 2, 0, UNIT // 2]] * 2), Ring(5, 2, UNIT // 2)):
        check_refused(honest)


class CountOther(CountJoint):
    """Cells that no room of shares reads."""

    kind = "other"
    __slots__ = ()

    def check(self, channel: Channel) -> None:
        pass

    def cells(self, channel: Channel) -> int:
        return channel.inputs


def test_a_tally_that_the_room_does_not_read_is_refused() -> None:
    known = sv.mechanism("grr", sv.Integers(0, 2), epsilon=1)
    other = sv.Mechanism("other", known.question, known.channel, known.claimed, CountOther())
    tally = sv.Tally(other, 3, np.array([1, 1, 1]))
    with pytest.raises(sv.ParameterError, match=r"not answered from counts of kind other\. Known: outputs"):
        other.estimate(tally)
    with pytest.raises(sv.ParameterError, match=r"Tallies are drawn for counts of outputs, .* not of kind other"):
        sv.simulate_counts(other, [1, 1, 1], seed=1)


def test_masks_that_a_numbered_stage_randomizes_again_can_be_estimated() -> None:
    """Two random stages, of which only the second has numbered reports: its law sums over the masks between."""
    bits, again = Bits(3, 3 * UNIT // 4, UNIT // 4), Subset(8, 1, UNIT // 2)
    channel = Then(bits, again)
    exact = [[channel.likelihood(report, code) for report in range(8)] for code in range(3)]
    assert np.array([law_row(channel, code) for code in range(3)]) == pytest.approx(np.array(exact, float), rel=1e-14)
    question = sv.Frequency(sv.Integers(0, 2))
    mechanism = sv.Mechanism("masks-again", question, channel, Decimal(3), CountOutputs())
    truth = np.array([0.6, 0.3, 0.1])
    # Cells as the exact law expects them give the shares back, without simulation.
    expected = np.rint(1e12 * truth @ np.array(exact, float)).astype(np.int64)
    estimate = mechanism.estimate(sv.Tally(mechanism, int(expected.sum()), expected))
    assert estimate.values == pytest.approx(truth, abs=1e-9)
    wide = Then(Bits(13, 3 * UNIT // 4, UNIT // 4), Subset(1 << 13, 1, UNIT // 2))
    with pytest.raises(sv.ParameterError, match="Masks of 13 bits inside a composition are too many"):
        law_row(wide, 0)
