"""Signs of fake reports: the level computed from the law, and the power measured."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, multinomial

import sottovoce as sv
from sottovoce.core.arithmetic.rational import units
from sottovoce.core.channel.base import NO_WORDS
from sottovoce.core.coins import SeededCoins
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.registry import FREQUENCIES, fits
from sottovoce.core.round import Arm, Round
from sottovoce.privacy.alarms import Check, Checks, alarms, of_tally, spread, uniform
from sottovoce.privacy.drawn import ALPHA
from sottovoce.tally.tally import Tally

N = 5000


def honest(name: str, size: int, seed: int = 1, epsilon: float = 1, n: int = N, skewed: bool = False) -> Tally:
    mechanism = sv.mechanism(name, sv.Integers(0, size - 1), epsilon=epsilon)
    values = np.zeros(n, int) if skewed else np.arange(n) % size
    return mechanism.tally(mechanism.privatize(values, seed=seed))


def with_cells(tally: Tally, added: np.ndarray, fakes: int) -> Tally:
    return Tally(tally.mechanism, tally.n + fakes, tally.cells + fakes * added)


@pytest.mark.parametrize("name", ["grr", "oue", "sue", "olh", "flh", "subset", "the", "hadamard"])
def test_honest_reports_raise_no_alarm_whatever_they_answer(name: str) -> None:
    for seed in range(4):
        for skewed in (False, True):
            assert alarms([honest(name, 8, seed, skewed=skewed)]).raised == ()


# Sums of noise have no bounds, reports of memos are not independent, and every output is as likely as any other.
UNCHECKED = {"she", "rappor", "basic-rappor", "loloha", "d-bit-flip-memo", "hadamard", "projective"}
COUNTED_BY_FUNCTION = {"flh", "hrr", "shist", "hcms", "o-rr", "cms", "pcs", "o-rappor", "one-time-rappor"}


@pytest.mark.parametrize("name", [name for name in FREQUENCIES if fits(name, sv.Integers(0, 7))])
def test_many_copies_of_one_report_raise_an_alarm(name: str) -> None:
    real = honest(name, 8, n=3000)
    assert alarms([real]).raised == ()
    one = real.mechanism.tally(real.mechanism.privatize([3], seed=2))
    fakes = with_cells(real, one.cells, 6000)
    assert bool(alarms([fakes]).raised) == (name not in UNCHECKED)
    named = {check.of for check in of_tally(fakes)}
    assert (f"public functions of {name}" in named) == (name in COUNTED_BY_FUNCTION)


@pytest.mark.parametrize(
    "domain",
    [*(pytest.param(one, marks=pytest.mark.slow) for one in (sv.Circle(24), sv.Interval(0, 24), sv.Integers(0, 24)))],
    ids=lambda one: one.kind,
)
def test_no_mechanism_is_too_large_for_its_checks(domain: sv.Domain) -> None:
    """A check that takes too long is left out: estimates are shown beside alarms, and must not fail with them."""
    fitting = [name for name in sv.names() if fits(name, domain)]
    assert fitting
    for name in fitting:
        mechanism = sv.mechanism(name, domain, epsilon=1)
        tally = mechanism.tally(mechanism.privatize([0, 7, 12, 20] * 5, seed=3))
        assert alarms([tally]).raised == (), name


def test_devices_that_report_a_memo_again_and_again_raise_no_alarm() -> None:
    """Five devices, each in 400 epochs: reports of one memo are not independent, and none of them is fake."""
    mechanism = sv.mechanism("basic-rappor", sv.Integers(0, 4), epsilon="1.8", epsilon_forever=2)
    coins, cells = SeededCoins(3), np.zeros(mechanism.cells, np.int64)
    for _ in range(5):
        memo = mechanism.remember(0, coins)
        for _ in range(400):
            report = codec.split(mechanism.channel, mechanism.answer_from(memo, coins))[1]
            for cell, amount in mechanism.statistic.add(mechanism.channel, report, NO_WORDS):
                cells[cell] += amount
    own, other = (float(one) for one in mechanism.channel.rates())
    outside = binom.sf(cells - 1, 2000, own).min(), binom.cdf(cells, 2000, other).min()
    assert min(outside) < ALPHA  # as independent reports they could not be honest
    assert alarms([Tally(mechanism, 2000, cells)]).raised == ()


# --- the level, from the law ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("level", [0.3, 0.05, 0.001])
def test_the_level_of_the_weight_is_kept_and_not_far_below(level: float) -> None:
    """Of all tallies of unary reports: the total of the bits has a known law, which no answers change."""
    mechanism, n = sv.mechanism("oue", sv.Integers(0, 4), epsilon=1), 40
    channel = mechanism.channel
    p, q = float(units(channel.p)), float(units(channel.q))
    law = np.convolve(binom.pmf(np.arange(n + 1), n, p), binom.pmf(np.arange(4 * n + 1), 4 * n, q))
    rejected = 0.0
    for total, chance in enumerate(law):
        cells = np.full(5, total // 5)
        cells[: total % 5] += 1
        (weight,) = (one for one in of_tally(Tally(mechanism, n, cells)) if one.of.startswith("bits"))
        rejected += chance * (weight.probability < level)
    assert 0.02 * level < rejected <= level


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_level_of_single_counts_is_kept(share: float) -> None:
    """Binary answers, of which any share may be held: the count of ones is a sum of two binomials."""
    mechanism, n, level = sv.mechanism("grr", sv.Integers(0, 1), epsilon=1), 60, 0.2
    own = float(mechanism.channel.likelihood(1, 1))
    held = round(share * n)
    law = np.convolve(binom.pmf(np.arange(held + 1), held, own), binom.pmf(np.arange(n - held + 1), n - held, 1 - own))
    rejected = 0.0
    for count, chance in enumerate(law):
        (check,) = of_tally(Tally(mechanism, n, np.array([n - count, count])))
        rejected += chance * (check.probability < level)
    assert rejected <= level
    assert rejected > 0.01 * level or share == 0.4  # at the ends it is used


def test_the_level_of_uniform_counts_is_kept() -> None:
    n, level = 30, 0.3
    rejected = sum(
        float(binom.pmf(count, n, 0.25))
        for count in range(n + 1)
        if next(uniform("x", [count, n - count], np.array([0.25, 0.75]))).probability < level
    )
    assert 0.1 * level < rejected <= level


def test_every_bound_has_both_tails() -> None:
    """The probability that is said, to the digit: Hoeffding's, two binomials', and the best of Chernoff's."""
    counts = [9, 2, 1]
    tails = [min(binom.sf(count - 1, 12, 1 / 3), binom.cdf(count, 12, 1 / 3)) for count in counts]
    assert next(uniform("x", counts)).probability == pytest.approx(2 * 3 * min(tails))

    hashed = sv.mechanism("olh", sv.Integers(0, 7), epsilon=1)
    rates = hashed.channel.rates()  # type: ignore[attr-defined]
    mean = 100 * float(rates.own + 7 * rates.other)
    for total in (round(mean) + 160, round(mean) - 160):
        cells = np.full(8, total // 8)
        cells[: total % 8] += 1
        (check,) = (one for one in of_tally(Tally(hashed, 100, cells)) if one.of.startswith("values"))
        assert check.probability == pytest.approx(2 * math.exp(-2 * 100 * ((total - mean) / 800) ** 2))

    unary, n = sv.mechanism("oue", sv.Integers(0, 4), epsilon=1), 40
    p, q = float(units(unary.channel.p)), float(units(unary.channel.q))  # type: ignore[attr-defined]
    tilts = np.linspace(-4, 4, 8001)
    for total in (35, 110):
        cells = np.full(5, total // 5)
        (check,) = (one for one in of_tally(Tally(unary, n, cells)) if one.of.startswith("bits"))
        logs = n * np.log1p(p * np.expm1(tilts)) + 4 * n * np.log1p(q * np.expm1(tilts)) - tilts * total
        assert check.probability == pytest.approx(2 * math.exp(logs.min()), rel=1e-3)


def test_all_checks_share_the_level() -> None:
    checks = tuple(Check("x", ALPHA / 2) for _ in range(2))
    assert Checks(checks).raised == () and len(Checks(checks[:1]).raised) == 1
    assert len(Checks((Check("x", ALPHA / 2.1), Check("y", 1.0))).raised) == 1


def test_hash_values_of_a_pool_are_uniform() -> None:
    """Over all functions every code has every value equally often, but code 0 always the first."""
    channel = sv.mechanism("flh", sv.Integers(0, 7), epsilon=1).channel
    tables = np.zeros((channel.inputs, channel.inner.inputs), int)  # type: ignore[attr-defined]
    for seed in range(channel.seeds):  # type: ignore[attr-defined]
        for code in channel.codes():
            tables[code, channel.map.value(seed, code)] += 1  # type: ignore[attr-defined]
    assert (tables[1:] == 4).all() and list(tables[0]) == [16, 0, 0, 0]


# --- power ----------------------------------------------------------------------------------------------------------
def smallest_share(tally: Tally, added: np.ndarray, of: str) -> float:
    """The least share of such fake reports that raises the alarm, found from above."""
    found = 1.0
    for share in (0.3, 0.1, 0.05, 0.02, 0.01, 0.005):
        fakes = round(share * tally.n / (1 - share))
        if not any(one.of.startswith(of) for one in alarms([with_cells(tally, added, fakes)]).raised):
            break
        found = share
    return found


def test_the_power_that_the_page_states() -> None:
    ones = np.ones(64, np.int64)
    assert smallest_share(honest("oue", 64), ones, "bits") <= 0.01
    assert smallest_share(honest("oue", 64), 0 * ones, "bits") <= 0.05
    one = np.zeros(64, np.int64)
    one[3] = 1
    # A report that supports one value alone looks honest to the check of the weight longer than one that sets all.
    assert smallest_share(honest("oue", 64), one, "bits") <= 0.05
    assert smallest_share(honest("olh", 64), ones, "values") <= 0.1


def test_codes_that_devices_choose_to_be_asked_about() -> None:
    """Eight of sixteen, which are always the last; or the right ones, all of which are then supported."""
    tally = honest("d-bit-flip", 16)
    names = ["reports that are asked about a value by d-bit-flip", "reports that support a value of d-bit-flip"]
    assert [one.of for one in alarms([tally]).checks] == names and alarms([tally]).raised == ()
    last = np.repeat([0, 0, 0, 1], 8)  # the cells: how many support each value, then how many are asked about it
    assert names[0] in [one.of for one in alarms([with_cells(tally, last, 1000)]).raised]
    everywhere = Tally(tally.mechanism, tally.n + 6000, tally.cells + 3000)
    assert [one.of for one in alarms([everywhere]).raised] == names[1:]


def test_chosen_public_functions_and_arms_and_ids() -> None:
    tally = honest("flh", 8)
    cells = np.zeros(len(tally.cells), np.int64)
    cells[5] = 1  # the second value of the second function
    raised = alarms([with_cells(tally, cells, 900)]).raised
    assert [one.of for one in raised] == ["public functions of flh", "hash values of flh"]
    assert [one.where for one in raised] == ["place 1", "place 1"]
    one, two = honest("grr", 4), honest("grr", 4, n=6000)
    arms = Round((Arm("a", one.mechanism), Arm("b", two.mechanism)))
    assert [check.of for check in alarms([one, two], arms=arms).raised] == ["arms of a round"]
    assert alarms([one, one], arms=arms).raised == ()
    chosen = Round(arms.arms, chosen=True)
    assert alarms([one, two], arms=chosen).raised == ()
    with pytest.raises(ParameterError, match="one tally for each"):
        alarms([one], arms=arms)
    even = [40] * 256
    assert alarms([], first_bytes=even).raised == ()
    found = alarms([one], first_bytes=[400, *even[1:]])
    assert [check.of for check in found.raised] == ["first bytes of ids", "first bytes of ids, all together"]
    assert "ALARM: first bytes of ids (place 0): honest reports give this with" in found.text()
    assert "\nALARM" in str(found) and not str(found).startswith("ALARM")


def test_estimates_outside_the_possible_are_noticed() -> None:
    tally = honest("grr", 4)
    added = np.array([0, 0, 0, 1])
    assert alarms([with_cells(tally, added, 4000)]).raised[0].where in ("place 0", "place 1", "place 2", "place 3")
    assert alarms([Tally.empty(tally.mechanism)]).checks == ()


# --- counts that differ as a whole ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "places"), [(1, 3), (12, 3), (60, 3), (9, 4)])
def test_the_bound_of_all_counts_together_holds_for_every_outcome(n: int, places: int) -> None:
    """Over all outcomes: what is at least as uneven has no larger probability than is said, nor a far smaller one."""
    counts = [one for one in product(range(n + 1), repeat=places) if sum(one) == n]
    chances = multinomial.pmf(counts, n, [1 / places] * places)
    stated = np.array([next(spread("x", one)).probability for one in counts])
    uneven = np.array([sum(x * math.log(x) for x in one if x) for one in counts])
    for value in np.unique(uneven.round(9)):
        tail = float(chances[uneven >= value - 1e-9].sum())
        here = stated[np.abs(uneven - value) < 1e-8]
        assert (tail <= here + 1e-12).all() and np.ptp(here) < 1e-9
        # Chernoff's bound and the condition on the sum cost something; here less than this.
        assert (here <= 8 * math.sqrt(2 * math.pi * n) * tail**0.7).all()


def test_ids_that_avoid_many_bytes_are_noticed_earlier_than_by_single_bytes() -> None:
    """Fakes with half of the first bytes: 5 % of 10**5 reports; for single bytes alone it takes 20 %."""
    generator = np.random.default_rng(5)
    clean = generator.multinomial(95_000, [1 / 256] * 256)
    added = np.append(generator.multinomial(5_000, [1 / 128] * 128), np.zeros(128, np.int64))
    assert alarms([], first_bytes=clean).raised == ()
    assert [one.of for one in alarms([], first_bytes=clean + added).raised] == ["first bytes of ids, all together"]
    levels = [next(spread("x", generator.multinomial(4_000, [1 / 256] * 256))).probability for _ in range(500)]
    assert min(levels) > 0.01  # each is below this with at most that probability, in truth far less often
