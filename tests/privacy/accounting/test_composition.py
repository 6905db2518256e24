"""Composition against enumerated randomized responses."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product

import pytest

import sottovoce as sv
from sottovoce.client import ledger
from sottovoce.client.device_file import DeviceFile
from sottovoce.core.errors import PrivacyError
from sottovoce.core.guarantee import (
    IDEALISED,
    PURE,
    Approximate,
    Guarantee,
    Loss,
    Pure,
    UtilityOptimised,
    parallel,
    sequential,
)
from sottovoce.privacy.accounting.account import Account, Entry
from sottovoce.privacy.accounting.composition import advanced
from sottovoce.privacy.accounting.sampling import sampled


def enumerated_delta(budgets, epsilon):
    """The exact delta of independent randomized responses, over all outcomes."""
    total = 0.0
    for kept in product((1, -1), repeat=len(budgets)):
        loss = sum(sign * one for sign, one in zip(kept, budgets, strict=True))
        chance = math.prod(1 / (1 + math.exp(-sign * one)) for sign, one in zip(kept, budgets, strict=True))
        total += chance * max(0.0, 1 - math.exp(epsilon - loss))
    return total


@pytest.mark.parametrize("budgets", [[0.1] * 10, [0.5, 0.3, 1, 0.05, 0.2, 0.7], [1, 1]])
@pytest.mark.parametrize("delta", [0.1, 1e-3])
def test_advanced_composition_is_that_of_randomized_responses(budgets, delta):
    found = advanced([Loss.of(one) for one in budgets], delta)
    exact = enumerated_delta(budgets, float(found.epsilon))
    assert exact <= delta
    if float(found.epsilon) < sum(budgets):
        assert enumerated_delta(budgets, float(found.epsilon) * 0.995) > delta


def test_deltas_of_the_parts_join_the_one_that_is_spent():
    found = advanced([Loss.of(0.1, "0.001")] * 20, "0.01")
    assert float(found.delta) == pytest.approx(1 - 0.99 * 0.999**20, rel=1e-12)
    assert found.epsilon < 2


def test_nothing_is_gained_where_the_sum_is_smaller():
    losses = [Loss.of(3)] * 2
    found = advanced(losses, 1e-9)
    assert 6 - 1e-8 < found.epsilon < 6
    assert found.delta >= Decimal("1e-9")
    assert sequential(losses) == Loss(Decimal(6))
    assert advanced(losses[:1], 1e-3) == losses[0]


def test_many_waves_of_a_small_budget():
    """The formula of the first advanced composition theorem is looser; the sum much more so."""
    waves, each, delta = 365, 0.05, 1e-6
    found = float(advanced([Loss.of(each)] * waves, delta).epsilon)
    theorem = each * math.sqrt(2 * waves * math.log(1 / delta)) + waves * each * math.expm1(each)
    assert found < theorem < waves * each


def test_sequential_and_parallel():
    losses = [Loss.of("0.1"), Loss.of("0.2", "0.001")]
    assert sequential(losses) == Loss(Decimal("0.3"), Decimal("0.001"))
    assert parallel(losses) == Loss(Decimal("0.2"), Decimal("0.001"))
    assert sequential([]) == parallel([]) == Loss(Decimal(0))


def test_an_account_of_waves_and_arms():
    account = Account.of(
        [
            Entry.of("sleep, hours", 1, answers=3),
            Entry.of("sleep, smoker, panel A", "0.5", apart="panel"),
            Entry.of("sleep, smoker, panel B", "0.7", apart="panel"),
        ]
    )
    assert account.total() == Loss(Decimal("3.7"))
    assert account.text().splitlines() == [
        "sleep, hours: epsilon 1, 3 answers",
        "sleep, smoker, panel A: epsilon 0.5",
        "sleep, smoker, panel B: epsilon 0.7",
        "Together: epsilon 3.7.",
    ]
    assert float(Account.of([Entry.of("a", "0.1", answers=100)]).total(1e-6).epsilon) < 6
    assert Account.of([]).total(1e-6) == Account.of([]).total() == Loss(Decimal(0))
    with pytest.raises(sv.ParameterError, match="different names"):
        Account.of([Entry.of("a", 1), Entry.of("a", 2)])


def test_sampling_of_a_randomized_response():
    """Take part with probability 1/4, else send nothing: the ratio in a crowd."""
    epsilon, delta = sampled(1, rate="0.25", delta=1e-6)
    assert epsilon == pytest.approx(math.log(0.75 + 0.25 * math.e), rel=1e-12)
    assert delta == 2.5e-7
    assert sampled(1, rate=1) == (1.0, 0.0)
    for rate in (0, -1, "1.0001", 2):
        with pytest.raises(sv.ParameterError, match="rate"):
            sampled(1, rate=rate)


def _seen(answers, keep, chances):
    """The law of the number of ones and of all reports, where each set of people takes part with a probability."""
    law = Counter()
    for taking, chance in chances.items():
        for reports in product((0, 1), repeat=len(taking)):
            likely = chance
            for who, report in zip(taking, reports, strict=True):
                likely *= keep if report == answers[who] else 1 - keep
            law[sum(reports), len(taking)] += likely
    return law


def _worst(size, keep, chances):
    """The largest ratio over all answers of the others, and both answers of one person."""
    found = []
    for others in product((0, 1), repeat=size - 1):
        one, other = (_seen((mine, *others), keep, chances) for mine in (0, 1))
        found += [max(one[seen] / other[seen], other[seen] / one[seen]) for seen in one if one[seen]]
    return max(found)


def test_a_sample_hides_who_is_in_it_if_its_size_is_fixed():
    """Against all reports without senders, exactly. With a coin for each person the bound would be broken."""
    keep, size = Fraction(3, 4), 4
    epsilon = math.log(3)
    for drawn in (1, 2, 3):
        sets = list(combinations(range(size), drawn))
        fixed = _worst(size, keep, {one: Fraction(1, len(sets)) for one in sets})
        bound = 1 + Fraction(drawn, size) * 2
        assert fixed <= bound and sampled(epsilon, rate=drawn / size)[0] >= math.log(fixed)
    assert fixed == bound  # it is tight
    rate = Fraction(1, 2)
    everyone = [one for drawn in range(size + 1) for one in combinations(range(size), drawn)]
    coins = {one: rate ** len(one) * (1 - rate) ** (size - len(one)) for one in everyone}
    assert _worst(size, keep, coins) == 3 > 1 + rate * 2


# --- guarantees say how they add up ----------------------------------------------------------------------------------
def entry(name: str, guarantee: Guarantee, answers: int = 1) -> Entry:
    return Entry.of(name, "0.5", guarantee=guarantee, answers=answers)


def test_pure_guarantees_add_up_to_a_pure_loss():
    total = Account.of([entry("a", PURE, 2), entry("b", PURE)]).total()
    assert total == Loss(Decimal("1.5")) and total.is_pure


def test_approximate_guarantees_add_up_their_deltas_too():
    approximate = Approximate(Decimal("0.000001"))
    total = Account.of([entry("a", approximate, 3), entry("b", PURE)]).total()
    assert total == Loss(Decimal(2), Decimal("0.000003")) and not total.is_pure
    assert str(total) == "epsilon 2 with delta 3e-06"


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (UtilityOptimised(frozenset({0})), "not counting reports that reveal a non-sensitive answer"),
        (IDEALISED, "in the arithmetic of real numbers"),
    ],
)
def test_sums_say_under_which_conditions_they_hold(guarantee: Guarantee, words: str):
    account = Account.of([entry("a", PURE), entry("b", guarantee, 30)])
    total = account.total()
    assert str(total) == f"epsilon 15.5 ({words})" and not total.is_pure
    assert f"b: epsilon 0.5 ({words}), 30 answers" in account.text()
    # Advanced composition is a theorem about pure and approximate guarantees.
    assert account.total(1e-6) == total
    assert account.total(1e-6).epsilon > Account.of([entry("a", PURE, 31)]).total(1e-6).epsilon
    assert parallel([entry.loss for entry in account.entries]).caveats == (words,)


def test_losses_in_different_units_have_no_sum():
    class PerKilometre(Pure):
        unit = "epsilon per kilometre"

    account = Account.of([entry("a", PURE), entry("b", PerKilometre())])
    with pytest.raises(PrivacyError, match="in epsilon and a loss in epsilon per kilometre have no sum"):
        account.total()
    # Advanced composition is about ratios of all pairs of answers: losses in another unit keep their sum.
    walks = Account.of([entry("a", PerKilometre(), 30), entry("b", PerKilometre())])
    assert walks.total(1e-6) == walks.total() and str(walks.total()) == "epsilon per kilometre 15.5"


@pytest.mark.parametrize("guarantee", [UtilityOptimised(frozenset({0})), IDEALISED], ids=str)
def test_the_account_of_a_device_takes_pure_losses_only(guarantee: Guarantee):
    with DeviceFile(None).changed() as database:
        ledger.charge(database, b"a", "study", "owner", PURE.charge(Fraction(2)))
        # The ratio of an approximate guarantee bounds all reports, so its loss is pure.
        ledger.charge(database, b"b", "study", "owner", Approximate(Decimal("0.1")).charge(Fraction(2)))
        with pytest.raises(PrivacyError, match="adds up pure losses only"):
            ledger.charge(database, b"c", "study", "owner", guarantee.charge(Fraction(2)))
        assert float(ledger.lost(database)) == pytest.approx(2 * math.log(2))
