"""The account of a study: what adds up, how far, and among whom a crowd hides a report."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

import sottovoce as sv
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import Collection
from sottovoce.core.round import Arm, Round
from sottovoce.privacy.accounting.shuffling import fewest_of, shuffled
from sottovoce.privacy.accounting.study import StudyAccount

YES = sv.Frequency(sv.Categories(["yes", "no"]))


@pytest.fixture(scope="module")
def manifest():
    study = sv.Study(
        "sleep",
        epsilon="0.1",
        lifetime="2",
        unit="event",
        owner="Institute",
        contact="privacy@example.org",
        purpose="How long people sleep.",
        questions=[sv.Asked("one", YES, {"en": "One?"}), sv.Asked("two", YES, {"en": "Two?"}, share=3)],
    )
    arms = (("one", "0.05", 1), ("two", "0.1", 3))
    each = tuple(Arm(name, sv.mechanism("grr", YES.domain, epsilon=e), weight) for name, e, weight in arms)
    return Manifest(study.facts, study.questions, Round(each))


def test_the_largest_arm_counts_until_the_lifetime_budget_is_spent(manifest):
    for waves, taken, total in ((1, 1, "0.1"), (15, 15, "1.5"), (30, 20, "2")):
        found = StudyAccount.of(manifest, waves=waves)
        assert (found.once.epsilon, found.allowed, found.taken) == (Decimal("0.1"), 20, taken)
        assert found.total.epsilon == Decimal(total)
        assert (f"Of {waves} waves it takes part in 20." in found.text()) == (waves == 30)
    beside = StudyAccount.of(manifest, waves=2, also=["0.5", "1"])
    assert beside.total.epsilon == Decimal("1.7")
    assert "and beside 2 other studies a device loses" in beside.text()


def test_a_delta_is_spent_only_where_that_helps(manifest):
    """Dwork, Rothblum and Vadhan: eps sqrt(2 k ln(1 / delta)) + k eps (e**eps - 1) is an upper bound."""
    few, many = (StudyAccount.of(manifest, waves=waves, delta=0.01) for waves in (1, 20))
    assert few.advanced.epsilon == few.total.epsilon == Decimal("0.1")
    bound = 0.1 * math.sqrt(40 * math.log(100)) + 20 * 0.1 * math.expm1(0.1)
    assert float(many.advanced.epsilon) < min(bound, 2)
    assert "If a small delta may be spent" in many.text() and "If a small delta" not in few.text()


def test_coins_decide_how_many_of_a_crowd_send_a_report():
    """The most that fewer than so many have at most the given probability, from the exact law."""
    for n, rate, probability in ((12, Fraction(1, 4), 0.01), (30, Fraction(1, 2), 1e-6), (7, Fraction(1, 8), 0.5)):
        law = [math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
        most = max(m for m in range(n + 1) if sum(law[:m]) <= probability)
        assert fewest_of(n, float(rate), probability) == most
    assert fewest_of(0, 0.5, 0.1) == 0
    assert abs(fewest_of(1 << 40, 0.5, 1e-6) - (1 << 39)) < 5 * (1 << 19)  # five standard deviations


def test_a_shuffler_hides_a_report_in_its_batch_and_not_in_the_study(manifest):
    """A million participants in batches of 500: the collector sees each batch by itself."""
    collection = Collection(sealed_for="ab" * 32, batch=500)
    batched = replace(manifest, facts=replace(manifest.facts, collection=collection))
    found = StudyAccount.of(batched, participants=1_000_000)
    few = StudyAccount.of(manifest, participants=500)
    assert found.crowd == 500 and found.amplified == few.amplified
    assert found.amplified.epsilon > 10 * StudyAccount.of(manifest, participants=1_000_000).amplified.epsilon
    assert "in batches of 500" in found.text() and "with all of them in one batch" in few.text()
    one = replace(batched, stage=Round(batched.stage.arms[1:]))
    only = one.stage.arms[0].mechanism
    assert StudyAccount.of(one, participants=400).amplified == shuffled(only, participants=400, delta=1e-6)


def test_no_crowd_hides_a_report_that_comes_with_an_invitation_or_a_chosen_budget(manifest):
    """The collector reads both beside the report: who was invited is known, and one budget may have one participant."""
    sealed = Collection(sealed_for="ab" * 32, batch=500)
    invited = replace(manifest, facts=replace(manifest.facts, collection=replace(sealed, invitations=True)))
    chosen = replace(manifest, stage=Round(manifest.stage.arms, chosen=True))
    for study, why in ((invited, "invitations"), (chosen, "choose their budget")):
        found = StudyAccount.of(study, participants=1_000_000)
        assert found.crowd is None and found.amplified is None and why in found.crowd_problem
        assert "shuffler" not in found.text() and found.to_dict()["shuffled"] is None
    assert StudyAccount.of(manifest, participants=9).crowd_problem is None


def test_a_report_is_hidden_among_those_of_its_own_arm(manifest):
    found = StudyAccount.of(manifest, participants=40_003)
    arms = manifest.stage.arms
    fewest = [1 + fewest_of(40_002, arm.weight / sum(each.weight for each in arms), 5e-7) for arm in arms]
    assert any(9_500 < few < 9_600 for few in fewest)  # a quarter, less 4.9 standard deviations
    hidden = [shuffled(arm.mechanism, participants=few, delta=5e-7) for arm, few in zip(arms, fewest, strict=True)]
    assert found.amplified in [replace(one, delta=1e-6) for one in hidden]
    assert found.amplified.epsilon == max(one.epsilon for one in hidden)
    assert StudyAccount.of(manifest, participants=1).amplified.participants == 1
    assert "Only in shuffler mode" in found.text() and found.to_dict()["shuffled"]["delta"] == found.amplified.delta
    alone = StudyAccount.of(manifest)
    assert alone.amplified is None and "shuffler" not in alone.text() and alone.to_dict()["shuffled"] is None


def test_who_takes_part_hides_only_where_nobody_can_tell(manifest):
    known, hidden = StudyAccount.of(manifest), StudyAccount.of(manifest, rate="0.25")
    assert known.hidden is None and "nobody can tell" not in known.text()
    assert hidden.hidden == pytest.approx(math.log1p(0.25 * math.expm1(0.1)))
    assert (
        "where a fixed 25 % of a population are drawn" in hidden.text() and hidden.to_dict()["sampled"] == hidden.hidden
    )


@pytest.mark.parametrize(
    "wrong",
    [{"waves": 0}, {"waves": 10_001}, {"values": 0}, {"participants": 0}, {"delta": 0}, {"delta": 1}, {"delta": True},
     {"rate": 0}, {"rate": 2}, {"also": ["-1"]}],
)  # fmt: skip
def test_bad_parameters(manifest, wrong):
    with pytest.raises(sv.ParameterError):
        StudyAccount.of(manifest, **wrong)


def test_means_by_group_say_what_a_shuffler_adds():
    pair = sv.GroupMean(sv.Categories(["f", "m"]), sv.Interval(10, 60))
    study = sv.Study(
        "weight",
        epsilon=1,
        unit="person",
        owner="Institute",
        contact="privacy@example.org",
        purpose="To learn about weight.",
        questions=[sv.Asked("bmi", pair, {"en": "Group and number?"})],
    )
    arm = Arm("bmi", sv.mechanism("group-nprr", pair.domain, epsilon=1), 1)
    found = StudyAccount.of(Manifest(study.facts, study.questions, Round((arm,))), participants=30_000)
    assert found.amplified.epsilon < 0.05
    assert f"a report of epsilon 1 loses at most epsilon {found.amplified.epsilon:.4g}" in found.text()
