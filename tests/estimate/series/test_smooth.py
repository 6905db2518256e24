"""Smoothed series: filter and smoother against dense Gaussian posteriors, steady states, jumps, and what is refused."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.series import state_space
from sottovoce.estimate.series.series import Series
from sottovoce.estimate.series.state_space import Models, fit, mix

GRR = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)


def one_of(models, place):
    return Models(models.moves, models.noise[[place]], models.seen, models.irregular[[place]])


def dense(models, variances, wide):
    """The covariance matrices of the truth and of its regular part, from the definition of the model."""
    size, epochs = len(models.seen), len(variances)
    states = np.zeros((epochs, epochs, size, size))
    spread = np.eye(size) * wide
    for first in range(epochs):
        if first:
            spread = models.moves @ spread @ models.moves.T + models.noise[0]
        ahead = spread
        for second in range(first, epochs):
            states[second, first] = ahead
            states[first, second] = ahead.T
            ahead = models.moves @ ahead
    regular = np.einsum("i,stij,j->st", models.seen, states, models.seen)
    return regular + models.irregular[0] * np.eye(epochs)


@pytest.mark.parametrize(
    ("models", "place"),
    [
        (Models.levels(), 60),
        (Models.levels(), 83),
        (Models.slopes(), 50),
        (Models.levels(2).seasonal(3), 20),
        (Models.slopes(2).seasonal(4), 40),
    ],
)
def test_filter_and_smoother_are_the_posterior_of_their_model(models, place):
    """The mean and the variance of the truth given data, by one inversion of the covariance matrix of all epochs."""
    rng = np.random.default_rng(5)
    model, epochs = one_of(models, place), 14
    values, variances = rng.normal(size=(epochs, 2)), rng.uniform(0.5, 2, epochs)
    found = fit(values, variances, model)
    wide = (state_space.WIDE * max(1.0, np.abs(values).max())) ** 2
    truth = dense(model, variances, wide)
    for seen in (5, epochs):  # filtered at epoch 5, smoothed at the end
        known = truth[:seen, :seen] + np.diag(variances[:seen])
        gain = np.linalg.solve(known, truth[:seen, :seen]).T
        mean = gain @ values[:seen]
        variance = np.diag(truth[:seen, :seen] - gain @ truth[:seen, :seen])
        means, spreads = (
            (found.filtered[seen - 1 : seen], found.filtered_variances[seen - 1 : seen])
            if seen < epochs
            else (found.smoothed, found.smoothed_variances)
        )
        rows = slice(seen - 1, seen) if seen < epochs else slice(None)
        assert means[:, :, 0] == pytest.approx(mean[rows], abs=2e-3)
        assert spreads[:, 0] == pytest.approx(variance[rows], abs=2e-3)


def test_likelihoods_are_those_of_the_data_given_the_first_epochs():
    rng = np.random.default_rng(6)
    model, epochs = one_of(Models.slopes(), 45), 12
    values, variances = rng.normal(size=(epochs, 1)), rng.uniform(0.5, 2, epochs)
    found = fit(values, variances, model)
    wide = (state_space.WIDE * max(1.0, np.abs(values).max())) ** 2
    total = dense(model, variances, wide) + np.diag(variances)

    def log_density(count):
        part = total[:count, :count]
        return -0.5 * (np.linalg.slogdet(part)[1] + values[:count, 0] @ np.linalg.solve(part, values[:count, 0]))

    assert found.likelihoods[-1, 0, 0] == pytest.approx(log_density(epochs) - log_density(2), abs=1e-3)


@pytest.mark.parametrize("rho", [1e-3, 0.1, 1.0, 30.0, 1e4])
def test_steady_variances_have_their_closed_forms(rho):
    """Online (sqrt(rho^2 + 4 rho) - rho) / 2, looking back sqrt(rho / (rho + 4)), in units of one estimate."""
    model = Models(np.eye(1), np.full((1, 1, 1), rho), np.ones(1), np.zeros(1))
    found = fit(np.zeros((1201, 1)), np.ones(1201), model)
    assert found.filtered_variances[-1, 0] == pytest.approx((np.sqrt(rho**2 + 4 * rho) - rho) / 2, rel=1e-6)
    assert found.smoothed_variances[600, 0] == pytest.approx(np.sqrt(rho / (rho + 4)), rel=1e-6)


def test_smooth_series_gain_and_rough_ones_lose_nothing():
    rng, epochs = np.random.default_rng(7), 200
    calm, rough = 0.001 * np.arange(epochs), 30 * rng.standard_normal(epochs)
    noise = rng.standard_normal((epochs, 1))
    for truth, least, most in ((calm, 0.0, 0.1), (rough, 0.9, 1.02)):
        found = mix(truth[:, None] + noise, np.ones(epochs))
        for values in (found.smooth, found.online):
            ratio = np.mean((values[20:, 0] - truth[20:]) ** 2) / np.mean(noise[20:] ** 2)
            assert least <= ratio <= (most if values is found.smooth else most + 0.1)


def test_a_season_is_found_only_where_it_is_asked_for():
    rng, epochs = np.random.default_rng(8), 140
    truth = np.tile([3.0, -3, 0, 0, 1, -1, 0], 20)
    values = (truth + rng.standard_normal(epochs))[:, None]
    without, with_season = (np.mean((mix(values, np.ones(epochs), one).smooth[:, 0] - truth) ** 2) for one in (None, 7))
    assert with_season < 0.15 < 0.5 < without


def weeks(yes, seed):
    return {
        week: GRR.estimate(sv.simulate_counts(GRR, [count, 20_000 - count], seed=1000 * seed + week))
        for week, count in enumerate(yes, 1)
    }


def test_jumps_are_found_shown_and_doubted():
    jump = Series.of(weeks([6_000] * 15 + [9_000] * 15, seed=1), people="different").smooth()
    assert jump.jumps == {"yes": (16,), "no": (16,)}
    assert jump.doubt is not None and "yes at 16" in jump.doubt and jump.doubt in jump.explain()
    calm = Series.of(weeks([6_000] * 30, seed=2), people="different").smooth(online=True)
    assert calm.jumps == {} and calm.doubt is None and "Nothing speaks against" in calm.explain()
    assert "borrows from those before it" in calm.explain() and "average coverage" in repr(calm)
    frame = calm.to_frame()
    assert set(frame["smoothed_intervals"]) == {"average coverage"} and len(frame) == 60
    assert (frame["smoothed_std_error"] < frame["std_error"]).mean() > 0.9


def test_a_smoothed_band_is_refused_and_the_unbiased_series_stays():
    series = Series.of(weeks([6_000] * 12, seed=3), people="different")
    before = series.values.copy()
    smooth = series.smooth()
    with pytest.raises(sv.ParameterError, match="no band"):
        smooth.band()
    assert np.array_equal(series.values, before) and not np.array_equal(smooth.values, before)
    low, high = smooth.ci(0.9)
    assert high - low == pytest.approx(2 * 1.6448536 * smooth.std_errors)
    with pytest.raises(sv.ParameterError, match="period"):
        series.smooth(period=7)


def test_smoothed_values_of_a_panel_are_about_its_people():
    """In every wave the same people: the noise alone. In a window: the population, whose sampling counts too."""
    estimates = weeks([6_000] * 12, seed=4)
    errors = [
        Series.of(estimates, **people).smooth().std_errors.mean()
        for people in ({"people": "same"}, {"people": "same", "window": 4}, {"people": "different"})
    ]
    assert errors[0] < errors[1] == errors[2]


def test_few_calm_series_have_jumps():
    """At most one in 100 of calm series; here 3 of 300 or fewer, but for one run in 10,000."""
    rng = np.random.default_rng(9)
    found = mix(rng.standard_normal((40, 300)), np.ones(40)).surprises
    from scipy.stats import norm

    assert np.mean(np.abs(found).max(axis=0) > norm.isf(0.01 / 40 / 2)) <= 0.033
