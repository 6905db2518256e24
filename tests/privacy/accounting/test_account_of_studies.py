"""The account of a study: what adds up, how far, and among whom a crowd hides a report."""

import math
from decimal import Decimal

import pytest

import sottovoce as sv
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.privacy.accounting.shuffling import shuffled
from sottovoce.privacy.accounting.study import StudyAccount

YES = sv.Frequency(sv.Categories(["yes", "no"]))


@pytest.fixture(scope="module")
def manifest():
    study = sv.Study(
        "sleep",
        epsilon="0.1",
        lifetime="2",
        unit="person",
        owner="Institute",
        contact="privacy@example.org",
        purpose="How long people sleep.",
        questions=[sv.Asked("one", YES, {"en": "One?"}), sv.Asked("two", YES, {"en": "Two?"}, share=3)],
    )
    arms = (("one", "0.05", 1), ("two", "0.1", 3))
    each = tuple(sv.Arm(name, sv.mechanism("grr", YES.domain, epsilon=e), weight) for name, e, weight in arms)
    return Manifest(study.facts, study.questions, sv.Round(each))


def test_the_largest_arm_counts_until_the_lifetime_budget_is_spent(manifest):
    for waves, taken, total in ((1, 1, "0.1"), (15, 15, "1.5"), (30, 20, "2")):
        found = StudyAccount.of(manifest, waves=waves)
        assert (found.once, found.allowed, found.taken) == (Decimal("0.1"), 20, taken)
        assert found.total.epsilon == Decimal(total)
        assert (f"Of {waves} waves it takes part in 20." in found.text()) == (waves == 30)
    beside = StudyAccount.of(manifest, waves=2, also=["0.5", "1"])
    assert beside.total.epsilon == Decimal("1.7")
    assert "and beside 2 other studies a person loses" in beside.text()


def test_a_delta_is_spent_only_where_that_helps(manifest):
    """Dwork, Rothblum and Vadhan: eps sqrt(2 k ln(1 / delta)) + k eps (e**eps - 1) is an upper bound."""
    few, many = (StudyAccount.of(manifest, waves=waves, delta=0.01) for waves in (1, 20))
    assert few.advanced.epsilon == few.total.epsilon == Decimal("0.1")
    bound = 0.1 * math.sqrt(40 * math.log(100)) + 20 * 0.1 * math.expm1(0.1)
    assert float(many.advanced.epsilon) < min(bound, 2)
    assert "If a small delta may be spent" in many.text() and "If a small delta" not in few.text()


def test_a_report_is_hidden_among_those_of_its_own_arm(manifest):
    found = StudyAccount.of(manifest, participants=40_003)
    assert found.amplified == shuffled(Decimal("0.1"), participants=10_000, delta=1e-6)  # a quarter, rounded down
    assert StudyAccount.of(manifest, participants=1).amplified == shuffled(Decimal("0.1"), participants=1, delta=1e-6)
    assert "Only in shuffler mode" in found.text() and found.to_dict()["shuffled"]["delta"] == found.amplified.delta
    alone = StudyAccount.of(manifest)
    assert alone.amplified is None and "shuffler" not in alone.text() and alone.to_dict()["shuffled"] is None


def test_who_takes_part_hides_only_where_nobody_can_tell(manifest):
    known, hidden = StudyAccount.of(manifest), StudyAccount.of(manifest, rate="0.25")
    assert known.hidden is None and "nobody can tell" not in known.text()
    assert hidden.hidden == pytest.approx(math.log1p(0.25 * math.expm1(0.1)))
    assert "where 25 % of a population do" in hidden.text() and hidden.to_dict()["sampled"] == hidden.hidden


@pytest.mark.parametrize(
    "wrong",
    [{"waves": 0}, {"waves": 10_001}, {"values": 0}, {"participants": 0}, {"delta": 0}, {"delta": 1}, {"delta": True},
     {"rate": 0}, {"rate": 2}, {"also": ["-1"]}],
)  # fmt: skip
def test_bad_parameters(manifest, wrong):
    with pytest.raises(sv.ParameterError):
        StudyAccount.of(manifest, **wrong)
