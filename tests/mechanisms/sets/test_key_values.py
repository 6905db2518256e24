"""Keys with numbers: exact laws, variances, means with intervals, answers as people give them, and hostile input."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.channel import AskedKey, Hitting, KeyEnds, SampledKey, Subset, Table
from sottovoce.core.domain import KeyValue, Sparse
from sottovoce.core.errors import MismatchError, ParameterError
from sottovoce.core.exact import law
from sottovoce.core.question import KeyMeans
from sottovoce.core.registry import mechanism
from sottovoce.estimate.key_means.evidence import at_truth, predicted_shares
from sottovoce.estimate.key_means.readings import totals
from sottovoce.estimate.request import Target
from sottovoce.testing import check_mechanism

FILMS = KeyValue(["ant", "bee", "cat", "dog"], sv.Integers(1, 5), 2)
METHODS = ("key-mask", "key-cells", "key-options", "pckv-grr", "privkv")


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_the_contract_holds(name: str) -> None:
    check_mechanism(mechanism(name, FILMS, epsilon=2), seed=5, reports=2000)


def test_codes_hold_keys_in_order_with_numbers_from_minus_one_to_one() -> None:
    assert FILMS.encode({"dog": 2, "ant": 5}) == ((0, Fraction(1)), (3, Fraction(-1, 2)))
    assert FILMS.encode([("dog", 2), ("ant", 5)]) == FILMS.encode({"ant": 5, "dog": 2})
    assert FILMS.encode({}) == () and FILMS.encode({"bee": 3}) == ((1, Fraction(0)),)  # the middle is held
    assert FILMS.typed(" dog = 2; ant=5") == [("dog", 2), ("ant", 5)] and FILMS.typed("") == []
    for wrong in FILMS.foreign():
        with pytest.raises(sv.DomainError):
            FILMS.encode(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: KeyValue(["a"], sv.Integers(1, 5)),
        lambda: KeyValue(["a", "a"], sv.Integers(1, 5)),
        lambda: KeyValue(["a", "b=c"], sv.Integers(1, 5)),
        lambda: KeyValue(["a", "b"], sv.Categories(["x", "y"])),
        lambda: KeyValue(["a", "b"], sv.Integers(1, 5), 3),
        lambda: KeyMeans(sv.Sets(["a", "b"])),
        lambda: mechanism("key-mask", sv.Sets(["a", "b"]), epsilon=1),
        lambda: mechanism("key-mask", FILMS, epsilon=1, about_ends=1),
        lambda: KeyEnds(Sparse(3, 1, 1), 1, Hitting(3, 1, 1, 1 << 52), Hitting(3, 1, 1, 1 << 52)),
        lambda: AskedKey(Sparse(3, 1, 1), Subset(2, 1, 1 << 52)),
        lambda: SampledKey(Sparse(3, 1, 1), Subset(4, 1, 1 << 52)),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Any) -> None:
    with pytest.raises((ParameterError, MismatchError)):
        wrong()


def test_a_channel_of_other_keys_does_not_fit_the_domain() -> None:
    other = mechanism("key-mask", KeyValue(range(5), sv.Integers(1, 5), 2), epsilon=1)
    with pytest.raises(MismatchError):
        sv.Mechanism("key-mask", KeyMeans(FILMS), other.channel, other.claimed, other.statistic)


def test_the_share_of_a_rare_key_meets_its_target() -> None:
    """100 keys, at most 10, epsilon 1: at most 45 / n, from the variances of both masks by their own closed forms."""
    domain = KeyValue(range(100), sv.Interval(0, 10), 10)
    subject: Any = mechanism("key-mask", domain, epsilon=1)
    rare = np.full(100, 1e-12), np.full(100, 5.0)
    found = float(predicted_shares(subject, rare, 1)[0])
    keys, ends = subject.channel.plain, subject.channel.ends
    (own, other), (fine, coarse) = (tuple(map(float, sets.item_rates())) for sets in (keys, ends))
    both = float(ends.pair_rates().neither)
    of_keys = other * (1 - other) / (own - other) ** 2 / 0.55
    of_ends = (2 * coarse * (1 - coarse) + 2 * (both - coarse**2)) / (fine - coarse) ** 2 / 0.45
    assert found == pytest.approx(1 / (1 / of_keys + 1 / of_ends), rel=1e-9)
    assert found < 45 < float(predicted_shares(mechanism("pckv-grr", domain, epsilon=1), rare, 1)[0])


def test_pckv_grr_has_the_published_probabilities() -> None:
    """a = (E + 2) / (E + 2 d'), p = (E + 1) / (E + 2), with E = m (e**epsilon - 1): every other report is as likely."""
    subject: Any = mechanism("pckv-grr", FILMS, epsilon=1)
    gain, groups = 2 * (math.e - 1), 6
    for code in (((0, Fraction(1)), (2, Fraction(-1))), ((1, Fraction(1)),)):
        chances: dict[int, float] = {}
        for (_, report), chance in law(subject.channel, code).items():
            chances[report] = chances.get(report, 0.0) + float(chance)
        other = 1 / (gain + 2 * groups)
        for key, number in code:
            named = 2 * key + (number > 0)
            assert chances[named] == pytest.approx((other * (gain + 1) + other) / 2, rel=1e-9)
            assert chances[named ^ 1] == pytest.approx(other, rel=1e-9)
        assert chances[2 * 3] == pytest.approx(other, rel=1e-9)
    assert math.exp(subject.epsilon) == pytest.approx(math.e, rel=1e-9)


def test_privkv_has_the_published_probabilities() -> None:
    """Half of the budget for the key, half for its number; a key that is not held has a fair number."""
    subject: Any = mechanism("privkv", FILMS, epsilon=2)
    rows = [[float(subject.channel.inner.likelihood(report, state)) for report in range(3)] for state in range(3)]
    kept = math.e / (math.e + 1)
    assert rows[0] == pytest.approx([kept, (1 - kept) / 2, (1 - kept) / 2])
    assert rows[1] == pytest.approx([1 - kept, kept * kept, kept * (1 - kept)])
    assert rows[2] == pytest.approx([1 - kept, kept * (1 - kept), kept * kept])
    assert subject.epsilon < 1.6 and subject.unused is not None


@pytest.mark.parametrize("name", METHODS)
def test_the_covariance_of_shares_and_sums_is_that_of_drawn_people(name: str) -> None:
    """Enumerated for a crowd of two kinds of people, by a sum over answers and reports."""
    domain = KeyValue(range(2), sv.Interval(-1, 1), 1)
    subject = mechanism(name, domain, epsilon=2)
    small = next(one for one in subject.channel.miniatures() if one.inputs == 5)
    crowd = {(): 0.25, ((0, Fraction(1, 2)),): 0.5, ((1, Fraction(-1)),): 0.25}
    test = sv.Mechanism(name, KeyMeans(domain), small, 20, subject.statistic)
    moments: Any = 0.0
    mean: Any = 0.0
    from sottovoce.tally.tally import report_cells

    rows: dict[Any, float] = {}
    for code, part in crowd.items():
        for drawn, chance in law(small, code).items():
            rows[drawn] = rows.get(drawn, 0.0) + part * float(chance)
    cells = np.array([report_cells(test, report, words) for words, report in rows], float)
    weights = np.array(list(rows.values()))
    mean = weights @ cells
    moments = (cells * weights[:, None]).T @ cells - np.outer(mean, mean)
    found = totals(small, 1.0, mean)
    assert found.shares == pytest.approx([0.5, 0.25]) and found.sums == pytest.approx([0.25, -0.25])

    def read(counts: Any) -> Any:
        one = totals(small, 1.0, counts)
        return np.array([one.shares, one.sums])

    step = 1e-6
    slopes = np.array([(read(mean + step * e) - read(mean - step * e)) / (2 * step) for e in np.eye(len(mean))])
    for key in range(2):
        right = slopes[:, :, key].T @ moments @ slopes[:, :, key]
        assert found.covariance(Target.POPULATION)[key] == pytest.approx(right, rel=1e-4, abs=1e-6)


@pytest.mark.slow
def test_intervals_of_means_and_shares_hold_the_truth_of_heaped_answers() -> None:
    rng = np.random.default_rng(3)
    held = rng.random((30_000, 4)) < [0.4, 0.3, 0.1, 0.02]
    held[held.sum(axis=1) > 2] = False
    people = np.where(held, np.where(rng.random(held.shape) < 0.5, 4, rng.choice([1, 5], held.shape)), np.nan)
    shares, means = held.mean(axis=0), np.nanmean(people, axis=0)
    subject = mechanism("key-mask", FILMS, epsilon=3)
    covered = []
    for seed in range(25):
        found: Any = subject.estimate(subject.tally(subject.privatize(people, seed=seed)))
        low, high = found.ci(0.95, target="sample")
        covered += ((low <= means) & (means <= high))[~np.isnan(found.values)].tolist()
        low, high = found.shares.ci(0.95, target="sample")
        covered += ((low <= shares) & (shares <= high)).tolist()
    assert 0.9 <= np.mean(covered) <= 0.99  # 95 %, about four standard errors
    assert "mean" in found.to_frame() and "share" in found.to_frame()


def test_lists_tables_and_frames_give_the_same_reports() -> None:
    subject = mechanism("key-mask", FILMS, epsilon=2)
    listed = [{"ant": 5}, {}, {"dog": 2, "bee": 3}]
    table = np.array([[5, np.nan, np.nan, np.nan], [np.nan] * 4, [np.nan, 3, np.nan, 2]])
    assert subject.tally(subject.privatize(listed, seed=1)) == subject.tally(subject.privatize(table, seed=1))
    for wrong in (np.array([[2.5, np.nan, np.nan, np.nan]]), np.ones((1, 3)), np.ones((1, 4)), {"ant": 5}, "ant"):
        with pytest.raises(sv.DomainError):
            subject.privatize(wrong, seed=1)


def test_a_plan_names_the_error_of_shares_and_finds_participants() -> None:
    plan = sv.plan(KeyMeans(KeyValue(range(100), sv.Interval(0, 10), 10)), epsilon=2, participants=100_000)
    errors = {option.method: option.std_error for option in plan.options}
    assert plan.best.method.startswith("key-mask") and errors["pckv-grr"] > plan.best.std_error
    shares, means = np.full(100, 0.05), np.full(100, 5.0)
    right = math.sqrt(float(np.mean(plan.best.mechanism.variance((shares, means), 100_000))))
    assert plan.best.std_error == pytest.approx(right)
    assert at_truth(plan.best.mechanism, None, 10).shares == pytest.approx(shares)


def test_tables_of_states_are_as_private_as_they_claim() -> None:
    for epsilon in ("0.1", "1", "5"):
        channel: Any = mechanism("key-options", FILMS, epsilon=epsilon).channel
        assert isinstance(channel.inner, Table) and float(channel.ratio()) <= math.exp(float(epsilon)) * (1 + 1e-12)
