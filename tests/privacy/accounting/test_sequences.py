"""Reports from memos over sequences of answers: the exact loss of small cases, against a brute force of all of them."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Chain, Subset, Table
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.privacy.accounting.sequences import MemoLaws, fresh_loss, sequence_loss
from tests.client.toys import in_cohorts


def two_values(memo: float, fresh: float) -> sv.Mechanism:
    """Randomized response of epsilon `memo`, kept, and again of epsilon `fresh` in each report."""
    keep = [round(UNIT / (1 + math.exp(-epsilon))) for epsilon in (memo, fresh)]
    noisy = Subset(2, 1, keep[1]) if math.isfinite(fresh) else Table(((UNIT, 0), (0, UNIT)))
    claimed = Decimal(memo) + Decimal("1e-6")
    channel = Chain(Subset(2, 1, keep[0]), noisy)
    return sv.Mechanism(
        "toy", sv.Frequency(sv.Integers(0, 1)), channel, claimed, CountOutputs(), claimed_forever=claimed
    )


def brute_force(waves: int, memo: float, fresh: float) -> tuple[float, float]:
    """The loss over all pairs of sequences, and over the two constant ones, from a table of all sequences."""
    p, r = (1 / (1 + math.exp(-epsilon)) for epsilon in (memo, fresh))
    every = np.array(list(itertools.product([0, 1], repeat=waves)))
    law = np.zeros((2**waves, 2**waves))
    for zero, one in itertools.product([0, 1], repeat=2):  # the memos of both values
        kept = np.where(every == 1, one, zero)
        wrong = (kept[:, None, :] != every[None, :, :]).sum(axis=-1)
        law += (1 - p if zero else p) * (p if one else 1 - p) * r ** (waves - wrong) * (1 - r) ** wrong
    logs = np.log(law)
    return float((logs.max(axis=0) - logs.min(axis=0)).max()), float(np.abs(logs[0] - logs[-1]).max())


@pytest.mark.parametrize(("memo", "fresh"), [(1, 1), (1, 2), (2, 2), (2, 4)])
def test_the_loss_over_sequences_is_that_of_a_brute_force(memo: float, fresh: float) -> None:
    mechanism = two_values(memo, fresh)
    for waves in (1, 2, 3, 4, 6, 8):
        changing, unchanged = brute_force(waves, memo, fresh)
        assert sequence_loss(mechanism, waves) == pytest.approx(changing, abs=1e-9)
        assert sequence_loss(mechanism, waves, unchanged=True) == pytest.approx(unchanged, abs=1e-9)
        assert unchanged <= mechanism.epsilon_forever
        bound = fresh_loss(mechanism)
        assert bound is not None and changing <= waves * bound + Decimal("1e-9")


def test_eight_waves_can_lose_more_than_eight_reports() -> None:
    mechanism = two_values(1, 2)
    assert round(sequence_loss(mechanism, 8), 2) == 7.37 and round(8 * mechanism.epsilon, 2) == 5.88
    assert sequence_loss(mechanism, 8, unchanged=True) <= 1.000001


def test_without_fresh_noise_a_change_is_certain() -> None:
    """The answers 0, 0 have equal reports, the answers 0, 1 need not."""
    mechanism = two_values(1, math.inf)
    assert sequence_loss(mechanism, 1) == pytest.approx(1) and math.isinf(sequence_loss(mechanism, 2))
    assert sequence_loss(mechanism, 5, unchanged=True) == pytest.approx(1)
    assert fresh_loss(mechanism) is None


def test_rappor_over_sequences() -> None:
    """Sequences that change at known times lose at most epsilon_forever for each value; others lose more."""
    rappor = sv.mechanism("basic-rappor", sv.Categories(["yes", "no"]), epsilon=1)
    assert sequence_loss(rappor, 1) == pytest.approx(rappor.epsilon)
    assert sequence_loss(rappor, 6, unchanged=True) <= rappor.epsilon_forever < sequence_loss(rappor, 4)
    assert sequence_loss(rappor, 8) > 2 * rappor.epsilon_forever  # two values, charged as 4
    laws = MemoLaws(rappor)
    same = [laws.chance(code, (3, 0, 0, 1)) * laws.chance(1 - code, (0, 0, 2, 1)) for code in (0, 1)]
    assert max(same) / min(same) <= math.exp(2 * rappor.epsilon_forever)


@pytest.mark.slow
def test_cohorts_and_sizes() -> None:
    toy = in_cohorts(4, 2, 2)
    losses = {sequence_loss(toy, 2, cohort=cohort) for cohort in range(toy.cohorts)}
    assert min(losses) < max(losses)  # some cohorts map all codes to one
    with pytest.raises(sv.SottovoceError, match="too many to enumerate"):
        sequence_loss(sv.mechanism("basic-rappor", sv.Integers(0, 5), epsilon=1), 30)
    with pytest.raises(sv.ParameterError, match="keeps no memo"):
        sequence_loss(sv.mechanism("grr", sv.Integers(0, 5), epsilon=1), 2)
    with pytest.raises(sv.ParameterError, match="waves"):
        sequence_loss(toy, 0)
