"""Joint fits: possible tables that agree with each other, closer to the truth than independence, with honest words."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import check_grad

import sottovoce as sv
from sottovoce.estimate.joint import latent
from sottovoce.estimate.joint.likelihood import ResidualLikelihood
from sottovoce.estimate.joint.residuals import ContrastVariance, Reported, ResidualTables, ViewReading

SIZES = {"a": 3, "b": 4, "c": 2, "d": 5}
RECORD = sv.Record({name: sv.Integers(0, size - 1) for name, size in SIZES.items()})
PAIRS = list(combinations(SIZES, 2))


def reported(truth: latent.LatentClasses, views: list[tuple[str, ...]], n: float, seed: int) -> ResidualTables:
    """True shares of views with normal noise of the law of subset selection."""
    generator, parts = np.random.default_rng(seed), []
    for names in views:
        shares = truth.table(names)
        law = ContrastVariance.of(sv.mechanism("subset", sv.Integers(0, shares.size - 1), epsilon=1).channel)
        noise = generator.normal(0, (law.spread(shares.size) / shares.size / n) ** 0.5, shares.shape)
        parts.append(ViewReading(names, shares + noise - noise.mean(), n, law))
    return ResidualTables(SIZES, tuple(parts))


def classes(count: int, seed: int) -> latent.LatentClasses:
    generator = np.random.default_rng(seed)
    shares = tuple(generator.dirichlet(np.full(size, 0.7), count) for size in SIZES.values())
    return latent.LatentClasses(tuple(SIZES), generator.dirichlet(np.full(count, 3.0)), shares)


@pytest.mark.parametrize("views", [[("a",), ("b", "d")], [("a", "b", "d"), ("c", "d")], [("a", "b", "c", "d")]])
def test_slopes_are_those_of_the_likelihood(views: list[tuple[str, ...]]) -> None:
    """Numerical derivatives of the objective, by one number in place of all parameters after another."""
    likelihood = ResidualLikelihood(reported(classes(2, 1), views, 500, 2).blocks(), SIZES)
    generator = np.random.default_rng(3)
    weights, rows = generator.dirichlet(np.ones(3)), generator.random((3, sum(SIZES.values())))

    def value(vector: np.ndarray) -> float:
        return likelihood(vector[:3], vector[3:].reshape(3, -1))[0]

    def slopes(vector: np.ndarray) -> np.ndarray:
        _, of_weights, of_rows = likelihood(vector[:3], vector[3:].reshape(3, -1))
        return np.concatenate([of_weights, of_rows.ravel()])

    point = np.concatenate([weights, rows.ravel()])
    assert check_grad(value, slopes, point) < 1e-4 * np.linalg.norm(slopes(point))


def test_a_table_of_the_model_is_its_sum_over_classes() -> None:
    model = classes(2, 4)
    by_hand = sum(
        weight * np.multiply.outer(own_b, own_d)
        for weight, own_b, own_d in zip(model.weights, model.shares[1], model.shares[3], strict=True)
    )
    assert model.table(("b", "d")) == pytest.approx(by_hand)
    assert model.table(("d", "b")) == pytest.approx(by_hand.T)


def test_added_noise_divides_the_reports_into_independent_parts() -> None:
    """The covariance of both parts over the noise of reports and the added noise is zero; variances are as stated."""
    truth = classes(1, 5)
    kept, left = [], []
    for seed in range(1500):
        tables = reported(truth, [("b", "d")], 500, seed)
        first, second = latent.divided(tables.blocks(), np.random.default_rng(10_000 + seed))
        kept.append(first[2].residual[1, 2])
        left.append(second[2].residual[1, 2])
    # Both are normal: the correlation of 1,500 draws has a standard error of 0.026.
    assert abs(np.corrcoef(kept, left)[0, 1]) < 0.13
    pair = tables.blocks()[2]
    assert pair.names == ("b", "d")
    one = (1 - 1 / 4) * (1 - 1 / 5) / pair.precision  # a residual has 3 x 4 free numbers among 20
    assert np.var(kept) == pytest.approx(one * (1 + latent.ADDED), rel=0.2)
    assert np.var(left) == pytest.approx(one * (1 + 1 / latent.ADDED), rel=0.2)


def test_the_fit_is_closer_than_independence_where_attributes_depend() -> None:
    truth = classes(2, 6)
    tables = reported(truth, PAIRS, 20_000, 7)
    fit = latent.fit(tables, 4, 0)

    def distance(model: latent.LatentClasses) -> float:
        return float(np.mean([np.abs(model.table(names) - truth.table(names)).sum() for names in PAIRS]))

    unbiased = float(np.mean([np.abs(tables.values(names) - truth.table(names)).sum() for names in PAIRS]))
    assert fit.strength > 0
    assert distance(fit.model) < 0.7 * min(unbiased, distance(fit.independent))


@pytest.fixture(scope="module")
def estimate() -> sv.Estimate:
    drawn = classes(2, 6).draw(20_000, np.random.default_rng(1))
    people = [dict(zip(drawn, map(int, row), strict=True)) for row in zip(*drawn.values(), strict=True)]
    return sv.simulate(sv.TableViews.for_fit(RECORD, PAIRS, 2), people, seed=2)["tables"]


@pytest.fixture(scope="module")
def fitted(estimate: sv.Estimate) -> sv.Estimate:
    return estimate.consistent(classes=3)


@pytest.mark.slow
def test_consistent_tables(estimate: sv.Estimate, fitted: sv.Estimate) -> None:
    assert fitted.values.min() >= 0
    table = fitted.table("a", "d")
    other = fitted.table("a", "b").values.reshape(3, 4)
    assert table.values.reshape(3, 5).sum(axis=1) == pytest.approx(other.sum(axis=1))
    assert table.values.sum() == pytest.approx(1)
    assert np.array_equal(table.std_errors, estimate.table("a", "d").std_errors)
    low, high = table.ci()
    unbiased = estimate.table("a", "d").ci()
    assert (low <= table.values).all() and (table.values <= high).all()
    assert (low <= np.clip(unbiased.low, 0, 1) + 1e-12).all() and (high >= np.clip(unbiased.high, 0, 1) - 1e-12).all()
    assert "intervals are those of the unbiased shares" in fitted.explain()
    assert "independence" in fitted.explain()
    again = estimate.consistent(classes=3)
    assert np.array_equal(again.values, fitted.values)


def test_independence_is_the_product_of_shares(estimate: sv.Estimate) -> None:
    alone = estimate.decoded("independence")
    first, second = (alone.table(name).values for name in ("a", "d"))
    assert alone.table("a", "d").values == pytest.approx(np.outer(first, second).ravel())


def test_records_are_drawn_from_the_fit(estimate: sv.Estimate, fitted: sv.Estimate) -> None:
    with pytest.raises(sv.ParameterError, match=r"use consistent\(\)"):
        estimate.synthesize(10)
    people = fitted.synthesize(40_000, seed=3)
    assert list(people.columns) == list(SIZES) and len(people) == 40_000
    shares = people.groupby(["a", "d"]).size().reindex(fitted.table("a", "d").labels, fill_value=0) / len(people)
    # The largest of 15 differences of shares of 40,000 records; their standard errors are at most 0.0025.
    assert np.abs(shares.to_numpy() - fitted.table("a", "d").values).max() < 0.0125


def test_pictures_say_whose_intervals_they_show(estimate: sv.Estimate, fitted: sv.Estimate) -> None:
    heat = estimate.table("a", "d").plot()
    shown = [text.get_text() for text in heat.texts]
    low, high = estimate.table("a", "d").ci()
    first = f"{100 * estimate.table('a', 'd').values[0]:.1f}\n{100 * low[0]:.1f} to {100 * high[0]:.1f}"
    assert len(shown) == 15 and shown[0] == first
    assert "unbiased" not in heat.get_title()
    title = fitted.table("a", "d").plot().get_title()
    assert "fitted (latent-classes)" in title and "of the unbiased shares" in title
    mosaic = estimate.table("a", "d").shares_within("a").plot()
    widths = [patch.get_width() for patch in mosaic.patches[::5]]
    assert widths == pytest.approx(estimate.table("a").values, abs=1e-9)


def test_calm_makes_views_consistent_and_possible(estimate: sv.Estimate) -> None:
    """Where unbiased tables are possible already, they are its result: least squares has the same means."""
    decoded = estimate.decoded(sv.decoder("calm", rounds=200))
    assert decoded.values.min() >= 0
    start, marginals = 0, []
    for names in PAIRS:
        shape = tuple(SIZES[name] for name in names)
        cells = decoded.values[start : start + int(np.prod(shape))].reshape(shape)
        start += cells.size
        assert cells.sum() == pytest.approx(1)
        if "a" in names:
            marginals.append(cells.sum(axis=1))
    assert np.ptp(marginals, axis=0).max() < 1e-3
    even = tuple(np.full((1, size), 1 / size) for size in SIZES.values())
    exact = reported(latent.LatentClasses(tuple(SIZES), np.ones(1), even), PAIRS, 1e7, 3)
    evidence = estimate.evidence
    possible = type(evidence)(evidence.asked, exact)  # type: ignore[call-arg]
    assert sv.decoder("calm").solve(possible).values == pytest.approx(possible.values(), abs=1e-9)


def test_the_prior_of_a_fit_is_as_strong_as_single_answers_are_noisy() -> None:
    """Ten standard errors of the shares of single attributes, between 0.1 and 0.5; tables of two do not count."""
    single = [Reported((name,), np.zeros(2), 1 / variance) for name, variance in (("a", 0.0004), ("b", 0.0014))]
    pair = Reported(("a", "b"), np.zeros(4), 1e-3)
    assert latent._pull(single) == latent._pull([*single, pair]) == pytest.approx(10 * 0.03)
    assert latent._pull([pair]) == 0.1
    assert latent._pull([Reported(("a",), np.zeros(2), 1.0)]) == 0.5
