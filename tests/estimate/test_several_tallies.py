"""Several tallies together: unbiased, exact variances, one likelihood, intervals from the law of the weighted sum."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

import sottovoce as sv
from scripts.fuzz.brute import report_cells
from sottovoce.core.exact import law
from sottovoce.estimate.combine import pooled
from sottovoce.estimate.frequency.intervals.lattice import SumLaw, multiples

FOUR = sv.Integers(0, 3)
PAIRS = [("grr", "oue"), ("subset", "hadamard"), ("sue", "grr")]


def built(names: tuple[str, ...], epsilons: tuple[float, ...] = (0.5, 2.0)) -> list[sv.Mechanism]:
    return [sv.mechanism(name, FOUR, epsilon=epsilon) for name, epsilon in zip(names, epsilons, strict=True)]


def tallies(mechanisms: list[sv.Mechanism], held: object, seed: int = 1) -> list[sv.Tally]:
    return [sv.simulate_counts(m, np.asarray(held), seed=seed + i) for i, m in enumerate(mechanisms)]


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_two_reports_are_unbiased_over_all_their_pairs(names: tuple[str, ...]) -> None:
    """All pairs of a report of each mechanism: mean and variance of the weighted sum are those of the law."""
    mechanisms = built(names)
    for code in range(4):
        each = [list(law(m.channel, code).items()) for m in mechanisms]
        mean, square, weights = np.zeros(4), np.zeros(4), None
        for ((first_words, first), p), ((second_words, second), q) in product(*each):
            cells = (report_cells(mechanisms[0], first, first_words), report_cells(mechanisms[1], second, second_words))
            found = sv.combine([sv.Tally(m, 1, cell) for m, cell in zip(mechanisms, cells, strict=True)])
            weights = found.evidence.weights
            mean += float(p * q) * found.values
            square += float(p * q) * found.values**2
        assert mean == pytest.approx(np.eye(4)[code], abs=1e-9 * math.sqrt(square.max()))
        assert weights is not None and weights.sum(axis=0) == pytest.approx(np.ones(4))
        own = [m.variance(np.eye(4)[code], 1, target="sample") for m in mechanisms]
        assert square - mean**2 == pytest.approx((weights**2 * np.stack(own)).sum(axis=0), rel=1e-9)


def test_weights_are_those_of_least_variance_and_do_not_depend_on_reports() -> None:
    mechanisms = built(("oue", "hadamard"))
    held = np.array([400, 300, 200, 100])
    found, again = (sv.combine(tallies(mechanisms, held, seed)) for seed in (1, 9))
    precision = np.stack([1 / m.variance(np.full(4, 0.25), 1000) for m in mechanisms])
    assert found.evidence.weights == pytest.approx(precision / precision.sum(axis=0))
    assert np.array_equal(found.evidence.weights, again.evidence.weights)
    # With whole multiples, where the law of the sum is known, at most 0.5 % of the variance is lost.
    supports = sv.combine(tallies(built(("oue", "subset")), held))
    best = 1 / sum(1 / m.variance(np.full(4, 0.25), 1000)[0] for m in built(("oue", "subset")))
    lost = sum(
        w[0] ** 2 * m.variance(np.full(4, 0.25), 1000)[0]
        for w, m in zip(supports.evidence.weights, built(("oue", "subset")), strict=True)
    )
    assert best <= lost <= 1.005 * best


def test_tallies_of_one_mechanism_are_added_up() -> None:
    (m, other) = built(("grr", "oue"))
    parts = [sv.simulate_counts(m, np.array([5, 6, 7, 8]), seed=seed) for seed in (1, 2)]
    assert np.array_equal(sv.combine(parts).values, m.estimate(parts[0] + parts[1]).values)
    three = sv.combine([*parts, sv.simulate_counts(other, np.array([5, 6, 7, 8]), seed=3)])
    assert [source.n for source in three.sources] == [52, 26] and three.n == 78
    assert three.epsilon == pytest.approx(2) and three.simulated


# --- intervals -------------------------------------------------------------------------------------------------------
def brute(sum_law: SumLaw, share: float) -> dict[int, float]:
    """The law of the weighted sum, by sums over all counts."""
    found: dict[int, float] = {0: 1.0}
    for n, own, other, a in zip(sum_law.n, sum_law.own, sum_law.other, sum_law.multiples, strict=True):
        rate, total = other + share * (own - other), {}
        for before, p in found.items():
            for count in range(int(n) + 1):
                key = before + int(a) * count
                total[key] = total.get(key, 0) + p * stats.binom.pmf(count, n, rate)
        found = total
    return found


SMALL = SumLaw(np.array([7.0, 4.0]), np.array([0.5, 0.75]), np.array([0.25, 0.05]), np.array([2.0, 3.0]))


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_the_law_of_the_sum_is_that_of_all_pairs_of_counts(share: float) -> None:
    first, found = SMALL.law(share)
    expected = brute(SMALL, share)
    totals = np.arange(-3, 30)
    given = {int(t): found[t - first] for t in totals if 0 <= t - first < len(found)}
    for total in range(27):
        assert given[total] == pytest.approx(expected.get(total, 0), abs=1e-13)
    below, above = SMALL.tails(share, totals)
    for place, total in enumerate(totals):
        assert below[place] == pytest.approx(sum(p for t, p in expected.items() if t <= total), abs=1e-12)
        assert above[place] == pytest.approx(sum(p for t, p in expected.items() if t >= total), abs=1e-12)


def test_the_exact_interval_holds_all_shares_that_no_tail_rejects() -> None:
    """Compared with a fine grid of shares; ends are rounded outward by at most a node."""
    totals = np.array([0, 5, 11, 26])
    low, high = SMALL.limits(totals, 0.9)
    step = SMALL.deviation(0.5) / SMALL.slope / 8
    for place, total in enumerate(totals):
        kept = [
            share
            for share in np.linspace(0, 1, 401)
            if min(float(side[0]) for side in SMALL.tails(share, np.array([total]))) > 0.05
        ]
        if not kept:
            assert low[place] == high[place] or high[place] <= step or low[place] >= 1 - step
            continue
        assert kept[0] - step <= low[place] <= kept[0] + 1e-9
        assert kept[-1] - 1e-9 <= high[place] <= kept[-1] + step


@pytest.mark.parametrize("level", [0.9, 0.99])
def test_exact_intervals_cover_by_the_law_and_wilson_nearly(level: float) -> None:
    mechanisms = [
        sv.mechanism("oue", sv.Integers(0, 15), epsilon=0.5),
        sv.mechanism("grr", sv.Integers(0, 15), epsilon=3),
    ]
    found = sv.combine([sv.simulate_counts(m, np.full(16, 20), seed=1) for m in mechanisms], people="different")
    sum_law = found.evidence.law
    first = found.evidence.restricted(np.zeros(1, np.int64), (0,))
    for share in (0.0, 0.01, 0.3):
        exact = 1 - sum_law.missed(share, lambda totals: sum_law.limits(totals, level))
        assert exact >= level - 1e-9
        score = 1 - sum_law.missed(
            share, lambda totals: first._score((totals - sum_law.origin) / sum_law.slope, level, "population")
        )
        assert score >= level - 0.01
    low, high = found.ci(level, method="bounded")
    assert (
        (low >= 0) & (low <= np.clip(found.values, 0, 1)) & (np.clip(found.values, 0, 1) <= high) & (high <= 1)
    ).all()


def test_few_reports_are_warned_about() -> None:
    few = [sv.simulate_counts(m, np.full(4, 3), seed=1) for m in built(("grr", "oue"), (6, 4))]
    with pytest.warns(sv.PoorIntervalWarning):
        sv.combine(few, people="different").ci(0.95, method="normal")
    assert multiples(np.array([10.0, 10.0]), np.array([0.5, 0.5]), np.array([0.2, 0.2]), 0.1) == pytest.approx([1, 1])


# --- one likelihood --------------------------------------------------------------------------------------------------
def test_the_likelihood_of_several_budgets_is_their_product() -> None:
    """Against a general optimiser on the product of the laws, written down again from the channels."""
    mechanisms = [*built(("grr", "hadamard")), sv.mechanism("grr", FOUR, epsilon=1)]
    found = tallies(mechanisms, [60, 30, 8, 2])
    em = sv.combine(found, decoder="em")
    assert np.array_equal(
        sv.decoder("em").decode(*(one.mechanism.estimate(one).evidence for one in found)).values, em.values
    )
    assert em.fit.gap < 1e-9 and em.values.sum() == pytest.approx(1)

    def loss(free: np.ndarray) -> float:
        shares = np.exp(free) / np.exp(free).sum()
        total = 0.0
        for m, tally in zip(mechanisms, found, strict=True):
            rows = np.array([[float(m.channel.likelihood(y, v)) for v in range(4)] for y in range(len(tally.cells))])
            total -= float(tally.cells @ np.log(rows @ shares))
        return total

    best = optimize.minimize(loss, np.zeros(4), tol=1e-12)
    assert loss(np.log(em.values + 1e-300)) <= best.fun + 1e-5
    apart = [m.estimate(t, decoder="em").values for m, t in zip(mechanisms, found, strict=True)]
    assert all(loss(np.log(one + 1e-300)) >= best.fun - 1e-6 for one in apart)


def test_reports_take_the_place_of_tallies_that_do_not_determine_a_likelihood() -> None:
    unary, direct = built(("oue", "grr"))
    values = np.repeat(np.arange(4), [400, 300, 200, 100])
    reports, tally = unary.privatize(values, seed=1), direct.tally(direct.privatize(values, seed=2))
    em = sv.combine([reports, tally], decoder="em")
    assert em.values == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.1)
    with pytest.raises(sv.ParameterError, match="decode the reports themselves"):
        sv.combine([unary.tally(reports), tally], decoder="em")


def test_other_decoders_questions_and_candidates_work_on_the_whole() -> None:
    found = tallies(built(("oue", "grr")), [400, 300, 200, 100])
    whole = sv.combine(found, people="different")
    assert sv.combine(found, decoder="simplex").values.sum() == pytest.approx(1)
    some = sv.combine(found, candidates=[2, 0], people="different")
    assert some.values == pytest.approx(whole.values[[2, 0]]) and list(some.labels) == [2, 0]
    assert some.ci(0.9).low == pytest.approx(whole.ci(0.9).low[[2, 0]])
    mean = sv.combine(found, sv.Mean(FOUR))
    away = np.arange(4) - 1.5  # numbers are read from the middle of the domain on
    assert mean.value == pytest.approx(1.5 + float(away @ whole.values))
    covariance = whole.covariance()
    assert np.diag(covariance) == pytest.approx(whole.std_errors**2)
    assert mean.std_errors[0] ** 2 == pytest.approx(away @ covariance @ away, rel=1e-3)


def test_means_are_combined_by_the_precision_of_their_laws() -> None:
    domain = sv.Interval(0, 1)
    mechanisms = [sv.mechanism("bernoulli", domain, epsilon=epsilon) for epsilon in (0.5, 2)]
    found = [m.tally(m.privatize(np.full(500, 0.3), seed=seed)) for seed, m in enumerate(mechanisms)]
    both = sv.combine(found)
    even = sv.Prior.uniform(0, 1)
    precision = np.array([1 / (m.average_variance(even) + even.variance) for m in mechanisms])
    assert both.value == pytest.approx(
        precision / precision.sum() @ [m.estimate(t).value for m, t in zip(mechanisms, found, strict=True)]
    )


def test_what_cannot_be_combined_is_refused_in_one_sentence() -> None:
    grr = sv.mechanism("grr", FOUR, epsilon=1)
    more = sv.mechanism("grr", sv.Integers(0, 4), epsilon=1)
    vector = sv.mechanism("duchi-linf", sv.Box(-1, 1, 2), epsilon=1)
    one, other = (sv.simulate_counts(m, np.full(m.channel.inputs, 5), seed=1) for m in (grr, more))
    third = vector.tally(vector.privatize(np.zeros((3, 2)), seed=1))
    empty = sv.Tally(grr, 0, np.zeros(4, np.int64))
    for data, said in (
        ([one, other], "the shares of the same values"),
        ([third, one], "the shares of the same values"),
        ([], "at least one"),
        (one, "a list of tallies"),
        ([empty, empty], "at least one report"),
    ):
        with pytest.raises(sv.ParameterError, match=said) as caught:
            sv.combine(data)
        assert "\n" not in str(caught.value)
    assert sv.combine([one, empty]).n == 20
    share, number = grr.estimate(one), vector.estimate(third)
    for wrong in ([share, number], [number, share], [number], [], [share, more.estimate(other)]):
        with pytest.raises(
            sv.ParameterError, match=r"all about the same values|all ask for the shares of the same values"
        ):
            pooled(wrong)
    for weights in ([1.0], [1.0, 0.0], [1.0, -1.0]):
        with pytest.raises(sv.ParameterError, match="a positive weight for each"):
            pooled([share, share], weights)
    assert np.allclose(pooled([share, share], [3.0, 1.0]).values, share.values)


# --- who answered ----------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
@pytest.mark.parametrize("names", [("grr", "grr"), ("oue", "grr")], ids="-".join)
def test_who_the_people_are_is_asked(names: tuple[str, ...]) -> None:
    """Intervals of tallies of the same people would be too narrow, and no tally shows whose answers it holds."""
    found = tallies(built(names, (1.0, 1.0)), [400, 300, 200, 100])
    unknown, different = sv.combine(found), sv.combine(found, people="different")
    for one in (unknown, unknown.decoded("simplex"), unknown.answer(sv.Mean(FOUR))):
        assert "nobody is in two of the combined tallies" in (one.doubt() or "")
        with pytest.warns(sv.PoorIntervalWarning, match="people='different'"):
            one.ci()
    assert unknown.assumes in unknown.explain() and unknown.assumes in unknown.to_dict()["notes"]
    assert different.doubt() is None and np.array_equal(different.ci(), unknown.quiet_ci())
    assert sv.combine(found[:1]).doubt() is None
    with pytest.raises(sv.ParameterError, match="Estimate each tally by itself"):
        sv.combine(found, people="same")
    with pytest.raises(sv.ParameterError, match="'people' parameter of combine must be 'different'"):
        sv.combine(found, people="mine")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["bernoulli", "piecewise"])
def test_heterogeneity_of_tallies_of_one_mechanism(name: str) -> None:
    """Cochran's Q of three means, by hand; and a sentence where there is one tally only."""
    m = sv.mechanism(name, sv.Interval(0, 1), epsilon=2)
    found = [m.tally(m.privatize(np.full(800, share), seed=seed)) for seed, share in enumerate((0.3, 0.3, 0.5))]
    each = [m.estimate(one) for one in found]
    weights = np.array([1 / one.std_errors[0] ** 2 for one in each])
    values = np.array([one.value for one in each])
    statistic = (weights * (values - weights @ values / weights.sum()) ** 2).sum()
    assert sv.combine(found).heterogeneity == pytest.approx(stats.chi2.sf(statistic, 2))
    assert sv.combine(found).heterogeneity < 1e-3 < sv.combine(found[:2]).heterogeneity
    for one in (each[0], sv.combine(found[:1])):
        with pytest.raises(sv.ParameterError, match="Heterogeneity compares tallies"):
            _ = one.heterogeneity


def test_estimates_are_not_subtracted() -> None:
    m = sv.mechanism("bernoulli", sv.Interval(0, 1), epsilon=2)
    one = m.estimate(m.tally(m.privatize(np.full(50, 0.3), seed=1)))
    for act in (lambda: one - one, lambda: one.difference(one), lambda: one.difference("a", one)):
        with pytest.raises(sv.ParameterError, match="cannot be subtracted") as caught:
            act()
        assert "\n" not in str(caught.value)
    with pytest.raises(sv.ParameterError, match="need an estimate of means by group"):
        one.difference("a")
