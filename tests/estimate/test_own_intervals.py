"""Laws of decoders themselves: values that sum to one, the largest likelihood without a border, and few reports."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from scripts.fuzz.brute import report_cells
from sottovoce.core.errors import NoIntervalError, TooLargeError
from sottovoce.core.exact import law
from sottovoce.estimate.decoders.small_sample import second_order
from sottovoce.estimate.frequency.information import free_maximum
from sottovoce.estimate.frequency.laws import output_law
from sottovoce.estimate.frequency.mixture import Dense

FOUR = sv.Integers(0, 3)


def tally_of(name: str, epsilon: float = 1.0, held: object = (500, 300, 190, 10), seed: int = 1) -> sv.Tally:
    return sv.simulate_counts(sv.mechanism(name, FOUR, epsilon=epsilon), np.asarray(held), seed=seed)


@pytest.mark.parametrize("name", ["oue", "subset", "hadamard"])
def test_values_that_sum_to_one_have_the_covariance_of_their_law(name: str) -> None:
    """Over the enumerated law of one report, for every code: the shipped covariance is that of the moved values."""
    m = sv.mechanism(name, FOUR, epsilon=1)
    shift = np.eye(4) - 1 / 4
    for code in range(4):
        mean, square = np.zeros(4), np.zeros((4, 4))
        for (words, report), probability in law(m.channel, code).items():
            values = m.estimate(sv.Tally(m, 1, report_cells(m, report, words))).project("normalise").values
            mean += float(probability) * values
            square += float(probability) * np.outer(values, values)
        assert mean == pytest.approx(np.eye(4)[code], abs=1e-9)
        single = m.variance(np.eye(4)[code], 1, target="sample")
        assert (np.diag(square - np.outer(mean, mean)) <= single + 1e-9).all(), "a known sum never adds noise here"
    tally = tally_of(name)
    found = m.estimate(tally)
    own = found.project("normalise").own_errors() ** 2
    assert own == pytest.approx(np.diag(shift @ found.covariance() @ shift))
    assert np.allclose(found.project("simplex").own_errors() ** 2, own)


def test_own_intervals_are_inside_and_narrower_and_contain_the_estimate() -> None:
    found = tally_of("oue").mechanism.estimate(tally_of("oue")).project("simplex")
    low, high = found.ci(0.95, method="own")
    wide = found.ci(0.95)
    assert ((low >= 0) & (low <= found.values) & (found.values <= high) & (high <= 1)).all()
    assert (high - low).sum() < (wide.high - wide.low).sum()
    assert found.default_method == "bounded"
    widths = [float(np.ptp(found.ci(level, method="own"), axis=0).sum()) for level in (0.9, 0.95, 0.99)]
    assert widths == sorted(widths) and widths[0] < widths[2]
    for simultaneous in (False, True):
        with pytest.raises(sv.ParameterError, match=r"levels 0.9, 0.95, 0.99, .* 'bounded' has any level"):
            found.ci(0.98, method="own", simultaneous=simultaneous)
    with pytest.raises(sv.ParameterError, match="'method'"):
        tally_of("oue").mechanism.estimate(tally_of("oue")).ci(method="own")
    with pytest.raises(sv.ParameterError, match="no standard errors of its own"):
        found.project("norm-mul").own_errors()


def test_without_a_border_the_likelihood_of_grr_is_largest_at_the_unbiased_shares() -> None:
    """As many outputs as codes: the inverse fits the counts exactly, also below zero, and has a known covariance."""
    tally = tally_of("grr", held=(600, 390, 10, 0))
    m = tally.mechanism
    unbiased, em = m.estimate(tally), m.estimate(tally, decoder="em")
    own = em.decoder.own(em.evidence, "population")
    assert own.values == pytest.approx(unbiased.values, abs=1e-8) and unbiased.values.min() < 0
    shares = unbiased.values
    expected = np.diag((tally.cells / tally.n) * (1 - tally.cells / tally.n))
    expected -= np.outer(tally.cells, tally.cells) / tally.n**2 - np.diag((tally.cells / tally.n) ** 2)
    inverse = np.linalg.inv(output_law(m.channel).T)
    assert own.covariance == pytest.approx(inverse @ expected @ inverse.T / tally.n, rel=1e-6)
    sample = em.decoder.own(em.evidence, "sample").covariance
    spread = np.diag(shares) - np.outer(shares, shares)
    assert own.covariance - sample == pytest.approx(spread / tally.n)
    assert em.own_errors() == pytest.approx(np.sqrt(np.diag(own.covariance)))


def test_the_free_maximum_is_one_and_flat() -> None:
    tally = tally_of("hadamard", held=(600, 390, 10, 0))
    m = tally.mechanism
    mixture = Dense(np.ascontiguousarray(output_law(m.channel).T), tally.cells.astype(float))
    shares, covariance = free_maximum(mixture, np.full(4, 0.25))
    assert shares.sum() == pytest.approx(1) and np.ptp(mixture.slope(shares).gradient) < 1e-8
    assert covariance.sum() == pytest.approx(0, abs=1e-12) and (np.linalg.eigvalsh(covariance) > -1e-12).all()
    step = np.array([1e-3, -1e-3, 0, 0])
    bend = mixture.value(shares + step) + mixture.value(shares - step) - 2 * mixture.value(shares)
    within = np.linalg.pinv(covariance * tally.n)
    assert -bend == pytest.approx(float(step @ within @ step), rel=1e-3)


def test_too_many_shares_and_undetermined_ones_have_no_own_interval() -> None:
    few = Dense(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([3.0, 4.0]))
    with pytest.raises(NoIntervalError, match="do not determine"):
        free_maximum(few, np.array([0.5, 0.5]))
    with pytest.raises(TooLargeError):
        free_maximum(Dense(np.ones((2, 1100)), np.ones(2)), np.full(1100, 1 / 1100))


# --- few reports -----------------------------------------------------------------------------------------------------
def test_the_correction_for_few_reports_lowers_the_error_where_reports_are_few() -> None:
    """64 values, 1,000 reports, epsilon 0.5: about half the squared error of EM, over the same 12 tallies."""
    size = 64
    m = sv.mechanism("grr", sv.Integers(0, size - 1), epsilon=0.5)
    shares = 1 / np.arange(1, size + 1)
    shares /= shares.sum()
    rng = np.random.default_rng(1)
    errors = {"em": 0.0, "small-sample": 0.0}
    for run in range(12):
        held = rng.multinomial(1000, shares)
        tally = sv.simulate_counts(m, held, seed=run)
        for name in errors:
            decoder = sv.decoder("em", tolerance=1e-6) if name == "em" else name
            errors[name] += float(((m.estimate(tally, decoder=decoder).values - held / 1000) ** 2).sum())
    assert errors["small-sample"] < 0.75 * errors["em"]


def test_with_many_reports_the_correction_changes_nothing_and_is_repeatable() -> None:
    tally = tally_of("grr", held=(50_000, 30_000, 15_000, 5_000))
    m = tally.mechanism
    corrected, em = (m.estimate(tally, decoder=name) for name in ("small-sample", "em"))
    assert corrected.values == pytest.approx(em.values, abs=2e-3) and corrected.values.sum() == pytest.approx(1)
    assert np.array_equal(corrected.values, m.estimate(tally, decoder="small-sample").values)
    assert "corrected for few reports" in corrected.quality
    supports = tally_of("oue")
    with pytest.raises(sv.ParameterError, match="a count of each report"):
        supports.mechanism.estimate(supports, decoder="small-sample")
    both = sv.combine([tally, tally_of("hadamard", 2.0)], decoder="small-sample")
    assert both.values.sum() == pytest.approx(1)


def test_the_second_order_term_is_that_of_sums_written_out() -> None:
    tally = tally_of("hadamard")
    evidence = tally.mechanism.estimate(tally).evidence
    (one,) = evidence.output_tallies()
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    total, size = tally.n, 4
    rows = [one.law[:, y] / (shares @ one.law[:, y]) for y in range(len(one.cells))]
    slope = sum(c / total * np.outer(x, x) for c, x in zip(one.cells, rows, strict=True))
    inverse = -np.linalg.inv(slope + 1e-6 * np.trace(slope) / size * np.eye(size))
    first, spread = np.zeros(size), np.zeros((size, size))
    for c, x in zip(one.cells, rows, strict=True):
        first += c / total * (slope - np.outer(x, x)) @ inverse @ x
        spread += c / total * np.outer(inverse @ x, inverse @ x)
    second = sum(c / total * (x @ spread @ x) * x for c, x in zip(one.cells, rows, strict=True))
    assert second_order(shares, [one]) == pytest.approx(inverse @ (first - second) / total)
